"""An ONNX model beside the model that it was made from."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="pip install 'separatrix[onnx]'")
pytest.importorskip("skl2onnx", reason="pip install 'separatrix[onnx]'")

import onnxruntime

from separatrix import OneClassSVM, to_onnx

TOLERANCE = {"float32": 1e-5, "float64": 1e-9}
BLOCK = 500  # rows
METHODS = {
    "probabilities": "predict_proba",
    "scores": "decision_function",
    "variable": "transform",
}


def run(graph, X):
    """The outputs of an ONNX model by name, computed by onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def evaluate_by_reference(graph, X):
    """The outputs of an ONNX model by name, computed by the reference evaluator of ONNX."""
    from onnx.reference import ReferenceEvaluator

    session = ReferenceEvaluator(graph)
    with np.errstate(all="ignore"):
        answers = session.run(None, {"X": X})
    return dict(zip(session.output_names, answers, strict=True))


def largest_error(found, wanted):
    """The largest difference, relative where values are above 1; infinities must be equal."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(found[~finite], wanted[~finite])
    gaps = np.abs(found - np.where(finite, wanted, 0.0)) / np.maximum(1.0, np.abs(wanted))
    return float(np.max(gaps[finite], initial=0.0))


def in_blocks(method, X):
    """The answers for few samples at a time, for which kernel values are float64."""
    return np.concatenate([np.asarray(method(X[i : i + BLOCK])) for i in range(0, len(X), BLOCK)])


def assert_same_answers(model, X, dtype, evaluate=run):
    """Labels are equal, and all numbers within the tolerance of the type; returns the outputs.

    A support vector of `OneClassSVM` has a score of 0 but for rounding, and either label.
    """
    X = np.asarray(X).astype(dtype)
    answers = evaluate(to_onnx(model, dtype=dtype), X)
    if "label" in answers:
        wanted = in_blocks(model.predict, X)
        sure = np.full(len(X), True)
        if isinstance(model, OneClassSVM):
            scores = in_blocks(model.decision_function, X)
            sure = np.abs(scores) > TOLERANCE[dtype] * np.abs(scores).max()
        np.testing.assert_array_equal(answers["label"][sure], wanted[sure])
    for name, found in answers.items():
        if name == "label":
            continue
        method = METHODS[name]
        if name == "scores" and hasattr(model, "expected_loss"):
            method = "expected_loss"
        wanted = in_blocks(getattr(model, method), X).reshape(len(X), -1)
        assert found.dtype == np.dtype(dtype)
        assert found.shape == wanted.shape
        assert largest_error(found, wanted) <= TOLERANCE[dtype], name
    return answers
