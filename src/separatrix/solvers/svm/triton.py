"""Triton programs of the GPU support vector machines, each one round of all problems.

Coefficients are signed: b = alpha y lies between `low` and `high`, one of which is 0, so a row is in
I_up while b < high and in I_down while b > low. `slots` gives the slot of a kernel row in `storage`,
`columns` the row of the matrix that each row of a problem is.

Numbers of rows are not specialized where values are read by index: one program for all sizes, not one for
each divisor of them.

Triton runs them on a GPU, its interpreter on the CPU. Without either, torch and the compiled loops of
`working_set.py` do the same to the same memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from separatrix.runtime.device import runs_triton
from separatrix.solvers.svm.working_set import ALPHA, SMALLEST_CURVATURE, solve_tile

Tensor = Any
TILE_ROWS, TILE_COLUMNS = 8, 128  # of a tile that one program gathers
ADDED_ROWS, ADDED_COLUMNS = 16, 256  # of the matrix that one program adds at a time
WARPS = 8  # of a program that solves a tile
TWO_WARPS = tl.constexpr(64)  # smallest tile that is solved by more than one warp
CURVATURE = tl.constexpr(SMALLEST_CURVATURE)


def gather_tiles(storage: Tensor, slots: Tensor, rows: Tensor) -> Tensor:
    """Kernel values among the working rows of every problem, (p, w, w); rows (p, w) are the matrix's."""
    p, w = rows.shape
    tiles = torch.empty((p, w, w), dtype=storage.dtype, device=storage.device)
    if runs_triton(storage.device):
        grid = (p, triton.cdiv(w, TILE_ROWS), triton.cdiv(w, TILE_COLUMNS))
        _gather[grid](
            tiles, storage, slots, rows, storage.shape[1], w,
            ROWS=TILE_ROWS, COLUMNS=TILE_COLUMNS,
        )  # fmt: skip
        return tiles
    for problem in range(p):
        tiles[problem] = storage[slots[rows[problem]].long()][:, rows[problem]]
    return tiles


