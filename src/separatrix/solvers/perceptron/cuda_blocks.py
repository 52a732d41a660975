"""Blocks of examples that many kernel perceptrons meet at the same time, on one device.

What the fits share lies in tables on the device; a block is met by Triton's programs, or without Triton
by the compiled scan of `kernel_perceptron.py` on CPU tensors. Either writes a log: keys that sort
it by fit, position and problem, then problems, rows and corrections.

Symbols: F fits, P problems, S scores (F, P, n).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import triton

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, as_tensor
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron import triton as programs
from separatrix.solvers.perceptron.kernel_perceptron import Scan, add_rows
from separatrix.types import Codes, Matrix, Signs, Vector

Tensor = Any
BLOCK = 2048  # examples that one problem meets at once: with more, fewer programs fit a card
CELLS = 8192  # scores of a block that one program of all classes has in registers
BLOCKS_OF_CLASSES = (16, 1024)  # fewest and most examples of such a block
TILE = 1024  # examples of a block when the Gram is not whole: a tile of this many squared
WARPS = 8
ADDED = {"EVENTS": 8, "WIDTH": 512, "num_warps": 4}  # rows and columns added at a time
AHEAD = 4  # blocks that may wait for the card before the clock is looked at


class Examples(NamedTuple):
    """What fits can learn from; a row of the Gram may be more than one example."""

    rows: Codes  # shape: (e,); rows of the Gram
    codes: Codes  # shape: (e,); class, or for signs the row of `sides`
    rates: Matrix  # shape: (2, e); size of a correction, added and taken off


class State:
    """What the fits share on the device: their examples, orders, scores, and the log of a pass."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], rule: str
    ) -> None:
        self.gram, self.device, self.by_argmax = gram, gram.device, rule == "argmax"
        self.n, self.n_fits, self.n_problems = gram.shape[0], len(runs), sides.shape[1]
        self.width = max(len(run) for run in runs)
        self.padded = triton.next_power_of_2(max(2, self.n_problems))  # scores in registers
        self.keys_of_an_example = 2 if self.by_argmax else self.n_problems
        self.keys_of_a_fit = self.width * self.keys_of_an_example
        padded = np.zeros((self.n_fits, self.width), dtype=np.int32)
        for number, run in enumerate(runs):
            padded[number, : len(run)] = run
        self.runs = self._there(padded)
        self.S = torch.zeros(
            (self.n_fits, self.n_problems, self.n), dtype=torch.float64, device=self.device
        )
        self.wrong = torch.zeros(padded.shape, dtype=torch.int8, device=self.device)
        self.met = self.runs
        self.block = self._block()

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        """A new pass of the fits that go on, each in its order."""
        if orders is not None:
            order, which = (self._there(part) for part in orders)
            self.met = self.runs.gather(1, order[which])
        self.wrong.zero_()

    def meet(self, start: int) -> None:
        """One block of every fit that goes on."""
        raise NotImplementedError

    def end(self, keep: bool) -> tuple[Codes, tuple[Tensor, ...] | None]:
        """Examples that each fit mistook in this pass, and the log where it is to be kept."""
        raise NotImplementedError

    def no_events(self) -> tuple[Tensor, ...]:
        """An empty log."""
        types = (torch.int64, torch.int32, torch.int32, torch.float64)
        return tuple(torch.empty(0, dtype=dtype, device=self.device) for dtype in types)

    def _block(self) -> int:
        most = BLOCK
        if self.by_argmax:
            fewest, most = BLOCKS_OF_CLASSES
            most = min(max(CELLS // self.padded, fewest), most)
        return most if self.gram.whole else min(most, TILE)

    def _there(self, values: Any) -> Tensor:
        return as_tensor(values, self.device)

    def _chunks(self, rows: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Storage and places of rows, none twice, so many as have room; -1 for all others."""
        for part in row_blocks(len(rows), self.gram.room):
            storage, where = self.gram.at_hand(rows[part])
            places = torch.full((self.n,), -1, dtype=torch.int32, device=self.device)
            places[rows[part]] = where[rows[part]]
            yield storage, places


class OnCard(State):
    """By Triton's programs."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], rule: str
    ) -> None:
        super().__init__(gram, examples, sides, runs, rule)
        self.rows = self._there(examples.rows.astype(np.int32))
        self.codes = self._there(examples.codes.astype(np.int32))
        self.rates = self._there(np.ascontiguousarray(examples.rates, dtype=np.float64))
        self.sides = self._there(np.ascontiguousarray(sides, dtype=np.int8))
        self.lengths = self._there(np.array([len(run) for run in runs], dtype=np.int32))
        room = self.n_fits * self.width * events_of_an_example(sides, rule)
        self.log = tuple(
            torch.empty(room, dtype=part.dtype, device=self.device) for part in self.no_events()
        )
        lists = self.n_fits * (1 if self.by_argmax else self.n_problems)
        self.first = torch.zeros(lists, dtype=torch.int64, device=self.device)
        self.counts = torch.zeros(lists, dtype=torch.int32, device=self.device)
        self.cursor = torch.zeros(1, dtype=torch.int64, device=self.device)
        self._waiting: deque[Any] = deque()

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        """A new pass of the fits that go on, each in its order."""
        super().begin(live, orders)
        self.live = self._there(live.astype(np.int32))
        self.cursor.zero_()

    def meet(self, start: int) -> None:
        """One block of every fit that goes on: scanned, then its mistakes are added to all scores."""
        if self.gram.whole:
            storage, where = self.gram.at_hand(None)
            self._scan(storage, where, start)
            self._add(storage, where)
        else:
            before = int(self.cursor.item())
            self._scan(self._tiles(start), None, start)
            rows = torch.unique(self.log[2][before : int(self.cursor.item())].long())
            for storage, where in self._chunks(rows):
                self._add(storage, where)
        self._wait()

    def end(self, keep: bool) -> tuple[Codes, tuple[Tensor, ...] | None]:
        """Examples that each fit mistook in this pass, and the log where it is to be kept."""
        *wrong, count = as_numpy(
            torch.cat([self.wrong.sum(dim=1, dtype=torch.int64), self.cursor])
        ).tolist()
        self._waiting.clear()
        return wrong, tuple(part[:count].clone() for part in self.log) if keep else None

    def _scan(self, K: Tensor, where: Tensor | None, start: int) -> None:
        tiled = where is None
        tables = (K, self.live if where is None else where, self.S, self.met, self.rows, self.codes)
        state = (
            self.live,
            self.lengths,
            self.wrong,
            *self.log,
            self.cursor,
            self.first,
            self.counts,
        )
        stride = self.block if tiled else K.stride(0)
        sizes = (start, self.n, self.width, self.n_problems, len(self.rows), stride)
        shape = {"BLOCK": self.block, "TILED": tiled, "num_warps": WARPS}
        if self.by_argmax:
            grid: tuple[int, ...] = (len(self.live),)
            programs.scan_argmax[grid](
                *tables, self.rates, *state, *sizes, CLASSES=self.padded, **shape
            )
        else:
            grid = (self.n_problems * len(self.live),)  # only the first of three may be large
            programs.scan_signs[grid](*tables, self.sides, self.rates, *state, *sizes, **shape)

    def _add(self, K: Tensor, where: Tensor) -> None:
        grid = (self.n_problems * -(-self.n // ADDED["WIDTH"]), len(self.live))
        lists = (*self.log[1:], self.first, self.counts)
        sizes = (self.n, self.n_problems, K.stride(0), 0 if self.by_argmax else 1)
        programs.add_rows[grid](K, where, self.S, self.live, *lists, *sizes, **ADDED)

    def _tiles(self, start: int) -> Tensor:
        """Kernel values among the examples of each fit's block, (live fits, block, block)."""
        size = self.block
        tiles = torch.zeros(
            (len(self.live), size, size), dtype=self.gram.storage.dtype, device=self.device
        )
        lengths = as_numpy(self.lengths[self.live])
        for turn, fit in enumerate(as_numpy(self.live).tolist()):
            stop = min(start + size, int(lengths[turn]))
            if start < stop:
                rows = self.rows[self.met[fit, start:stop].long()].long()
                tiles[turn, : stop - start, : stop - start] = self.gram.tile(rows, rows)
        return tiles

    def _wait(self) -> None:
        """Until the card is not too far behind: the clock is looked at, and Ctrl-C comes through."""
        if self.device.type == "cuda":
            mark = torch.cuda.Event()
            mark.record()
            self._waiting.append(mark)
            if len(self._waiting) > AHEAD:
                self._waiting.popleft().synchronize()


class Here(State):
    """By the compiled scan on CPU tensors, one fit after the other."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], rule: str
    ) -> None:
        super().__init__(gram, examples, sides, runs, rule)
        targets = np.zeros((len(examples.rows), self.n_problems), dtype=np.int8)
        targets = targets if self.by_argmax else sides[examples.codes]
        self.scan = Scan(Problems(examples.rows, targets, examples.codes), rule, examples.rates)
        self.lengths = [len(run) for run in runs]
        self.places = np.full(examples.rows.shape, -1)
        self._events: list[tuple[Any, ...]] = []

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        """A new pass of the fits that go on, each in its order."""
        super().begin(live, orders)
        self.live = live.tolist()
        self._events = []

    def meet(self, start: int) -> None:
        """One block of every fit that goes on."""
        for fit in self.live:
            stop = min(start + self.block, self.lengths[fit])
            if start < stop:
                examples = self.met[fit, start:stop].numpy().astype(np.intp)
                at, columns, deltas = self._scanned(self.S[fit].numpy(), examples)
                self.wrong[fit, start + at] = 1
                rows = self.scan.rows[examples[at]]
                order = np.arange(len(at)) % 2 if self.by_argmax else columns
                keys = (fit * self.width + start + at) * self.keys_of_an_example + order
                self._events.append((keys, columns.astype(np.int32), rows.astype(np.int32), deltas))

    def end(self, keep: bool) -> tuple[Codes, tuple[Tensor, ...] | None]:
        """Examples that each fit mistook in this pass, and the log where it is to be kept."""
        wrong = self.wrong.sum(dim=1, dtype=torch.int64).numpy()
        if not keep or not self._events:
            return wrong, self.no_events() if keep else None
        parts = (np.concatenate(part) for part in zip(*self._events, strict=True))
        return wrong, tuple(torch.as_tensor(part) for part in parts)

    def _scanned(self, S: Matrix, examples: Codes) -> tuple[Codes, Codes, Vector]:
        """The mistakes of a block, after which S, (p, n), is up to date."""
        rows = self.scan.rows
        if self.gram.whole:
            return self._advance(self.gram.storage.numpy(), S, rows, examples)
        index = torch.as_tensor(rows[examples])
        self.places[examples] = np.arange(len(examples))
        tile = self.gram.tile(index, index).contiguous().numpy()
        events = self._advance(tile, S[:, rows[examples]], self.places, examples)
        met = rows[examples[events[0]]]
        for storage, where in self._chunks(torch.as_tensor(np.unique(met))):
            slots = where.numpy()[met].astype(np.intp)
            at_hand = slots >= 0
            found = (slots[at_hand], events[1][at_hand], events[2][at_hand])
            add_rows(S, storage.numpy(), 0, self.n, *found)
        return events

    def _advance(
        self, K: Matrix, S: Matrix, places: Codes, examples: Codes
    ) -> tuple[Codes, Codes, Vector]:
        log, position, parts = self.scan.log(S.shape[1]), 0, []
        while position < len(examples):
            position, events = self.scan.advance(K, places, S, places, examples, position, log)
            parts.append(events)
        at, columns, deltas = (np.concatenate(part) for part in zip(*parts, strict=True))
        return at, columns, deltas


def events_of_an_example(sides: Signs, rule: str) -> int:
    """Corrections that one example can make in a pass, at most."""
    return 2 if rule == "argmax" else max(1, int(np.count_nonzero(sides, axis=1).max()))
