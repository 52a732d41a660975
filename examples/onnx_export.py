"""Export a model to ONNX: train, convert, write the file, and compare its answers with those of the model.

Ends with a sentence if onnx, skl2onnx or onnxruntime is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import SVC, BayesDecision, KNeighborsClassifier, to_onnx
from separatrix.data.catalogue import load
from separatrix.errors import UnsupportedError

NEEDED = ("onnx", "skl2onnx", "onnxruntime")


def run(path: Path, X: np.ndarray) -> dict[str, np.ndarray]:
    """The outputs of an ONNX file by name: all that a program without separatrix needs to do."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def main() -> None:
    """Export a support vector machine, and a decision that may reject, and run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("onnx-output"), help="folder for the files"
    )
    folder = parser.parse_args().out
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{', '.join(missing)} not installed: pip install 'separatrix[onnx]'")
        return
    folder.mkdir(parents=True, exist_ok=True)
    data = load("digits")
    X, X_test, y, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    X_test = X_test.astype(np.float32)

    machine = make_pipeline(StandardScaler(), SVC(C=10, calibration="sigmoid", random_state=0))
    cautious = BayesDecision(KNeighborsClassifier(5), reject_cost=0.15)
    for name, model in (("svc", machine), ("cautious", cautious)):
        model.fit(X, y)
        path = folder / f"{name}.onnx"
        to_onnx(model, path)
        found = run(path, X_test)
        same = np.array_equal(found["label"], model.predict(X_test))
        gap = np.abs(found["probabilities"] - model.predict_proba(X_test)).max()
        print(f"{path}: {path.stat().st_size:,} bytes, outputs {', '.join(found)}")
        print(f"    labels of {len(X_test)} digits equal: {same}; probabilities within {gap:.0e}")
    print(f"rejected: {int((found['label'] == -1).sum())} of {len(X_test)}")

    try:
        to_onnx(SVC(kernel=lambda A, B: A @ B.T).fit(X, y))
    except UnsupportedError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    main()
