"""Ranges of features and labels, computed from samples or stored in LIBSVM's scaling files.

A scaling file has `y`, `lower upper` and `min max` if labels are scaled, then `x`, `lower upper`, and
`index min max` for every feature with more than one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.app.libsvm.samples import with_hint, write_text
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.errors import DataError, DataFileError, MissingDataError
from separatrix.types import Vector


class LabelRange(NamedTuple):
    """Range of the labels before (least, greatest) and after scaling (lower, upper)."""

    lower: float
    upper: float
    least: float
    greatest: float


class Ranges(NamedTuple):
    """Ranges of the features by index, before (least, greatest) and after scaling (lower, upper)."""

    lower: float
    upper: float
    least: Vector  # shape: (largest index + 1,)
    greatest: Vector  # shape: (largest index + 1,)
    target: LabelRange | None  # None: labels are not scaled


def scale(values: Any, lower: float, upper: float, least: Any, greatest: Any) -> Any:
    """Scale values from [least, greatest] to [lower, upper]; the bounds are exact.

    >>> scale(np.array([2.0, 3.0, 6.0]), -1.0, 1.0, 2.0, 6.0).tolist()
    [-1.0, -0.5, 1.0]
    """
    with np.errstate(all="ignore"):  # a feature with one value divides by 0
        # this order of operations gives the same last bit as LIBSVM
        inside = lower + (upper - lower) * (values - least) / (greatest - least)
    return np.where(values == least, lower, np.where(values == greatest, upper, inside))


def compute_ranges(X: Any, lower: float, upper: float, target: LabelRange | None) -> Ranges:
    """Compute the ranges of CSR samples, whose columns are LIBSVM's indices; missing entries are 0."""
    n, width = X.shape
    least, greatest = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(least, X.indices, X.data)
    np.maximum.at(greatest, X.indices, X.data)
    omitted = np.bincount(X.indices, minlength=width) < n
    omitted[:1] = False  # index 0 is not a feature in LIBSVM: a missing entry is not 0
    least[omitted & ~(least < 0.0)] = 0.0  # -0 too, as LIBSVM
    greatest[omitted & ~(greatest > 0.0)] = 0.0
    return Ranges(lower, upper, least, greatest, target)


def save_ranges(path: Path, ranges: Ranges) -> None:
    """Write a scaling file like `svm-scale -s`."""
    text = [f"x\n{_numbers(ranges.lower, ranges.upper)}\n"]
    if ranges.target is not None:
        lower, upper, least, greatest = ranges.target
        text.insert(0, f"y\n{_numbers(lower, upper)}\n{_numbers(least, greatest)}\n")
    for index in np.flatnonzero(ranges.least != ranges.greatest).tolist():
        if index:
            text.append(f"{index} {_numbers(ranges.least[index], ranges.greatest[index])}\n")
    write_text(path, "".join(text))


def read_ranges(path: Path, found: Ranges) -> tuple[Ranges, list[int]]:
    """Read the ranges of a scaling file; also return the features of the samples that it does not have.

    Those features are scaled to 0. `found` holds the ranges of the samples.
    """
    lines = _Lines(path)
    target = found.target
    heading = lines.next()
    if heading == ["y"]:
        target = LabelRange(*lines.numbers(2), *lines.numbers(2))
        heading = lines.next()
    if heading != ["x"]:
        raise lines.error(" ".join(heading), "x, or y and its two lines before")
    lower, upper = lines.numbers(2)
    entries = list(lines.features())
    width = max([len(found.least), *(index + 1 for index, _, _ in entries)])
    least, greatest = np.zeros(width), np.zeros(width)
    unknown = found.least != found.greatest
    for index, low, high in entries:
        least[index], greatest[index] = low, high
        unknown[index : index + 1] = False
    least[:1], greatest[:1] = found.least[:1], found.greatest[:1]
    unseen = [index for index in np.flatnonzero(unknown).tolist() if index]
    return Ranges(lower, upper, least, greatest, target), unseen


def _numbers(one: float, other: float) -> str:
    return f"{one:.17g} {other:.17g}"


class _Lines:
    """The lines of a scaling file, split at spaces."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        try:
            with open_(path) as source:
                self.lines = source.read_all().decode("utf-8", "replace").splitlines()
        except MissingDataError as error:
            raise with_hint(DataError(str(error)), "create one with svm-scale -s") from None

    def next(self) -> list[str]:
        """Return the words of the next line, none at the end."""
        self.number += 1
        return self.lines[self.number - 1].split() if self.number <= len(self.lines) else []

    def numbers(self, count: int) -> list[float]:
        """Parse the next line as `count` numbers."""
        return self._floats(self.next(), count)

    def features(self) -> Iterator[tuple[int, float, float]]:
        """Yield index, least and greatest value of each remaining line."""
        while self.number < len(self.lines):
            words = self.next()
            if not words:
                continue
            most = Limits().features
            if not words[0].isdecimal() or not 1 <= int(words[0][:18]) <= most:
                raise self.error(" ".join(words), f"an index from 1 to {most}, and two numbers")
            low, high = self._floats(words[1:], 2)
            yield int(words[0]), low, high

    def error(self, found: str, expected: str) -> DataFileError:
        """Make the error for the current line."""
        return DataFileError(
            self.path,
            self.number,
            found=repr(found[:40]) if found else "nothing",
            expected=expected,
            hint="-r needs a file that svm-scale -s wrote",
        )

    def _floats(self, words: list[str], count: int) -> list[float]:
        try:
            values = [float(word) for word in words if "_" not in word]
        except ValueError:
            values = []
        if len(values) != count or len(words) != count or not np.isfinite(values).all():
            raise self.error(" ".join(words), f"{count} numbers")
        return values
