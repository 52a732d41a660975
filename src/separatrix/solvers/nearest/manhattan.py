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
from numba import njit, uintp
from scipy.spatial.distance import cdist

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.simd import (
    LANES,
    PIECE,
    REPEAT_16_BITS,
    abs_difference_mask,
    blocks_of,
    first_bit,
)
from separatrix.solvers.nearest.cells import cells_of
from separatrix.solvers.nearest.columns import Groups, group_sums, merge_columns
from separatrix.solvers.nearest.groups import search_groups
from separatrix.solvers.nearest.metrics import MANHATTAN, raw_distance
from separatrix.solvers.nearest.ranking import Neighbors, enter, no_neighbors
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


class Manhattan:
    """Dense rows with group sums."""

    method = "manhattan"

    def __init__(self, X: Any) -> None:
        self._X = X
        self._coding = _choose_coding(X)
        codes, self._reach = _all_codes(X, self._coding)
        if not self._reach < HUGE:
            self._coding = self._coding._replace(levels=[])
            codes, self._reach = _all_codes(X, self._coding)
        self._order = cells_of(codes, LANES).order if codes.shape[1] else np.arange(len(codes))
        self._blocks = blocks_of(codes, self._order)
        self._centres = blocks_of(self._blocks.mean(axis=2).astype(np.uint16))

    @property
    def nbytes(self) -> int:
        """Bytes of the group sums, and of the order they are in."""
        return int(self._blocks.nbytes + self._centres.nbytes + self._order.nbytes)

    def nearest(
        self, Q: Matrix, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query; see `Index`."""
        found = no_neighbors(len(Q), k)
        d, count, coding = self._X.shape[1], len(self._blocks), self._coding
        size = max(1, min(QUERIES, -(-len(Q) // threads)))
        most = max(1, min(count, MOST_SEEDS, CHUNK // (QUERIES * LANES * max(d, 1))))
        seeds = min(max(SEEDS, k // 4), most)

        def scan(some: slice, monitor: FitMonitor) -> None:
            if monitor.should_stop():
                return
            codes, reaches = _codes(Q[some], coding)
            with np.errstate(over="ignore"):  # what rounding may do to sums of d terms
                spare = (d + 4) * 2.0**-52 * (self._reach + reaches) / coding.unit
            queries = Q[some], *_whole(self._X, Q[some]), codes * REPEAT_16_BITS, spare, skip[some]
            rows = self._X, self._order, self._blocks, coding.ends, coding.slacks, 1.0 / coding.unit
            heaps = found.distances[some], found.rows[some]
            done = np.zeros((len(codes), count), np.bool_)
            _seed(*rows, self._centres, *queries, seeds, done, *heaps)
            first = 0
            while first < count and not monitor.should_stop():
                first = _scan(*rows, *queries, done, first, CHUNK, *heaps)

        search_groups(scan, len(Q), size, found, threads=threads, monitor=monitor)
        return found


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
        _code(X, coding.centre, *groups, 1.0 / coding.unit, codes, start, reaches)
    return codes, reaches


def _whole(X: Any, Q: Matrix) -> tuple[Any, Any]:
    """Queries as bytes, where rows are bytes too; and which queries that leaves as they are."""
    is_whole = np.zeros(len(Q), np.bool_)
    if X.dtype != np.uint8:
        return np.empty((0, 0), np.uint8), is_whole
    whole = np.empty(Q.shape, np.uint8)
    _to_bytes(Q, whole, is_whole)
    return whole, is_whole


@njit(cache=True, nogil=True)
def _to_bytes(Q: Matrix, whole: Any, is_whole: Flags) -> None:
    for i in range(Q.shape[0]):
        strange = 0
        for j in range(Q.shape[1]):
            byte = np.uint8(min(max(Q[i, j], 0.0), 255.0))
            strange += byte != Q[i, j]
            whole[i, j] = byte
        is_whole[i] = strange == 0


@njit(cache=True, nogil=True)
def _code(
    X: Any,
    centre: Vector,
    labels: Codes,
    signs: Vector,
    g: int,
    inverse: float,
    codes: Any,
    start: int,
    reaches: Vector,
) -> None:
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
    X: Any,
    order: Codes,
    blocks: Any,
    ends: Codes,
    slacks: Vector,
    inverse: float,
    centres: Any,
    Q: Matrix,
    whole: Any,
    is_whole: Flags,
    codes: Any,
    spare: Vector,
    skip: Codes,
    count: int,
    done: Flags,
    distances: Matrix,
    rows: Codes,
) -> None:
    """Scan the blocks with the nearest centres first, and their rows with the least bounds first."""
    m, levels = codes.shape[0], len(slacks)
    gaps, nearest = np.full((m, count), np.inf), np.full((m, count), blocks.shape[0])
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
                    enter(gaps, nearest, i, np.float64(sums[0, lane]), c * LANES + lane)
    for i in range(m):
        for s in range(count):
            done[i, nearest[i, s]] = True
            masks[s] = ~np.uint64(0)
            if levels > 0:
                start, stop = ends[levels - 1], ends[levels]
                abs_difference_mask(
                    blocks, nearest[i, s], codes, i, start, stop, sums, s, np.uint16(NO_LIMIT)
                )
        for limit in (_seed_limit(sums, distances.shape[1]), np.uint16(NO_LIMIT)):
            for s in range(count):
                masks[s], _ = _verify(
                    X, order, slacks, inverse, Q, whole, is_whole, spare, skip, i, nearest[i, s],
                    masks[s], sums, s, limit, distances, rows,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def _scan(
    X: Any,
    order: Codes,
    blocks: Any,
    ends: Codes,
    slacks: Vector,
    inverse: float,
    Q: Matrix,
    whole: Any,
    is_whole: Flags,
    codes: Any,
    spare: Vector,
    skip: Codes,
    done: Flags,
    first: int,
    work: int,
    distances: Matrix,
    rows: Codes,
) -> Any:
    """Scan blocks from `first` on until that much work is done; returns the next block."""
    m, levels = codes.shape[0], len(slacks)
    sums = np.zeros((1, LANES), np.uint16)
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
                        X, order, slacks, inverse, Q, whole, is_whole, spare, skip, i, b, mask,
                        sums, 0, np.uint16(NO_LIMIT), distances, rows,
                    )  # fmt: skip
                    work -= checked * X.shape[1]
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
    X: Any,
    order: Codes,
    slacks: Vector,
    inverse: float,
    Q: Matrix,
    whole: Any,
    is_whole: Flags,
    spare: Vector,
    skip: Codes,
    i: int,
    b: int,
    mask: Any,
    sums: Vector,
    position: int,
    cap: Any,
    distances: Matrix,
    rows: Codes,
) -> Any:
    """Compute exact distances of rows whose bounds allow it; returns the mask of the others and a count."""
    checked = 0
    left = mask
    slack = spare[i] + (slacks[-1] if len(slacks) > 0 else 0.0)
    limit = min(cap, _limit(distances[i, 0], inverse, slack))
    while mask != 0:
        lane = first_bit(mask)
        bit = mask & (~mask + np.uint64(1))
        mask ^= bit
        at = b * LANES + lane
        if sums[position, lane] > limit:
            continue
        left ^= bit
        if at >= X.shape[0] or order[at] == skip[i]:
            continue
        row = order[at]
        checked += 1
        if is_whole[i]:
            distance = _whole_distance(X, row, whole, i, distances[i, 0])
        else:
            distance = raw_distance(X, row, Q, i, MANHATTAN, 1.0, distances[i, 0])
        if enter(distances, rows, i, distance, row):
            limit = min(cap, _limit(distances[i, 0], inverse, slack))
    return left, checked


@njit(cache=True, nogil=True)
def _whole_distance(X: Any, row: int, whole: Any, i: int, limit: float) -> float:
    row, i, d = uintp(row), uintp(i), X.shape[1]
    total = 0
    for start in range(0, d, STEP):
        total += _whole_sizes(X, row, whole, i, start, min(STEP, d - start))
        if total > limit:
            break
    return np.float64(total)


@njit(cache=True, nogil=True)
def _whole_sizes(X: Any, row: int, whole: Any, i: int, start: int, count: int) -> Any:
    # written so that 16 bytes become one instruction
    total = np.int32(0)
    for j in range(count):
        at = uintp(start + j)
        gap = np.int32(np.int32(X[row, at]) - np.int32(whole[i, at]))
        total = np.int32(total + (gap if gap >= 0 else np.int32(-gap)))
    return total
