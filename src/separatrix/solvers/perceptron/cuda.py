"""Many kernel perceptrons over one Gram matrix on a GPU, trained at the same time.

The scores of every fit stay on the device. Each fit scans a block of its examples at once: one
program per problem finds its mistakes (`triton.py`), then another adds their kernel rows to the scores
of all n. After a pass the counts of mistakes come back, and finished fits leave the batch. The list
of mistakes stays on the device until it is needed.

Without Triton the compiled scan of `kernel_perceptron.py` does the same on CPU tensors.

Symbols: F fits, E examples, P problems, S scores (F, P, n).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import torch

from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, as_tensor, free_bytes, runs_triton
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron.cuda_blocks import (
    BLOCK,
    TILE,
    BlockState,
    CompiledBlocks,
    Examples,
    TritonBlocks,
    events_of_an_example,
)
from separatrix.solvers.perceptron.kernel_perceptron import KernelPerceptronFit, PassRule
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.orders import shuffled
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Matrix, Signs

Tensor = Any
EVENT_BYTES = 24  # of one entry of the log
COMBINED_COPIES = 4  # of a block's scores while they are combined to predictions


def solve_kernel_perceptrons(
    gram: Any,  # a DeviceGram, shape: (n, n)
    rows: Codes,  # shape: (e,); row of the Gram of each example; a row may be more than one example
    codes: Codes,  # shape: (e,); class of each example, or for "signs" its row of `sides`
    rates: Matrix,  # shape: (2, e); size of a correction, added and subtracted
    sides: Signs,  # shape: (kinds, p)
    runs: Sequence[Codes],  # the examples of each run
    passes: PassRule,
    rng: np.random.Generator,
    monitor: FitMonitor | None = None,
    *,
    start: Matrix | None = None,  # shape: (p, n)
    keep_mistakes: bool = True,
) -> Iterator[PerceptronBatch]:
    """Train one kernel perceptron on the examples of each run, as many at a time as fit in memory.

    Problem and Given are those of `solve_kernel_perceptron`, without a bias. Every run draws the orders
    that a generator like `rng` would give it alone. The monitor ends all runs. `passes.combine` takes
    tensors, and needs classes for `codes`.

    Yields batches of runs in order.
    """
    size = _fits_at_once(gram, sides, runs, passes)
    examples = Examples(rows, codes, np.asarray(rates, dtype=np.float64))
    for part in row_blocks(len(runs), size):
        last = part.stop == len(runs)
        batch = PerceptronBatch(gram, examples, sides, runs[part], passes, keep_mistakes, start)
        batch.solve(rng if last else deepcopy(rng), monitor or FitMonitor())
        yield batch


def solve_on_device(
    gram: Any,
    problems: Problems,
    passes: PassRule,
    rates: Matrix,
    rng: np.random.Generator,
    monitor: FitMonitor,
    *,
    start: Matrix | None,
    keep_scores: bool,
) -> KernelPerceptronFit:
    """`solve_kernel_perceptron` on a DeviceGram; the fit is in NumPy arrays."""
    codes, sides = problems.classes, problems.targets
    if passes.rule == "signs":
        codes, sides = _kinds(problems)
    rows, run = problems.rows, np.arange(len(problems.rows))
    (batch,) = solve_kernel_perceptrons(
        gram, rows, codes, rates, sides, [run], passes, rng, monitor, start=start
    )
    (fit,) = batch.fits()
    return fit._replace(scores=as_numpy(batch.scores[0]) if keep_scores else None)


class PerceptronBatch:
    """Kernel perceptrons that pass over their examples at the same time."""

    def __init__(
        self,
        gram: Any,
        examples: Examples,
        sides: Signs,
        runs: Sequence[Codes],
        passes: PassRule,
        keep_mistakes: bool,
        start: Matrix | None,
    ) -> None:
        self.passes, self.keep_mistakes = passes, keep_mistakes
        self.lengths = np.array([len(run) for run in runs])
        kind = TritonBlocks if runs_triton(gram.device) else CompiledBlocks
        self.state: BlockState = kind(gram, examples, sides, runs, passes)
        if start is not None:
            self.state.S[:] = as_tensor(start, gram.device)
        self.by_epoch: list[list[int]] = [[] for _ in runs]
        self.misclassified: list[list[int]] = [[] for _ in runs]
        self.stops = [""] * len(runs)
        self.n_steps = np.zeros(len(runs), dtype=np.intp)
        self._log: list[tuple[Tensor, ...]] = []

    @property
    def scores(self) -> Tensor:
        """Scores of every row under the last hypothesis of every fit, (f, p, n)."""
        return self.state.S

    @property
    def n_iter(self) -> Codes:
        """Epochs that each fit began, (f,)."""
        return np.array([len(counts) for counts in self.by_epoch])

    def solve(self, rng: np.random.Generator, monitor: FitMonitor) -> None:
        """Pass over the examples until every fit is done."""
        live = np.arange(len(self.lengths))
        orders = _Orders(self.lengths, rng) if self.passes.shuffle else None
        for _ in range(self.passes.max_iter):
            self.state.begin(live, orders.draw(live) if orders else None)
            met = self._run_pass(live, monitor)
            wrong, misclassified, events = self.state.end(self.keep_mistakes)
            if events is not None:
                self._log.append(events)
            monitor.step()
            for fit in live.tolist():
                self.by_epoch[fit].append(int(wrong[fit]))
                self.misclassified[fit].append(int(misclassified[fit]))
            live = np.array([fit for fit in live.tolist() if self._continues(fit, met, monitor)])
            if not len(live):
                break

    def fits(self) -> list[KernelPerceptronFit]:
        """Each fit with its mistakes, without scores."""
        counts = zip(self.by_epoch, self.misclassified, strict=True)
        curves = ((np.array(wrong, np.intp), np.array(missed, np.intp)) for wrong, missed in counts)
        all_fits = zip(self._mistakes(), curves, self.n_steps, self.stops, strict=True)
        return [
            KernelPerceptronFit(mistakes, len(wrong), int(steps), wrong, missed, None, stop)
            for mistakes, (wrong, missed), steps, stop in all_fits
        ]

    def _run_pass(self, live: Codes, monitor: FitMonitor) -> int:
        """Scan every example of the active fits; return the positions reached."""
        longest = int(self.lengths[live].max())
        for block in row_blocks(longest, self.state.block):
            self.state.scan_block(block.start)
            if block.stop < longest and monitor.should_stop():
                return int(block.stop)
        return longest

    def _continues(self, fit: int, met: int, monitor: FitMonitor) -> bool:
        n_rows = int(self.lengths[fit])
        counts = self.by_epoch[fit], self.misclassified[fit]
        self.n_steps[fit] += min(met, n_rows)
        limits = self.passes.limits
        stop = reason_to_stop(*counts, n_rows, whole=met >= n_rows, monitor=monitor, **limits)
        self.stops[fit] = stop or "max_iter"
        return stop is None

    def _mistakes(self) -> list[Mistakes]:
        """The log in the order of the sequential algorithm, cut into fits."""
        width, epochs = self.state.keys_of_a_fit, max(1, len(self._log))
        keys, columns, rows, deltas = (
            (torch.cat(parts) for parts in zip(*self._log, strict=True))
            if self._log
            else self.state.no_events()
        )
        counts = [len(part[0]) for part in self._log]
        epoch = torch.repeat_interleave(
            torch.arange(len(counts)), torch.tensor(counts, dtype=torch.int64)
        ).to(keys.device)
        sort_keys = (keys // width * epochs + epoch) * width + keys % width
        sort_keys, order = torch.sort(sort_keys)
        fit, inside = sort_keys // (epochs * width), sort_keys % (epochs * width)
        step = inside % width // self.state.keys_of_an_example
        steps = inside // width * as_tensor(self.lengths, keys.device)[fit] + step
        firsts = torch.arange(1, len(self.lengths), device=keys.device)
        cuts = as_numpy(torch.searchsorted(fit, firsts))
        fields = rows[order].long(), columns[order].long(), deltas[order], steps
        parts = zip(*(np.split(as_numpy(field), cuts) for field in fields), strict=True)
        return [Mistakes(*part) for part in parts]


class _Orders:
    """The order of each pass; runs of the same length share it, as each draws from an equal generator."""

    def __init__(self, lengths: Codes, rng: np.random.Generator) -> None:
        distinct, self.which = np.unique(lengths, return_inverse=True)
        self.in_order = [np.arange(length) for length in distinct]
        self.generators = [deepcopy(rng) for _ in distinct[1:]] + [rng]
        self.width = int(lengths.max())

    def draw(self, live: Codes) -> tuple[Codes, Codes]:
        """A padded order for each length, and the index of each fit's."""
        orders = np.zeros((len(self.in_order), self.width), dtype=np.int64)
        for number in np.unique(self.which[live]).tolist():
            rows = self.in_order[number]
            orders[number, : len(rows)] = shuffled(rows, self.generators[number])
        return orders, self.which


def _kinds(problems: Problems) -> tuple[Codes, Signs]:
    """Each example's row of a table of sides: one row per class, or else per example."""
    r = len(problems.rows)
    first = np.zeros(int(problems.classes.max()) + 1, dtype=np.intp)
    first[problems.classes] = np.arange(r)
    sides = problems.targets[first]
    if np.array_equal(sides[problems.classes], problems.targets):
        return problems.classes, sides
    return np.arange(r), problems.targets


def _fits_at_once(gram: Any, sides: Signs, runs: Sequence[Codes], passes: PassRule) -> int:
    """Fits whose scores and logs take at most half of the free memory."""
    width = max(len(run) for run in runs)
    log = EVENT_BYTES * events_of_an_example(sides, passes.rule) + 32
    size = 8 * gram.shape[0] * sides.shape[1] + width * log
    if passes.combine is not None:
        size += COMBINED_COPIES * 8 * BLOCK * sides.shape[1]
    if not gram.complete:
        size += TILE**2 * 8
    return max(1, min(len(runs), int(free_bytes(gram.device) // 2 // size)))
