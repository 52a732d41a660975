"""Blocks of examples that many kernel perceptrons scan at the same time, on one device.

Tables on the device hold what the fits share; Triton programs scan a block, or without Triton the
compiled scan of `kernel_perceptron.py` on CPU tensors. Both write a log: keys that sort it by fit,
position and problem, then problems, rows and corrections.

Symbols: F fits, P problems, S scores (F, P, n).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import triton

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, as_tensor
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron import triton as programs
from separatrix.solvers.perceptron.kernel_perceptron import Events, PassRule, Scan, add_rows
from separatrix.types import Codes, Matrix, Signs

Tensor = Any
BLOCK = 2048  # examples that one problem scans at once: with more, fewer programs fit on a GPU
CELLS = 8192  # scores of a block that one program keeps in registers for all classes
BLOCKS_OF_CLASSES = (16, 1024)  # fewest and most examples of such a block
TILE = 1024  # examples of a block when the Gram is not complete: a tile of this many squared
WARPS = 8
ADDED = {"EVENTS": 8, "WIDTH": 512, "num_warps": 4}  # rows and columns added at a time


class Examples(NamedTuple):
    """Examples of all fits; a row of the Gram may be more than one example."""

    rows: Codes  # shape: (e,); rows of the Gram
    codes: Codes  # shape: (e,); class, or for signs the row of `sides`
    rates: Matrix  # shape: (2, e); size of a correction, added and taken off


class BlockState:
    """Examples, orders and scores of all fits on the device, and the log of a pass."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], passes: PassRule
    ) -> None:
        self.gram, self.device, self.by_argmax = gram, gram.device, passes.rule == "argmax"
        self.combine: Any = (
            None if self.by_argmax else passes.combine
        )  # argmax: corrected if misclassified
        self.n, self.n_fits, self.n_problems = gram.shape[0], len(runs), sides.shape[1]
        self.width = max(len(run) for run in runs)
        self.padded = triton.next_power_of_2(max(2, self.n_problems))  # scores in registers
        self.keys_of_an_example = 2 if self.by_argmax else self.n_problems
        self.keys_of_a_fit = self.width * self.keys_of_an_example
        padded = np.zeros((self.n_fits, self.width), dtype=np.int32)
        for number, run in enumerate(runs):
            padded[number, : len(run)] = run
        self.runs = self._to_device(padded)
        shape = (self.n_fits, self.n_problems, self.n)
        self.S = torch.zeros(shape, dtype=torch.float64, device=self.device)
        self.wrong = torch.zeros(padded.shape, dtype=torch.int8, device=self.device)
        self.misclassified = torch.zeros(self.n_fits, dtype=torch.int64, device=self.device)
        self.met = self.runs
        self.block = self._block()

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        if orders is not None:
            order, which = (self._to_device(part) for part in orders)
            self.met = self.runs.gather(1, order[which])
        self.wrong.zero_()
        self.misclassified.zero_()

    def scan_block(self, start: int) -> None:
        raise NotImplementedError

    def end(self, keep: bool) -> tuple[Codes, Codes, tuple[Tensor, ...] | None]:
        """Corrected and misclassified examples of each fit, and the log of the pass."""
        raise NotImplementedError

    def _counts(self) -> tuple[Tensor, Tensor]:
        wrong = self.wrong.sum(dim=1, dtype=torch.int64)
        return wrong, wrong if self.combine is None else self.misclassified

    def no_events(self) -> tuple[Tensor, ...]:
        """An empty log."""
        types = (torch.int64, torch.int32, torch.int32, torch.float64)
        return tuple(torch.empty(0, dtype=dtype, device=self.device) for dtype in types)

    def _block(self) -> int:
        most = BLOCK
        if self.by_argmax:
            fewest, most = BLOCKS_OF_CLASSES
            most = min(max(CELLS // self.padded, fewest), most)
        return most if self.gram.complete else min(most, TILE)

    def _to_device(self, values: Any) -> Tensor:
        return as_tensor(values, self.device)

    def _chunks(self, rows: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Storage and slots of distinct rows, as many at a time as fit; -1 for all others."""
        for part in row_blocks(len(rows), self.gram.capacity):
            storage, all_slots = self.gram.load_rows(rows[part])
            slots = torch.full((self.n,), -1, dtype=torch.int32, device=self.device)
            slots[rows[part]] = all_slots[rows[part]]
            yield storage, slots


class TritonBlocks(BlockState):
    """Blocks scanned by Triton programs."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], passes: PassRule
    ) -> None:
        super().__init__(gram, examples, sides, runs, passes)
        self.rows = self._to_device(examples.rows.astype(np.int32))
        self.codes = self._to_device(examples.codes.astype(np.int32))
        self.rates = self._to_device(np.ascontiguousarray(examples.rates, dtype=np.float64))
        self.sides = self._to_device(np.ascontiguousarray(sides, dtype=np.int8))
        self.lengths = self._to_device(np.array([len(run) for run in runs], dtype=np.int32))
        size = self.n_fits * self.width * events_of_an_example(sides, passes.rule)
        self.log = tuple(
            torch.empty(size, dtype=part.dtype, device=self.device) for part in self.no_events()
        )
        lists = self.n_fits * (1 if self.by_argmax else self.n_problems)
        self.lists = tuple(  # first entry in the log and number of entries of each list
            torch.zeros(lists, dtype=dtype, device=self.device)
            for dtype in (torch.int64, torch.int32)
        )
        self.cursor = torch.zeros(1, dtype=torch.int64, device=self.device)
        shape = (self.n_fits, self.n_problems, self.block) if self.combine else (1, 1, 1)
        self.scores_met = torch.zeros(shape, dtype=torch.float64, device=self.device)
        self._queue = BoundedQueue(self.device)

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        super().begin(live, orders)
        self.live = self._to_device(live.astype(np.int32))
        self.cursor.zero_()

    def scan_block(self, start: int) -> None:
        if self.gram.complete:
            storage, slots = self.gram.load_rows(None)
            self._scan(storage, slots, start)
            self._add(storage, slots)
        else:
            before = int(self.cursor.item())
            self._scan(self._tiles(start), None, start)
            rows = torch.unique(self.log[2][before : int(self.cursor.item())].long())
            for storage, slots in self._chunks(rows):
                self._add(storage, slots)
        self._queue.wait()

    def end(self, keep: bool) -> tuple[Codes, Codes, tuple[Tensor, ...] | None]:
        found = as_numpy(torch.cat([*self._counts(), self.cursor]))
        wrong, misclassified, (count,) = np.split(found, [self.n_fits, 2 * self.n_fits])
        self._queue.clear()
        log = tuple(part[:count].clone() for part in self.log) if keep else None
        return wrong, misclassified, log

    def _count_misclassified(self, start: int) -> None:
        """Combine the scores that the examples of a block had when they were met."""
        live, stop = self.live.long(), min(start + self.block, self.width)
        S = self.scores_met[: len(live), :, : stop - start].transpose(1, 2)
        guesses = self.combine(S.reshape(-1, self.n_problems)).reshape(len(live), -1)
        own = self.codes[self.met[live, start:stop].long()]
        missed = (guesses != own) & (self.wrong[live, start:stop] > 0)
        self.misclassified[live] += missed.sum(dim=1, dtype=torch.int64)

    def _scan(self, K: Tensor, slots: Tensor | None, start: int) -> None:
        tiled = slots is None
        tables = (K, self.live if slots is None else slots, self.S, self.met, self.rows, self.codes)
        state = (self.live, self.lengths, self.wrong, *self.log, self.cursor, *self.lists)
        stride = self.block if tiled else K.stride(0)
        sizes = (start, self.n, self.width, self.n_problems, len(self.rows), stride)
        shape: dict[str, Any] = {"BLOCK": self.block, "TILED": tiled, "num_warps": WARPS}
        if self.by_argmax:
            grid: tuple[int, ...] = (len(self.live),)
            programs.scan_argmax[grid](
                *tables, self.rates, *state, *sizes, CLASSES=self.padded, **shape
            )
        else:
            grid = (self.n_problems * len(self.live),)  # only the first of three may be large
            shape["KEEP"] = self.combine is not None
            programs.scan_signs[grid](
                *tables, self.sides, self.rates, *state, self.scores_met, *sizes, **shape
            )
            if self.combine is not None:
                self._count_misclassified(start)

    def _add(self, K: Tensor, slots: Tensor) -> None:
        grid = (self.n_problems * -(-self.n // ADDED["WIDTH"]), len(self.live))
        lists = (*self.log[1:], *self.lists)
        sizes = (self.n, self.n_problems, K.stride(0), 0 if self.by_argmax else 1)
        programs.add_rows[grid](K, slots, self.S, self.live, *lists, *sizes, **ADDED)

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


class CompiledBlocks(BlockState):
    """Blocks scanned by the compiled loops on CPU tensors, one fit after the other."""

    def __init__(
        self, gram: Any, examples: Examples, sides: Signs, runs: Sequence[Codes], passes: PassRule
    ) -> None:
        super().__init__(gram, examples, sides, runs, passes)
        targets = np.zeros((len(examples.rows), self.n_problems), dtype=np.int8)
        targets = targets if self.by_argmax else sides[examples.codes]
        self.scan = Scan(Problems(examples.rows, targets, examples.codes), passes, examples.rates)
        self.lengths = [len(run) for run in runs]
        self.columns = np.full(examples.rows.shape, -1)
        self._events: list[tuple[Any, ...]] = []

    def begin(self, live: Codes, orders: tuple[Codes, Codes] | None) -> None:
        super().begin(live, orders)
        self.live = live.tolist()
        self._events = []

    def scan_block(self, start: int) -> None:
        for fit in self.live:
            stop = min(start + self.block, self.lengths[fit])
            if start < stop:
                examples = self.met[fit, start:stop].numpy().astype(np.intp)
                (at, columns, deltas), missed = self._scan_examples(self.S[fit].numpy(), examples)
                self.misclassified[fit] += missed
                self.wrong[fit, start + at] = 1
                rows = self.scan.rows[examples[at]]
                order = np.arange(len(at)) % 2 if self.by_argmax else columns
                keys = (fit * self.width + start + at) * self.keys_of_an_example + order
                self._events.append((keys, columns.astype(np.int32), rows.astype(np.int32), deltas))

    def end(self, keep: bool) -> tuple[Codes, Codes, tuple[Tensor, ...] | None]:
        wrong, misclassified = (counts.numpy() for counts in self._counts())
        if not keep or not self._events:
            return wrong, misclassified, self.no_events() if keep else None
        parts = (np.concatenate(part) for part in zip(*self._events, strict=True))
        return wrong, misclassified, tuple(torch.as_tensor(part) for part in parts)

    def _scan_examples(self, S: Matrix, examples: Codes) -> tuple[Events, int]:
        """The mistakes of a block, and the examples misclassified; S, (p, n), is up to date afterwards."""
        rows = self.scan.rows
        if self.gram.complete:
            return self._advance(self.gram.storage.numpy(), S, rows, examples)
        index = torch.as_tensor(rows[examples])
        self.columns[examples] = np.arange(len(examples))
        tile = self.gram.tile(index, index).contiguous().numpy()
        events, missed = self._advance(tile, S[:, rows[examples]], self.columns, examples)
        met = rows[examples[events[0]]]
        for storage, slots in self._chunks(torch.as_tensor(np.unique(met))):
            found = slots.numpy()[met].astype(np.intp)
            stored = found >= 0
            found = (found[stored], events[1][stored], events[2][stored])
            add_rows(S, storage.numpy(), 0, self.n, *found)
        return events, missed

    def _advance(self, K: Matrix, S: Matrix, columns: Codes, examples: Codes) -> tuple[Events, int]:
        log, position, parts, missed = self.scan.log(S.shape[1]), 0, [], 0
        block = self.scan.block(K, columns, S, columns)
        while position < len(examples):
            chunk = self.scan.advance(block, examples, position, log)
            position, missed = chunk.position, missed + chunk.misclassified
            parts.append(chunk.events)
        at, problems, deltas = (np.concatenate(part) for part in zip(*parts, strict=True))
        return (at, problems, deltas), missed


def events_of_an_example(sides: Signs, rule: str) -> int:
    """Upper bound of the corrections of one example in a pass."""
    return 2 if rule == "argmax" else max(1, int(np.count_nonzero(sides, axis=1).max()))
