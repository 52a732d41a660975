"""The certificate of solved support vector problems: upper bounds that hold in exact arithmetic.

With coefficients a, scores f(x_i) = <w, x_i> + b, shortfalls t_i = 1 - y_i f(x_i) and any feasible a',

    P(w, b) - D(a') = sum_i [box_i max(0, t_i) - a'_i t_i] + 1/2 |w - w'|^2,   w' = sum_i a'_i y_i x_i.

Every term is at least 0 and convex in the score: scores that are known to within e_i bound it by its value at
one of the ends. A row at its bound, or without a coefficient, on the right side of its margin by more than e_i
has no term at all. The computed a misses y'a = 0 by rounding; a' is a with its heavier side scaled down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.solvers.svm.stacked import StackedFits
from separatrix.types import Flags, Vector

EPS = float(np.finfo(np.float64).eps)
UPDATES = 8.0  # roundings of an error for each change of a coefficient: its kernel values, sums and side


class KnownScores(NamedTuple):
    """Scores of the rows of all problems, and how far they are known."""

    sums: Vector  # shape: (r,); <w, x_i>
    intercepts: Vector  # shape: (p,)
    errors: Vector  # shape: (r,); the exact scores are within these
    roots: Vector  # shape: (r,); at least the root of k(x_i, x_i)
    weight_errors: Vector  # shape: (p,); |w - sum_i a_i y_i x_i| at most


class Certificate(NamedTuple):
    """Upper bounds of violation and relative duality gap, and the same without the rounding terms."""

    violations: Vector  # shape: (p,)
    gaps: Vector  # shape: (p,)
    computed_violations: Vector  # shape: (p,)
    computed_gaps: Vector  # shape: (p,)
    near: Flags  # shape: (r,); rows whose score matters: the others are certainly where they should be


def certify(
    fits: StackedFits, scores: KnownScores, *, totals: Vector | None = None, scales: Vector | None = None
) -> Certificate:
    """Certify coefficients of support vector problems.

    Problem
        of a C-SVC: the bounds of P - D and of the violation of its optimality conditions. With `totals`,
        (p,), of one-class machines: t_i = -f(x_i) and sum_i a_i is to be the total, not y'a = 0

    Given
        fits       coefficients, sides and upper bounds, whatever solver they are of
        scores     of all rows, with bounds of their errors
        totals     of one-class machines
        scales     of nu-SVCs, (p,): margins that coefficients were divided by. Both sides have their own
                   level, and the violation is the larger one of before and after

    Returns the certificate. The gap is relative to max(|P|, 1). Upper bounds are C times the weights, whose
    products are rounded too.
    """
    target = 1.0 if totals is None else 0.0
    short = target - fits.y * (scores.sums + fits.of_rows(scores.intercepts))
    sizes = 1.0 + np.abs(scores.sums) + fits.of_rows(np.abs(scores.intercepts))
    errors, exact = scores.errors + 2.0 * EPS * sizes, np.zeros_like(short)
    gaps, near = _gaps(fits, scores, short, errors, totals)
    computed_gaps, _ = _gaps(fits, scores, short, exact, totals)
    violations = (_violations(fits, scores.sums, e, scales) for e in (errors, exact))
    return Certificate(next(violations), gaps, next(violations), computed_gaps, near)


def drift(fits: StackedFits, roots: Vector) -> Vector:
    """Upper bound of the rounding errors of scores that were updated step by step, (r,).

    No coefficient was ever above its upper bound, so no score was larger than root_i sum_j box_j root_j.
    """
    begin = fits.starts[:-1]
    largest = np.add.reduceat(fits.box * roots, begin)  # infinite without upper bounds
    changes = 2.0 * fits.steps + np.diff(fits.starts) + UPDATES
    with np.errstate(invalid="ignore"):
        errors = UPDATES * EPS * fits.of_rows(changes) * (1.0 + roots * fits.of_rows(largest))
    return np.where(np.isnan(errors), np.inf, errors)


def weighted_roots(fits: StackedFits, roots: Vector) -> Vector:
    """Bound of sum_j a_j |k(x_i, x_j)| of every row, (r,)."""
    return np.asarray(roots * fits.of_rows(np.add.reduceat(fits.alpha * roots, fits.starts[:-1])))


def _gaps(
    fits: StackedFits, scores: KnownScores, short: Vector, errors: Vector, totals: Vector | None
) -> tuple[Vector, Flags]:
    """Relative gaps, and rows with a term of their own."""
    begin, n = fits.starts[:-1], np.diff(fits.starts)
    y, box, alpha = fits.y, fits.box, fits.alpha
    hard = np.isinf(box)
    high, low = short + errors, short - errors
    with np.errstate(invalid="ignore", over="ignore"):
        room = np.where(hard | (alpha >= box), 0.0, box - alpha)
        terms = np.maximum(room * np.maximum(high, 0.0), alpha * np.maximum(-low, 0.0))
        near = (terms > 0.0) | (hard & ((high > 0.0) | (alpha > 0.0)))
        terms = np.where(hard, -alpha * low, terms)
        loss = np.where(hard, 0.0, box * np.maximum(short, 0.0))
        sums = alpha.copy() if totals is not None else alpha * y
        wrong = np.add.reduceat(sums, begin) - (0.0 if totals is None else totals)
        weight = np.add.reduceat(alpha, begin)
        wrong = np.abs(wrong) + 2.0 * n * EPS * weight
        farthest = np.maximum.reduceat(np.where(alpha > 0.0, high, 0.0), begin)
        if totals is not None:
            farthest = np.maximum.reduceat(np.abs(short) + errors, begin)
        moved = wrong * np.maximum.reduceat(scores.roots, begin) + scores.weight_errors
        products = 4.0 * EPS * np.add.reduceat(alpha * np.abs(short) + loss, begin)  # of C and weights
        square = np.add.reduceat(alpha * y * scores.sums, begin)
        gap = np.add.reduceat(terms, begin) + 2.0 * EPS * n * np.add.reduceat(np.abs(terms), begin)
        gap += wrong * np.maximum(farthest, 0.0) + 0.5 * moved**2 + products
        primal = 0.5 * square + np.add.reduceat(loss, begin)
        if totals is not None:
            primal += totals * scores.intercepts
        off = np.add.reduceat(np.where(high > 0, np.where(hard, 0.0, box), 0.0) * errors, begin)
        off += np.add.reduceat(alpha * errors, begin) + n * EPS * (weight + np.abs(primal))
        most = np.abs(square) + np.add.reduceat(alpha * errors, begin)
        gap, primal = _scale_hard_margins(fits, hard, high, gap, primal, most)
        size = np.maximum(np.abs(primal) - off, 1.0)
        relative = np.where(np.isfinite(gap), gap / np.where(size < np.inf, size, 1.0), np.inf)
    return np.where(np.isnan(relative), np.inf, relative), near


def _scale_hard_margins(
    fits: StackedFits, hard: Flags, high: Vector, gap: Vector, primal: Vector, square: Vector
) -> tuple[Vector, Vector]:
    """Without upper bounds the primal is that of w and b scaled until no margin is below 1."""
    begin = fits.starts[:-1]
    some = np.logical_or.reduceat(hard, begin)
    if not some.any():
        return gap, primal
    least = 1.0 - np.maximum.reduceat(np.where(hard, high, 0.0), begin)
    growth = np.where(least > 0.0, 1.0 / np.maximum(least, 1e-300) ** 2, np.inf)
    more = 0.5 * square * (growth - 1.0)
    return np.where(some, gap + more, gap), np.where(some, primal + more, primal)


def _violations(
    fits: StackedFits, sums: Vector, errors: Vector, scales: Vector | None
) -> Vector:
    """The largest y_i - <w, x_i> of rows that may grow less the smallest of those that may shrink."""
    begin, plus = fits.starts[:-1], fits.y > 0.0
    may_grow, may_shrink = fits.alpha < fits.box, fits.alpha > 0.0
    up, down = np.where(plus, may_grow, may_shrink), np.where(plus, may_shrink, may_grow)
    trained = fits.box > 0.0
    falls = fits.y - sums
    groups = [trained] if scales is None else [trained & plus, trained & ~plus]
    found = np.zeros(len(begin))
    for group in groups:
        top = np.maximum.reduceat(np.where(up & group, falls + errors, -np.inf), begin)
        bottom = np.minimum.reduceat(np.where(down & group, falls - errors, np.inf), begin)
        found = np.maximum(found, top - bottom)
    return found if scales is None else found * np.maximum(scales, 1.0)
