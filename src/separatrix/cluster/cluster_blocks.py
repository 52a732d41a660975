"""A training set on a cluster as blocks that sum themselves up where they are.

`ClusterBlocks` replaces `StreamBlocks`: solvers hand `total` a function of a block and a merge, and get
the merged parts. Blocks are checked, cut and summed in one task each; parts with the labels that no
other block may have are aligned when they are merged, so that no pass over the labels comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from functools import partial, reduce
from typing import Any, NamedTuple, cast

import numpy as np
from dask.delayed import Delayed
from scipy.sparse import issparse

from separatrix.cluster.engine import (
    compute,
    map_blocks,
    persist,
    reduce_tree,
    short_name,
    task,
)
from separatrix.cluster.partitions import Partitions
from separatrix.errors import DataError, SeparatrixError
from separatrix.estimators.base.blocks import StreamBlocks, split_block
from separatrix.estimators.base.labels import as_labels, encode_labels
from separatrix.estimators.base.prepare import check_samples, check_weights, class_weights
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import rows_of_a_block, shared_rows, total
from separatrix.types import Block, Codes, Vector


class CheckedBlock(NamedTuple):
    """Checked samples of one block; codes are of its own labels, or of all classes."""

    number: int
    labels: Any  # shape: (k,); sorted
    block: Block
    names: Any  # of the features, or None


class LabelledPart(NamedTuple):
    """What is known of some blocks: their labels, the weight of each, and the sums over them."""

    number: int  # of the first block
    labels: Any  # shape: (k,); sorted
    weight: Vector  # shape: (k,)
    n_features: int
    names: Any
    part: Any


class BlockTask(NamedTuple):
    """What a task needs besides its block; sent once."""

    estimator: Any
    dtype: Any = "numeric"
    classes: Any = None  # None: codes are of the labels of the block
    class_weight: Any = None  # shape: (k,); None: not used
    part_of: Any = None
    merge: Any = None


class BlockView:
    """What a function of a block may ask of the training set on a worker."""

    def __init__(self, classes: Any) -> None:
        self.classes = classes

    def classes_in(self, block: Block) -> int:
        """Number of classes that the codes of a block are of."""
        return int(block.y.max()) + 1 if self.classes is None else len(self.classes)


class ClusterBlocks(StreamBlocks):
    """Blocks on a cluster; with `keep` they are checked once and stay where they are.

    Kept blocks have the weights of samples times those of `class_weight`, unless `weigh_classes` is False.
    """

    def __init__(
        self,
        estimator: Any,
        parts: Partitions,
        *,
        keep: bool = False,
        dtype: Any = "numeric",
        weigh_classes: bool = True,
    ) -> None:
        super().__init__(estimator, ())
        self._parts, self._name = parts, short_name(estimator)
        self._task = BlockTask(estimator, dtype)
        self._classes: Any = None
        self._kept: list[Delayed] | None = None
        self._passes = 0
        self.total_weight: float = 0.0
        self.class_weights: Vector = np.empty(0)
        if keep:
            self._keep(weigh_classes)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockView, (self._classes,)

    def __iter__(self) -> Iterator[Block]:
        raise TypeError("blocks on a cluster are not read one by one; use total")

    @property
    def n_classes(self) -> int:
        """Number of classes, after the first pass."""
        return 0 if self._classes is None else len(self._classes)

    def classes_in(self, block: Block) -> int:
        """Number of classes that the codes of a block are of."""
        return BlockView(self._classes).classes_in(block)

    @property
    def repeatable(self) -> bool:
        """Always: blocks are computed anew, or kept."""
        return True

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each."""
        return self._classes, np.arange(self.n_classes)

    def merge_parts(
        self,
        part_of: Callable[[Block], Any],
        merge: Callable[[Any, Any], Any],
        monitor: FitMonitor | None = None,
    ) -> Any:
        """The merged parts of all blocks, in their order: one task for each block, then a tree."""
        self._passes += 1
        shared = self._task._replace(part_of=part_of, merge=merge)
        if self._kept is None:
            name, function = f"{self._name}-sums", cast(Callable[..., Any], sum_block)
            blocks = self._parts.blocks
        else:
            name, function = f"{self._name}-step-{self._passes}", sum_checked
            blocks = [(one,) for one in self._kept]
        parts = map_blocks(name, function, shared, blocks)
        tree = reduce_tree(f"{self._name}-merge", partial(merge_labelled, merge), parts)
        (found,) = compute(tree, counted=parts)
        found = self._learn_labels(found)
        if monitor is not None:
            monitor.step()
        return found.part

    def checked(self, name: str = "check") -> list[Delayed]:
        """One task for each block that checks it, or the kept blocks."""
        if self._kept is not None:
            return self._kept
        return map_blocks(f"{self._name}-{name}", check_block, self._task, self._parts.blocks)

    def _keep(self, weigh_classes: bool) -> None:
        """Check all blocks, find the classes, and persist the blocks with codes of all classes."""
        kept, label = persist(self.checked()), task(f"{self._name}-labels", labels_of)
        labels = [label(one, number=i) for i, one in enumerate(kept)]
        tree = reduce_tree(f"{self._name}-merge", partial(merge_labelled, None), labels)
        (found,) = compute(tree, counted=labels)
        found = self._learn_labels(found)
        self.total_weight = float(found.weight.sum())
        self.class_weights = _weights_of_classes(self._task.estimator, found.labels, found.weight)
        if weigh_classes:
            self._task = self._task._replace(class_weight=self.class_weights)
        recoded = map_blocks(f"{self._name}-codes", recode, self._task, [(one,) for one in kept])
        self._kept = persist(recoded)

    def _learn_labels(self, found: LabelledPart | None) -> LabelledPart:
        if found is None:
            raise DataError("the blocks held no sample at all")
        if self._classes is not None:
            return found
        model, name = self._task.estimator, type(self._task.estimator).__name__
        if len(found.labels) < model._least_classes:
            raise DataError(
                f"{name} needs samples of at least 2 classes; got one class, "
                f"{found.labels.tolist()[0]!r}"
            )
        if np.count_nonzero(found.weight) < model._least_weighted:
            raise DataError(
                f"{name} needs samples of at least 2 classes; all but one class have weight 0"
            )
        if not found.weight.any():
            raise DataError("`sample_weight` must have a weight above zero; all weights are zero")
        self._classes, self._n_features = found.labels, found.n_features
        self._task = self._task._replace(classes=self._classes)
        model.n_features_in_ = found.n_features
        model.__dict__.pop("feature_names_in_", None)
        if found.names is not None:
            model.feature_names_in_ = found.names
        return found


