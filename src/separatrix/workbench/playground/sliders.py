"""The models of Playground and their sliders, as data; `arguments` turns values into the library's.

The table can be read without NumPy or scikit-learn. The estimator is made in `scene.py`.
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
SECONDS = 3.0  # that a fit may take; it then stops with what was learned


def _as_they_are(values: Values) -> dict[str, Any]:
    return dict(values)


@dataclass(frozen=True)
class Model:
    """A classifier that can be tried."""

    key: str
    title: str
    kind: str  # its class
    says: str
    parameters: tuple[Parameter, ...]
    arguments: Callable[[Values], dict[str, Any]] = (
        _as_they_are  # of the class, from checked values
    )
    steps: str | None = None  # "mistakes" or "descent", where it can be watched learning
    limits: tuple[str, ...] = ()  # which of time_limit, n_jobs and device it takes
    margins: bool = False  # whether scores of +1 and -1 are its margins

    def as_dict(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "key": self.key,
            "title": self.title,
            "class": self.kind,
            "says": self.says,
            "steps": self.steps,
            "parameters": [parameter.as_dict() for parameter in self.parameters],
        }

    def checked(self, given: Values) -> dict[str, Any]:
        """All parameters that count, those not given at their defaults.

        >>> MODELS["svm"].checked({"kernel": "linear", "C": 10, "gamma": 2.0})
        {'kernel': 'linear', 'hard': False, 'C': 10.0}
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in given.items():
            if name not in known:
                raise ParameterError(
                    self.title, name[:60], f"one of {', '.join(known) or 'none'}", value
                )
        values = {
            name: parameter.checked(self.title, given.get(name, parameter.default))
            for name, parameter in known.items()
        }
        return {name: value for name, value in values.items() if known[name].counts(values)}


def find_model(key: str) -> Model:
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
    return {**values, "tol": None}  # a clean pass or the last pass: nothing else stops it


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
_KERNEL = choice("kernel", "kernel", KERNELS, "What similar means.")
_OF_KERNEL = (
    log(
        "gamma",
        "gamma",
        1.0,
        (0.01, 100.0),
        "How fast similarity falls with distance.",
        when=_CURVED,
    ),
    integer("degree", "degree", 3, (1, 8), "Of the polynomial.", when=_POLYNOMIAL),
    linear("coef0", "constant", 1.0, (0.0, 4.0), "Added before the power is taken.", when=_SHIFTED),
)
_PASSES = integer("max_iter", "passes at most", 100, (1, 1000), "Over all points.")
_SHUFFLE = switch("shuffle", "shuffle", False, "A new order of the points for every pass.")
_C = log("C", "C", 1.0, (0.01, 1000.0), "Price of a point on the wrong side of its margin.")

_ALL = (
    Model(
        "svm",
        "Support vector machine",
        "SVC",
        "The boundary with the widest margin, straight or curved by a kernel.",
        (
            _KERNEL,
            switch("hard", "hard margin", False, "No point may be inside the margin."),
            log("C", "C", 1.0, (0.01, 1000.0), _C.says, when=(("hard", (False,)),)),
            *_OF_KERNEL,
        ),
        arguments=_svm,
        limits=("time_limit", "n_jobs", "device"),
        margins=True,
    ),
    Model(
        "knn",
        "k nearest neighbours",
        "KNeighborsClassifier",
        "Every place takes the class of most of its nearest points.",
        (
            integer("n_neighbors", "k", 5, (1, 50), "How many neighbours vote."),
            choice(
                "metric",
                "distance",
                {
                    "euclidean": "Euclidean",
                    "manhattan": "city block",
                    "chebyshev": "largest side",
                },
            ),
            choice("weights", "votes", {"uniform": "all alike", "distance": "1 / distance"}),
        ),
        limits=("device",),
    ),
    Model(
        "perceptron",
        "Perceptron",
        "Perceptron",
        "A straight boundary that moves at every mistake.",
        (choice("predictor", "predict with", _PREDICTORS), _PASSES, _SHUFFLE),
        arguments=_perceptron,
        steps="mistakes",
        limits=("time_limit",),
    ),
    Model(
        "kernel-perceptron",
        "Kernel perceptron",
        "KernelPerceptron",
        "The perceptron with a curved boundary: every mistake adds a point to a sum.",
        (_KERNEL, *_OF_KERNEL, choice("predictor", "predict with", _PREDICTORS), _PASSES, _SHUFFLE),
        steps="mistakes",
        limits=("time_limit", "n_jobs", "device"),
    ),
    Model(
        "linear-svm",
        "Linear SVM",
        "LinearSVC",
        "A straight boundary with a wide margin, also for very many points.",
        (_C, choice("loss", "loss", {"squared_hinge": "squared hinge", "hinge": "hinge"})),
        limits=("time_limit", "n_jobs"),
        margins=True,
    ),
    Model(
        "subgradient",
        "SVM by subgradient descent",
        "SubgradientSVC",
        "The linear SVM, step by step downhill with a fixed step.",
        (
            log("alpha", "step", 0.1, (1e-4, 10.0), "How far each step goes."),
            log("mu", "penalty", 0.01, (1e-4, 10.0), "Price of large weights."),
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
    Model(
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
                {
                    "none": "of the best weights",
                    "laplace": "of all likely weights",
                },
            ),
        ),
        arguments=_logistic,
        limits=("time_limit", "n_jobs"),
    ),
    Model(
        "lda",
        "Linear discriminant analysis",
        "LinearDiscriminantAnalysis",
        "Gaussian classes that spread alike: straight boundaries.",
        (linear("shrinkage", "shrinkage", 0.0, (0.0, 1.0), "Towards round classes."),),
        arguments=_lda,
    ),
    Model(
        "qda",
        "Quadratic discriminant analysis",
        "QuadraticDiscriminantAnalysis",
        "Gaussian classes, each with its own spread: conic boundaries.",
        (linear("reg_param", "shrinkage", 0.0, (0.0, 1.0), "Towards round classes."),),
    ),
    Model(
        "gaussian-nb",
        "Gaussian naive Bayes",
        "GaussianNB",
        "Gaussian classes whose two features are taken for independent.",
        (log("var_smoothing", "smoothing", 1e-9, (1e-9, 1.0), "Added to all variances."),),
    ),
    Model(
        "least-squares",
        "Least squares",
        "LeastSquaresClassifier",
        "A straight line through labels of -1 and +1: quick, and pulled by far points.",
        (
            choice("find", "ridge is", {"given": "set by hand", "loo": "found by leaving one out"}),
            log(
                "ridge",
                "ridge",
                1e-3,
                (1e-6, 1e4),
                "Price of large weights.",
                when=(("find", ("given",)),),
            ),
        ),
        arguments=_least_squares,
    ),
)
MODELS = {model.key: model for model in _ALL}
