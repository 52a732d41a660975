"""Nearest neighbours as a classifier. The search is in `neighbor_index.py` and `solvers/nearest`."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, _align_api_if_sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, ParameterError, UnsupportedError
from separatrix.estimators.base.kernel_machine import KernelMachine, TakesTensors, tags_of_kernel
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.prepare import (
    as_labels,
    check_samples,
    check_weights,
    class_weights,
    encode_labels,
    prepare,
    rollback_on_error,
)
from separatrix.estimators.metrics.distances import (
    NamedMetric,
    feature_kernel,
    named_metric,
    require_algorithm,
)
from separatrix.estimators.metrics.neighbor_rows import gpu_obstacle
from separatrix.estimators.metrics.votes import TIES, Voters, factors_of
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.runtime.device import DEVICES, as_numpy, choose_device, like, require_same_device
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.nearest.ranking import Neighbors
from separatrix.types import Codes, Matrix, Vector
from separatrix.validation import require_choice, require_integer, require_real, require_threads

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
WITH_STORED_ZEROS = ("csr", "csc", "coo", "lil")


class KNeighborsClassifier(CallbackSupportMixin, TakesTensors, KernelMachine):
    """The class that most of the nearest training samples have.

    A drop-in for scikit-learn's `KNeighborsClassifier`, exact and with every tie decided: of equal
    distances the lower row is nearer, and equal votes go to the class met first. One search serves all
    numbers of neighbours up to the largest. Not for features of very different sizes: scale them first.

    Parameters
    ----------
    n_neighbors
        Samples that vote. At least 1.
    weights
        How much a vote counts: "uniform" or None, "distance" (1 over the distance; a distance of 0 has
        all the votes), or a function from distances, (m, k), to weights of at least 0.
    algorithm, leaf_size
        Checked as in scikit-learn, and without effect: the search chooses for itself.
    p, metric, metric_params
        As in scikit-learn: p of "minkowski", above 0; a name, a function of two samples, or
        "precomputed", with which X holds distances.
    n_jobs
        Threads; None: all cores. The result does not depend on it.
    ties
        Equal votes go to the class that has the "nearest" of the tied neighbours, or, as in
        scikit-learn, to the "lowest" class.
    class_weight
        Dict from label to weight, or "balanced": multiplies the votes of a class.
    kernel
        Instead of a metric: distances in the feature space of any kernel of `separatrix.kernels`, or of
        a name that `SVC` takes.
    k_max
        Leave each sample out in turn and count how often its neighbours are right, for all numbers of
        them up to this. Below the number of samples. None: do not.
    verbose
        Above 0, a progress bar on stderr.
    device
        "auto": a card where there is one, the samples are worth it and distances are Euclidean or order
        as such do; "cpu"; or "cuda": an error where that cannot be. Tensors are answered with tensors on
        their device, but labels that are no numbers.

    Attributes
    ----------
    classes_, outputs_2d_
        Labels, (k,); with several outputs, y (n, outputs), a list of them, and True.
    effective_metric_, effective_metric_params_, kernel_
        The metric in use, and its parameters; the kernel object, or None.
    n_samples_fit_, n_features_in_
        The shape of X.
    index_
        The `NeighborIndex` that is searched; its `method` says how.
    accuracy_by_k_, best_k_
        With k_max: the share of samples that 1, 2, ... of their neighbours get right, (k_max,), each
        sample left out of the neighbours, but not of class weights and of gamma="scale", and counted
        once whatever its weight; and the smallest best number. `n_neighbors` stays what it is.

    `predict`, `predict_proba`, `score` and `kneighbors` take None for X: then each training sample is
    asked about its neighbours, itself left out.

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

    kernel_: Any
    classes_: Any
    _voters: list[Voters]

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float | None = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        ties: str = "nearest",
        class_weight: Any = None,
        kernel: Any = None,
        k_max: int | None = None,
        verbose: int = 0,
        device: str = "auto",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.ties = ties
        self.class_weight = class_weight
        self.kernel = kernel
        self.k_max = k_max
        self.verbose = verbose
        self.device = device

    @with_callbacks
    @rollback_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep samples X, (n, d), or their distances, (n, n), and labels y, (n,) or (n, outputs).

        Weights multiply the votes of samples: a sample of weight 2 votes twice, but is one neighbour.
        """
        self._check_parameters()
        self._check_format(X)
        for name in ("accuracy_by_k_", "best_k_"):
            self.__dict__.pop(name, None)
        X = self._take(X, y, sample_weight)
        n = X.shape[0]
        if self.k_max is not None:
            self._require_k_max(self.k_max, n - 1)
        with monitored(self, X, y, steps=None, task="search") as monitor:
            self.index_ = NeighborIndex(
                X,
                self.metric,
                p=self.p,
                metric_params=self.metric_params,
                kernel=self.kernel_,
                n_jobs=self.n_jobs,
                expected_k=max(self.n_neighbors, self.k_max or 1),
                device=self.device,
            )
            self.n_samples_fit_ = n
            monitor.step()
            if self.k_max is not None:
                self._leave_out(int(self.k_max), monitor)
        return self

    def predict(self, X: Any) -> Any:
        """Class of each sample, (m,) or (m, outputs); without samples, of each training sample left out."""
        rows, factors = self._votes(X)
        labels = [
            classes[voters.winners(rows, factors, self.ties)] for classes, voters in self._outputs()
        ]
        return like(
            np.stack(labels, axis=1) if self.outputs_2d_ else labels[0], self.index_.example(X)
        )

    def predict_proba(self, X: Any) -> Any:
        """The share of the votes that each class has, (m, k); with several outputs a list of them.

        Of equal shares, that of the predicted class is larger by the last bit.
        """
        rows, factors = self._votes(X)
        shares = [
            like(voters.shares(rows, factors, self.ties), self.index_.example(X))
            for _, voters in self._outputs()
        ]
        return shares if self.outputs_2d_ else shares[0]

    def predict_by_k(self, X: Any, k_max: int) -> Any:
        """Class of each sample with 1, 2, ..., k_max neighbours, (m, k_max), from one search.

        Without samples, of each training sample left out.
        """
        check_is_fitted(self)
        self._check_votes()
        self._require_one_output("predict_by_k")
        self._require_k_max(k_max, self.n_samples_fit_ - (X is None))
        return like(
            self.classes_[self._winners_by_k(self._found(X, int(k_max)))], self.index_.example(X)
        )

    def score_by_k(self, X: Any, y: Any, k_max: int) -> Vector:
        """Accuracy with 1, 2, ..., k_max neighbours, (k_max,), from one search."""
        predicted = as_numpy(self.predict_by_k(X, k_max))
        y = as_labels(as_numpy(y))
        if len(y) != len(predicted):
            raise DataError(f"X has {len(predicted)} samples, but y has {len(y)} labels")
        return np.asarray((predicted == y[:, None]).mean(axis=0))

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances of the nearest training samples, and their rows, nearest first; each (m, k).

        Without samples X, those of each training sample, itself left out.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        require_integer(type(self).__name__, "n_neighbors", k, least=1)
        found = self._found(X, int(k))
        distances, rows = (like(part, self.index_.example(X)) for part in found)
        return (distances, rows) if return_distance else rows

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """The nearest training samples as a sparse matrix, (m, n), of ones or of the "distance"."""
        if mode not in ("connectivity", "distance"):
            raise DataError(
                'Unsupported mode, must be one of "connectivity", or "distance" but got '
                f'"{mode}" instead'
            )
        distances, rows = map(as_numpy, self.kneighbors(X, n_neighbors))
        m, k = rows.shape
        values = distances if mode == "distance" else np.ones_like(distances)
        ends = np.arange(m + 1) * k
        graph = csr_array((values.ravel(), rows.ravel(), ends), shape=(m, self.n_samples_fit_))
        return _align_api_if_sparse(graph)

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
        name = type(self).__name__
        self._check_votes()
        require_choice(name, "algorithm", self.algorithm, ALGORITHMS)
        require_choice(name, "device", self.device, DEVICES)
        require_integer(name, "leaf_size", self.leaf_size, least=1)
        if self.k_max is not None:
            require_integer(name, "k_max", self.k_max, least=1)
        require_threads(name, self.n_jobs)
        if self.p is not None and not (isinstance(self.p, Real) and self.p == np.inf):
            require_real(name, "p", self.p, above=0)
        if self.kernel is not None:
            left_alone = isinstance(self.metric, str) and self.metric == "minkowski"
            if not left_alone or self.p != 2 or self.metric_params is not None:
                must_be = "left at its default 'minkowski', with p=2, beside a kernel"
                raise ParameterError(name, "metric", must_be, self.metric)
        meant = named_metric(name, self.metric, self.p, self.metric_params)
        require_algorithm(name, self.algorithm, self.metric, meant)
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warn_user(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is "
                "ignored.",
                SyntaxWarning,
            )

    def _check_votes(self) -> None:
        """What may have been set after a fit."""
        name = type(self).__name__
        require_integer(name, "n_neighbors", self.n_neighbors, least=1)
        require_choice(name, "ties", self.ties, TIES)
        if not callable(self.weights):
            require_choice(name, "weights", self.weights, ("uniform", "distance", None))

    def _check_format(self, X: Any) -> None:
        if not issparse(X):
            return
        if self._precomputed and X.format not in WITH_STORED_ZEROS:
            raise TypeError(
                f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
                "explicit zeros"
            )
        if self.algorithm in ("kd_tree", "ball_tree"):
            warn_user("cannot use tree with sparse input: using brute force")

    def _take(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """The checked samples; everything else that a fit learns is kept."""
        require_same_device(X, y, sample_weight)
        y = as_numpy(y)
        if _has_columns(y):
            self._require_no_search()
            X, y = check_samples(self, X, y=y.toarray() if issparse(y) else y, multi_output=True)
            weights = check_weights(sample_weight, X.shape[0])
            if not weights.any():
                raise DataError(
                    "`sample_weight` must have a weight above zero; all weights are zero"
                )
            self.classes_, self._voters = [], []
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
        self.outputs_2d_ = len(self._voters) > 1
        name = type(self).__name__
        self.kernel_ = None
        if self.kernel is not None:
            self.kernel_ = feature_kernel(name, self.kernel, X)
        metric, params = named_metric(name, self.metric, self.p, self.metric_params)
        self.effective_metric_ = metric if self.kernel is None else "kernel"
        self.effective_metric_params_ = params
        self._require_place(X, gpu_obstacle(NamedMetric(metric, params), self.kernel_, X))
        return X

    def _require_place(self, X: Any, without: str | None) -> None:
        """Refuse a device that the samples, or how they are compared, do not go with."""
        choose_device(type(self).__name__, self.device, X, worth=False, without=without)

    def _leave_out(self, k_max: int, monitor: FitMonitor) -> None:
        found = self.index_.nearest(None, k_max, threads=thread_count(self.n_jobs), monitor=monitor)
        if monitor.should_stop():
            warn_user(
                "KNeighborsClassifier was told to stop before all samples were left out: there is no "
                "`best_k_`",
                ConvergenceWarning,
            )
            return
        right = self._winners_by_k(found) == self._voters[0].y[:, None]
        self.accuracy_by_k_ = right.mean(axis=0)
        self.best_k_ = int(self.accuracy_by_k_.argmax()) + 1

    def _found(self, X: Any, k: int) -> Neighbors:
        """The k nearest training samples of each sample, or of each training sample but itself."""
        if X is not None:
            X = self._checked(X)
        self._require_place(X, self.index_.without)
        n = self.n_samples_fit_
        if k > n - (X is None):
            sign = "<" if X is None else "<="
            raise DataError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {n}, n_samples = {n if X is None else X.shape[0]}"
            )
        name = type(self).__name__
        require_threads(name, self.n_jobs)
        with bar(f"{name}: search", None, show=bool(self.verbose)) as advance:

            def on_step(_number: int) -> bool:
                advance()
                return False

            return self.index_.nearest(
                X,
                k,
                threads=thread_count(self.n_jobs),
                monitor=FitMonitor(None, on_step),
                device=self.device,
                checked=True,
            )

    def _checked(self, X: Any) -> Any:
        if issparse(X) and not issparse(self.index_.rows_as_kept) and "tree" in self.algorithm:
            raise DataError(
                f"{self.algorithm} does not work with sparse matrices. Densify the data, or set "
                "algorithm='brute'"
            )
        return check_samples(self, X, reset=False)

    def _votes(self, X: Any) -> tuple[Codes, Matrix]:
        """The rows that vote on each sample, and how much for their distance."""
        check_is_fitted(self)
        self._check_votes()
        found = self._found(X, int(self.n_neighbors))
        return found.rows, factors_of(self.weights, found.distances)

    def _outputs(self) -> list[tuple[Any, Voters]]:
        classes = self.classes_ if self.outputs_2d_ else [self.classes_]
        return list(zip(classes, self._voters, strict=True))

    def _winners_by_k(self, found: Neighbors) -> Codes:
        voters = self._voters[0]
        if not callable(self.weights):
            factors = factors_of(self.weights, found.distances)
            return voters.winners(found.rows, factors, self.ties, each=True)
        by_k = []
        for k in range(
            1, found.rows.shape[1] + 1
        ):  # the function may look at all neighbours at once
            rows = np.ascontiguousarray(found.rows[:, :k])
            factors = factors_of(self.weights, found.distances[:, :k])
            by_k.append(voters.winners(rows, factors, self.ties))
        return np.stack(by_k, axis=1)

    def _require_k_max(self, k_max: object, most: int) -> None:
        name = type(self).__name__
        require_integer(name, "k_max", k_max, least=1)
        if int(k_max) > most:  # type: ignore[call-overload]
            must_be = f"at most {most}, the samples that can be neighbours"
            raise ParameterError(name, "k_max", must_be, k_max)

    def _require_no_search(self) -> None:
        if self.k_max is not None:
            must_be = "None with several outputs, which may differ in their best number"
            raise ParameterError(type(self).__name__, "k_max", must_be, self.k_max)

    def _require_one_output(self, what: str) -> None:
        if self.outputs_2d_:
            raise UnsupportedError(f"{what} goes with one output; y had {len(self._voters)}")


def _has_columns(y: Any) -> bool:
    """Whether labels are a table of several columns."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1
