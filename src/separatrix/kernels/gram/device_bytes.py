"""Samples of whole numbers that fit in a byte, as images have them: exact distances on a device.

A kernel of differences is the same for x - c and z - c. With c in the middle of each feature's range the
samples are signed bytes, their products are sums of whole numbers, computed by the GPU's units for bytes,
and so are squared distances: exact, in a quarter of the memory of float32. Floats are such samples too if
they are multiples of one unit, as pixels from 0 to 1 are of 1/255.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch

from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.device_epilogues import half_distances
from separatrix.kernels.gram.device_prepared import DeviceVectors, double_blocks, to_device
from separatrix.kernels.gram.device_sums import BYTES, sum_gaussians
from separatrix.kernels.prepared import SMALL, precision
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.runtime.device import runs_triton
from separatrix.runtime.device_sparse import DeviceCsr

Tensor = Any
WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
ROWS = 32  # of the products' units: samples are padded to a multiple
LEVELS = 256  # values of a byte
FEATURES = 256  # of floats, from which products of bytes pay for the search of a unit: an estimate
# from an H200's rates, at 60,000 x 784 measured: 0.16 s instead of 0.19 s
SAMPLED = 64  # samples in which a unit is looked for
LARGEST = 2**31 - 1  # squared distance that a 32-bit number holds


@dataclass(frozen=True)
class ByteVectors(DeviceVectors):
    """Samples as signed bytes, times a unit; `squares` holds norms of the bytes, below 2^31, in int32."""

    unit: float = 1.0

    @property
    def value_type(self) -> Any:
        return torch.float32

    @property
    def _centre_levels(self) -> Tensor:
        assert self.centre is not None
        return (self.centre / self.unit).round().long()

    @property
    def epilogue_squares(self) -> Tensor:
        return torch.zeros(len(self), dtype=torch.float32, device=self.X.device)

    def like(self, Z: Any) -> ByteVectors:
        Z = to_device(Z, self.X.device)
        X, squares = _to_bytes(Z, self.unit, self._centre_levels)
        return replace(self, X=X, squares=squares)

    def serves(self, kernel: Kernel, Z: Any, tolerance: float) -> bool:
        """Whether other samples are multiples of the unit too, within a byte of the centre."""
        if isinstance(Z, DeviceCsr):
            return False
        centre, whole = self._centre_levels, Z.dtype in WHOLE
        fits = torch.ones((), dtype=torch.bool, device=self.X.device)
        for rows in double_blocks(Z):
            levels = _levels(Z[rows], self.unit) - centre
            fits &= ((levels >= -128) & (levels <= 127)).all()
            if not whole:
                fits &= _are_multiples(Z[rows], self.unit)
        return bool(fits)

    def products(self, other: DeviceVectors, out: Tensor | None = None) -> Tensor:
        """-|x - z|^2 / 2 for all pairs, (n, m): with norms of 0 a kernel makes the same of it."""
        P = byte_products(self.X, other.X)
        if out is None:
            out = torch.empty(P.shape, dtype=torch.float32, device=P.device)
        return half_distances(P, self.squares, other.squares, self.unit**2, out)

    def weighted_sums(self, kernel: Kernel, rows: Tensor, columns: Tensor, steps: Tensor) -> Tensor:
        if not isinstance(kernel, Gaussian) or not runs_triton(self.X.device):
            return super().weighted_sums(kernel, rows, columns, steps)
        sums = torch.empty((len(steps), len(columns)), dtype=torch.float64, device=self.X.device)
        for number, own in enumerate(steps):
            some = torch.nonzero(own)[:, 0]
            sums[number] = sum_gaussians(
                self.X, self.squares, rows[some], columns, own[some], kernel.gamma * self.unit**2
            )
        return sums

    def error(self, kernel: Kernel) -> float:
        eps = float(np.finfo(np.float32).eps)
        if self.unit == 1.0 and isinstance(
            kernel, Gaussian
        ):  # t exp(-t) is below 1/e, and t is off by eps t / 2
            return 2.0 * eps
        return super().error(kernel)


def prepare_bytes(
    kernel: Kernel, X: Tensor, *, tolerance: float, order: Any = None
) -> ByteVectors | None:
    """Samples on a device as signed bytes; None if that is not possible or not worth it."""
    if not kernel.translation_invariant or isinstance(X, DeviceCsr) or len(X) ** 2 <= SMALL:
        return None
    if not byte_products_work(X.device) or not (unit := _unit_of(X)):
        return None
    low, high = (_levels(end, unit) for end in (X.amin(dim=0), X.amax(dim=0)))
    d = X.shape[1]
    if bool((high - low >= LEVELS).any()) or 4 * d * 128**2 > LARGEST:
        return None
    if bool(
        (low >= 0).all() & (high < LEVELS).all()
    ):  # pixels: others may have any of a byte's values
        low, high = torch.zeros_like(low), torch.full_like(high, LEVELS - 1)
    centre = torch.div(low + high + 1, 2, rounding_mode="floor")
    ready, squares = _to_bytes(X, unit, centre, order)
    sizes = np.full(2, unit**2 * float(squares.max()))
    if precision(kernel, sizes, tolerance, can_be_float32=True) != np.float32:
        return None
    return ByteVectors(ready, squares, unit * centre.double(), None, sizes, unit=unit)


def _to_bytes(X: Tensor, unit: float, centre: Tensor, order: Any = None) -> tuple[Tensor, Tensor]:
    """Samples in an order of their rows as signed bytes, padded, and the squared norms of those."""
    if order is not None:
        order = torch.as_tensor(order, device=X.device)
    n, d = len(X) if order is None else len(order), X.shape[1]
    ready = torch.zeros((n, d + -d % BYTES), dtype=torch.int8, device=X.device)
    squares = torch.empty(n, dtype=torch.int32, device=X.device)
    for rows in double_blocks(X):
        part = X[rows] if order is None else X[order[rows]]
        part = (_levels(part, unit) - centre).to(torch.int32)
        squares[rows] = part.square().sum(dim=1, dtype=torch.int32)
        ready[rows, :d] = part.to(torch.int8)
    return ready, squares


def _unit_of(X: Tensor) -> float | None:
    """The unit that all values are multiples of, to within float32: 1 of whole numbers; None of others."""
    if X.dtype in WHOLE:
        return 1.0
    if X.shape[1] < FEATURES:
        return None
    values = torch.unique(X[:: max(1, len(X) // SAMPLED)].double())
    if not 2 <= len(values) <= LEVELS:
        return None
    span = float(values[-1] - values[0])
    levels = round(span / float(values.diff().min()))
    if levels >= LEVELS:
        return None
    unit = span / levels
    if all(bool(_are_multiples(X[rows], unit)) for rows in double_blocks(X)):
        return unit
    return None


def _are_multiples(X: Tensor, unit: float) -> Tensor:
    """Whether all values are multiples of a unit, to within float32: a tensor of one flag."""
    part = X.double() / unit
    allowed = 2.0 * torch.finfo(torch.float32).eps * part.abs().amax().clamp_min(LEVELS)
    return ((part - part.round()).abs() <= allowed).all()


def _levels(X: Tensor, unit: float) -> Tensor:
    """Samples in multiples of the unit, int64."""
    return X.long() if X.dtype in WHOLE else (X.double() / unit).round().long()


def byte_products(A: Tensor, B: Tensor) -> Tensor:
    """x . z for all pairs of signed bytes, (n, m), in int32."""
    n, m = len(A), len(B)
    return torch._int_mm(_padded(A), _padded(B).T)[:n, :m]


def _padded(X: Tensor) -> Tensor:
    return torch.nn.functional.pad(X, (0, 0, 0, -len(X) % ROWS)) if len(X) % ROWS else X


@cache
def byte_products_work(device: Any) -> bool:
    """Whether torch multiplies signed bytes on a device, and right."""
    A, B = (
        torch.randint(-128, 128, (rows, 48), dtype=torch.int8, generator=_generator(rows)).to(
            device
        )
        for rows in (40, 72)
    )
    try:
        found = byte_products(A, B)
    except (RuntimeError, AttributeError, NotImplementedError):
        return False
    return bool((found.double() == A.double() @ B.double().T).all())


def _generator(seed: int) -> Any:
    return torch.Generator().manual_seed(seed)
