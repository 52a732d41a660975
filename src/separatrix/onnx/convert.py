"""`to_onnx`: a fitted model as an ONNX model, and as a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError, SeparatrixError, UnsupportedError
from separatrix.onnx.model_graphs import TRANSFORMERS
from separatrix.onnx.onnx_graph import OPSET, refuse
from separatrix.onnx.registration import register_converters
from separatrix.runtime.atomic_files import atomic_write
from separatrix.validation import require_choice, require_flag, require_integer


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    opset: int | None = None,
    dtype: str = "float32",
    zipmap: bool = False,
) -> Any:
    """Convert a fitted model to ONNX, which predicts without Python.

    The outputs of a classifier are `label`, `probabilities` if it has `predict_proba`, and `scores` if it
    has `decision_function`; of a transformer `variable`. All arithmetic is float64, so that labels are
    those of `predict`. A graph cannot raise errors: values that `predict` refuses are not refused.

    Parameters
    ----------
    model
        A fitted estimator of separatrix, or a pipeline of such and of estimators that skl2onnx knows.
    path
        A file to write, replaced if it exists. None: only return the model.
    opset
        Version of ONNX's operators, at least 18. None: the latest that skl2onnx was tested with.
    dtype
        "float32" or "float64": the type of the samples, the probabilities and the scores.
    zipmap
        Whether probabilities are a list of dicts with the labels as keys, not an array.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import SVC, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> graph = to_onnx(SVC().fit(X, y)).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    require_choice("to_onnx", "dtype", dtype, ("float32", "float64"))
    require_flag("to_onnx", "zipmap", zipmap)
    if opset is not None:
        require_integer("to_onnx", "opset", opset, least=OPSET)
    register_converters()
    check_is_fitted(model)
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    converted = _convert(model, opset, dtype, zipmap)
    if path is not None:
        with atomic_write(Path(path)) as temporary:
            temporary.write_bytes(converted.SerializeToString())
    return converted


def _convert(model: Any, opset: int | None, dtype: str, zipmap: bool) -> Any:
    from skl2onnx import __max_supported_opset__, convert_sklearn
    from skl2onnx.common import data_types

    if opset is not None and opset > __max_supported_opset__:
        must_be = f"at most {__max_supported_opset__}, the latest that skl2onnx was tested with"
        raise ParameterError("to_onnx", "opset", must_be, opset)
    kind = data_types.FloatTensorType if dtype == "float32" else data_types.DoubleTensorType
    d = getattr(model, "n_features_in_", None)
    if d is None:
        raise refuse(model, "it takes sequences, graphs or tables, and ONNX has tensors only")
    options: dict[int, dict[str, Any]] = {
        id(step): {"transform": True, "zipmap": False} for step in _transforming(model, False)
    }
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if is_classifier(last):
        options[id(last)] = {"zipmap": zipmap}
    try:
        return convert_sklearn(
            model,
            name=type(model).__name__,
            initial_types=[("X", kind([None, d]))],
            target_opset=opset,
            options=options,
        )
    except SeparatrixError:
        raise
    except Exception as error:  # of all kinds
        words = " ".join(str(error).split())
        found = f"skl2onnx cannot convert this {type(model).__name__}: {words:.200}"
        raise UnsupportedError(found) from error


def _transforming(model: Any, inside: bool) -> Iterator[Any]:
    """The estimators in a model that are asked for features, though they are classifiers as well."""
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            yield from _transforming(step, True)
        yield from _transforming(model.steps[-1][1], inside)
    elif isinstance(model, ColumnTransformer):
        for _, step, _ in model.transformers_:
            yield from _transforming(step, True)
    elif isinstance(model, FeatureUnion):
        for _, step in model.transformer_list:
            yield from _transforming(step, True)
    elif inside and type(model).__name__ in TRANSFORMERS:
        yield model
