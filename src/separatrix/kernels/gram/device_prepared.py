"""Samples prepared for products on a device: the torch counterpart of `prepared.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.device_epilogues import absolute_distances
from separatrix.kernels.gram.device_sums import sum_rows
from separatrix.kernels.prepared import MOSTLY_USED, SMALL, TOLERANCE, precision
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, as_tensor, copied, is_tensor
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.runtime.device_sparse import DeviceCsr, pair_products
from separatrix.types import Vector

Tensor = Any
DISTANCE_ERROR = 1e-12  # of a kernel of absolute distances, in float64
TILE_ROWS, TILE_BYTES = 4096, 2**29  # of kernel values that are summed up
BLOCK_BYTES = 2**29  # of float64 values in memory while samples are prepared


@dataclass(frozen=True)
class DeviceVectors:
    """Prepared samples on a device, and how to prepare others the same way."""

    X: Any  # shape: (n, used); a tensor, or a DeviceCsr
    squares: Tensor  # shape: (n,); squared norms
    centre: Tensor | None  # shape: (d,); subtracted from every sample
    used: Tensor | None  # features that are not constant; None for all
    exact_squares: Vector  # shape: (2,); the smallest above 0 and the largest, in float64
    distances: bool = False  # sums of absolute differences take the place of products

    @property
    def value_type(self) -> Any:
        """torch's type of the products."""
        return self.X.dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return np.dtype(str(self.value_type).removeprefix("torch."))

    @property
    def epilogue_squares(self) -> Tensor:
        """Squared norms as `Kernel.apply` takes them beside the products, (n,)."""
        return self.squares

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Any) -> DeviceVectors:
        """Some of the samples."""
        return replace(self, X=self.X[rows], squares=self.squares[rows])

    def like(self, Z: Any) -> DeviceVectors:
        """Other samples, prepared as these were."""
        X, squares = _convert(to_device(Z, self.X.device), self.X.dtype, self.centre, self.used)
        return replace(self, X=X, squares=squares.to(X.dtype))

    def serves(self, kernel: Kernel, Z: Any, tolerance: float) -> bool:
        """Whether these are precise enough for products with other samples."""
        if self.dtype == np.float64:
            return True
        squares = torch.cat([self.like(Z[rows]).squares for rows in double_blocks(Z)])
        own = torch.as_tensor(self.exact_squares, device=squares.device)
        sizes = _extremes(squares.to(torch.float64), own)
        if not np.isfinite(sizes[1]):
            return False
        return precision(kernel, sizes, tolerance, can_be_float32=True) == np.float32

    def products(self, other: DeviceVectors, out: Tensor | None = None) -> Tensor:
        """x . z for all pairs, (n, m), or the distances that take their place."""
        if self.distances:
            P = absolute_distances(self.X, other.X)
        elif isinstance(self.X, DeviceCsr) or isinstance(other.X, DeviceCsr):
            P = pair_products(self.X, other.X)
        else:
            return torch.mm(self.X, other.X.T, out=out)
        return P if out is None else out.copy_(P)

    def kernel_values(self, kernel: Kernel, other: DeviceVectors) -> Tensor:
        """k(x, z) for all pairs, (n, m)."""
        P = self.products(other)
        kernel.apply(P, self.epilogue_squares, other.epilogue_squares)
        return P

    def weighted_sums(self, kernel: Kernel, rows: Tensor, columns: Tensor, steps: Tensor) -> Tensor:
        """Kernel values of columns with rows, times steps, (p, rows), summed in float64: (p, columns).

        They are computed in tiles, each used once.
        """
        sums = torch.empty((len(steps), len(columns)), dtype=torch.float64, device=self.X.device)
        size = rows_that_fit(TILE_ROWS * self.dtype.itemsize, TILE_BYTES)
        queue = BoundedQueue(self.X.device)
        for some in row_blocks(len(columns), size):
            others, total = self.take(columns[some]), torch.zeros_like(sums[:, some])
            for part in row_blocks(len(rows), TILE_ROWS):
                own = self.take(rows[part])
                if isinstance(kernel, Gaussian):  # the exponential is taken while values are summed
                    squares = own.epilogue_squares, others.epilogue_squares
                    total += sum_rows(own.products(others), steps[:, part], kernel.gamma, *squares)
                else:
                    total += sum_rows(own.kernel_values(kernel, others), steps[:, part])
                queue.wait()
            sums[:, some] = total
        return sums

    def error(self, kernel: Kernel) -> float:
        """Upper bound of the error of kernel values."""
        if self.distances:
            return DISTANCE_ERROR
        return float(kernel.error(float(self.exact_squares[1]), float(np.finfo(self.dtype).eps)))


