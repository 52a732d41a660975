"""A training set as blocks: arrays, memory maps, or iterables of (X, y) or (X, y, weights).

Every block is checked on arrival. The labels of an iterable get codes in the order of their first
occurrence; `in_class_order` then sorts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import DataError
from separatrix.estimators.base.labels import as_labels
from separatrix.estimators.base.prepare import (
    Training,
    check_samples,
    check_weights,
    prepare,
)
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.device import as_numpy, device_name, dtype_of, is_tensor
from separatrix.runtime.sums import rows_of_a_block, shared_rows
from separatrix.types import Block, Codes, Vector

MOST_LABELS = 2**16  # between the least and the largest label that get their codes on a GPU
WHOLE = ("uint8", "int8", "int16", "int32", "int64")


class ArrayBlocks:
    """A checked training set in memory, or mapped into it, cut into blocks of rows."""

    def __init__(self, train: Training, rows: int | None = None) -> None:
        self.train = train
        self.weights = train.weights * train.class_weights
        self._rows = rows or rows_of_a_block(self.n_features)

    @property
    def X(self) -> Any:
        """The samples, (n, d)."""
        return self.train.X

    @property
    def classes(self) -> Any:
        """The labels, sorted."""
        return self.train.classes

    @property
    def weightless(self) -> bool:
        """Whether all samples have weight 0."""
        return not self.weights.any()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def __len__(self) -> int:
        return -(-int(self.X.shape[0]) // self._rows)

    def __iter__(self) -> Iterator[Block]:
        for rows in row_blocks(self.train.X.shape[0], self._rows):
            yield Block(shared_rows(self.train.X, rows), self.train.y[rows], self.weights[rows])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def classes_in(self, block: Block) -> int:
        """Number of classes that the codes of a block are of."""
        return self.n_classes

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each."""
        return self.classes, np.arange(self.n_classes)

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> ArrayBlocks:
        """The same in blocks of `rows`, one sample in `every`, with that dtype."""
        train = self.train
        if every > 1:
            part = slice(None, None, every)
            train = Training(
                train.X[part],
                train.y[part],
                train.classes,
                train.weights[part],
                train.class_weights[part],
            )
        if dtype is not None:
            train = train._replace(X=train.X.astype(dtype, copy=False))
        return ArrayBlocks(train, rows)


class TensorBlocks(ArrayBlocks):
    """Samples and class codes as tensors on one device, all of weight 1.

    Copies of millions of labels and weights to the CPU and back take longer than a fit that reads its
    samples ten times, so NumPy arrays of them are made only when asked for.
    """

    def __init__(self, X: Any, codes: Any, classes: Any) -> None:
        self._X, self.codes, self._classes = X, codes, classes
        self._rows = rows_of_a_block(int(X.shape[1]))

    @property
    def X(self) -> Any:
        return self._X

    @property
    def classes(self) -> Any:
        return self._classes

    @cached_property
    def train(self) -> Training:  # type: ignore[override]
        """The same with labels and weights in main memory."""
        n = len(self._X)
        codes = as_numpy(self.codes).astype(np.intp, copy=False)
        return Training(self._X, codes, self._classes, np.ones(n), np.ones(n))

    @cached_property
    def weights(self) -> Vector:  # type: ignore[override]
        """Of all samples."""
        return np.ones(len(self._X))

    @property
    def weightless(self) -> bool:
        return False


