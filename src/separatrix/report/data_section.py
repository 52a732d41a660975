"""What the data of a comparison is: rows, classes, columns and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from separatrix.data.data_table import NUMERIC, ColumnSpec, DataTable, shown_date
from separatrix.data.dataset import Dataset
from separatrix.evaluation.importance import Importance, original_columns
from separatrix.plots.figures import new_figure
from separatrix.report.comparison_pictures import shorten_name
from separatrix.report.page import Picture, Section, Table

MOST_COLUMNS, MOST_BARS = 40, 20


def data_section(data: Dataset | None, notes: Sequence[str]) -> Section | None:
    """Rows, classes and columns of the data, and problems that were found."""
    if data is None:
        return None
    labels, counts = np.unique(np.asarray(data.y), return_counts=True)
    target = f", column {data.target}" if data.target else ""
    words = [f"{len(data.y):,} rows of {len(labels)} classes{target}."]
    words += [f"{_begin_sentence(note, data.features or ())}." for note in notes]
    order = np.argsort(-counts, kind="stable")
    share = [f"{100 * counts[k] / counts.sum():.1f}" for k in order]
    rows = [[str(labels[k]), int(counts[k]), s] for k, s in zip(order, share, strict=True)]
    shows: list[Picture | Table] = [Table(["class", "rows", "%"], rows, bars=["rows"])]
    columns = _columns(data)
    if columns is not None:
        shows.append(columns)
    return Section("Data", words, shows)


def _begin_sentence(note: str, columns: Sequence[str]) -> str:
    """A note with a capital first, unless it begins with the name of a column.

    >>> _begin_sentence("age: 1 cell is not a number", ["age"]), _begin_sentence("read it", ["age"])
    ('age: 1 cell is not a number', 'Read it')
    """
    return note if note.partition(":")[0] in columns else f"{note[:1].upper()}{note[1:]}"


def _columns(data: Dataset) -> Table | None:
    """A line for each column of the table, as it was before categories were encoded."""
    if len(getattr(data.X, "shape", ())) != 2 or data.features is None:
        return None
    if isinstance(data.X, DataTable):
        columns: Sequence[Any] = data.X.specs
        rows = [_describe_role(data.X, spec) for spec in columns[:MOST_COLUMNS]]
    else:
        columns = list(original_columns(data.features, data.X.shape[1]).items())
        rows = [_describe(data, name, own) for name, own in columns[:MOST_COLUMNS]]
    left = f" The first {MOST_COLUMNS} of {len(columns)}." if len(columns) > MOST_COLUMNS else ""
    heads = ["column", "type", "missing %", "different values", "lowest", "median", "highest"]
    return Table(heads, rows, caption=f"Columns of the table.{left}")


def _describe_role(table: DataTable, spec: ColumnSpec) -> list[Any]:
    """A line for a column by its role; of one that is dropped the reason."""
    if not spec.kept:
        return [spec.name, f"{spec.role}: dropped ({spec.reason})", "", None, None, None, None]
    if spec.role in NUMERIC:
        column = table.number_column(spec.name)
        known: Any = column[~np.isnan(column)]
    else:
        codes = table.texts[spec.name].codes
        known = codes[codes >= 0]
    missing = f"{100 * (1 - len(known) / max(1, len(table))):.1f}"
    ends: list[Any] = [None, None, None]
    if spec.role in ("number", "date") and len(known):
        ends = [float(known.min()), float(np.median(known)), float(known.max())]
    if spec.role == "date" and len(known):
        ends[1] = float(np.sort(known)[len(known) // 2])  # a date of the table, not between two
        ends = [None if end is None else shown_date(end) for end in ends]
    return [spec.name, spec.role, missing, len(np.unique(known)), *ends]


def _describe(data: Dataset, name: str, own: list[int]) -> list[Any]:
    block = data.X[:, own]
    values = np.asarray(block.toarray() if issparse(block) else block, dtype=np.float64)
    if len(own) > 1:
        missing = 100 * float(np.mean(values.sum(axis=1) == 0))
        return [name, "category", f"{missing:.1f}", len(own), None, None, None]
    column = values[:, 0]
    known = column[~np.isnan(column)]
    missing = 100 * (1 - len(known) / max(1, len(column)))
    if not len(known):
        return [name, "empty", f"{missing:.1f}", 0, None, None, None]
    distinct = len(np.unique(known))
    kind = "yes or no" if set(np.unique(known)) <= {0.0, 1.0} else "number"
    ends = [float(known.min()), float(np.median(known)), float(known.max())]
    return [name, kind, f"{missing:.1f}", distinct, *ends]


def importance_section(
    name: str, found: Sequence[Importance], words: Sequence[str] = ()
) -> Section | None:
    """How much the error of the best classifier rises when a column is shuffled."""
    if not found:
        return None
    drawn = list(found[:MOST_BARS])
    figure = new_figure(6.4, 0.9 + 0.3 * len(drawn))
    axes = figure.add_subplot()
    positions = np.arange(len(drawn))
    rises = [100 * one.rise for one in drawn]
    halves = [0.0 if np.isnan(one.half_width) else 100 * one.half_width for one in drawn]
    axes.barh(positions, rises, height=0.62, color="#0072B2")
    axes.errorbar(rises, positions, xerr=halves, fmt="none", ecolor="#8C8C8C", capsize=3)
    axes.set_yticks(positions, [shorten_name(one.column) for one in drawn])
    axes.set_ylim(len(drawn) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("rise of the test error, points")
    rows = [[one.column, f"{100 * one.rise:.2f}", f"{100 * one.half_width:.2f}"] for one in found]
    heads = ["column", "rise of the error, points", "±"]
    table = Table(heads, rows, "All columns, with the half width of the 95 % interval.")
    more = f" The {MOST_BARS} largest of {len(found)}." if len(found) > MOST_BARS else ""
    caption = (
        f"By how many points the test error of {name} rises when the values of one column are shuffled, "
        f"with a 95 % interval. Columns that say the same hide each other.{more}"
    )
    return Section("Which columns matter", words, [Picture(figure, caption, table)])
