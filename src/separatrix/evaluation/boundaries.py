"""Lines between the regions of a lattice: where on its edges the class changes, and how they join.

An edge joins two neighbouring cells. Where their classes differ the model is asked between them, so that
a line runs where predictions change, whatever its scores are: votes and neighbours have smooth lines too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from separatrix.evaluation.lattice import Lattice
from separatrix.types import Codes, Flags, Matrix, Vector

UNDECIDED = -2
PARTS = np.array([0.25, 0.5, 0.75])  # of an interval; the model is asked there
ROUNDS = 3  # each divides an interval by 4: a crossing is known to 1/128 of a cell


class Segments(NamedTuple):
    """Straight pieces of lines in the coordinates of cells: 0, 0 is the middle of the first one."""

    ends: Matrix  # shape: (n, 2, 2); start and end, each column and row
    codes: Codes  # shape: (n, 2); the classes that a piece separates


def find_crossings(
    codes: Codes,  # shape: (h, g); -2 where undecided
    lattice: Lattice,
    ask: Callable[[Matrix], tuple[Codes, Flags]],
) -> Matrix:
    """How far along each edge the class changes, 0 to 1, (2, h, g); NaN where it does not.

    The first part are edges to the next column, the second to the next row; `ask` gives the class of
    positions, (m, 2), and whether they are undecided.
    """
    crossings = np.full((2, *codes.shape), np.nan)
    changes = [np.nonzero(np.diff(codes, axis=1)), np.nonzero(np.diff(codes, axis=0))]
    start = [lattice.at(i, j) for i, j in changes]
    end = [lattice.at(*_next(i, j, axis)) for axis, (i, j) in enumerate(changes)]
    before = np.concatenate([codes[at] for at in changes])
    after = np.concatenate([codes[_next(*at, axis)] for axis, at in enumerate(changes)])
    if len(before):
        found = _bisect(np.concatenate(start), np.concatenate(end), before, after, ask)
        across = len(changes[0][0])
        crossings[0][changes[0]], crossings[1][changes[1]] = found[:across], found[across:]
    return crossings


def _next(i: Codes, j: Codes, axis: int) -> tuple[Codes, Codes]:
    return (i, j + 1) if axis == 0 else (i + 1, j)


def _bisect(
    start: Matrix,  # shape: (e, 2)
    end: Matrix,  # shape: (e, 2)
    before: Codes,  # shape: (e,)
    after: Codes,  # shape: (e,)
    ask: Callable[[Matrix], tuple[Codes, Flags]],
) -> Vector:
    """How far from start to end the class, or that it is undecided, changes first, (e,)."""
    open_ = (before == UNDECIDED) | (after == UNDECIDED)
    low, width = np.zeros(len(before)), 1.0
    for _ in range(ROUNDS):
        shares = low[:, None] + width * PARTS  # (e, 3)
        places = start[:, None] + shares[:, :, None] * (end - start)[:, None]
        codes, undecided = (part.reshape(shares.shape) for part in ask(places.reshape(-1, 2)))
        as_before = np.where(
            open_[:, None], undecided == (before == UNDECIDED)[:, None], codes == before[:, None]
        )
        width /= 4.0
        low += width * np.cumprod(as_before, axis=1).sum(axis=1)
    return low + 0.5 * width


def without_slivers(undecided: Flags) -> Flags:
    """Undecided cells that make an area: those of a square of four. Others are on a line.

    >>> without_slivers(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    """
    squares = undecided[:-1, :-1] & undecided[1:, :-1] & undecided[:-1, 1:] & undecided[1:, 1:]
    kept = np.zeros_like(undecided)
    for part in (kept[:-1, :-1], kept[1:, :-1], kept[:-1, 1:], kept[1:, 1:]):
        part |= squares
    return kept


def trace_segments(codes: Codes, crossings: Matrix) -> Segments:
    """Join the crossings around each square of four cells; each piece separates two classes.

    Two crossings are joined. Three or four meet in their middle, unless opposite corners are of one
    class: then each of the other two is cut off, on the shorter way if both pairs are.
    """
    i, j = np.nonzero(
        ~np.isnan(crossings[0, :-1, :-1])
        | ~np.isnan(crossings[1, :-1, :-1])
        | ~np.isnan(crossings[0, 1:, :-1])
        | ~np.isnan(crossings[1, :-1, 1:])
    )
    corners = np.stack([codes[i, j], codes[i, j + 1], codes[i + 1, j + 1], codes[i + 1, j]], axis=1)
    bottom, right = crossings[0, i, j], crossings[1, i, j + 1]
    top, left = crossings[0, i + 1, j], crossings[1, i, j]
    zero, one = np.zeros(len(i)), np.ones(len(i))
    places = np.stack([(bottom, zero), (one, right), (top, one), (zero, left)]).transpose(2, 0, 1)
    places = (
        places + np.stack([j, i], axis=1)[:, None]
    )  # (q, 4, 2); edge c is from corner c to c + 1
    crossed = corners != np.roll(corners, -1, axis=1)
    count = crossed.sum(axis=1)
    even, odd = corners[:, 0] == corners[:, 2], corners[:, 1] == corners[:, 3]
    lengths = [_cut_length(places, first) for first in (0, 1)]
    cut_odd = (count == 4) & even & (~odd | (lengths[1] <= lengths[0]))
    cut_even = (count == 4) & odd & ~cut_odd
    pieces = [_join_two(places[count == 2], corners[count == 2], crossed[count == 2])]
    pieces += [_cut_corner(places[cut_odd], corners[cut_odd], c) for c in (1, 3)]
    pieces += [_cut_corner(places[cut_even], corners[cut_even], c) for c in (0, 2)]
    star = (count > 2) & ~cut_odd & ~cut_even
    pieces += [_join_middle(places[star], corners[star], crossed[star])]
    return Segments(*(np.concatenate(part) for part in zip(*pieces, strict=True)))


def _cut_length(places: Matrix, first: int) -> Vector:
    """Length of the two pieces that cut off a corner and the opposite one, (q,)."""
    ends = [places[:, c] - places[:, c - 1] for c in (first, first + 2)]
    return np.asarray(sum(np.hypot(*end.T) for end in ends))


def _join_two(places: Matrix, corners: Codes, crossed: Flags) -> Segments:
    edges = np.nonzero(crossed)[1].reshape(-1, 2)
    q = np.arange(len(edges))
    sides = np.stack([corners[q, edges[:, 0]], corners[q, (edges[:, 0] + 1) % 4]], axis=1)
    return Segments(places[q[:, None], edges], sides)


def _cut_corner(places: Matrix, corners: Codes, c: int) -> Segments:
    return Segments(places[:, [c - 1, c]], corners[:, [c, c - 1]])


def _join_middle(places: Matrix, corners: Codes, crossed: Flags) -> Segments:
    sums = np.where(crossed[:, :, None], places, 0.0).sum(axis=1)
    middle = sums / np.maximum(crossed.sum(axis=1), 1)[:, None]
    q, edge = np.nonzero(crossed)
    sides = np.stack([corners[q, edge], corners[q, (edge + 1) % 4]], axis=1)
    return Segments(np.stack([places[q, edge], middle[q]], axis=1), sides)
