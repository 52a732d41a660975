"""Least scores of groups of rows, read once."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any
GROUPS = 64  # of a program


@triton.jit
def _minima(S, out, groups, GROUPS: tl.constexpr, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    query = tl.program_id(1).to(tl.int64)
    group = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS)
    inside = group < groups
    addresses = query * groups * SIZE + group[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    values = tl.load(S + addresses, mask=inside[:, None], other=float("inf"))
    tl.store(out + query * groups + group, tl.min(values, axis=1), mask=inside)


def group_minima(S: Tensor, size: int) -> Tensor:
    """The least score of each `size` neighbouring columns of S, (m, n) -> (m, n / size)."""
    m, n = S.shape
    groups = n // size
    out = torch.empty((m, groups), dtype=S.dtype, device=S.device)
    step = 65_535  # programs along an axis, at most
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        grid = (triton.cdiv(groups, GROUPS), part.stop - part.start)
        _minima[grid](S[part], out[part], groups, GROUPS=GROUPS, SIZE=size)
    return out
