"""Read a file or a data set of the catalogue, with labels or with the features that a model needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.app.preprocessing import undecided
from separatrix.data import catalogue
from separatrix.data.catalogue.find import find
from separatrix.data.data_table import ColumnSpec, DataTable, shown_values
from separatrix.data.dataset import Dataset
from separatrix.data.read import FORMATS, TABLES, format_of, require_format
from separatrix.data.read_table import as_matrix, expand_paths, read_table
from separatrix.data.role_notes import count_missing, note_missing, unseen_words
from separatrix.data.roles import RoleOverrides
from separatrix.data.streams import split_table
from separatrix.data.targets import spell_as
from separatrix.errors import DataError, DataFileError
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.runtime.progress import busy

MOST_NUMERIC_CLASSES = 50
"""More different numbers in a target that nobody named are not taken for classes."""

ROLE_OPTIONS = ("drop", "text", "date", "category", "number")


def parse_column(text: str) -> str | int:
    """Parse a column given on a command line: a position or a name.

    >>> parse_column("income"), parse_column("-1")
    ('income', -1)
    """
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def parse_names(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Parse names of columns separated by commas.

    >>> parse_names("id, name")
    ('id', 'name')
    """
    words = (
        text.split(",") if isinstance(text, str) else [w for t in text or () for w in t.split(",")]
    )
    return tuple(word.strip() for word in words if word.strip())


def read_labelled(
    name: str | Sequence[str],
    *,
    called: str | None = None,
    progress: bool | None = None,
    ask: bool = True,
    keep: Sequence[str] = (),
    by_columns: bool = False,
    **file: Any,
) -> Dataset:
    """Read labelled data; `called` replaces the path in messages and pages.

    A table keeps its columns: X is a `DataTable`, or, unless `by_columns`, a matrix if all columns that
    the rules keep are complete numbers. `file`
    holds options of `read_table`, and names of columns for the roles `drop`, `text`, `date`, `category` and
    `number`. With `ask`, a guessed target with very many numbers for classes is an error. Columns in `keep`
    are read even if they are ids, counters or constants.
    """
    names = [name] if isinstance(name, str) else list(name)
    options = {key: value for key, value in file.items() if value is not None}
    roles: dict[str, Any] = {key: parse_names(options.pop(key, None)) for key in ROLE_OPTIONS}
    if "target" in options:
        word = options["target"]
        options["target"] = None if word == "none" else parse_column(str(word))
    with busy(f"reading {called or names[0]}", show=progress):
        if is_table(names, options.get("format")):
            overrides = RoleOverrides(**roles, keep=tuple(keep))
            data = read_table(names, overrides=overrides, **options)
            data = data if by_columns else as_matrix(data)
            if ask and len(data.X) > 1:
                _require_columns(data)
            question = _doubt_classes(data)
            if question is not None and ask:
                raise question
            if question is not None:
                data = replace(data, notes=(*data.notes, f"{question}; {question.hint}"))
        else:
            options.pop("missing_label", None)
            if given := [key for key, value in roles.items() if value]:
                raise DataError(
                    f"--{given[0]} names columns of a table, and {names[0]} is not a table"
                )
            data = _with_reading(find(names[0], **options), names[0], options)
    if called is None:
        return data
    reading = data.reading and called + data.reading.removeprefix(data.name)
    return replace(data, name=called, reading=reading)


def is_table(names: Sequence[str], format: str | None) -> bool:
    """Whether files are tables, by their format; names of the catalogue are not."""
    if names[0] in catalogue.names():
        return False
    first = names[0]
    if Path(first).is_dir():
        return bool(list(Path(first).rglob("*.parquet"))) or format in TABLES
    if not Path(first).exists() and first != "-":
        if any(mark in first for mark in "*?["):
            first = expand_paths(first)[0]
        elif not Path(split_table(first)[0]).exists():
            return False  # `find` reports it
    return len(names) > 1 or require_format(first, format) in TABLES


def _require_columns(data: Dataset) -> None:
    """Refuse a table of which the rules leave no column to learn from."""
    if not isinstance(data.X, DataTable) or data.X.kept:
        return
    found = ", ".join(f"{spec.name} ({spec.role})" for spec in data.X.specs[:8])
    error = DataError(
        f"{data.name} has no column to learn from; found {found or 'only the target'}"
    )
    error.hint = "--category NAME or --number NAME keeps a column that was dropped"
    raise error


def _doubt_classes(data: Dataset) -> DataError | None:
    """Ask for the target if the one that was guessed has very many numbers, or texts, for classes."""
    if not data.guess or data.y is None:
        return None
    labels = np.unique(np.asarray(data.y))
    numbers = labels.dtype.kind in "iuf"
    if len(labels) <= MOST_NUMERIC_CLASSES or (not numbers and len(labels) <= len(data.y) / 4):
        return None
    error = DataError(
        f"which column of {data.name} holds the classes? {data.target} ({data.guess}) has "
        f"{len(labels):,} different {'numbers' if numbers else 'texts'} in {len(data.y):,} rows"
    )
    error.hint = f"name it with --target; {_likely_targets(data)}"
    return error


