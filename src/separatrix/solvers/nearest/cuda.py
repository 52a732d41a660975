"""Neighbours on a GPU: a low-precision product selects few rows for exact distances.

A tile of queries is multiplied with all rows (`low_precision.py`). The rows with the lowest scores get
exact distances, in float64 and summed in the order of `metrics.py`, so that the result equals that of
every other method to the last bit. The k-th distance is a limit for the scores: a query is done if all
other rows are above it; otherwise those below get exact distances too.
"""

from __future__ import annotations

from typing import Any

import torch

from separatrix.errors import MemoryBudgetError
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.runtime.device import (
    as_numpy,
    as_tensor,
    copied,
    device_name,
    free_bytes,
    is_tensor,
    runs_triton,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import CHUNK, SUMS
from separatrix.solvers.nearest.groups import Index, Search
from separatrix.solvers.nearest.low_precision import (
    GROUP,
    LowPrecisionFilter,
    filter_bytes,
    whole_scale,
)
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors

EXTRA_INTEGER, EXTRA = 3, 11  # candidates besides the k lowest scores: integer rows, others
SCORE_BYTES = 8192 * MEBIBYTE  # of a tile
GAP_BYTES = 1024 * MEBIBYTE  # of differences computed at a time
AGAIN = 8  # parts of a tile in the second pass over its scores


class GpuIndex(Index):
    """Rows X, (n, d), of uint8, float32 or float64, NumPy's or torch's, on a torch device; Euclidean."""

    method = "gpu"

    def __init__(self, X: Any, device: Any) -> None:
        n, d = X.shape
        on_it = is_tensor(X) and device_name(X) == str(device)
        needed = (0 if on_it else n * d * X.dtype.itemsize) + filter_bytes(n, d)
        free = free_bytes(device)
        if needed > free:
            raise MemoryBudgetError(
                f"a search of {n} x {d} rows takes {in_words(needed)} on {device}, which has "
                f"{in_words(free)} free; search fewer rows, or use device='cpu'"
            )
        self._device = device
        self._given, self._X = X, on_device(X, device)
        self._n, self._d = n, d
        self._filters: dict[bool, LowPrecisionFilter] = {}
        self._add_filter(whole_scale(self._X))

    def answer(self, search: Search) -> Neighbors:
        """The k nearest rows of each query, of uint8, float32 or float64."""
        k, monitor = search.k, search.monitor
        Q = self._X if search.Q is self._given else on_device(search.Q, self._device)
        filter_ = self._filter_for(Q)
        own = on_device(search.skip, self._device)
        found = _no_neighbors(len(Q), k, self._device)
        free = free_bytes(self._device)
        for part in row_blocks(len(Q), self._queries_at_once(len(Q), k, free // 4)):
            if monitor.should_stop():
                break
            queries = Q[part].double()
            tile = _Tile(self._X, filter_, queries, own[part], min(GAP_BYTES, free // 8))
            found.distances[part], found.rows[part] = tile.nearest(k, monitor)
            monitor.step()
        return Neighbors(as_numpy(found.distances), as_numpy(found.rows))

    def _filter_for(self, Q: Any) -> LowPrecisionFilter:
        """The integer filter if the queries suit it; else one in float32, built on first use."""
        if True in self._filters and len(Q) and self._filters[True].suits(Q):
            return self._filters[True]
        if False not in self._filters:
            self._add_filter(None)
        return self._filters[False]

    def _add_filter(self, whole: float | None) -> None:
        self._filters[whole is not None] = added = LowPrecisionFilter(self._X, whole)
        self.nbytes += added.nbytes

    def _queries_at_once(self, m: int, k: int, budget: int) -> int:
        """Queries of a tile; all tiles have about the same size."""
        n = self._n + GROUP
        count = min(k + EXTRA, n)
        query = 4 * (n + min(GROUP * count, n)) + 48 * count + 40 * self._d
        size = rows_that_fit(query, min(SCORE_BYTES, budget), most=m)
        return -(-m // -(-m // size)) if m else 1


class _Tile:
    """Some queries, float64, and all rows."""

    def __init__(self, X: Any, filter_: LowPrecisionFilter, Q: Any, own: Any, budget: int) -> None:
        self._X, self._filter, self._Q, self._own = X, filter_, Q, own
        self._pairs_at_once = rows_that_fit(24 * X.shape[1], budget)

    def nearest(self, k: int, monitor: FitMonitor) -> Neighbors:
        """The k nearest rows of each, by squared distance and number."""
        queries = self._filter.prepare(self._Q)
        S = self._filter.scores(queries)
        rows, beyond = lowest_scores(S, k + (EXTRA_INTEGER if self._filter.whole else EXTRA))
        rows = rows.sort(dim=1).values
        squares, order = self._distances(rows).sort(dim=1, stable=True)
        found = Neighbors(squares[:, :k].contiguous(), rows.gather(1, order[:, :k]))
        limits = self._filter.limits(queries, found.distances[:, -1])
        unsure = (beyond <= limits).nonzero().flatten()
        for part in row_blocks(len(unsure), max(1, len(S) // AGAIN)):
            if monitor.should_stop():
                return _no_neighbors(len(S), k, S.device)
            some = unsure[part]
            inside = S[some, : len(self._X)] <= limits[some, None]
            found.distances[some], found.rows[some] = self._among(inside, some, k)
        return found

    def _distances(self, rows: Any) -> Any:
        """Squared distances of each query to its rows, (m, rows); infinite for padding."""
        out = torch.empty(rows.shape, dtype=torch.float64, device=rows.device)
        for part in row_blocks(len(rows), max(1, self._pairs_at_once // rows.shape[1])):
            X = self._X[rows[part].clamp(max=len(self._X) - 1)]
            out[part] = ordered_sums(self._Q[part, None] - X)
        return out.masked_fill_((rows >= len(self._X)) | (rows == self._own[:, None]), torch.inf)

    def _among(self, inside: Any, queries: Any, k: int) -> Neighbors:
        """The k nearest of the rows that are marked for some queries, (m, n)."""
        found = _no_neighbors(len(queries), k, inside.device)
        counts = inside.sum(dim=1)
        for part in row_blocks(len(queries), max(1, self._pairs_at_once // int(counts.max()))):
            who, rows = inside[part].nonzero(as_tuple=True)  # rows of a query ascend
            owner = queries[part][who]
            squares = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
            for pairs in row_blocks(len(rows), self._pairs_at_once):
                squares[pairs] = ordered_sums(self._Q[owner[pairs]] - self._X[rows[pairs]])
            squares.masked_fill_(rows == self._own[owner], torch.inf)
            order = squares.argsort(stable=True)
            order = order[who[order].argsort(stable=True)]
            ends = counts[part].cumsum(0)
            first = (ends - counts[part])[:, None] + torch.arange(k, device=rows.device)
            best = order[first.clamp(max=len(order) - 1)]
            there = first < ends[:, None]
            found.distances[part] = squares[best].masked_fill_(~there, torch.inf)
            found.rows[part] = rows[best].masked_fill_(~there, NOBODY)
        return found


def lowest_scores(S: Any, count: int) -> tuple[Any, Any]:
    """Places of the lowest scores of each row of S, (m, count), and a value that no other is below, (m,).

    The lowest `count` are in the `count` groups of columns with the lowest minima: each of those has
    one value that is no more than anything in the other groups.
    """
    m, n = S.shape
    if count >= n:
        every = torch.arange(n, device=S.device).expand(m, n)
        return every, torch.full((m,), torch.inf, device=S.device)
    groups = S.view(m, n // GROUP, GROUP)
    minima = _minima(S)
    best = minima.topk(min(count, n // GROUP), dim=1, largest=False, sorted=False).indices
    near = groups.gather(1, best[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    values, positions = near.topk(count, dim=1, largest=False, sorted=False)
    return best.gather(1, positions // GROUP) * GROUP + positions % GROUP, values.amax(dim=1)


def _minima(S: Any) -> Any:
    """The lowest score of each group of columns, (m, n / GROUP)."""
    if not runs_triton(S.device):
        return S.view(len(S), -1, GROUP).amin(dim=2)
    from separatrix.solvers.nearest.triton import group_minima  # needs Triton

    return group_minima(S, GROUP)


def ordered_sums(gaps: Any) -> Any:
    """Sums of the squares of differences, (..., d), which are overwritten; added as `raw_distance` does."""
    T, d = gaps.mul_(gaps), gaps.shape[-1]
    total = torch.zeros(T.shape[:-1], dtype=torch.float64, device=T.device)
    whole = d - d % CHUNK
    pieced = d - d % SUMS  # CHUNK is a multiple of SUMS
    for start, stop, size in ((0, whole, CHUNK), (whole, pieced, pieced - whole)):
        if start == stop:
            continue
        pieces = T[..., start:stop].unflatten(-1, (-1, size // SUMS, SUMS))
        sums = pieces[..., 0, :].clone()
        for piece in range(1, size // SUMS):
            sums += pieces[..., piece, :]
        while sums.shape[-1] > 1:
            half = sums.shape[-1] // 2
            sums = sums[..., :half] + sums[..., half:]
        for chunk in range(sums.shape[-2]):
            total += sums[..., chunk, 0]
    for column in range(pieced, d):
        total += T[..., column]
    return total


def on_device(array: Any, device: Any) -> Any:
    """An array as a contiguous tensor of a device, in its own type."""
    tensor = copied(array, device) if is_tensor(array) else as_tensor(array, device)
    return tensor.contiguous()


def _no_neighbors(m: int, k: int, device: Any) -> Neighbors:
    squares = torch.full((m, k), torch.inf, dtype=torch.float64, device=device)
    return Neighbors(squares, torch.full((m, k), NOBODY, device=device))
