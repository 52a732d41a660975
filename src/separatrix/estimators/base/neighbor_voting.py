"""What classifiers share whose training samples vote: metric, labels, index and queries."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.kernel_machine import KernelMachine, TakesTensors, tags_of_kernel
from separatrix.estimators.base.prepare import (
    as_labels,
    check_samples,
    check_weights,
    class_weights,
    encode_labels,
    prepare,
)
from separatrix.estimators.metrics.distances import (
    feature_kernel,
    named_metric,
    require_algorithm,
)
from separatrix.estimators.metrics.neighbor_rows import gpu_obstacle
from separatrix.estimators.metrics.votes import Voters
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.runtime.device import as_numpy, choose_device, like, require_same_device
from separatrix.runtime.warnings import warn_user
from separatrix.validation import require_threads

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
WITH_STORED_ZEROS = ("csr", "csc", "coo", "lil")


class NeighborVoting(CallbackSupportMixin, TakesTensors, KernelMachine):
    """A classifier that stores its samples in an index, and lets those near a query vote."""

    _least_classes: ClassVar[int] = 1
    _least_weighted: ClassVar[int] = 1

    weights: Any
    algorithm: str
    p: float | None
    metric: Any
    metric_params: dict[str, Any] | None
    ties: str
    class_weight: Any = None

    @property
    def expected_k(self) -> int:
        """Neighbours that a search will probably find."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._precomputed
        tags.input_tags.allow_nan = isinstance(self.metric, str) and self.metric == "nan_euclidean"
        return tags_of_kernel(tags, self._own_kernel)

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        if self.kernel is not None:
            default = isinstance(self.metric, str) and self.metric == "minkowski"
            if not default or self.p != 2 or self.metric_params is not None:
                must_be = "left at its default 'minkowski', with p=2, with a kernel"
                raise ParameterError(name, "metric", must_be, self.metric)
        named = named_metric(name, self.metric, self.p, self.metric_params)
        require_algorithm(name, self.algorithm, self.metric, named)
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warn_user(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is "
                "ignored.",
                SyntaxWarning,
            )

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The checked samples; sets the attributes that depend on labels, weights and parameters."""
        name = type(self).__name__
        if issparse(X):
            if self._precomputed and X.format not in WITH_STORED_ZEROS:
                raise TypeError(
                    f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
                    "explicit zeros"
                )
            if self.algorithm in ("kd_tree", "ball_tree"):
                warn_user("cannot use tree with sparse input: using brute force")
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
        self.kernel_ = None if self.kernel is None else feature_kernel(name, self.kernel, X)
        named = named_metric(name, self.metric, self.p, self.metric_params)
        self.effective_metric_ = named.name if self.kernel is None else "kernel"
        self.effective_metric_params_ = named.params
        self._require_device(X, gpu_obstacle(named, self.kernel_, X))
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

    def _build_index(self, X: Any) -> None:
        """Index the samples that `_encode` checked."""
        self.index_ = NeighborIndex(
            X,
            self.metric,
            p=self.p,
            metric_params=self.metric_params,
            kernel=self.kernel_,
            n_jobs=self.n_jobs,
            expected_k=self.expected_k,
            device=self.device,
            checked=True,
        )
        self.n_samples_fit_ = X.shape[0]

    def _check_queries(self, X: Any) -> Any:
        """Checked samples to search for; None is the training samples."""
        require_threads(type(self).__name__, self.n_jobs)
        if issparse(X) and not self.index_.sparse and "tree" in self.algorithm:
            raise DataError(
                f"{self.algorithm} does not work with sparse matrices. Densify the data, or set "
                "algorithm='brute'"
            )
        if X is not None:
            X = check_samples(self, X, reset=False)
        self._require_device(X, self.index_.gpu_obstacle)
        return X

    def _require_device(self, X: Any, obstacle: str | None) -> None:
        """Raise an error if the samples or the metric do not support the device."""
        choose_device(type(self).__name__, self.device, X, worth=False, without=obstacle)

    def _outputs(self) -> list[tuple[Any, Voters]]:
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        return list(zip(classes, self._voters, strict=True))


def require_graph_mode(mode: str) -> None:
    """Raise an error for an unknown kind of entries of a graph of neighbours."""
    if mode not in ("connectivity", "distance"):
        raise DataError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def has_columns(y: Any) -> bool:
    """Whether labels are a table of several columns."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1
