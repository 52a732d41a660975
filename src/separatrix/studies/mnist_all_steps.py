"""The whole family on MNIST, its 60,000 digits to train and 10,000 to test: error, time, memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.data.dataset import Dataset
from separatrix.data.splits import stratified_splits, subsampled
from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.subgradient_svc import SubgradientSVC
from separatrix.estimators.svc import SVC
from separatrix.experiments.steps import (
    ALL_SPLITS,
    Experiment,
    Row,
    RunContext,
    Step,
    StepResult,
    params_json,
)
from separatrix.kernels.vector_kernels import Gaussian, Polynomial
from separatrix.runtime.device import choose_device
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.validation import require_integer

NAME = "mnist-all"
PART = "every classifier"
NOT_TOLD = ("random_state", "device")  # in the table: they are the run's, and the machine's

# Published test error %, 60,000 to train; reference.md says where they come from
PUBLISHED = {"nearest neighbours": 3.1, "SVM, Gaussian": 1.47, "kernel perceptron, degree 4": 1.54}


def classifiers(seed: int, device: str = "auto") -> dict[str, Callable[[], Any]]:
    """What is trained, on pixels from 0 to 1, cheapest first."""
    quartic = Polynomial(4, gamma=255.0**2, coef0=1.0)  # (1 + x.z)^4 of the raw pixels
    return {
        "naive Bayes, multinomial": MultinomialNB,
        "naive Bayes, Bernoulli": partial(BernoulliNB, binarize=0.5),
        "naive Bayes, Gaussian": partial(GaussianNB, var_smoothing=0.01),
        "least squares": partial(LeastSquaresClassifier, "loo"),
        "linear discriminant": partial(LinearDiscriminantAnalysis, solver="lsqr", shrinkage="auto"),
        "quadratic discriminant": partial(QuadraticDiscriminantAnalysis, reg_param=0.1),
        "perceptron": partial(Perceptron, max_iter=20, random_state=seed),
        "perceptron, averaged": partial(
            Perceptron, max_iter=20, predictor="average", random_state=seed
        ),
        "subgradient SVM": partial(SubgradientSVC, alpha=0.1, mu=1e-4, eps=1e-5, max_iter=300),
        "linear SVM": partial(LinearSVC, C=0.1, random_state=seed),
        "logistic regression": partial(LogisticRegression, C=1.0),
        "nearest neighbours": partial(KNeighborsClassifier, 3, device=device),
        "kernel perceptron, degree 4": partial(
            KernelPerceptron,
            quartic,
            multi_class="ovr",
            predictor="average",
            max_iter=10,
            shuffle=True,
            random_state=seed,
            device=device,
        ),
        "SVM, degree 4": partial(
            SVC, C=10.0, kernel=Polynomial(4, gamma=0.02, coef0=1.0), device=device
        ),
        "SVM, Gaussian": partial(SVC, C=10.0, kernel=Gaussian(0.02), device=device),
    }


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    subsample: int | None = None,
    device: str = "auto",
) -> Experiment:
    """One step a classifier; quick is on the digits that scikit-learn ships."""
    require_integer(NAME, "seed", seed, least=0)
    choose_device(NAME, device, worth=False)
    data = data or ("digits" if quick else "mnist")
    options = {"quick": quick, "seed": seed, "data": data, "subsample": subsample}
    steps = [
        Step(name, partial(_one, name=name, make=make, data=data, subsample=subsample, seed=seed))
        for name, make in classifiers(seed, device).items()
    ]
    return Experiment(NAME, "Every classifier on handwritten digits", options, (data,), steps)


def parts(workshop: RunContext, data: str, subsample: int | None, seed: int) -> Dataset:
    """Pixels from 0 to 1, to train and to test; a set without a test part is split 80 to 20."""

    def make() -> Dataset:
        found = subsampled(workshop.data(data), subsample, seed)
        top = float(found.X.max()) or 1.0
        X, y = found.X.astype(np.float32) / top, np.asarray(found.y)
        if found.X_test is None:
            (train, test), *_ = stratified_splits(y, repeats=1, test_size=0.2, seed=seed)
            return Dataset(data, X[train], y[train], X[test], y[test])
        return Dataset(data, X, y, found.X_test.astype(np.float32) / top, np.asarray(found.y_test))

    ready: Dataset = workshop.once("parts", make)
    return ready


def _one(
    workshop: RunContext,
    name: str,
    make: Callable[[], Any],
    data: str,
    subsample: int | None,
    seed: int,
) -> StepResult:
    """Fit one and predict with it; each is measured."""
    found = parts(workshop, data, subsample, seed)
    model = make()
    with ResourceUsage() as fitting, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # passes are limited on purpose
        model.fit(found.X, found.y)
    with ResourceUsage() as predicting:
        guess = model.predict(found.X_test)
    error = float(np.mean(guess != found.y_test))
    n_iter = float(np.max(getattr(model, "n_iter_", 1)))
    parameters = params_json(**{k: v for k, v in model.get_params().items() if k not in NOT_TOLD})
    row = partial(Row, PART, data, name, parameters, ALL_SPLITS)
    return StepResult(
        [
            row("n_iter", n_iter, fitting.seconds, fitting.mebibytes),
            row("test_error", error, predicting.seconds, predicting.mebibytes),
        ]
    )
