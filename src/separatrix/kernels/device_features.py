"""Feature maps of samples that are tensors on a GPU: the torch counterpart of `features`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from separatrix.errors import DataError, MemoryBudgetError
from separatrix.kernels.base import Kernel
from separatrix.kernels.features import Monomials, warn_of_angles
from separatrix.kernels.gram.device_gram import device_blocks
from separatrix.kernels.gram.device_prepared import DeviceVectors, prepare_on
from separatrix.runtime.blocks import in_words, row_blocks, rows_that_fit
from separatrix.runtime.device import free_bytes
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.types import Matrix, Vector

Tensor = Any
ANGLE_BYTES = 2**29  # of float64 angles, or of monomials, at a time
EXACT = 1e-13  # largest error of kernel values with landmarks, whose matrix is inverted


def monomials_on(monomials: Monomials, X: Tensor) -> Tensor:
    """Values of all monomials of samples, (n, size), in float32 if X is, else in float64."""
    X = X if X.dtype == torch.float32 else X.double()
    size = len(X) * monomials.size * X.element_size()
    if size > (room := free_bytes(X.device)):
        raise MemoryBudgetError(
            f"{monomials} of {len(X)} samples need {in_words(size)} on {X.device}, which has "
            f"{in_words(room)}; lower the degree, or map fewer samples at a time"
        )
    out = torch.empty((len(X), monomials.size), dtype=X.dtype, device=X.device)
    weights = None
    if monomials.kernel is not None:
        X = X * float(np.sqrt(monomials.kernel.gamma))
        weights = torch.as_tensor(monomials.weights(), device=X.device).to(X.dtype)
    queue = BoundedQueue(X.device)
    for rows in row_blocks(len(X), rows_that_fit(monomials.total * X.element_size(), ANGLE_BYTES)):
        block = torch.empty(
            (rows.stop - rows.start, monomials.total), dtype=X.dtype, device=X.device
        )
        block[:, 0] = 1.0
        for _, feature, of, into in monomials._steps():
            torch.mul(block[:, of], X[rows, feature, None], out=block[:, into])
        kept = block[:, monomials.skipped :]
        out[rows] = kept if weights is None else kept * weights
        queue.wait()
    if not bool(out.isfinite().all()):
        raise DataError(
            f"monomials of degree {monomials.degree} overflow {X.dtype}; scale the features "
            "(for example to [0, 1]) or lower the degree"
        )
    return out


def fourier_on(X: Tensor, W: Matrix, b: Vector) -> Tensor:
    """sqrt(2 / D) cos(W' x + b) of samples, (n, D), computed in float64, in X's precision."""
    frequencies, phases = (torch.as_tensor(part, device=X.device) for part in (W, b))
    kind = X.dtype if X.dtype == torch.float32 else torch.float64
    out = torch.empty((len(X), W.shape[1]), dtype=kind, device=X.device)
    reach = torch.zeros((), dtype=torch.float64, device=X.device)
    queue = BoundedQueue(X.device)
    for rows in row_blocks(len(X), rows_that_fit(8 * W.shape[1], ANGLE_BYTES)):
        angles = torch.addmm(phases, X[rows].double(), frequencies)
        reach = torch.maximum(reach, angles.abs().max())
        out[rows] = angles.cos_().mul_(np.sqrt(2.0 / W.shape[1])).to(kind)
        queue.wait()
    warn_of_angles(float(reach))
    return out


def landmarks_on(device: Any, kernel: Kernel, landmarks: Matrix) -> DeviceVectors:
    """Landmarks on a device, prepared for kernel values in float64."""
    return prepare_on(device, kernel, landmarks, tolerance=EXACT)


def nystroem_on(kernel: Kernel, X: Tensor, landmarks: DeviceVectors, V: Matrix) -> Tensor:
    """Kernel values of samples with landmarks times V, (n, m), in X's precision."""
    kind = X.dtype if X.dtype == torch.float32 else torch.float64
    out = torch.empty((len(X), V.shape[1]), dtype=kind, device=X.device)
    root = torch.as_tensor(np.ascontiguousarray(V), device=X.device)
    for rows, K in device_blocks(kernel, X, landmarks):
        out[rows] = (K.double() @ root).to(kind)
    return out
