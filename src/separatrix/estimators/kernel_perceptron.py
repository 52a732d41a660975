"""The kernel perceptron as an estimator. The fit and the predictors are in `base/perceptron_fit.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.kernel_machine import KernelMachine, TakesTensors, concatenate
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import (
    TIES,
    LabelledGram,
    RowsClassified,
    boundary_distances,
    decision_values,
    gpu_predictions,
    gpu_predictions_of_fits,
    winners,
)
from separatrix.estimators.base.parameters import (
    choice,
    flag,
    integer,
    real,
    threads,
    with_parameters,
)
from separatrix.estimators.base.perceptron_fit import (
    PerceptronFit,
    PerceptronOptions,
    fit_on_rows,
    fit_on_samples,
    pass_over_more,
    projectron_pass_over_more,
    scores_on_gram,
)
from separatrix.estimators.base.prepare import (
    Training,
    check_samples,
    check_unchanged,
    classes_of_stream,
    generator,
    prepare,
    require_whole,
)
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.runtime.device import (
    DEVICES,
    DevicePolicy,
    as_numpy,
    like,
    require_same_device,
    run_on,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding
from separatrix.solvers.perceptron.online_to_batch import PREDICTORS, Mistakes
from separatrix.solvers.perceptron.projectron import ProjectronFit
from separatrix.types import Codes


@with_parameters
class KernelPerceptron(CallbackSupportMixin, TakesTensors, KernelMachine):
    """Perceptron in the feature space of a kernel.

    Each training sample carries the corrections made on it; a score is the sum of kernel values with
    them. Exact, and an epoch costs its mistakes times n. It gives good boundaries within a few
    passes and can learn from a stream; where one more per cent of accuracy matters, use `SVC`.

    Parameters
    ----------
    kernel
        Any kernel of `separatrix.kernels`, one of scikit-learn's names ("linear", "poly", "rbf",
        "sigmoid", "precomputed"), "laplacian", or a function of two sample sets.
    gamma, degree, coef0
        Parameters of a kernel given by name, as in scikit-learn; with a kernel object they must keep
        their defaults.
    multi_class
        "argmax": on a mistake the own class gains the sample and the guessed one loses it. "ovr":
        one boundary for each class, each corrected on its own mistakes. "ovo": one boundary for
        each pair of classes, trained on those two; most votes win. "auto": "argmax", but two classes
        have one boundary in all, as with "ovr" and "ovo".
    predictor
        "last" hypothesis, the "average" of all, the "vote" of all, or a "random" one for each sample.
    ties
        Equal votes go to the "lowest" class index or to the larger summed "margin".
    max_iter
        Passes over the samples, at most. At least 1.
    min_gain, min_iter
        From pass min_iter on, stop when the online accuracy (each sample predicted before it is
        learned from: `learning_curve_`) rises by less than min_gain.
    shuffle
        Draw a new order for every pass; otherwise rows are visited as given.
    eta0
        Learning rate. Above 0. It scales all scores and changes no prediction.
    bias
        None: no bias. "rosenblatt": a bias for each boundary that every correction moves by R^2, the
        largest k(x, x) of the training samples: the dual form of `Perceptron(bias="radius")`. A score
        of 0 is then the second class's: sgn(0) = +1. It trains on the CPU and takes no budget.
    budget
        Support vectors at most (a projectron): further mistakes are projected onto the present ones.
        Needs predictor "last" or "average".
    random_state
        Seed for the order of samples and for predictor="random".
    cache_size, n_jobs, time_limit, verbose
        As in `SVC`.
    device
        "auto": a GPU if one is present and the problem is large enough, "cpu", or "cuda": an error if
        that is not possible, as with a budget. CUDA tensors are processed on their device; results
        are tensors on it. `partial_fit` runs on the CPU.

    Attributes
    ----------
    classes_, kernel_
        Labels, (k,), and the kernel object in use.
    support_, support_vectors_
        Training rows with at least one mistake, (s,), and those samples.
    alpha_
        Their coefficients in each of p boundaries, (s, p). With "vote" and "random", of the last.
    intercept_
        Biases, (p,): 0 without a bias.
    mistakes_
        Samples corrected in each pass, (n_iter_,): those that at least one boundary got wrong.
    learning_curve_, boundary_curve_
        Share of the samples of each pass that were predicted right when they were met, and share of those
        that every boundary got right, (n_iter_,).
    n_iter_, stop_
        Passes made, and why it stopped: "clean pass", "min_gain", "max_iter" or "stopped".
    gram_
        Form and precision of the kernel matrix that was used, as text.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix.kernels import Polynomial
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelPerceptron(Polynomial(3)).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.93
    True

    References
    ----------
    Freund and Schapire, Large Margin Classification Using the Perceptron Algorithm, Machine Learning
    37 (1999). Orabona, Keshet and Caputo, Bounded Kernel-Based Online Learning, JMLR 10 (2009).
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    multi_class: str = choice("auto", "argmax", "ovr", "ovo")
    predictor: str = choice(*PREDICTORS)
    ties: str = choice(*TIES)
    max_iter: int = integer(100, least=1)
    min_gain: float | None = real(None, least=0)
    min_iter: int = integer(1, least=1)
    shuffle: bool = flag(True)
    eta0: float = real(1.0, above=0)
    budget: int | None = integer(None, least=1)
    cache_size: float | None = real(None, above=0)
    n_jobs: int | None = threads()
    time_limit: float | None = real(None, above=0)
    verbose: int = 0
    random_state: Any = 0
    device: str = choice(*DEVICES)
    bias: str | None = choice(None, "rosenblatt")

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        self._check_parameters()
        train = prepare(self, X, y, sample_weight)
        self._begin(train)
        with monitored(self, train.X, train.y, steps=self.max_iter) as monitor:
            options, random = self._options(), partial(generator, self)
            found, self._square, self.gram_ = run_on(
                self._training_policy(train.X, self.kernel_),
                lambda gpu: fit_on_samples(gpu, self.kernel_, train, options, random, monitor),
            )
        warn_if_unfinished(type(self).__name__, found)
        return self._keep(train, found)

    @available_if(lambda self: not self._precomputed)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one pass over more samples X, (n, d); the first call must name all classes."""
        self._check_parameters()
        require_whole(self, "partial_fit")
        require_same_device(X, y, sample_weight)
        X = as_numpy(X)
        first = not hasattr(self, "support_")
        if not first:
            check_unchanged(self, self._begun)
        known = classes_of_stream(self, classes)
        train = prepare(self, X, y, sample_weight, classes=known, reset=first)
        if first:
            self._begin(train)
            self.support_, self.support_vectors_ = np.empty(0, dtype=np.intp), train.X[:0]
            self.mistakes_ = np.empty(0, dtype=np.intp)
            self.learning_curve_, self.boundary_curve_ = np.empty(0), np.empty(0)
            own = self.kernel_.diagonal(train.X)[train.weights > 0] if self.bias else np.zeros(1)
            self._square = float(own.max())
            self._log = Mistakes.concatenate([])
            self._projectron: ProjectronFit | None = None
            self._rows_seen = self._n_steps = 0
        self._continue(train)
        return self

    def decision_function(self, X: Any) -> Any:
        """Confidence in each class, (n, k), or in the second of two, (n,); votes for pairs."""
        S, scheme = self._score(X), self._options().scheme
        return like(decision_values(S, len(self.classes_), scheme, self.ties), X)

    def boundary_scores(self, X: Any) -> Any:
        """Score of each sample at each of the p boundaries, positive on the first class's side."""
        return like(self._score(X), X)

    @available_if(lambda self: self._has_one_hypothesis() and self._has_feature_space())
    def signed_distance(self, X: Any) -> Any:
        """Signed distance to the boundary in the feature space, |f| / |w|, shaped as `decision_function`.

        Of two classes (n,), positive on the side of the second. Where pairs vote, of each class the least
        distance to its boundaries, positive if it wins them all.
        """
        S, coef, k = as_numpy(self._score(X)), self.alpha_, len(self.classes_)
        if k == coef.shape[1] == 2:
            S, coef = S[:, 1:] - S[:, :1], coef[:, 1:] - coef[:, :1]
        paired = self._scheme == "ovo"
        return like(boundary_distances(S, self._weight_norms(coef), k, paired=paired), X)

    def predict(self, X: Any) -> Any:
        """Most confident class of each sample, (n,)."""
        codes = as_numpy(winners(self.decision_function(X), self._class_at_zero))
        return like(self.classes_[codes], X)

    def classify_rows(
        self,
        data: LabelledGram,
        rows: Codes,
        *,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix and classify all of them.

        Training keeps the scores of all rows anyway, so cross-validation and repeated splits share
        one kernel matrix.
        """
        gram, y, n_classes = data
        options, rng = self._options()._replace(threads=threads), generator(self)
        train = unweighted(y, n_classes)
        square = options.square_of(gram, rows)
        found = fit_on_rows(
            gram, train, rows, options, rng, monitor, keep_scores=True, square=square
        )
        S = scores_on_gram(gram, found, options, options.n_boundaries(n_classes), rng, square)
        how = (n_classes, options.scheme, self.ties, found.n_iter, options.at_zero)
        return RowsClassified(S, *how)

    def classify_rows_many(
        self, data: LabelledGram, runs: Sequence[Codes], *, monitor: FitMonitor | None = None
    ) -> Iterator[RowsClassified]:
        """`classify_rows` for each of many runs, trained at the same time on a device."""
        sequential = self.budget is not None or self.bias is not None
        if sequential or self.predictor not in ("last", "average"):
            for rows in runs:
                yield self.classify_rows(data, rows, monitor=monitor)
            return
        from separatrix.solvers.perceptron.cuda import solve_kernel_perceptrons  # torch is optional

        gram, y, n_classes = data
        options, train = self._options(), unweighted(y, n_classes)
        passes = options.passes(n_classes)
        if self.min_gain is None:  # nothing depends on the online accuracy
            passes = passes._replace(combine=None)
        batches = solve_kernel_perceptrons(
            gram,
            np.arange(len(y)),
            y,
            train.rates(self.eta0, options.scheme),
            coding(n_classes, options.scheme),
            runs,
            passes,
            generator(self),
            monitor,
            keep_mistakes=self.predictor != "last",
        )
        decision, p = (n_classes, options.scheme, self.ties), options.n_boundaries(n_classes)
        for batch in batches:
            if self.predictor == "last":
                yield from gpu_predictions_of_fits(batch.scores, batch.n_iter, *decision)
                continue
            for found in batch.fits():
                S = scores_on_gram(gram, found, options, p, np.random.default_rng(0))
                yield gpu_predictions(S, found.n_iter, *decision)

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        """Where to train; a projectron runs on the CPU, and so does a bias that moves by R^2."""
        policy = super()._training_policy(X, *kernels, owner=owner)
        if self.budget is None and self.bias is None:
            return policy
        return replace(policy, obstacle="a budget" if self.bias is None else "a bias")

    @property
    def _class_at_zero(self) -> str:
        return self._options().at_zero

    def _options(self) -> PerceptronOptions:
        return PerceptronOptions(
            multi_class=self.multi_class,
            predictor=self.predictor,
            max_iter=self.max_iter,
            min_iter=self.min_iter,
            min_gain=self.min_gain,
            shuffle=self.shuffle,
            eta0=self.eta0,
            budget=self.budget,
            memory=self._budget,
            threads=self._threads,
            ties=self.ties,
            bias=self.bias,
        )

    def _begin(self, train: Training) -> None:
        self.classes_, self.kernel_ = train.classes, self._resolve_kernel(train.X)
        self._begun = {name: getattr(self, name) for name in ("budget", "multi_class", "bias")}

    def _keep(
        self, train: Training, found: PerceptronFit, vectors: Callable[[Codes], Any] | None = None
    ) -> Self:
        """Set the fitted attributes; `vectors` gives rows of samples that are not here."""
        options = self._options()
        self._n_steps = found.n_steps
        self._projectron, self._log = None, Mistakes.concatenate([])
        if isinstance(found, ProjectronFit):
            self.support_, self._projectron = found.support, found
            self.alpha_ = options.projected_coefficients(found)
        else:
            self.support_, self._log = found.mistakes.on_support()
            s, p = len(self.support_), options.n_boundaries(len(self.classes_))
            self.alpha_ = options.coefficients(self._log, s, p, self._n_steps)
        if vectors is not None:
            self.support_vectors_ = vectors(self.support_)
        else:
            precomputed = isinstance(self.kernel_, Precomputed)
            own = np.empty((0, 0)) if precomputed else train.X[like(self.support_, train.X)]
            self.support_vectors_ = as_numpy(own)
        self._rows_seen = len(train.y)
        self.mistakes_ = found.mistakes_by_epoch
        n_rows, misclassified = np.count_nonzero(train.weights), found.misclassified_by_epoch
        assert misclassified is not None
        self.learning_curve_ = 1.0 - misclassified / n_rows
        self.boundary_curve_ = 1.0 - found.mistakes_by_epoch / n_rows
        self.intercept_ = self._square * self.alpha_.sum(axis=0)
        self.n_iter_, self.stop_ = found.n_iter, found.stop
        return self

    def _score(self, X: Any) -> Any:
        """Scores at the boundaries, (m, p): NumPy, or a tensor on the device of the computation."""
        check_is_fitted(self)
        options = self._options()

        def scores(blocks: Iterator[Any]) -> Any:
            rng = generator(self)  # a new one if the computation is repeated on the CPU
            known = (self.alpha_, self._log, self._n_steps, rng, self._square)
            return concatenate([options.scores(K, *known) for K in blocks])

        return self._map_kernel_values(check_samples(self, X, reset=False), scores)

    def _continue(self, train: Training) -> None:
        """One pass over new samples, starting from the present support."""
        names = ("mistakes_", "learning_curve_", "boundary_curve_")
        earlier, seen = {name: getattr(self, name) for name in names}, self._rows_seen
        X = _stack(self.support_vectors_, train.X)
        rows = np.concatenate([self.support_, seen + np.arange(len(train.y))])
        options, rng = self._options(), generator(self)
        found: PerceptronFit
        if self.budget is None:
            found = pass_over_more(self, train, options, rng)
        else:
            found = projectron_pass_over_more(self, train, X, options, rng)
        self._keep(train._replace(X=X), found)
        self.support_ = rows[self.support_]
        self._rows_seen += seen
        for name, before in earlier.items():
            setattr(self, name, np.concatenate([before, getattr(self, name)]))
        self.n_iter_ = len(self.mistakes_)

    def _has_one_hypothesis(self) -> bool:
        """Whether kernel values with the support make it: not for votes, and those among it are known."""
        return self.predictor in ("last", "average") and not self._precomputed

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.budget is not None and self.predictor not in ("last", "average"):
            must_be = "'last' or 'average' when a budget is set"
            raise ParameterError(type(self).__name__, "predictor", must_be, self.predictor)
        if self.budget is not None and self.bias is not None:
            raise ParameterError(
                type(self).__name__, "bias", "None when a budget is set", self.bias
            )


def warn_if_unfinished(name: str, found: PerceptronFit) -> None:
    """Warn if the last pass still made mistakes."""
    if found.stop in ("max_iter", "stopped") and found.mistakes_by_epoch[-1]:
        reached = "time_limit" if found.stop == "stopped" else "max_iter"
        warn_user(
            f"{name} still made {found.mistakes_by_epoch[-1]} mistakes in pass {found.n_iter} ({reached} "
            f"reached, a clean pass wanted): raise {reached}, set min_gain to stop earlier, or use "
            "predictor='average'",
            ConvergenceWarning,
        )


def _stack(first: Any, second: Any) -> Any:
    if issparse(first) or issparse(second):
        return sparse_vstack([first, second]).tocsr()
    return np.concatenate([first, second])


def unweighted(y: Codes, n_classes: int) -> Training:
    """Rows of a Gram that all have weight 1."""
    return Training(None, y, np.arange(n_classes), np.ones(len(y)), np.ones(len(y)))
