"""Lines between the regions of a lattice: where on its edges the class changes, and how they join.

An edge joins two neighbouring cells. Where their classes differ the model is asked between them, so that
a line runs where predictions change, whatever its scores are: votes and neighbours have smooth lines too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from separatrix.evaluation.lattice import Lattice
from separatrix.types import Codes, Flags, Matrix, Vector

UNDECIDED = -2  # the code of a position whose class rounding or a tie decides
PARTS = np.array([0.25, 0.5, 0.75])  # of an interval; the model is asked there
ROUNDS = 3  # each divides an interval by 4: a crossing is known to 1/128 of a cell
ASIDE = np.linspace(-0.65, 0.65, 14)  # beside a straight piece: does the line bend there?
INSIDE = 8  # positions along each side of a square where lines may meet
Ask = Callable[[Matrix], tuple[Codes, Flags]]  # classes of positions, (m, 2), and if undecided


class Segments(NamedTuple):
    """Straight pieces of lines in the coordinates of cells: 0, 0 is the middle of the first one."""

    ends: Matrix  # shape: (n, 2, 2); start and end, each column and row
    codes: Codes  # shape: (n, 2); the classes that a piece separates


class _Squares(NamedTuple):
    """Squares of four neighbouring cells that are not all of one class."""

    i: Codes  # shape: (q,); row of the lower left cell
    j: Codes  # shape: (q,); its column
    corners: Codes  # shape: (q, 4); classes, counterclockwise from the lower left
    positions: Matrix  # shape: (q, 4, 2); crossing of each side; side c is from corner c to c + 1

    @property
    def crossed(self) -> Flags:
        """Sides with a crossing, (q, 4)."""
        return np.asarray(self.corners != np.roll(self.corners, -1, axis=1))

    def take(self, some: Flags | Codes) -> _Squares:
        """Some of the squares."""
        return _Squares(self.i[some], self.j[some], self.corners[some], self.positions[some])

    @classmethod
    def of(cls, codes: Codes, crossings: Matrix) -> _Squares:
        low, high = slice(None, -1), slice(1, None)
        corners = np.stack(
            [codes[low, low], codes[low, high], codes[high, high], codes[high, low]], axis=-1
        )
        i, j = np.nonzero((corners != corners[..., :1]).any(axis=-1))
        bottom, right = crossings[0, i, j], crossings[1, i, j + 1]
        top, left = crossings[0, i + 1, j], crossings[1, i, j]
        zero, one = np.zeros(len(i)), np.ones(len(i))
        sides = [(bottom, zero), (one, right), (top, one), (zero, left)]
        return cls(i, j, corners[i, j], np.stack(sides).transpose(2, 0, 1))


def find_crossings(codes: Codes, lattice: Lattice, ask: Ask) -> Matrix:
    """Where the classes of cells, (h, g), change between them, 0 to 1, (4, h, g); NaN where they do not.

    How far on the edge to the next column, and on that to the next row; then the column and row at
    which lines meet or bend in the square between four cells, whose lower left one is meant.
    """
    found = np.full((4, *codes.shape), np.nan)
    for axis, step in enumerate(((0, 1), (1, 0))):
        i, j = np.nonzero(np.diff(codes, axis=1 - axis))
        start, end = lattice.at(i, j), lattice.at(i + step[0], j + step[1])
        before, after = codes[i, j], codes[i + step[0], j + step[1]]
        found[axis, i, j] = _bisect(start, end - start, before, after, ask)
    squares = _Squares.of(codes, found)
    middles = _find_middles(squares, _within(lattice, squares, ask))
    found[2:, squares.i, squares.j] = middles.T
    return found


def _bisect(start: Matrix, way: Matrix, before: Codes, after: Codes, ask: Ask) -> Vector:
    """How far from start on a way, (e, 2) both, the class is no longer the one before, (e,)."""
    open_ = (before == UNDECIDED) | (after == UNDECIDED)
    low, width = np.zeros(len(before)), 1.0
    for _ in range(ROUNDS if len(before) else 0):
        shares = low[:, None] + width * PARTS  # (e, 3)
        positions = start[:, None] + shares[:, :, None] * way[:, None]
        codes = _ask(ask, positions, open_)
        width /= 4.0
        low += width * np.cumprod(codes == before[:, None], axis=1).sum(axis=1)
    return low + 0.5 * width


def _ask(ask: Ask, positions: Matrix, open_: Flags) -> Codes:
    """The class of positions, (n, m, 2) -> (n, m); -2 where undecided, if a cell beside them is."""
    codes, undecided = (part.reshape(positions.shape[:2]) for part in ask(positions.reshape(-1, 2)))
    return np.where(undecided & open_[:, None], UNDECIDED, codes)


def _within(lattice: Lattice, squares: _Squares, ask: Ask) -> Callable[[Codes, Matrix], Codes]:
    """The class of positions in squares, from their lower left corner: (n,), (n, m, 2) -> (n, m)."""
    steps = np.array([np.ptp(side) / max(1, len(side) - 1) for side in lattice])
    start = lattice.at(squares.i, squares.j)
    open_ = (squares.corners == UNDECIDED).any(axis=1)

    def ask_within(number: Codes, positions: Matrix) -> Codes:
        return _ask(ask, start[number][:, None] + positions * steps, open_[number])

    return ask_within


def _find_middles(squares: _Squares, ask: Callable[[Codes, Matrix], Codes]) -> Matrix:
    """Where the lines in squares meet or bend, (q, 2); NaN where they go straight or pass each other."""
    middles = np.full((len(squares.i), 2), np.nan)
    count = squares.crossed.sum(axis=1)
    two = np.flatnonzero(count == 2)
    if len(two):
        middles[two] = _bends(squares, two, ask)
    star = np.flatnonzero(_meet(squares))
    if len(star):
        middles[star] = _meetings(squares.take(star), partial(ask, star))
    return middles


def _meetings(squares: _Squares, ask: Callable[[Matrix], Codes]) -> Matrix:
    """Where three classes meet in squares, else the middle of their crossings, (n, 2)."""
    side = (np.arange(INSIDE) + 0.5) / INSIDE
    positions = np.stack(np.meshgrid(side, side), axis=-1).reshape(1, -1, 2)
    codes = ask(np.repeat(positions, len(squares.i), axis=0)).reshape(-1, INSIDE, INSIDE)
    four = [codes[:, :-1, :-1], codes[:, :-1, 1:], codes[:, 1:, :-1], codes[:, 1:, 1:]]
    several = (np.diff(np.sort(np.stack(four), axis=0), axis=0) != 0).sum(axis=0) > 1
    between = np.arange(1, INSIDE) / INSIDE
    sums = [(several * between).sum(axis=(1, 2)), (several * between[:, None]).sum(axis=(1, 2))]
    number = several.sum(axis=(1, 2))
    crossed = squares.crossed
    mean = np.where(crossed[:, :, None], squares.positions, 0.0).sum(axis=1)
    mean /= crossed.sum(axis=1)[:, None]
    meeting = np.stack(sums, axis=1) / np.maximum(number, 1)[:, None]
    found: Matrix = np.clip(np.where(number[:, None] > 0, meeting, mean), 0.01, 0.99)
    return found


def _bends(squares: _Squares, two: Codes, ask: Callable[[Codes, Matrix], Codes]) -> Matrix:
    """Where a line that crosses two sides is away from its straight piece, (n, 2); NaN where it is not."""
    edges = np.nonzero(squares.crossed[two])[1].reshape(-1, 2)
    start, end = (squares.positions[two, edges[:, c]] for c in (0, 1))
    along, middle = end - start, (start + end) / 2
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1)
    normal /= np.maximum(np.hypot(*normal.T), 1e-9)[:, None]

    def beside(rows: Codes, shares: Matrix) -> Codes:
        return ask(two[rows], middle[rows, None] + shares[:, :, None] * normal[rows, None])

    every = np.arange(len(two))
    codes = beside(every, np.broadcast_to(ASIDE, (len(two), len(ASIDE))))
    half = (ASIDE[1:] + ASIDE[:-1]) / 2
    positions = middle[:, None] + half[:, None] * normal[:, None]
    inside = ((positions >= 0) & (positions <= 1)).all(axis=2)
    away = np.where((codes[:, 1:] != codes[:, :-1]) & inside, np.abs(half), np.inf)
    nearest = away.argmin(axis=1)
    bent = np.flatnonzero(np.isfinite(away.min(axis=1)) & (away.min(axis=1) > 1e-9))
    found = np.full((len(two), 2), np.nan)
    if len(bent):
        low, width = ASIDE[nearest[bent]], ASIDE[1] - ASIDE[0]
        inner = beside(bent, low[:, None] + width * PARTS)
        same = np.cumprod(inner == codes[bent, nearest[bent]][:, None], axis=1).sum(axis=1)
        shift = low + width * (same + 0.5) / 4.0
        found[bent] = np.clip(middle[bent] + shift[:, None] * normal[bent], 0.01, 0.99)
    return found


def _meet(squares: _Squares) -> Flags:
    """Whether three or four crossings meet, because no two opposite corners are of one class, (q,)."""
    c = squares.corners
    count = squares.crossed.sum(axis=1)
    opposite = (c[:, 0] == c[:, 2]) | (c[:, 1] == c[:, 3])
    return np.asarray((count == 3) | ((count == 4) & ~opposite))


def without_slivers(undecided: Flags) -> Flags:
    """Undecided cells that make an area: those of a square of four. Others are on a line.

    >>> without_slivers(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)).astype(int).tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    """
    squares = undecided[:-1, :-1] & undecided[1:, :-1] & undecided[:-1, 1:] & undecided[1:, 1:]
    areas = np.zeros_like(undecided)
    for part in (areas[:-1, :-1], areas[1:, :-1], areas[:-1, 1:], areas[1:, 1:]):
        part |= squares
    return areas


def trace_segments(codes: Codes, crossings: Matrix) -> Segments:
    """Join the crossings around each square of four cells; each piece separates two classes.

    Two crossings are joined, over the place where the line bends. Three or four meet, unless opposite
    corners are of one class: then each of the other two is cut off, or the pair with shorter cuts.
    """
    squares = _Squares.of(codes, crossings)
    corners, positions = squares.corners, squares.positions
    middles = crossings[2:, squares.i, squares.j].T
    count = squares.crossed.sum(axis=1)
    straight = (count == 2) & np.isnan(middles[:, 0])
    even, odd = corners[:, 0] == corners[:, 2], corners[:, 1] == corners[:, 3]
    shorter = _cut_length(positions, 1) <= _cut_length(positions, 0)
    cut_odd = (count == 4) & even & (~odd | shorter)
    cut_even = (count == 4) & odd & ~cut_odd
    through = ~straight & ~cut_odd & ~cut_even
    pieces = [_join_two(squares.take(straight))]
    pieces += [_cut_corner(squares.take(cut_odd), c) for c in (1, 3)]
    pieces += [_cut_corner(squares.take(cut_even), c) for c in (0, 2)]
    pieces += [_join_middle(squares.take(through), middles[through])]
    return Segments(*(np.concatenate(part) for part in zip(*pieces, strict=True)))


def join_pieces(ends: Matrix) -> list[Matrix]:
    """Lines, (m, 2), of the pieces, (n, 2, 2), that follow each other.

    >>> [line.tolist() for line in join_pieces(np.array([[[0, 0], [1, 0]], [[2, 1], [1, 0]]]))]
    [[[0, 0], [1, 0], [2, 1]]]
    """
    nodes, index = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    after: list[list[int]] = [[] for _ in nodes]
    for one, other in index.reshape(-1, 2).tolist():
        after[one].append(other)
        after[other].append(one)
    lines = []
    for start in sorted(range(len(nodes)), key=lambda node: len(after[node]) != 1):  # ends first
        while after[start]:
            line = [start]
            while after[line[-1]]:
                here = line[-1]
                line.append(after[here].pop())
                after[line[-1]].remove(here)
            lines.append(nodes[line])
    return lines


def _cut_length(positions: Matrix, first: int) -> Vector:
    """Length of the two pieces that cut off a corner and the opposite one, (q,)."""
    ends = [positions[:, c] - positions[:, c - 1] for c in (first, first + 2)]
    return np.asarray(sum(np.hypot(*end.T) for end in ends))


def _join_two(squares: _Squares) -> Segments:
    q, edges = np.nonzero(squares.crossed)
    first = edges.reshape(-1, 2)[:, 0]
    own = np.arange(len(first))
    ends = squares.positions[q, edges].reshape(-1, 2, 2)
    return _segments(
        squares, own, ends, squares.corners[own, first], squares.corners[own, first - 3]
    )


def _cut_corner(squares: _Squares, c: int) -> Segments:
    own = np.arange(len(squares.i))
    ends = squares.positions[:, [c - 1, c]]
    return _segments(squares, own, ends, squares.corners[:, c], squares.corners[:, c - 1])


def _join_middle(squares: _Squares, middles: Matrix) -> Segments:
    q, edge = np.nonzero(squares.crossed)
    ends = np.stack([squares.positions[q, edge], middles[q]], axis=1)
    return _segments(squares, q, ends, squares.corners[q, edge], squares.corners[q, edge - 3])


def _segments(squares: _Squares, q: Codes, ends: Matrix, one: Codes, other: Codes) -> Segments:
    """Pieces in squares q, whose ends are counted from their lower left corners."""
    corner = np.stack([squares.j[q], squares.i[q]], axis=1)
    return Segments(ends + corner[:, None], np.stack([one, other], axis=1))
