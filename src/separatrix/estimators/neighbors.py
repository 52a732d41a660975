"""The k-nearest-neighbours classifier; `neighbor_index.py` and `solvers/nearest` search."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.base.labels import as_labels
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.neighbor_queries import ALGORITHMS, NearestQueries
from separatrix.estimators.base.neighbor_voting import (
    NeighborVoting,
    has_columns,
)
from separatrix.estimators.base.parameters import choice, integer, real, threads, with_parameters
from separatrix.estimators.metrics.votes import factors_of, require_votes
from separatrix.runtime.device import DEVICES, as_numpy
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_integer


@with_parameters
class KNeighborsClassifier(NearestQueries, NeighborVoting):
    """Majority vote of the k nearest training samples.

    A drop-in for scikit-learn's `KNeighborsClassifier`, exact, with a rule for every tie: of equal
    distances the lower row is nearer, and equal votes go to the lowest class. One search serves all
    numbers of neighbours up to the largest. Scale features of very different ranges first.

    Parameters
    ----------
    n_neighbors
        Neighbours that vote. At least 1.
    weights
        Weight of a vote: "uniform" or None, "distance" (1 / distance; neighbours at distance 0 have all
        the votes), or a function from distances, (m, k), to weights of at least 0.
    algorithm, leaf_size
        Checked as in scikit-learn, otherwise ignored: the search chooses its own method.
    p, metric, metric_params
        As in scikit-learn: p of "minkowski", above 0; a name, a function of two samples, or
        "precomputed", where X holds distances.
    ties
        Equal votes go to the "lowest" class, as in scikit-learn, or to that of the "nearest" of the tied
        neighbours.
    class_weight
        Dict from label to weight, or "balanced": multiplies the votes of a class.
    kernel
        Replaces the metric: distances in the feature space of any kernel of `separatrix.kernels`, or of
        a name that `SVC` takes.
    k_max
        Compute the leave-one-out accuracy for 1, 2, ..., k_max neighbours. Below the number of samples.
        None: do not.
    smoothing
        Votes that `predict_proba` adds, the same share to each class, so that no class has probability
        0. At least 0; 0 is scikit-learn's share of the votes.
    n_jobs, verbose
        Threads, None for all cores, which do not change the result; above 0, a progress bar on stderr.
    device
        "auto" uses an NVIDIA GPU if one is present, there are enough samples and the metric depends on
        a Euclidean norm; "cpu"; "cuda" raises an error if that is impossible. Results for tensors are
        tensors on the same device, except labels that are not numbers.

    Attributes
    ----------
    classes_, outputs_2d_
        Labels, (k,); with several outputs, y (n, outputs), a list of them, and True.
    effective_metric_, effective_metric_params_, kernel_
        The metric in use, and its parameters; the kernel object, or None.
    n_samples_fit_, n_features_in_
        The shape of X.
    index_
        The `NeighborIndex`; its `method` names the search method.
    accuracy_by_k_, best_k_
        With k_max: leave-one-out accuracy of 1, 2, ... neighbours, (k_max,), and the smallest best
        number. A sample is left out of its neighbours, but not of class weights and gamma="scale", and
        counts once whatever its weight. `n_neighbors` does not change.

    `predict`, `predict_proba`, `score` and `kneighbors` accept X=None: the training samples, each left
    out of its own neighbours.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(k_max=30).fit(X, y)
    >>> model.best_k_, float(model.accuracy_by_k_.max().round(3))
    (19, 0.98)
    >>> model.predict_by_k(X[70:71], 6).tolist()
    [[1, 1, 2, 2, 2, 1]]

    References
    ----------
    Cover and Hart, Nearest Neighbor Pattern Classification, IEEE Transactions on Information Theory 13
    (1967).
    """

    n_neighbors: int = 5
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = choice(*ALGORITHMS)
    leaf_size: int = integer(30, least=1)
    p: float | None = real(2, above=0, also=(None, np.inf))
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = threads()
    ties: str = "lowest"
    class_weight: Any = None
    kernel: Any = None
    k_max: int | None = integer(None, least=1)
    smoothing: float = real(0.0, least=0)
    verbose: int = 0
    device: str = choice(*DEVICES)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store samples X, (n, d), or their distances, (n, n), and labels y, (n,) or (n, outputs).

        Weights multiply the votes of samples: a sample of weight 2 votes twice, but is one neighbour.
        Samples of weight 0 are left out, and row numbers are those of the others.
        """
        self._check_parameters()
        for name in ("accuracy_by_k_", "best_k_"):
            self.__dict__.pop(name, None)
        X = self._encode(X, y, sample_weight)
        if self.k_max is not None:
            _require_k_max(self.k_max, X.shape[0] - 1)
        with monitored(self, X, y, steps=None, task="search") as monitor:
            self._build_index(X)
            monitor.step()
            if self.k_max is None:
                return self
            threads = thread_count(self.n_jobs)
            found = self.index_.nearest(None, int(self.k_max), threads=threads, monitor=monitor)
            if monitor.should_stop():
                warn_user(
                    "KNeighborsClassifier was cancelled before all samples were left out: `best_k_` "
                    "is not set",
                    ConvergenceWarning,
                )
                return self
        voters = self._voters[0]
        winners = voters.winners_by_k(found, self.weights, self.ties)
        self.accuracy_by_k_ = (winners == voters.y[:, None]).mean(axis=0)
        self.best_k_ = int(self.accuracy_by_k_.argmax()) + 1
        return self

    @property
    def expected_k(self) -> int:
        """Neighbours that a search will probably find."""
        return max(self.n_neighbors, self.k_max or 1)

    def predict(self, X: Any) -> Any:
        """Class of each sample, (m,) or (m, outputs); X=None: of the training samples, left out."""
        rows, factors = self._votes(X)
        labels = [
            classes[voters.winners(rows, factors, self.ties)] for classes, voters in self._outputs()
        ]
        return self.index_.match_input(
            np.stack(labels, axis=1) if self.outputs_2d_ else labels[0], X
        )

    def predict_proba(self, X: Any) -> Any:
        """Share of the votes of each class, (m, k); with several outputs a list of them.

        Of equal shares, that of the predicted class is larger by the last bit.
        """
        rows, factors = self._votes(X)
        k, more = rows.shape[1], float(self.smoothing)
        shares = []
        for classes, voters in self._outputs():
            share = voters.shares(rows, factors, self.ties)
            if more:
                share = (k * share + more / len(classes)) / (k + more)
            shares.append(self.index_.match_input(share, X))
        return shares if self.outputs_2d_ else shares[0]

    def predict_by_k(self, X: Any, k_max: int) -> Any:
        """Class of each sample with 1, 2, ..., k_max neighbours, (m, k_max), from one search.

        X=None: of the training samples, left out.
        """
        check_is_fitted(self)
        require_votes(type(self).__name__, self.n_neighbors, self.ties, self.weights)
        if self.outputs_2d_:
            raise UnsupportedError(
                f"predict_by_k supports single-output y only; got {len(self._voters)} outputs"
            )
        _require_k_max(k_max, self.n_samples_fit_ - (X is None))
        found = self._find_neighbors(X, int(k_max))
        winners = self._voters[0].winners_by_k(found, self.weights, self.ties)
        return self.index_.match_input(self.classes_[winners], X)

    def score_by_k(self, X: Any, y: Any, k_max: int) -> Vector:
        """Accuracy with 1, 2, ..., k_max neighbours, (k_max,), from one search."""
        predicted = as_numpy(self.predict_by_k(X, k_max))
        y = as_labels(as_numpy(y))
        if len(y) != len(predicted):
            raise DataError(f"X has {len(predicted)} samples, but y has {len(y)} labels")
        return np.asarray((predicted == y[:, None]).mean(axis=0))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_votes(type(self).__name__, self.n_neighbors, self.ties, self.weights)

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> Any:
        if self.k_max is not None and has_columns(y):
            must_be = "None with several outputs, whose best numbers may differ"
            raise ParameterError(type(self).__name__, "k_max", must_be, self.k_max)
        return super()._encode(X, y, sample_weight)

    def _votes(self, X: Any) -> tuple[Codes, Matrix]:
        """The rows that vote on each sample, and the factors of their votes."""
        check_is_fitted(self)
        require_votes(type(self).__name__, self.n_neighbors, self.ties, self.weights)
        found = self._find_neighbors(X, int(self.n_neighbors))
        return found.rows, factors_of(self.weights, found.distances)


def _require_k_max(k_max: object, most: int) -> None:
    require_integer("KNeighborsClassifier", "k_max", k_max, least=1)
    if int(k_max) > most:  # type: ignore[call-overload]
        must_be = f"at most {most}, the number of possible neighbours"
        raise ParameterError("KNeighborsClassifier", "k_max", must_be, k_max)
