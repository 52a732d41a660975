"""Choice of the search method for some rows and a metric."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import ParameterError
from separatrix.runtime.blocks import default_budget
from separatrix.runtime.threads import thread_count
from separatrix.solvers.nearest.axes import (
    LEADING,
    axes_pay,
    local_dimension,
    most_axes,
    no_axes,
    principal_axes,
)
from separatrix.solvers.nearest.bits import Bits, is_binary
from separatrix.solvers.nearest.boxes import Boxes
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.manhattan import Manhattan
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, MINKOWSKI, Metric
from separatrix.solvers.nearest.projections import Projections
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.solvers.nearest.scan import ProductScan
from separatrix.solvers.nearest.sparse import Sparse

TINY = 2**8  # values up to which an exhaustive search beats building an index
FEW_QUERIES = 128  # that a scan of the rows answers before an index could be built
FEW_FEATURES = {EUCLIDEAN: 20, MANHATTAN: 10, CHEBYSHEV: 32}  # features up to which boxes are used
ALWAYS_BOXES = 10  # Euclidean features; with more, only if rows have a low dimension
LOW_DIMENSION = 8
FEW_ROWS = 2048  # which products search as fast as boxes, whatever their dimension
DENSE_BELOW = 32  # a stored value costs as much as this many of an array
HUGE = 1e100


def build_index(
    X: Any, metric: Metric, *, k: int = 5, method: str = "auto", threads: int = 1
) -> Index:
    """Build the index that suits the rows for about k neighbours, or one of a given method.

    X is C-contiguous uint8, float32 or float64, or canonical CSR float64; copied only if necessary.
    """
    X = X if issparse(X) else np.ascontiguousarray(X)
    if method == "auto" and metric.code == EUCLIDEAN and not issparse(X):
        return LazyIndex(X, partial(_build, metric=metric, k=k, method=method, threads=threads))
    return _build(X, metric, k=k, method=method, threads=threads)


class LazyIndex(Index):
    """Dense rows that are scanned until so many queries have come that an index pays for itself.

    Likewise axes of projections are searched for only when products with all rows have cost more.
    """

    method = "auto"

    def __init__(self, X: Any, build: Callable[..., Index]) -> None:
        self._X, self._build = X, build
        self._scan = ProductScan(X)
        self._asked = 0
        self._index: Index | None = None
        self._final = False  # whether the index is the one for any number of queries

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return 0 if self._index is None else self._index.nbytes

    def built(self) -> Index:
        return self._index_for(many=True)

    def answer(self, search: Search) -> Neighbors:
        self._asked += len(search.Q)
        if self._asked <= FEW_QUERIES:
            return self._scan.answer(search)
        threads = min(search.threads, thread_count())
        many = axes_pay(*self._X.shape, queries=self._asked, threads=threads)
        return self._index_for(many=many).answer(search)

    def _index_for(self, *, many: bool) -> Index:
        index = self._index
        if index is None or (many and not self._final and index.method == "products"):
            self._index = index = self._build(self._X, many=many)
            self._final = many
        return index


def _build(
    X: Any, metric: Metric, *, k: int, method: str, threads: int, many: bool = True
) -> Index:
    """The index of some method; many: whether there are so many queries that axes may pay."""
    choices = _choices(X, metric)
    if method not in ("auto", *choices):
        listed = ", ".join(repr(name) for name in ("auto", *choices))
        raise ParameterError("NeighborIndex", "method", f"one of {listed} for such rows", method)
    insist = method == "projections"
    if method == "auto":
        method = _choose_method(X, metric, choices)
    if method == "sparse":
        return Sparse(X, metric)
    if method == "bits":
        return Bits(X, Sparse(X, metric) if "sparse" in choices else Exhaustive(X, metric))
    X = _dense(X)
    if method == "exhaustive":
        return Exhaustive(X, metric)
    if method == "manhattan":
        return Manhattan(X)
    if method == "boxes":
        return Boxes(X, metric, threads=threads)
    plain = method == "products" or not many
    axes = no_axes(X) if plain else principal_axes(X, k, insist=insist)
    return Projections(X, axes, threads=threads)


def _choices(X: Any, metric: Metric) -> list[str]:
    """Methods that support the rows and the metric."""
    choices = ["exhaustive"]
    if metric.code in (EUCLIDEAN, MANHATTAN) and issparse(X):
        choices.append("sparse")
    if metric.code != CHEBYSHEV and metric.p >= 1 and is_binary(X):
        choices.append("bits")
    if metric.code == MANHATTAN:
        choices.append("manhattan")
    if metric.code != MINKOWSKI and _in_range(X):
        choices.append("boxes")
        if metric.code == EUCLIDEAN:
            choices.append("products")
            if most_axes(*X.shape) >= LEADING[0]:
                choices.append("projections")
    return choices


def _choose_method(X: Any, metric: Metric, choices: list[str]) -> str:
    """The method that is probably the fastest."""
    n, d = X.shape
    if "bits" in choices:
        return "bits"
    if "sparse" in choices:
        stored = X.nnz / n
        if d > DENSE_BELOW * stored or 8 * n * d > default_budget() // 2:
            return "sparse"
    if n * d <= TINY:
        return "exhaustive"
    if "boxes" in choices and d <= FEW_FEATURES[metric.code]:
        if metric.code != EUCLIDEAN or d <= ALWAYS_BOXES:
            return "boxes"
        if n >= FEW_ROWS and local_dimension(X) < LOW_DIMENSION:
            return "boxes"
    if metric.code == MANHATTAN:
        return "manhattan"
    return next(name for name in ("projections", "products", "exhaustive") if name in choices)


def _in_range(X: Any) -> bool:
    """Whether squares of the scaled values stay within the range of float64."""
    values = X.data if issparse(X) else X
    if values.dtype == np.uint8 or not values.size:
        return True
    largest = max(float(values.max()), -float(values.min()))
    return largest == 0 or 1 / HUGE < largest < HUGE


def _dense(X: Any) -> Any:
    """Sparse rows as an array, in the smallest type that holds them."""
    if not issparse(X):
        return X
    for dtype in (np.uint8, np.float32):
        with np.errstate(over="ignore", invalid="ignore"):
            data = X.data.astype(dtype)
        if np.array_equal(data, X.data):
            return X.astype(dtype).toarray()
    return X.toarray()
