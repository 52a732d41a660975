"""Corrected drawings, kept in a file so that models learn them again after a restart.

Of one's own classes they are all that models learn from; the file then holds the names of the classes, too.

The file is replaced atomically. A file that cannot be read is renamed, never overwritten.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from separatrix.data import catalogue
from separatrix.errors import DataError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.strict_json import parsed_json
from separatrix.workbench.drawing.requests import MAX_OWN_CLASSES, ClassName, LearnRequest
from separatrix.workbench.strict_model import StrictModel

MAX_CORRECTIONS = 500
MAX_FILE_BYTES = 256 * 1024**2


class Correction(LearnRequest):
    """A drawing and its correct label."""

    @model_validator(mode="after")
    def _require_points(self) -> Self:
        if not any(self.strokes):
            raise ValueError("nothing is drawn")
        return self


class _File(StrictModel):
    format: Literal[1] = 1
    data: str = ""
    classes: Annotated[list[ClassName], Field(max_length=MAX_OWN_CLASSES)] = Field(default=[])
    corrections: Annotated[list[Correction], Field(max_length=MAX_CORRECTIONS)]


class Corrections:
    """The corrections of one data set, oldest first."""

    def __init__(self, folder: Path, data: str) -> None:
        self._data = data
        self._path = folder / f"{file_name(data)}.json"
        self._blocked = False  # by a damaged file that cannot be renamed
        self.problem = ""
        found = self._read()
        self.items: list[Correction] = found.corrections
        self.classes: list[str] = found.classes

    def add(self, correction: Correction) -> None:
        """Keep one more, on disk before any model learns it."""
        if len(self.items) >= MAX_CORRECTIONS:
            error = DataError(f"there are {MAX_CORRECTIONS} corrections already, the most allowed")
            error.hint = "forget them to start again"
            raise error
        self._write([*self.items, correction])
        self.items.append(correction)

    def remove_last(self) -> None:
        """Forget the last one."""
        if not self.items:
            raise DataError("there is no correction to undo")
        self._write(self.items[:-1])
        self.items.pop()

    def set_classes(self, names: list[str]) -> None:
        """Name the classes; drawings of other names are dropped."""
        before, items = self.classes, [one for one in self.items if one.label in names]
        self.classes = names
        try:
            self._write(items)
        except DataError:
            self.classes = before
            raise
        self.items = items

    def clear(self) -> None:
        """Forget all of them, but not the names of classes."""
        if self.classes:
            self._write([])
        elif not self._blocked:
            self._path.unlink(missing_ok=True)
        self.items.clear()

    def _write(self, items: list[Correction]) -> None:
        if self._blocked:
            raise DataError(self.problem)
        file = _File(data=self._data, classes=self.classes, corrections=items)
        content = file.model_dump_json()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._path) as path:
                path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise DataError(f"the correction cannot be kept in {self._path}: {error}") from None

    def _read(self) -> _File:
        try:
            if self._path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError(f"it is larger than {MAX_FILE_BYTES} bytes")
            content = parsed_json(self._path.read_text(encoding="utf-8"))
            return _File.model_validate(content)
        except FileNotFoundError:
            return _File(corrections=[])
        except (OSError, ValueError, RecursionError) as error:
            self._put_aside(error)
            return _File(corrections=[])

    def _put_aside(self, error: Exception) -> None:
        """Rename a damaged file to a free name."""
        names = (self._path.with_suffix(f".damaged-{number}.json") for number in range(1, 10_000))
        aside = next(name for name in names if not name.exists())
        reason = str(error).splitlines()[0]
        problem = f"the corrections in {self._path} cannot be read ({reason})"
        try:
            self._path.rename(aside)
        except OSError:
            self._blocked = True
            self.problem = f"{problem}; move that file away before new ones are kept"
        else:
            self.problem = f"{problem}; the file is kept as {aside.name}"


def file_name(data: str) -> str:
    """The name of a data set of the catalogue, or one made from the path of a file.

    >>> file_name("digits"), file_name("../x.csv")
    ('digits', 'file-c6a35c28ae9e3589')
    """
    if data in catalogue.names():
        return data
    return f"file-{hashlib.sha256(data.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
