"""The certificate of solved support vector problems: upper bounds that hold in exact arithmetic.

With coefficients a, scores f(x_i) = <w, x_i> + b, shortfalls t_i = 1 - y_i f(x_i) and any feasible a',

    P(w, b) - D(a') = sum_i [box_i max(0, t_i) - a'_i t_i] + 1/2 |w - w'|^2,   w' = sum_i a'_i y_i x_i.

Every term is at least 0 and convex in the score: scores that are known to within e_i bound it by its
value at one of the ends. A row at its bound, or without a coefficient, on the right side of its margin by
more than e_i has no term at all. The computed a misses y'a = 0 by rounding; a' is a with its heavier side
scaled down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.solvers.svm.stacked import StackedFits
from separatrix.types import Codes, Flags, Matrix, Vector

EPS = float(np.finfo(np.float64).eps)
Y, BOX, ALPHA, SUM, ERROR, ROOT = range(6)  # rows of what is known of the rows of problems
LONG = np.longdouble  # of sums that decide: 64 bits of mantissa where the processor has them
LONG_EPS = float(np.finfo(LONG).eps)
UPDATES = (
    8.0  # roundings of an error for each change of a coefficient: its kernel values, sums and side
)


class KnownScores(NamedTuple):
    """Scores of the rows of all problems, and how far they are known."""

    sums: Vector  # shape: (r,); <w, x_i>
    errors: Vector  # shape: (r,); the exact sums are within these
    intercepts: Vector  # shape: (p,)
    roots: Vector  # shape: (r,); at least the root of k(x_i, x_i)
    weight_errors: Vector  # shape: (p,); |w - sum_i a_i y_i x_i| at most


class Certificate(NamedTuple):
    """Upper bounds of violation and relative duality gap, and the gap without the rounding terms."""

    violations: Vector  # shape: (p,)
    gaps: Vector  # shape: (p,)
    computed_gaps: Vector  # shape: (p,)
    near: Flags  # shape: (r,); rows whose score matters: the others are certainly where they should be
    score_errors: (
        Vector  # shape: (p,); the largest of those of the scores, rounding of the violation
    )


def certify(
    fits: StackedFits,
    scores: KnownScores,
    *,
    totals: Vector | None = None,
    scales: Vector | None = None,
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
    p = len(fits)
    bounds, near = np.empty((3, p)), np.empty(len(fits.alpha), np.bool_)
    _certify_problems(
        fits.starts,
        np.stack([fits.y, fits.box, fits.alpha, *scores[:2], scores.roots]),
        np.stack([scores.intercepts, scores.weight_errors, _imbalances(fits, totals)]),
        np.full(p, np.nan) if totals is None else totals,
        np.full(p, np.nan) if scales is None else scales,
        bounds,
        near,
    )
    violations, gaps, computed = _bounds(bounds)
    return Certificate(violations, gaps, computed, near, _largest_errors(fits, scores))


@njit(cache=True, nogil=True)
def _certify_problems(
    starts: Codes, rows: Matrix, problems: Matrix, totals: Vector, scales: Vector,
    bounds: Matrix, near: Flags,
) -> None:  # fmt: skip
    """Write violation, gap and gap without rounding of each problem, and which rows matter."""
    for p in range(len(starts) - 1):
        part = rows[:, starts[p] : starts[p + 1]]
        bounds[0, p] = _violation(part, scales[p])
        bounds[2, p] = _gap(part, problems[:, p], totals[p], 0.0, near[starts[p] : starts[p + 1]])
        bounds[1, p] = _gap(part, problems[:, p], totals[p], 1.0, near[starts[p] : starts[p + 1]])


@njit(cache=True, nogil=True)
def _violation(rows: Matrix, scale: float) -> float:
    """The largest y_i - <w, x_i> of rows that may grow less the smallest of those that may shrink.

    A nu-SVC has a scale, and each of its sides its own difference.
    """
    top, bottom = np.full(2, -np.inf), np.full(2, np.inf)
    for i in range(rows.shape[1]):
        y, box, a, total = rows[Y, i], rows[BOX, i], rows[ALPHA, i], rows[SUM, i]
        error = rows[ERROR, i]
        if total != total:
            return np.inf
        side = 1 if y < 0.0 and scale == scale else 0
        error += 2.0 * EPS * (1.0 + abs(total))
        if (a < box) if y > 0.0 else (a > 0.0):
            top[side] = max(top[side], y - total + error)
        if (a > 0.0) if y > 0.0 else (a < box):
            bottom[side] = min(bottom[side], y - total - error)
    found: float = max(top[0] - bottom[0], top[1] - bottom[1], 0.0)
    return found * max(scale, 1.0) if scale == scale else found


@njit(cache=True, nogil=True)
def _gap(rows: Matrix, problem: Vector, total: float, rounding: float, near: Flags) -> float:
    """The relative gap with errors of scores times `rounding`; `near` are rows that have a term."""
    n, one_class = rows.shape[1], total == total
    bias, weight_error, wrong = problem
    terms = sizes = square = loss = off = weight = products = 0.0
    longest = farthest = largest = root = 0.0
    hard = False
    for i in range(n):
        y, box, a, product = rows[Y, i], rows[BOX, i], rows[ALPHA, i], rows[SUM, i]
        error = rounding * (rows[ERROR, i] + 2.0 * EPS * (1.0 + abs(product) + abs(bias)))
        short = (0.0 if one_class else 1.0) - y * (product + bias)
        near[i] = False
        if box == 0.0 and not one_class:  # has no coefficient, and no loss
            continue
        root = max(root, rows[ROOT, i])
        square += a * y * product
        weight += a
        products += a * abs(short)
        off += a * error
        if a > 0.0:
            farthest = max(farthest, short + error)
        if one_class:
            largest = max(largest, abs(short) + error)
        if box == np.inf:
            hard = True
            near[i] = a > 0.0 or short + error > 0.0
            longest = max(longest, short + error)
            term = a * (error - short)
        else:
            term = (box - a) * (short + error) if short + error > 0.0 and a < box else 0.0
            term = max(term, a * (error - short) if error > short else 0.0)
            near[i] = term > 0.0
            if short > 0.0:
                loss += box * short
                products += box * short
            if short + error > 0.0:
                off += box * error
        terms += term
        sizes += abs(term)
    moved = wrong * root + weight_error
    primal = 0.5 * square + loss
    gap = terms + 2.0 * n * EPS * sizes + wrong * max(farthest, largest) + 0.5 * moved * moved
    gap += 4.0 * EPS * products  # of C and weights
    if one_class:
        primal += total * bias
    if hard:
        if longest >= 1.0:
            return np.inf
        more = 0.5 * (abs(square) + off) * (1.0 / (1.0 - longest) ** 2 - 1.0)
        gap, primal = gap + more, primal + more
    size = max(abs(primal) - off - n * EPS * (weight + abs(primal)), 1.0)
    return gap / size if size < np.inf else np.inf


def _imbalances(fits: StackedFits, totals: Vector | None) -> Vector:
    """|sum_i a_i y_i| of each problem at most, or of sum_i a_i less its total, (p,)."""
    begin, sizes = fits.starts[:-1], np.diff(fits.starts)
    sums = np.add.reduceat(fits.alpha.astype(LONG) * fits.y, begin)
    off = np.abs(sums if totals is None else sums - totals)
    return np.asarray(off + (sizes + 2) * LONG_EPS * np.add.reduceat(fits.alpha, begin), np.float64)


def _largest_errors(fits: StackedFits, scores: KnownScores) -> Vector:
    """The largest error of a score that a coefficient depends on, (p,)."""
    return np.asarray(
        np.maximum.reduceat(np.where(fits.box > 0.0, scores.errors, 0.0), fits.starts[:-1])
    )


def _bounds(values: Vector) -> Vector:
    """Infinite where rounding left no number."""
    return np.where(np.isnan(values), np.inf, values)


def drift(fits: StackedFits, roots: Vector) -> Vector:
    """Upper bound of the rounding errors of scores that were updated step by step, (r,).

    No coefficient was ever above its upper bound, so no score was larger than root_i sum_j box_j root_j.
    """
    begin = fits.starts[:-1]
    changes = 2.0 * fits.steps + np.diff(fits.starts) + UPDATES
    with np.errstate(over="ignore", invalid="ignore"):
        largest = np.add.reduceat(fits.box * roots, begin)  # infinite without upper bounds
        return _bounds(UPDATES * EPS * fits.of_rows(changes) * (1 + roots * fits.of_rows(largest)))


def weighted_roots(fits: StackedFits, roots: Vector) -> Vector:
    """Bound of sum_j a_j |k(x_i, x_j)| of every row, (r,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.add.reduceat(fits.alpha * roots, fits.starts[:-1])
        return _bounds(roots * fits.of_rows(sums))
