"""The models of Playground and their parameters.

The server reads this table, so nothing here imports NumPy or scikit-learn. `scene.py` makes the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError
from separatrix.workbench.playground.parameters import (
    Parameter,
    choice,
    integer,
    linear,
    log,
    switch,
)

Values = Mapping[str, Any]
SECONDS = 3.0  # time limit of a fit


def _copy(values: Values) -> dict[str, Any]:
    return dict(values)


@dataclass(frozen=True)
class PlaygroundModel:
    """A classifier of Playground."""

    key: str
    title: str
    class_name: str
    caption: str
    parameters: tuple[Parameter, ...]
    arguments: Callable[[Values], dict[str, Any]] = _copy  # of the class, from checked values
    steps: str | None = None  # "mistakes" or "descent" if learning can be shown step by step
    limits: tuple[str, ...] = ()  # which of time_limit, n_jobs and device it has
    margins: bool = False  # whether its margins are at scores of +1 and -1

    def to_json(self) -> dict[str, Any]:
        """The JSON of the page."""
        return {
            "key": self.key,
            "title": self.title,
            "class": self.class_name,
            "caption": self.caption,
            "steps": self.steps,
            "parameters": [parameter.to_json() for parameter in self.parameters],
        }

    def check(self, values: Values) -> dict[str, Any]:
        """All parameters that apply, with defaults for those that are missing.

        >>> MODELS["svm"].check({"kernel": "linear", "C": 10, "gamma": 2.0})
        {'kernel': 'linear', 'hard': False, 'C': 10.0}
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in values.items():
            if name not in known:
                names = ", ".join(known) or "none"
                raise ParameterError(self.title, name[:60], f"one of {names}", value)
        found = {
            name: parameter.check(self.title, values.get(name, parameter.default))
            for name, parameter in known.items()
        }
        return {name: value for name, value in found.items() if known[name].applies(found)}


def find_model(key: str) -> PlaygroundModel:
    """The model of that key."""
    if key not in MODELS:
        raise ParameterError("Playground", "model", f"one of {', '.join(MODELS)}", key[:60])
    return MODELS[key]


def _svm(values: Values) -> dict[str, Any]:
    made = dict(values)
    if made.pop("hard"):
        made["C"] = float("inf")
    return made


def _logistic(values: Values) -> dict[str, Any]:
    made = {"C": values["C"]} if values["prior"] == "given" else {"C": "evidence"}
    if values["posterior"] == "laplace":
        made["posterior"] = "laplace"
    return made


def _least_squares(values: Values) -> dict[str, Any]:
    return {"ridge": values.get("ridge", "loo")}


def _lda(values: Values) -> dict[str, Any]:
    return {"solver": "lsqr", "shrinkage": values["shrinkage"]} if values["shrinkage"] else {}


def _perceptron(values: Values) -> dict[str, Any]:
    return {**values, "tol": None}  # only a pass without mistakes, or max_iter, stops it


KERNELS = {
    "rbf": "Gaussian",
    "linear": "linear",
    "poly": "polynomial",
    "laplacian": "Laplacian",
    "sigmoid": "sigmoid",
}
_PREDICTORS = {"last": "the last weights", "average": "the average of all"}
_CURVED = (("kernel", ("rbf", "poly", "laplacian", "sigmoid")),)
_POLYNOMIAL = (("kernel", ("poly",)),)
_SHIFTED = (("kernel", ("poly", "sigmoid")),)
_KERNEL = choice("kernel", "kernel", KERNELS, "The measure of similarity.")
_OF_KERNEL = (
    log(
        "gamma",
        "gamma",
        1.0,
        (0.01, 100.0),
        "How fast similarity falls with distance.",
        when=_CURVED,
    ),
    integer("degree", "degree", 3, (1, 8), "Degree of the polynomial.", when=_POLYNOMIAL),
    linear("coef0", "constant", 1.0, (0.0, 4.0), "Added before the power is taken.", when=_SHIFTED),
)
_PASSES = integer("max_iter", "passes at most", 100, (1, 1000), "Limit on passes over all points.")
_SHUFFLE = switch("shuffle", "shuffle", False, "A new order of the points for every pass.")
_C = log("C", "C", 1.0, (0.01, 1000.0), "Penalty for a point on the wrong side of its margin.")

