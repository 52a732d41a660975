"""Data sets by name. What scikit-learn ships is there at once; the rest is found on disk.

The folder with the rest is named by the environment variable `SEPARATRIX_DATA`.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.errors import MissingDataError

VARIABLE = "SEPARATRIX_DATA"


@dataclass(frozen=True)
class Dataset:
    """Samples with labels, and the test part where the set comes with one."""

    name: str
    X: Any  # shape: (n, d)
    y: Any  # shape: (n,)
    X_test: Any = None  # shape: (m, d)
    y_test: Any = None  # shape: (m,)
    image: tuple[int, int] | None = None  # rows and columns of a picture of one sample


def load(name: str) -> Dataset:
    """The data set of that name.

    >>> load("iris").X.shape
    (150, 4)
    """
    if name not in _READERS:
        raise MissingDataError(
            f"no data set is called {name!r}; there are {', '.join(sorted(_READERS))}"
        )
    return _READERS[name]()


def _shipped(name: str, image: tuple[int, int] | None = None) -> Dataset:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Dataset(name, X, y, image=image)


def _file(name: str) -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise MissingDataError(
            f"{name} is not on this machine; put it into a folder and set {VARIABLE} to that folder"
        )
    path = Path(folder) / name
    if not path.is_file():
        raise MissingDataError(f"{VARIABLE} is {folder}, but there is no file {name} in it")
    return path


def _usps() -> Dataset:
    """9298 digits of 16 x 16, labels first, as one table of numbers."""
    with gzip.open(_file("zipcombo.dat.gz")) as lines:
        table = np.loadtxt(lines, dtype=np.float64)
    return Dataset("usps", table[:, 1:], table[:, 0].astype(np.intp), image=(16, 16))


def _idx(name: str) -> Any:
    """An array in the IDX format: two zero bytes, type, dimensions, sizes, then the bytes."""
    with gzip.open(_file(name)) as stream:
        raw = stream.read()
    shape = tuple(int(size) for size in np.frombuffer(raw, ">u4", count=raw[3], offset=4))
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def _mnist() -> Dataset:
    parts = [
        (_idx(f"{part}-images-idx3-ubyte.gz"), _idx(f"{part}-labels-idx1-ubyte.gz"))
        for part in ("train", "t10k")
    ]
    (X, y), (X_test, y_test) = (
        (images.reshape(len(images), -1), labels) for images, labels in parts
    )
    return Dataset("mnist", X, y, X_test, y_test, image=(28, 28))


def _adult(name: str) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    parts = []
    for file in (f"{name}.gz", f"{name}.t.gz"):
        X, y = load_svmlight_file(_file(file), n_features=123)
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        parts += [X, y.astype(np.intp)]
    return Dataset(name, *parts)


_READERS: dict[str, Callable[[], Dataset]] = {
    "iris": lambda: _shipped("iris"),
    "digits": lambda: _shipped("digits", image=(8, 8)),
    "wine": lambda: _shipped("wine"),
    "breast_cancer": lambda: _shipped("breast_cancer"),
    "usps": _usps,
    "mnist": _mnist,
    "a4a": lambda: _adult("a4a"),
    "a9a": lambda: _adult("a9a"),
}