def _likely_targets(data: Dataset) -> str:
    """Columns with few different values, in words."""
    found = []
    for spec in data.X.kept if isinstance(data.X, DataTable) else ():
        if spec.role in ("boolean", "category"):
            found.append(spec.name)
    if not isinstance(data.X, DataTable):
        for j, name in enumerate(data.features or ()):
            if len(np.unique(data.X[:2000, j])) <= 20:
                found.append(name)
    return f"few different values have {', '.join(found[:8])}" if found else "such as --target 0"


def _with_reading(data: Dataset, name: str, options: dict[str, Any]) -> Dataset:
    """The data with a line on how it was read, for all but tables."""
    known = name in catalogue.names()
    how = "of the catalogue" if known else options.get("format") or format_of(name)
    n = len(data.X) if isinstance(data.X, list) else data.X.shape[0]
    words = [f"{data.name}: {how}", f"{n:,} rows"]
    if not isinstance(data.X, list):
        words.append(f"{data.X.shape[1]:,} features")
    if data.y is not None:
        words.append(f"{len(np.unique(np.asarray(data.y))):,} classes")
    return replace(data, reading="; ".join(words))


def encoder_of(model: Any) -> TableEncoder | None:
    """The encoder of mixed columns that a model begins with, if any."""
    model = undecided(model)
    first = model[0] if isinstance(model, Pipeline) else model
    return first if isinstance(first, TableEncoder) else None


def read_for(
    model: Any, path: str, target: Any = None, *, labelled: bool = False, **file: Any
) -> Dataset:
    """Read data with the features that the model was fitted to, selected by name and in their order.

    With `labelled`, also the labels: column `target`, or the one that the reader detects; those that differ
    from a class only in case count as that class. A data set of the catalogue that has a test part gives
    that part.
    """
    data = _read_for(model, path, target, labelled, file)
    if not labelled or data.y is None or not hasattr(model, "classes_"):
        return data
    y, notes = spell_as(model.classes_, data.y)
    return replace(data, y=y, notes=(*data.notes, *notes)) if notes else data


def _read_for(model: Any, path: str, target: Any, labelled: bool, file: dict[str, Any]) -> Dataset:
    options = {key: value for key, value in file.items() if value is not None}
    if path in catalogue.names() or not is_table([path], options.get("format")):
        return _read_other(model, path, options)
    encoder, names = encoder_of(model), getattr(model, "feature_names_in_", None)
    if target is not None:
        target = parse_column(target)
    if not labelled and (encoder is not None or names is not None):
        target = None  # columns are selected by name, and rows without a label are predicted
    options["target"] = ... if labelled and target is None else target
    if encoder is not None:
        data = read_table(path, specs=encoder.columns_, **options)
        missing = note_missing(count_missing(data.X), len(data.X))
        notes = (*unseen_words(data.X, encoder.known_values()), *missing)
        return replace(data, notes=(*data.notes, *notes))
    if names is None:
        return as_matrix(read_table(path, overrides=RoleOverrides(keep_all=True), **options))
    specs = [ColumnSpec(str(name), "number") for name in names]
    try:
        data = read_table(path, specs=specs, **options)
    except DataFileError as error:
        if not any("=" in str(name) for name in names) or "no column named" not in error.found:
            raise
        options.pop("detect", None)
        return find(path, features=tuple(map(str, names)), **options)  # of an earlier version
    return replace(data, X=np.ascontiguousarray(data.X.numbers), kind="vectors")


def read_columns(path: str, names: Sequence[str], *, rows: int, **file: Any) -> dict[str, Any]:
    """Columns of a table as they are in the file, to be shown beside as many predictions."""
    options = {key: v for key, v in file.items() if v is not None and key != "target"}
    if path in catalogue.names() or not is_table([path], options.get("format")):
        raise DataError(f"--keep names columns of a table, and {path} is not a table")
    specs = [ColumnSpec(name, "text") for name in names]
    try:
        table = read_table(path, specs=specs, target=None, **options).X
    except DataFileError as error:
        error.hint = ""  # of columns that a model needs
        raise
    if len(table) != rows:
        refusal = DataError(f"{path} has {len(table)} rows, of which {rows} are predicted")
        refusal.hint = "rows without a label were set aside; leave --target out"
        raise refusal
    return {
        spec.name: np.array([value or "" for value in shown_values(table, spec)], dtype=object)
        for spec in specs
    }


def _read_other(model: Any, path: str, options: dict[str, Any]) -> Dataset:
    """Read data that is no table."""
    options.pop("missing_label", None)
    if Path(path).exists() and path not in catalogue.names():
        accepted = FORMATS[options.get("format") or format_of(path)].options
        if "n_features" in accepted and hasattr(model, "n_features_in_"):
            options["n_features"] = int(model.n_features_in_)
    data = _with_reading(find(path, **options), path, options)
    if path not in catalogue.names() or data.X_test is None:
        return data
    return replace(data, name=f"{path}, its test part", X=data.X_test, y=data.y_test)
