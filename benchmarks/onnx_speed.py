"""onnxruntime on the graphs of `to_onnx`, compared with `predict`, for 1 row and for 10,000."""

import numpy as np
import onnxruntime

from benchmarks.measure import Row, best_of_each
from separatrix import (
    SVC,
    GaussianNB,
    KNeighborsClassifier,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
    to_onnx,
)
from separatrix.data.catalogue import load

ROWS = (1, 10_000)
MODELS = {
    "LogisticRegression": LogisticRegression(max_iter=1000),
    "GaussianNB": GaussianNB(var_smoothing=1e-3),
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "SVC": SVC(C=10, gamma=0.001),
    "SVC with probabilities": SVC(C=10, gamma=0.001, calibration="sigmoid", random_state=0),
    "KNeighborsClassifier": KNeighborsClassifier(),
}


def _session(model, threads=2):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    graph = to_onnx(model).SerializeToString()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _row(name, model, X):
    """Labels alone, or the probabilities of the model that has them for their sake."""
    output = "probabilities" if "probabilities" in name else "label"
    ours = model.predict_proba if output == "probabilities" else model.predict
    session = _session(model)
    run = lambda: session.run([output], {"X": X})[0]  # noqa: E731
    if output == "label":
        np.testing.assert_array_equal(run(), ours(X))
    repeat = 200 if len(X) == 1 else 3
    took = best_of_each({"predict": lambda: ours(X), "onnxruntime": run}, repeat=repeat)
    rows = f"{len(X):,} row" + ("s" if len(X) > 1 else "")
    mine, theirs = took["predict"], took["onnxruntime"]
    return Row(
        f"{name}, {rows}",
        f"{1000 * mine:.3f} ms",
        f"onnxruntime {1000 * theirs:.3f} ms",
        f"{theirs / mine:.1f}x faster" if mine < theirs else f"{mine / theirs:.1f}x its time",
        "-",
    )


def onnx_speed():
    """Predictions by `predict` and by onnxruntime on two threads, float32 samples.

    Digits of 64 features, 1,797 for training, drawn with repetition for 10,000 rows. Repeat with
    `python -m benchmarks onnx_speed`.
    """
    data = load("digits")
    X = np.asarray(data.X, dtype=np.float32)
    many = X[np.random.default_rng(0).integers(len(X), size=max(ROWS))]
    rows = []
    for name, model in MODELS.items():
        model.fit(X, data.y)
        rows += [_row(name, model, np.ascontiguousarray(many[:count])) for count in ROWS]
    return rows, []


SUITES = [onnx_speed]
