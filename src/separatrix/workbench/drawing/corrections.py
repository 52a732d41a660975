"""Drawings that were corrected, kept in a file, so that models learn them again after a restart.

The file is written whole. One that cannot be read is put aside under another name, never written over.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from separatrix.data import catalogue
from separatrix.errors import DataError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.strict_json import parsed_json
from separatrix.workbench.drawing.strokes import Strokes, checked

FORMAT = 1
MOST = 500
LARGEST_FILE = 256 * 1024**2


@dataclass(frozen=True)
class Correction:
    """A drawing and what it is."""

    label: str
    strokes: Strokes


class Corrections:
    """The corrections of one data set, in the order in which they came."""

    def __init__(self, folder: Path, data: str) -> None:
        self._data = data
        self._path = folder / f"{file_name(data)}.json"
        self._in_the_way = False
        self.problem = ""
        self.items: list[Correction] = self._read()

    def add(self, correction: Correction) -> None:
        """Keep one more, on disk before anybody learns from it."""
        if len(self.items) >= MOST:
            error = DataError(f"there are {MOST} corrections already, and no more are kept")
            error.hint = "forget them, and begin anew"
            raise error
        self._write([*self.items, correction])
        self.items.append(correction)

    def clear(self) -> None:
        """Forget all of them."""
        if not self._in_the_way:
            self._path.unlink(missing_ok=True)
        self.items.clear()

    def _write(self, items: list[Correction]) -> None:
        if self._in_the_way:
            raise DataError(self.problem)
        whole = {"format": FORMAT, "data": self._data, "corrections": [asdict(i) for i in items]}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._path) as path:
                path.write_text(json.dumps(whole, allow_nan=False), encoding="utf-8")
        except OSError as error:
            raise DataError(f"the correction cannot be kept in {self._path}: {error}") from None

    def _read(self) -> list[Correction]:
        try:
            if self._path.stat().st_size > LARGEST_FILE:
                raise ValueError(f"it is larger than {LARGEST_FILE} bytes")
            return _corrections(parsed_json(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            self._put_aside(error)
            return []

    def _put_aside(self, error: Exception) -> None:
        """A damaged file stays, under a name that is free."""
        names = (self._path.with_suffix(f".damaged-{number}.json") for number in range(1, 10_000))
        aside = next(name for name in names if not name.exists())
        why = f"the corrections in {self._path} cannot be read ({error})"
        try:
            self._path.rename(aside)
        except OSError:
            self._in_the_way = True
            self.problem = f"{why}; move that file away before new ones are kept"
        else:
            self.problem = f"{why}; the file is kept as {aside.name}"


def file_name(data: str) -> str:
    """A name for the file: that of the catalogue, or made from the path of a file.

    >>> file_name("digits"), file_name("../x.csv")
    ('digits', 'file-c6a35c28ae9e3589')
    """
    if data in catalogue.names():
        return data
    return f"file-{hashlib.sha256(data.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _corrections(kept: Any) -> list[Correction]:
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise ValueError(f"it is not of format {FORMAT}")
    found = [_correction(item) for item in kept["corrections"]]
    if len(found) > MOST:
        raise ValueError(f"it holds {len(found)} corrections, and at most {MOST} are kept")
    return found


def _correction(item: Any) -> Correction:
    label, strokes = item["label"], item["strokes"]
    if not isinstance(label, str) or not isinstance(strokes, list):
        raise ValueError("a correction has a label and strokes")
    numbers = [value for stroke in strokes for point in stroke for value in point]
    if not numbers or not all(type(value) in (int, float) for value in numbers):
        raise ValueError("a point is two numbers")
    return Correction(label, checked(strokes))
