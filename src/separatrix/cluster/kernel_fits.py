"""Kernel machines: a task for each pair of classes, for some folds, or all samples on one worker.

One-vs-one boundaries are problems of two classes each, so a task needs the rows of those classes alone; the
rows of a class are brought together once. Other codings need all rows, on a worker with room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from dask.delayed import Delayed
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
from separatrix.cluster.partitions import Samples, partition
from separatrix.errors import MemoryBudgetError, UnsupportedError
from separatrix.estimators.base.class_pairs import (
    BlockFacts,
    ClassRows,
    PairTask,
    facts_of,
    gather_class,
    keep_perceptron,
    keep_svc,
    size_of,
    solve_perceptron_pair,
    solve_svc_pair,
    split_classes,
    squares_of,
)
from separatrix.estimators.base.kernel_search import search_folds, train_best
from separatrix.estimators.base.labelled_blocks import concatenate_rows
from separatrix.estimators.base.prepare import Training
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes

ROOM = 0.5  # share of the memory of a worker that gathered samples may take


def fit_gathered(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """A kernel machine: all samples go to one worker, if it has room for them."""
    model._check_parameters()
    name = short_name(model)
    call, gathered = task(f"{name}-fit", call_on_worker), _gather_samples(model, samples)
    (found,) = compute_calls(call(fit_on_worker, share(f"{name}-model", model), gathered))
    model.__dict__ |= found.__dict__
    return model


def fit_on_worker(model: Any, samples: tuple[Any, ...]) -> Any:
    """The model, fitted to all samples."""
    return model.fit(*samples)


def _gather_samples(model: Any, samples: Samples) -> Delayed:
    """A task that gives all samples: X, y, and the weights if there are any."""
    name, parts = short_name(model), partition(*samples)
    sizes = compute_each(f"{name}-size", size_of, [(X,) for _, X in parts.samples])
    _require_room(model, "all samples", sum(sizes))
    columns = [
        list(column)
        for column in zip(*(block[1:] for block in parts.blocks), strict=True)
        if column[0] is not None
    ]
    return task(f"{name}-samples", join_columns)(columns)


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


def fit_search(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """`SVCCV` or `KernelPerceptronCV`: each worker searches some folds, one trains the best cell.

    A grid that widens, and a combination of kernels, are one search: they run on one worker.
    """
    model._check_parameters()
    if samples[2] is not None and not has_fit_parameter(model, "sample_weight"):
        raise UnsupportedError(f"fit of {type(model).__name__} takes no sample_weight")
    if model.widen or model._combines or not isinstance(model.cv, int):
        return fit_gathered(model, fit, samples)
    name, own = short_name(model), share(f"{short_name(model)}-model", model)
    (gathered,) = persist([_gather_samples(model, samples)])
    parts = min(model.cv, max(1, len(workers_in_use())))
    cuts = np.linspace(0, model.cv, parts + 1).astype(int).tolist()
    searched = [
        task(f"{name}-folds-{a}-{b - 1}", call_on_worker)(search_folds, own, gathered, slice(a, b))
        for a, b in pairwise(cuts)
    ]
    found = compute_calls(*searched)
    best = task(f"{name}-best", call_on_worker)(train_best, own, gathered, found)
    model.__dict__ |= compute_calls(best)[0].__dict__
    return model


def fit_pairs(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """`SVC` or `KernelPerceptron`: pairs of classes as tasks, where its boundaries are pairs."""
    model._check_parameters()
    svc = hasattr(model, "_method")
    if svc:  # balanced weights count rows, not their weights; the others need one matrix
        balanced = model.class_weight == "balanced" and samples[2] is not None
        whole = balanced or model._method or model.warm_start
    else:  # online accuracy, a budget and the radius of the samples are of all pairs together
        whole = model.min_gain is not None or model.budget is not None or model.bias is not None
    gather = model.multi_class != "ovo" or whole or model._precomputed
    blocks = None if gather else ClusterBlocks(model, samples, keep=True)
    if blocks is None or blocks.n_classes == 2:
        return fit_gathered(model, fit, samples)
    facts = blocks.each("size", facts_of, blocks.n_classes)
    if not svc and any(one.weightless for one in facts):
        return fit_gathered(model, fit, samples)
    counts = sum(one.counts for one in facts)
    size = int(np.sort(counts)[-2:].sum() / counts.sum() * sum(one.size for one in facts))
    _require_room(model, "two classes", size)
    kernel = _resolve_kernel(model, blocks, facts, int(counts.sum()))
    rows = _rows_of_classes(blocks, facts)
    numbers = compute_each(f"{blocks.name}-rows", attrgetter("rows"), [(one,) for one in rows])
    solve = solve_svc_pair if svc else solve_perceptron_pair
    shared = share(f"{blocks.name}-options", PairTask(model, kernel, int(counts.sum())))
    solved = [
        task(f"{blocks.name}-pair-{a}-{b}", solve_on_worker)(solve, shared, rows[a], rows[b])
        for a, b in pairs(blocks.n_classes)
    ]
    fits = compute(*solved, counted=solved)

    def vectors(wanted: list[Codes]) -> Any:
        """Some rows of each class, given by their positions in it."""
        taken = list(zip(rows, wanted, strict=True))
        return concatenate_rows(compute_each(f"{blocks.name}-vectors", take_rows, taken))

    model.kernel_, (model.classes_, _) = kernel, blocks.in_class_order()
    keep = keep_svc if svc else keep_perceptron
    codes = np.zeros(int(counts.sum()), dtype=np.intp)
    for c, own in enumerate(numbers):
        codes[own] = c
    ones, weights = np.ones(len(codes)), blocks.class_weights[codes]
    keep(model, Training(None, codes, model.classes_, ones, weights), numbers, fits, vectors)
    return model


def _resolve_kernel(model: Any, blocks: ClusterBlocks, facts: Sequence[BlockFacts], n: int) -> Any:
    """The kernel that the parameters mean on all samples, of which only sums are known."""
    given, d = model._kernel_parameters(), blocks.n_features
    if isinstance(model.kernel, str) and given["gamma"] == "scale":
        mean = sum(one.total for one in facts) / (n * d)
        variance = sum(blocks.each("variance", squares_of, mean)) / (n * d)
        if np.isfinite(variance):  # else the error of the fit in memory
            given["gamma"] = 1.0 / (d * variance) if variance > 0 else 1.0
    return resolve_kernel(type(model).__name__, model.kernel, np.zeros((1, d)), **given)


def _rows_of_classes(blocks: ClusterBlocks, facts: Sequence[BlockFacts]) -> list[Delayed]:
    """The rows of each class, brought together and kept."""
    k, starts = blocks.n_classes, np.cumsum([0, *(int(one.counts.sum()) for one in facts)])
    split = blocks.later("split", split_classes, k, starts)
    gather = task(f"{blocks.name}-class", gather_class)
    return persist([gather([part[c] for part in split], number=c) for c in range(k)])


def take_rows(rows: ClassRows, wanted: Codes) -> Any:
    """Some rows of a class."""
    return rows.X[wanted]


def solve_on_worker(
    solve: Callable[..., Any], shared: PairTask, first: ClassRows, second: ClassRows
) -> Any:
    """The boundary of two classes, on the threads of the worker."""
    return solve(shared, first, second, threads_here(shared.model._threads))
