"""Models whose fit is one sum over the samples: they fit in parts, and fits can be merged."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError
from separatrix.estimators.base.blocks import (
    ArrayBlocks,
    StreamBlocks,
    blocks_of,
    require_no_weights,
    split_block,
    yields_blocks,
)
from separatrix.estimators.base.device_samples import (
    DeviceBlocks,
    learn_on,
    training_policy,
)
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.parameters import Estimator
from separatrix.estimators.base.prepare import (
    classes_of_stream,
    prepare,
    require_whole,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import total
from separatrix.runtime.threads import thread_count
from separatrix.types import Block


class OnePass(CallbackSupportMixin, Estimator):
    """A model that learns from sums: `_part` of a block, `_merge_sums` of two, `_learn` from the total.

    A part has `taken(order)`, which reorders its classes.
    """

    classes_: Any
    _sums: Any
    _merge_sums: Callable[[Any, Any], Any]  # a static method
    _after_sums: ClassVar[frozenset[str]] = frozenset()  # parameters that the sums do not depend on

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), and their labels y, (n,), or from an iterable of blocks.

        A block is (X, y) or (X, y, sample_weight); y is then None, and one block is in memory at a time.
        """
        self._check_parameters()
        return self._fit_blocks(blocks_of(self, X, y, sample_weight), sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more samples, or blocks of them; all `classes` are named in the first call."""
        self._check_parameters()
        self._require_sums("partial_fit")
        if yields_blocks(X, y):
            require_no_weights(sample_weight)
            for number, block in enumerate(X):
                rows, labels, weights = split_block(number, block)
                if len(labels):
                    self.partial_fit(rows, labels, classes, weights)
            check_is_fitted(self, msg="the iterable of blocks held no sample at all")
            return self
        begun = hasattr(self, "classes_")
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            classes=classes_of_stream(self, classes),
            reset=not begun,
        )
        more = self._total(ArrayBlocks(train))
        self._sums = finite(self._merge_sums(self._sums, more) if begun else more)
        self.classes_ = train.classes
        return self._learn()

    def merge(self, *others: Any) -> Self:
        """Add what other models of this type and with the same classes learned from other samples."""
        check_is_fitted(self)
        self._require_sums("merge")
        for other in others:
            self._require_like(other)
            self._sums = finite(self._merge_sums(self._sums, other._sums))
        return self._learn()

    def _fit_again(self, other: Self) -> Self:
        """Fit to the samples of another model from its sums, if `_can_fit_again`."""
        self._check_parameters()
        for name in ("classes_", "n_features_in_", "_sums", "_form"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        return self._learn_all()

    def _can_fit_again(self, other: Self, changed: Set[str]) -> bool:
        """Whether the sums of another model are those of this one, which differs in some parameters."""
        return changed <= self._after_sums

    def _learn_all(self) -> Self:
        """Learn from sums over all samples."""
        return self._learn()

    def _sum_up(self, blocks: ArrayBlocks | StreamBlocks) -> None:
        """Read all blocks once."""
        steps = len(blocks) if isinstance(blocks, ArrayBlocks) else None
        with monitored(self, None, None, steps=steps, task="block") as monitor:
            sums = self._total(blocks, monitor, threads=1 if steps == 1 else thread_count())
        self.classes_, order = blocks.in_class_order()
        self._sums = finite(sums.taken(order))

    def _total(
        self,
        blocks: ArrayBlocks | StreamBlocks,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> Any:
        """The sums of all blocks, on the CPU or on a GPU."""

        def summed(parts: Any) -> Any:
            return total(
                lambda block: self._part_of(block, parts.classes_in(block)),
                parts,
                self._merge_sums,
                monitor,
                threads=1 if isinstance(parts, DeviceBlocks) else threads,
            )

        policy = training_policy(self, blocks, obstacle=self._gpu_obstacle)
        return learn_on(policy, blocks, summed)

    @property
    def _gpu_obstacle(self) -> str | None:
        """Why a model with these parameters cannot learn on a GPU, or None."""
        return None

    def _part_of(self, block: Block, n_classes: int) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # checked in the total
            return self._part(block, n_classes)

    def _require_like(self, other: Any) -> None:
        name = type(self).__name__
        if type(other) is not type(self):
            raise DataError(f"{name} can only be merged with another; got {type(other).__name__}")
        check_is_fitted(other)
        other._require_sums("merge")
        if list(other.classes_) != list(self.classes_):
            raise DataError(
                f"models to merge must have the same classes; got {self.classes_.tolist()} "
                f"and {other.classes_.tolist()}"
            )
        if other.n_features_in_ != self.n_features_in_:
            raise DataError(
                f"models to merge must have the same features; got {self.n_features_in_} "
                f"and {other.n_features_in_}"
            )

    def _fit_blocks(self, blocks: ArrayBlocks | StreamBlocks, sample_weight: Any) -> Self:
        self._sum_up(blocks)
        return self._learn()

    def _require_sums(self, what: str) -> None:
        """Raise an error if the model cannot be continued from its sums."""
        require_whole(self, what)

    def _part(self, block: Block, n_classes: int) -> Any:
        raise NotImplementedError

    def _learn(self) -> Self:
        raise NotImplementedError


def finite(sums: Any) -> Any:
    """The sums; raises an error if they overflowed."""
    for part in sums:
        if isinstance(part, np.ndarray) and not np.isfinite(part).all():
            raise DataError(
                "sums over the samples overflowed; scale the features, for example with "
                "StandardScaler, or the weights"
            )
    return sums
