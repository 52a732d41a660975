"""The state of support vector machines in lockstep: rows of all problems, what they ask for, measures.

As `working_set.py` has it for one problem, but coefficients are signed (`lockstep_programs.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from separatrix.solvers.svm.working_set import ROUNDING
from separatrix.types import Vector

Tensor = Any


class Rows(NamedTuple):
    """The rows of some problems; the last column is padding, where everything is 0."""

    b: Tensor  # shape: (p, r + 1), as all
    low: Tensor
    high: Tensor
    F: Tensor
    y: Tensor

    def of(self, problems: Tensor) -> Rows:
        """Those of some of the problems; not a copy where that is all of them."""
        return self if len(problems) == len(self.b) else Rows(*(part[problems] for part in self))


class Keys(NamedTuple):
    """How much each row asks to go up and to go down, and the most that any does."""

    up: Tensor  # shape: (p, r + 1); -F, or -inf
    down: Tensor  # shape: (p, r + 1); F, or -inf
    top: Tensor  # shape: (p,); largest -F of rows that may go up
    bottom: Tensor  # shape: (p,); smallest -F of rows that may go down

    @classmethod
    def of(cls, rows: Rows) -> Keys:
        """Of the rows of some problems."""
        up = torch.where(rows.b < rows.high, -rows.F, -torch.inf)
        down = torch.where(rows.b > rows.low, rows.F, -torch.inf)
        return cls(up, down, up.amax(dim=1), -down.amax(dim=1))

    @property
    def violation(self) -> Tensor:
        """Of the optimality conditions, (p,)."""
        return (self.top - self.bottom).clamp_min(0.0)


def choose(kept: Tensor, keys: Keys, w: int, padding: int) -> Tensor:
    """The rows to work on next, (p, w): those kept from the last ones, then the worst violators.

    Half of the new ones ask to go up, half to go down. Where there are not so many, padding.
    """
    up, down = keys.up.clone(), keys.down.clone()
    up[up <= keys.bottom[:, None]] = -torch.inf  # not violated
    down[down <= -keys.top[:, None]] = -torch.inf
    for key in (up, down):
        key.scatter_(1, kept, -torch.inf)
    chosen = [kept]
    half = (w - kept.shape[1]) // 2
    for key in (up, down):
        best = torch.topk(key, min(half, key.shape[1]), dim=1, sorted=False)
        rows = torch.where(best.values > -torch.inf, best.indices, padding)
        down.scatter_(1, rows, -torch.inf)
        chosen.append(rows)
    work = torch.cat(chosen, dim=1)
    return torch.nn.functional.pad(work, (0, w - work.shape[1]), value=padding)


def objectives(rows: Rows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Intercept, primal and dual objective and |w|^2 of each problem, as `working_set.py` has them."""
    b, low, high, F, y = rows
    keys = Keys.of(rows)
    box = high - low
    off = torch.where(torch.isinf(box), 0.0, ROUNDING * box)
    free = (b > low + off) & (b < high - off)
    count = free.sum(dim=1)
    mean = -torch.where(free, F, 0.0).sum(dim=1) / count.clamp_min(1)
    top, bottom = keys.top, keys.bottom
    middle = torch.where(torch.isinf(bottom), top, 0.5 * (top + bottom))
    middle = torch.where(torch.isinf(top), bottom, middle)
    bias = torch.where(count > 0, mean, middle)
    square = (b * (F + y)).sum(dim=1)
    slack = -y * (F + bias[:, None])
    loss = torch.where((slack > 0) & (box > 0) & torch.isfinite(box), box * slack, 0.0).sum(dim=1)
    least = torch.where(torch.isinf(box), 1.0 - slack, 1.0).amin(dim=1).clamp_max(1.0)
    primal = torch.where(least > 0, 0.5 * square / least**2 + loss, torch.inf)
    return bias, primal, b.abs().sum(dim=1) - 0.5 * square, square


def relative_gaps(primal: Vector, dual: Vector) -> Vector:
    """(P - D) / max(|P|, 1) of each problem; infinite without a primal."""
    with np.errstate(invalid="ignore"):
        gap = (primal - dual) / np.maximum(np.abs(primal), 1.0)
    return np.where(np.isinf(primal), np.inf, gap)
