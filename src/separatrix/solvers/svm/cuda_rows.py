"""BatchRows of a batch of support vector problems on a GPU: bounds, violations, objectives.

The counterpart of `working_set.py`, but with signed coefficients b = alpha y (`triton.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from separatrix.solvers.svm.problem import ROUNDING

Tensor = Any


class BatchRows(NamedTuple):
    """The rows of some problems; the last column is padding and holds 0."""

    b: Tensor  # shape: (p, r + 1), as all
    low: Tensor
    high: Tensor
    F: Tensor
    y: Tensor

    def of(self, problems: Tensor) -> BatchRows:
        """The rows of some of the problems; not a copy if that is all of them."""
        whole = len(problems) == len(self.b)
        return self if whole else BatchRows(*(part[problems] for part in self))


class ViolationKeys(NamedTuple):
    """Violation of each row in I_up and I_down, and the largest of each."""

    up: Tensor  # shape: (p, r + 1); -F, or -inf
    down: Tensor  # shape: (p, r + 1); F, or -inf
    top: Tensor  # shape: (p,); largest -F over I_up
    bottom: Tensor  # shape: (p,); smallest -F over I_down

    @classmethod
    def of(cls, rows: BatchRows) -> ViolationKeys:
        """Of the rows of some problems."""
        up = torch.where(rows.b < rows.high, -rows.F, -torch.inf)
        down = torch.where(rows.b > rows.low, rows.F, -torch.inf)
        return cls(up, down, up.amax(dim=1), -down.amax(dim=1))

    @property
    def violation(self) -> Tensor:
        """Of the optimality conditions, (p,)."""
        return (self.top - self.bottom).clamp_min(0.0)


def choose_rows(kept: Tensor, keys: ViolationKeys, w: int, padding: int) -> Tensor:
    """The next working sets, (p, w): rows kept from the last one, then the worst violators.

    Half of the new rows are from I_up, half from I_down; missing ones are padding.
    """
    up, down = _excess(keys.up, keys.bottom), _excess(keys.down, -keys.top)
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


def _excess(key: Tensor, least: Tensor) -> Tensor:
    """By how much each row violates, in float32, which is faster to select from; -inf if it does not."""
    violated = key > least[:, None]
    return torch.where(violated, key - least[:, None], -torch.inf).float()


def objectives(rows: BatchRows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Intercept, primal and dual objective and |w|^2 of each problem, as `working_set.py` has them."""
    b, low, high, F, y = rows
    box = high - low
    off = torch.where(torch.isinf(box), 0.0, ROUNDING * box)
    may_grow, may_shrink = b < high - off, b > low + off
    free = may_grow & may_shrink
    count = free.sum(dim=1)
    mean = -torch.where(free, F, 0.0).sum(dim=1) / count.clamp_min(1)
    top = torch.where(may_grow, -F, -torch.inf).amax(dim=1)
    bottom = torch.where(may_shrink, -F, torch.inf).amin(dim=1)
    middle = torch.where(torch.isinf(bottom), top, 0.5 * (top + bottom))
    middle = torch.where(torch.isinf(top), bottom, middle)
    middle = torch.where(torch.isinf(middle), 0.0, middle)  # no row has an upper bound above 0
    bias = torch.where(count > 0, mean, middle)
    square = (b * (F + y)).sum(dim=1)
    slack = -y * (F + bias[:, None])
    loss = torch.where((slack > 0) & (box > 0) & torch.isfinite(box), box * slack, 0.0).sum(dim=1)
    least = torch.where(torch.isinf(box), 1.0 - slack, 1.0).amin(dim=1).clamp_max(1.0)
    primal = torch.where(least > 0, 0.5 * square / least**2 + loss, torch.inf)
    return bias, primal, b.abs().sum(dim=1) - 0.5 * square, square
