"""Data and programs for the tests of LIBSVM's model files."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.preprocessing import StandardScaler

SVM_PREDICT = shutil.which("svm-predict")
needs_svm_predict = pytest.mark.skipif(
    SVM_PREDICT is None, reason="svm-predict is not installed: apt-get install libsvm-tools"
)


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array([-3, 2, 7])[y]


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


DATA = {"iris": iris, "digits": digits, "cancer": cancer}


def halves(name):
    """Rows to learn from and others, in a random order, so that labels come unsorted."""
    X, y = DATA[name]()
    order = np.random.default_rng(3).permutation(len(y))
    X, y = X[order], y[order]
    return X[::2], y[::2], X[1::2], y[1::2]


def write_samples(path, X, y, *, precomputed=False):
    X = X.toarray() if issparse(X) else X
    with path.open("w") as file:
        for number, (row, label) in enumerate(zip(X.tolist(), y, strict=True), start=1):
            entries = [(i, v) for i, v in enumerate(row, start=1) if precomputed or v]
            entries = [(0, number), *entries] if precomputed else entries
            file.write(f"{label:g} {' '.join(f'{i}:{v!r}' for i, v in entries)}\n")
    return path


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def svm_predict(model, X):
    """Labels that svm-predict prints."""
    folder = Path(model).parent
    precomputed = "kernel_type precomputed" in Path(model).read_text()
    write_samples(folder / "test", X, np.zeros(X.shape[0]), precomputed=precomputed)
    run("svm-predict", folder / "test", model, folder / "out")
    return np.loadtxt(folder / "out").astype(np.int64)
