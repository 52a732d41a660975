"""Save a model: train, save, write its model card, load, detect damage, export to LIBSVM.

Prints the result of each step; the files stay in a folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from separatrix import SVC, describe, load, load_libsvm, save, save_libsvm
from separatrix.data.catalogue import load as load_data
from separatrix.errors import ModelFileError


def main() -> None:
    """Train, save, load and export a model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("model-output"), help="folder for the files"
    )
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    data = load_data("digits")
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = make_pipeline(MinMaxScaler(), SVC(C=10, calibration="sigmoid", random_state=0)).fit(
        X, y
    )
    print(
        f"trained on {len(y)} digits, accuracy {model.score(X_test, y_test):.3f} on "
        f"{len(y_test)} test digits"
    )

    full = save(model, folder / "digits.model", data=(X, y), note="handwritten digits, 8 x 8")
    slim = save(model, folder / "digits-slim.model", slim=True)
    for path in (full, slim):
        print(f"{path}: {path.stat().st_size:,} bytes")
    (folder / "digits.md").write_text(describe(full).markdown())
    print(f"{folder / 'digits.md'}: the model card")

    loaded = load(slim)
    same = np.array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    print(f"probabilities from the slim file are bitwise identical: {same}")

    damaged = folder / "damaged.model"
    raw = bytearray(full.read_bytes())
    raw[len(raw) // 2] ^= 1
    damaged.write_bytes(raw)
    try:
        load(damaged)
    except ModelFileError as error:
        print(f"one bit flipped: {error.reason}: {error}")

    machine = SVC(C=10).fit(X, y)
    text = save_libsvm(machine, folder / "digits.libsvm")
    same = np.array_equal(load_libsvm(text, n_features=64).predict(X_test), machine.predict(X_test))
    print(f"{text}: the model for svm-predict; predictions after loading it are identical: {same}")


if __name__ == "__main__":
    main()
