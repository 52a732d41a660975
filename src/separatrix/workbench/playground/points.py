"""Points from a generator, from two columns of a data set, or from a file that a person has.

A file is read by the library's own reader of tables, so that quoting, delimiters and what is wrong in
which line are its matter. What is left out, or chosen without being asked, is said in `notes`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data import catalogue
from separatrix.data.limits import Limits
from separatrix.errors import DataError, DataFileError, ParameterError
from separatrix.types import Flags, Vector
from separatrix.workbench.playground.generators import generated
from separatrix.workbench.playground.scene import (
    FARTHEST,
    LONGEST_LABEL,
    MOST_CLASSES,
    MOST_POINTS,
)
from separatrix.workbench.playground.shipped import SHIPPED
from separatrix.workbench.playground.tables import Columns, read_columns

CALLED = ("target", "label", "class")  # a column of labels; one called y is a coordinate here
ROOM = 0.12  # around the points, as a share of what they span
FEW = 20  # different numbers of a column that may be labels
MOST_BYTES = 8 * 2**20


def from_generator(key: str, n: int, noise: float, seed: int) -> dict[str, Any]:
    """Points that are made up."""
    points = generated(key, n=n, noise=noise, seed=seed)
    return _answer(points, ["x1", "x2"], ["x1", "x2"], [], [])


def from_data(name: str, columns: Sequence[str] | None) -> dict[str, Any]:
    """Two columns of a data set."""
    if name not in SHIPPED:
        raise ParameterError("Playground", "data", f"one of {', '.join(SHIPPED)}", name[:60])
    known = SHIPPED[name].columns
    chosen = list(columns or SHIPPED[name].first)
    if len(chosen) != 2 or not set(chosen) <= set(known):
        must_be = f"two of {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
        raise ParameterError("Playground", "columns", must_be, [word[:60] for word in chosen])
    data, labels = catalogue.load(name), SHIPPED[name].labels
    X = data.X[:, [known.index(column) for column in chosen]]
    points = [[x, y, labels[code]] for (x, y), code in zip(X.tolist(), data.y, strict=True)]
    return _answer(points, chosen, list(known), [], [])


def from_csv(
    name: str, text: str, x: str | None = None, y: str | None = None, label: str | None = None
) -> dict[str, Any]:
    """Two columns of numbers of a table, and a third with labels."""
    table = _read(name, text)
    label = _label_column(table, name, label)
    x, y = _number_columns(table, name, label, x, y)
    X = np.stack([table.numbers[x], table.numbers[y]], axis=1)
    names = table.texts(label)
    usable = np.isfinite(X).all(axis=1) & (np.abs(X) <= FARTHEST).all(axis=1)
    labelled = np.array([0 < len(text) <= LONGEST_LABEL for text in names], dtype=bool)
    rows, notes = _kept(usable, labelled)
    points = [[*X[row].tolist(), names[row]] for row in rows]
    _require_few_classes(name, label, points)
    columns = [column for column in table.numbers if column != label]
    return {
        **_answer(points, [x, y], columns, table.label_columns(FEW), notes),
        "label": label,
    }


def _read(name: str, text: str) -> Columns:
    """The table, read from a file of its own that is gone afterwards; errors speak of the name given."""
    suffix = ".tsv" if name.endswith((".tsv", ".tab")) else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"points{suffix}"
        path.write_bytes(text.encode("utf-8"))
        try:
            return read_columns(path, Limits(bytes=MOST_BYTES, columns=1000))
        except DataFileError as error:
            raise DataFileError(
                name[:60],
                error.line,
                error.column,
                found=error.found,
                expected=error.expected,
                hint=error.hint,
            ) from None


def _label_column(table: Columns, name: str, wanted: str | None) -> str:
    """The one that is asked for; else one that is called so, a column of texts, or of few numbers."""
    if wanted is not None:
        return _require_column(name, wanted, table.names)
    likely = table.label_columns(FEW)
    called = [column for word in CALLED for column in likely if column.casefold() == word]
    if not likely:
        error = DataError(f"{name[:60]} has no column of labels: all of its columns are numbers")
        error.hint = f"labels are texts, or at most {FEW} different numbers; name their column"
        raise error
    texts = [column for column in likely if column in table.categories]
    return [*likely, *texts, *called[:1]][-1]


def _number_columns(
    table: Columns, name: str, label: str, x: str | None, y: str | None
) -> tuple[str, str]:
    """Those that are asked for, else the first ones that are left."""
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
    raise DataError(f"{name[:60]} has no such column as {wanted!r:.60}; there are {listed}")


def _kept(usable: Flags, labelled: Flags) -> tuple[list[int], list[str]]:
    """Rows to show, and what is said about the others."""
    n, notes = len(usable), []
    for good, lacked in ((usable, "no number of a usable size"), (labelled, "no usable label")):
        if missing := int(np.count_nonzero(~good)):
            notes.append(f"{missing:,} of {n:,} rows had {lacked} and were left out")
    rows = np.flatnonzero(usable & labelled)
    if not len(rows):
        raise DataError("no row has two numbers and a label")
    if len(rows) > MOST_POINTS:
        notes.append(f"{MOST_POINTS:,} of {len(rows):,} rows are shown, drawn with seed 0")
        drawn = np.random.default_rng(0).choice(len(rows), MOST_POINTS, replace=False)
        rows = rows[np.sort(drawn)]
    return rows.tolist(), notes


def _require_few_classes(name: str, label: str, points: list[list[Any]]) -> None:
    classes = len({point[2] for point in points})
    if classes > MOST_CLASSES:
        error = DataError(
            f"the column {label!r:.60} of {name[:60]} has {classes:,} different labels, expected at "
            f"most {MOST_CLASSES}"
        )
        error.hint = "choose another column for the labels"
        raise error


def _answer(
    points: list[list[Any]],
    names: list[str],
    columns: list[str],
    label_columns: list[str],
    notes: list[str],
) -> dict[str, Any]:
    X = np.array([point[:2] for point in points])
    window = [side for values in X.T for side in _side(values)]
    return {
        "points": points,
        "names": names,
        "columns": columns,
        "label_columns": label_columns,
        "window": window,
        "notes": notes,
    }


def _side(values: Vector) -> tuple[float, float]:
    """What a coordinate spans, and some room."""
    low, high = float(values.min()), float(values.max())
    room = ROOM * (high - low) or 0.5 * max(1.0, abs(low))
    return low - room, high + room
