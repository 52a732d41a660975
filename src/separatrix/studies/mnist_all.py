"""Every classifier on MNIST, 60,000 digits for training and 10,000 for testing: error, time, memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

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
from separatrix.experiments.table import Results
from separatrix.kernels.vector_kernels import Gaussian, Polynomial
from separatrix.plots.figures import INK, new_axes
from separatrix.plots.tables import Table
from separatrix.report.page import Page, Picture, Section
from separatrix.runtime.device import choose_device
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.studies.reproduce import study_page
from separatrix.validation import require_integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "mnist-all"
PART = "every classifier"
OMITTED = ("random_state", "device")  # of the run and the machine, not of the classifier
BLUE = "#0072b2"

# Published test error %, 60,000 training rows; sources are in reference.md
PUBLISHED = {"nearest neighbours": 3.1, "SVM, Gaussian": 1.47, "kernel perceptron, degree 4": 1.54}


def classifiers(seed: int, device: str = "auto") -> dict[str, Callable[[], Any]]:
    """Classifiers for pixels from 0 to 1, cheapest first."""
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
    """One step per classifier; quick: scikit-learn's digits."""
    require_integer(NAME, "seed", seed, least=0)
    choose_device(NAME, device, worth=False)
    data = data or ("digits" if quick else "mnist")
    options = {"quick": quick, "seed": seed, "data": data, "subsample": subsample}
    split = partial(split_parts, data=data, subsample=subsample, seed=seed)
    steps = [
        Step(name, partial(_fit_and_test, name=name, make=make, split=split))
        for name, make in classifiers(seed, device).items()
    ]
    return Experiment(NAME, "Every classifier on handwritten digits", options, (data,), steps)


def split_parts(context: RunContext, data: str, subsample: int | None, seed: int) -> Dataset:
    """Pixels from 0 to 1 in a training and a test part, split 80 to 20 unless the data set is."""

    def make() -> Dataset:
        found = subsampled(context.data(data), subsample, seed)
        top = float(found.X.max()) or 1.0
        X, y = found.X.astype(np.float32) / top, np.asarray(found.y)
        if found.X_test is None:
            (train, test), *_ = stratified_splits(y, repeats=1, test_size=0.2, seed=seed)
            return Dataset(data, X[train], y[train], X[test], y[test])
        return Dataset(data, X, y, found.X_test.astype(np.float32) / top, np.asarray(found.y_test))

    parts: Dataset = context.shared("parts", make)
    return parts


def _fit_and_test(
    context: RunContext, name: str, make: Callable[[], Any], split: Callable[[RunContext], Dataset]
) -> StepResult:
    """Fit one classifier and predict the test part, with time and memory of each."""
    data = split(context)
    model = make()
    with ResourceUsage() as fitting, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is low on purpose
        model.fit(data.X, data.y)
    with ResourceUsage() as predicting:
        guess = model.predict(data.X_test)
    error = float(np.mean(guess != data.y_test))
    n_iter = float(np.max(getattr(model, "n_iter_", 1)))
    parameters = params_json(**{k: v for k, v in model.get_params().items() if k not in OMITTED})
    row = partial(Row, PART, data.name, name, parameters, ALL_SPLITS)
    return StepResult(
        [
            row("n_iter", n_iter, fitting.seconds, fitting.mebibytes),
            row("test_error", error, predicting.seconds, predicting.mebibytes),
        ]
    )


def page(results: Results) -> Page:
    """Error, times and memory, best first."""
    fits = {row.model: row for row in results.where(metric="n_iter")}
    tests = sorted(results.where(metric="test_error"), key=lambda row: row.value)
    first, last = tests[0], tests[-1]
    data = results.options["data"]
    summary = [
        f"On {data}, {first.model} has the lowest test error, {100 * first.value:.2f} %, after "
        f"{fits[first.model].seconds:.1f} s of training; {last.model} has the highest, "
        f"{100 * last.value:.2f} %."
    ]
    published = PUBLISHED if data == "mnist" and not results.options["subsample"] else {}
    rows = []
    for row in tests:
        fit, error = fits[row.model], f"{100 * row.value:.2f}"
        known = published.get(row.model)
        rows.append((row.model, error, known, fit.seconds, row.seconds, fit.memory))
    columns = ("classifier", "test error %", "published %", "fit s", "predict s", "memory, MiB")
    table = Table(columns, rows, "Memory is the growth of the process during training.")
    against_time = (
        "Test error against seconds of training, both logarithmic; numbers are ranks by error."
    )
    sections = [
        Section("Error", [], [Picture(_draw_errors(tests), "Test error, lowest first.", table)]),
        Section("Error against time", [], [Picture(_draw_times(tests, fits), against_time, table)]),
    ]
    return study_page(results, summary, sections)


def _draw_errors(tests: list[Row]) -> Figure:
    figure, axes = new_axes(6.4, 0.9 + 0.26 * len(tests))
    positions = range(len(tests), 0, -1)
    axes.barh(positions, [100 * row.value for row in tests], color=BLUE)
    axes.set_yticks(positions, [f"{rank} · {row.model}" for rank, row in enumerate(tests, start=1)])
    axes.set_xlabel("test error, %")
    return figure


def _draw_times(tests: list[Row], fits: dict[str, Row]) -> Figure:
    figure, axes = new_axes(6.4, 4.4)
    for rank, row in enumerate(tests, start=1):
        x, y = fits[row.model].seconds, 100 * row.value
        axes.plot(x, y, marker="o", color=BLUE)
        offset, side = ((-6, -3), "right") if rank % 2 else ((6, -3), "left")  # avoids overlaps
        axes.annotate(f"{rank}", (x, y), offset, textcoords="offset points", ha=side, color=INK)
    axes.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel="test error, %")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    return figure
