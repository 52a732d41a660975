"""What skl2onnx needs to know of the estimators of separatrix: outputs, their shapes, and the converter.

A classifier has the outputs `label`, `probabilities` if it has `predict_proba`, and `scores` if it has
`decision_function`; a transformer has `variable`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from separatrix.errors import missing_package
from separatrix.estimators.registry import REGISTRY
from separatrix.onnx.model_graphs import (
    CLASSIFIERS,
    REFUSED,
    TRANSFORMERS,
    predict,
    transform,
    why_not,
)
from separatrix.onnx.neighbor_graphs import radius_labels
from separatrix.onnx.onnx_graph import OnnxGraph, Tensor, refuse

OTHERS = {  # not in the registry
    "CalibratedClassifier": "calibrated",
    "KNeighborsCV": "base.tuned",
    "KernelFeatures": "kernel_features",
    "NystroemSVCCV": "base.nystroem_search",
    "TableEncoder": "table_encoder",
}
OPTIONS = {"zipmap": [True, False, "columns"], "transform": [True, False], "nocl": [False]}


def register_converters() -> None:
    """Make skl2onnx convert pipelines and column transformers with estimators of separatrix in them.

    Of a model that is a classifier and a transformer, as `LinearDiscriminantAnalysis`, the classifier is
    converted; `options={id(model): {"transform": True}}` asks for the other. `separatrix.to_onnx` does so
    for the steps of a pipeline that are not the last.

    Examples
    --------
    >>> from separatrix.onnx import register_converters
    >>> register_converters()
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import SVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, ["low", "low", "high", "high"])
    >>> import skl2onnx
    >>> [output.name for output in skl2onnx.to_onnx(model, X).graph.output]
    ['label', 'scores']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise missing_package("skl2onnx", "onnx") from None
    modules = {record.name: record.module for record in REGISTRY} | OTHERS
    for name, module in modules.items():
        update_registered_converter(
            getattr(import_module(f"separatrix.estimators.{module}"), name),
            f"Separatrix{name}",
            _set_shapes,
            _convert,
            parser=_parse,
            options=OPTIONS,
        )


def output_names(model: Any, *, transforms: bool) -> list[str]:
    """The outputs of a fitted model."""
    name = type(model).__name__
    if name in REFUSED or name not in CLASSIFIERS.keys() | TRANSFORMERS.keys():
        raise refuse(model, why_not(model))
    if getattr(model, "outputs_2d_", False):
        raise refuse(model, f"it has {len(model.classes_)} outputs; fit one model for each")
    if name not in CLASSIFIERS or (
        name in TRANSFORMERS and (transforms or not hasattr(model, "predict"))
    ):
        return ["variable"]
    likely = ["probabilities"] if hasattr(model, "predict_proba") else []
    scored = hasattr(model, "decision_function") or hasattr(model, "expected_loss")
    return ["label", *likely, *(["scores"] if scored else [])]


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Declare the operator of a model and its outputs, with a map from labels if that is wanted."""
    from skl2onnx._parse import _apply_zipmap
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    options = scope.get_options(model, {"zipmap": True, "transform": False})
    operator = scope.declare_local_operator(f"Separatrix{type(model).__name__}", model)
    operator.inputs = list(inputs)
    names = output_names(model, transforms=options["transform"])
    operator.transforms = names == ["variable"]
    for name in names:
        kind = Int64TensorType() if name == "label" else guess_tensor_type(inputs[0].type)
        operator.outputs.append(scope.declare_local_variable(name, kind))
    outputs = list(operator.outputs)
    if not options["zipmap"] or "probabilities" not in names:
        return outputs
    if _labels(model).dtype.kind not in "iubUO":
        raise refuse(model, "a map has integers or strings as keys; use zipmap=False")
    mapped = _apply_zipmap(options["zipmap"], scope, model, inputs[0].type, outputs[:2])
    return [*mapped, *outputs[2:]]


def _labels(model: Any) -> Any:
    """All labels that a model may answer, as an array."""
    if type(model).__name__ == "OneClassSVM":
        return np.array([-1, 1])
    if getattr(model, "outlier_label_", None) is not None:
        return radius_labels(model)
    return np.asarray(getattr(model, "actions_", getattr(model, "classes_", ())))


def _transforms(operator: Any) -> bool:
    """Whether features are asked for; other converters that declare an operator ask for labels."""
    return getattr(operator, "transforms", False)


def _set_shapes(operator: Any) -> None:
    from skl2onnx.common import data_types as types

    model, n = operator.raw_operator, operator.inputs[0].get_first_dimension()
    number = type(types.guess_tensor_type(operator.inputs[0].type))
    if _transforms(operator):
        features = getattr(model, "n_output_features_", None) or model._n_features_out
        operator.outputs[0].type = number([n, features])
        return
    labels = _labels(model)
    kinds = {"i": types.Int64TensorType, "u": types.Int64TensorType, "f": types.DoubleTensorType}
    kinds |= {"b": types.BooleanTensorType}
    operator.outputs[0].type = kinds.get(labels.dtype.kind, types.StringTensorType)([n])
    for output in operator.outputs[1:]:
        columns = len(model.classes_) if "probabilities" in output.raw_name else None
        output.type = number([n, columns])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of one estimator."""
    from skl2onnx.common.data_types import DoubleTensorType

    model, inputs = operator.raw_operator, operator.inputs
    graph = OnnxGraph(scope, container, single=not isinstance(inputs[0].type, DoubleTensorType))
    x = graph.concatenate([Tensor(graph, part.full_name).numbers() for part in inputs])
    if _transforms(operator):
        _cast(transform(model, x), operator.outputs[0])
        return
    found = predict(model, x)
    _require_one_kind(model, found.labels)
    labels = graph.node("Gather", np.asarray(found.labels), found.codes)
    graph.container.add_node("Identity", [labels.name], [operator.outputs[0].full_name])
    answers = [values for values in (found.probabilities, found.scores) if values is not None]
    for values, output in zip(answers, operator.outputs[1:], strict=False):
        _cast(values, output)


def _cast(values: Tensor, output: Any) -> None:
    """Write values to an output in its own type."""
    kind = output.type._get_element_onnx_type()
    values.graph.container.add_node("Cast", [values.name], [output.full_name], to=kind)


def _require_one_kind(model: Any, labels: Any) -> None:
    kinds = {isinstance(label, str) for label in np.asarray(labels).tolist()}
    if len(kinds) > 1:
        raise refuse(
            model, "its labels are numbers and strings; choose a `reject_label` of their type"
        )
