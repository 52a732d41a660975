"""Kernel machines: a task for each pair of classes, or all samples on one worker.

One-vs-one boundaries are problems of two classes each, so a task needs the rows of those classes alone; the
rows of a class are brought together once. Other codings need all rows, on a worker with room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

from separatrix.cluster.cluster_blocks import CheckedBlock, ClusterBlocks
from separatrix.cluster.engine import (
    call_on_worker,
    client_in_use,
    compute,
    compute_each,
    map_blocks,
    persist,
    share,
    short_name,
    task,
    threads_here,
    value_of_call,
)
from separatrix.cluster.partitions import Partitions, partition
from separatrix.errors import MemoryBudgetError
from separatrix.estimators.base.prepare import Training
from separatrix.estimators.base.support import Support, class_segments
from separatrix.estimators.base.svc_fit import (
    SvcState,
    require_separable,
    solve_in_precision,
)
from separatrix.estimators.base.svc_training import warn_if_unfinished
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.build import make_gram
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.device import as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import pairs
from separatrix.solvers.svm.problem import SvmFit, SvmProblem
from separatrix.types import Codes, Gram, Vector

ROOM = 0.5  # share of the memory of a worker that gathered samples may take


class ClassRows(NamedTuple):
    """The rows of one class, of one block or of all."""

    X: Any  # shape: (n, d)
    weights: Vector  # shape: (n,)
    rows: Codes  # shape: (n,); their numbers among all rows


class BlockFacts(NamedTuple):
    """What is known of some samples without them."""

    size: int  # bytes
    counts: Codes  # shape: (k,); rows of each class
    mean: float  # of all values
    squares: float  # sum of their squared distances from it
    values: int  # number of them


def fit_svc(model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None) -> Any:
    """A support vector machine: pairs of classes as tasks, where its boundaries are pairs."""
    model._check_parameters()
    parts = partition(X, y, sample_weight)
    # balanced weights count rows, not their weights; the others need all boundaries on one matrix
    alone = model.class_weight == "balanced" and sample_weight is not None
    if alone or model.multi_class != "ovo" or model._method or model.warm_start:
        return _gather(model, parts)
    blocks = ClusterBlocks(model, parts, keep=True)
    return _gather(model, parts) if blocks.n_classes == 2 else _fit_pairs(model, blocks)


def fit_gathered(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """A kernel machine: all samples go to one worker, if it has room for them."""
    model._check_parameters()
    return _gather(model, partition(X, y, sample_weight))


def _gather(model: Any, parts: Partitions) -> Any:
    name, columns = short_name(model), require_room_for_all(model, parts)
    call = task(f"{name}-fit", call_on_worker)
    (found,) = compute(call(fit_on_worker, share(f"{name}-model", model), *columns))
    model.__dict__ |= value_of_call(found).__dict__
    return model


def require_room_for_all(model: Any, parts: Partitions) -> list[list[Any]]:
    """All blocks of X, of y and of the weights, if a worker has room for X."""
    sizes = compute_each(f"{short_name(model)}-size", size_of_block, None, parts.samples)
    _require_room(type(model).__name__, "all samples", sum(sizes))
    return [list(column) for column in zip(*parts.blocks, strict=True)]


def _require_room(name: str, what: str, size: int) -> None:
    client = client_in_use()
    rooms = [default_budget()]
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        rooms = [int(ROOM * worker["memory_limit"]) for worker in workers if worker["memory_limit"]]
    if rooms and size > max(rooms):
        raise MemoryBudgetError(
            f"{name} needs {what} on one worker: {size / 2**30:.2f} GiB, but the largest has room for "
            f"{in_words(max(rooms))}; use Nystroem and LinearSVC, which are distributed, or larger workers"
        )


def size_of_block(_shared: None, number: int, X: Any) -> int:
    """Bytes of the samples of a block."""
    if issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.asarray(X).nbytes)


def fit_on_worker(model: Any, X: list[Any], y: list[Any], weights: list[Any]) -> Any:
    """The model, fitted to all blocks."""
    return model.fit(*gather_samples(X, y, weights))


def gather_samples(X: list[Any], y: list[Any], weights: list[Any]) -> tuple[Any, ...]:
    """All blocks as one: X, y, and the weights if there are any."""
    given = [] if weights[0] is None else [np.concatenate([np.asarray(w) for w in weights])]
    return concatenate_rows(X), np.concatenate([np.asarray(part) for part in y]), *given


def concatenate_rows(parts: list[Any]) -> Any:
    """Blocks of rows as one: frames, sparse or dense."""
    if hasattr(parts[0], "columns"):
        return import_module(type(parts[0]).__module__.partition(".")[0]).concat(parts)
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def _fit_pairs(model: Any, blocks: ClusterBlocks) -> Any:
    """Bring the rows of each class together, solve all pairs, and keep what the fit in memory keeps."""
    k, name, kept = blocks.n_classes, short_name(model), [(one,) for one in blocks.checked()]
    facts = compute_each(f"{name}-size", facts_of, k, kept)
    every = reduce(merge_facts, facts)
    share_of_two = np.sort(every.counts)[-2:].sum() / every.counts.sum()
    _require_room(type(model).__name__, "two classes", int(share_of_two * every.size))
    options, kernel = model._options(), _resolve_kernel(model, every, blocks.n_features)
    starts = np.cumsum([0, *(int(one.counts.sum()) for one in facts)])
    split = map_blocks(f"{name}-split", split_classes, (k, starts), kept)
    gather = task(f"{name}-class", gather_class)
    rows = persist([gather([part[c] for part in split], number=c) for c in range(k)])
    shared = share(f"{name}-options", (model, kernel, options))
    solved = [
        task(f"{name}-pair-{a}-{b}", solve_pair)(shared, rows[a], rows[b]) for a, b in pairs(k)
    ]
    numbers = compute_each(f"{name}-rows", numbers_of, None, [(one,) for one in rows])
    fits, tolerances = zip(*compute(*solved, counted=solved), strict=True)
    state = _assemble(numbers, fits, min(tolerances))
    own = np.split(state.support.rows, state.support.cuts[1:-1])
    first = np.cumsum([0, *map(len, numbers)])
    wanted = [(rows[c], own[c] - first[c]) for c in range(k)]
    vectors = concatenate_rows(list(compute_each(f"{name}-vectors", vectors_of, None, wanted)))
    classes, _ = blocks.in_class_order()
    codes = np.zeros(int(starts[-1]), dtype=np.intp)
    for c, rows_of_class in enumerate(numbers):
        codes[rows_of_class] = c
    model.kernel_, model.classes_ = kernel, classes
    model.shape_fit_ = (len(codes), blocks.n_features)
    train = Training(None, codes, classes, np.ones(len(codes)), blocks.class_weights[codes])
    model._keep(train, state, vectors)
    warn_if_unfinished(type(model).__name__, options, state.fits)
    return model


def _assemble(numbers: Sequence[Codes], fits: Sequence[SvmFit], tolerance: float) -> SvcState:
    """The fits of all pairs over rows in class order."""
    k, sizes = len(numbers), [len(rows) for rows in numbers]
    segments = class_segments(np.repeat(np.arange(k), sizes), k)
    placed = []
    for (a, b), fit in zip(pairs(k), fits, strict=True):
        both = np.r_[segments[a], segments[b]]
        placed.append(fit._replace(rows=both[fit.rows]))
    require_separable(placed)
    support = Support.of(placed, k, "ovo", segments=segments)
    words = f"{len(fits)} pairs of classes on a cluster"
    return SvcState(np.concatenate(numbers), support, placed, None, words, tolerance)


def _resolve_kernel(model: Any, facts: BlockFacts, d: int) -> Kernel:
    """The kernel that the parameters mean on all samples, of which only sums are known."""
    given = model._kernel_parameters()
    if isinstance(model.kernel, str) and given["gamma"] == "scale":
        variance = facts.squares / facts.values
        if np.isfinite(variance):  # else the error of the fit in memory
            given["gamma"] = 1.0 / (d * variance) if variance > 0 else 1.0
    return resolve_kernel(type(model).__name__, model.kernel, np.zeros((1, d)), **given)


def facts_of(n_classes: int, number: int, checked: CheckedBlock | None) -> BlockFacts:
    """Bytes, rows of each class, mean and squares of a block."""
    if checked is None:
        return BlockFacts(0, np.zeros(n_classes, dtype=np.intp), 0.0, 0.0, 0)
    X, values = checked.block.X, int(np.prod(checked.block.X.shape))
    counts = np.bincount(checked.block.y, minlength=n_classes)
    mean = float(X.sum(dtype=np.float64) / values)
    stored = X.data if issparse(X) else X
    squares = float(np.square(stored - mean, dtype=np.float64).sum())
    squares += (values - stored.size) * mean**2  # zeros that are not stored
    return BlockFacts(size_of_block(None, number, X), counts, mean, squares, values)


def merge_facts(a: BlockFacts, b: BlockFacts) -> BlockFacts:
    """Those of both."""
    values = max(1, a.values + b.values)
    between = (b.mean - a.mean) ** 2 * a.values * b.values / values
    mean = (a.mean * a.values + b.mean * b.values) / values
    squares = a.squares + b.squares + between
    return BlockFacts(a.size + b.size, a.counts + b.counts, mean, squares, a.values + b.values)


def split_classes(
    shared: tuple[int, Codes], number: int, checked: CheckedBlock | None
) -> list[ClassRows | None]:
    """The rows of each class in a block."""
    k, starts = shared
    if checked is None:
        return [None] * k
    X, y, weights = checked.block
    rows = [np.flatnonzero(y == c) for c in range(k)]
    return [ClassRows(X[own], weights[own], starts[number] + own) for own in rows]


def gather_class(parts: list[ClassRows | None]) -> ClassRows:
    """The rows of a class in all blocks, without those of weight 0 if it has others."""
    kept = [part for part in parts if part is not None]
    weights = np.concatenate([part.weights for part in kept])
    X, rows = concatenate_rows([part.X for part in kept]), np.concatenate([p.rows for p in kept])
    if weights.all() or not weights.any():
        return ClassRows(X, weights, rows)
    return ClassRows(X[weights > 0], weights[weights > 0], rows[weights > 0])


def numbers_of(_shared: None, number: int, rows: ClassRows) -> Codes:
    """The numbers of the rows of a class among all rows."""
    return rows.rows


def vectors_of(_shared: None, number: int, rows: ClassRows, wanted: Codes) -> Any:
    """Some rows of a class."""
    return rows.X[wanted]


def solve_pair(shared: Any, first: ClassRows, second: ClassRows) -> tuple[SvmFit, float]:
    """The boundary of two classes, the first positive, and the tolerance of its kernel values."""
    model, kernel, options = shared
    options = options._replace(threads=threads_here(options.threads))
    X, n = concatenate_rows([first.X, second.X]), len(first.rows) + len(second.rows)
    problem = SvmProblem(
        np.array([1, -1], dtype=np.int8),
        options.box(np.concatenate([first.weights, second.weights])),
    )

    def solve(device: Any) -> tuple[SvmFit, float]:
        def build_gram(tolerance: float) -> Gram:
            return make_gram(
                kernel,
                as_numpy(X) if device is None else X,
                memory=options.memory,
                segments=(slice(0, len(first.rows)), slice(len(first.rows), n)),
                tolerance=tolerance,
                threads=options.threads,
                hold=options.computes_all(n, 2),
                device=device,
            )

        monitor = FitMonitor(model.time_limit)
        _, fits, reached = solve_in_precision(
            build_gram, [problem], options, lambda _gram: None, monitor
        )
        return fits[0], reached

    found: tuple[SvmFit, float] = run_on(model._training_policy(X, kernel), solve)
    return found
