"""One pass of logistic regression of two classes over the samples on a GPU, which are read once.

Every program takes tiles of rows in turn: scores, residuals and their products with the rows while these
are in registers. All threads of a warp have the score of a row; it goes through a few bytes of memory, so
that only one of them computes its exponential and logarithm. The sums of a program go to a row of its own,
and the rows are added afterwards, so that the result is the same each time.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any
TILE_VALUES = 1024  # of a tile of rows, which a program has in registers
PROGRAMS = 32  # of one warp, for each multiprocessor
WARPS = 1


@triton.jit
def _binary_pass(  # type: ignore[no-untyped-def]
    X, y, weights, theta, scores, sums, n, d, tiles,
    ROWS: tl.constexpr, WIDTH: tl.constexpr, INTERCEPT: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    length = tl.multiple_of(d, 2) if EVEN else d  # then two values are read at once
    program = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    inside = columns < length
    w = tl.load(theta + columns, mask=inside, other=0.0)
    bias = tl.load(theta + d) if INTERCEPT else 0.0
    gradient = tl.zeros((ROWS, WIDTH), dtype=tl.float64)
    losses = tl.zeros((ROWS,), dtype=tl.float64)
    pulls = tl.zeros((ROWS,), dtype=tl.float64)
    for tile in range(program, tiles, tl.num_programs(0)):
        rows = (tile * ROWS + tl.arange(0, ROWS)).to(tl.int64)
        there = rows < n
        x = tl.load(
            X + rows[:, None] * length + columns[None, :],
            mask=there[:, None] & inside[None, :],
            other=0.0,
        )
        own_scores = scores + program * ROWS + tl.arange(0, ROWS)
        tl.store(own_scores, tl.sum(x * w[None, :], axis=1))
        tl.debug_barrier()
        side = 2.0 * tl.load(y + rows, mask=there, other=0).to(tl.float64) - 1.0
        weight = tl.load(weights + rows, mask=there, other=0.0)
        z = side * (tl.load(own_scores) + bias)
        tl.debug_barrier()
        small = tl.exp(-tl.abs(z))
        losses += weight * (tl.where(z > 0, 0.0, -z) + tl.log(1.0 + small))
        pull = -side * weight * tl.where(z > 0, small, 1.0) / (1.0 + small)
        pulls += pull
        gradient += pull[:, None] * x
    own = sums + program * (d + 2)
    tl.store(own, tl.sum(losses, axis=0))
    tl.store(own + 1 + columns, tl.sum(gradient, axis=0), mask=inside)
    tl.store(own + 1 + d, tl.sum(pulls, axis=0))


def binary_pass(X: Tensor, y: Tensor, weights: Tensor, theta: Tensor, intercept: bool) -> Tensor:
    """Loss and gradient at theta, (D,), over samples X, (n, d), in float64: (1 + D,)."""
    n, d = X.shape
    width = triton.next_power_of_2(d)
    rows = max(1, TILE_VALUES // width)
    tiles = triton.cdiv(n, rows)
    programs = min(tiles, _programs(X.device))
    sums = torch.empty((programs, d + 2), dtype=torch.float64, device=X.device)
    scores = torch.empty((programs, rows), dtype=torch.float64, device=X.device)
    _binary_pass[(programs,)](
        X, y, weights, theta, scores, sums, n, d, tiles,
        ROWS=rows, WIDTH=width, INTERCEPT=intercept, EVEN=d % 2 == 0, num_warps=WARPS,
    )  # fmt: skip
    found = sums.sum(dim=0)
    return found if intercept else found[:-1]


def _programs(device: Any) -> int:
    if device.type != "cuda":
        return PROGRAMS
    return PROGRAMS * int(torch.cuda.get_device_properties(device).multi_processor_count)
