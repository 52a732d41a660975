"""Exact classical classification for Python, fast because one Gram matrix serves many problems.

Names are loaded when first used, so that `import separatrix` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "BayesDecision": "separatrix.models.decision",
    "BernoulliNB": "separatrix.models.naive_bayes",
    "FisherDiscriminant": "separatrix.models.fisher",
    "GaussianNB": "separatrix.models.naive_bayes",
    "KNeighborsClassifier": "separatrix.models.neighbors",
    "Graph": "separatrix.arrays",
    "KernelFeatures": "separatrix.models.kernel_features",
    "KernelPerceptron": "separatrix.models.kernel_perceptrons",
    "KernelPerceptronCV": "separatrix.models.kernel_perceptron_cv",
    "LeastSquaresClassifier": "separatrix.models.least_squares",
    "LinearDiscriminantAnalysis": "separatrix.models.discriminant",
    "LinearSVC": "separatrix.models.linear_svm",
    "LogisticRegression": "separatrix.models.logistic",
    "MultinomialNB": "separatrix.models.naive_bayes",
    "NeighborIndex": "separatrix.models.neighbor_index",
    "Nystroem": "separatrix.models.feature_maps",
    "Perceptron": "separatrix.models.perceptrons",
    "PolynomialMap": "separatrix.models.feature_maps",
    "QuadraticDiscriminantAnalysis": "separatrix.models.discriminant",
    "RandomFourier": "separatrix.models.feature_maps",
    "SVC": "separatrix.models.svm",
    "SVCCV": "separatrix.models.svm_cv",
    "SubgradientSVC": "separatrix.models.subgradient_svm",
    "compare": "separatrix.evaluation.compare",
    "describe": "separatrix.models.modelfile.describe",
    "decision_regions": "separatrix.evaluation.regions",
    "evaluate": "separatrix.evaluation.study",
    "graphs_from_networkx": "separatrix.kernels.networkx_graphs",
    "indicator": "separatrix.data.targets",
    "kkt_report": "separatrix.models.kkt",
    "load": "separatrix.models.modelfile.files",
    "load_libsvm": "separatrix.models.modelfile.libsvm",
    "parts_of": "separatrix.models.parts",
    "save": "separatrix.models.modelfile.files",
    "save_libsvm": "separatrix.models.modelfile.libsvm",
}

if TYPE_CHECKING:
    from separatrix.arrays import Graph
    from separatrix.data.targets import indicator
    from separatrix.evaluation.compare import compare
    from separatrix.evaluation.regions import decision_regions
    from separatrix.evaluation.study import evaluate
    from separatrix.kernels.networkx_graphs import graphs_from_networkx
    from separatrix.models.decision import BayesDecision
    from separatrix.models.discriminant import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from separatrix.models.feature_maps import Nystroem, PolynomialMap, RandomFourier
    from separatrix.models.fisher import FisherDiscriminant
    from separatrix.models.kernel_features import KernelFeatures
    from separatrix.models.kernel_perceptron_cv import KernelPerceptronCV
    from separatrix.models.kernel_perceptrons import KernelPerceptron
    from separatrix.models.kkt import kkt_report
    from separatrix.models.least_squares import LeastSquaresClassifier
    from separatrix.models.linear_svm import LinearSVC
    from separatrix.models.logistic import LogisticRegression
    from separatrix.models.modelfile.describe import describe
    from separatrix.models.modelfile.files import load, save
    from separatrix.models.modelfile.libsvm import load_libsvm, save_libsvm
    from separatrix.models.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from separatrix.models.neighbor_index import NeighborIndex
    from separatrix.models.neighbors import KNeighborsClassifier
    from separatrix.models.parts import parts_of
    from separatrix.models.perceptrons import Perceptron
    from separatrix.models.subgradient_svm import SubgradientSVC
    from separatrix.models.svm import SVC
    from separatrix.models.svm_cv import SVCCV

__all__ = [
    "SVC",
    "SVCCV",
    "BayesDecision",
    "BernoulliNB",
    "FisherDiscriminant",
    "GaussianNB",
    "Graph",
    "KNeighborsClassifier",
    "KernelFeatures",
    "KernelPerceptron",
    "KernelPerceptronCV",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearSVC",
    "LogisticRegression",
    "MultinomialNB",
    "NeighborIndex",
    "Nystroem",
    "Perceptron",
    "PolynomialMap",
    "QuadraticDiscriminantAnalysis",
    "RandomFourier",
    "SubgradientSVC",
    "compare",
    "decision_regions",
    "describe",
    "evaluate",
    "graphs_from_networkx",
    "indicator",
    "kkt_report",
    "load",
    "load_libsvm",
    "parts_of",
    "save",
    "save_libsvm",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
