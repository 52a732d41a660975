"""Kernel machines: a task for each pair of classes, for some folds, or all samples on one worker.

One-vs-one boundaries are problems of two classes each, so a task needs the rows of those classes alone; the
rows of a class are brought together once. Other codings need all rows, on a worker with room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed
from scipy.sparse import issparse
from sklearn.utils.validation import has_fit_parameter

from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.cluster.engine import (
    call_on_worker,
    compute,
    compute_calls,
    compute_each,
    persist,
    share,
    short_name,
    task,
    threads_here,
    workers_in_use,
)
from separatrix.cluster.partitions import concatenate_rows, partition
from separatrix.errors import MemoryBudgetError, UnsupportedError
from separatrix.estimators.base.labelled_blocks import LabelledBlock
from separatrix.estimators.base.perceptron_fit import fit_pair, join_pairs
from separatrix.estimators.base.prepare import Training, generator, prepare
from separatrix.estimators.base.support import Support, class_segments
from separatrix.estimators.base.svc_fit import SvcState, solve_svc
from separatrix.estimators.base.svc_training import warn_if_unfinished
from separatrix.estimators.kernel_perceptron import warn_if_unfinished as warn_of_mistakes
from separatrix.kernels.base import Kernel
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.device import run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes, Vector

ROOM = 0.5  # share of the memory of a worker that gathered samples may take


class ClassRows(NamedTuple):
    """The rows of one class, of one block or of all."""

    X: Any  # shape: (n, d)
    weights: Vector  # shape: (n,)
    rows: Codes  # shape: (n,); their numbers among all rows


class BlockFacts(NamedTuple):
    """What is known of a block without its samples."""

    size: int  # bytes
    counts: Codes  # shape: (k,); rows of each class
    weightless: int  # rows of weight 0
    total: float  # of all values


class PairTask(NamedTuple):
    """What a task of a pair needs besides the rows of its classes; sent once."""

    model: Any
    kernel: Kernel
    n_rows: int  # of all classes


def fit_gathered(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """A kernel machine: all samples go to one worker, if it has room for them."""
    model._check_parameters()
    name = short_name(model)
    samples = _gather_samples(model, X, y, sample_weight)
    call = task(f"{name}-fit", call_on_worker)
    (found,) = compute_calls(call(fit_on_worker, share(f"{name}-model", model), samples))
    model.__dict__ |= found.__dict__
    return model


def fit_on_worker(model: Any, samples: tuple[Any, ...]) -> Any:
    """The model, fitted to all samples."""
    return model.fit(*samples)


def _gather_samples(model: Any, *samples: Any) -> Delayed:
    """A task that gives all samples: X, y, and the weights if there are any."""
    name, parts = short_name(model), partition(*samples)
    sizes = compute_each(f"{name}-size", size_of_block, None, parts.samples)
    _require_room(model, "all samples", sum(sizes))
    columns = [list(column) for column in zip(*parts.blocks, strict=True) if column[0] is not None]
    return task(f"{name}-samples", join_columns)(columns)


def size_of_block(_shared: None, number: int, X: Any) -> int:
    """Bytes of the samples of a block."""
    if issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.asarray(X).nbytes)


def join_columns(columns: list[list[Any]]) -> tuple[Any, ...]:
    """The blocks of X, of y, and of the weights, each as one."""
    more = [np.concatenate([np.asarray(part) for part in column]) for column in columns[1:]]
    return concatenate_rows(columns[0]), *more


def _require_room(model: Any, what: str, size: int) -> None:
    limits = [worker["memory_limit"] for worker in workers_in_use()]
    rooms = [int(ROOM * limit) for limit in limits if limit] if limits else [default_budget()]
    if rooms and size > max(rooms):
        raise MemoryBudgetError(
            f"{type(model).__name__} needs {what} on one worker: {size / 2**30:.2f} GiB, but the largest "
            f"has room for {in_words(max(rooms))}; use Nystroem and LinearSVC, which are distributed, or "
            "larger workers"
        )


def fit_search(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """`SVCCV` or `KernelPerceptronCV`: each worker searches some folds, one trains the best cell.

    A grid that widens, and a combination of kernels, are one search: they run on one worker.
    """
    model._check_parameters()
    if sample_weight is not None and not has_fit_parameter(model, "sample_weight"):
        raise UnsupportedError(f"fit of {type(model).__name__} takes no sample_weight")
    if model.widen or model._combines or not isinstance(model.cv, int):
        return fit_gathered(model, fit, X, y, sample_weight)
    name, own = short_name(model), share(f"{short_name(model)}-model", model)
    (samples,) = persist([_gather_samples(model, X, y, sample_weight)])
    parts = min(model.cv, max(1, len(workers_in_use())))
    cuts = np.linspace(0, model.cv, parts + 1).astype(int).tolist()
    searched = [
        task(f"{name}-folds-{a}-{b - 1}", call_on_worker)(search_folds, own, samples, slice(a, b))
        for a, b in pairwise(cuts)
    ]
    found = compute_calls(*searched)
    best = task(f"{name}-best", call_on_worker)(train_best, own, samples, found)
    model.__dict__ |= compute_calls(best)[0].__dict__
    return model


def _prepare(search: Any, samples: Any) -> tuple[Any, Any, Any]:
    """A copy of the search, its model, and the checked samples."""
    search = copy(search)
    model = search._model()
    more = {"class_weight": model.class_weight} if hasattr(model, "class_weight") else {}
    return search, model, prepare(search, *samples, **more)


def search_folds(search: Any, samples: Any, some: slice) -> Any:
    """The results of a search on some of its folds."""
    search, model, train = _prepare(search, samples)
    return search._search(model, train, some)


def train_best(search: Any, samples: Any, found: list[Any]) -> Any:
    """The search with the results of all folds, and its best model trained on all samples."""
    search, model, train = _prepare(search, samples)
    return search._keep_best(model, train, search._merge_folds(model, train, found))


def fit_pairs(
    model: Any, fit: Callable[..., Any], X: Any, y: Any, sample_weight: Any = None
) -> Any:
    """`SVC` or `KernelPerceptron`: pairs of classes as tasks, where its boundaries are pairs."""
    model._check_parameters()
    svc = hasattr(model, "_method")
    if svc:  # balanced weights count rows, not their weights; the others need one matrix
        balanced = model.class_weight == "balanced" and sample_weight is not None
        whole = balanced or model._method or model.warm_start
    else:  # online accuracy, a budget and the radius of the samples are of all pairs together
        whole = model.min_gain is not None or model.budget is not None or model.bias is not None
    gather = model.multi_class != "ovo" or whole or model._precomputed
    blocks = None if gather else ClusterBlocks(model, (X, y, sample_weight), keep=True)
    if blocks is None or blocks.n_classes == 2:
        return fit_gathered(model, fit, X, y, sample_weight)
    facts = blocks.each("size", facts_of, blocks.n_classes)
    if not svc and any(one.weightless for one in facts):
        return fit_gathered(model, fit, X, y, sample_weight)
    counts = sum(one.counts for one in facts)
    size = int(np.sort(counts)[-2:].sum() / counts.sum() * sum(one.size for one in facts))
    _require_room(model, "two classes", size)
    kernel = _resolve_kernel(model, blocks, facts, int(counts.sum()))
    rows = _rows_of_classes(blocks, facts)
    numbers = compute_each(f"{blocks.name}-rows", numbers_of, None, [(one,) for one in rows])
    solve = solve_svc_pair if svc else solve_perceptron_pair
    shared = share(f"{blocks.name}-options", PairTask(model, kernel, int(counts.sum())))
    solved = [
        task(f"{blocks.name}-pair-{a}-{b}", solve)(shared, rows[a], rows[b])
        for a, b in pairs(blocks.n_classes)
    ]
    fits = compute(*solved, counted=solved)

    def vectors(wanted: list[Codes]) -> Any:
        """Some rows of each class, given by their positions in it."""
        taken = [(one, own) for one, own in zip(rows, wanted, strict=True)]
        return concatenate_rows(
            list(compute_each(f"{blocks.name}-vectors", take_rows, None, taken))
        )

    model.kernel_, (model.classes_, _) = kernel, blocks.in_class_order()
    keep = _keep_svc if svc else _keep_perceptron
    codes = np.zeros(int(counts.sum()), dtype=np.intp)
    for c, own in enumerate(numbers):
        codes[own] = c
    ones, weights = np.ones(len(codes)), blocks.class_weights[codes]
    keep(model, Training(None, codes, model.classes_, ones, weights), numbers, fits, vectors)
    return model


def facts_of(n_classes: int, number: int, found: LabelledBlock | None) -> BlockFacts:
    """Bytes, rows of each class, rows without weight and the sum of the values of a block."""
    if found is None:
        return BlockFacts(0, np.zeros(n_classes, dtype=np.intp), 0, 0.0)
    X, y, weights = found.block
    counts = np.bincount(y, minlength=n_classes)
    weightless = int(np.count_nonzero(weights == 0))
    return BlockFacts(
        size_of_block(None, number, X), counts, weightless, float(X.sum(dtype=np.float64))
    )


def _resolve_kernel(model: Any, blocks: ClusterBlocks, facts: Sequence[BlockFacts], n: int) -> Any:
    """The kernel that the parameters mean on all samples, of which only sums are known."""
    given, d = model._kernel_parameters(), blocks.n_features
    if isinstance(model.kernel, str) and given["gamma"] == "scale":
        mean = sum(one.total for one in facts) / (n * d)
        variance = sum(blocks.each("variance", squares_of, mean)) / (n * d)
        if np.isfinite(variance):  # else the error of the fit in memory
            given["gamma"] = 1.0 / (d * variance) if variance > 0 else 1.0
    return resolve_kernel(type(model).__name__, model.kernel, np.zeros((1, d)), **given)


def squares_of(mean: float, number: int, found: LabelledBlock | None) -> float:
    """The squared distances of the values of a block from the mean, summed."""
    if found is None:
        return 0.0
    X = found.block.X
    stored = X.data if issparse(X) else X
    zeros = float(np.prod(X.shape) - stored.size)  # that are not stored
    return float(np.square(stored - mean, dtype=np.float64).sum()) + zeros * mean**2


def _rows_of_classes(blocks: ClusterBlocks, facts: Sequence[BlockFacts]) -> list[Delayed]:
    """The rows of each class, brought together and kept."""
    k, starts = blocks.n_classes, np.cumsum([0, *(int(one.counts.sum()) for one in facts)])
    split = blocks.later("split", split_classes, (k, starts))
    gather = task(f"{blocks.name}-class", gather_class)
    return persist([gather([part[c] for part in split], number=c) for c in range(k)])


def split_classes(
    shared: tuple[int, Codes], number: int, found: LabelledBlock | None
) -> list[ClassRows | None]:
    """The rows of each class in a block."""
    k, starts = shared
    if found is None:
        return [None] * k
    X, y, weights = found.block
    rows = [np.flatnonzero(y == c) for c in range(k)]
    return [ClassRows(X[own], weights[own], starts[number] + own) for own in rows]


def gather_class(parts: list[ClassRows | None]) -> ClassRows:
    """The rows of a class in all blocks, without those of weight 0 if it has others."""
    X, weights, rows = zip(*(part for part in parts if part is not None), strict=True)
    found = ClassRows(concatenate_rows(list(X)), np.concatenate(weights), np.concatenate(rows))
    kept = found.weights > 0
    return found if kept.all() or not kept.any() else ClassRows(*(part[kept] for part in found))


def numbers_of(_shared: None, number: int, rows: ClassRows) -> Codes:
    """The numbers of the rows of a class among all rows."""
    return rows.rows


def take_rows(_shared: None, number: int, rows: ClassRows, wanted: Codes) -> Any:
    """Some rows of a class."""
    return rows.X[wanted]


def solve_svc_pair(shared: PairTask, first: ClassRows, second: ClassRows) -> Any:
    """The boundary of two classes, the first positive: its `SvcState` over the rows of both."""
    model, kernel, _ = shared
    options = model._options()._replace(threads=threads_here(model._threads))
    both = (second, first)  # of two classes the second is positive
    y = np.repeat([0, 1], [len(own.rows) for own in both])
    X, weights = (
        concatenate_rows([own.X for own in both]),
        np.concatenate([o.weights for o in both]),
    )
    train = Training(X, y, np.arange(2), weights, np.ones(len(y)))

    def solve(device: Any) -> SvcState:
        monitor = FitMonitor(model.time_limit)
        return solve_svc(device, kernel, train, options, (), np.random.default_rng, monitor)

    return run_on(model._training_policy(X, kernel), solve)


def _keep_svc(
    model: Any,
    train: Training,
    numbers: Sequence[Codes],
    pair_fits: Sequence[SvcState],
    vectors: Any,
) -> None:
    """Set what a fit in memory sets, from the fits of all pairs."""
    k, order = len(numbers), np.concatenate(numbers)
    segments = class_segments(train.y[order], k)
    fits = [
        state.fits[0]._replace(
            rows=np.r_[segments[b], segments[a]][state.order][state.fits[0].rows]
        )
        for (a, b), state in zip(pairs(k), pair_fits, strict=True)
    ]
    support = Support.of(fits, k, "ovo", segments=segments)
    own = np.split(support.rows, support.cuts[1:-1])
    found = vectors([rows - segment.start for rows, segment in zip(own, segments, strict=True)])
    words = f"{len(fits)} pairs of classes on a cluster"
    tolerance = min(state.tolerance for state in pair_fits)
    model.shape_fit_ = (len(train.y), model.n_features_in_)
    model._keep(train, SvcState(order, support, fits, None, words, tolerance), found)
    warn_if_unfinished(type(model).__name__, model._options(), fits)


def solve_perceptron_pair(shared: PairTask, first: ClassRows, second: ClassRows) -> Any:
    """The mistakes of a pair of classes, the first positive; their rows are numbers among all."""
    model, kernel, n = shared
    options = model._options()._replace(threads=threads_here(model._threads))
    rows = np.concatenate([first.rows, second.rows])
    order = np.argsort(rows)
    sides = np.repeat([1, -1], [len(first.rows), len(second.rows)]).astype(np.int8)[order]
    weights = np.concatenate([first.weights, second.weights])[order]
    X, monitor = concatenate_rows([first.X, second.X])[order], FitMonitor(model.time_limit)
    among = (rows[order], n)
    found = fit_pair(kernel, X, sides, weights, among, options, generator(model), monitor)
    return found._replace(mistakes=found.mistakes._replace(rows=among[0][found.mistakes.rows]))


def _keep_perceptron(
    model: Any, train: Training, numbers: Sequence[Codes], pair_fits: Sequence[Any], vectors: Any
) -> None:
    """Set what a fit in memory sets, from the mistakes of all pairs."""

    def support_vectors(support: Codes) -> Any:
        own = [np.flatnonzero(np.isin(rows, support)) for rows in numbers]
        met = np.concatenate([rows[some] for rows, some in zip(numbers, own, strict=True)])
        return vectors(own)[np.argsort(met)]

    found = join_pairs(pair_fits, len(train.y))
    model._begun = {name: getattr(model, name) for name in ("budget", "multi_class", "bias")}
    model._square, model.gram_ = 0.0, f"{len(pair_fits)} pairs of classes on a cluster"
    model._keep(train, found, support_vectors)
    warn_of_mistakes(type(model).__name__, found)
