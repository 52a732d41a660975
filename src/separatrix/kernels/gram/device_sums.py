"""Weighted sums of kernel rows on a device, in float64.

A tile of kernel values is summed up for several sets of weights at once. For samples of bytes under the
Gaussian kernel the values of a tile are never in memory: one program multiplies, takes the exponential
and adds.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from separatrix.kernels.gram.device_epilogues import exp_of_distances, scalars
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import runs_triton
from separatrix.runtime.device_queue import BoundedQueue

Tensor = Any
ADDED_ROWS, ADDED_COLUMNS = 8, 512  # of a tile that one program adds at a time
SUMMED_ROWS = 256  # of a tile that one program sums up
MOST_SUMS = 16  # sets of weights for which one program adds the rows of a tile
SIDE = 128  # of the products that a program for bytes holds
BYTES = 64  # of each sample that it multiplies at a time; samples are padded to a multiple
PROGRAMS = 1024  # that a GPU is to have, at least
TERMS = 2**44  # products of bytes of one launch: some 0.05 s on an H200, after which it can stop
LEAST_BYTES = 256  # of a sample: of fewer, the exponentials take the time


def sum_rows(
    tile: Tensor,  # shape: (u, m)
    steps: Tensor,  # shape: (p, u)
    gamma: float | None = None,
    sx: Tensor = None,  # shape: (u,)
    sz: Tensor = None,  # shape: (m,)
) -> Tensor:
    """Rows of a tile of kernel values times their steps, summed in float64: (p, m).

    With gamma the tile holds inner products, and Gaussians of them and of squared norms are summed.
    """
    if not runs_triton(tile.device):
        if gamma is not None:
            exp_of_distances(tile, sx, sz, gamma)
        return steps @ tile.to(torch.float64)
    (u, m), p = tile.shape, len(steps)
    parts = triton.cdiv(u, SUMMED_ROWS)
    sums = torch.empty((parts, p, m), dtype=torch.float64, device=tile.device)
    problems = min(triton.next_power_of_2(p), MOST_SUMS)
    columns = ADDED_COLUMNS // problems
    numbers = [tile] * 3  # not read
    if gamma is not None:
        norms = (part.to(tile.dtype).contiguous() for part in (sx, sz))
        numbers = [*norms, *scalars(tile, gamma)]
    _sum_rows[(triton.cdiv(m, columns), triton.cdiv(p, problems), parts)](
        sums, tile, steps.contiguous(), *numbers, u, m, p, tile.stride(0),
        PROBLEMS=problems, ROWS=ADDED_ROWS, COLUMNS=columns, PART=SUMMED_ROWS, GAUSSIAN=gamma is not None,
    )  # fmt: skip
    return sums.sum(dim=0)


def sum_gaussians(
    X: Tensor,  # shape: (n, a multiple of BYTES); int8
    squares: Tensor,  # shape: (n,); int32
    rows: Tensor,  # shape: (u,)
    columns: Tensor,  # shape: (m,)
    steps: Tensor,  # shape: (u,); float64
    gamma: float,
) -> Tensor:
    """Sum of steps[i] exp(-gamma |X[rows[i]] - x|^2) for each x of X[columns], (m,), in float64."""
    if not len(rows):
        return torch.zeros(len(columns), dtype=torch.float64, device=X.device)
    sums = torch.empty(len(columns), dtype=torch.float64, device=X.device)
    size = max(1, TERMS // (len(rows) * max(X.shape[1], LEAST_BYTES) * SIDE)) * SIDE
    queue = BoundedQueue(X.device)
    for part in row_blocks(len(columns), size):
        sums[part] = _sums_at(X, squares, rows, columns[part], steps, gamma)
        queue.wait()
    return sums


def _sums_at(
    X: Tensor, squares: Tensor, rows: Tensor, columns: Tensor, steps: Tensor, gamma: float
) -> Tensor:
    """`sum_gaussians` in one launch."""
    u, m = len(rows), len(columns)
    blocks = triton.cdiv(m, SIDE)
    parts = min(triton.cdiv(u, SIDE), triton.cdiv(PROGRAMS, blocks))
    size = SIDE * triton.cdiv(triton.cdiv(u, parts), SIDE)
    parts = triton.cdiv(u, size)
    sums = torch.empty((parts, m), dtype=torch.float64, device=X.device)
    _sum_gaussians[(blocks, parts)](
        sums, X, squares, rows, columns, steps, u, m, size,
        torch.full((1,), gamma, dtype=torch.float32, device=X.device),
        D=X.shape[1], BYTES=BYTES, SIDE=SIDE, num_warps=8,
    )  # fmt: skip
    return sums.sum(dim=0)


@triton.jit(do_not_specialize=["u", "p"])
def _sum_rows(  # type: ignore[no-untyped-def]
    sums, tile, steps, sx, sz, gamma, u, m, p, stride,
    PROBLEMS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr,
    GAUSSIAN: tl.constexpr,
):  # fmt: skip
    part = tl.program_id(2)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    problem = tl.program_id(1) * PROBLEMS + tl.arange(0, PROBLEMS)
    inside, wanted = column < m, problem < p
    total = tl.zeros((PROBLEMS, COLUMNS), dtype=tl.float64)
    if GAUSSIAN:
        z_square, factor = tl.load(sz + column, mask=inside, other=0.0), -tl.load(gamma)
    for start in range(0, tl.minimum(PART, u - part * PART), ROWS):
        row = part * PART + start + tl.arange(0, ROWS)
        used = row < u
        where = tile + row.to(tl.int64)[:, None] * stride + column[None, :]
        values = tl.load(where, mask=used[:, None] & inside[None, :], other=0.0)
        if GAUSSIAN:
            x_square = tl.load(sx + row, mask=used, other=0.0)
            distance = x_square[:, None] + z_square[None, :] - 2 * values
            values = tl.exp(factor * tl.maximum(distance, 0.0))
        values = values.to(tl.float64)
        own = steps + problem.to(tl.int64)[:, None] * u + row[None, :]
        step = tl.load(own, mask=wanted[:, None] & used[None, :], other=0.0)
        total += tl.sum(step[:, :, None] * values[None, :, :], axis=1)
    at = sums + (part * p + problem).to(tl.int64)[:, None] * m + column[None, :]
    tl.store(at, total, mask=wanted[:, None] & inside[None, :])


@triton.jit(do_not_specialize=["u", "m", "size"])
def _sum_gaussians(  # type: ignore[no-untyped-def]
    sums, X, squares, rows, columns, steps, u, m, size, gamma,
    D: tl.constexpr, BYTES: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Columns go along the first axis of the products: the sum over rows then stays within a thread."""
    column = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    inside = column < m
    z = tl.load(columns + column, mask=inside, other=0).to(tl.int64)
    z_square, factor = tl.load(squares + z), -tl.load(gamma)
    feature = tl.arange(0, BYTES)
    z_at = X + z[:, None] * D + feature[None, :]
    total = tl.zeros((SIDE,), dtype=tl.float64)
    begin = tl.program_id(1) * size
    end = tl.minimum(begin + size, u)
    for start in range(begin, end, SIDE):
        row = start + tl.arange(0, SIDE)
        used = row < end
        x = tl.load(rows + row, mask=used, other=0).to(tl.int64)
        step = tl.load(steps + row, mask=used, other=0.0)
        x_at = X + x[None, :] * D + feature[:, None]
        products = tl.zeros((SIDE, SIDE), dtype=tl.int32)
        for first in range(0, D, BYTES):
            products = tl.dot(
                tl.load(z_at + first), tl.load(x_at + first), products, out_dtype=tl.int32
            )
        distance = z_square[:, None] + tl.load(squares + x)[None, :] - 2 * products
        values = tl.exp(factor * distance.to(tl.float32))
        total += tl.sum(values.to(tl.float64) * step[None, :], axis=1)
    at = sums + tl.program_id(1).to(tl.int64) * m + column
    tl.store(at, total, mask=inside)
