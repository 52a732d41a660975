"""Exact classical classification for Python, fast because one Gram matrix serves many problems.

Names are loaded when first used, so that `import separatrix` costs nothing.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_MODULES = {  # of public names that are not in the registry of estimators
    "CalibratedClassifier": "separatrix.estimators.calibrated",
    "Graph": "separatrix.data.graph",
    "KernelFeatures": "separatrix.estimators.kernel_features",
    "TableEncoder": "separatrix.estimators.table_encoder",
    "NearestNeighbors": "separatrix.estimators.nearest_neighbors",
    "NeighborIndex": "separatrix.estimators.neighbor_index",
    "calibrate": "separatrix.estimators.calibrated",
    "compare": "separatrix.evaluation.compare",
    "decision_regions": "separatrix.evaluation.regions",
    "describe": "separatrix.modelfile.describe",
    "evaluate": "separatrix.evaluation.study",
    "explain_object": "separatrix.estimators.object_attribution",
    "graphs_from_networkx": "separatrix.kernels.graphs.from_networkx",
    "indicator": "separatrix.data.targets",
    "kkt_report": "separatrix.estimators.kkt",
    "load": "separatrix.modelfile.files",
    "load_libsvm": "separatrix.modelfile.libsvm_text",
    "save": "separatrix.modelfile.files",
    "save_libsvm": "separatrix.modelfile.libsvm_text",
    "to_onnx": "separatrix.onnx.convert",
}

if TYPE_CHECKING:
    from separatrix.data.graph import Graph
    from separatrix.data.targets import indicator
    from separatrix.estimators.calibrated import CalibratedClassifier, calibrate
    from separatrix.estimators.categorical_bayes import CategoricalNB
    from separatrix.estimators.complement_bayes import ComplementNB
    from separatrix.estimators.decision import BayesDecision
    from separatrix.estimators.discriminant import (
        LinearDiscriminantAnalysis,
        QuadraticDiscriminantAnalysis,
    )
    from separatrix.estimators.feature_maps import Nystroem, PolynomialMap, RandomFourier
    from separatrix.estimators.fisher import FisherDiscriminant
    from separatrix.estimators.kernel_features import KernelFeatures
    from separatrix.estimators.kernel_fisher import KernelFisherDiscriminant
    from separatrix.estimators.kernel_logistic import KernelLogisticRegression
    from separatrix.estimators.kernel_logistic_cv import KernelLogisticRegressionCV
    from separatrix.estimators.kernel_perceptron import KernelPerceptron
    from separatrix.estimators.kernel_perceptron_cv import KernelPerceptronCV
    from separatrix.estimators.kkt import kkt_report
    from separatrix.estimators.least_squares import LeastSquaresClassifier
    from separatrix.estimators.linear_svc import LinearSVC
    from separatrix.estimators.logistic_regression import LogisticRegression
    from separatrix.estimators.logistic_regression_cv import LogisticRegressionCV
    from separatrix.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from separatrix.estimators.nearest_centroid import NearestCentroid
    from separatrix.estimators.nearest_neighbors import NearestNeighbors
    from separatrix.estimators.neighbor_index import NeighborIndex
    from separatrix.estimators.neighbors import KNeighborsClassifier
    from separatrix.estimators.nu_svc import NuSVC
    from separatrix.estimators.object_attribution import explain_object
    from separatrix.estimators.one_class_svm import OneClassSVM
    from separatrix.estimators.passive_aggressive import PassiveAggressiveClassifier
    from separatrix.estimators.perceptron import Perceptron
    from separatrix.estimators.radius_neighbors import RadiusNeighborsClassifier
    from separatrix.estimators.subgradient_svc import SubgradientSVC
    from separatrix.estimators.svc import SVC
    from separatrix.estimators.svc_cv import SVCCV
    from separatrix.estimators.table_encoder import TableEncoder
    from separatrix.evaluation.compare import compare
    from separatrix.evaluation.regions import decision_regions
    from separatrix.evaluation.study import evaluate
    from separatrix.kernels.graphs.from_networkx import graphs_from_networkx
    from separatrix.modelfile.describe import describe
    from separatrix.modelfile.files import load, save
    from separatrix.modelfile.libsvm_text import load_libsvm, save_libsvm
    from separatrix.onnx.convert import to_onnx

__all__ = [
    "SVC",
    "SVCCV",
    "BayesDecision",
    "BernoulliNB",
    "CalibratedClassifier",
    "CategoricalNB",
    "ComplementNB",
    "FisherDiscriminant",
    "GaussianNB",
    "Graph",
    "KNeighborsClassifier",
    "KernelFeatures",
    "KernelFisherDiscriminant",
    "KernelLogisticRegression",
    "KernelLogisticRegressionCV",
    "KernelPerceptron",
    "KernelPerceptronCV",
    "LeastSquaresClassifier",
    "LinearDiscriminantAnalysis",
    "LinearSVC",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultinomialNB",
    "NearestCentroid",
    "NearestNeighbors",
    "NeighborIndex",
    "NuSVC",
    "Nystroem",
    "OneClassSVM",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "PolynomialMap",
    "QuadraticDiscriminantAnalysis",
    "RadiusNeighborsClassifier",
    "RandomFourier",
    "SubgradientSVC",
    "TableEncoder",
    "calibrate",
    "compare",
    "decision_regions",
    "describe",
    "evaluate",
    "explain_object",
    "graphs_from_networkx",
    "indicator",
    "kkt_report",
    "load",
    "load_libsvm",
    "save",
    "save_libsvm",
    "to_onnx",
]

_RENAMED = {"parts_of": "explain_object"}  # former names, until 1.0


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warnings.warn(
            f"separatrix.{name} is now called {_RENAMED[name]}", DeprecationWarning, stacklevel=2
        )
        name = _RENAMED[name]
    if name not in __all__:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    if name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        registry = import_module("separatrix.estimators.registry").REGISTRY
        value = next(record for record in registry if record.name == name).load()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