def solve_tiles(
    tiles: Tensor,  # shape: (p, w, w)
    diagonal: Tensor,  # shape: (p, w), as all below
    b: Tensor,
    low: Tensor,
    high: Tensor,
    F: Tensor,
    tol: Tensor,  # shape: (p,)
    max_steps: Tensor,  # shape: (p,)
    *,
    single: bool = False,
) -> Tensor:
    """Second-order steps inside every tile until its violation is below tol; b is changed in place.

    With `single` a program keeps the errors of its tile in float32; coefficients are float64 always.
    Returns the number of steps of each problem, (p,).
    """
    p, w = b.shape
    made = torch.zeros(p, dtype=torch.int64, device=b.device)
    if runs_triton(b.device):
        _solve[(p,)](
            tiles, diagonal, b, low, high, F, tol, max_steps, made,
            W=w, TYPE=tl.float32 if single else tl.float64, num_warps=max(1, min(WARPS, w // 32)),
        )  # fmt: skip
        return made
    for problem in range(p):
        y = np.where(low[problem].numpy() < 0, -1.0, 1.0)
        box = (high[problem] - low[problem]).numpy()
        state = np.empty((8, w))
        state[:5] = y, box, b[problem].abs(), F[problem], diagonal[problem]
        made[problem] = solve_tile(
            tiles[problem].numpy(), state, w, float(tol[problem]), int(max_steps[problem])
        )
        b[problem] = torch.from_numpy(state[ALPHA] * y)
    return made


def add_rows(
    F: Tensor,  # shape: (all problems, r + 1); float64
    storage: Tensor,
    slots: Tensor,
    columns: Tensor,  # shape: (layouts, r + 1)
    layout: Tensor,  # shape: (all problems,)
    problems: Tensor,  # shape: (p,); those whose errors change
    rows: Tensor,  # shape: (p, w); of the matrix
    steps: Tensor,  # shape: (p, w); float64, 0 for rows that did not change
) -> None:
    """Add multiples of kernel rows to the errors of all rows of some problems, in float64."""
    order = torch.argsort((steps == 0).to(torch.int8), dim=1, stable=True)
    count = (steps != 0).sum(dim=1)
    rows, steps = rows.gather(1, order), steps.gather(1, order)
    r = F.shape[1] - 1
    if runs_triton(F.device):
        grid = (len(problems), triton.cdiv(r, ADDED_COLUMNS))
        _add[grid](
            F, storage, slots[rows], columns, layout, problems, steps, count,
            storage.shape[1], r, F.shape[1], rows.shape[1],
            ROWS=ADDED_ROWS, COLUMNS=ADDED_COLUMNS,
        )  # fmt: skip
        return
    for number, problem in enumerate(problems.tolist()):
        used = int(count[number])
        own = columns[layout[problem], :-1].long()
        K = storage[slots[rows[number, :used]].long()][:, own]
        F[problem, :-1] += steps[number, :used] @ K.to(torch.float64)


@triton.jit(do_not_specialize=["n"])
def _gather(  # type: ignore[no-untyped-def]
    tiles, storage, slots, rows, n, w, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    problem = tl.program_id(0).to(tl.int64)
    u = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    v = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.load(rows + problem * w + u, mask=u < w, other=0)
    second = tl.load(rows + problem * w + v, mask=v < w, other=0)
    position = tl.load(slots + first).to(tl.int64)
    inside = (u < w)[:, None] & (v < w)[None, :]
    values = tl.load(storage + position[:, None] * n + second[None, :], mask=inside, other=0.0)
    tl.store(tiles + problem * w * w + u[:, None] * w + v[None, :], values, mask=inside)


@triton.jit
def _first(key_a, index_a, key_b, index_b):  # type: ignore[no-untyped-def]
    """The larger key and its index; the lower index among equals."""
    left = (key_a > key_b) | ((key_a == key_b) & (index_a < index_b))
    return tl.where(left, key_a, key_b), tl.where(left, index_a, index_b)


@triton.jit
def _second(  # type: ignore[no-untyped-def]
    score_a, index_a, gain_a, worst_a, score_b, index_b, gain_b, worst_b
):
    """The larger score with its index and gain, and the largest gain of all."""
    left = (score_a > score_b) | ((score_a == score_b) & (index_a < index_b))
    return (
        tl.where(left, score_a, score_b),
        tl.where(left, index_a, index_b),
        tl.where(left, gain_a, gain_b),
        tl.maximum(worst_a, worst_b),
    )


@triton.jit
def _solve(  # type: ignore[no-untyped-def]
    tiles, diagonal, b_all, low_all, high_all, F, tol, max_steps, made,
    W: tl.constexpr, TYPE: tl.constexpr,
):  # fmt: skip
    """One problem: the worst violator in I_up, with the row that lowers the objective most.

    Coefficients are in memory beside registers: the two of a step are read while its kernel rows are, and
    need not go through the reductions, whose barriers order their writes and reads.
    """
    problem = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, W)
    own = problem * W
    tile = tiles + own * W
    b = tl.load(b_all + own + k)
    low, high = tl.load(low_all + own + k), tl.load(high_all + own + k)
    f, diag = tl.load(F + own + k).to(TYPE), tl.load(diagonal + own + k).to(TYPE)
    least, most = tl.load(tol + problem), tl.load(max_steps + problem)
    step = most * 0
    going = step < most
    while going:
        key = tl.where(b < high, -f, -float("inf")).to(TYPE)
        top, i = tl.reduce((key, k), 0, _first)
        i = i.to(tl.int32)
        row_i = tl.load(tile + i * W + k).to(TYPE)
        diag_i, high_i = tl.load(diagonal + own + i).to(TYPE), tl.load(high_all + own + i)
        b_i = tl.load(b_all + own + i)
        gain = tl.where(b > low, tl.maximum(top + f, 0.0), 0.0).to(TYPE)
        curvature = tl.maximum(diag_i + diag - 2.0 * row_i, CURVATURE).to(TYPE)
        score, j, gain_j, worst = tl.reduce((gain * gain / curvature, k, gain, gain), 0, _second)
        j = j.to(tl.int32)
        b_j, low_j = tl.load(b_all + own + j), tl.load(low_all + own + j)
        row_j = tl.load(tile + j * W + k).to(TYPE)
        going = (worst > least) & (gain_j > 0.0)
        bound_i, bound_j = high_i - b_i, b_j - low_j
        t = score.to(tl.float64) / tl.where(going, gain_j, 1.0).to(tl.float64)
        t = tl.minimum(tl.minimum(t, bound_i), bound_j)
        t = tl.where(going, t, 0.0)
        after_i = tl.where(going & (t == bound_i), high_i, b_i + t)
        after_j = tl.where(going & (t == bound_j), low_j, b_j - t)
        tl.debug_barrier()  # all have read the coefficients that are replaced
        tl.store(b_all + own + i, after_i)
        tl.store(b_all + own + j, after_j)
        if W < TWO_WARPS:  # reductions of one warp have no barrier
            tl.debug_barrier()
        b = tl.where(k == i, after_i, tl.where(k == j, after_j, b))
        f += t.to(TYPE) * (row_i - row_j)
        step += tl.where(going, 1, 0)
        going = going & (step < most)
    tl.store(made + problem, step)


@triton.jit(do_not_specialize=["n", "r", "stride"])
def _add(  # type: ignore[no-untyped-def]
    F, storage, positions, columns, layout, problems, steps, count,
    n, r, stride, w, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0).to(tl.int64)
    problem = tl.load(problems + number)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < r
    own = tl.load(layout + problem) * stride
    of_matrix = tl.load(columns + own + column, mask=inside, other=0)
    used = tl.load(count + number)
    total = tl.zeros((COLUMNS,), dtype=tl.float64)
    start = used * 0
    while start < used:
        u = start + tl.arange(0, ROWS)
        used_row = u < used
        position = tl.load(positions + number * w + u, mask=used_row, other=0).to(tl.int64)
        step = tl.load(steps + number * w + u, mask=used_row, other=0.0)
        wanted = used_row[:, None] & inside[None, :]
        values = tl.load(
            storage + position[:, None] * n + of_matrix[None, :], mask=wanted, other=0.0
        )
        total += tl.sum(step[:, None] * values.to(tl.float64), axis=0)
        start += ROWS
    at = F + problem * stride + column
    tl.store(at, tl.load(at, mask=inside, other=0.0) + total, mask=inside)
