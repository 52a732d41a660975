"""Which way of searching suits the data; and the loop over queries that all ways share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import ParameterError
from separatrix.runtime.blocks import default_budget
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest.axes import LEADING, most_axes, no_axes, principal_axes
from separatrix.solvers.nearest.bits import Bits, packs
from separatrix.solvers.nearest.boxes import Boxes
from separatrix.solvers.nearest.exhaustive import Exhaustive
from separatrix.solvers.nearest.manhattan import Manhattan
from separatrix.solvers.nearest.metrics import CHEBYSHEV, EUCLIDEAN, MANHATTAN, MINKOWSKI, Metric
from separatrix.solvers.nearest.projections import Projections
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.solvers.nearest.sparse import Sparse
from separatrix.types import Codes

TINY = 2**8  # values that are looked at before an index is made
FEW_ROWS = 2**12  # up to which products of all rows take less time than boxes, for many queries
FEW_FEATURES = 10  # up to these, boxes
FEW_FOR_THE_LARGEST = 32  # the same for the largest difference
DENSE_BELOW = 32  # a stored value costs as much as this many of an array
HUGE = 1e100


class Index(Protocol):
    """Rows made ready to be searched."""

    @property
    def method(self) -> str:
        """The way of searching, in a word."""
        ...

    @property
    def nbytes(self) -> int:
        """What the index holds besides the rows themselves."""
        ...

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query by raw distance; skip: the row each must not find, or -1.

        Q is float64 and C-contiguous, or CSR for "sparse" and "bits"; k is at most n, or n - 1 where a
        query skips a row.
        """
        ...


def index_of(
    X: Any, metric: Metric, *, k: int = 5, method: str = "auto", threads: int = 1
) -> Index:
    """The index that suits rows for about k neighbours, or one of the method that is named.

    X is C-contiguous uint8, float32 or float64, or canonical CSR float64, and is not copied where it
    need not be.
    """
    X = X if issparse(X) else np.ascontiguousarray(X)
    choices = _choices(X, metric)
    if method not in ("auto", *choices):
        listed = ", ".join(repr(name) for name in ("auto", *choices))
        raise ParameterError("NeighborIndex", "method", f"one of {listed} for such rows", method)
    insist = method == "projections"
    if method == "auto":
        method = _chosen(X, metric, choices)
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
        return Boxes(X, metric)
    axes = no_axes(X) if method == "products" else principal_axes(X, k, insist=insist)
    return Projections(X, axes, threads=threads)


def _choices(X: Any, metric: Metric) -> list[str]:
    """Methods that go with the rows and the metric."""
    choices = ["exhaustive"]
    if metric.code in (EUCLIDEAN, MANHATTAN) and issparse(X):
        choices.append("sparse")
    if metric.code != CHEBYSHEV and metric.p >= 1 and packs(X):
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


def _chosen(X: Any, metric: Metric, choices: list[str]) -> str:
    """The method that is likely to be the fastest."""
    n, d = X.shape
    if "bits" in choices:
        return "bits"
    if "sparse" in choices:
        stored = X.nnz / n
        if d > DENSE_BELOW * stored or 8 * n * d > default_budget() // 2:
            return "sparse"
    if n * d <= TINY:
        return "exhaustive"
    if "products" in choices and n <= FEW_ROWS and d <= FEW_FEATURES:
        return "products"
    few = FEW_FEATURES if metric.code != CHEBYSHEV else FEW_FOR_THE_LARGEST
    if "boxes" in choices and d <= few:
        return "boxes"
    if metric.code == MANHATTAN:
        return "manhattan"
    few_rows_or_axes = "products" if "products" in choices else "exhaustive"
    return "projections" if "projections" in choices else few_rows_or_axes


def _in_range(X: Any) -> bool:
    """Whether squares of the values, scaled, stay within float64."""
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
