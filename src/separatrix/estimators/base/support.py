"""The dual coefficients of all boundaries on their support vectors, in scikit-learn's layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse

from separatrix.jit import njit
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.gram.held import reorder
from separatrix.kernels.gram.operations import cheapest_columns, tile_rows
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import device_name, dtype_of, is_tensor, like, zeros
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.solvers.decomposition import coding, pairs
from separatrix.solvers.svm.problem import SvmFit
from separatrix.solvers.svm.stacked import StackedFits
from separatrix.types import Codes, Gram, Matrix, Vector

BALANCED = 1e-9  # share of the sum of coefficients that is rounding
DEVICE_COEFFICIENTS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # of each Support


@dataclass(frozen=True, eq=False)
class Support:
    """Support vectors of a Gram in class order, and their coefficients at each boundary.

    One-vs-one, a row of class c has one coefficient for each other class, in the order of those
    classes, (k - 1, s); otherwise one for each boundary, (p, s).
    """

    rows: Codes  # shape: (s,); rows of the Gram
    classes: Codes  # shape: (s,)
    cuts: Codes  # shape: (k + 1,); start of each class among the rows
    coef: Matrix  # shape: (k - 1, s) or (p, s); coefficient times side
    intercept: Vector  # shape: (p,)
    paired: bool
    weights: Matrix | None = None  # shape: (p, d); of a linear kernel, where the solver found them

    @classmethod
    def of(
        cls, fits: Sequence[SvmFit], n_classes: int, scheme: str, *, segments: tuple[slice, ...],
        slots: Codes | None = None,
    ) -> Self:  # fmt: skip
        """The union of the support of solved problems; `slots` are `coefficient_slots` if known."""
        if slots is None and not isinstance(fits, StackedFits):
            fits = [fit.with_coefficient() for fit in fits]  # few of the rows are stacked then
        found, n = StackedFits.of(fits), segments[-1].stop
        paired = scheme == "ovo" and n_classes > 2
        coef = np.zeros((n_classes - 1 if paired else len(found), n))
        if slots is None:
            some = np.flatnonzero(found.alpha != 0)
            slots = coefficient_slots(found, n_classes, scheme, segments, some)
            coef.reshape(-1)[slots] = found.alpha[some] * found.y[some]
        else:
            coef.reshape(-1)[slots] = found.alpha * found.y
        rows = np.flatnonzero(coef.any(axis=0))
        cuts = np.searchsorted(rows, [segment.start for segment in segments] + [n])
        classes = np.repeat(np.arange(n_classes), np.diff(cuts))
        return cls(rows, classes, cuts, coef[:, rows], found.intercepts.copy(), paired)

    def norms(self) -> Vector:
        """Euclidean norm of the coefficients of each boundary, (p,)."""
        squares = self.coef**2
        if not self.paired:
            return np.asarray(np.sqrt(squares.sum(axis=1)))
        sums = np.stack([squares[:, a:b].sum(axis=1) for a, b in pairwise(self.cuts)], axis=1)
        first, second = pairs(len(self.cuts) - 1).T
        return np.asarray(np.sqrt(sums[second - 1, first] + sums[first, second]))

    def scores(self, K: Any) -> Any:
        """Scores at every boundary from kernel values with the support rows, (m, s) -> (m, p)."""
        if is_tensor(K):
            columns, intercept = self._coefficients_like(K)
            return (K @ columns).double() + intercept
        coef = self.coef[None].astype(K.dtype, copy=False)
        return _scores(K, coef, self.cuts, self.intercept[None], self.paired)[:, 0]

    def _coefficients_like(self, K: Any) -> tuple[Any, Any]:
        """Coefficients (s, p) and intercepts on the device of kernel values; kept for the next ones."""
        key = (device_name(K), dtype_of(K))
        kept = DEVICE_COEFFICIENTS.get(self)
        if kept is None or kept[0] != key:
            columns = np.ascontiguousarray(self.columns().T.astype(dtype_of(K)))
            kept = (key, like(columns, K), like(self.intercept, K))
            DEVICE_COEFFICIENTS[self] = kept
        return kept[1], kept[2]

    def scores_of(self, gram: Gram, rows: Codes) -> Any:
        """Scores of rows of the Gram, (rows, p)."""
        return scores_of_all([self], gram, rows)[:, 0]

    def alphas(self, segments: tuple[slice, ...]) -> list[Vector]:
        """Coefficients of each problem over its own rows: initial ones of another fit."""
        spread = np.zeros((len(self.coef), segments[-1].stop))
        spread[:, self.rows] = np.abs(self.coef)
        if not self.paired:
            return list(spread)
        return [
            np.concatenate([spread[second - 1, segments[first]], spread[first, segments[second]]])
            for first, second in pairs(len(segments))
        ]

    def weighted_sums(self, Z: Matrix) -> Matrix:
        """Sums of the support rows of dense samples by the coefficients of each boundary, (p, d)."""
        if not self.paired:
            return np.asarray(self.coef @ Z)
        W = np.zeros((len(self.intercept), Z.shape[1]), np.result_type(self.coef, Z))
        for c, numbers in enumerate(_boundary_numbers(len(self.cuts) - 1)):
            own = slice(self.cuts[c], self.cuts[c + 1])
            W[numbers] += self.coef[:, own] @ Z[own]
        return W

    def columns(self) -> Matrix:
        """Coefficient of every support row at every boundary, (p, s)."""
        if not self.paired:
            return self.coef
        full = np.zeros((len(self.intercept), len(self.rows)))
        for c, numbers in enumerate(_boundary_numbers(len(self.cuts) - 1)):
            own = slice(self.cuts[c], self.cuts[c + 1])
            full[numbers, own] = self.coef[:, own]
        return full

    def by_class(self) -> Matrix:
        """Coefficient of every support vector for each class: the sum over its boundaries, (k, s)."""
        k = len(self.cuts) - 1
        scheme = "ovo" if self.paired else "ovr"
        sides = coding(k, scheme).astype(np.float64)
        return sides @ self.columns() if self.paired or k == 2 else self.columns()


def centred_weights(support: Support, vectors: Any) -> tuple[Matrix, Vector]:
    """Weights of a linear kernel, (p, d), and the point that dense support vectors are taken from.

    If the coefficients of every boundary sum to 0, any point gives the same weights, and the mean the
    smallest rounding errors; otherwise it is the origin.
    """
    sums = support.weighted_sums(np.ones((len(support.rows), 1)))
    sizes = replace(support, coef=np.abs(support.coef)).weighted_sums(
        np.ones((len(support.rows), 1))
    )
    centre = np.zeros(vectors.shape[1])
    if len(vectors) and np.all(np.abs(sums) <= BALANCED * sizes):
        centre = vectors.mean(axis=0, dtype=np.float64)
    if support.weights is not None:
        return support.weights, centre
    return support.weighted_sums(vectors - centre), centre


def with_weights(support: Support, fits: Sequence[SvmFit], X: Any, order: Codes) -> Support:
    """The same with the weights that the solver of some fits found; samples X are those of the Gram."""
    found = getattr(fits, "weights", {})
    if not found:
        return support
    vectors = X[order[support.rows]]
    W, _ = centred_weights(support, vectors.toarray() if issparse(vectors) else vectors)
    for p, w in found.items():
        W[p] = w
    return replace(support, weights=W)


def coefficient_slots(
    fits: StackedFits, n_classes: int, scheme: str, segments: tuple[slice, ...],
    some: Any = slice(None),
) -> Codes:  # fmt: skip
    """Where the coefficients of all or some rows of solved problems are in a `Support` of n columns.

    They are the same for all folds and values of C.
    """
    number = np.repeat(np.arange(len(fits)), np.diff(fits.starts))[some]
    rows = fits.rows[some]
    if scheme == "ovo" and n_classes > 2:
        # the number of the pair's other class among those that are not the row's own
        widths = [segment.stop - segment.start for segment in segments]
        own = np.repeat(np.arange(n_classes), widths)[rows]
        other = pairs(n_classes).sum(axis=1)[number] - own
        number = other - (other > own)
    return np.asarray(number * segments[-1].stop + rows)


def scores_of_all(supports: Sequence[Support], gram: Gram, rows: Codes) -> Any:
    """Scores of rows of the Gram by each of several machines on it, (rows, machines, p)."""
    n = gram.shape[0]
    all_rows = len(rows) == n
    in_any = np.zeros(n, dtype=bool)
    for support in supports:
        in_any[support.rows] = True
    columns = cheapest_columns(gram, np.flatnonzero(in_any), all_rows=all_rows)
    union = np.arange(n) if isinstance(columns, slice) else columns
    coef = np.zeros((len(supports), len(supports[0].coef), len(union)))
    for number, support in enumerate(supports):
        coef[number][:, np.searchsorted(union, support.rows)] = support.coef
    cuts = np.searchsorted(union, [segment.start for segment in gram.segments] + [n])
    coef = like(coef.astype(gram.dtype, copy=False), gram.diagonal())
    intercept = like(np.stack([support.intercept for support in supports]), gram.diagonal())
    S = zeros((len(rows), *intercept.shape), gram.diagonal())
    queue = BoundedQueue(S.device if is_tensor(S) else None)
    for part in row_blocks(len(rows), tile_rows(gram, len(union))):
        K = gram.tile(part if all_rows else rows[part], columns)
        S[part] = _scores(K, coef, cuts, intercept, supports[0].paired)
        queue.wait()
    return S[like(rows, S)] if all_rows else S


def _scores(K: Any, coef: Any, cuts: Codes, intercept: Any, paired: bool) -> Any:
    """Scores of machines with coefficients (machines, k - 1 or p, s) on the same rows, (m, machines, p).

    Coefficients have the type of K, and intercepts are on its device.
    """
    machines, r, s = coef.shape
    flat = coef.reshape(machines * r, s)
    if paired and not is_tensor(K):
        return _scores_of_pairs(K, flat, cuts, intercept)
    S = zeros((len(K), *intercept.shape), K)
    S += intercept
    if not paired:
        S += (K @ flat.T).reshape(len(K), machines, r)
        return S
    for c, boundaries in enumerate(_boundary_numbers(len(cuts) - 1)):
        own = slice(cuts[c], cuts[c + 1])
        S[:, :, boundaries] += (K[:, own] @ flat[:, own].T).reshape(len(K), machines, r)
    return S


def _scores_of_pairs(K: Matrix, coef: Matrix, cuts: Codes, intercept: Matrix) -> Matrix:
    """Scores of pairs of classes from coefficients of all machines, (machines (k - 1), s)."""
    machines, k = len(intercept), len(cuts) - 1
    sums = np.empty((machines, len(K), k * (k - 1)))
    for c in range(k):
        own = slice(cuts[c], cuts[c + 1])
        part = (K[:, own] @ coef[:, own].T).reshape(len(K), machines, k - 1)
        sums[:, :, c * (k - 1) : (c + 1) * (k - 1)] = part.transpose(1, 0, 2)
    S = np.empty((machines, len(K), intercept.shape[1]))
    for number in range(machines):
        add_sides(sums[number], intercept[number], k, S[number])
    return S.transpose(1, 0, 2)


@njit(cache=True, nogil=True)
def add_sides(sums: Matrix, intercept: Vector, k: int, S: Matrix) -> None:
    """Scores of pairs of classes: the intercept and the sums of both classes for each other."""
    for i in range(len(S)):
        p = 0
        for a in range(k):
            for b in range(a + 1, k):
                one, other = sums[i, a * (k - 1) + b - 1], sums[i, b * (k - 1) + a]
                S[i, p] = (intercept[p] + one) + other
                p += 1


def _boundary_numbers(k: int) -> Codes:
    """The boundary between each class and each other one, (k, k - 1)."""
    numbers, (first, second) = np.empty((k, k - 1), dtype=np.intp), pairs(k).T
    numbers[first, second - 1] = numbers[second, first] = np.arange(len(first))
    return numbers


def class_segments(y: Codes, n_classes: int) -> tuple[slice, ...]:
    """The range of each class among rows in class order.

    >>> class_segments(np.array([0, 0, 1, 1, 1]), 2)
    (slice(0, 2, None), slice(2, 5, None))
    """
    edges = np.searchsorted(y, np.arange(n_classes + 1)).tolist()
    return tuple(slice(*edge) for edge in pairwise(edges))


def in_order(kernel: Kernel, X: Any, order: Codes) -> Any:
    """Samples, or both sides of a kernel matrix, in another order."""
    if isinstance(kernel, Precomputed):
        return reorder(symmetric_matrix(X, name="X (kernel='precomputed')"), order)
    return X[order]
