"""Roles of the columns of a table, by rules on their values; the target plays no part in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.counts import count_of
from separatrix.data.data_table import Category, ColumnSpec, DataTable
from separatrix.data.dates import (
    EPOCHS,
    OR,
    SERIAL,
    are_serials,
    find_epoch,
    find_format,
    parse_dates,
)
from separatrix.data.formats.columns import ColumnTable, format_names
from separatrix.data.formats.interpretation import as_numbers, drop_missing_words
from separatrix.data.numerals import TRUTH, find_boolean
from separatrix.data.role_notes import is_integral, note_cells, note_missing_code, note_rounded
from separatrix.data.units import is_percent, split_form
from separatrix.errors import DataError
from separatrix.types import Vector

MOST_CATEGORIES = 40
"""A column of more different texts is "codes", "text" or "id"."""

ID_SHARE, LEAST_ROWS = 0.9, 20
"""Texts without blanks that differ in this share of at least so many rows are ids."""

_ID_NAME = re.compile(
    r"(?:.*[_\s.-])?(?:id|uuid|guid|key|index|nr|no|#)|.*[a-z]I[Dd]|rowid|rownames"
)
_INDEX_NAME = re.compile(r"x1||unnamed: ?[0-9]+|index|rownames|row", re.IGNORECASE)
_ID_OR_INDEX = re.compile(f"(?:{_ID_NAME.pattern})|(?i:{_INDEX_NAME.pattern})")
_DATE_NAME = re.compile(
    r"(?:.*[_\s.-])?(?:date|datum|day|dob|birthday|fecha|data|when|on|at)(?:[_\s.-].*)?"
    r"|.*[a-z](?:Date|Day)|.*(?:date|datum)",
    re.IGNORECASE,
)
_EPOCH_NAME = re.compile(
    r".*(?:_at|_time|_ts|[a-z](?:At|Time))|(?:.*[_\s.-])?(?:time|ts|timestamp|modified|created|updated)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{2}")  # two letters
_SAMPLE = 1000  # different texts that decide about words and dates
_SOME_DATES = 0.3  # share of texts that are dates of one form, from which a note says so


@dataclass(frozen=True)
class RoleOverrides:
    """Columns whose role the user names."""

    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()  # role by the rules, but never dropped, also not by `drop`
    keep_all: bool = False

    @property
    def as_text(self) -> tuple[str, ...]:
        """Columns that are read as texts, whatever they hold."""
        return (*self.text, *self.date, *self.category)

    def roles(self) -> dict[str, str]:
        """The role of each named column; a column with two is refused."""
        found: dict[str, str] = {}
        named = {
            "dropped": tuple(name for name in self.drop if name not in self.keep),
            "text": self.text,
            "date": self.date,
            "category": self.category,
            "number": self.number,
        }
        for role, names in named.items():
            for name in names:
                if found.setdefault(name, role) != role:
                    raise DataError(
                        f"column {name!r} was given two roles, {found[name]} and {role}"
                    )
        return found


class RoleTable(NamedTuple):
    """A table with roles, and remarks on its columns."""

    table: DataTable
    notes: tuple[str, ...]


class _Column(NamedTuple):
    """A column with its role: numbers or texts, if it is kept."""

    spec: ColumnSpec
    numbers: Vector | None = None
    texts: Category | None = None
    notes: Sequence[str] = ()


def assign_roles(
    columns: ColumnTable, target: str | None = None, overrides: RoleOverrides | None = None
) -> RoleTable:
    """The table with the role of each column but the target, in the order of the file."""
    overrides = overrides or RoleOverrides()
    given, keep = overrides.roles(), overrides.keep
    names = [name for name in columns.names if name != target]
    if unknown := [name for name in given if name not in columns.names]:
        raise DataError(f"no column named {unknown[0]!r}; there are {format_names(names)}")
    if target in given:
        raise DataError(f"column {target!r} is the target, and no {given[str(target)]}")
    position = {name: i for i, name in enumerate(columns.number_names)}
    found = []
    for j, name in enumerate(names):
        if given.get(name) == "dropped":
            found.append(_Column(ColumnSpec(name, "dropped", "", "you dropped it")))
        elif name in position:
            values = columns.numbers[:, position[name]]
            asked = overrides.keep_all or name in given or name in keep
            found.append(_number_role(name, values, first=j == 0, asked=asked))
        else:
            column = _text_role(name, columns.categories[name], given.get(name))
            if (overrides.keep_all or name in keep) and not column.spec.kept:
                column = _keep(name, columns.categories[name])
            found.append(column)
    return _assemble(found, columns.rows)


def apply_roles(
    columns: ColumnTable, specs: Sequence[ColumnSpec], *, detect: bool = False
) -> RoleTable:
    """The table with roles that a model was fitted to; other columns are left out.

    With `detect`, a column of numbers or dates is read in its own form if that reads more of its cells,
    which is for complete files: the same cell may be another number beside other cells.
    """
    position = {name: i for i, name in enumerate(columns.number_names)}
    found = []
    for spec in specs:
        if not spec.kept:
            found.append(_Column(spec))
        elif spec.name in position:
            values = _finite(columns.numbers[:, position[spec.name]])
            found.append(_Column(spec, numbers=values, notes=_note_bare(spec, values)))
        else:
            found.append(_as_fitted(spec, columns.categories[spec.name], detect))
    return _assemble(found, columns.rows)


def _as_fitted(spec: ColumnSpec, category: Category, detect: bool) -> _Column:
    """A column of texts in a role that is known."""
    if spec.role == "number":
        return _numbers_as_fitted(spec, category, detect)
    category = drop_missing_words(category)
    if spec.role == "boolean":
        found = _boolean(category)
        notes = _note_lost(spec, category, found, spec.format.replace("/", " or "))
        return _Column(spec, numbers=found, notes=notes)
    if spec.role == "date":
        return _dates_as_fitted(spec, category, detect)
    return _Column(spec, texts=category)


def _numbers_as_fitted(spec: ColumnSpec, category: Category, detect: bool) -> _Column:
    """Numbers in the notation of the training rows, or in the one of these if it reads more."""
    parsed = as_numbers(spec.name, category, spec.format or "plain", forced=True)
    assert parsed is not None
    lost = detect and np.isnan(parsed.values).any()
    other = as_numbers(spec.name, category) if lost else None
    if other is not None and np.isfinite(other.values).sum() > np.isfinite(parsed.values).sum():
        units = {split_form(one.form)[1] for one in (parsed, other)}
        parsed = other if len(units - {""}) < 2 else parsed
    notes = list(parsed.notes)
    written, fitted = (split_form(form)[0] for form in (parsed.form, spec.format or "plain"))
    if written != fitted:
        written, fitted = ("1234.5" if one == "plain" else one for one in (written, fitted))
        notes.append(f"{spec.name}: numbers written as {written}; the model was fitted to {fitted}")
    percent = [code for code, text in enumerate(category.values) if "%" in text]
    if (rows := np.isin(category.codes, percent)).any():  # the training rows may have had none
        i = int(rows.argmax())
        notes.append(f"{spec.name}: {category.values[category.codes[i]]!r} is {parsed.values[i]:g}")
    notes += _note_bare(spec, parsed.values[~np.isin(category.codes, percent)])
    return _Column(spec._replace(format=parsed.form), numbers=_finite(parsed.values), notes=notes)


def _note_bare(spec: ColumnSpec, values: Vector) -> list[str]:
    """A note on numbers without a percent sign where the training rows had it: 12 is then 1200 %."""
    if spec.role != "number" or not is_percent(spec.format):
        return []
    bare = values[np.isfinite(values) & (values != 0)]
    if not len(bare):
        return []
    return [
        f"{spec.name}: {count_of(len(bare), 'number')} without %; the model was fitted to numbers with "
        f"%: {bare[0]:g} is {100 * bare[0]:g} %"
    ]


def _dates_as_fitted(spec: ColumnSpec, category: Category, detect: bool) -> _Column:
    """Dates in the format of the training rows, or in the one of these if it reads more."""
    found, format = _take(parse_dates(category.values, spec.format), category), spec.format
    lost = np.unique(category.codes[np.isnan(found) & (category.codes >= 0)])
    if (
        detect
        and len(lost)
        and (other := find_format([category.values[i] for i in lost], compact=True))
    ):
        again = _take(parse_dates(category.values, other), category)
        if np.isfinite(again).sum() > np.isfinite(found).sum():
            found, format = again, other
    notes = _note_lost(spec, category, found, f"dates in the form {format}")
    if format != spec.format:
        notes.append(f"{spec.name}: dates as {format}; the model was fitted to {spec.format}")
    return _Column(spec._replace(format=format), numbers=found, notes=notes)


def _note_lost(spec: ColumnSpec, category: Category, values: Vector, expected: str) -> list[str]:
    """A note of the texts that could not be read and count as missing, if there are any."""
    lost = category.codes[np.isnan(values) & (category.codes >= 0)]
    if not len(lost):
        return []
    shown = format_names([category.values[i] for i in np.unique(lost)], 3)
    cells = "1 cell is" if len(lost) == 1 else f"{len(lost):,} cells are"
    return [f"{spec.name}: {cells} not {expected} and count as missing: {shown}"]


def _assemble(found: Sequence[_Column], rows: int) -> RoleTable:
    numeric = [column.numbers for column in found if column.numbers is not None]
    numbers = _shared_matrix(numeric)
    if numbers is None:
        numbers = np.empty((rows, len(numeric)), order="F")
        for j, values in enumerate(numeric):
            numbers[:, j] = values
    texts = {c.spec.name: c.texts for c in found if c.texts is not None}
    specs = tuple(column.spec for column in found)
    notes = tuple(note for column in found for note in column.notes)
    return RoleTable(DataTable(specs, numbers, texts), notes)


def _shared_matrix(columns: Sequence[Vector]) -> Any | None:
    """The matrix of which these are the columns, in their order and without others; else None."""
    base = columns[0].base if columns else None
    if base is None or base.ndim != 2 or base.shape[1] != len(columns):
        return None
    starts = (base[:, j].ctypes.data for j in range(len(columns)))
    same = (c.base is base and c.ctypes.data == at for c, at in zip(columns, starts, strict=True))
    return base if all(same) else None


def _number_role(name: str, values: Vector, *, first: bool, asked: bool) -> _Column:
    """The role of a column of numbers: a number, unless constant, an index or an id."""
    n = len(values)
    known, notes, infinite = values, list[str](), 0
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(values.sum())
    if not finite:  # rare: the other cases need no copy
        known = values[~np.isnan(values)]
        infinite = int(np.isinf(known).sum())
    if infinite:
        verbs = ("is", "counts") if infinite == 1 else ("are", "count")
        notes = [
            f"{name}: {infinite:,} of {n:,} cells {verbs[0]} infinite and {verbs[1]} as missing"
        ]
        values = _finite(values)
        known = known[np.isfinite(known)]
    if asked:
        return _Column(ColumnSpec(name, "number", "plain", "you said so"), values, notes=notes)
    if not len(known):
        return _Column(ColumnSpec(name, "constant", "", "no values"))
    notes += note_rounded(name, known)
    if len(known) == n and (known[:100] == known[0]).all() and (known == known[0]).all():
        return _Column(ColumnSpec(name, "constant", "", f"always {known[0]:g}"), notes=notes)
    if len(known) == n >= LEAST_ROWS and _ID_OR_INDEX.fullmatch(name) and is_integral(known):
        steps, span = np.diff(known), known[-1] - known[0]
        counting = bool((steps >= 1).all()) and span <= 1.1 * n  # some rows may be set aside
        if counting and (_ID_NAME.fullmatch(name) or (first and _INDEX_NAME.fullmatch(name))):
            reason = f"counts the rows from {known[0]:g}"
            return _Column(ColumnSpec(name, "index", "", reason))
        if _ID_NAME.fullmatch(name) and len(np.unique(known)) == n:
            return _Column(ColumnSpec(name, "id", "", "a different number in every row"))
    if _DATE_NAME.fullmatch(name) and are_serials(known):
        notes.append(
            f"{name}: looks like Excel's serial dates ({known[0]:g} is {_day_of(known[0])}), and is "
            f"left as a number: --date {name} reads it as a date"
        )
    elif epoch := _is_time_name(name) and find_epoch(known):
        seconds = values * EPOCHS[epoch]
        first_day = np.datetime64(int(known[0] * EPOCHS[epoch]), "s")
        notes.append(
            f"{name}: {epoch}: {known[0]:.0f} is {first_day}; --number {shlex.quote(name)} keeps numbers"
        )
        return _Column(ColumnSpec(name, "date", epoch, epoch), seconds, notes=notes)
    notes += note_missing_code(name, known)
    reason = f"{n - len(known):,} of {n:,} missing" if len(known) < n else ""
    return _Column(ColumnSpec(name, "number", "plain", reason), values, notes=notes)


def _is_time_name(name: str) -> bool:
    return bool(_DATE_NAME.fullmatch(name) or _EPOCH_NAME.fullmatch(name))


def _day_of(serial: float) -> str:
    (seconds,) = parse_dates([f"{serial:.0f}"], SERIAL)
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def _text_role(name: str, category: Category, asked: str | None) -> _Column:
    """The role of a column of texts."""
    if asked not in ("text", "category"):
        number = as_numbers(name, category, forced=asked == "number")
        if number is not None and asked != "date":
            inner = _number_role(name, number.values, first=False, asked=asked is not None)
            spec = inner.spec
            if spec.role == "number":
                spec = spec._replace(format=number.form)
            return inner._replace(spec=spec, notes=(*number.notes, *inner.notes))
    category = drop_missing_words(category)
    codes, values = category
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    seen = np.flatnonzero(counts)
    rows, distinct = int(counts.sum()), len(seen)
    if asked in ("text", "category"):
        role = "codes" if asked == "category" and distinct > MOST_CATEGORIES else asked
        return _Column(ColumnSpec(name, role, "", "you said so"), texts=category)
    shown = [values[i] for i in seen[:_SAMPLE]]
    if not distinct and asked is None:
        return _Column(ColumnSpec(name, "constant", "", "no values"))
    if distinct == 1 and rows == len(codes) and asked is None:
        return _Column(ColumnSpec(name, "constant", "", f"always {shown[0]!r:.40}"))
    if asked is None and (words := find_boolean(shown)):
        text = "/".join(words)
        spec = ColumnSpec(name, "boolean", text, f"{words[0]} and {words[1]}")
        many = f"{name}: {distinct} ways to write false and true are read as these two"
        return _Column(spec, _boolean(category), notes=[many] if distinct > 2 else ())
    if (format := find_format(shown, compact=asked == "date")) is not None:
        found = _take(parse_dates(values, format), category)
        lost = int(np.isnan(found).sum()) - int((codes < 0).sum())
        cells = "1 cell is no date" if lost == 1 else f"{lost:,} cells are no dates"
        notes = [f"{name}: {cells} in the form {format}"] if lost else []
        if OR in format:
            notes.append(f"{name}: dates in several forms: {format}")
        return _Column(ColumnSpec(name, "date", format, format), found, notes=notes)
    if asked == "date":
        raise DataError(f"column {name!r} holds no dates of a known form: {shown[0]!r:.40}")
    column = _word_role(name, category, shown, rows, distinct)
    form = find_format(shown, least=_SOME_DATES)
    if form is None or column.spec.role == "category":
        return column
    some = int(np.isfinite(parse_dates(shown, form)).sum())
    dates = f"{some:,} of {len(shown):,} different texts are dates in the form {form}"
    return column._replace(notes=(f"{name}: {dates}, others are not: write all in one form",))


def _keep(name: str, category: Category) -> _Column:
    """A column of texts that a rule would drop: numbers if it holds only these, else a category."""
    numeric = as_numbers(name, category) is not None
    return _text_role(name, category, "number" if numeric else "category")


def _word_role(
    name: str, category: Category, shown: Sequence[str], rows: int, distinct: int
) -> _Column:
    words = float(np.mean([len(text.split()) for text in shown]))
    reason = f"{count_of(distinct, 'different text')} in {count_of(rows, 'row')}"
    many = distinct >= ID_SHARE * rows and rows >= LEAST_ROWS
    named = bool(_ID_NAME.fullmatch(name)) and distinct > rows / 2 and rows >= LEAST_ROWS
    wordless = sum(_WORD.search(text) is None for text in shown) > len(shown) / 2
    if (many and (words < 1.5 or wordless)) or (named and words < 2):
        spec = ColumnSpec(name, "id", "", f"{reason}, such as {shown[0]!r:.40}")
        return _Column(spec, notes=note_cells(name, shown))
    if (
        distinct > MOST_CATEGORIES
        and not wordless
        and (words >= 3 or (words >= 2 and distinct > rows / 2))
    ):
        spec = ColumnSpec(name, "text", "", f"{words:.1f} words on average")
        return _Column(spec, texts=category, notes=note_cells(name, shown))
    role = "category" if distinct <= MOST_CATEGORIES else "codes"
    return _Column(ColumnSpec(name, role, "", reason), texts=category)


def _boolean(category: Category) -> Vector:
    """0 and 1 for words of false and true, NaN for others."""
    values = np.array([TRUTH.get(text.casefold(), np.nan) for text in category.values])
    return _take(values, category)


def _take(values: Vector, category: Category) -> Vector:
    """The value of each row from those of its texts; NaN for missing."""
    found: Vector = np.append(values, np.nan)[category.codes]
    return found


def _finite(values: Vector) -> Vector:
    return values if np.isfinite(values).all() else np.where(np.isfinite(values), values, np.nan)


def plain_matrix(table: DataTable) -> Any | None:
    """The columns as a matrix if all are complete plain numbers; else None.

    A model must remember other conventions and units: alone, 48,440 may be either of two numbers.
    """
    complete = all(s.role == "number" and s.format in ("", "plain") for s in table.kept)
    return np.ascontiguousarray(table.numbers) if complete and _all_finite(table) else None


def _all_finite(table: DataTable) -> bool:
    return bool(len(table.kept)) and bool(np.isfinite(table.numbers).all())
