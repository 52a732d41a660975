"""Kernel machines from the rows of two classes at a time: pairs are solved apart, and joined to one fit.

Nothing here needs all rows in one memory: blocks are split by class, the rows of a class are brought
together, and a pair needs those of its two classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.estimators.base.labelled_blocks import LabelledBlock, concatenate_rows
from separatrix.estimators.base.perceptron_fit import fit_pair, join_pairs
from separatrix.estimators.base.prepare import Training, generator
from separatrix.estimators.base.support import Support, class_segments
from separatrix.estimators.base.svc_fit import SvcState, solve_svc
from separatrix.estimators.base.svc_training import warn_if_unfinished
from separatrix.estimators.kernel_perceptron import warn_if_unfinished as warn_of_mistakes
from separatrix.kernels.base import Kernel
from separatrix.runtime.device import run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.decomposition import pairs
from separatrix.solvers.perceptron.kernel_perceptron import KernelPerceptronFit
from separatrix.types import Codes, Vector


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


def needs_all(model: Any, weighted: bool) -> bool:
    """Whether the boundaries of the model are not those of pairs that are fitted apart."""
    if hasattr(model, "_method"):  # balanced weights count rows, not their weights
        balanced = model.class_weight == "balanced" and weighted
        whole = balanced or model._method or model.warm_start
    else:  # online accuracy, a budget and the radius of the samples are of all pairs together
        whole = model.min_gain is not None or model.budget is not None or model.bias is not None
    return bool(model.multi_class != "ovo" or whole or model._precomputed)


def size_of(X: Any) -> int:
    """Bytes of the samples of a block."""
    if issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(np.asarray(X).nbytes)


def facts_of(found: LabelledBlock | None, n_classes: int) -> BlockFacts:
    """Bytes, rows of each class, rows without weight and the sum of the values of a block."""
    if found is None:
        return BlockFacts(0, np.zeros(n_classes, dtype=np.intp), 0, 0.0)
    X, y, weights = found.block
    counts = np.bincount(y, minlength=n_classes)
    weightless = int(np.count_nonzero(weights == 0))
    return BlockFacts(size_of(X), counts, weightless, float(X.sum(dtype=np.float64)))


def squares_of(found: LabelledBlock | None, mean: float) -> float:
    """The squared distances of the values of a block from the mean, summed."""
    if found is None:
        return 0.0
    X = found.block.X
    stored = X.data if issparse(X) else X
    zeros = float(np.prod(X.shape) - stored.size)  # that are not stored
    return float(np.square(stored - mean, dtype=np.float64).sum()) + zeros * mean**2


def split_classes(found: LabelledBlock | None, k: int, starts: Codes) -> list[ClassRows | None]:
    """The rows of each class in a block."""
    if found is None:
        return [None] * k
    X, y, weights = found.block
    rows = [np.flatnonzero(y == c) for c in range(k)]
    return [ClassRows(X[own], weights[own], starts[found.number] + own) for own in rows]


def gather_class(parts: list[ClassRows | None]) -> ClassRows:
    """The rows of a class in all blocks, without those of weight 0 if it has others."""
    X, weights, rows = zip(*(part for part in parts if part is not None), strict=True)
    found = ClassRows(concatenate_rows(list(X)), np.concatenate(weights), np.concatenate(rows))
    kept = found.weights > 0
    if kept.all() or not kept.any():
        return found
    return ClassRows(found.X[kept], found.weights[kept], found.rows[kept])


def solve_svc_pair(shared: PairTask, first: ClassRows, second: ClassRows) -> SvcState:
    """The boundary of two classes, the first positive: its `SvcState` over the rows of both."""
    model, kernel, _ = shared
    options = model._options().for_kernel(kernel, type(model).__name__)
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

    found: SvcState = run_on(model._training_policy(X, kernel), solve)
    return found


def keep_svc(
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
    support = replace(
        Support.of(fits, k, "ovo", segments=segments),
        intercept=np.concatenate([state.support.intercept for state in pair_fits]),
    )
    own = np.split(support.rows, support.cuts[1:-1])
    found = vectors([rows - segment.start for rows, segment in zip(own, segments, strict=True)])
    words = f"{len(fits)} pairs of classes on a cluster"
    tolerance = min(state.tolerance for state in pair_fits)
    model.shape_fit_ = (len(train.y), model.n_features_in_)
    model._keep(train, SvcState(order, support, fits, None, words, tolerance), found)
    warn_if_unfinished(type(model).__name__, model._options(), fits)


def solve_perceptron_pair(
    shared: PairTask, first: ClassRows, second: ClassRows
) -> KernelPerceptronFit:
    """The mistakes of a pair of classes, the first positive; their rows are numbers among all."""
    model, kernel, n = shared
    options = model._options()
    rows = np.concatenate([first.rows, second.rows])
    order = np.argsort(rows)
    sides = np.repeat([1, -1], [len(first.rows), len(second.rows)]).astype(np.int8)[order]
    weights = np.concatenate([first.weights, second.weights])[order]
    X, monitor = concatenate_rows([first.X, second.X])[order], FitMonitor(model.time_limit)
    among = (rows[order], n)
    found = fit_pair(kernel, X, sides, weights, among, options, generator(model), monitor)
    return found._replace(mistakes=found.mistakes._replace(rows=among[0][found.mistakes.rows]))


def keep_perceptron(
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


def fit_to_all(model: Any, samples: tuple[Any, ...]) -> Any:
    """The model, fitted to all samples."""
    return model.fit(*samples)


def join_columns(columns: list[list[Any]]) -> tuple[Any, ...]:
    """The blocks of X, of y, and of the weights, each as one."""
    more = [np.concatenate([np.asarray(part) for part in column]) for column in columns[1:]]
    return concatenate_rows(columns[0]), *more


def take_rows(rows: ClassRows, wanted: Codes) -> Any:
    """Some rows of a class."""
    return rows.X[wanted]
