"""The demonstration: every classifier on the built-in digits, a table and two pictures."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from separatrix.compute.files import written_whole
from separatrix.data.catalogue import load
from separatrix.evaluation.compare import Comparison, compare
from separatrix.kernels.vector import Gaussian, Polynomial
from separatrix.models.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.models.kernel_perceptrons import KernelPerceptron
from separatrix.models.least_squares import LeastSquaresClassifier
from separatrix.models.linear_svm import LinearSVC
from separatrix.models.logistic import LogisticRegression
from separatrix.models.naive_bayes import GaussianNB
from separatrix.models.neighbors import KNeighborsClassifier
from separatrix.models.perceptrons import Perceptron
from separatrix.models.svm import SVC
from separatrix.report.pictures import plot_confusion, plot_hardest


def classifiers() -> dict[str, Any]:
    """What the demonstration compares; later families join here."""
    return {
        "linear perceptron": Perceptron(max_iter=50),
        "linear perceptron, averaged": Perceptron(max_iter=50, predictor="average"),
        "kernel perceptron, degree 3": KernelPerceptron(Polynomial(3), max_iter=20),
        "kernel perceptron, pairs": KernelPerceptron(Polynomial(3), multi_class="ovo", max_iter=20),
        "kernel perceptron, Gaussian": KernelPerceptron(Gaussian(0.001), max_iter=20),
        "kernel perceptron, averaged": KernelPerceptron(
            Gaussian(0.001), predictor="average", max_iter=20
        ),
        "nearest neighbours": KNeighborsClassifier(3),
        "least squares, ridge left out": LeastSquaresClassifier("loo"),
        "naive Bayes, Gaussian": GaussianNB(var_smoothing=0.01),
        "linear discriminant": LinearDiscriminantAnalysis(),
        "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
        "logistic regression": LogisticRegression(C=0.01),
        "linear SVM": LinearSVC(C=0.01),
        "SVM, Gaussian": SVC(C=10.0, kernel=Gaussian(0.001)),
        "SVM, degree 3, against the rest": SVC(
            C=10.0, kernel=Polynomial(3, gamma=0.001), multi_class="ovr"
        ),
    }


def run_demo(out: Path, *, repeats: int = 20) -> tuple[Comparison, list[Path]]:
    """Compare on `repeats` splits of the digits; pictures of the best go to the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    digits = load("digits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # passes are limited on purpose here
        comparison = compare(classifiers(), digits.X, digits.y, repeats=repeats)
    best = comparison.evaluations[comparison.best]
    assert digits.image is not None
    pictures = {
        "confusion.png": plot_confusion(best),
        "hardest.png": plot_hardest(best, digits.X, digits.image),
    }
    for name, figure in pictures.items():
        with written_whole(out / name) as temporary:
            figure.savefig(temporary, format="png")
    return comparison, [out / name for name in pictures]
