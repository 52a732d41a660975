"""Rows as a search takes them: of which types, where, and whether a card can have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError, PrecisionWarning
from separatrix.estimators.metrics.distances import NORMS, NamedMetric
from separatrix.kernels.base import Kernel
from separatrix.kernels.vector_kernels import Gaussian, Linear
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.nearest.directions import canonical
from separatrix.solvers.nearest.index import Index
from separatrix.solvers.nearest.metrics import EUCLIDEAN, metric_of
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes

KEPT = (np.uint8, np.float32, np.float64)  # types that rows are searched in as they are
ON_CARD = {"sqeuclidean", "seuclidean", "cosine"}  # metrics besides norms that a card searches
COARSE = ("float16", "bfloat16", "complex", "float8")  # types of tensors that are refused


def checked_tensor(owner: str, X: Any, rows: int) -> Any:
    """A tensor of finite numbers, (n, d), with at least so many rows; refused where it is not."""
    kind = str(X.dtype).removeprefix("torch.")
    if kind.startswith(COARSE):
        raise DataError(
            f"X holds {kind}, and {owner} takes float32, float64 or whole numbers; pass X.float()"
        )
    if X.ndim != 2 or X.shape[0] < rows or not X.shape[1]:
        raise DataError(f"X must be a tensor of rows and features; got shape {tuple(X.shape)}")
    if not bool(X.isfinite().all()):
        raise DataError("Input X contains NaN or infinity. Drop or impute such values")
    return X.detach()


def searchable(X: Any) -> Any:
    """Rows in a form that compiled loops take: C-contiguous uint8, float32 or float64, or CSR."""
    if issparse(X):
        return canonical(X.astype(np.float64, copy=False))
    if X.dtype == bool:
        X = X.view(np.uint8)
    elif X.dtype not in KEPT:
        if X.dtype.kind in "iu" and X.dtype.itemsize == 8 and X.size:
            _warn_of_rounding(X)
        small = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        X = X.astype(np.float32 if small else np.float64)
    return np.ascontiguousarray(X)


def tensor_to_search(X: Any) -> Any:
    """A tensor in one of the same types, where it is."""
    import torch

    if X.dtype in (torch.uint8, torch.float32, torch.float64):
        return X.contiguous()
    if X.dtype == torch.bool:
        return X.contiguous().view(torch.uint8)
    if X.dtype == torch.int64 and X.numel():
        _warn_of_rounding(X)
    return X.double().contiguous()


def gpu_obstacle(named: NamedMetric, kernel: Kernel | None, X: Any) -> str | None:
    """What stands against a search of rows on a card, if anything.

    >>> gpu_obstacle(NamedMetric("manhattan", {}), None, np.zeros((2, 2)))
    "metric='manhattan'"
    """
    if issparse(X):
        return "sparse samples"
    if kernel is not None:
        known = type(kernel) in (Linear, Gaussian)
        return None if known else f"the kernel {type(kernel).__name__} for neighbours"
    name, params = named
    if name in ON_CARD or (name in NORMS and metric_of(name, params.get("p", 2)).code == EUCLIDEAN):
        return None
    power = f" and p={params['p']}" if name == "minkowski" else ""
    return f"metric={name!r}{power}"


def _warn_of_rounding(X: Any) -> None:
    """Say so where whole numbers are not float64."""
    largest = max(int(X.max()), -int(X.min()))
    if largest > 2**53:
        warn_user(
            f"whole numbers up to {largest} are rounded to float64, which holds them to 2**53 only: "
            "distances may be off. Subtract an offset first",
            PrecisionWarning,
        )


class LazyIndex:
    """An index that is made when somebody asks for something."""

    def __init__(self, make: Callable[[], Index]) -> None:
        self._make = make
        self._made: Index | None = None

    def _index(self) -> Index:
        self._made = self._made or self._make()
        return self._made

    @property
    def method(self) -> str:
        """That of the index."""
        return self._index().method

    @property
    def nbytes(self) -> int:
        """Those of the index."""
        return self._index().nbytes

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int = 1, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """What the index finds."""
        return self._index().nearest(Q, k, skip, threads=threads, monitor=monitor)
