"""Points from a generator, from two columns of a data set, or from a table.

The library reads the table, with its rules for quotes and delimiters and its error messages. `notes` name
rows that were left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.data import catalogue
from separatrix.data.data_table import Category
from separatrix.data.formats.layout import detect_layout
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.errors import DataError, DataFileError, ParameterError
from separatrix.types import Flags, Vector
from separatrix.workbench.playground.bundled_data import BUNDLED
from separatrix.workbench.playground.generators import generate_points
from separatrix.workbench.playground.scene import MAX_CLASSES, MAX_COORDINATE, MAX_LABEL, MAX_POINTS

LABEL_NAMES = ("target", "label", "class")  # a column y is a coordinate here
MARGIN = 0.12  # around the points, as a share of their range
FEW = 20  # different numbers in a column of labels
MAX_BYTES = 8 * 2**20


class PointColumns(NamedTuple):
    """The columns of a table: numbers as numbers, everything else as text."""

    names: tuple[str, ...]  # in the order of the file
    numbers: Mapping[str, Vector]  # NaN where there is none
    categories: Mapping[str, Category]
    notes: list[str]  # about numbers in another notation, such as 1,5

    def texts(self, name: str) -> list[str]:
        """A column as text; missing values are empty."""
        if name in self.categories:
            codes, values = self.categories[name]
            return [values[code] if code >= 0 else "" for code in codes.tolist()]
        return [_number_text(value) for value in self.numbers[name].tolist()]

    def label_columns(self) -> list[str]:
        """Columns that may be labels: text, and numbers with few different values."""
        few = {name for name, column in self.numbers.items() if len(np.unique(column)) <= FEW}
        return [name for name in self.names if name in self.categories or name in few]


def from_generator(generator: str, **options: Any) -> dict[str, Any]:
    """Points of a generator, with its options n, noise and seed."""
    points = generate_points(generator, **options)
    return _reply(points, ["x1", "x2"], ["x1", "x2"])


def from_data(name: str, columns: Sequence[str] | None) -> dict[str, Any]:
    """Two columns of a data set."""
    if name not in BUNDLED:
        raise ParameterError("Playground", "data", f"one of {', '.join(BUNDLED)}", name[:60])
    known = BUNDLED[name].columns
    chosen = list(columns or BUNDLED[name].first)
    if len(chosen) != 2 or not set(chosen) <= set(known):
        must_be = f"two of {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
        raise ParameterError("Playground", "columns", must_be, [word[:60] for word in chosen])
    data, labels = catalogue.load(name), BUNDLED[name].labels
    X = data.X[:, [known.index(column) for column in chosen]]
    points = [[x, y, labels[code]] for (x, y), code in zip(X.tolist(), data.y, strict=True)]
    return _reply(points, chosen, list(known))


def from_csv(
    name: str, text: str, x: str | None = None, y: str | None = None, label: str | None = None
) -> dict[str, Any]:
    """Two numeric columns of a table, and a column of labels."""
    table = _read(name, text)
    label = _label_column(table, name, label)
    x, y = _number_columns(table, name, label, x, y)
    X = np.stack([table.numbers[x], table.numbers[y]], axis=1)
    names = table.texts(label)
    usable = np.isfinite(X).all(axis=1) & (np.abs(X) <= MAX_COORDINATE).all(axis=1)
    labelled = np.array([0 < len(text) <= MAX_LABEL for text in names], dtype=bool)
    rows, notes = _select_rows(usable, labelled)
    points = [[*X[row].tolist(), names[row]] for row in rows]
    _require_few_classes(name, label, points)
    columns = [column for column in table.numbers if column != label]
    of_axes = [note for note in table.notes if note.startswith((f"{x}:", f"{y}:"))]
    used = [note.partition("; --")[0] for note in of_axes]  # options of the command line
    more = {"label_columns": table.label_columns(), "notes": [*used, *notes], "label": label}
    return _reply(points, [x, y], columns, **more)


def _read(name: str, text: str) -> PointColumns:
    """Read the table from a temporary file; errors name the file as it was uploaded."""
    from separatrix.data.formats.interpretation import interpret_numbers
    from separatrix.data.formats.records import read_columns  # pyarrow

    suffix = ".tsv" if name.endswith((".tsv", ".tab")) else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"points{suffix}"
        path.write_bytes(text.encode("utf-8"))
        try:
            with open_(path, Limits(bytes=MAX_BYTES, columns=1000)) as source:
                layout = detect_layout(source)
                table, notes = interpret_numbers(read_columns(source, layout))
            numbers = dict(zip(table.number_names, table.numbers.T, strict=True))
            ordered = {name: numbers[name] for name in layout.names if name in numbers}
            return PointColumns(tuple(layout.names), ordered, table.categories, notes)
        except DataFileError as error:
            raise DataFileError(
                name[:60],
                error.line,
                error.column,
                found=error.found,
                expected=error.expected,
                hint=error.hint,
            ) from None


def _label_column(table: PointColumns, name: str, wanted: str | None) -> str:
    """The wanted column; else one with a usual name, a column of text, or one of few numbers."""
    if wanted is not None:
        return _require_column(name, wanted, table.names)
    likely = table.label_columns()
    called = [column for word in LABEL_NAMES for column in likely if column.casefold() == word]
    if not likely:
        error = DataError(f"{name[:60]} has no column of labels: all of its columns are numbers")
        error.hint = f"labels are texts, or at most {FEW} different numbers; name their column"
        raise error
    texts = [column for column in likely if column in table.categories]
    return [*likely, *texts, *called[:1]][-1]


def _number_columns(
    table: PointColumns, name: str, label: str, x: str | None, y: str | None
) -> tuple[str, str]:
    """The wanted columns, else the first numeric ones."""
    known = [column for column in table.numbers if column != label]
    free = [column for column in known if column not in (x, y)]
    chosen = []
    for wanted in (x, y):
        if wanted is not None:
            chosen.append(_require_column(name, wanted, known))
        elif free:
            chosen.append(free.pop(0))
    if len(chosen) < 2:
        error = DataError(f"{name[:60]} has {len(known)} columns of numbers, expected at least 2")
        error.hint = "a point needs two numbers and a label"
        raise error
    return chosen[0], chosen[1]


def _require_column(name: str, wanted: str, known: Sequence[str]) -> str:
    if wanted in known:
        return wanted
    listed = ", ".join(repr(column)[:40] for column in known[:8])
    raise DataError(f"{name[:60]} has no column {wanted!r:.60}; there are {listed}")


def _select_rows(usable: Flags, labelled: Flags) -> tuple[list[int], list[str]]:
    """The rows to show, and notes about the others."""
    n, notes = len(usable), []
    for good, lacked in ((usable, "no number of a usable size"), (labelled, "no usable label")):
        if missing := int(np.count_nonzero(~good)):
            notes.append(f"{missing:,} of {n:,} rows had {lacked} and were left out")
    rows = np.flatnonzero(usable & labelled)
    if not len(rows):
        raise DataError("no row has two numbers and a label")
    if len(rows) > MAX_POINTS:
        notes.append(f"{MAX_POINTS:,} of {len(rows):,} rows are shown, chosen with seed 0")
        chosen = np.random.default_rng(0).choice(len(rows), MAX_POINTS, replace=False)
        rows = rows[np.sort(chosen)]
    return rows.tolist(), notes


def _require_few_classes(name: str, label: str, points: list[list[Any]]) -> None:
    classes = len({point[2] for point in points})
    if classes > MAX_CLASSES:
        error = DataError(
            f"the column {label!r:.60} of {name[:60]} has {classes:,} different labels, expected at "
            f"most {MAX_CLASSES}"
        )
        error.hint = "choose another column for the labels"
        raise error


def _reply(
    points: list[list[Any]], names: list[str], columns: list[str], **more: Any
) -> dict[str, Any]:
    X = np.array([point[:2] for point in points])
    window = [side for values in X.T for side in _side(values)]
    reply = {"points": points, "names": names, "columns": columns, "window": window}
    return {**reply, "label_columns": [], "notes": [], **more}


def _side(values: Vector) -> tuple[float, float]:
    """The range of a coordinate, with a margin."""
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low) or 0.5 * max(1.0, abs(low))
    return low - margin, high + margin


def _number_text(value: float) -> str:
    """A number as text.

    >>> _number_text(3.0), _number_text(0.5), _number_text(float("nan"))
    ('3', '0.5', '')
    """
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if value == np.rint(value) and abs(value) < 2**53 else repr(value)
