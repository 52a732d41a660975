"""The models of Draw and their parameters.

The parameters are the same for all data sets, except gamma = 2 / (d var(X)) to two digits. They were
chosen on the digits, USPS and MNIST. Errors in % on 359, 2,007 and 2,000 held-out pictures:

    k nearest 0.8, 5.5, 6.6    SVM, Gaussian 0.3, 4.7, 3.5    SVM, polynomial 0.8, 5.0, 5.0
    kernel perceptron 1.1, 5.8, 5.2    perceptron 3.9, 8.3, 10.0    linear SVM 3.6, 8.7, 10.4
    logistic regression 3.6, 8.5, 10.1    linear discriminant 3.9, 11.5, 13.7    quadratic 1.4, 5.9
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.perceptron import Perceptron
from separatrix.estimators.svc import SVC
from separatrix.kernels.vector_kernels import Gaussian
from separatrix.workbench.drawing.pictures import Pictures

NEIGHBORS = 5
MAX_COVARIANCE_PIXELS = 256  # above, one covariance for each class takes too much memory


@dataclass(frozen=True)
class Recipe:
    """A model to be fitted."""

    key: str
    title: str
    caption: str
    make: Callable[[Pictures], Any]
    learns: str
    """How it learns a correction: "row", "mistakes", "sums", or "" if it cannot."""
    options: str
    """Options of `separatrix fit` for a similar model."""


def list_recipes(pictures: Pictures) -> list[Recipe]:
    """The models for a data set, in the order of the page."""
    if not len(pictures.y):
        return []
    small = pictures.X.shape[1] <= MAX_COVARIANCE_PIXELS
    return [recipe for recipe in _RECIPES if small or recipe.key != "quadratic"]


def choose_gamma(pictures: Pictures) -> float:
    """gamma of the kernels: two over the total variance of the pixels, to two digits."""
    X = pictures.X
    return float(f"{2.0 / (X.shape[1] * float(X.var(dtype='float64'))):.2g}")


def _gaussian_svm(pictures: Pictures) -> Any:
    return SVC(
        C=2.0, gamma=choose_gamma(pictures), calibration="sigmoid", random_state=0, device="cpu"
    )


def _polynomial_svm(pictures: Pictures) -> Any:
    return SVC(
        C=10.0,
        kernel="poly",
        gamma=choose_gamma(pictures) / 2,
        coef0=1.0,
        calibration="sigmoid",
        random_state=0,
        device="cpu",
    )


_RECIPES = (
    Recipe(
        "neighbours",
        "k nearest neighbours",
        f"the {NEIGHBORS} most similar pictures vote, nearer ones more",
        lambda _: KNeighborsClassifier(NEIGHBORS, weights="distance", device="cpu"),
        "row",
        f"--model KNeighborsClassifier --set n_neighbors={NEIGHBORS} --set weights=distance",
    ),
    Recipe(
        "svm",
        "SVM, Gaussian",
        "the widest margin between classes, in the feature space of a Gaussian kernel",
        _gaussian_svm,
        "",
        "--model SVC --set C=2",
    ),
    Recipe(
        "svm-polynomial",
        "SVM, polynomial",
        "the widest margin between classes, in products of up to three pixels",
        _polynomial_svm,
        "",
        "--model SVC --set C=10 --set kernel=poly --set coef0=1",
    ),
    Recipe(
        "kernel-perceptron",
        "Kernel perceptron",
        "similarity to the pictures that it once got wrong",
        lambda pictures: KernelPerceptron(
            Gaussian(choose_gamma(pictures)), max_iter=20, random_state=0, device="cpu"
        ),
        "mistakes",
        "--model KernelPerceptron --set max_iter=20",
    ),
    Recipe(
        "perceptron",
        "Perceptron, averaged",
        "one weight for each pixel and class, corrected at mistakes; the mean over five passes",
        lambda _: Perceptron(predictor="average", max_iter=5, tol=None, random_state=0),
        "mistakes",
        "--model Perceptron --set predictor=average --set max_iter=5",
    ),
    Recipe(
        "linear-svm",
        "Linear SVM",
        "one weight for each pixel and class, with the widest margins",
        lambda _: LinearSVC(C=0.05, dual=True, tol=0.1, random_state=0),
        "",
        "--model LinearSVC --set C=0.05",
    ),
    Recipe(
        "logistic",
        "Logistic regression",
        "one weight for each pixel and class, the most probable under a prior (MAP)",
        lambda _: LogisticRegression(C=0.1, solver="lbfgs", tol=1e-3),
        "",
        "--model LogisticRegression --set C=0.1",
    ),
    Recipe(
        "linear-discriminant",
        "Linear discriminant",
        "a mean for each class and one covariance for all",
        lambda _: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1),
        "sums",
        "--model LinearDiscriminantAnalysis --set solver=lsqr --set shrinkage=0.1",
    ),
    Recipe(
        "quadratic",
        "Quadratic discriminant",
        "a mean and a covariance for each class",
        lambda _: QuadraticDiscriminantAnalysis(reg_param=0.1),
        "sums",
        "--model QuadraticDiscriminantAnalysis --set reg_param=0.1",
    ),
)
