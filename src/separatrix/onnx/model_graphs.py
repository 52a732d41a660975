"""The graph function of each estimator, and the graphs of models inside models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from separatrix.errors import UnsupportedError
from separatrix.onnx import feature_map_graphs as feature_maps
from separatrix.onnx import kernel_machine_graphs as kernel_machines
from separatrix.onnx import linear_graphs as linear
from separatrix.onnx import naive_bayes_graphs as naive_bayes
from separatrix.onnx import neighbor_graphs as neighbors
from separatrix.onnx.kernel_graphs import kernel_scores
from separatrix.onnx.onnx_graph import Prediction, Tensor, refuse
from separatrix.runtime.sums import dense
from separatrix.types import Vector


def predict(model: Any, x: Tensor) -> Prediction:
    """The answers of a fitted classifier of separatrix, or of a pipeline that ends in one."""
    if isinstance(model, FrozenEstimator):
        return predict(model.estimator, x)
    if isinstance(model, Pipeline):
        return predict(model.steps[-1][1], _before_last(model, x))
    name = type(model).__name__
    if _is_ours(model) and name in CLASSIFIERS:
        return CLASSIFIERS[name](model, x)
    raise refuse(model, why_not(model))


def transform(model: Any, x: Tensor) -> Tensor:
    """The features that a fitted transformer makes."""
    if isinstance(model, FrozenEstimator):
        return transform(model.estimator, x)
    if isinstance(model, Pipeline):
        return transform(model.steps[-1][1], _before_last(model, x))
    if model == "passthrough":
        return x
    name = type(model).__name__
    if not _is_ours(model):
        return _by_skl2onnx(model, x)
    if name in TRANSFORMERS:
        return TRANSFORMERS[name](model, x)
    raise refuse(model, why_not(model))


def why_not(model: Any) -> str:
    """Why a class of models is refused."""
    other = "separatrix has no graph function for it"
    return REFUSED.get(type(model).__name__, other)


def _is_ours(model: Any) -> bool:
    return type(model).__module__.startswith("separatrix.")


def _before_last(model: Pipeline, x: Tensor) -> Tensor:
    for _, step in model.steps[:-1]:
        x = transform(step, x)
    return x


def _probabilities(model: Any, x: Tensor) -> Tensor:
    """Class probabilities of a model inside another one, of separatrix or of scikit-learn."""
    if isinstance(model, Pipeline):
        return _probabilities(model.steps[-1][1], _before_last(model, x))
    if isinstance(model, FrozenEstimator):
        return _probabilities(model.estimator, x)
    if not _is_ours(model):
        return _by_skl2onnx(model, x)
    likely = predict(model, x).probabilities
    if likely is None:
        raise refuse(model, "it has no probabilities")
    return likely


def _by_skl2onnx(model: Any, x: Tensor) -> Tensor:
    """The features or the probabilities of an estimator of scikit-learn, which skl2onnx converts."""
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType

    graph = x.graph
    if type(model) not in sklearn_operator_name_map:
        raise UnsupportedError(f"skl2onnx does not support {type(model).__name__}; leave it out")
    number, code = (FloatTensorType, 1) if graph.single else (DoubleTensorType, graph.DOUBLE)
    declare = graph.scope.declare_local_variable
    samples = declare("nested", number([None, model.n_features_in_]))
    graph.container.add_node(
        "Cast", [x.name], [samples.onnx_name], name=graph.unique_name("Cast"), to=code
    )
    samples.init_status(is_fed=True)
    inner = graph.scope.declare_local_operator(sklearn_operator_name_map[type(model)], model)
    inner.inputs.append(samples)
    if is_classifier(model):
        inner.outputs.append(declare("nested_label", Int64TensorType()))
    inner.outputs.append(declare("nested_values", number()))
    return Tensor(graph, inner.outputs[-1].onnx_name).numbers()


def _least_squares(model: Any, x: Tensor) -> Prediction:
    """Least squares on the features themselves or on those of a map."""
    return linear.linear(model, x if model.features_ is None else transform(model.features_, x))


def _best(model: Any, x: Tensor) -> Prediction:
    """The best model of a search."""
    found = getattr(model, "best_estimator_", None)
    return predict(model.estimator_ if found is None else found, x)


def _bayes_decision(model: Any, x: Tensor) -> Prediction:
    """The action of least expected loss; the expected losses are the scores."""
    P, L, k = _probabilities(model.estimator_, x), model.loss_matrix_, len(model.classes_)
    losses = P @ L
    if L.shape[1] > k:
        reject = losses.columns(0) * 0.0 + L[0, -1]
        losses = x.graph.concatenate([losses.columns(*range(k)), reject])
    if model._by_threshold:
        codes = (P.columns(1) >= float(model.threshold_)).integers().vector()
        return Prediction(codes, model.actions_, losses, P)
    own = L[:, :k]
    codes = (P @ (own - own.max(axis=1, keepdims=True))).arg("Min")
    if L.shape[1] > k:
        least = losses.op("GatherElements", codes.column(), axis=1)
        rejected = (losses.columns(k) < least).vector()
        codes = rejected.choose(np.int64(k), codes)
    return Prediction(codes, model.actions_, losses, P)


def _calibrated(model: Any, x: Tensor) -> Prediction:
    """Curves from scores to probabilities."""
    inner, k = model.estimator_, len(model.classes_)
    if not hasattr(inner, "decision_function"):
        P = _probabilities(inner, x)
        S = P.columns(1) if k == 2 else P
    else:
        last = inner.steps[-1][1] if isinstance(inner, Pipeline) else inner
        if not _is_ours(last):
            raise refuse(model, f"the scores of {type(last).__name__} are not known to separatrix")
        scores = predict(inner, x).scores
        assert scores is not None
        S = scores
    parts = [_curve(curve, S.columns(j)) for j, curve in enumerate(model.curves_)]
    P = x.graph.concatenate(parts)
    if k == 2:
        P = x.graph.concatenate([1.0 - P, P])
    else:
        total = P.reduce("Sum")
        P = (total > 0.0).choose(P / (total > 0.0).choose(total, 1.0), 1.0 / k)
    return Prediction(P.arg("Max"), model.classes_, None, P)


def _curve(curve: Any, s: Tensor) -> Tensor:
    """A sigmoid, or linear interpolation between points, (n, 1)."""
    t, y = dense(curve.x), dense(curve.y)
    if not len(t):
        return (s * float(curve.slope) + float(curve.offset)).op("Sigmoid")
    if len(t) == 1:
        return s * 0.0 + float(y[0])
    s = s.op("Max", t[0]).op("Min", t[-1])
    piece = (s >= t[1:-1]).numbers().reduce("Sum").integers() if len(t) > 2 else None
    slopes = np.diff(y) / np.diff(t)

    def at_piece(values: Vector) -> Tensor:
        index = np.array([0]) if piece is None else piece
        return s.graph.node("Gather", values, index)

    return (s - at_piece(t[:-1])) * at_piece(slopes) + at_piece(y[:-1])


CLASSIFIERS: dict[str, Callable[[Any, Tensor], Prediction]] = {
    "SVC": kernel_machines.support_vectors,
    "NuSVC": kernel_machines.support_vectors,
    "OneClassSVM": kernel_machines.one_class,
    "SVCCV": _best,
    "KernelPerceptron": kernel_machines.kernel_perceptron,
    "KernelPerceptronCV": _best,
    "KernelLogisticRegression": kernel_machines.kernel_logistic,
    "KernelLogisticRegressionCV": _best,
    "KernelFisherDiscriminant": kernel_machines.kernel_fisher,
    "KNeighborsClassifier": neighbors.nearest_neighbors,
    "KNeighborsCV": _best,
    "RadiusNeighborsClassifier": neighbors.radius_neighbors,
    "NystroemSVCCV": _best,
    "LinearSVC": linear.linear,
    "SubgradientSVC": linear.linear,
    "LogisticRegression": linear.logistic,
    "LogisticRegressionCV": linear.logistic,
    "LeastSquaresClassifier": _least_squares,
    "LinearDiscriminantAnalysis": linear.linear,
    "QuadraticDiscriminantAnalysis": linear.quadratic_discriminant,
    "FisherDiscriminant": linear.fisher,
    "GaussianNB": naive_bayes.gaussian,
    "MultinomialNB": naive_bayes.counting,
    "BernoulliNB": naive_bayes.bernoulli,
    "ComplementNB": naive_bayes.complement,
    "CategoricalNB": naive_bayes.categorical,
    "NearestCentroid": linear.nearest_centroid,
    "Perceptron": linear.perceptron,
    "PassiveAggressiveClassifier": linear.linear,
    "BayesDecision": _bayes_decision,
    "CalibratedClassifier": _calibrated,
}
TRANSFORMERS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "FisherDiscriminant": linear.fisher_axes,
    "LinearDiscriminantAnalysis": linear.discriminant_axes,
    "KernelFisherDiscriminant": kernel_scores,
    "PolynomialMap": feature_maps.polynomial_map,
    "Nystroem": kernel_machines.nystroem,
    "RandomFourier": feature_maps.random_fourier,
}
REFUSED = {
    "KernelFeatures": "it counts the features of strings or graphs, and ONNX has tensors only",
    "TableEncoder": "it reads a table with columns of text, dates and categories; encode the table with "
    "it, and convert the classifier alone",
}
