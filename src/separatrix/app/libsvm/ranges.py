"""Ranges of features and labels: found in samples, kept in LIBSVM's scaling files, read from them.

Such a file has `y`, `lower upper` and `min max` where labels are scaled, then `x`, `lower upper`, and
`index min max` for every feature that has more than one value.
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


class Target(NamedTuple):
    """Where labels lie, and where they shall lie."""

    lower: float
    upper: float
    least: float
    greatest: float


class Ranges(NamedTuple):
    """Where the features lie, by their index, and where they shall lie."""

    lower: float
    upper: float
    least: Vector  # shape: (largest index + 1,)
    greatest: Vector  # shape: (largest index + 1,)
    target: Target | None  # None leaves the labels as they are


def scale(values: Any, lower: float, upper: float, least: Any, greatest: Any) -> Any:
    """Values brought from [least, greatest] to [lower, upper]; the ends are met exactly.

    >>> scale(np.array([2.0, 3.0, 6.0]), -1.0, 1.0, 2.0, 6.0).tolist()
    [-1.0, -0.5, 1.0]
    """
    with np.errstate(all="ignore"):  # of one value only, which is met exactly
        # in this order of operations the last bit is LIBSVM's
        inside = lower + (upper - lower) * (values - least) / (greatest - least)
    return np.where(values == least, lower, np.where(values == greatest, upper, inside))


def found_ranges(X: Any, lower: float, upper: float, target: Target | None) -> Ranges:
    """Those of samples, CSR, whose columns are LIBSVM's indices; what a row leaves out is a 0."""
    n, width = X.shape
    least, greatest = np.full(width, np.inf), np.full(width, -np.inf)
    np.minimum.at(least, X.indices, X.data)
    np.maximum.at(greatest, X.indices, X.data)
    left_out = np.bincount(X.indices, minlength=width) < n
    left_out[:1] = False  # to LIBSVM index 0 is no feature: where it is left out it has no value
    least[left_out] = np.minimum(least[left_out], 0.0)
    greatest[left_out] = np.maximum(greatest[left_out], 0.0)
    return Ranges(lower, upper, least, greatest, target)


def save_ranges(path: Path, ranges: Ranges) -> None:
    """Write them as `svm-scale -s` does."""
    text = [f"x\n{_numbers(ranges.lower, ranges.upper)}\n"]
    if ranges.target is not None:
        wanted, found = ranges.target[:2], ranges.target[2:]
        text.insert(0, f"y\n{_numbers(*wanted)}\n{_numbers(*found)}\n")
    for index in np.flatnonzero(ranges.least != ranges.greatest).tolist():
        if index:
            text.append(f"{index} {_numbers(ranges.least[index], ranges.greatest[index])}\n")
    write_text(path, "".join(text))


def restored_ranges(path: Path, found: Ranges) -> tuple[Ranges, list[int]]:
    """Those of a scaling file, for samples in which others were found, and what it has not.

    A feature that the file does not know and that has more than one value is given only the value 0.
    """
    lines = _Lines(path)
    target = found.target
    heading = lines.next()
    if heading == ["y"]:
        target = Target(*lines.numbers(2), *lines.numbers(2))
        heading = lines.next()
    if heading != ["x"]:
        raise lines.wrong(" ".join(heading), "x, or y and its two lines before")
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
    """The lines of a scaling file, taken apart at spaces."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        try:
            with open_(path) as source:
                self.lines = source.read_all().decode("utf-8", "replace").splitlines()
        except MissingDataError as error:
            raise with_hint(DataError(str(error)), "make one with svm-scale -s") from None

    def next(self) -> list[str]:
        """Words of the next line; none at the end."""
        self.number += 1
        return self.lines[self.number - 1].split() if self.number <= len(self.lines) else []

    def numbers(self, count: int) -> list[float]:
        """The next line, which has so many numbers."""
        return self._floats(self.next(), count)

    def features(self) -> Iterator[tuple[int, float, float]]:
        """Index, least and greatest value of a feature, a line each, to the end."""
        while self.number < len(self.lines):
            words = self.next()
            if not words:
                continue
            most = Limits().features
            if not words[0].isdecimal() or not 1 <= int(words[0][:18]) <= most:
                raise self.wrong(" ".join(words), f"an index from 1 to {most}, and two numbers")
            low, high = self._floats(words[1:], 2)
            yield int(words[0]), low, high

    def wrong(self, found: str, expected: str) -> DataFileError:
        """The error for the last line."""
        return DataFileError(
            self.path,
            self.number,
            found=repr(found[:40]) if found else "nothing",
            expected=expected,
            hint="give -r a file that svm-scale -s wrote",
        )

    def _floats(self, words: list[str], count: int) -> list[float]:
        try:
            values = [float(word) for word in words if "_" not in word]
        except ValueError:
            values = []
        if len(values) != count or len(words) != count or not np.isfinite(values).all():
            raise self.wrong(" ".join(words), f"{count} numbers")
        return values
