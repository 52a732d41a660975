"""Manhattan distances: sums over groups of columns rule out most rows.

For a group B of columns and signs s_j, |sum_B s_j x_j - sum_B s_j q_j| <= sum_B |x_j - q_j|. Over all
groups that is a lower bound of the distance, and a close one where columns of a group move together.
Group sums are stored as integer multiples of a unit, clipped to 0 and 32767, which can only bring two of
them closer, or further apart by less than one; rows whose bound allows it get an exact distance.
Similar rows share a block: a query begins with blocks whose centres are near, and most others are ruled
out after a few groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uintp
from scipy.spatial.distance import cdist

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import (
    LANES,
    PIECE,
    REPEAT_16_BITS,
    abs_difference_mask,
    absolute_distance,
    blocks_of,
    first_bit,
)
from separatrix.solvers.nearest.cells import cells_of
from separatrix.solvers.nearest.columns import Groups, group_sums, merge_columns
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.ranking import Neighbors, enter
from separatrix.types import Codes, Flags, Matrix, Vector

SAMPLE = 2_000  # rows that columns are grouped by
TRIALS = 48  # of them, that stand for queries
NEARER = 0.85  # how much nearer the nearest of all rows may be than the nearest of a sample
SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # numbers of groups to choose from
GROUP_COST = 0.022  # nanoseconds for one group of one row
ALIKE = 8.0  # times as many blocks have a row that passes as there are such rows
QUERIES = 32  # that share two blocks of rows in the L1 cache
SEEDS = 8  # blocks that a query begins with, or one for 4 neighbours, up to
MOST_SEEDS = 64
CODED = 4096  # rows at once
STEP = 256  # columns of integers between two checks of the limit
TOP = 32_767
NO_LIMIT = 65_535
HUGE = 1e200  # beyond that, and below its inverse, sums and units might leave the range of numbers
FINEST = 2.0**-200  # unit for samples of size 1


class GroupCoding(NamedTuple):
    """How rows become integer group sums."""

    centre: Vector  # shape: (d,)
    unit: float  # a power of two
    levels: list[Groups]  # few groups, then many; empty: no bounds

    @property
    def slacks(self) -> Vector:
        """Units by which a bound of each level may be too large: less than one for each group."""
        return np.array([1.000001 * groups.size for groups in self.levels], np.float64)

    @property
    def ends(self) -> Codes:
        """Where the words of each level end; zeros fill its last piece."""
        pieces = [-(-groups.size // PIECE) for groups in self.levels]
        return PIECE * np.cumsum(np.array([0, *pieces], np.intp))


class CodedRows(NamedTuple):
    """Rows and their group sums."""

    X: Any  # shape: (n, d)
    order: Codes  # shape: (n,); row numbers, block after block
    blocks: Any  # shape: (blocks, words, LANES); uint16
    ends: Codes  # of the words of each level
    slacks: Vector  # of the bounds of each level, in units
    inverse: float  # of the unit


class CodedQueries(NamedTuple):
    """A group of queries and their group sums."""

    Q: Matrix  # shape: (m, d)
    skip: Codes  # shape: (m,)
    codes: Any  # shape: (m, words)
    spare: Vector  # shape: (m,); units by which rounding may have raised a bound
    bytes: Any  # shape: (m, d); uint8 if the rows are, else empty
    is_bytes: Flags  # shape: (m,); whether that is the query


class Manhattan(Index):
    """Dense rows with group sums."""

    method = "manhattan"

    def __init__(self, X: Any) -> None:
        self._coding = coding = _choose_coding(X)
        codes, self._reach = _all_codes(X, coding)
        if not self._reach < HUGE:
            self._coding = coding = coding._replace(levels=[])
            codes, self._reach = _all_codes(X, coding)
        order = cells_of(codes, LANES).order if codes.shape[1] else np.arange(len(codes))
        blocks = blocks_of(codes, order)
        self._centres = blocks_of(blocks.mean(axis=2).astype(np.uint16))
        self._rows = CodedRows(X, order, blocks, coding.ends, coding.slacks, 1.0 / coding.unit)
        self.nbytes = int(blocks.nbytes + self._centres.nbytes + order.nbytes)

    def answer(self, search: Search) -> Neighbors:
        X, count, coding = self._rows.X, len(self._rows.blocks), self._coding
        m, d = search.Q.shape
        size = max(1, min(QUERIES, -(-m // search.threads)))
        most = max(1, min(count, MOST_SEEDS, CHUNK // (QUERIES * LANES * max(d, 1))))
        seeds = min(max(SEEDS, search.k // 4), most)

        def scan(some: slice, heaps: Neighbors, monitor: FitMonitor) -> None:
            if monitor.should_stop():
                return
            Q = search.Q[some]
            codes, reaches = _codes(Q, coding)
            with np.errstate(over="ignore"):  # what rounding may do to sums of d terms
                spare = (d + 4) * 2.0**-52 * (self._reach + reaches) / coding.unit
            own = Q, search.skip[some], codes * REPEAT_16_BITS, spare
            queries = CodedQueries(*own, *_as_bytes(X, Q))
            done = np.zeros((len(codes), count), np.bool_)
            _seed(self._rows, self._centres, queries, seeds, done, heaps)
            first = 0
            while first < count and not monitor.should_stop():
                first = _scan(self._rows, queries, done, first, CHUNK, heaps)

        return search.in_groups(scan, size)


def _choose_coding(X: Any) -> GroupCoding:
    """Levels of groups of columns and a unit, from a sample."""
    n, d = X.shape
    sample = X[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sample.mean(axis=0)
        S = sample - centre
        top = d * np.abs(S).max()
    if n < 2 or not 1.0 / HUGE < top < HUGE:
        return GroupCoding(centre, 1.0, [])
    scale = 2.0 ** -np.ceil(np.log2(top))  # squares of tiny or huge numbers do not fit
    S *= scale
    trials = np.linspace(0, len(S) - 1, min(len(S), TRIALS)).astype(np.intp)
    gaps = cdist(S[trials], S, "cityblock")
    gaps[np.arange(len(trials)), trials] = np.inf
    radius = gaps.min(axis=1)
    typical = np.quantile(radius, 0.9) or gaps[np.isfinite(gaps)].mean() or 1.0
    unit = max(2.0 ** np.ceil(np.log2(4.0 * typical / NO_LIMIT)), FINEST)
    row_cost = 50.0 + (0.2 if X.dtype == np.uint8 else 0.5) * d
    if n > SAMPLE:
        radius *= NEARER
    return GroupCoding(centre, unit / scale, _levels(S, trials, radius, unit, row_cost))


def _levels(S: Matrix, trials: Codes, radius: Vector, unit: float, row_cost: float) -> list[Groups]:
    """The one or two levels with the least estimated time; none if no bound helps.

    What passes a level is the share of rows whose bounds do not exceed the radius of a trial row.
    """
    d = S.shape[1]
    steps = merge_columns(S)
    options, passing = [], []
    for g in (*(size for size in SIZES if size < d), d):
        groups = steps.groups(d, g)
        sums = group_sums(S, groups)
        widest = np.argsort(-np.abs(sums).sum(axis=0), kind="stable")  # they soon decide
        options.append(Groups(np.argsort(widest)[groups.labels], groups.signs, g))
        near = cdist(sums[trials], sums, "cityblock") <= radius[:, np.newaxis] + g * unit
        passing.append((near.sum() - len(trials)) / max(near.size - len(trials), 1))
        if passing[-1] * row_cost < 0.1 * GROUP_COST * g:
            break  # more groups have next to nothing to gain
    best: list[Groups] = []
    least = row_cost
    for fine in range(len(options)):
        alone = GROUP_COST * options[fine].size
        for coarse in range(fine + 1):
            cost = passing[fine] * row_cost + alone
            if coarse < fine:
                if options[coarse].size + options[fine].size > d:
                    continue
                cost += GROUP_COST * options[coarse].size
                cost -= (1.0 - min(1.0, ALIKE * passing[coarse])) * alone
            if cost < least:
                best, least = [options[at] for at in sorted({coarse, fine})], cost
    return best


def _all_codes(X: Any, coding: GroupCoding) -> tuple[Any, float]:
    """Codes of all rows, and the largest reach."""
    codes, reach = np.empty((len(X), coding.ends[-1]), np.uint16), 0.0
    for rows in row_blocks(len(X), CODED):
        codes[rows], reaches = _codes(X[rows], coding)
        reach = max(reach, float(reaches.max()))
    return codes, reach


def _codes(X: Any, coding: GroupCoding) -> tuple[Any, Vector]:
    """Group sums in units, (n, words), and the sum of all |x - centre| of each row.

    Where that is huge it is called infinite: such rows and queries have no codes.
    """
    codes = np.zeros((len(X), coding.ends[-1]), np.uint64)
    reaches = np.zeros(len(X))
    for groups, start in zip(coding.levels, coding.ends[:-1], strict=True):
        _code(X, coding.centre, groups, 1.0 / coding.unit, codes, start, reaches)
    return codes, reaches


def _as_bytes(X: Any, Q: Matrix) -> tuple[Any, Flags]:
    """Queries as bytes, if rows are bytes too; and which queries are the same as bytes."""
    if X.dtype != np.uint8:
        return np.empty((0, 0), np.uint8), np.zeros(len(Q), np.bool_)
    clipped = np.clip(Q, 0.0, 255.0).astype(np.uint8)
    return clipped, (clipped == Q).all(axis=1)


@njit(cache=True, nogil=True)
def _code(
    X: Any, centre: Vector, groups: Groups, inverse: float, codes: Any, start: int, reaches: Vector
) -> None:
    labels, signs, g = groups
    sums = np.empty(g)
    for i in range(X.shape[0]):
        sums[:] = 0.0
        reach = 0.0
        for j in range(X.shape[1]):
            gap = np.float64(X[i, j]) - centre[j]
            sums[labels[j]] += signs[j] * gap
            reach += abs(gap)
        reaches[i] = reach if reach < HUGE else np.inf
        if reach < HUGE:
            for b in range(g):
                codes[i, start + b] = np.uint64(
                    min(max(sums[b] * inverse + (TOP + 1) // 2, 0.0), TOP)
                )


@njit(cache=True, nogil=True)
def _seed(
    coded: CodedRows, centres: Any, queries: CodedQueries, count: int, done: Flags, heaps: Neighbors
) -> None:
    """Scan the blocks with the nearest centres first, and their rows with the least bounds first."""
    blocks, ends, codes = coded.blocks, coded.ends, queries.codes
    m, levels = codes.shape[0], len(coded.slacks)
    gaps, nearest = np.full((m, count), np.inf), np.full((m, count), blocks.shape[0])
    near = Neighbors(gaps, nearest)
    sums, masks = np.zeros((count, LANES), np.uint16), np.full(count, ~np.uint64(0))
    for c in range(centres.shape[0]):
        for i in range(m):
            mask = ~np.uint64(0)
            if levels > 0:
                mask = abs_difference_mask(
                    centres, c, codes, i, 0, ends[1], sums, 0, _limit(gaps[i, 0], 1.0, 0.0)
                )
            while mask != 0:
                lane = first_bit(mask)
                mask &= mask - np.uint64(1)
                if c * LANES + lane < blocks.shape[0]:
                    enter(near, i, np.float64(sums[0, lane]), c * LANES + lane)
    for i in range(m):
        for s in range(count):
            done[i, nearest[i, s]] = True
            masks[s] = ~np.uint64(0)
            if levels > 0:
                start, stop = ends[levels - 1], ends[levels]
                abs_difference_mask(
                    blocks, nearest[i, s], codes, i, start, stop, sums, s, np.uint16(NO_LIMIT)
                )
        for limit in (_seed_limit(sums, heaps.rows.shape[1]), np.uint16(NO_LIMIT)):
            for s in range(count):
                masks[s], _ = _verify(
                    coded, queries, i, nearest[i, s], masks[s], sums[s], limit, heaps
                )


@njit(cache=True, nogil=True)
def _scan(
    coded: CodedRows, queries: CodedQueries, done: Flags, first: int, work: int, heaps: Neighbors
) -> Any:
    """Scan blocks from `first` on until that much work is done; returns the next block."""
    blocks, ends, slacks, inverse = coded.blocks, coded.ends, coded.slacks, coded.inverse
    codes, spare, distances = queries.codes, queries.spare, heaps.distances
    m, levels = codes.shape[0], len(slacks)
    sums = np.zeros((1, LANES), np.uint16)
    own_sums = sums[0]
    while first < blocks.shape[0] and work > 0:
        last = min(first + 2, blocks.shape[0])
        for i in range(m):
            for b in range(first, last):
                if done[i, b]:
                    continue
                mask = ~np.uint64(0)
                for level in range(levels):
                    limit = _limit(distances[i, 0], inverse, spare[i] + slacks[level])
                    start, stop = ends[level], ends[level + 1]
                    mask &= abs_difference_mask(blocks, b, codes, i, start, stop, sums, 0, limit)
                    if mask == 0:
                        break
                if mask != 0:
                    _, checked = _verify(
                        coded, queries, i, b, mask, own_sums, np.uint16(NO_LIMIT), heaps
                    )
                    work -= checked * coded.X.shape[1]
        work -= m * 2 * LANES * codes.shape[1] // 8
        first = last
    return first


@njit(cache=True, nogil=True)
def _limit(distance: float, inverse: float, spare: float) -> Any:
    """The largest bound, in units, of a row that may be as near as that."""
    limit = distance * (1.0 + 1e-9) * inverse + spare
    return np.uint16(limit) if limit < NO_LIMIT else np.uint16(NO_LIMIT)


@njit(cache=True, nogil=True)
def _seed_limit(sums: Vector, k: int) -> Any:
    """A bound that about k rows keep: they are likely to be near."""
    if k > sums.shape[0]:
        ranked = np.sort(sums.ravel())
        return ranked[min(k, len(ranked)) - 1]
    limit = np.uint16(0)  # one row of every block is enough
    for s in range(sums.shape[0]):
        limit = max(limit, sums[s].min())
    return limit


@njit(cache=True, nogil=True)
def _verify(
    coded: CodedRows,
    queries: CodedQueries,
    i: int,
    b: int,
    mask: Any,
    sums: Vector,
    cap: Any,
    heaps: Neighbors,
) -> Any:
    """Compute exact distances of rows whose bounds allow it; returns the mask of the others and a count."""
    X, order, slacks, inverse = coded.X, coded.order, coded.slacks, coded.inverse
    distances, skip, is_bytes = heaps.distances, queries.skip[i], queries.is_bytes[i]
    Q, own_bytes = queries.Q, queries.bytes
    checked = 0
    left = mask
    slack = queries.spare[i] + (slacks[-1] if len(slacks) > 0 else 0.0)
    limit = min(cap, _limit(distances[i, 0], inverse, slack))
    while mask != 0:
        lane = first_bit(mask)
        bit = mask & (~mask + np.uint64(1))
        mask ^= bit
        at = b * LANES + lane
        if sums[lane] > limit:
            continue
        left ^= bit
        if at >= X.shape[0] or order[at] == skip:
            continue
        row = order[at]
        checked += 1
        if is_bytes:
            distance = _byte_distance(X, row, own_bytes, i, distances[i, 0])
        else:
            distance = absolute_distance(X, row, Q, i, distances[i, 0])
        if enter(heaps, i, distance, row):
            limit = min(cap, _limit(distances[i, 0], inverse, slack))
    return left, checked


@njit(cache=True, nogil=True)
def _byte_distance(X: Any, row: int, Q: Any, i: int, limit: float) -> float:
    row, i, d = uintp(row), uintp(i), X.shape[1]
    total = 0
    for start in range(0, d, STEP):
        total += _byte_sizes(X, row, Q, i, start, min(STEP, d - start))
        if total > limit:
            break
    return np.float64(total)


@njit(cache=True, nogil=True)
def _byte_sizes(X: Any, row: int, Q: Any, i: int, start: int, count: int) -> Any:
    # written so that 16 bytes become one instruction
    total = np.int32(0)
    for j in range(count):
        at = uintp(start + j)
        gap = np.int32(np.int32(X[row, at]) - np.int32(Q[i, at]))
        total = np.int32(total + (gap if gap >= 0 else np.int32(-gap)))
    return total
