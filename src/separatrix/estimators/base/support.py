"""The coefficients of all boundaries on the rows that carry any, in scikit-learn's layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.embedding import symmetric_matrix
from separatrix.kernels.gram.host import reordered
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import device_name, dtype_of, is_tensor, like, zeros
from separatrix.solvers.decomposition import coding, pairs
from separatrix.solvers.svm.smo import SvmFit
from separatrix.types import Codes, Flags, Gram, Matrix, Vector

TILE_BYTES, DEVICE_TILE_BYTES = 2**27, 2**31


@dataclass(frozen=True)
class Support:
    """Support rows of a Gram whose rows lie in class order, and what each counts at each boundary.

    Between pairs a row of class c has one coefficient for each other class, in the order of those
    classes, (k - 1, s); otherwise one for each boundary, (p, s).
    """

    rows: Codes  # shape: (s,); rows of the Gram
    classes: Codes  # shape: (s,)
    cuts: Codes  # shape: (k + 1,); where each class begins among the rows
    coef: Matrix  # shape: (k - 1, s) or (p, s); coefficient times side
    intercept: Vector  # shape: (p,)
    paired: bool

    @classmethod
    def of(
        cls, fits: list[SvmFit], n_classes: int, scheme: str, *, segments: tuple[slice, ...]
    ) -> Self:
        """The union of the support of solved problems."""
        n = segments[-1].stop
        in_any = np.zeros(n, dtype=bool)
        for fit in fits:
            in_any[fit.rows[fit.alpha > 0]] = True
        rows = np.flatnonzero(in_any)
        cuts = np.searchsorted(rows, [segment.start for segment in segments] + [n])
        classes = np.repeat(np.arange(n_classes), np.diff(cuts))
        paired = scheme == "ovo" and n_classes > 2
        coef, both = np.zeros((n_classes - 1 if paired else len(fits), n)), pairs(n_classes)
        for p, fit in enumerate(fits):
            signed = fit.alpha * fit.y
            if not paired:
                coef[p, fit.rows] = signed
                continue
            first, second = both[p]
            one = segments[first].stop - segments[first].start
            coef[second - 1, segments[first]] = signed[:one]
            coef[first, segments[second]] = signed[one:]
        intercept = np.array([fit.intercept for fit in fits])
        return cls(rows, classes, cuts, coef[:, rows], intercept, paired)

    def scores(self, K: Any) -> Any:
        """Scores at every boundary from kernel values with the support rows, (m, s) -> (m, p)."""
        if is_tensor(K):
            columns, intercept = self._on(K)
            return (K @ columns).double() + intercept
        coef = self.coef[None].astype(K.dtype, copy=False)
        return _scores(K, coef, self.cuts, self.intercept[None], self.paired)[:, 0]

    def _on(self, K: Any) -> tuple[Any, Any]:
        """Coefficients (s, p) and intercepts where kernel values are; they stay there for the next ones."""
        key = (device_name(K), dtype_of(K))
        kept = self.__dict__.get("_on_card")
        if kept is None or kept[0] != key:
            columns = np.ascontiguousarray(self.columns().T.astype(dtype_of(K)))
            kept = (key, like(columns, K), like(self.intercept, K))
            self.__dict__["_on_card"] = kept  # the class is frozen, but this says nothing new
        return kept[1:]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_on_card"}

    def scores_of(self, gram: Gram, rows: Codes) -> Any:
        """Scores of rows of the Gram, (rows, p)."""
        return scores_of_all([self], gram, rows)[:, 0]

    def alphas(self, segments: tuple[slice, ...]) -> list[Vector]:
        """Coefficients of each problem over its own rows, to begin another fit from."""
        spread = np.zeros((len(self.coef), segments[-1].stop))
        spread[:, self.rows] = np.abs(self.coef)
        if not self.paired:
            return list(spread)
        return [
            np.concatenate([spread[second - 1, segments[first]], spread[first, segments[second]]])
            for first, second in pairs(len(segments))
        ]

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
        """What every support row adds to each class: the sum over its boundaries, (k, s)."""
        k = len(self.cuts) - 1
        scheme = "ovo" if self.paired else "ovr"
        sides = coding(k, scheme).astype(np.float64)
        return sides @ self.columns() if self.paired or k == 2 else self.columns()


def scores_of_all(supports: Sequence[Support], gram: Gram, rows: Codes) -> Any:
    """Scores of rows of the Gram by each of several machines on it, (rows, machines, p).

    Kernel values are looked up once. Of a matrix in memory whole rows are read where many values out
    of them are wanted, and as they lie where all rows are.
    """
    n = gram.shape[0]
    everything = len(rows) == n and gram.device is None
    in_any = np.zeros(n, dtype=bool)
    for support in supports:
        in_any[support.rows] = True
    union = np.flatnonzero(in_any)
    whole_rows = everything or 2 * len(union) > n
    held = gram.held if whole_rows else None
    if held is not None or (whole_rows and gram.device is not None):
        union = np.arange(n)
    coef = np.zeros((len(supports), len(supports[0].coef), len(union)))
    for number, support in enumerate(supports):
        coef[number][:, np.searchsorted(union, support.rows)] = support.coef
    cuts = np.searchsorted(union, [segment.start for segment in gram.segments] + [n])
    coef = like(coef.astype(gram.dtype, copy=False), gram.diagonal())
    intercept = like(np.stack([support.intercept for support in supports]), gram.diagonal())
    S = zeros((len(rows), *intercept.shape), gram.diagonal())
    tile_bytes = TILE_BYTES if gram.device is None else DEVICE_TILE_BYTES
    for part in row_blocks(len(rows), rows_that_fit(8 * max(1, len(union)), tile_bytes)):
        if held is not None:
            K = held[part if everything else rows[part]]
        else:
            K = gram.rows(rows[part]) if len(union) == n else gram.tile(rows[part], union)
        S[part] = _scores(K, coef, cuts, intercept, supports[0].paired)
    return S[rows] if everything and held is not None else S


def _scores(K: Any, coef: Any, cuts: Codes, intercept: Any, paired: bool) -> Any:
    """Scores of machines with coefficients (machines, k - 1 or p, s) on the same rows, (m, machines, p).

    Coefficients are of the type of K, and intercepts lie where K does.
    """
    machines, r, s = coef.shape
    S = zeros((len(K), *intercept.shape), K)
    S += intercept
    flat = coef.reshape(machines * r, s)
    if not paired:
        S += (K @ flat.T).reshape(len(K), machines, r)
        return S
    for c, boundaries in enumerate(_boundary_numbers(len(cuts) - 1)):
        own = slice(cuts[c], cuts[c + 1])
        S[:, :, boundaries] += (K[:, own] @ flat[:, own].T).reshape(len(K), machines, r)
    return S


def _boundary_numbers(k: int) -> Codes:
    """Which boundary separates each class from each other one, (k, k - 1)."""
    numbers = np.empty((k, k - 1), dtype=np.intp)
    for p, (first, second) in enumerate(pairs(k)):
        numbers[first, second - 1] = numbers[second, first] = p
    return numbers


def class_segments(y: Codes, n_classes: int) -> tuple[slice, ...]:
    """Where each class lies among rows in class order.

    >>> class_segments(np.array([0, 0, 1, 1, 1]), 2)
    (slice(0, 2, None), slice(2, 5, None))
    """
    edges = np.searchsorted(y, np.arange(n_classes + 1)).tolist()
    return tuple(slice(*edge) for edge in pairwise(edges))


def stratified_folds(
    y: Codes, trained: Flags, n_folds: int, rng: np.random.Generator
) -> list[Any] | None:
    """Rows to leave out in turn, every class spread over all folds; None where a class has only one.

    >>> folds = stratified_folds(np.array([0, 0, 1, 1]), np.ones(4, bool), 2, np.random.default_rng(0))
    >>> [np.bincount(np.array([0, 0, 1, 1])[fold]).tolist() for fold in folds]
    [[1, 1], [1, 1]]
    """
    numbers = np.empty(len(y), dtype=np.intp)
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        if np.count_nonzero(trained[rows]) < 2:
            return None
        # those that train first, so that no fold leaves a class without any
        rows = rng.permutation(rows)
        rows = np.concatenate([rows[trained[rows]], rows[~trained[rows]]])
        numbers[rows] = (np.arange(len(rows)) + c) % n_folds
    folds = [np.flatnonzero(numbers == fold) for fold in range(n_folds)]
    return [fold for fold in folds if len(fold)]


def in_order(kernel: Kernel, X: Any, order: Codes) -> Any:
    """Samples, or both sides of a kernel matrix, in another order."""
    if isinstance(kernel, Precomputed):
        return reordered(symmetric_matrix(X, name="X (kernel='precomputed')"), order)
    return X[order]