_ALL = (
    PlaygroundModel(
        "svm",
        "Support vector machine",
        "SVC",
        "The boundary with the widest margin, straight or curved by a kernel.",
        (
            _KERNEL,
            switch("hard", "hard margin", False, "No point may be inside the margin."),
            log("C", "C", 1.0, (0.01, 1000.0), _C.help, when=(("hard", (False,)),)),
            *_OF_KERNEL,
        ),
        arguments=_svm,
        limits=("time_limit", "n_jobs", "device"),
        margins=True,
    ),
    PlaygroundModel(
        "knn",
        "k nearest neighbours",
        "KNeighborsClassifier",
        "Each point of the plane takes the class of most of its nearest neighbours.",
        (
            integer("n_neighbors", "k", 5, (1, 50), "How many neighbours vote."),
            choice(
                "metric",
                "distance",
                {"euclidean": "Euclidean", "manhattan": "city block", "chebyshev": "maximum"},
            ),
            choice("weights", "votes", {"uniform": "equal", "distance": "1 / distance"}),
        ),
        limits=("device",),
    ),
    PlaygroundModel(
        "perceptron",
        "Perceptron",
        "Perceptron",
        "A straight boundary that moves at every mistake.",
        (choice("predictor", "predict with", _PREDICTORS), _PASSES, _SHUFFLE),
        arguments=_perceptron,
        steps="mistakes",
        limits=("time_limit",),
    ),
    PlaygroundModel(
        "kernel-perceptron",
        "Kernel perceptron",
        "KernelPerceptron",
        "The perceptron with a curved boundary: every mistake adds a point to a sum.",
        (_KERNEL, *_OF_KERNEL, choice("predictor", "predict with", _PREDICTORS), _PASSES, _SHUFFLE),
        steps="mistakes",
        limits=("time_limit", "n_jobs", "device"),
    ),
    PlaygroundModel(
        "linear-svm",
        "Linear SVM",
        "LinearSVC",
        "A straight boundary with a wide margin, also for very many points.",
        (_C, choice("loss", "loss", {"squared_hinge": "squared hinge", "hinge": "hinge"})),
        limits=("time_limit", "n_jobs"),
        margins=True,
    ),
    PlaygroundModel(
        "subgradient",
        "SVM by subgradient descent",
        "SubgradientSVC",
        "The linear SVM, step by step downhill with a fixed step.",
        (
            log("alpha", "step", 0.1, (1e-4, 10.0), "Length of a step."),
            log("mu", "penalty", 0.01, (1e-4, 10.0), "Penalty on large weights."),
            choice(
                "loss",
                "loss",
                {
                    "hinge": "hinge",
                    "squared_hinge": "squared hinge",
                    "logistic": "logistic",
                    "sigmoid": "sigmoid",
                },
            ),
            integer("max_iter", "steps at most", 200, (1, 2000)),
            log("eps", "stop below", 1e-4, (1e-8, 0.1), "Change of the objective in one step."),
            switch("average", "average", False, "Predict with the mean of all steps."),
        ),
        steps="descent",
        limits=("time_limit", "n_jobs"),
        margins=True,
    ),
    PlaygroundModel(
        "logistic",
        "Logistic regression",
        "LogisticRegression",
        "A straight boundary with probabilities on both sides.",
        (
            choice(
                "prior",
                "C is",
                {"given": "set by hand", "evidence": "found by evidence"},
                "Evidence: the prior under which the labels are most probable.",
            ),
            log(
                "C",
                "C",
                1.0,
                (0.001, 1000.0),
                "Variance of the prior on the weights.",
                when=(("prior", ("given",)),),
            ),
            choice(
                "posterior",
                "probabilities",
                {"none": "of the best weights", "laplace": "averaged over weights"},
            ),
        ),
        arguments=_logistic,
        limits=("time_limit", "n_jobs"),
    ),
    PlaygroundModel(
        "lda",
        "Linear discriminant analysis",
        "LinearDiscriminantAnalysis",
        "Gaussian classes with one covariance: straight boundaries.",
        (
            linear(
                "shrinkage", "shrinkage", 0.0, (0.0, 1.0), "Shrinks covariances towards spheres."
            ),
        ),
        arguments=_lda,
    ),
    PlaygroundModel(
        "qda",
        "Quadratic discriminant analysis",
        "QuadraticDiscriminantAnalysis",
        "Gaussian classes, each with its own covariance: conic boundaries.",
        (
            linear(
                "reg_param", "shrinkage", 0.0, (0.0, 1.0), "Shrinks covariances towards spheres."
            ),
        ),
    ),
    PlaygroundModel(
        "gaussian-nb",
        "Gaussian naive Bayes",
        "GaussianNB",
        "Gaussian classes with independent features.",
        (log("var_smoothing", "smoothing", 1e-9, (1e-9, 1.0), "Added to all variances."),),
    ),
    PlaygroundModel(
        "least-squares",
        "Least squares",
        "LeastSquaresClassifier",
        "A linear regression on labels of -1 and +1: fast, but sensitive to outliers.",
        (
            choice("find", "ridge is", {"given": "set by hand", "loo": "found by leave-one-out"}),
            log(
                "ridge",
                "ridge",
                1e-3,
                (1e-6, 1e4),
                "Penalty on large weights.",
                when=(("find", ("given",)),),
            ),
        ),
        arguments=_least_squares,
    ),
)
MODELS = {model.key: model for model in _ALL}
