"""The certificate of a support vector fit, for the samples as they were given.

First from the kernel values that the solver used, whose errors are bounded. Where that bound misses the
tolerance, scores of the rows that matter are computed again: in float64 from the samples, or from the
same values in one sum. A linear kernel is certified at its weights and intercept as stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.estimators.base.support import Support, centred_weights
from separatrix.jit import njit
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.columns import MOST_DENSE
from separatrix.kernels.gram.sources import make_source
from separatrix.kernels.prepared import WARN_ABOVE
from separatrix.kernels.rounding import ValueErrors, squares_of
from separatrix.kernels.vector_kernels import CentredLinear, Gaussian, Linear
from separatrix.runtime.blocks import default_budget, row_blocks, rows_that_fit
from separatrix.runtime.compiled import FAST_SUMS
from separatrix.runtime.device import as_numpy, like
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.svm.gap_certificate import (
    EPS,
    LONG,
    LONG_EPS,
    Certificate,
    KnownScores,
    certify,
    drift,
    weighted_roots,
)
from separatrix.solvers.svm.problem import GAP, LIBSVM, SvmFit
from separatrix.solvers.svm.stacked import StackedFits
from separatrix.types import Codes, Flags, Gram, HeldMatrix, Matrix, Vector

EXACT = 1e-12  # tolerance of kernel values that only float64 meets
SLACK = 1.1  # a violation counts as within tol up to this multiple of it: the rest is rounding
FAR = 100.0  # mean square of samples, as a multiple of that about their mean
VALUES_AT_ONCE, ROWS_AT_ONCE = 2**19, 2**22


class Goal(NamedTuple):
    """What a fit promises if it ends with "tol"."""

    violation: float
    gap: float  # infinite without a duality gap

    @classmethod
    def of(cls, tol: float, stop: str, kernel: Kernel) -> Goal:
        """Of the parameters of an estimator."""
        if stop == LIBSVM or not kernel.positive_semidefinite:
            return cls(SLACK * tol, np.inf)
        return cls(np.inf, tol) if stop == "gap" else cls(SLACK * tol, max(tol, GAP))

    def exceeded(self, found: Certificate) -> Flags:
        """Which problems have a bound above it."""
        return np.asarray((found.violations > self.violation) | (found.gaps > self.gap))

    def missed(self, found: Certificate) -> Flags:
        """Which problems miss it; where the rounding of scores is larger than tol the gap alone decides."""
        rounded = SLACK * found.score_errors > self.violation
        violated = (found.violations > self.violation) & ~(rounded & (self.gap < np.inf))
        return np.asarray(violated | (found.gaps > self.gap))


class SolvedData(NamedTuple):
    """What solved problems are about."""

    kernel: Kernel
    X: Any  # shape: (n, d); samples, on any device, or their kernel values
    order: Codes  # rows of X in the order of the Gram
    goal: Goal
    totals: Vector | None = None  # of one-class machines, as in `certify`
    scales: Vector | None = None  # of nu-SVCs, as in `certify`
    threads: int = 1

    def some(self, problems: slice) -> SolvedData:
        """The same of some problems."""
        totals, scales = (
            None if part is None else part[problems] for part in (self.totals, self.scales)
        )
        return self._replace(totals=totals, scales=scales)


class CertifiedFits(NamedTuple):
    """Fits whose violations, gaps and stops are certified, and the intercepts to store."""

    fits: Sequence[SvmFit]
    intercepts: Vector  # shape: (p,)


def has_weights(kernel: Kernel, X: Any) -> bool:
    """Whether a classifier is certified at its weights: of a linear kernel, if samples fit dense."""
    return type(kernel) is Linear and (not issparse(X) or X.shape[0] * X.shape[1] <= MOST_DENSE)


def as_dense(X: Any) -> Any:
    """Samples as a NumPy array."""
    return X.toarray() if issparse(X) else as_numpy(X)


def is_far(X: Any) -> bool:
    """Whether dense samples are so far from the origin that products about their mean are better."""
    with np.errstate(over="ignore"):  # infinite kernel values are refused later
        spread = squares_of(CentredLinear(), X).mean()
        return bool(squares_of(Linear(), X).mean() > FAR * spread)


def certify_fits(
    data: SolvedData, gram: Gram, fits: Sequence[SvmFit], support: Support | None
) -> CertifiedFits:
    """Certify solved problems for the samples as they were given.

    Given
        data     kernel, samples and goal
        gram     the matrix that the problems were solved on
        fits     coefficients, of whatever solver
        support  of a classifier that is certified at its weights: the coefficients as stored

    Returns the fits with upper bounds of violation and gap. A problem that its solver ended with "tol"
    and that misses the goal ends with "gap" if its computed gap does, or else with "rounding".
    """
    certifier: _Certifier = (
        _ValueCertifier(data, gram) if support is None else _WeightCertifier(data, support)
    )
    if isinstance(fits, StackedFits):
        return CertifiedFits(*certifier.certify(slice(0, len(fits)), fits))
    done: list[SvmFit] = []
    intercepts = []
    for part in row_blocks(len(fits), rows_that_fit(len(fits[0].rows), ROWS_AT_ONCE)):
        group, stored = certifier.certify(part, StackedFits.of(fits[part]))
        done.extend(group)
        intercepts.append(stored)
    return CertifiedFits(done, np.concatenate(intercepts))


class _ValueCertifier:
    """Certificates from the kernel values that the solver used, refined where that is not enough."""

    def __init__(self, data: SolvedData, gram: Gram) -> None:
        self.data, self.gram = data, gram
        self.bounds = ValueErrors.of(data.kernel, data.X, np.dtype(gram.dtype))
        diagonal = as_numpy(gram.diagonal())
        if data.kernel.positive_semidefinite:
            self.roots = np.sqrt(np.maximum(diagonal, 0.0))
            return
        largest = float(np.abs(diagonal).max())
        if isinstance(gram, HeldMatrix):
            largest = max(largest, float(gram.matrix.max()), -float(gram.matrix.min()))
        self.roots = np.full(len(diagonal), np.sqrt(largest))

    def certify(self, problems: slice, fits: StackedFits) -> tuple[StackedFits, Vector]:
        """Some problems, certified, and their intercepts."""
        data, roots = self.data.some(problems), self.roots[fits.rows]
        scores = KnownScores(
            fits.errors + fits.y,
            self._errors(self.bounds, fits, roots) + drift(fits, roots),
            fits.intercepts,
            roots,
            np.zeros(len(fits)),
        )
        found = certify(fits, scores, totals=data.totals, scales=data.scales)
        # first the rows that matter most, then all in longer sums
        for wanted, sums in ((found.near, np.float64), (fits.box > 0.0, LONG)):
            missed = data.goal.exceeded(found)
            if missed.any():
                scores = self._refined(fits, scores, wanted & fits.of_rows(missed), sums)
                found = certify(fits, scores, totals=data.totals, scales=data.scales)
                fits = fits.with_errors(scores.sums - fits.y)
        return _with_certificate(data, fits, found), fits.intercepts

    def _errors(self, bounds: ValueErrors, fits: StackedFits, roots: Vector) -> Vector:
        """Bounds of the errors of scores that are exact sums of kernel values, (r,)."""
        errors = bounds.share * weighted_roots(fits, roots)
        if not bounds.slope:
            return errors
        squares, begin = bounds.squares[self.data.order][fits.rows], fits.starts[:-1]
        sums = fits.of_rows(np.add.reduceat(fits.alpha, begin))
        more = fits.of_rows(np.add.reduceat(fits.alpha * squares, begin))
        return np.asarray(errors + bounds.slope * (squares * sums + more))

    def _refined(
        self, fits: StackedFits, scores: KnownScores, wanted: Flags, dtype: Any
    ) -> KnownScores:
        """The scores with those of some rows computed again, each in one sum of float64 values."""
        number = fits.of_rows(np.arange(len(fits)))
        chosen = np.unique(number[wanted])
        used = wanted | (np.isin(number, chosen) & (fits.alpha > 0.0))
        union = np.unique(fits.rows[used])
        sums, errors = scores.sums.copy(), scores.errors.copy()
        double = ValueErrors.of(self.data.kernel, self.data.X, np.dtype(np.float64))
        if type(self.data.kernel) is Gaussian and double.largest > WARN_ABOVE:
            double, values = ValueErrors.of_differences(self.data.X), self._differences(union)
        else:
            values = self._float64_values(union)
        sizes = np.add.reduceat((fits.alpha > 0.0).astype(np.float64), fits.starts[:-1])
        sizes = 4.0 * EPS + (sizes + 8.0) * float(np.finfo(dtype).eps)
        bounds = self._errors(double, fits, scores.roots)
        bounds += fits.of_rows(sizes) * weighted_roots(fits, scores.roots)
        index = np.zeros(int(union[-1]) + 1, np.int64)
        index[union] = np.arange(len(union))

        def parts() -> Iterator[tuple[Codes, Codes]]:
            for p in chosen.tolist():
                first, stop = fits.starts[p], fits.starts[p + 1]
                support = first + np.flatnonzero(fits.alpha[first:stop])
                near = first + np.flatnonzero(wanted[first:stop])
                for part in row_blocks(len(near), max(1, VALUES_AT_ONCE // max(1, len(support)))):
                    yield near[part], support

        def compute(part: tuple[Codes, Codes]) -> None:
            near, support = part
            K = values(index[fits.rows[near]], index[fits.rows[support]])
            sums[near] = K.astype(dtype, copy=False) @ (fits.alpha[support] * fits.y[support])
            errors[near] = bounds[near]

        with blas_on_one_thread():
            in_threads(compute, parts(), threads=self.data.threads)
        return scores._replace(sums=sums, errors=errors)

    def _float64_values(self, union: Codes) -> Callable[[Codes, Codes], Matrix]:
        """What computes values of some rows and columns of the Gram."""
        data, gram = self.data, self.gram
        if gram.dtype == np.float64 or data.kernel.takes != "vectors":
            return lambda rows, columns: as_numpy(gram.tile(union[rows], union[columns]))
        source = make_source(
            data.kernel,
            self._samples(union),
            tolerance=EXACT,
            budget=default_budget(),
            threads=data.threads,
        )
        return source.tile

    def _differences(self, union: Codes) -> Callable[[Codes, Codes], Matrix]:
        """The same of a Gaussian kernel whose products cancel."""
        X, block = self._samples(union), self.data.kernel.block_of_differences  # type: ignore[attr-defined]
        return lambda rows, columns: np.asarray(block(X[rows], X[columns]))

    def _samples(self, union: Codes) -> Any:
        return as_numpy(self.data.X[like(self.data.order[union], self.data.X)])


class _WeightCertifier:
    """Certificates of a linear kernel at its weights and intercepts as stored, all in float64."""

    def __init__(self, data: SolvedData, support: Support) -> None:
        X = as_dense(data.X)
        self.data, self.support = data._replace(X=X), support
        self.W, _ = centred_weights(support, X[data.order[support.rows]])
        self.centre = X.mean(axis=0, dtype=np.float64)
        self.Z = np.subtract(X[data.order], self.centre, dtype=np.float64)
        self.roots = np.sqrt(np.einsum("ij,ij->i", self.Z, self.Z)) * (1.0 + X.shape[1] * EPS)

    def certify(self, problems: slice, fits: StackedFits) -> tuple[StackedFits, Vector]:
        """Some problems, certified, and the intercepts to store with the weights."""
        W, d = np.ascontiguousarray(self.W[problems]), len(self.centre)
        roots, sums = self.roots[fits.rows], np.empty(len(fits.rows))
        add_products(self.Z, W, fits.rows, fits.starts, sums)
        begin, trained = fits.starts[:-1], (fits.box > 0.0).astype(np.float64)
        moved = np.add.reduceat(trained * (fits.errors + fits.y - sums), begin)
        about = fits.intercepts + moved / np.maximum(np.add.reduceat(trained, begin), 1.0)
        shift = (W.astype(LONG) * self.centre).sum(axis=1)
        stored = (about - shift).astype(np.float64)
        intercepts = (stored + shift).astype(np.float64)
        off = LONG_EPS * ((d + 2) * (np.abs(W) @ np.abs(self.centre)) + np.abs(stored))
        sizes = np.add.reduceat(fits.alpha * roots, begin)
        lengths = np.sqrt(np.einsum("ij,ij->i", W, W))
        errors = fits.of_rows(off) + roots * fits.of_rows((d + 4) * EPS * lengths)
        off_dual = self._off_dual(problems, sizes, np.diff(fits.starts), quick=True)
        scores = KnownScores(sums, errors, intercepts, roots, off_dual)
        data = self.data.some(problems)
        found = certify(fits, scores, scales=data.scales)
        if data.goal.exceeded(found).any():
            add_products(np.abs(self.Z), np.abs(W), fits.rows, fits.starts, errors)
            scores = scores._replace(
                errors=fits.of_rows(off) + (d + 4) * EPS * errors,
                weight_errors=self._off_dual(problems, sizes, np.diff(fits.starts), quick=False),
            )
            found = certify(fits, scores, scales=data.scales)
        above = np.flatnonzero(data.goal.exceeded(found))
        for p in above.tolist():
            self._refine(fits, p, W[p], np.flatnonzero(found.near), scores, stored)
        if len(above):
            found = certify(fits, scores, scales=data.scales)
        return _with_certificate(data, fits, found), stored

    def _refine(
        self, fits: StackedFits, p: int, w: Vector, near: Codes, scores: KnownScores, stored: Vector
    ) -> None:
        """Compute scores of rows near the margin in longer floats, and the best intercept from them."""
        first, stop = fits.starts[p], fits.starts[p + 1]
        near, centre = near[(near >= first) & (near < stop)], self.centre.astype(LONG)
        Z = self.data.X[self.data.order[fits.rows[near]]] - centre
        sums, shift = Z @ w.astype(LONG), w.astype(LONG) @ centre
        own = scores.sums[first:stop].astype(LONG)
        own[near - first] = sums
        level = best_intercept(own, fits.y[first:stop], fits.box[first:stop])
        stored[p] = level - shift
        level = stored[p] + shift
        scores.sums[first:stop] += float(level)
        scores.sums[near], scores.intercepts[p] = sums + level, 0.0
        sizes = np.abs(Z) @ np.abs(w) + abs(shift) + abs(stored[p])
        scores.errors[near] = (len(w) + 8) * LONG_EPS * sizes + EPS * np.abs(scores.sums[near])

    def _off_dual(self, problems: slice, sizes: Vector, counts: Codes, *, quick: bool) -> Vector:
        """|w - sum_i a_i y_i x_i| of each problem at most, (p,)."""
        if quick and self.support.weights is None:
            return np.asarray((counts + 4) * EPS * sizes)
        Z = self.data.X[self.data.order[self.support.rows]] - self.centre.astype(LONG)
        off = (self.W - self.support.weighted_sums(Z))[problems].astype(np.float64)
        lengths = np.linalg.norm(off, axis=1) * (1.0 + (off.shape[1] + 4) * EPS)
        return np.asarray(lengths + (counts + 4) * LONG_EPS * sizes)


def best_intercept(scores: Vector, y: Vector, box: Vector) -> Any:
    """The intercept with the smallest sum of losses box max(0, 1 - y (score + intercept)).

    The slope of the sum grows by a row's bound where its margin is 1: a weighted quantile.

    >>> float(best_intercept(np.array([2.0, -2.0, 0.5]), np.array([1.0, -1.0, 1.0]), np.ones(3)))
    0.5
    """
    ends = y - scores
    order = np.argsort(ends, kind="stable")
    falling = box[y > 0.0].sum()
    slopes = np.cumsum(box[order])
    return ends[order[min(int(np.searchsorted(slopes, falling)), len(order) - 1)]]


_Certifier = _ValueCertifier | _WeightCertifier


def _with_certificate(data: SolvedData, fits: StackedFits, found: Certificate) -> StackedFits:
    stops = fits.stops.astype("U16")
    solved = stops == "tol"
    far = found.computed_gaps > data.goal.gap
    missed = data.goal.missed(found)
    stops[(stops == "stalled") & ~missed] = "tol"
    stops[solved & missed] = "rounding"
    stops[solved & far] = "gap"
    gaps = found.gaps if data.kernel.positive_semidefinite else np.full(len(fits), np.nan)
    return fits.with_certificates(found.violations, gaps, stops)


@njit(cache=True, nogil=True, fastmath=FAST_SUMS)
def add_products(Z: Matrix, W: Matrix, rows: Codes, starts: Codes, sums: Vector) -> None:
    """Write the products of the rows of each problem with its weights."""
    for p in range(len(W)):
        w = W[p]
        for i in range(starts[p], starts[p + 1]):
            z, total = Z[rows[i]], 0.0
            for j in range(len(w)):
                total += w[j] * z[j]
            sums[i] = total
