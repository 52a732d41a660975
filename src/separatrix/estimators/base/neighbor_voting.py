"""What classifiers share whose training samples vote: metric, labels, index and queries."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags

from separatrix.errors import DataError
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.labels import as_labels, encode_labels
from separatrix.estimators.base.neighbor_queries import IndexedSamples
from separatrix.estimators.base.prepare import (
    check_samples,
    check_weights,
    class_weights,
    prepare,
)
from separatrix.estimators.metrics.votes import Voters
from separatrix.runtime.device import as_numpy, like, require_same_device


class NeighborVoting(CallbackSupportMixin, TakesTensors, IndexedSamples):
    """A classifier that stores its samples in an index, and lets those near a query vote."""

    _least_classes: ClassVar[int] = 1
    _least_weighted: ClassVar[int] = 1

    weights: Any
    ties: str
    class_weight: Any = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The checked samples; sets the attributes that depend on labels, weights and parameters."""
        self._check_format(X)
        require_same_device(X, y, sample_weight)
        y = as_numpy(y)
        if has_columns(y):
            X, y = check_samples(self, X, y=y.toarray() if issparse(y) else y, multi_output=True)
            weights = check_weights(sample_weight, X.shape[0])
            if not weights.any():
                raise DataError(
                    "`sample_weight` must have a weight above zero; all weights are zero"
                )
            self.classes_: Any = []
            self._voters: list[Voters] = []
            for column in map(as_labels, np.asarray(y).T):
                classes, codes = encode_labels(column)
                votes = weights * class_weights(self, self.class_weight, column, classes)
                self.classes_.append(classes)
                self._voters.append(Voters(codes.astype(np.intp), votes, len(classes)))
        else:
            train = prepare(self, X, y, sample_weight, class_weight=self.class_weight)
            X, votes = train.X, train.weights * train.class_weights
            self.classes_ = train.classes
            self._voters = [Voters(train.y, votes, len(train.classes))]
        X = self._leave_out_weightless(X)
        self.outputs_2d_ = len(self._voters) > 1
        self._set_metric(X)
        return X

    def _leave_out_weightless(self, X: Any) -> Any:
        """The samples without those that have no vote: they would take the places of neighbours.

        A matrix of distances stays whole, as queries have its columns.
        """
        voting = np.any([voters.weights > 0 for voters in self._voters], axis=0)
        if voting.all() or self._precomputed:
            return X
        rows = np.flatnonzero(voting)
        self._voters = [voters.taken(rows) for voters in self._voters]
        return X[like(rows, X)]

    def _outputs(self) -> list[tuple[Any, Voters]]:
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        return list(zip(classes, self._voters, strict=True))


def has_columns(y: Any) -> bool:
    """Whether labels are a table of several columns."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1
