"""Readers against scikit-learn's, pyarrow's and pandas': seconds from a file to arrays."""

import gzip
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import scipy.sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.measure import Row, best_of_each
from separatrix.data.catalogue import VARIABLE, load
from separatrix.data.read import read
from separatrix.errors import MissingDataError

IN_MEMORY = Path("/dev/shm")  # so that no disk is measured
REPEAT = 5


def folder():
    return tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.exists() else None)


def _row(what, path, took, peer, reach):
    ours, theirs = took["separatrix"], took[peer]
    size = os.path.getsize(path) / 1e6
    return Row(
        f"{what}, {size:.0f} MB",
        f"{1000 * ours:.0f} ms",
        f"{peer} {1000 * theirs:.0f} ms",
        f"{theirs / ours:.1f}x",
        reach,
    )


def svmlight_reader():
    """a9a, whose values are all 1, and 40,000 x 5,000 with 100 values of 16 or 17 digits a row; plain files in memory."""
    packed = Path(os.environ.get(VARIABLE, "")) / "a9a.gz"
    if not packed.is_file():
        raise MissingDataError("a9a is not here")
    rows = []
    with folder() as name:
        adult, made = Path(name) / "a9a", Path(name) / "made"
        adult.write_bytes(gzip.decompress(packed.read_bytes()))
        rng = np.random.default_rng(0)
        X = scipy.sparse.random_array((40_000, 5_000), density=0.02, rng=rng, format="csr")
        _write_svmlight(made, X, rng.integers(0, 2, 40_000))
        for what, path in (("a9a", adult), ("40,000 x 5,000", made)):
            read(path, format="svmlight")
            took = best_of_each(
                {
                    "separatrix": lambda: read(path, format="svmlight"),
                    "scikit-learn": lambda: load_svmlight_file(path),
                },
                repeat=REPEAT,
            )
            rows.append(_row(what, path, took, "scikit-learn", "3x"))
    return rows, []


def _write_svmlight(path, X, y):
    with path.open("w") as file:
        for row, label in enumerate(y.tolist()):
            inside = slice(X.indptr[row], X.indptr[row + 1])
            pairs = zip((X.indices[inside] + 1).tolist(), X.data[inside].tolist(), strict=True)
            print(label, *(f"{index}:{value!r}" for index, value in pairs), file=file)


def csv_reader():
    """MNIST's first 10,000 rows with a header as Kaggle has it, and 300,000 rows of four numbers and four texts. Ours ends with X and y as arrays, pyarrow's with its table; "to X" adds the step from there to one float64 array, texts as one-hot columns."""
    rows = []
    with folder() as name:
        for what, path, text in (
            ("10,000 x 785 digits", _digits(Path(name) / "digits.csv"), ()),
            ("300,000 x 9 mixed", _mixed(Path(name) / "mixed.csv"), ("job", "town", "day", "size")),
        ):
            read(path)
            took = best_of_each(
                {
                    "separatrix": lambda: read(path),
                    "pyarrow": lambda: pyarrow.csv.read_csv(path),
                    "pyarrow to X": lambda: _to_X(pyarrow.csv.read_csv(path).to_pandas(), text),
                    "pandas": lambda: pd.read_csv(path),
                    "pandas to X": lambda: _to_X(pd.read_csv(path), text),
                },
                repeat=REPEAT,
            )
            for peer in list(took)[1:]:
                rows.append(_row(what, path, took, peer, "1x" if peer == "pyarrow" else "-"))
    return rows, []


def _to_X(frame, text):
    y = frame.pop("label").to_numpy()
    if text:
        frame = pd.get_dummies(frame, columns=list(text))
    return frame.to_numpy(np.float64), y


def _digits(path):
    data = load("mnist")
    lines = [",".join(["label", *(f"pixel{i}" for i in range(784))])]
    for label, row in zip(data.y[:10_000].tolist(), data.X[:10_000].tolist(), strict=True):
        lines.append(",".join(map(str, [label, *row])))
    path.write_text("\n".join(lines))
    return path


def _mixed(path, n=300_000):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(17, 90, n),
            "pay": rng.normal(30_000, 9_000, n).round(2),
            "hours": rng.integers(1, 99, n),
            "score": rng.normal(size=n),
            "job": rng.choice(["clerk", "cook", "smith", "farmer", "teacher"], n),
            "town": rng.choice([f"town {i}" for i in range(40)], n),
            "day": rng.choice([f"2020-01-{i:02}" for i in range(1, 29)], n),
            "size": rng.choice(["S", "M", "L", "XL"], n),
            "label": rng.choice([">50K", "<=50K"], n),
        }
    )
    frame.to_csv(path, index=False)
    return path


SUITES = [svmlight_reader, csv_reader]
