"""A training set on a cluster as blocks that sum themselves up where they are.

`ClusterBlocks` replaces `StreamBlocks`: solvers hand `total` a function of a block and a merge, and get
the merged parts. A block is made, checked, cut and summed in one task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from dask.delayed import Delayed

from separatrix.cluster import engine
from separatrix.cluster.partitions import partition
from separatrix.errors import DataError
from separatrix.estimators.base import labelled_blocks as labelled
from separatrix.estimators.base.blocks import StreamBlocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.types import Block, Codes


class ClusterBlocks(StreamBlocks):
    """Blocks of a training set, (X, y, weights), on a cluster.

    With `keep` they are checked once and stay where they are. Kept blocks have the weights of samples
    times those of `class_weight`, unless `weigh_classes` is False.
    """

    def __init__(
        self,
        estimator: Any,
        samples: tuple[Any, ...],
        *,
        keep: bool = False,
        dtype: Any = "numeric",
        weigh_classes: bool = True,
    ) -> None:
        super().__init__(estimator, ())
        self._blocks: list[tuple[Any, ...]] = partition(*samples).blocks
        self._checks, self._kept, self._passes = labelled.BlockChecks(estimator, dtype), keep, 0
        self.name = labelled.short_name(estimator)
        if keep:
            self._keep(weigh_classes)

    def __getstate__(self) -> dict[str, Any]:
        """What a function of a block may ask for on a worker: `classes_in`."""
        return {"_checks": self._checks._replace(estimator=None)}

    def __iter__(self) -> Iterator[Block]:
        raise TypeError("blocks on a cluster are not read one by one; use total")

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def tasks(self) -> list[Delayed]:
        """Kept blocks."""
        return [block[0] for block in self._blocks]

    @property
    def n_classes(self) -> int:
        """Number of classes, after the first pass."""
        return 0 if self._checks.classes is None else len(self._checks.classes)

    def classes_in(self, block: Block) -> int:
        """Number of classes that the codes of a block are of."""
        return self.n_classes or int(block.y.max()) + 1

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each."""
        return self._checks.classes, np.arange(self.n_classes)

    def merge_parts(
        self,
        part_of: Callable[[Block], Any],
        merge: Callable[[Any, Any], Any],
        monitor: FitMonitor | None = None,
    ) -> Any:
        """The merged parts of all blocks, in their order: one task for each block, then a tree."""
        self._passes += 1
        if self._kept:
            parts = self.later(f"step-{self._passes}", labelled.sum_block, part_of, merge)
        else:
            parts = engine.fuse(self.later("sums", sum_raw, self._checks, part_of, merge))
        found = self._merge_tree(merge, parts)
        if monitor is not None:
            monitor.step()
        return found.part

    def each(self, step: str, function: Callable[..., Any], *shared: Any) -> Any:
        """The values of `function(block, *shared)` of kept blocks."""
        return engine.compute(*self.later(step, function, *shared))

    def later(self, step: str, function: Callable[..., Any], *shared: Any) -> list[Delayed]:
        """The same as tasks."""
        return engine.map_blocks(f"{self.name}-{step}", function, self._blocks, *shared)

    def _merge_tree(self, merge: Any, parts: list[Delayed]) -> labelled.LabelledPart:
        tree = engine.reduce_tree(
            f"{self.name}-merge", partial(labelled.merge_labelled, merge), parts
        )
        found: labelled.LabelledPart | None
        (found,) = engine.compute(tree, counted=parts)
        if found is None:
            raise DataError("the blocks held no sample at all")
        if self._checks.classes is None:
            self._learn_labels(found)
        return found

    def _keep(self, weigh_classes: bool) -> None:
        """Check all blocks, find the classes, and persist the blocks with codes of all classes."""
        kept = engine.persist(engine.fuse(self.later("check", labelled.check_block, self._checks)))
        self._blocks = [(one,) for one in kept]
        found = self._merge_tree(None, self.later("labels", labelled.labels_of))
        self.weight = found.weight  # of the samples of each class, (k,)
        self.class_weights = labelled.weights_of_classes(self._checks.estimator, found)
        if weigh_classes:
            self._checks = self._checks._replace(class_weight=self.class_weights)
        self._blocks = [
            (one,) for one in engine.persist(self.later("codes", labelled.recode, self._checks))
        ]

    def _learn_labels(self, found: labelled.LabelledPart) -> None:
        model = self._checks.estimator
        labelled.require_classes(model, found)
        self._n_features = model.n_features_in_ = found.n_features
        self._checks = self._checks._replace(classes=found.labels)
        model.__dict__.pop("feature_names_in_", None)
        if found.names is not None:
            model.feature_names_in_ = found.names


def sum_raw(
    number: int, X: Any, y: Any, weights: Any, checks: Any, part_of: Any, merge: Any
) -> Any:
    """The `LabelledPart` of a block that is checked first."""
    found = labelled.check_block(number, X, y, weights, checks)
    return labelled.sum_block(found, part_of, merge, own_codes=checks.classes is None)
