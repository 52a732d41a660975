"""`read_table`: the columns of one or several files, each with its role, as samples for a model."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from types import EllipsisType
from typing import Any

import numpy as np

from separatrix.data.counts import count_of
from separatrix.data.data_table import Category, ColumnSpec, DataTable, count_roles
from separatrix.data.dataset import Dataset
from separatrix.data.formats.columns import ColumnTable, TableContents, labels_of
from separatrix.data.formats.rows import frame_to_arrow, memory_source, scan_arrow_table
from separatrix.data.limits import Limits
from separatrix.data.read import FORMATS, TABLES, require_format
from separatrix.data.roles import RoleOverrides, RoleTable, apply_roles, assign_roles, plain_matrix
from separatrix.data.targets import merge_spellings
from separatrix.data.units import has_decimal_comma
from separatrix.errors import DataFileError, MissingDataError, ParameterError

_FOLDERS = ("*.parquet", "*.pq")
_MOST_CLASSES_SHOWN = 6
_TEXT_ROLES = ("category", "codes", "text", "date")


def read_table(
    path: str | os.PathLike[str] | Sequence[str],
    *,
    format: str | None = None,
    target: str | int | EllipsisType | None = ...,
    overrides: RoleOverrides | None = None,
    specs: Sequence[ColumnSpec] | None = None,
    detect: bool = True,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    missing_label: str = "drop",
    limits: Limits | None = None,
) -> Dataset:
    """The columns of a table, each with a role by rules on its values; X is a `DataTable`.

    Parameters
    ----------
    path
        A file, a pattern such as `part-*.csv`, a folder of Parquet files, file.db:table, - for standard
        input, or several of these, whose rows are read one after the other.
    format, target, header, delimiter, encoding, missing_label, limits
        As for `read`; rows without a label are set aside by default.
    overrides
        Roles of columns in place of those by the rules.
    specs
        Columns of a fitted `TableEncoder`, in place of the rules; others are not read.
    detect
        Whether columns of numbers and dates may be in another form than these, with a note.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "three.csv"
    >>> _ = path.write_text("age;job;class\\n31,5;clerk;a\\n45;cook;b\\n-;clerk;a\\n")
    >>> data = read_table(path)
    >>> [(spec.name, spec.role) for spec in data.X.specs]
    [('age', 'number'), ('job', 'category')]
    >>> print(data.reading.replace("; ", ";\\n"))
    three.csv: csv, UTF-8, semicolons, header;
    3 rows;
    target class, by its name: 2 classes (a 2, b 1);
    1 number, 1 category
    """
    paths = expand_paths(path)
    found = require_format(paths[0], format, limits)
    if found not in TABLES:
        must_be = f"one of the tables {', '.join(sorted(TABLES))}"
        raise ParameterError("read_table", "format", must_be, found)
    given = {"header": header, "delimiter": delimiter, "encoding": encoding}
    options: dict[str, Any] = {name: v for name, v in given.items() if v is not None}
    for name in sorted(set(options) - FORMATS[found].options):
        raise ParameterError("read_table", name, f"left out for the format {found}", options[name])
    options |= {"target": "auto" if target is ... else target, "missing_label": missing_label}
    options |= {"limits": limits, **_columns_to_read(overrides, specs, texts=found == "csv")}
    contents = _scan_all(paths, found, options)
    name = os.path.basename(os.path.normpath(paths[0]))
    name += f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return _as_dataset(contents, f"{name}: {found}, ", name, overrides, specs, detect)


def table_of(
    frame: Any,
    overrides: RoleOverrides | None = None,
    specs: Sequence[ColumnSpec] | None = None,
    *,
    detect: bool = False,
) -> RoleTable:
    """A pandas, polars or pyarrow table as a `DataTable`, with notes; `detect` as for `apply_roles`."""
    if isinstance(frame, DataTable):
        return RoleTable(frame, ())
    source = memory_source("the table")
    options = _columns_to_read(overrides, specs)
    contents = scan_arrow_table(source, frame_to_arrow(frame), target=None, **options)
    if specs is not None:
        return apply_roles(contents.table, specs, detect=detect)
    return assign_roles(contents.table, None, overrides)


def _columns_to_read(
    overrides: RoleOverrides | None, specs: Sequence[ColumnSpec] | None, *, texts: bool = False
) -> dict[str, Any]:
    """Options of a reader: which columns are read, and which of them as texts.

    A file of texts shows no types: 1.234 is 1234 for a model that was fitted to decimal commas.
    """
    if specs is None:
        return {"by_columns": True, "as_text": overrides.as_text if overrides else ()}
    as_text = [
        spec.name
        for spec in specs
        if spec.role in _TEXT_ROLES
        or (texts and spec.role == "number" and has_decimal_comma(spec.format))
    ]
    kept = [spec.name for spec in specs if spec.kept]
    return {"by_columns": True, "columns": kept, "as_text": as_text}


def expand_paths(path: Any) -> list[str]:
    """The files of a path, a pattern, a folder or several of them."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    found: list[str] = []
    for one in (os.fspath(item) for item in given):
        if os.path.isdir(one):
            inside = sorted(
                p
                for kind in _FOLDERS
                for p in glob.glob(os.path.join(one, "**", kind), recursive=True)
            )
            if not inside:
                raise DataFileError(
                    one, found="a folder without .parquet files", expected="a table"
                )
            found += inside
        elif not os.path.exists(one) and any(mark in one for mark in "*?["):
            matches = sorted(glob.glob(one))
            if not matches:
                raise MissingDataError(f"there is no file {one}")
            found += matches
        else:
            found.append(one)
    return found


