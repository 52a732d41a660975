"""Neighbours on a device: a product of low precision leaves few rows to measure, for many queries at once.

A tile of queries is multiplied with all rows (`screens.py`). The rows with the lowest scores are measured,
in float64 and summed in the order that `metrics.py` has, so that the answer is that of every other way of
searching, to the last bit. The k-th of them is a limit for the scores: where all other rows are above it
the query is done, and where some are not, those are measured too. That is the end in any case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from separatrix.errors import MemoryBudgetError
from separatrix.runtime.blocks import MEBIBYTE, in_words, row_blocks, rows_that_fit
from separatrix.runtime.device import as_tensor, device_name, free_bytes, is_tensor
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.simd import SUMS
from separatrix.solvers.nearest.low_precision import (
    GROUP,
    LowPrecisionFilter,
    bytes_of_screen,
    whole_scale,
)
from separatrix.solvers.nearest.metrics import CHUNK
from separatrix.solvers.nearest.ranking import NOBODY, Neighbors
from separatrix.types import Codes

FEW, MORE = 3, 11  # rows to measure besides the k nearest by score: of whole numbers, and others
SCORE_BYTES = 2048 * MEBIBYTE  # of a tile
GAP_BYTES = 1024 * MEBIBYTE  # of differences that are measured at a time
AGAIN = 8  # the part of a tile whose scores are looked through a second time


class TensorNeighbors(NamedTuple):
    """`Neighbors` as tensors."""

    squares: Any  # shape: (m, k)
    rows: Any  # shape: (m, k)


class GpuIndex:
    """Rows X, (n, d), of uint8, float32 or float64, NumPy's or torch's, on a torch device; Euclidean."""

    method = "gpu"

    def __init__(self, X: Any, device: Any) -> None:
        n, d = X.shape
        there = is_tensor(X) and device_name(X) == str(device)
        needed = (0 if there else n * d * X.dtype.itemsize) + bytes_of_screen(n, d)
        free = free_bytes(device)
        if needed > free:
            raise MemoryBudgetError(
                f"a search of {n} x {d} rows takes {in_words(needed)} on {device}, which has "
                f"{in_words(free)} free; search fewer rows, or use device='cpu'"
            )
        self._device = device
        self._given, self._X = X, on_device(X, device)
        self._n, self._d = n, d
        whole = whole_scale(self._X)
        self._screens = {whole is not None: LowPrecisionFilter(self._X, whole)}

    @property
    def nbytes(self) -> int:
        """Bytes on the device besides the rows."""
        return sum(screen.held for screen in self._screens.values())

    def nearest(
        self, Q: Any, k: int, skip: Codes, *, threads: int, monitor: FitMonitor | None = None
    ) -> Neighbors:
        """The k nearest rows of each query; see `Index`. Q is of uint8, float32 or float64."""
        monitor = monitor or FitMonitor()
        Q = self._X if Q is self._given else on_device(Q, self._device)
        screen = self._screen(Q)
        own = on_device(skip, self._device)
        found = _nobody(len(Q), k, self._device)
        room = free_bytes(self._device)
        for part in row_blocks(len(Q), self._queries_at_once(len(Q), k, room // 4)):
            if monitor.should_stop():
                break
            queries = Q[part].double()
            tile = _Tile(self._X, screen, queries, own[part], min(GAP_BYTES, room // 8))
            found.squares[part], found.rows[part] = tile.nearest(k, monitor)
            monitor.step()
        return Neighbors(found.squares.cpu().numpy(), found.rows.cpu().numpy())

    def _screen(self, Q: Any) -> LowPrecisionFilter:
        """Whole numbers are screened as such; other queries have the rows in float32 made for them."""
        if True in self._screens and len(Q) and self._screens[True].suits(Q):
            return self._screens[True]
        if False not in self._screens:
            self._screens[False] = LowPrecisionFilter(self._X, None)
        return self._screens[False]

    def _queries_at_once(self, m: int, k: int, room: int) -> int:
        """Queries of a tile; all tiles are about as large."""
        n = self._n + GROUP
        count = min(k + MORE, n)
        query = 4 * (n + min(GROUP * count, n)) + 48 * count + 40 * self._d
        size = rows_that_fit(query, min(SCORE_BYTES, room), most=m)
        return -(-m // -(-m // size)) if m else 1


class _Tile:
    """Some queries, float64, and all rows."""

    def __init__(self, X: Any, screen: LowPrecisionFilter, Q: Any, own: Any, room: int) -> None:
        self._X, self._screen, self._Q, self._own = X, screen, Q, own
        self._pairs_at_once = rows_that_fit(24 * X.shape[1], room)

    def nearest(self, k: int, monitor: FitMonitor) -> TensorNeighbors:
        """The k nearest rows of each, by squared distance and number."""
        asked = self._screen.asked(self._Q)
        S = self._screen.scores(asked)
        rows, beyond = lowest_scores(S, k + (FEW if self._screen.whole else MORE))
        rows = rows.sort(dim=1).values
        squares, order = self._apart(rows).sort(dim=1, stable=True)
        found = TensorNeighbors(squares[:, :k].contiguous(), rows.gather(1, order[:, :k]))
        limits = self._screen.limits(asked, found.squares[:, -1])
        unsure = (beyond <= limits).nonzero().flatten()
        for part in row_blocks(len(unsure), max(1, len(S) // AGAIN)):
            if monitor.should_stop():
                return _nobody(len(S), k, S.device)
            some = unsure[part]
            inside = S[some, : len(self._X)] <= limits[some, None]
            found.squares[some], found.rows[some] = self._among(inside, some, k)
        return found

    def _apart(self, rows: Any) -> Any:
        """Squared distances of each query to its rows, (m, rows); infinite where there is no such row."""
        out = torch.empty(rows.shape, dtype=torch.float64, device=rows.device)
        for part in row_blocks(len(rows), max(1, self._pairs_at_once // rows.shape[1])):
            X = self._X[rows[part].clamp(max=len(self._X) - 1)]
            out[part] = in_order(self._Q[part, None] - X)
        return out.masked_fill_((rows >= len(self._X)) | (rows == self._own[:, None]), torch.inf)

    def _among(self, inside: Any, queries: Any, k: int) -> TensorNeighbors:
        """The k nearest of the rows that are marked for some queries, (m, n)."""
        found = _nobody(len(queries), k, inside.device)
        counts = inside.sum(dim=1)
        for part in row_blocks(len(queries), max(1, self._pairs_at_once // int(counts.max()))):
            who, rows = inside[part].nonzero(as_tuple=True)  # rows of a query ascend
            asking = queries[part][who]
            squares = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
            for pairs in row_blocks(len(rows), self._pairs_at_once):
                squares[pairs] = in_order(self._Q[asking[pairs]] - self._X[rows[pairs]])
            squares.masked_fill_(rows == self._own[asking], torch.inf)
            order = squares.argsort(stable=True)
            order = order[who[order].argsort(stable=True)]
            ends = counts[part].cumsum(0)
            first = (ends - counts[part])[:, None] + torch.arange(k, device=rows.device)
            best = order[first.clamp(max=len(order) - 1)]
            there = first < ends[:, None]
            found.squares[part] = squares[best].masked_fill_(~there, torch.inf)
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
    minima = groups.amin(dim=2)
    best = minima.topk(min(count, n // GROUP), dim=1, largest=False, sorted=False).indices
    near = groups.gather(1, best[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    values, positions = near.topk(count, dim=1, largest=False, sorted=False)
    return best.gather(1, positions // GROUP) * GROUP + positions % GROUP, values.amax(dim=1)


def in_order(gaps: Any) -> Any:
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
    there = array.to(device) if is_tensor(array) else as_tensor(array, device)
    return there.contiguous()


def _nobody(m: int, k: int, device: Any) -> TensorNeighbors:
    squares = torch.full((m, k), torch.inf, dtype=torch.float64, device=device)
    return TensorNeighbors(squares, torch.full((m, k), NOBODY, device=device))
