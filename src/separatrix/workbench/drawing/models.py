"""The models of Draw and their parameters.

The parameters are the same for all data sets, except gamma = 2 / (d var(X)) to two digits. They were
chosen on the digits, USPS and MNIST. Errors in % on 359, 2,007 and 2,000 held-out pictures:

    k nearest 0.8, 5.5, 6.6    SVM, Gaussian 0.3, 4.7, 3.5    SVM, polynomial 0.8, 5.0, 5.0
    kernel perceptron 1.1, 5.8, 5.2    perceptron 3.9, 8.3, 10.0    linear SVM 3.6, 8.7, 10.4
    logistic regression 3.6, 8.5, 10.1    linear discriminant 3.9, 11.5, 13.7    quadratic 1.4, 5.9
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from separatrix.estimators.registry import CLASSIFIERS
from separatrix.workbench.drawing.pictures import Pictures
from separatrix.workbench.drawing.requests import OWN

NEIGHBORS, FEW_NEIGHBORS = 5, 3
MAX_COVARIANCE_PIXELS = 256  # above, one covariance for each class takes too much memory


@dataclass(frozen=True)
class Recipe:
    """A model to be fitted."""

    key: str
    title: str
    caption: str
    class_name: str
    params: Mapping[str, Any]
    learns: str = ""  # how it learns a correction: "row", "mistakes", "sums", or "" if it cannot
    gamma: float = 0.0  # of its kernel, relative to `choose_gamma`
    compiled: bool = True  # whether its first use on a machine compiles functions

    def build(self, pictures: Pictures) -> Any:
        """The estimator, not fitted."""
        model = CLASSIFIERS[self.class_name].load()(**self.params)
        set_if_known(model, random_state=0, device="cpu")
        return model.set_params(gamma=self.gamma * choose_gamma(pictures)) if self.gamma else model

    @property
    def options(self) -> str:
        """Options of `separatrix fit` for a similar model, whose gamma follows from scaled columns."""
        values = {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in self.params.items()
        }
        words = (f"--set {name}={value}" for name, value in values.items())
        return " ".join([f"--model {self.class_name}", *words])


def list_recipes(pictures: Pictures) -> list[Recipe]:
    """The models for a data set, in the order of the page."""
    if len(set(pictures.y.tolist())) < 2:
        return []
    if pictures.name == OWN:
        return [_for_few(recipe, len(pictures.y)) for recipe in _RECIPES]
    small = pictures.X.shape[1] <= MAX_COVARIANCE_PIXELS
    return [recipe for recipe in _RECIPES if small or recipe.key != "quadratic"]


def _for_few(recipe: Recipe, rows: int) -> Recipe:
    """A recipe for a handful of drawings: without calibration, and no more neighbours than rows."""
    neighbors = min(FEW_NEIGHBORS, rows)
    params = {**recipe.params, "n_neighbors": neighbors, "calibration": None}
    caption = recipe.caption.replace(f"the {NEIGHBORS} most", f"the {neighbors} most")
    known = {name: value for name, value in params.items() if name in recipe.params}
    return replace(recipe, params=known, caption=caption)


def choose_gamma(pictures: Pictures) -> float:
    """gamma of the kernels: two over the total variance of the pixels, to two digits."""
    X = pictures.X
    return float(f"{2.0 / (X.shape[1] * float(X.var(dtype='float64'))):.2g}")


def set_if_known(model: Any, **values: Any) -> None:
    """Set parameters of a model, or of any step of a pipeline, that has them."""
    last = {name: name.rpartition("__")[2] for name in model.get_params()}
    model.set_params(**{name: values[key] for name, key in last.items() if key in values})


_RECIPES = (
    Recipe(
        "neighbours",
        "k nearest neighbours",
        f"the {NEIGHBORS} most similar pictures vote, nearer ones more",
        "KNeighborsClassifier",
        {"n_neighbors": NEIGHBORS, "weights": "distance"},
        learns="row",
    ),
    Recipe(
        "svm",
        "SVM, Gaussian",
        "the widest margin between classes, in the feature space of a Gaussian kernel",
        "SVC",
        {"C": 2.0, "calibration": "sigmoid"},
        gamma=1.0,
    ),
    Recipe(
        "svm-polynomial",
        "SVM, polynomial",
        "the widest margin between classes, in products of up to three pixels",
        "SVC",
        {"C": 10.0, "kernel": "poly", "coef0": 1.0, "calibration": "sigmoid"},
        gamma=0.5,
    ),
    Recipe(
        "kernel-perceptron",
        "Kernel perceptron",
        "similarity to the pictures that it once got wrong",
        "KernelPerceptron",
        {"max_iter": 20},
        learns="mistakes",
        gamma=1.0,
    ),
    Recipe(
        "perceptron",
        "Perceptron, averaged",
        "one weight for each pixel and class, corrected at mistakes; the mean over five passes",
        "Perceptron",
        {"predictor": "average", "max_iter": 5, "tol": None},
        learns="mistakes",
    ),
    Recipe(
        "linear-svm",
        "Linear SVM",
        "one weight for each pixel and class, with the widest margins",
        "LinearSVC",
        {"C": 0.05, "dual": True, "tol": 0.1},
    ),
    Recipe(
        "logistic",
        "Logistic regression",
        "one weight for each pixel and class, the most probable under a prior (MAP)",
        "LogisticRegression",
        {"C": 0.1, "solver": "lbfgs", "tol": 1e-3},
    ),
    Recipe(
        "linear-discriminant",
        "Linear discriminant",
        "a mean for each class and one covariance for all",
        "LinearDiscriminantAnalysis",
        {"solver": "lsqr", "shrinkage": 0.1},
        learns="sums",
        compiled=False,
    ),
    Recipe(
        "quadratic",
        "Quadratic discriminant",
        "a mean and a covariance for each class",
        "QuadraticDiscriminantAnalysis",
        {"reg_param": 0.1},
        learns="sums",
        compiled=False,
    ),
)