def _scan_all(paths: list[str], format: str, options: dict[str, Any]) -> TableContents:
    """The columns of all files: those of the first, in every other by name."""
    limits = options.pop("limits")
    scan = FORMATS[format].scan_columns
    first = scan(paths[0], limits, **options)
    if len(paths) == 1:
        return first
    target = first.choice.target
    columns = [name for name in first.choice.used if name != target]
    options = {**options, "target": target, "columns": columns}
    parts = [first, *(scan(path, limits, **options) for path in paths[1:])]
    texts = {name for part in parts for name in part.table.categories}
    for i, part in enumerate(parts):  # a column is texts in all files if it is in one
        if mixed := texts.difference(part.table.categories):
            again = {*options.get("as_text", ()), *mixed}
            parts[i] = scan(paths[i], limits, **{**options, "as_text": sorted(again)})
    notes = tuple(
        f"{os.path.basename(path)}: {note}"
        for path, part in zip(paths, parts, strict=True)
        for note in part.notes
    )
    table = _concatenate([part.table for part in parts])
    return first._replace(table=table, notes=notes)


def _concatenate(tables: Sequence[ColumnTable]) -> ColumnTable:
    first = tables[0]
    numbers = np.empty((sum(t.rows for t in tables), len(first.number_names)), order="F")
    start = 0
    for table in tables:
        columns = [table.number_names.index(name) for name in first.number_names]
        numbers[start : start + table.rows] = table.numbers[:, columns]
        start += table.rows
    categories = {}
    for name in first.categories:
        known: dict[str, int] = {}
        codes = []
        for part, values in (table.categories[name] for table in tables):
            to = [known.setdefault(value, len(known)) for value in values]
            codes.append(np.array([*to, -1], dtype=np.int32)[part])
        categories[name] = Category(np.concatenate(codes), list(known))
    return replace(first, rows=start, numbers=numbers, categories=categories)


def _as_dataset(
    contents: TableContents,
    begin: str,
    name: str,
    overrides: RoleOverrides | None,
    specs: Sequence[ColumnSpec] | None,
    detect: bool,
) -> Dataset:
    columns, target = contents.table, contents.choice.target
    if specs is not None:
        found = apply_roles(columns, specs, detect=detect)
    else:
        found = assign_roles(columns, target, _with_declared(overrides, contents, target))
    y, merged = None, list[str]()
    if target is not None:
        labels, merged = merge_spellings(target, columns.categories[target])
        y = labels_of(labels)
    reading = "; ".join(
        part
        for part in (
            begin + contents.how,
            count_of(columns.rows, "row"),
            _describe_target(target, y, contents.choice.guess),
            count_roles(found.table.specs),
        )
        if part
    )
    return Dataset(
        name,
        *(found.table, y),
        features=found.table.columns,
        target=target or "",
        kind="table",
        notes=(*contents.notes, *merged, *found.notes),
        reading=reading,
        guess=contents.choice.guess,
    )


def _with_declared(
    overrides: RoleOverrides | None, contents: TableContents, target: str | None
) -> RoleOverrides:
    """The roles of the user, then those that the file declares."""
    overrides = overrides or RoleOverrides()
    named = overrides.roles()
    more = tuple(
        name
        for name, role in contents.roles.items()
        if role == "category" and name not in named and name != target
    )
    return replace(overrides, category=(*overrides.category, *more))


def _describe_target(target: str | None, y: Any, guess: str) -> str:
    if target is None:
        return "no target"
    labels, counts = np.unique(y, return_counts=True)
    pairs = sorted(zip((-counts).tolist(), map(str, labels.tolist()), strict=True))
    some = ((" ".join(value.split()), -count) for count, value in pairs[:_MOST_CLASSES_SHOWN])
    shown = ", ".join(f"{_shorten(value)} {count:,}" for value, count in some)
    shown += ", ..." if len(pairs) > _MOST_CLASSES_SHOWN else ""
    number = "1 class" if len(pairs) == 1 else f"{len(pairs):,} classes"
    return f"target {target}{f', {guess}' if guess else ''}: {number} ({shown})"


def _shorten(text: str, most: int = 30) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def as_matrix(data: Dataset) -> Dataset:
    """The data with a plain matrix X if all columns of its table are complete numbers."""
    plain = plain_matrix(data.X) if isinstance(data.X, DataTable) else None
    return data if plain is None else replace(data, X=plain, kind="vectors")
