"""Samples out of LIBSVM's files. Labels lie in its order: as they first come, but +1 before -1."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.formats.svmlight import read_svmlight
from separatrix.data.streams import open_
from separatrix.errors import DataError, DataFileError, MissingDataError, SeparatrixError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.types import Codes

PathLike = str | os.PathLike[str]

DENSE_FROM = 0.25  # share of stored values
LARGEST_INT = 2**31 - 1  # LIBSVM's labels are of type int


def read_samples(path: PathLike, *, zero_based: bool = False) -> tuple[Any, Any]:
    """Samples as CSR, and their labels; a file that is missing or without samples is refused."""
    try:
        with open_(path) as source:
            data = read_svmlight(source, zero_based=zero_based)
    except MissingDataError as error:  # nothing that could be fetched: a name that is wrong
        raise with_hint(DataError(str(error)), "check the name of the file") from None
    if not len(data.y):
        raise DataFileError(
            path,
            found="no samples",
            expected="lines of `label index:value ...`",
            hint="check that it is the right file, and whole",
        )
    return data.X, data.y


class TrainingSet(NamedTuple):
    """A training set, and its labels in LIBSVM's order."""

    X: Any  # shape: (n, d), or (n, n) kernel values
    y: Codes  # shape: (n,); labels
    labels: list[int]  # in LIBSVM's order
    serials: Codes | None  # shape: (n,); of kernel values: the column of each row, from 1

    @property
    def order(self) -> Codes:
        """For each label its place among the sorted ones."""
        return np.argsort(np.argsort(self.labels))


def training_samples(path: PathLike, *, precomputed: bool, one_class: bool = False) -> TrainingSet:
    """A training set; with `precomputed`, the kernel values of every pair of samples.

    With `one_class`, labels are only compared with predictions, and one is enough.
    """
    X, y = read_samples(path, zero_based=precomputed)
    labels = [] if one_class else _ordered_labels(path, y)
    n, d = X.shape
    if not precomputed:
        return TrainingSet(X.toarray() if X.nnz >= DENSE_FROM * n * d else X, y, labels, None)
    M, serials = _kernel_values(path, X)
    return TrainingSet(M[:, serials - 1], y, labels, serials)


def write_text(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    try:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="ascii", newline="\n")
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise with_hint(
            DataError(message), "give a file in a folder that you may write to"
        ) from None


def with_hint(error: SeparatrixError, hint: str) -> SeparatrixError:
    """The error, and what to do."""
    error.hint = hint
    return error


def _ordered_labels(path: PathLike, y: Any) -> list[int]:
    bad = (y % 1 != 0) | (y < -LARGEST_INT - 1) | (y > LARGEST_INT)
    if bad.any():
        raise DataFileError(
            path,
            found=f"label {y[bad.argmax()]:.17g}",
            expected="whole numbers of 32 bits as labels",
            hint="separatrix classifies; it has no regression",
        )
    found, first = np.unique(y, return_index=True)
    labels: list[int] = [int(label) for label in found[np.argsort(first)]]
    if len(labels) < 2:
        raise DataFileError(
            path,
            found=f"samples of label {labels[0]} only",
            expected="at least 2 classes",
            hint="check the first column",
        )
    return [1, -1] if labels == [-1, 1] else labels


def _kernel_values(path: PathLike, X: Any) -> tuple[Any, Codes]:
    """Kernel values, (n, columns), and numbers of samples, (n,), from `0:number 1:value ...`."""
    M = X.toarray()
    serials = M[:, 0] if M.shape[1] > 1 else np.zeros(len(M))
    bad = (serials < 1) | (serials % 1 != 0) | (serials > M.shape[1] - 1)
    if bad.any():
        row = int(bad.argmax())
        raise DataFileError(
            path,
            found=f"sample number {serials[row]:g} in row {row + 1}",
            expected=f"0:number, a whole one from 1 to the {max(0, M.shape[1] - 1)} kernel values",
            hint="-t 4 reads `label 0:number 1:value 2:value ...`; without -t 4 samples are read",
        )
    return M[:, 1:], serials.astype(np.intp)
