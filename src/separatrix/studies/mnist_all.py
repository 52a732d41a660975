"""Every classifier on MNIST, 60,000 digits for training and 10,000 for testing: error, time, memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import separatrix as sx
from separatrix.data.dataset import Dataset
from separatrix.data.splits import stratified_splits, subsampled
from separatrix.experiments import steps
from separatrix.experiments.steps import Results, Row, RunContext, Step, StepResult, params_json
from separatrix.kernels.vector_kernels import Gaussian, Polynomial
from separatrix.plots.figures import INK, new_axes
from separatrix.report.page import Page, Picture, Section, Table
from separatrix.runtime.device import choose_device
from separatrix.runtime.resource_usage import ResourceUsage
from separatrix.studies.views import study_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "mnist-all"
PART = "every classifier"
OMITTED = ("random_state", "device")  # of the run and the machine, not of the classifier
BLUE = "#0072b2"


def classifiers(seed: int, device: str = "auto") -> dict[str, Any]:
    """Classifiers for pixels from 0 to 1, cheapest first."""
    quartic = Polynomial(4, gamma=255.0**2, coef0=1.0)  # (1 + x.z)^4 of the raw pixels
    return {
        "naive Bayes, multinomial": sx.MultinomialNB(device=device),
        "naive Bayes, Bernoulli": sx.BernoulliNB(binarize=0.5, device=device),
        "naive Bayes, Gaussian": sx.GaussianNB(var_smoothing=0.01, device=device),
        "least squares": sx.LeastSquaresClassifier("loo", device=device),
        "linear discriminant": sx.LinearDiscriminantAnalysis(
            solver="lsqr", shrinkage="auto", device=device
        ),
        "quadratic discriminant": sx.QuadraticDiscriminantAnalysis(reg_param=0.1, device=device),
        "perceptron": sx.Perceptron(max_iter=20, multi_class="auto", random_state=seed),
        "perceptron, averaged": sx.Perceptron(
            max_iter=20, multi_class="auto", predictor="average", random_state=seed
        ),
        "subgradient SVM": sx.SubgradientSVC(alpha=0.1, mu=1e-4, eps=1e-5, max_iter=300),
        "linear SVM": sx.LinearSVC(C=0.1, random_state=seed, device=device),
        "logistic regression": sx.LogisticRegression(C=1.0, device=device),
        "nearest neighbours": sx.KNeighborsClassifier(3, ties="nearest", device=device),
        "kernel perceptron, degree 4": sx.KernelPerceptron(
            quartic,
            multi_class="ovr",
            predictor="average",
            max_iter=10,
            shuffle=True,
            random_state=seed,
            device=device,
        ),
        "SVM, degree 4": sx.SVC(C=10.0, kernel=Polynomial(4, gamma=0.02, coef0=1.0), device=device),
        "SVM, Gaussian": sx.SVC(C=10.0, kernel=Gaussian(0.02), device=device),
    }


def experiment(
    *,
    quick: bool = False,
    seed: int = 0,
    data: str | None = None,
    subsample: int | None = None,
    device: str = "auto",
) -> steps.Experiment:
    """One step per classifier; quick: scikit-learn's digits."""
    choose_device(NAME, device, large=False)
    data = data or ("digits" if quick else "mnist")
    options = {"quick": quick, "seed": seed, "data": data, "subsample": subsample}
    split = partial(split_parts, data=data, subsample=subsample, seed=seed)
    fits = [
        Step(name, partial(_fit_and_test, name=name, model=model, split=split))
        for name, model in classifiers(seed, device).items()
    ]
    title = "Every classifier on handwritten digits"
    return steps.Experiment(NAME, title, options, (data,), fits)


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

    return context.shared("parts", make)


def _fit_and_test(
    context: RunContext, name: str, model: Any, split: Callable[[RunContext], Dataset]
) -> StepResult:
    """Fit one classifier and predict the test part, with time and memory of each."""
    data, model = split(context), clone(model)
    with ResourceUsage() as fitting, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is low on purpose
        model.fit(data.X, data.y)
    with ResourceUsage() as predicting:
        guess = model.predict(data.X_test)
    error = float(np.mean(guess != data.y_test))
    n_iter = float(np.max(getattr(model, "n_iter_", 1)))
    parameters = params_json(**{k: v for k, v in model.get_params().items() if k not in OMITTED})
    row = partial(Row, PART, data.name, name, parameters, steps.ALL_SPLITS)
    sizes = len(data.y), len(data.y_test)
    return StepResult(
        [
            row("n_iter", n_iter, fitting.seconds, fitting.mebibytes),
            row("test_error", error, predicting.seconds, predicting.mebibytes, *sizes),
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
    rows = []
    for row in tests:
        fit, error = fits[row.model], f"{100 * row.value:.2f}"
        rows.append((row.model, error, fit.seconds, row.seconds, fit.memory))
    columns = ("classifier", "test error %", "fit s", "predict s", "memory, MiB")
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
