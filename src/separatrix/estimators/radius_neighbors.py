"""The radius-neighbours classifier; `metrics/radius.py` searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.neighbor_queries import ALGORITHMS, RadiusQueries
from separatrix.estimators.base.neighbor_voting import (
    NeighborVoting,
)
from separatrix.estimators.base.parameters import choice, integer, real, threads, with_parameters
from separatrix.estimators.metrics.radius import FIRST_K, RadiusBatch
from separatrix.estimators.metrics.votes import (
    TIES,
    factors_from_function,
    factors_of,
    require_votes,
)
from separatrix.runtime.device import DEVICES
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Matrix


@with_parameters
class RadiusNeighborsClassifier(RadiusQueries, NeighborVoting):
    """Vote of all training samples within a radius.

    Unlike the k nearest, they are many where samples are dense and few, or none, where they are sparse;
    a sample without any is an outlier. Distances must mean the same everywhere: scale the features
    first. Not for many features, where all distances are alike and no radius suits; there use
    `KNeighborsClassifier`.

    Parameters
    ----------
    radius
        Largest distance of a sample that votes. At least 0.
    weights
        Weight of a vote: "uniform" or None, "distance" (1 / distance; neighbours at distance 0 have all
        the votes), or a function from an array of arrays of distances, one for each sample, to weights
        of at least 0 in the same form.
    algorithm, leaf_size
        Checked as in scikit-learn, otherwise ignored: the search chooses its own method.
    p, metric, metric_params
        As in `KNeighborsClassifier`.
    outlier_label
        Label of samples without neighbours: any, "most_frequent", with several outputs also a list. If
        it is not among the classes, all its probabilities are 0. None: such a sample is an error.
    n_jobs
        Threads, None for all cores, which do not change the result.
    ties
        Equal votes go to the "lowest" class, as in scikit-learn, or to that of the "nearest" of the tied
        neighbours.
    kernel, device
        As in `KNeighborsClassifier`.

    Attributes
    ----------
    classes_, outputs_2d_, effective_metric_, effective_metric_params_, kernel_, index_
        As in `KNeighborsClassifier`.
    n_samples_fit_, n_features_in_
        The shape of X.
    outlier_label_
        The label of outliers for each output, a list; or None.

    Examples
    --------
    >>> model = RadiusNeighborsClassifier(1.0, outlier_label="far").fit([[0], [1], [2], [3]], list("aabb"))
    >>> model.predict([[1.5], [9]]).tolist()
    ['a', 'far']
    >>> model.predict_proba([[1.0]]).round(3).tolist()
    [[0.667, 0.333]]
    """

    radius: float = real(1.0, least=0, also=(np.inf,))
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = choice(*ALGORITHMS)
    leaf_size: int = integer(30, least=1)
    p: float | None = real(2, above=0, also=(None, np.inf))
    metric: Any = "minkowski"
    outlier_label: Any = None
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = threads()
    ties: str = choice(*TIES)
    kernel: Any = None
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Store samples X, (n, d), or their distances, (n, n), and labels y, (n,) or (n, outputs)."""
        self._check_parameters()
        X = self._encode(X, y, None)
        self.outlier_label_ = outlier_labels(self)
        with monitored(self, X, y, steps=None, task="search") as monitor:
            self._build_index(X)
            monitor.step()
        return self

    @property
    def expected_k(self) -> int:
        """Neighbours that a search will probably find."""
        return FIRST_K

    def predict(self, X: Any) -> Any:
        """Class of each sample, (m,) or (m, outputs); X=None: of the training samples, left out."""
        queries, count = self._checked(X)
        outputs = self._outputs()
        codes = np.full((len(outputs), count), -1, dtype=np.intp)  # -1 for outliers
        for batch, factors in self._votes(queries):
            some = batch.counts > 0
            for own, (_, voters) in zip(codes, outputs, strict=True):
                if some.any():
                    winners = voters.winners(batch.rows[some], factors[some], self.ties)
                    own[batch.queries[some]] = winners
        labels = [self._labels(number, own) for number, own in enumerate(codes)]
        return self.index_.match_input(
            np.stack(labels, axis=1) if self.outputs_2d_ else labels[0], X
        )

    def predict_proba(self, X: Any) -> Any:
        """Share of the votes of each class, (m, k); with several outputs a list of them."""
        queries, count = self._checked(X)
        outputs = self._outputs()
        found = [np.zeros((count, len(classes))) for classes, _ in outputs]
        lonely = np.ones(count, dtype=bool)
        for batch, factors in self._votes(queries):
            some = batch.counts > 0
            lonely[batch.queries[some]] = False
            for P, (_, voters) in zip(found, outputs, strict=True):
                if some.any():
                    shares = voters.shares(batch.rows[some], factors[some], self.ties)
                    P[batch.queries[some]] = shares
        for number, (P, (classes, _)) in enumerate(zip(found, outputs, strict=True)):
            if lonely.any():
                P[lonely] = self._outlier_shares(number, classes)
        answers = [self.index_.match_input(P, X) for P in found]
        return answers if self.outputs_2d_ else answers[0]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_votes(type(self).__name__, 1, self.ties, self.weights)

    def _votes(self, X: Any) -> Iterator[tuple[RadiusBatch, Matrix]]:
        """All queries in batches, with factors of the votes of their neighbours."""
        require_votes(type(self).__name__, 1, self.ties, self.weights)
        for batch in self._batches(X, ordered=self.ties == "nearest"):
            lonely = batch.queries[batch.counts == 0]
            if len(lonely) and self.outlier_label_ is None:
                raise DataError(
                    f"No neighbors found for test samples {lonely[:10]}, you can try using larger "
                    "radius, giving a label for outliers, or considering removing them from your "
                    "dataset."
                )
            yield batch, _factors(self.weights, batch)

    def _labels(self, number: int, codes: Codes) -> Any:
        """Labels of one output from class codes, (m,), and -1 for outliers."""
        classes, outliers = self._outputs()[number][0], codes < 0
        labels = classes[codes]
        if outliers.any():
            assert self.outlier_label_ is not None
            label = self.outlier_label_[number]
            kind = object if classes.dtype == object else np.append(classes, label).dtype
            labels = labels.astype(kind)
            labels[outliers] = label
        return labels

    def _outlier_shares(self, number: int, classes: Any) -> Any:
        """The probabilities of an outlier, (k,)."""
        assert self.outlier_label_ is not None
        label = self.outlier_label_[number]
        own = np.asarray(classes == label)
        if not own.any():
            warn_user(
                f"Outlier label {label} is not in training classes. All class probabilities of outliers "
                "will be assigned with 0."
            )
        return own


