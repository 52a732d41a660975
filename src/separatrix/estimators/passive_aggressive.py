"""Passive-aggressive learning as an estimator; `solvers/perceptron/primal.py` computes."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np

from separatrix.estimators.base.online_machine import OnlineMachine
from separatrix.estimators.base.parameters import choice, flag, integer, real, with_parameters
from separatrix.estimators.base.prepare import Training
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.solvers.perceptron.primal import StepSize
from separatrix.validation import require_integer


@with_parameters
class PassiveAggressiveClassifier(OnlineMachine):
    """Linear classifier for streams that corrects samples within the margin, by the smallest step.

    A sample with a score beyond 1 on its own side changes nothing; any other moves the weights by the
    smallest step that would put it there, limited by C. It needs no learning rate. For samples that
    fit into memory `LinearSVC` and `LogisticRegression` are more accurate: the last weights depend on the
    last samples met, and a mislabelled one moves them by up to C.

    Parameters
    ----------
    C
        Largest step, as a multiple of the sample ("hinge"), or softness of the step ("squared_hinge").
        Above 0; smaller ignores noise better and learns slower.
    fit_intercept
        Whether each boundary has a bias. It moves by the step itself.
    max_iter
        Passes over the samples, at most. At least 1.
    tol
        Stop when the mean loss of a pass has not fallen by tol below the best for n_iter_no_change
        passes. None: only a pass without a loss or max_iter stops.
    early_stopping, validation_fraction, n_iter_no_change
        Set this share of the samples aside, above 0 and below 1, and stop when the accuracy on them
        has not risen by tol for that many passes, at least 1.
    shuffle
        Draw a new order for every pass; False: rows are met in the order of X.
    loss
        "hinge": PA-I, a step of min(C, loss / |x|^2). "squared_hinge": PA-II, loss / (|x|^2 + 1 / (2 C)).
    random_state
        Seed for the order and for the validation part.
    warm_start
        Resume from the present weights when fit again.
    class_weight
        Dict from label to weight, or "balanced": multiplies the steps of a class's own samples.
    average
        Predict with the mean of all weights held. An integer above 1: of those held from that sample on.
    time_limit, n_jobs, verbose
        Seconds after which to stop with the present weights; no effect: all boundaries are learned in
        one pass; above 0, a progress bar on stderr.

    Attributes
    ----------
    classes_, coef_, intercept_
        Labels, (k,); weights, (p, d); biases, (p,); one row for two classes, else k.
    n_iter_, t_
        Passes made, and 1 + samples met.
    mistakes_
        Samples corrected in each pass, (n_iter_,): those within the margin of at least one boundary.
    loss_curve_
        Mean hinge loss of each pass, summed over the boundaries, (n_iter_,).
    learning_curve_, boundary_curve_
        Share of the samples of each pass that were predicted right when they were met, and share of those
        that needed no correction, (n_iter_,).
    stop_
        Why it stopped: "clean pass", "tol", "validation", "max_iter" or "stopped".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PassiveAggressiveClassifier(C=0.01, average=True, random_state=0)
    >>> for start in range(0, 1500, 100):  # a stream of batches
    ...     batch = slice(start, start + 100)
    ...     model = model.partial_fit(X[batch], y[batch], classes=range(10))
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online Passive-Aggressive Algorithms, JMLR 7 (2006).
    """

    _: KW_ONLY
    C: float = real(1.0, above=0)
    fit_intercept: bool = flag(True)
    max_iter: int = integer(1000, least=1)
    tol: float | None = real(1e-3, least=0, also=(None,))
    early_stopping: bool = flag(False)
    validation_fraction: float = real(0.1, above=0, below=1)
    n_iter_no_change: int = integer(5, least=1)
    shuffle: bool = flag(True)
    verbose: int = 0
    loss: str = choice("hinge", "squared_hinge")
    n_jobs: int | None = None
    random_state: Any = 0
    warm_start: bool = flag(False)
    class_weight: Any = None
    average: bool | int = False
    time_limit: float | None = real(None, above=0)

    _resumed_with: ClassVar[tuple[str, ...]] = ("average",)
    _advice: ClassVar[str] = "lower C, use average=True, or use LinearSVC"

    @property
    def _average_from(self) -> int:
        return int(self.average)

    def _step_size(self, train: Training) -> StepSize:
        norms = np.asarray(squared_norms(train.X), dtype=np.float64)
        if self.loss == "hinge":
            return StepSize(1.0, float(self.C), 0.0, norms)
        return StepSize(1.0, np.inf, 0.5 / self.C, norms)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.average, bool):
            require_integer(type(self).__name__, "average", self.average, least=0)
