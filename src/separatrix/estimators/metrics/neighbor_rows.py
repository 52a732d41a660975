"""Rows and queries as a search takes them: checks, types, and copies on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from separatrix.errors import DataError, PrecisionWarning
from separatrix.estimators.base.sample_types import canonical_rows, writable
from separatrix.estimators.metrics.distances import NORMS, NamedMetric
from separatrix.kernels.base import Kernel
from separatrix.kernels.vector_kernels import Gaussian, Linear
from separatrix.runtime.device import as_numpy, device_name, is_tensor
from separatrix.runtime.sums import canonical, dense
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.nearest.groups import Index
from separatrix.solvers.nearest.metrics import EUCLIDEAN, metric_of

KEPT = (np.uint8, np.float32, np.float64)  # dtypes that are searched without conversion
GPU_METRICS = {"sqeuclidean", "seuclidean", "cosine"}  # besides norms
COARSE = ("float16", "bfloat16", "complex", "float8")  # dtypes of tensors that are refused
TAKE_SPARSE = ("sparse", "bits")  # methods whose queries may be CSR


class IndexRows:
    """The prepared rows of an index: an array or CSR matrix, and copies on GPUs on first use."""

    def __init__(self, rows: Any) -> None:
        self.tensor = rows if is_tensor(rows) else None
        self._array = None if is_tensor(rows) else rows
        self.gpu_indexes: dict[str, Index] = {}

    @property
    def array(self) -> Any:
        """The rows on the CPU."""
        if self._array is None:
            self._array = as_numpy(self.tensor)
        return self._array

    def index_on(self, device: Any) -> Index:
        """The index on a GPU; the rows are moved there on the first call."""
        name = str(device)
        if name not in self.gpu_indexes:
            from separatrix.solvers.nearest.cuda import GpuIndex

            rows = self.array if self.tensor is None else self.tensor
            self.gpu_indexes[name] = GpuIndex(rows, device)
        return self.gpu_indexes[name]

    def __getstate__(self) -> dict[str, Any]:
        """Only the rows on the CPU: the copy may go to a machine without a GPU."""
        return {"tensor": None, "_array": self.array, "gpu_indexes": {}}


def check_rows(
    owner: str,
    X: Any,
    *,
    objects: Any,  # the kernel, if it is one on objects
    device: str,
    allow_nan: bool,
    least: int,
) -> Any:
    """Checked rows or queries: an array, a CSR matrix, a tensor, or objects that the kernel takes."""
    if objects is not None:
        X = objects.checked(X)
        if len(X) < least:
            raise DataError(f"{owner} needs at least one row; got none")
        return X
    if is_tensor(X):
        if device_name(X) != "cpu" or device == "cuda":
            return _check_tensor(owner, X, least)
        X = as_numpy(X)
    finite: Any = "allow-nan" if allow_nan else True
    X = check_array(
        X, accept_sparse="csr", order="C", ensure_all_finite=finite, ensure_min_samples=least
    )
    return writable(canonical_rows(X) if issparse(X) else X)


def _check_tensor(owner: str, X: Any, least: int) -> Any:
    """A tensor of finite numbers, (n, d), with at least that many rows."""
    kind = str(X.dtype).removeprefix("torch.")
    if kind.startswith(COARSE):
        raise DataError(
            f"X holds {kind}, but {owner} takes float32, float64 or integers; pass X.float()"
        )
    if X.ndim != 2 or X.shape[0] < least or not X.shape[1]:
        raise DataError(f"X must be a tensor of rows and features; got shape {tuple(X.shape)}")
    if not bool(X.isfinite().all()):
        raise DataError("Input X contains NaN or infinity. Drop or impute such values")
    return X.detach()


def searchable(X: Any) -> Any:
    """Rows as compiled loops take them: C-contiguous uint8, float32 or float64, or CSR."""
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
    """A tensor in one of the same types, on its device."""
    import torch

    if X.dtype in (torch.uint8, torch.float32, torch.float64):
        return X.contiguous()
    if X.dtype == torch.bool:
        return X.contiguous().view(torch.uint8)
    if X.dtype == torch.int64 and X.numel():
        _warn_of_rounding(X)
    return X.double().contiguous()


def convert_queries(Q: Any, index: Index) -> Any:
    """Queries in the form that an index takes."""
    if is_tensor(Q):
        return tensor_to_search(Q)
    if index.method == "gpu":
        return searchable(Q.toarray() if issparse(Q) else Q)
    if issparse(Q) and index.method in TAKE_SPARSE:
        return searchable(Q)
    return np.ascontiguousarray(dense(Q))


def gpu_obstacle(named: NamedMetric, kernel: Kernel | None, X: Any) -> str | None:
    """Why these rows cannot be searched on a GPU, or None.

    >>> gpu_obstacle(NamedMetric("manhattan", {}), None, np.zeros((2, 2)))
    "metric='manhattan'"
    """
    if issparse(X):
        return "sparse samples"
    if kernel is not None:
        known = type(kernel) in (Linear, Gaussian)
        return None if known else f"the kernel {type(kernel).__name__} for neighbours"
    name, params = named
    if name in GPU_METRICS:
        return None
    if name in NORMS and metric_of(name, params.get("p", 2)).code == EUCLIDEAN:
        return None
    power = f" and p={params['p']}" if name == "minkowski" else ""
    return f"metric={name!r}{power}"


def _warn_of_rounding(X: Any) -> None:
    """Warn if integers do not fit into float64."""
    largest = max(int(X.max()), -int(X.min()))
    if largest > 2**53:
        warn_user(
            f"integers up to {largest} are rounded to float64, which is exact to 2**53 only: "
            "distances may be off. Subtract an offset first",
            PrecisionWarning,
        )
