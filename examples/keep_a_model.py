"""Keep a model: train, save, look at its card, damage a copy, load, and predict elsewhere.

Prints what each step gives; the files stay in a folder to look at.
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
    """Parse, train, keep, look, load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("model-output"), help="folder of the files"
    )
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)

    data = load_data("digits")
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = make_pipeline(MinMaxScaler(), SVC(C=10, calibration="sigmoid", random_state=0)).fit(
        X, y
    )
    print(
        f"trained on {len(y)} digits, {100 * model.score(X_test, y_test):.1f} % of {len(y_test)} right"
    )

    whole = save(model, folder / "digits.model", data=(X, y), note="handwritten digits, 8 x 8")
    slim = save(model, folder / "digits-slim.model", slim=True)
    for path in (whole, slim):
        print(f"{path}: {path.stat().st_size:,} bytes")
    (folder / "digits.md").write_text(describe(whole).markdown())
    print(f"{folder / 'digits.md'}: the model card")

    again = load(slim)
    same = np.array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
    print(f"probabilities from the slim file are the same, bit for bit: {same}")

    damaged = folder / "damaged.model"
    raw = bytearray(whole.read_bytes())
    raw[len(raw) // 2] ^= 1
    damaged.write_bytes(raw)
    try:
        load(damaged)
    except ModelFileError as error:
        print(f"one bit flipped: {error.reason}: {error}")

    machine = SVC(C=10).fit(X, y)
    text = save_libsvm(machine, folder / "digits.libsvm")
    same = np.array_equal(load_libsvm(text, n_features=64).predict(X_test), machine.predict(X_test))
    print(f"{text}: the same machine for svm-predict; our predictions from it are the same: {same}")


if __name__ == "__main__":
    main()