def _weights_of_classes(model: Any, labels: Any, weight: Vector) -> Vector:
    """Weight of each class, (k,): that of `class_weight`, or balanced by the weights of the samples."""
    given = getattr(model, "class_weight", None)
    if given is None:
        return np.ones(len(labels))
    if isinstance(given, str) and given == "balanced":
        return np.asarray(weight.sum() / (len(labels) * np.maximum(weight, 1e-300)))
    class_weights(model, given, labels, labels)  # raises errors
    return np.array([float(given.get(label, 1.0)) for label in labels.tolist()])


def check_block(task: BlockTask, number: int, X: Any, y: Any, weights: Any) -> CheckedBlock | None:
    """A block through the checks of the estimator; errors name it. None if it has no rows."""
    if y is None and isinstance(X, tuple):
        X, y, weights = split_block(number, X)
    if not X.shape[0]:
        return None
    model = copy(task.estimator)  # the checks set attributes
    try:
        X, y = check_samples(model, X, y=y, dtype=task.dtype)
        labels, codes = encode_labels(as_labels(y))
        weights = check_weights(weights, X.shape[0])
    except (ValueError, TypeError) as error:
        raise DataError(f"block {number}{_row_at_fault(X)}: {error}") from None
    block = Block(X, codes.astype(np.intp), weights)
    checked = CheckedBlock(number, labels, block, getattr(model, "feature_names_in_", None))
    return checked if task.classes is None else recode(task, number, checked)


def _row_at_fault(X: Any) -> str:
    """The first row that has a value which is not a finite number, as words."""
    rows: Any
    try:
        if issparse(X):
            bad = np.flatnonzero(~np.isfinite(X.data))
            rows = np.searchsorted(X.tocsr().indptr, bad[:1], side="right") - 1
        else:
            values = np.asarray(X)
            if values.dtype.kind == "O":
                rows = [i for i, row in enumerate(values) if not _are_finite(row)]
            else:
                rows = np.flatnonzero(~np.isfinite(values).all(axis=1))
    except (TypeError, ValueError):
        return ""
    return f", row {rows[0]}" if len(rows) else ""