def prepare_on(
    device: Any,
    kernel: Kernel,
    X: Any,
    *others: Any,
    tolerance: float = TOLERANCE,
    order: Any = None,
) -> DeviceVectors:
    """X, in an order of its rows, prepared on a device for products with itself and others."""
    if not X.shape[0]:
        raise DataError("a kernel matrix needs at least one sample; got 0")
    X = to_device(X, device)
    if order is not None:
        X = X[torch.as_tensor(order, device=device)]
    if (
        kernel.absolute_distances
    ):  # a feature that is 0 in all of X still is a distance to other samples
        ready, squares = _convert(X, torch.float64, None, None)
        return DeviceVectors(ready, squares, None, None, _extremes(squares), distances=True)
    centre, used = _columns(X, centred=kernel.translation_invariant)
    values = len(X) * max(part.shape[0] for part in (X, *others))
    dtype = torch.float32 if values > SMALL else torch.float64
    ready, squares = _convert(X, dtype, centre, used)
    sizes = _extremes(
        squares, *(_convert(to_device(Z, device), dtype, centre, used)[1] for Z in others)
    )
    wanted = precision(kernel, sizes, tolerance, can_be_float32=dtype == torch.float32)
    if wanted != np.dtype(str(ready.dtype).removeprefix("torch.")):
        ready, squares = _convert(X, torch.float64, centre, used)
    return DeviceVectors(ready, squares.to(ready.dtype), centre, used, sizes)


def to_device(X: Any, device: Any) -> Any:
    """Samples as a tensor on a device, or a DeviceCsr; integers keep their type."""
    if is_tensor(X):
        return copied(X, device)
    if isinstance(X, DeviceCsr):
        return X
    if issparse(X):
        return DeviceCsr.of(X, device)
    return as_tensor(np.ascontiguousarray(X), device)


def _columns(X: Tensor, *, centred: bool) -> tuple[Tensor | None, Tensor | None]:
    """The mean if samples are centred, and the features in use; None for all of them.

    Sparse samples are not centred, so that they stay sparse.
    """
    if isinstance(X, DeviceCsr):
        return None, None
    first = X[0] if centred else torch.zeros_like(X[0])
    differs = torch.zeros(X.shape[1], dtype=torch.bool, device=X.device)
    total = torch.zeros(X.shape[1], dtype=torch.float64, device=X.device)
    for rows in double_blocks(X):
        differs |= (X[rows] != first).any(dim=0)
        if centred:
            total += X[rows].sum(dim=0, dtype=torch.float64)
    in_use = differs.nonzero()[:, 0]
    used = in_use if len(in_use) < MOSTLY_USED * X.shape[1] else None
    return (total / len(X) if centred else None), used


def _convert(
    X: Tensor, dtype: Any, centre: Tensor | None, used: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Samples in the precision of products, and their squared norms over all features in float64."""
    if isinstance(X, DeviceCsr) and centre is None and used is None:
        ready = X.to(dtype)
        return ready, ready.squared_norms()
    ready = torch.empty(
        (len(X), X.shape[1] if used is None else len(used)), dtype=dtype, device=X.device
    )
    squares = torch.empty(len(X), dtype=torch.float64, device=X.device)
    for rows in double_blocks(X):
        part = X[rows].dense() if isinstance(X, DeviceCsr) else X[rows]
        part = part.to(torch.float64)
        part = (part if centre is None else part - centre).to(dtype)  # the difference is float64
        squares[rows] = part.to(torch.float64).square().sum(dim=1)
        ready[rows] = part if used is None else part[:, used]
    return ready, squares


def _extremes(*squares: Tensor) -> Vector:
    together = torch.cat(squares)
    above = torch.where(together > 0, together, torch.inf)
    least, largest = as_numpy(torch.stack([above.min(), together.max()]))
    return np.array([least if np.isfinite(least) else largest, largest])


def double_blocks(X: Any) -> Any:
    """Blocks of rows whose values in float64 fit in memory."""
    return row_blocks(len(X), rows_that_fit(8 * max(1, X.shape[1]), BLOCK_BYTES))
