"""One pass of logistic regression of two classes over the samples on a GPU, read once from its memory.

Every program takes tiles of rows in turn, in three steps: scores, a few rows at a time; losses and
residuals, each by one thread; products of residuals with the rows, which the cache still holds. Scores and
residuals of a tile go through a few bytes of memory. The sums of a program go to a row of its own, and the
rows are added afterwards, so that the result is the same each time.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any
TILE_ROWS = 16  # that a program takes at a time
VALUES = 1024  # of rows that it has in registers
WARPS = 1
PROGRAMS = 16  # for each multiprocessor


@triton.jit
def _rows(X, first, n, d, ROWS: tl.constexpr, WIDTH: tl.constexpr, EVEN: tl.constexpr):  # type: ignore[no-untyped-def]
    length = tl.multiple_of(d, 2) if EVEN else d  # then two values are read at once
    rows = (first + tl.arange(0, ROWS)).to(tl.int64)
    columns = tl.arange(0, WIDTH)
    there = (rows < n)[:, None] & (columns < length)[None, :]
    return tl.load(X + rows[:, None] * length + columns[None, :], mask=there, other=0.0)


@triton.jit
def _binary_pass(  # type: ignore[no-untyped-def]
    X, y, weights, theta, scratch, sums, n, d, tiles,
    TILE: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, INTERCEPT: tl.constexpr,
    EVEN: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    w = tl.load(theta + columns, mask=columns < d, other=0.0)
    bias = tl.load(theta + d) if INTERCEPT else 0.0
    gradient = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    losses = tl.zeros((TILE,), dtype=tl.float64)
    pulls = tl.zeros((TILE,), dtype=tl.float64)
    own = scratch + program * TILE
    for tile in range(program, tiles, tl.num_programs(0)):
        start = tile * TILE
        for part in range(0, TILE, ROWS):
            x = _rows(X, start + part, n, d, ROWS, WIDTH, EVEN)
            tl.store(own + part + tl.arange(0, ROWS), tl.sum(x * w[None, :], axis=1))
        tl.debug_barrier()
        rows = start + tl.arange(0, TILE)
        side = 2.0 * tl.load(y + rows, mask=rows < n, other=0).to(tl.float64) - 1.0
        weight = tl.load(weights + rows, mask=rows < n, other=0.0)
        z = side * (tl.load(own + tl.arange(0, TILE)) + bias)
        small = tl.exp(-tl.abs(z))
        losses += weight * (tl.where(z > 0, 0.0, -z) + tl.log(1.0 + small))
        pull = -side * weight * tl.where(z > 0, small, 1.0) / (1.0 + small)
        pulls += pull
        tl.debug_barrier()
        tl.store(own + tl.arange(0, TILE), pull)
        tl.debug_barrier()
        for part in range(0, TILE, ROWS):
            x = _rows(X, start + part, n, d, ROWS, WIDTH, EVEN)
            gradient += tl.load(own + part + tl.arange(0, ROWS))[:, None] * x
        tl.debug_barrier()
    found = sums + program * (d + 2)
    tl.store(found, tl.sum(losses, axis=0))
    tl.store(found + 1 + columns, tl.sum(gradient, axis=0), mask=columns < d)
    tl.store(found + 1 + d, tl.sum(pulls, axis=0))


def binary_pass(X: Tensor, y: Tensor, weights: Tensor, theta: Tensor, intercept: bool) -> Tensor:
    """Loss and gradient at theta, (D,), over samples X, (n, d), in float64: (1 + D,)."""
    n, d = X.shape
    width = triton.next_power_of_2(d)
    rows = max(1, min(TILE_ROWS, VALUES // width))
    tiles = triton.cdiv(n, TILE_ROWS)
    programs = min(tiles, _programs(X.device))
    sums = torch.empty((programs, d + 2), dtype=torch.float64, device=X.device)
    scratch = torch.empty((programs, TILE_ROWS), dtype=torch.float64, device=X.device)
    _binary_pass[(programs,)](
        X, y, weights, theta, scratch, sums, n, d, tiles, TILE=TILE_ROWS,
        ROWS=rows, WIDTH=width, INTERCEPT=intercept, EVEN=d % 2 == 0, num_warps=WARPS,
    )  # fmt: skip
    found = sums.sum(dim=0)
    return found if intercept else found[:-1]


def _programs(device: Any) -> int:
    if device.type != "cuda":
        return PROGRAMS
    return PROGRAMS * int(torch.cuda.get_device_properties(device).multi_processor_count)
