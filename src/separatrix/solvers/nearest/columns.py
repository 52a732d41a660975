"""Groups of correlated columns, by merging the two groups that lose the least, repeatedly.

A group is represented by one signed sum of its columns. For differences of samples its size is about
its standard deviation, so merging A and B loses sd(A) + sd(B) - sd(A + B), with -B where that is less.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.types import Codes, Flags, Matrix, Signs, Vector

MAX_COLUMNS = 1024  # merged at once; the time grows with their square, or a little faster
ADJACENT = 256  # of more columns, adjacent ones are merged first


class Groups(NamedTuple):
    """A partition of the columns."""

    labels: Codes  # shape: (d,); 0..g-1
    signs: Signs  # shape: (d,); how a column enters the sum of its group
    size: int  # g


class Merges(NamedTuple):
    """Merged pairs of groups in order; a group is named by one of its columns."""

    into: Codes  # shape: (merges,)
    gone: Codes
    signs: Signs

    def groups(self, d: int, g: int) -> Groups:
        """The partition when g groups are left."""
        root, signs = np.arange(d), np.ones(d, np.int8)
        _resolve(self.into[: d - g], self.gone[: d - g], self.signs[: d - g], root, signs)
        return Groups(np.unique(root, return_inverse=True)[1], signs, g)


def merge_columns(S: Matrix) -> Merges:
    """All merges of the columns of centred samples, (n, d), of moderate size, down to one group."""
    d = S.shape[1]
    if d <= MAX_COLUMNS:
        return Merges(*_merge(S.T @ S, 1))
    steps, names, sums = [], [], []
    for columns in row_blocks(d, ADJACENT):
        part = S[:, columns]
        width = part.shape[1]
        left = max(1, width * MAX_COLUMNS // d)
        step = Merges(*_merge(part.T @ part, left))
        steps.append(Merges(step.into + columns.start, step.gone + columns.start, step.signs))
        names.append(np.setdiff1d(np.arange(width), step.gone) + columns.start)
        sums.append(group_sums(part, step.groups(width, left)))
    last, name = merge_columns(np.hstack(sums)), np.concatenate(names)
    steps.append(Merges(name[last.into], name[last.gone], last.signs))
    return Merges(*(np.concatenate(field) for field in zip(*steps, strict=True)))


def group_sums(S: Matrix, groups: Groups) -> Matrix:
    """Signed sums of the groups, (n, g)."""
    out = np.zeros((len(S), groups.size))
    _add(S, groups.labels, groups.signs, out)
    return out


@njit(cache=True, nogil=True)
def _add(S: Matrix, labels: Codes, signs: Vector, out: Matrix) -> None:
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            out[i, labels[j]] += signs[j] * S[i, j]


@njit(cache=True, nogil=True)
def _resolve(into: Codes, gone: Codes, signs: Vector, root: Codes, sign: Vector) -> None:
    for step in range(len(into) - 1, -1, -1):
        root[gone[step]] = root[into[step]]
        sign[gone[step]] = signs[step] * sign[into[step]]


@njit(cache=True, nogil=True)
def _merge(C: Matrix, left: int) -> Any:
    """Merges by the covariances C, (d, d), which are used up, until `left` groups are left."""
    d = C.shape[0]
    steps = d - left
    into, gone, signs = (
        np.empty(steps, np.int64),
        np.empty(steps, np.int64),
        np.empty(steps, np.int8),
    )
    spread = np.sqrt(np.diag(C))
    alive = np.ones(d, np.bool_)
    loss, mate = np.full(d, np.inf), np.zeros(d, np.int64)
    for i in range(d):
        _find_mate(C, spread, alive, i, loss, mate)
    for step in range(steps):
        a = np.argmin(loss)
        b = mate[a]
        sign = 1 if C[a, b] >= 0 else -1
        into[step], gone[step], signs[step] = a, b, sign
        alive[b] = False
        loss[b] = np.inf
        for j in range(d):
            C[a, j] += sign * C[b, j]
        C[a, a] += sign * C[a, b]
        for j in range(d):
            C[j, a] = C[a, j]
        spread[a] = np.sqrt(max(C[a, a], 0.0))
        for i in range(d):
            if alive[i]:
                if i == a or mate[i] == a or mate[i] == b:
                    _find_mate(C, spread, alive, i, loss, mate)
                else:
                    lost = _lost(C, spread, i, a)
                    if lost < loss[i]:
                        loss[i], mate[i] = lost, a
    return into, gone, signs


@njit(cache=True, nogil=True)
def _find_mate(C: Matrix, spread: Matrix, alive: Flags, i: int, loss: Vector, mate: Codes) -> None:
    loss[i] = np.inf
    for j in range(C.shape[0]):
        if alive[j] and j != i:
            lost = _lost(C, spread, i, j)
            if lost < loss[i]:
                loss[i], mate[i] = lost, j


@njit(cache=True, nogil=True)
def _lost(C: Matrix, spread: Matrix, i: int, j: int) -> Any:
    together = spread[i] * spread[i] + spread[j] * spread[j] + 2.0 * abs(C[i, j])
    return spread[i] + spread[j] - np.sqrt(together)
