"""The kernel perceptron as an estimator.

The arithmetic is in `solvers/perceptron/kernel_perceptron.py`, on a card in `solvers/perceptron/cuda.py`,
and with a budget in `solvers/perceptron/projectron.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.gpu_predictions import gpu_predictions, rows_of_fits
from separatrix.estimators.base.kernel_machine import (
    KernelMachine,
    TakesTensors,
    concatenate,
    scores_of_rows,
)
from separatrix.estimators.base.monitoring import monitored, with_callbacks
from separatrix.estimators.base.multiclass import TIES, RowsClassified, decision_values, winners
from separatrix.estimators.base.prepare import (
    Training,
    check_samples,
    check_unchanged,
    classes_of_stream,
    generator,
    prepare,
    require_whole,
    rollback_on_error,
)
from separatrix.kernels.base import Kernel, Precomputed
from separatrix.kernels.names import resolve_kernel
from separatrix.runtime.device import (
    DEVICES,
    as_numpy,
    choose_device,
    is_tensor,
    like,
    require_same_device,
    run_on,
)
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.warnings import warn_user
from separatrix.solvers.decomposition import coding, problems_of
from separatrix.solvers.perceptron.kernel_perceptron import (
    KernelPerceptronFit,
    solve_kernel_perceptron,
)
from separatrix.solvers.perceptron.online_to_batch import (
    PREDICTORS,
    Mistakes,
    at_steps,
    averaged,
    last,
    votes,
)
from separatrix.solvers.perceptron.projectron import ProjectronFit, solve_projectron
from separatrix.types import Codes, Gram, Matrix
from separatrix.validation import require_choice, require_flag, require_integer, require_real


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
        Parameters of a kernel given by name, as in scikit-learn; with a kernel object they must be
        left alone.
    multi_class
        "argmax": on a mistake the own class gains the sample and the guessed one loses it. "ovr":
        one boundary for each class, each corrected on its own mistakes. "ovo": one boundary for
        each pair of classes, trained on those two; most votes win.
    predictor
        "last" hypothesis, the "average" of all, the "vote" of all, or a "random" one for each sample.
    ties
        Equal votes go to the "lowest" class index or to the larger summed "margin".
    max_iter
        Passes over the samples, at most. At least 1.
    min_gain, min_iter
        From pass min_iter on, stop when the share of samples classified right as they are met rises
        by less than min_gain.
    shuffle
        Draw a new order for every pass; otherwise rows are met as given.
    eta0
        Learning rate. Above 0. It scales all scores and changes no prediction.
    budget
        Support vectors at most (a projectron): further mistakes are projected onto those there are.
        Needs predictor "last" or "average".
    cache_size
        Memory for kernel values in MB; by default 4096, or a quarter of the machine's if less.
    n_jobs
        Threads, -1 or None for all cores.
    time_limit
        Seconds after which to stop with what was learned so far.
    verbose
        Above 0, a progress bar on stderr.
    random_state
        Seed for the order of samples and for predictor="random".
    device
        "auto": a card where there is one and the work is worth it, "cpu", or "cuda": an error where
        that cannot be, as with a budget. Tensors that lie on a card are worked on there, and answered
        with tensors. `partial_fit` works in this machine's memory.

    Attributes
    ----------
    classes_, kernel_
        Labels, (k,), and the kernel object in use.
    support_, support_vectors_
        Training rows with at least one mistake, (s,), and those samples.
    alpha_
        Their coefficients in each of p boundaries, (s, p). With "vote" and "random", of the last.
    mistakes_, learning_curve_
        Samples mistaken in each pass, and the share classified right as they were met, (n_iter_,).
    n_iter_, stop_
        Passes made, and why it stopped: "clean pass", "min_gain", "max_iter" or "stopped".
    gram_
        In words: the form and precision of the kernel matrix that was used.

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

    _projectron: ProjectronFit | None

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        multi_class: str = "argmax",
        predictor: str = "last",
        ties: str = "lowest",
        max_iter: int = 100,
        min_gain: float | None = None,
        min_iter: int = 1,
        shuffle: bool = True,
        eta0: float = 1.0,
        budget: int | None = None,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        random_state: Any = 0,
        device: str = "auto",
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.multi_class = multi_class
        self.predictor = predictor
        self.ties = ties
        self.max_iter = max_iter
        self.min_gain = min_gain
        self.min_iter = min_iter
        self.shuffle = shuffle
        self.eta0 = eta0
        self.budget = budget
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose
        self.random_state = random_state
        self.device = device

    @with_callbacks
    @rollback_on_error
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from samples X, (n, d), or their kernel matrix, (n, n), and labels y, (n,)."""
        self._check_parameters()
        train = prepare(self, X, y, sample_weight)
        self._begin(train)
        place = self._place(train.X, train.X.shape[0])
        with monitored(self, train.X, train.y, steps=self.max_iter) as monitor:
            found = run_on(
                type(self).__name__,
                self.device,
                place,
                lambda place: self._found(train, monitor, place),
            )
        self._warn_if_unfinished(found)
        return self._keep(train, found)

    @available_if(lambda self: not self._precomputed)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one pass over more samples X, (n, d); the first call must name all classes."""
        self._check_parameters()
        require_whole(self, "partial_fit")
        require_same_device(X, y, sample_weight)
        X = as_numpy(X)
        first, as_it_was = not hasattr(self, "support_"), dict(self.__dict__)
        if not first:
            check_unchanged(self, self._begun)
        train = prepare(
            self,
            X,
            y,
            sample_weight,
            classes=classes_of_stream(self, classes),
            reset=first,
        )
        if first:
            self._begin(train)
            self.support_, self.support_vectors_ = np.empty(0, dtype=np.intp), train.X[:0]
            self.mistakes_, self.learning_curve_ = np.empty(0, dtype=np.intp), np.empty(0)
            self._log, self._projectron = Mistakes.joined([]), None
            self._rows_seen = self._n_steps = 0
        try:
            self._go_on(train)
        except BaseException:
            if first:  # as if nothing had happened
                self.__dict__ = as_it_was
            raise
        return self

    def decision_function(self, X: Any) -> Matrix:
        """Confidence in each class, (n, k), or in the second of two, (n,); votes for pairs."""
        values: Matrix = like(self._values(X), X)
        return values

    def boundary_scores(self, X: Any) -> Matrix:
        """Score of each sample at each of the p boundaries, positive on the first class's side."""
        S: Matrix = like(self._scored(X), X)
        return S

    def predict(self, X: Any) -> Any:
        """Most confident class of each sample, (n,)."""
        codes = as_numpy(winners(self._values(X)))
        return like(self.classes_[codes], X)

    def classify_rows(
        self,
        gram: Gram,
        y: Codes,  # shape: (n,)
        rows: Codes,
        *,
        n_classes: int,
        monitor: FitMonitor | None = None,
        threads: int = 1,
    ) -> RowsClassified:
        """Train on some rows of a Gram matrix and classify all of them, in one go.

        Scores of all rows are kept while training anyway, so this is how cross-validation and
        repeated splits share one kernel matrix.
        """
        train = _unweighted(y, n_classes)
        rng = generator(self)
        found = self._solve(gram, train, rows, rng, monitor, keep_scores=True, threads=threads)
        S = self._scores_on(gram, found, coding(n_classes, self._scheme).shape[1], rng)
        return RowsClassified(S, n_classes, self._scheme, self.ties, found.n_iter)

    def classify_rows_many(
        self,
        gram: Gram,
        y: Codes,  # shape: (n,)
        runs: Sequence[Codes],
        *,
        n_classes: int,
        monitor: FitMonitor | None = None,
    ) -> Iterator[RowsClassified]:
        """`classify_rows` for each of many runs, trained at the same time on a Gram on a card."""
        if self.budget is not None or self.predictor not in ("last", "average"):
            for rows in runs:
                yield self.classify_rows(gram, y, rows, n_classes=n_classes, monitor=monitor)
            return
        from separatrix.solvers.perceptron.cuda import solve_kernel_perceptrons
        from separatrix.solvers.perceptron.cuda_blocks import Examples

        train, sides = _unweighted(y, n_classes), coding(n_classes, self._scheme)
        batches = solve_kernel_perceptrons(
            gram,
            Examples(np.arange(len(y)), y, train.rates(self.eta0, self._scheme)),
            sides,
            runs,
            keep_mistakes=self.predictor != "last",
            **self._terms(n_classes, generator(self), monitor),
        )
        decided = (n_classes, self._scheme, self.ties)
        for batch in batches:
            if self.predictor == "last":
                yield from rows_of_fits(batch.scores, batch.n_iter, *decided)
                continue
            for found in batch.fits():
                S = self._scores_on(gram, found, sides.shape[1], np.random.default_rng(0))
                yield gpu_predictions(S, found.n_iter, *decided)

    @property
    def _scheme(self) -> str:
        return "ovo" if self.multi_class == "ovo" else "ovr"

    def _rule(self, n_classes: int) -> str:
        return "argmax" if self.multi_class == "argmax" and n_classes > 2 else "signs"

    def _place(
        self, X: Any, n: int, *, kernel: Kernel | None = None, predicting: bool = False
    ) -> Any:
        """Where to work on n samples X; a budget is kept in this machine's memory."""
        if self.budget is not None and not predicting:
            return choose_device(type(self).__name__, self.device, X, without="a budget")
        return super()._place(X, n, kernel=kernel, predicting=predicting)

    def _begin(self, train: Training) -> None:
        self.__dict__.pop("_on_card", None)
        self.classes_ = train.classes
        self._begun = {name: getattr(self, name) for name in ("budget", "multi_class")}
        self.kernel_ = resolve_kernel(
            type(self).__name__,
            self.kernel,
            train.X,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )

    def _found(self, train: Training, monitor: FitMonitor, place: Any) -> Any:
        """What training finds, worked out in one place."""
        gram = self._gram(self.kernel_, train.X, place)
        self.gram_ = repr(gram)
        rows = np.flatnonzero(train.weights)
        return self._solve(gram, train, rows, generator(self), monitor)

    def _terms(
        self, n_classes: int, rng: np.random.Generator, monitor: FitMonitor | None
    ) -> dict[str, Any]:
        """What all solvers are told alike."""
        return {
            "rule": self._rule(n_classes),
            "max_iter": self.max_iter,
            "min_iter": self.min_iter,
            "min_gain": self.min_gain,
            "shuffle": self.shuffle,
            "rng": rng,
            "monitor": monitor,
        }

    def _solve(
        self,
        gram: Gram,
        train: Training,
        rows: Codes,
        rng: np.random.Generator,
        monitor: FitMonitor | None,
        *,
        max_iter: int | None = None,
        start: Any = None,
        keep_scores: bool = False,
        threads: int | None = None,
    ) -> KernelPerceptronFit | ProjectronFit:
        k = len(train.classes)
        common = self._terms(k, rng, monitor) | {
            "rates": train.rates(self.eta0, self._scheme)[:, rows],
            "max_iter": max_iter or self.max_iter,
            "start": start,
        }
        problems = problems_of(train.y, rows, coding(k, self._scheme))
        if self.budget is not None:
            return solve_projectron(gram, problems, budget=self.budget, **common)
        return solve_kernel_perceptron(
            gram,
            problems,
            keep_scores=keep_scores,
            threads=threads or self._threads,
            **common,
        )

    def _keep(self, train: Training, found: KernelPerceptronFit | ProjectronFit) -> Self:
        self._n_steps = found.n_steps
        self._projectron = None
        self._log = Mistakes.joined([])
        p = coding(len(self.classes_), self._scheme).shape[1]
        if isinstance(found, ProjectronFit):
            self.support_, self._projectron = found.support, found
            self.alpha_ = found.average() if self.predictor == "average" else found.coef
        else:
            self.support_, places = np.unique(found.mistakes.rows, return_inverse=True)
            self._log = found.mistakes._replace(rows=places)
            self.alpha_ = self._coefficients(self._log, len(self.support_), p)
        self.support_vectors_ = (
            np.empty((0, 0))
            if isinstance(self.kernel_, Precomputed)
            else as_numpy(train.X[like(self.support_, train.X)])
        )
        n = np.count_nonzero(train.weights)
        self._rows_seen = len(train.y)
        self.mistakes_ = found.mistakes_by_epoch
        self.learning_curve_ = 1.0 - found.mistakes_by_epoch / n
        self.n_iter_, self.stop_ = found.n_iter, found.stop
        return self

    def _coefficients(self, log: Mistakes, n: int, p: int) -> Matrix:
        if self.predictor == "average":
            return averaged(log, n, p, self._n_steps)
        return last(log, n, p)

    def _values(self, X: Any) -> Any:
        """Confidence in each class, where it was computed: NumPy, or a tensor on a card."""
        return decision_values(self._scored(X), len(self.classes_), self._scheme, self.ties)

    def _scored(self, X: Any) -> Any:
        """Scores at the boundaries, (m, p), where they were computed."""
        check_is_fitted(self)

        def scores(blocks: Iterator[Any]) -> Any:
            rng = generator(self)  # anew where work begins anew
            return concatenate(
                [self._scores(K, self.alpha_, self._log, self._n_steps, rng) for K in blocks]
            )

        return self._from_kernel_values(check_samples(self, X, reset=False), scores)

    def _scores(
        self, K: Any, alpha: Matrix, log: Mistakes, n_steps: int, rng: np.random.Generator
    ) -> Any:  # K (m, s) -> (m, p)
        """Scores from kernel values with the support, by the chosen predictor.

        Votes of all hypotheses, and those drawn at random, are counted in this machine's memory.
        """
        if self.predictor in ("last", "average"):
            return K @ alpha if not is_tensor(K) else K.double() @ like(alpha, K)
        K, p = as_numpy(K), alpha.shape[1]
        if self.predictor == "vote":
            by_argmax = self.multi_class == "argmax" and p > 1
            return votes(K, log, p, n_steps, by_argmax=by_argmax)
        return at_steps(K, log, p, rng.integers(max(1, n_steps), size=len(K)))

    def _scores_on(
        self,
        gram: Gram,
        found: KernelPerceptronFit | ProjectronFit,
        p: int,
        rng: np.random.Generator,
    ) -> Any:
        """Scores of all rows of the Gram that was trained on, (n, p); a tensor where the Gram is."""
        if isinstance(found, ProjectronFit):
            coef = found.average() if self.predictor == "average" else found.coef
            return scores_of_rows(gram, found.support, coef)
        if self.predictor == "last" and found.scores is not None:
            return found.scores.T
        support, places = np.unique(found.mistakes.rows, return_inverse=True)
        log = found.mistakes._replace(rows=places)
        if self.predictor == "average":
            return scores_of_rows(gram, support, averaged(log, len(support), p, found.n_steps))
        alpha = np.zeros((len(support), p))
        return self._scores(as_numpy(gram.rows(support)).T, alpha, log, found.n_steps, rng)

    def _go_on(self, train: Training) -> None:
        """One pass over new samples, starting from what the support says about them."""
        earlier, seen = (self.mistakes_, self.learning_curve_), self._rows_seen
        together = _stacked(self.support_vectors_, train.X)
        numbers = np.concatenate([self.support_, seen + np.arange(len(train.y))])
        if self.budget is None:
            found: KernelPerceptronFit | ProjectronFit = self._one_pass(train)
        else:
            found = self._one_pass_of_projectron(train, together)
        self._keep(train._replace(X=together), found)
        self.support_ = numbers[self.support_]
        self._rows_seen += seen
        self.mistakes_ = np.concatenate([earlier[0], self.mistakes_])
        self.learning_curve_ = np.concatenate([earlier[1], self.learning_curve_])
        self.n_iter_ = len(self.mistakes_)

    def _one_pass(self, train: Training) -> KernelPerceptronFit:
        """Over new samples alone; the support gives them their scores to start with."""
        s, p = len(self.support_), coding(len(self.classes_), self._scheme).shape[1]
        start = np.zeros((p, len(train.y)))
        coef = last(self._log, s, p)
        for part, K in self._kernel_with_support(train.X, self.support_, self.support_vectors_):
            start[:, part] = (K @ coef).T
        found = self._solve(
            self._gram(self.kernel_, train.X),
            train,
            np.flatnonzero(train.weights),
            generator(self),
            None,
            max_iter=1,
            start=start,
        )
        assert isinstance(found, KernelPerceptronFit)
        new = found.mistakes
        new = new._replace(rows=new.rows + s, steps=new.steps + self._n_steps)
        return found._replace(
            mistakes=Mistakes.joined([self._log, new]), n_steps=found.n_steps + self._n_steps
        )

    def _one_pass_of_projectron(self, train: Training, together: Any) -> ProjectronFit:
        """Over the support and new samples together: the projections need the support's kernel values."""
        s = len(self.support_)
        both = train._replace(
            y=np.concatenate([np.zeros(s, dtype=np.intp), train.y]),
            weights=np.concatenate([np.zeros(s), train.weights]),
            class_weights=np.concatenate([np.ones(s), train.class_weights]),
        )
        start = self._projectron._replace(support=np.arange(s)) if self._projectron else None
        found = self._solve(
            self._gram(self.kernel_, together),
            both,
            s + np.flatnonzero(train.weights),
            generator(self),
            None,
            max_iter=1,
            start=start,
        )
        assert isinstance(found, ProjectronFit)
        return found

    def _warn_if_unfinished(self, found: KernelPerceptronFit | ProjectronFit) -> None:
        if found.stop in ("max_iter", "stopped") and found.mistakes_by_epoch[-1]:
            reached = "time_limit" if found.stop == "stopped" else "max_iter"
            warn_user(
                f"{type(self).__name__} still made {found.mistakes_by_epoch[-1]} mistakes in pass "
                f"{found.n_iter} ({reached} reached, a clean pass wanted): raise {reached}, set "
                "min_gain to stop earlier, or use predictor='average'",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        name = type(self).__name__
        require_choice(name, "multi_class", self.multi_class, ("argmax", "ovr", "ovo"))
        require_choice(name, "predictor", self.predictor, PREDICTORS)
        require_choice(name, "ties", self.ties, TIES)
        require_choice(name, "device", self.device, DEVICES)
        require_integer(name, "max_iter", self.max_iter, least=1)
        require_integer(name, "min_iter", self.min_iter, least=1)
        if self.min_gain is not None:
            require_real(name, "min_gain", self.min_gain, least=0)
        require_flag(name, "shuffle", self.shuffle)
        require_real(name, "eta0", self.eta0, above=0)
        if self.budget is not None:
            require_integer(name, "budget", self.budget, least=1)
            if self.predictor not in ("last", "average"):
                raise ParameterError(
                    name, "predictor", "'last' or 'average' when a budget is set", self.predictor
                )
        if self.time_limit is not None:
            require_real(name, "time_limit", self.time_limit, above=0)
        self._check_resources()


def _stacked(first: Any, second: Any) -> Any:
    if issparse(first) or issparse(second):
        return sparse_vstack([first, second]).tocsr()
    return np.concatenate([first, second])


def _unweighted(y: Codes, n_classes: int) -> Training:
    """Rows of a Gram that all weigh 1."""
    return Training(None, y, np.arange(n_classes), np.ones(len(y)), np.ones(len(y)))
