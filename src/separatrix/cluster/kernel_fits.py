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

from separatrix.cluster import engine
from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.cluster.partitions import Samples, partition
from separatrix.errors import MemoryBudgetError, UnsupportedError
from separatrix.estimators.base import class_pairs
from separatrix.estimators.base.kernel_search import search_folds, train_best
from separatrix.estimators.base.labelled_blocks import concatenate_rows, short_name
from separatrix.estimators.base.prepare import Training
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.solvers.decomposition import pairs
from separatrix.types import Codes

ROOM = 0.5  # share of the memory of a worker that gathered samples may take


def fit_gathered(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """A kernel machine: all samples go to one worker, if it has room for them."""
    model._check_parameters()
    name, gathered = short_name(model), _gather_samples(model, samples)
    own = engine.share(f"{name}-model", model)
    (found,) = engine.compute_calls(class_pairs.fit_to_all, (f"{name}-fit", own, gathered))
    model.__dict__ |= found.__dict__
    return model


def _gather_samples(model: Any, samples: Samples) -> Delayed:
    """A task that gives all samples: X, y, and the weights if there are any."""
    name, parts = short_name(model), partition(*samples)
    blocks = [(X,) for _, X in parts.samples]
    sizes = engine.compute_each(f"{name}-size", class_pairs.size_of, blocks)
    _require_room(model, "all samples", sum(sizes))
    columns = zip(*(block[1:] for block in parts.blocks), strict=True)
    given = [list(column) for column in columns if column[0] is not None]
    return engine.call_each(f"{name}-samples", class_pairs.join_columns, [(given,)])[0]


def _require_room(model: Any, what: str, size: int) -> None:
    limits = [worker["memory_limit"] for worker in engine.workers_in_use()]
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
    name, own = short_name(model), engine.share(f"{short_name(model)}-model", model)
    (gathered,) = engine.persist([_gather_samples(model, samples)])
    parts = min(model.cv, max(1, len(engine.workers_in_use())))
    cuts = np.linspace(0, model.cv, parts + 1).astype(int).tolist()
    calls = [(f"{name}-folds-{a}-{b - 1}", own, gathered, slice(a, b)) for a, b in pairwise(cuts)]
    found = engine.compute_calls(search_folds, *calls)
    (best,) = engine.compute_calls(train_best, (f"{name}-best", own, gathered, found))
    model.__dict__ |= best.__dict__
    return model


def fit_pairs(model: Any, fit: Callable[..., Any], samples: Samples) -> Any:
    """`SVC` or `KernelPerceptron`: pairs of classes as tasks, where its boundaries are pairs."""
    model._check_parameters()
    svc, gather = hasattr(model, "_method"), class_pairs.needs_all(model, samples[2] is not None)
    blocks = None if gather else ClusterBlocks(model, samples, keep=True)
    if blocks is None or blocks.n_classes == 2:
        return fit_gathered(model, fit, samples)
    facts = blocks.each("size", class_pairs.facts_of, blocks.n_classes)
    if not svc and any(one.weightless for one in facts):
        return fit_gathered(model, fit, samples)
    counts = sum(one.counts for one in facts)
    size = int(np.sort(counts)[-2:].sum() / counts.sum() * sum(one.size for one in facts))
    _require_room(model, "two classes", size)
    kernel = _resolve_kernel(model, blocks, facts, int(counts.sum()))
    rows = _rows_of_classes(blocks, facts)
    classes = [(one,) for one in rows]
    numbers = engine.compute_each(f"{blocks.name}-rows", attrgetter("rows"), classes)
    solve = class_pairs.solve_svc_pair if svc else class_pairs.solve_perceptron_pair
    options = class_pairs.PairTask(model, kernel, int(counts.sum()))
    shared = engine.share(f"{blocks.name}-options", options)
    name, both = f"{blocks.name}-pair", pairs(blocks.n_classes)
    tasks = [(f"{name}-{a}-{b}", shared, rows[a], rows[b]) for a, b in both]
    fits = engine.compute_calls(solve, *tasks)

    def vectors(wanted: list[Codes]) -> Any:
        """Some rows of each class, given by their positions in it."""
        name, taken = f"{blocks.name}-vectors", list(zip(rows, wanted, strict=True))
        return concatenate_rows(engine.compute_each(name, class_pairs.take_rows, taken))

    model.kernel_, (model.classes_, _) = kernel, blocks.in_class_order()
    keep = class_pairs.keep_svc if svc else class_pairs.keep_perceptron
    codes = np.zeros(int(counts.sum()), dtype=np.intp)
    for c, own in enumerate(numbers):
        codes[own] = c
    ones, weights = np.ones(len(codes)), blocks.class_weights[codes]
    keep(model, Training(None, codes, model.classes_, ones, weights), numbers, fits, vectors)
    return model


def _resolve_kernel(
    model: Any, blocks: ClusterBlocks, facts: Sequence[class_pairs.BlockFacts], n: int
) -> Any:
    """The kernel that the parameters mean on all samples, of which only sums are known."""
    given, d = model._kernel_parameters(), blocks.n_features
    if isinstance(model.kernel, str) and given["gamma"] == "scale":
        mean = sum(one.total for one in facts) / (n * d)
        variance = sum(blocks.each("variance", class_pairs.squares_of, mean)) / (n * d)
        if np.isfinite(variance):  # else the error of the fit in memory
            given["gamma"] = 1.0 / (d * variance) if variance > 0 else 1.0
    return resolve_kernel(type(model).__name__, model.kernel, np.zeros((1, d)), **given)


def _rows_of_classes(
    blocks: ClusterBlocks, facts: Sequence[class_pairs.BlockFacts]
) -> list[Delayed]:
    """The rows of each class, brought together and kept."""
    k, starts = blocks.n_classes, np.cumsum([0, *(int(one.counts.sum()) for one in facts)])
    split = blocks.later("split", class_pairs.split_classes, k, starts)
    parts = [([part[c] for part in split],) for c in range(k)]
    return engine.persist(engine.call_each(f"{blocks.name}-class", class_pairs.gather_class, parts))
