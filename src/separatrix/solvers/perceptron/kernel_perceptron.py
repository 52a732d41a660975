"""The kernel perceptron, exactly as the sequential algorithm, at the cost of its mistakes.

Scores of all rows are kept up to date: a mistake on row t adds a multiple of kernel row K_t to the
scores of one or two problems, so an epoch costs its mistakes times n, not n squared.

- On a held matrix the scan runs over it directly, one epoch per compiled call.
- Otherwise the scan runs over blocks of examples. Scores inside a block are exact (stored scores,
  plus the pending mistakes, plus the block's own). Mistakes are pending until there are enough of
  them for one wide matrix product, which computes their rows for all n.

Both run the same compiled scan. The result is the list of mistakes, from which every hypothesis of
the perceptron can be built (`online_to_batch.py`).

A row is corrected when one of its problems errs, and misclassified when the class that the scores of all
its problems give together is wrong. An example that no problem errs on is classified right by votes and
by the highest score, so only scores of corrected examples are kept for that count.

Symbols: S scores (p, n), K kernel rows, b biases, R^2 their step, r training rows of the problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import CHUNK, FitMonitor
from separatrix.runtime.threads import in_threads
from separatrix.solvers.decomposition import Problems
from separatrix.solvers.perceptron.online_to_batch import Mistakes
from separatrix.solvers.perceptron.orders import shuffled, some_of_all
from separatrix.solvers.stopping import reason_to_stop
from separatrix.types import Codes, Matrix, RowMatrix, Signs, Vector

BLOCKS = (512, 2048)  # fewest and most examples of a block when the Gram is not held
PENDING = 512  # mistaken rows that wait for one product
ROWS_A_PRODUCT_COSTS = 100  # in a wide product: a product of few rows costs as much
STRIP = 4096  # columns of S that stay in a core's cache while mistakes are added to them

Events = tuple[Codes, Codes, Vector]  # positions in the order, problems, and what was added
Log = tuple[
    Codes, Codes, Vector, Matrix
]  # events, and scores of corrected examples as they were met
Combine = Callable[[Any], Any]  # scores of examples, (m, p), to their class codes, (m,)


class ScoredBlock(NamedTuple):
    """Kernel rows, and the scores that a scan keeps up to date with them."""

    K: Matrix
    slots: Codes  # shape: (r,); the row of K of each example, or -1
    S: Matrix  # shape: (p, columns)
    columns: Codes  # shape: (r,); the column of S of each example
    b: Vector  # shape: (p,); biases, which scores in S leave out
    square: float  # R^2: what a correction of size 1 adds to b


class Chunk(NamedTuple):
    """What a scan found up to some position."""

    position: int
    events: Events
    wrong: int  # examples corrected
    misclassified: int  # examples whose combined prediction was wrong


class KernelPerceptronFit(NamedTuple):
    """The mistakes of a kernel perceptron, and the reason it stopped."""

    mistakes: Mistakes  # all of them, in order
    n_iter: int  # epochs begun
    n_steps: int  # examples scanned
    mistakes_by_epoch: Codes  # shape: (n_iter,); examples on which at least one problem was wrong
    misclassified_by_epoch: Codes  # shape: (n_iter,); examples whose combined prediction was wrong
    scores: Matrix | None  # shape: (p, n); of the last hypothesis on every row of the Gram
    stop: str  # "clean pass", "min_gain", "max_iter" or "stopped"


class PassRule(NamedTuple):
    """The update rule and the limits of the passes over the examples."""

    rule: str  # "signs" or "argmax"
    max_iter: int
    min_iter: int = 1
    min_gain: float | None = None
    shuffle: bool = False
    combine: Combine | None = None
    square: float = 0.0  # R^2 of the bias

    @property
    def limits(self) -> dict[str, Any]:
        """The arguments of `reason_to_stop`."""
        return {"min_iter": self.min_iter, "min_gain": self.min_gain}


def run_passes(
    scores: HeldScores | TiledScores,
    problems: Problems,
    passes: PassRule,
    rng: np.random.Generator,
    monitor: FitMonitor,
    *,
    keep_scores: bool,
) -> KernelPerceptronFit:
    """Pass over the examples until a stopping rule applies."""
    n_rows = len(problems.rows)
    log: list[Mistakes] = []
    by_epoch: tuple[list[int], list[int]] = ([], [])  # corrected and misclassified examples
    in_order = np.arange(n_rows)
    met, stop = 0, None
    for _ in range(passes.max_iter):
        order, steps, n_steps = in_order, in_order, n_rows
        if problems.among is not None:
            order, steps = some_of_all(*problems.among, rng if passes.shuffle else None)
            n_steps = problems.among[1]
        elif passes.shuffle:
            order = shuffled(in_order, rng)
        wrong = misclassified = 0
        for chunk in scores.epoch(order):
            at, columns, deltas = chunk.events
            log.append(Mistakes(problems.rows[order[at]], columns, deltas, met + steps[at]))
            wrong += chunk.wrong
            misclassified += chunk.misclassified
            if chunk.position < n_rows and monitor.should_stop():
                break
        by_epoch[0].append(wrong)
        by_epoch[1].append(misclassified)
        whole = chunk.position == n_rows
        met += n_steps if whole else int(steps[chunk.position])
        monitor.step()
        stop = reason_to_stop(*by_epoch, n_rows, whole=whole, monitor=monitor, **passes.limits)
        if stop:
            break

    final = scores.final() if keep_scores else None
    corrected, missed = (np.array(counted, dtype=np.intp) for counted in by_epoch)
    mistakes, ended = Mistakes.concatenate(log), stop or "max_iter"
    return KernelPerceptronFit(mistakes, len(corrected), met, corrected, missed, final, ended)


class Scan:
    """The compiled scan of one update rule over the examples of some problems."""

    def __init__(self, problems: Problems, passes: PassRule, rates: Matrix) -> None:
        self.rows, self.classes = problems.rows, problems.classes
        self.targets = problems.targets
        self.rates = np.asarray(rates, dtype=float)
        self.n_problems = problems.targets.shape[1]
        self.b, self.square = np.zeros(self.n_problems), float(passes.square)
        self.by_argmax = passes.rule == "argmax"
        self.combine = (
            None if self.by_argmax else passes.combine
        )  # argmax: corrected if misclassified
        self._compiled: Callable[..., tuple[int, int, int]] = _scan_signs
        self._sides: Signs | Codes = self.targets
        if self.by_argmax:
            self._compiled, self._sides = _scan_argmax, problems.classes

    def log(self, width: int) -> Log:
        """Empty arrays for the mistakes of one chunk, when a correction touches `width` scores."""
        size = max(4 * max(2, self.n_problems), min(4096, CHUNK // max(1, width)))
        rows = 0 if self.combine is None else max(1, min(size, CHUNK // self.n_problems))
        positions, problems = np.empty(size, dtype=np.intp), np.empty(size, dtype=np.intp)
        return positions, problems, np.empty(size), np.empty((rows, self.n_problems))

    def block(self, K: Matrix, slots: Codes, S: Matrix, columns: Codes) -> ScoredBlock:
        """Kernel rows and scores with the biases of this scan."""
        return ScoredBlock(K, slots, S, columns, self.b, self.square)

    def advance(self, block: ScoredBlock, order: Codes, start: int, log: Log) -> Chunk:
        """Scan examples from position `start` until a kernel row is missing, the log full, or the end."""
        ended = self._compiled(block, order, self._sides, self.rates, start, log)
        position, count, corrected = ended
        events = (log[0][:count].copy(), log[1][:count].copy(), log[2][:count].copy())
        first = np.flatnonzero(np.diff(events[0], prepend=-1))  # event of each corrected example
        misclassified = len(first)
        if self.combine is not None:
            own = self.classes[order[events[0][first]]]
            misclassified = int(np.count_nonzero(self.combine(log[3][:corrected]) != own))
        return Chunk(position, events, len(first), misclassified)

    def wrong(self, S: Matrix, examples: Codes) -> Codes:
        """Columns of S, one for each example, that the present scores misclassify."""
        sides, S = self._sides[examples].T, S + self.b[:, None]
        if self.by_argmax:
            return np.flatnonzero(S.argmax(axis=0) != sides)
        return np.flatnonzero(((sides != 0) & (sides * S <= 0)).any(axis=0))


class HeldScores:
    """Scores over a matrix in memory: one compiled call runs until the epoch ends."""

    def __init__(self, K: Matrix, S: Matrix, scan: Scan) -> None:
        self.scan, self.log = scan, scan.log(S.shape[1])
        self.block = scan.block(K, scan.rows, S, scan.rows)

    def epoch(self, order: Codes) -> Iterator[Chunk]:
        """Scan all examples once; the position reached and the mistakes, chunk by chunk."""
        position = 0
        while position < len(order):
            chunk = self.scan.advance(self.block, order, position, self.log)
            position = chunk.position
            yield chunk

    def final(self) -> Matrix:
        """Scores of the last hypothesis on every row, (p, n)."""
        return self.block.S + self.scan.b[:, None] if self.scan.square else self.block.S


class TiledScores:
    """Scores over a matrix by rows: exact inside a block, updated for all n in batches."""

    def __init__(self, gram: RowMatrix, S: Matrix, scan: Scan, threads: int) -> None:
        self.gram, self.S, self.scan, self.threads = gram, S, scan, threads
        self.most = min(BLOCKS[1], int(np.sqrt(gram.batch * gram.shape[0])))  # a tile fits a batch
        self.block = min(BLOCKS[0], self.most)
        self.columns = np.full(scan.rows.shape, -1)  # example -> its column of the block
        self.slots = np.full(scan.rows.shape, -1)  # example -> its row of the tile, or -1
        self.carried = 0  # kernel values computed for pending rows
        self.pending = _Pending(len(S), min(PENDING, gram.batch))

    def epoch(self, order: Codes) -> Iterator[Chunk]:
        """Scan all examples once; the position reached and the mistakes, chunk by chunk."""
        start = 0
        while start < len(order):
            block = next(row_blocks(len(order) - start, self.block))
            examples = order[start:][block]
            wrong = 0
            for chunk in self._scan_block(examples, self.scan.rows[examples]):
                at, columns, deltas = chunk.events
                wrong += len(at)
                yield chunk._replace(
                    position=start + chunk.position, events=(at + start, columns, deltas)
                )
            start += len(examples)
            self.carried += len(self.pending) * len(examples)
            full = len(self.pending) >= min(PENDING, self.gram.batch)
            if full or self.carried > ROWS_A_PRODUCT_COSTS * self.S.shape[1]:
                self._catch_up()
            elif self.gram.keeps_rows:  # stored: no product is needed
                self._add_all(*self.pending.take(known=True))
            # rare mistakes allow longer blocks, which cost fewer matrix products
            longer = 2 * self.block if wrong < self.block // 32 else self.block // 2
            self.block = min(max(longer, BLOCKS[0]), self.most)

    def final(self) -> Matrix:
        """Scores of the last hypothesis on every row, (p, n)."""
        self._catch_up()
        return self.S + self.scan.b[:, None] if self.scan.square else self.S

    def _scan_block(self, examples: Codes, rows: Codes) -> Iterator[Chunk]:
        S = self.S[:, rows]
        self.columns[examples] = np.arange(len(rows))
        self.slots[examples] = -1
        # one product computes the pending rows and those that are misclassified already
        wanted = self.scan.wrong(S, examples)
        n_pending = len(self.pending)
        tile = self.gram.tile(np.concatenate([self.pending.rows, rows[wanted]]), rows)
        S += self.pending.deltas @ tile[:n_pending]
        self.slots[examples[wanted]] = n_pending + np.arange(len(wanted))
        log = self.scan.log(len(rows))
        position = 0
        while position < len(rows):
            block = self.scan.block(tile, self.slots, S, self.columns)
            chunk = self.scan.advance(block, examples, position, log)
            position = chunk.position
            self.pending.add(rows, chunk.events)
            yield chunk
            if position < len(rows):
                wanted = position + self.scan.wrong(S[:, position:], examples[position:])
                wanted = np.union1d(wanted, position)  # the row that stopped the scan
                wanted = wanted[self.slots[examples[wanted]] < 0]
                self.slots[examples[wanted]] = len(tile) + np.arange(len(wanted))
                tile = np.concatenate([tile, self.gram.tile(rows[wanted], rows)])

    def _catch_up(self) -> None:
        """Add all pending rows to the scores of all n."""
        self.carried = 0
        self._add_all(*self.pending.take())

    def _add_all(self, rows: Codes, deltas: Matrix) -> None:  # deltas (p, rows)
        """Add multiples of kernel rows to the scores of all n, strip by strip on all threads."""
        for batch in row_blocks(len(rows), self.gram.batch):
            columns, which = np.nonzero(deltas[:, batch])
            values = deltas[:, batch][columns, which]
            for number, segment in enumerate(self.gram.segments):
                storage, slots = self.gram.fetch(rows[batch], number)
                S = np.ascontiguousarray(self.S[:, segment])
                self._add(S, storage, slots[which], columns, values)
                if not np.may_share_memory(S, self.S):
                    self.S[:, segment] = S

    def _add(self, S: Matrix, K: Matrix, slots: Codes, columns: Codes, deltas: Vector) -> None:
        def strip(part: slice) -> None:
            add_rows(S, K, part.start, part.stop, slots, columns, deltas)

        in_threads(strip, row_blocks(S.shape[1], STRIP), threads=self.threads)


class _Pending:
    """Mistaken rows whose kernel values with all n are not computed yet, and their coefficients."""

    def __init__(self, p: int, size: int) -> None:
        self._deltas = np.zeros((p, 2 * size))
        self._index: dict[int, int] = {}  # row -> its column of the deltas
        self._taken: set[int] = set()  # rows that were taken before: likely in the cache

    def __len__(self) -> int:
        return len(self._index)

    @property
    def rows(self) -> Codes:
        return np.fromiter(self._index, dtype=np.intp, count=len(self))

    @property
    def deltas(self) -> Matrix:  # shape: (p, rows)
        return self._deltas[:, : len(self)]

    def add(self, rows: Codes, events: Events) -> None:
        for at, column, delta in zip(*events, strict=True):
            column_of = self._index.setdefault(int(rows[at]), len(self))
            if column_of == self._deltas.shape[1]:
                self._deltas = np.hstack([self._deltas, np.zeros_like(self._deltas)])
            self._deltas[column, column_of] += delta

    def take(self, *, known: bool = False) -> tuple[Codes, Matrix]:
        """Remove and return all rows with their coefficients, or those that were taken before."""
        rows, deltas = self.rows, self.deltas.copy()
        out = np.array([not known or row in self._taken for row in self._index], dtype=bool)
        self._taken.update(rows[out].tolist())
        self._index = {row: number for number, row in enumerate(rows[~out].tolist())}
        self._deltas[:] = 0.0
        self._deltas[:, : len(self)] = deltas[:, ~out]
        return rows[out], deltas[:, out]


@njit(cache=True, nogil=True)
def _add_row(scores: Vector, row: Vector, delta: float) -> None:
    for j in range(len(scores)):
        scores[j] += delta * row[j]


@njit(cache=True, nogil=True)
def _add_to_two(first: Vector, second: Vector, row: Vector, delta: float, other: float) -> None:
    for j in range(len(row)):
        first[j] += delta * row[j]
        second[j] += other * row[j]


@njit(cache=True, nogil=True)
def add_rows(
    S: Matrix, K: Matrix, start: int, stop: int, slots: Codes, columns: Codes, deltas: Vector
) -> None:
    """Add rows of K to rows of S over columns start to stop.

    Full rows are indexed before they are sliced, so that the compiler knows them to be contiguous.
    """
    for event in range(len(slots)):
        _add_row(S[columns[event]][start:stop], K[slots[event]][start:stop], deltas[event])


@njit(cache=True, nogil=True)
def _scan_signs(
    block: ScoredBlock, order: Codes, targets: Signs, rates: Matrix, start: int, log: Log
) -> tuple[int, int, int]:
    """Scan examples in order; every problem with t * score <= 0 is corrected at once.

    Returns the position reached, the number of corrections, and of examples whose scores were kept.
    """
    K, slots, S, columns_of = block.K, block.slots, block.S, block.columns
    b, square = block.b, block.square
    log_positions, log_columns, log_deltas, log_scores = log
    count = corrected = 0
    n_problems, keeps = S.shape[0], len(log_scores) > 0
    for position in range(start, len(order)):
        if count + n_problems > len(log_columns) or (keeps and corrected == len(log_scores)):
            return position, count, corrected
        example = order[position]
        at = columns_of[example]
        begun = count
        for problem in range(n_problems):
            target = targets[example, problem]
            if target != 0 and target * (S[problem, at] + b[problem]) <= 0:
                slot = slots[example]
                if slot < 0:
                    return position, count, corrected
                if keeps and count == begun:
                    for other in range(n_problems):
                        log_scores[corrected, other] = S[other, at] + b[other]
                    corrected += 1
                delta = rates[0, example] if target > 0 else -rates[1, example]
                log_positions[count], log_columns[count] = position, problem
                log_deltas[count] = delta
                count += 1
                _add_row(S[problem], K[slot], delta)
                b[problem] += delta * square
    return len(order), count, corrected


@njit(cache=True, nogil=True)
def _scan_argmax(
    block: ScoredBlock, order: Codes, owners: Codes, rates: Matrix, start: int, log: Log
) -> tuple[int, int, int]:
    """Scan examples in order; on a mistake the guessed class loses the row and its own class gains it.

    Returns the position reached, the number of corrections, and 0: no scores are kept.
    """
    K, slots, S, columns_of = block.K, block.slots, block.S, block.columns
    b, square = block.b, block.square
    log_positions, log_columns, log_deltas, _ = log
    count = 0
    n_classes = S.shape[0]
    for position in range(start, len(order)):
        example = order[position]
        at = columns_of[example]
        own = owners[example]
        score = S[own, at] + b[own]
        above, level = False, 0
        for c in range(n_classes):
            above |= S[c, at] + b[c] > score
            level += S[c, at] + b[c] == score
        if not above and level == 1:
            continue
        guess = np.argmax(S[:, at] + b)
        if guess != own:
            slot = slots[example]
            if slot < 0 or count + 2 > len(log_columns):
                return position, count, 0
            for column, delta in ((own, rates[0, example]), (guess, -rates[1, example])):
                log_positions[count], log_columns[count] = position, column
                log_deltas[count] = delta
                b[column] += delta * square
                count += 1
            _add_to_two(S[own], S[guess], K[slot], rates[0, example], -rates[1, example])
    return len(order), count, 0
