"""From inner products to kernel values on a device, in place: one pass over one half, and a mirror.

Triton programs where Triton runs, otherwise torch. Tiles may be part of a larger matrix.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import runs_triton

Tensor = Any
WIDTH = 1024  # values of one program
DISTANCE_SIDE = 64  # of the blocks of distances
SIDE = 64  # of the blocks that are mirrored


def power(P: Tensor, gamma: float, coef0: float, degree: int) -> None:
    """P becomes (gamma P + coef0)^degree."""
    if runs_triton(P.device) and P.numel():
        numbers = scalars(P, gamma, coef0)
        _power[_grid(P)](P, P.shape[1], P.stride(0), *numbers, degree, BLOCK=WIDTH)
        return
    P.mul_(gamma).add_(coef0)
    P.pow_(degree)


def exp_of_distances(P: Tensor, sx: Tensor, sz: Tensor, gamma: float) -> None:
    """P becomes exp(-gamma (sx + sz - 2P)), distances below 0 taken as 0."""
    sx, sz = sx.to(P.dtype), sz.to(P.dtype)
    if runs_triton(P.device) and P.numel():
        _exp_of_distances[_grid(P)](
            P, sx.contiguous(), sz.contiguous(), P.shape[1], P.stride(0), *scalars(P, gamma),
            BLOCK=WIDTH,
        )  # fmt: skip
        return
    P.mul_(-2.0).add_(sx[:, None]).add_(sz).clamp_min_(0.0).mul_(-gamma).exp_()


def half_distances(P: Tensor, sx: Tensor, sz: Tensor, factor: float, out: Tensor) -> Tensor:
    """factor times (2P - sx - sz) / 2 of whole numbers, into a tensor of floats: -|x - z|^2 / 2."""
    if runs_triton(P.device) and P.numel():
        _half_distances[_grid(P)](
            out, P, sx.contiguous(), sz.contiguous(), P.shape[1], out.stride(0), P.stride(0),
            *scalars(out, factor), BLOCK=WIDTH,
        )  # fmt: skip
        return out
    P.mul_(-2).add_(sx[:, None]).add_(sz)
    return out.copy_(P).mul_(-0.5 * factor)


def absolute_distances(X: Tensor, Z: Tensor) -> Tensor:
    """Sum of |x_j - z_j| for all pairs, (n, m)."""
    (n, d), m = X.shape, len(Z)
    if not runs_triton(X.device) or not n * m:
        return torch.cdist(X, Z, p=1)
    D = torch.empty((n, m), dtype=X.dtype, device=X.device)
    grid = (triton.cdiv(n, DISTANCE_SIDE), triton.cdiv(m, DISTANCE_SIDE))
    _absolute_distances[grid](
        D, X.T.contiguous(), Z.T.contiguous(), n, m, d, SIDE=DISTANCE_SIDE, num_warps=8
    )
    return D


def mirror(K: Tensor, size: int) -> None:
    """Copy the upper half of a square matrix to the lower; diagonal blocks of `size` are complete."""
    n = len(K)
    if runs_triton(K.device):
        blocks = triton.cdiv(n, SIDE)
        _mirror[(blocks, blocks)](K, n, SIDE=SIDE)
        return
    for rows in row_blocks(n, size):
        K[rows.stop :, rows] = K[rows, rows.stop :].T


def scalars(P: Tensor, *numbers: float) -> list[Tensor]:
    """Numbers in the precision of P: Triton takes those of Python as float32."""
    return [torch.full((1,), number, dtype=P.dtype, device=P.device) for number in numbers]


def _grid(P: Tensor) -> tuple[int, int]:
    return P.shape[0], triton.cdiv(P.shape[1], WIDTH)


@triton.jit
def _power(P, columns, stride, gamma, coef0, degree, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    where = P + row * stride + column
    base = tl.load(where, mask=inside, other=0.0)
    base = base * tl.load(gamma) + tl.load(coef0)
    # right-to-left binary powers
    value = base * 0 + 1
    left = degree
    while left > 0:
        if left % 2 == 1:
            value = value * base
        base = base * base
        left = left // 2
    tl.store(where, value, mask=inside)


@triton.jit
def _exp_of_distances(P, sx, sz, columns, stride, gamma, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    where = P + row * stride + column
    product = tl.load(where, mask=inside, other=0.0)
    distance = tl.load(sx + row) + tl.load(sz + column, mask=inside, other=0.0) - 2 * product
    distance = tl.maximum(distance, 0.0)
    tl.store(where, tl.exp(-tl.load(gamma) * distance), mask=inside)


@triton.jit
def _half_distances(  # type: ignore[no-untyped-def]
    out, P, sx, sz, columns, out_stride, stride, factor, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < columns
    product = tl.load(P + row * stride + column, mask=inside, other=0)
    distance = tl.load(sx + row) + tl.load(sz + column, mask=inside, other=0) - 2 * product
    value = distance.to(tl.float32) * (-0.5 * tl.load(factor))
    tl.store(out + row * out_stride + column, value, mask=inside)


@triton.jit
def _absolute_distances(D, X, Z, n, m, d, SIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Samples are columns of X and Z, so that a program reads neighbouring values."""
    row = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    column = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    total = tl.zeros((SIDE, SIDE), dtype=D.dtype.element_ty)
    x_at, z_at = X + row, Z + column
    for _ in range(d):
        x = tl.load(x_at, mask=row < n, other=0.0)
        z = tl.load(z_at, mask=column < m, other=0.0)
        total += tl.abs(x[:, None] - z[None, :])
        x_at += n
        z_at += m
    where = D + row.to(tl.int64)[:, None] * m + column[None, :]
    tl.store(where, total, mask=(row < n)[:, None] & (column < m)[None, :])


@triton.jit
def _mirror(K, n, SIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    top, left = tl.program_id(0), tl.program_id(1)
    if top < left:
        row = top * SIDE + tl.arange(0, SIDE).to(tl.int64)
        column = left * SIDE + tl.arange(0, SIDE).to(tl.int64)
        inside = (row < n)[:, None] & (column < n)[None, :]
        values = tl.load(K + row[:, None] * n + column[None, :], mask=inside, other=0.0)
        mirrored = (column < n)[:, None] & (row < n)[None, :]
        tl.store(K + column[:, None] * n + row[None, :], tl.trans(values), mask=mirrored)