def outlier_labels(model: Any) -> list[Any] | None:
    """The label of outliers for each output of a model whose labels are encoded; None without one."""
    given, outputs = model.outlier_label, model._outputs()
    if given is None:
        return None
    if isinstance(given, str) and given == "most_frequent":
        return [
            classes[np.bincount(voters.y, minlength=len(classes)).argmax()]
            for classes, voters in outputs
        ]
    many = isinstance(given, list | tuple | np.ndarray) and np.ndim(given) > 0
    labels = list(given) if many else [given] * len(outputs)
    if len(labels) != len(outputs):
        must_be = f"one label, or as many as there are outputs, {len(outputs)}"
        raise ParameterError("RadiusNeighborsClassifier", "outlier_label", must_be, given)
    for (classes, _), label in zip(outputs, labels, strict=True):
        kinds = {isinstance(classes.tolist()[0], str), isinstance(label, str)}
        both = np.append(classes, label) if np.ndim(label) == 0 and len(kinds) == 1 else None
        if both is None or both.dtype.kind != classes.dtype.kind:
            raise TypeError(
                f"`outlier_label` of RadiusNeighborsClassifier must be a label like those of y, such as "
                f"{classes.tolist()[0]!r}; got {label!r}"
            )
    return labels


def _factors(weights: Any, batch: RadiusBatch) -> Matrix:
    """Factors of the votes, (m, k); 0 for padding."""
    if callable(weights):
        ragged = np.empty(len(batch.queries), dtype=object)
        for i, inside in enumerate(batch.inside):
            ragged[i] = batch.distances[i, inside]
        factors = np.zeros_like(batch.distances)
        given = weights(ragged.copy())
        for i, inside in enumerate(batch.inside):
            factors[i, inside] = factors_from_function(weights, given[i], ragged[i])
        return factors
    if weights == "distance":
        return factors_of("distance", batch.distances)
    return batch.inside.astype(np.float64)