class StreamBlocks:
    """Blocks from an iterable, checked on arrival."""

    def __init__(self, estimator: Any, source: Iterable[Any]) -> None:
        self.source = source
        self._n_features = 0
        self._estimator = estimator
        self._codes: dict[Any, int] = {}
        self._started = False
        self._sorted = False
        self._weighted: set[int] = set()  # codes of samples with a weight above 0, first pass

    def __iter__(self) -> Iterator[Block]:
        for number, item in enumerate(self.source):
            if not len(split_block(number, item)[1]):
                continue
            X, y, weights = self._checked(number, item)
            for rows in row_blocks(X.shape[0], rows_of_a_block(X.shape[1])):
                yield Block(X[rows], y[rows], weights[rows])
        if not self._started:
            raise DataError("the iterable of blocks held no sample at all")
        if len(self._codes) < 2:
            raise DataError(
                f"{type(self._estimator).__name__} needs samples of at least 2 classes; "
                f"got one class, {next(iter(self._codes))!r}"
            )
        if len(self._weighted) < 2:
            raise DataError(
                f"{type(self._estimator).__name__} needs samples of at least 2 classes; "
                "all but one class have weight 0"
            )

    @property
    def n_features(self) -> int:
        """Number of features, after the first block."""
        return self._n_features

    @property
    def n_classes(self) -> int:
        """Number of classes so far."""
        return len(self._codes)

    def classes_in(self, block: Block) -> int:
        """Number of classes so far."""
        return self.n_classes

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> None:
        """None: the blocks of an iterable are not resized."""

    @property
    def repeatable(self) -> bool:
        """Whether the blocks can be read more than once."""
        return iter(self.source) is not self.source

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code each had; from now on codes are in that order."""
        labels = np.array(list(self._codes))
        order = np.argsort(labels)
        self._codes = {label: code for code, label in enumerate(labels[order].tolist())}
        self._sorted = True
        return labels[order], order

    def _checked(self, number: int, item: Any) -> tuple[Any, Codes, Any]:
        X, y, weights = split_block(number, item)
        X, y = check_samples(self._estimator, X, y=y, reset=not self._started)
        self._started, self._n_features = True, X.shape[1]
        y = as_labels(y)
        weights = check_weights(weights, X.shape[0])
        found, inverse = np.unique(y, return_inverse=True)
        if self._sorted and not set(found.tolist()) <= set(self._codes):
            raise DataError(
                f"block {number} holds labels that the first pass did not have; "
                "each pass must yield the same blocks"
            )
        kinds = {isinstance(label, str) for label in (*self._codes, *found.tolist())}
        if len(kinds) > 1:
            raise DataError(
                f"labels must be all strings or all numbers; block {number} holds the other kind"
            )
        met = np.array(
            [self._codes.setdefault(label, len(self._codes)) for label in found.tolist()]
        )
        codes = met[inverse].astype(np.intp)
        if not self._sorted:
            self._weighted.update(np.flatnonzero(np.bincount(codes, weights)).tolist())
        return X, codes, weights


def require_no_weights(sample_weight: Any) -> None:
    """Raise an error if weights are given besides an iterable of blocks."""
    if sample_weight is not None:
        raise DataError(
            "`sample_weight` cannot be combined with an iterable of blocks; yield (X, y, weights)"
        )


def split_block(number: int, block: Any) -> tuple[Any, Any, Any]:
    """X, y and the weights, or None, of a block."""
    if not isinstance(block, tuple) or len(block) not in (2, 3):
        raise DataError(
            "X without y must yield blocks (X, y) or (X, y, sample_weight); "
            f"block {number} is {type(block).__name__}"
        )
    return block if len(block) == 3 else (*block, None)


def yields_blocks(X: Any, y: Any) -> bool:
    """Whether X is an iterable of blocks and not a table of samples."""
    if y is not None or issparse(X) or hasattr(X, "shape") or hasattr(X, "__array__"):
        return False
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], tuple) and len(X[0]) in (2, 3) and np.ndim(X[0][0]) == 2
    return isinstance(X, Iterable) and not isinstance(X, str | bytes)


def tensor_blocks(estimator: Any, X: Any, y: Any, *, dtype: Any = "numeric") -> TensorBlocks | None:
    """The training set of tensors of numbers and of whole numbers as labels; None for any other one.

    What is wrong with labels is left to the checks of other training sets.
    """
    if not is_tensor(X) or not is_tensor(y) or X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        return None
    kept = device_name(X) != "cpu" or getattr(estimator, "device", "cpu") == "cuda"
    if not kept or device_name(X) != device_name(y) or str(dtype_of(y)) not in WHOLE or not len(y):
        return None
    import torch  # optional

    least, most = torch.stack(torch.aminmax(y)).tolist()
    if most - least >= MOST_LABELS or max(-least, most) >= 2**62:
        return None
    shifted = y.long() - least
    present = as_numpy(torch.bincount(shifted, minlength=most - least + 1)) > 0
    classes = (np.flatnonzero(present) + least).astype(dtype_of(y))
    if len(classes) < 2:
        return None
    rank = torch.as_tensor(np.cumsum(present) - 1, device=y.device)
    checked = check_samples(estimator, X, dtype=dtype)
    if not is_tensor(checked):
        return None
    return TensorBlocks(checked, shifted if present.all() else rank[shifted], classes)


def blocks_of(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, **more: Any
) -> ArrayBlocks | StreamBlocks:
    """The training set of an estimator as blocks, from arrays or an iterable."""
    if isinstance(X, StreamBlocks):
        return X
    if not yields_blocks(X, y):
        if sample_weight is None and more.get("class_weight") is None:
            found = tensor_blocks(estimator, X, y, dtype=more.get("dtype", "numeric"))
            if found is not None:
                return found
        return ArrayBlocks(prepare(estimator, X, y, sample_weight, **more))
    require_no_weights(sample_weight)
    if more.get("class_weight") is not None:
        raise DataError(
            "`class_weight` cannot be combined with an iterable of blocks; yield (X, y, weights)"
        )
    return StreamBlocks(estimator, X)


def require_repeatable(blocks: ArrayBlocks | StreamBlocks, why: str) -> None:
    """Raise an error for an iterator that can be read only once."""
    if isinstance(blocks, StreamBlocks) and not blocks.repeatable:
        raise DataError(
            f"{why}, but the blocks can be read only once; pass a list, or an object whose "
            "__iter__ starts again"
        )
