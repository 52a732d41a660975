"""Samples of models that are linear or learn in one pass, on a GPU: where to compute, and blocks there.

The one place that decides this for them. A pass over samples in main memory takes about as long as their
copy, so "auto" moves them only for models that make many passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import MemoryBudgetError
from separatrix.estimators.base.blocks import ArrayBlocks, StreamBlocks, TensorBlocks
from separatrix.runtime.blocks import in_words
from separatrix.runtime.device import (
    DevicePolicy,
    as_numpy,
    as_tensor,
    free_bytes,
    is_tensor,
    run_on,
)
from separatrix.runtime.device_rows import device_rows, to_device
from separatrix.runtime.sums import SumsItself, dense
from separatrix.types import Block, Codes

Found = TypeVar("Found")

LARGE_VALUES = 2**24  # of samples in main memory that are worth a copy if they are read many times


class DeviceBlocks:
    """A checked training set as blocks of tensors on a device: samples, class codes and weights.

    With `held`, all samples are on the device in float64 if they fit, and are one block.
    """

    def __init__(
        self, blocks: ArrayBlocks | StreamBlocks, device: Any, *, held: bool = False
    ) -> None:
        self._blocks, self._device = blocks, device
        self._all: Block | None = None
        if isinstance(blocks, ArrayBlocks):
            self._y, self._weights = _labels_and_weights(blocks, device)
            if held and 8 * blocks.X.shape[0] * self.n_features <= free_bytes(device) // 2:
                X = to_device(blocks.X, device)
                self._all = Block(X, self._y.long(), self._weights)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._blocks.n_features

    @property
    def n_classes(self) -> int:
        """Number of classes; of an iterable, those met so far."""
        return self._blocks.n_classes

    def __iter__(self) -> Iterator[Block]:
        blocks = self._blocks
        if self._all is not None:
            yield self._all
        elif isinstance(blocks, ArrayBlocks):
            for rows, X in device_rows(blocks.X, self._device):
                yield Block(X.double(), self._y[rows].long(), self._weights[rows])
        else:
            for X, y, weights in blocks:
                yield Block(
                    to_device(X if is_tensor(X) else dense(X), self._device),
                    as_tensor(y, self._device),
                    as_tensor(weights, self._device),
                )

    def classes_in(self, block: Block) -> int:
        """Number of classes that the codes of a block are of."""
        return self._blocks.classes_in(block)

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each."""
        return self._blocks.in_class_order()

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> Any:
        """One block of one sample in `every`; None if the samples are not all on the device."""
        if self._all is None:
            return None
        parts: tuple[Any, ...] = self._all
        return [Block(*(part[::every].contiguous() for part in parts))]


def _labels_and_weights(blocks: ArrayBlocks, device: Any) -> tuple[Any, Any]:
    """Class codes, copied in the shortest type, and weights on a device."""
    if isinstance(blocks, TensorBlocks):
        import torch  # optional

        codes = blocks.codes.to(device)
        return codes, torch.ones(len(codes), dtype=torch.float64, device=device)
    types = (np.uint8, np.int16, np.int64)
    narrow = next(t for t in types if blocks.n_classes <= np.iinfo(t).max + 1)
    return as_tensor(blocks.train.y.astype(narrow), device), as_tensor(blocks.weights, device)


def training_policy(
    model: Any,
    blocks: ArrayBlocks | StreamBlocks,
    *,
    passes: bool = False,
    obstacle: str | None = None,
) -> DevicePolicy:
    """Where a model learns: `passes` if it reads its samples many times."""
    X = blocks.X if isinstance(blocks, ArrayBlocks) else None
    if isinstance(blocks, SumsItself):
        obstacle = "samples on a cluster"
    return sample_policy(model, X, passes=passes, obstacle=obstacle)


def sample_policy(
    model: Any, X: Any, *, passes: bool = False, obstacle: str | None = None
) -> DevicePolicy:
    """Where a model reads samples X; a model without a `device` stays on the CPU."""
    dense_rows = X is not None and not issparse(X)  # "auto" leaves sparse ones where they are
    large = passes and dense_rows and X.shape[0] * X.shape[1] >= LARGE_VALUES
    device = getattr(model, "device", "cpu")
    arrays = () if X is None else (X,)
    return DevicePolicy(type(model).__name__, device, arrays, large, obstacle)


def learn_on(
    policy: DevicePolicy,
    blocks: ArrayBlocks | StreamBlocks,
    function: Callable[[Any], Found],
    *,
    held: bool = False,
) -> Found:
    """`function` of the blocks where the policy says: on a device they hold tensors."""

    def on(device: Any) -> Found:
        if device is None:
            return function(in_memory(blocks))
        return function(DeviceBlocks(blocks, device, held=held))

    return run_on(policy, on)


def in_memory(blocks: Any) -> Any:
    """The same blocks, of arrays in main memory."""
    if not isinstance(blocks, ArrayBlocks) or not is_tensor(blocks.X):
        return blocks
    return ArrayBlocks(blocks.train._replace(X=as_numpy(blocks.train.X)))


def map_samples(
    model: Any, X: Any, function: Callable[[Any], Any], *, obstacle: str | None = None
) -> list[Any]:
    """`function` of checked samples: of all at once as an array, or of each block of them on a device."""

    def on(device: Any) -> list[Any]:
        if device is None:
            return [function(as_numpy(X))]
        return [function(part) for _, part in device_rows(X, device)]

    return run_on(sample_policy(model, X, obstacle=obstacle), on)


def map_rows(
    model: Any, X: Any, function: Callable[[Any], Any], *, obstacle: str | None = None
) -> Any:
    """The rows that `function` makes of samples: an array, or a tensor if X is one."""
    tensors = is_tensor(X)

    def rows_of(part: Any) -> Any:
        return function(part) if tensors else as_numpy(function(part))

    parts = map_samples(model, X, rows_of, obstacle=obstacle)
    if len(parts) == 1:
        return parts[0]
    if not is_tensor(parts[0]):
        return np.concatenate(parts)
    import torch  # optional

    return torch.cat(parts)


def require_room(owner: str, device: Any, size: int) -> None:
    """Raise an error if so many bytes do not fit on a device."""
    if device.type == "cuda" and size > free_bytes(device):
        raise MemoryBudgetError(
            f"{owner} needs {in_words(size)} on {device}, which has {in_words(free_bytes(device))}; take "
            "fewer samples at a time, or use device='cpu'"
        )