def _are_finite(row: Any) -> bool:
    try:
        return bool(np.isfinite(row.astype(np.float64)).all())
    except (TypeError, ValueError):
        return False


def recode(task: BlockTask, number: int, checked: CheckedBlock | None) -> CheckedBlock | None:
    """The block with codes of all classes, its weights times those of the classes."""
    if checked is None:
        return None
    classes, block = task.classes, checked.block
    position = np.minimum(np.searchsorted(classes, checked.labels), len(classes) - 1)
    if not np.array_equal(classes[position], checked.labels):
        raise DataError(
            f"block {number} holds labels that the first pass did not have; its source must give the "
            "same rows each time"
        )
    weights = block.weights
    codes = position[block.y].astype(np.intp)
    if task.class_weight is not None:
        weights = weights * task.class_weight[codes]
    return checked._replace(labels=classes, block=Block(block.X, codes, weights))


def sum_block(task: BlockTask, number: int, X: Any, y: Any, weights: Any) -> LabelledPart | None:
    """Check a block and sum it up."""
    return sum_checked(task, number, check_block(task, number, X, y, weights))


def sum_checked(task: BlockTask, number: int, checked: CheckedBlock | None) -> LabelledPart | None:
    """The merged parts of a block, cut so that its rows stay in the cache."""
    if checked is None:
        return None
    X, y, weights = checked.block
    cut = row_blocks(X.shape[0], rows_of_a_block(X.shape[1]))
    pieces = [Block(shared_rows(X, rows), y[rows], weights[rows]) for rows in cut]
    if task.classes is None:  # a piece need not have the last label
        pieces = [piece for piece in pieces if len(piece.y)]
    try:
        part = total(task.part_of, pieces, task.merge)
    except SeparatrixError as error:
        raise DataError(f"block {number}: {error}") from None
    if task.classes is None and hasattr(part, "grown"):
        part = part.grown(len(checked.labels))
    return labels_of(checked, part)


def labels_of(checked: CheckedBlock | None, part: Any = None) -> LabelledPart | None:
    """The labels of a block, and the weight of each."""
    if checked is None:
        return None
    X, y, weights = checked.block
    weight = np.bincount(y, weights, minlength=len(checked.labels)).astype(np.float64)
    d = int(X.shape[1])
    return LabelledPart(checked.number, checked.labels, weight, d, checked.names, part)


def merge_labelled(merge: Any, parts: list[LabelledPart | None]) -> LabelledPart | None:
    """Several parts as one; those of blocks without rows are left out."""
    kept = [part for part in parts if part is not None]
    if len(kept) > 1:  # a merge may write into the arrays of the first, which other tasks may read
        kept[0] = deepcopy(kept[0])
    return reduce(partial(_merge_two, merge), kept) if kept else None


def _merge_two(merge: Any, a: LabelledPart, b: LabelledPart) -> LabelledPart:
    if a.n_features != b.n_features:
        raise DataError(
            f"block {b.number} has {b.n_features} features, but block {a.number} has {a.n_features}"
        )
    if not _same(a.names, b.names):
        raise DataError(
            f"block {b.number} has other feature names than block {a.number}: {list(b.names)[:5]}, not "
            f"{list(a.names)[:5]}"
            if a.names is not None and b.names is not None
            else f"of blocks {a.number} and {b.number} only one has feature names"
        )
    labels = a.labels
    if not np.array_equal(a.labels, b.labels):
        if (a.labels.dtype.kind in "US") != (b.labels.dtype.kind in "US"):
            raise DataError(
                f"labels must be all strings or all numbers; block {b.number} holds the other kind than "
                f"block {a.number}"
            )
        labels = np.union1d(a.labels, b.labels)
        a, b = _aligned(a, labels), _aligned(b, labels)
    part = None if a.part is None else merge(a.part, b.part)
    return a._replace(labels=labels, weight=a.weight + b.weight, part=part)


def _same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or np.array_equal(a, b)


def _aligned(part: LabelledPart, labels: Any) -> LabelledPart:
    """The same with room for more labels, all in their order."""
    k = len(labels)
    order = np.full(k, -1)
    order[np.searchsorted(labels, part.labels)] = np.arange(len(part.labels))
    order[order < 0] = np.arange(len(part.labels), k)
    weight = np.append(part.weight, np.zeros(k - len(part.weight)))[order]
    sums = part.part.grown(k).taken(order) if hasattr(part.part, "taken") else part.part
    return part._replace(weight=weight, part=sums)
