"""Describe a table before anything is fitted to it: columns, roles, suspicious things, classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.counts import count_of
from separatrix.data.data_table import NUMERIC, ColumnSpec, DataTable, shown_values
from separatrix.data.dataset import Dataset
from separatrix.data.dates import is_time_of_day
from separatrix.evaluation.data_checks import find_repeated
from separatrix.types import Codes, Vector

EXAMPLES = 3
MOST_COLUMNS = 60  # that a screen lists
LEAK = 0.99
"""A column that alone predicts this share of the rows is suspected to leak the target."""

BINS = 50
RARE_CLASS = 10  # rows
PLANS = {
    "number": "standardise",
    "boolean": "0 and 1",
    "date": "year, days, month, weekday, hour",
    "category": "one feature for each value, rare ones pooled",
    "codes": "class shares of its values, from other rows",
    "text": "tf-idf of words and runs of letters",
    "id": "drop: it identifies the row",
    "index": "drop: it numbers the rows",
    "constant": "drop: it never differs",
    "dropped": "drop: you said so",
}


TIME_PLAN = "the hour, on a circle"


class ColumnSummary(NamedTuple):
    """One column of a table."""

    name: str
    role: str
    reason: str
    missing: int
    distinct: int
    examples: list[str]
    fit: str  # what `fit` does with it
    remark: str = ""  # what is suspicious about it


@dataclass(frozen=True)
class DataSummary:
    """What a file holds, on one screen."""

    reading: str
    rows: int
    target: str
    classes: dict[str, int]
    columns: list[ColumnSummary]
    notes: list[str]
    remarks: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {**vars(self), "columns": [column._asdict() for column in self.columns]}

    def __str__(self) -> str:
        lines = [f"read {self.reading}", ""]
        head = ("column", "role", "missing", "distinct", "examples", "fit will")
        rows = [head] + [
            (
                _cut(column.name, 24),
                column.role,
                _share(column.missing, self.rows),
                f"{column.distinct:,}" if column.distinct else "",
                _cut(", ".join(column.examples), 36),
                column.fit,
            )
            for column in self.columns[:MOST_COLUMNS]
        ]
        widths = [max(len(row[j]) for row in rows) for j in range(len(head))]
        lines += [
            "  ".join(f"{c:<{w}}" for c, w in zip(r, widths, strict=True)).rstrip() for r in rows
        ]
        if len(self.columns) > MOST_COLUMNS:
            lines.append(f"and {len(self.columns) - MOST_COLUMNS:,} more columns; --json lists all")
        if self.classes:
            lines += ["", f"classes in {self.target}"]
            most = max(self.classes.values())
            shown = [] if most == 1 else list(self.classes.items())[:20]
            for label, count in shown:
                bar = "#" * max(1, round(30 * count / most))
                lines.append(
                    f"  {_cut(label, 24):<24}  {count:>9,}  {100 * count / self.rows:5.1f} %  {bar}"
                )
            if len(self.classes) > len(shown):
                more = len(self.classes) - len(shown)
                each = f"{count_of(more, 'different value')}, each in one row"
                lines.append(f"  and {more:,} more" if shown else f"  {each}")
        suspicious = [f"{c.name}: {c.remark}" for c in self.columns if c.remark]
        careful = [*self.remarks, *suspicious[:MOST_COLUMNS]]
        lines += ["", *(f"careful: {remark}" for remark in careful)] if careful else []
        lines += ["", *(f"note: {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines)


def summarize(data: Dataset) -> DataSummary:
    """Describe labelled or unlabelled data; of samples that are no table only the classes."""
    codes, classes = None, {}
    n = len(data.X) if isinstance(data.X, list) else data.X.shape[0]
    if data.y is not None:
        labels, codes = np.unique(np.asarray(data.y), return_inverse=True)
        counts = np.bincount(codes)
        order = np.argsort(-counts, kind="stable")
        classes = {str(labels[i]): int(counts[i]) for i in order}
    columns = []
    if isinstance(data.X, DataTable):
        columns = _summarize_columns(data.X, codes)
    elif data.kind == "vectors" and data.features is not None and isinstance(data.X, np.ndarray):
        specs = tuple(ColumnSpec(name, "number", "plain") for name in data.features)
        table = DataTable(specs, data.X, {})
        columns = _summarize_columns(table, codes)
    remarks = _class_remarks(classes, n)
    if data.y is not None and n > 1:
        remarks += find_repeated(data.X, np.asarray(data.y))
    return DataSummary(data.reading, n, data.target, classes, columns, list(data.notes), remarks)


def _summarize_columns(table: DataTable, y: Codes | None) -> list[ColumnSummary]:
    head = table[: 10 * EXAMPLES]
    return [_summarize_column(table, spec, y, head) for spec in table.specs]


def _summarize_column(
    table: DataTable, spec: ColumnSpec, y: Codes | None, head: DataTable
) -> ColumnSummary:
    plan = TIME_PLAN if is_time_of_day(spec.format) else PLANS[spec.role]
    if not spec.kept:
        return ColumnSummary(spec.name, spec.role, spec.reason, 0, 0, [], f"{plan} ({spec.reason})")
    if spec.role in NUMERIC:
        column = table.number_column(spec.name)
        missing = int(np.isnan(column).sum())
        distinct = len(np.unique(column[~np.isnan(column)]))
        groups = _group_numbers(column)
    else:
        codes = table.texts[spec.name].codes
        missing, used = int((codes < 0).sum()), np.unique(codes[codes >= 0])
        distinct = len(used)
        groups = codes.astype(np.intp)
        if distinct == len(codes) - missing:
            groups = np.full(len(codes), -1)  # every value once: nothing to learn from others
    if missing and spec.role in ("number", "boolean", "date"):
        plan += ", impute the median, mark the missing"
    remark = _leak_remark(groups, y)
    if spec.role in ("category", "codes") and not remark:
        words = table.texts[spec.name].values
        remark = "; ".join(find_variants([words[i] for i in used], "values"))
    return ColumnSummary(
        *(spec.name, spec.role, spec.reason, missing, distinct),
        *(_examples(head, spec), plan, remark),
    )


def _examples(head: DataTable, spec: ColumnSpec) -> list[str]:
    """The first different values of a column of the first rows."""
    found: dict[str, None] = {}
    for value in shown_values(head, spec):
        if value is not None:
            found[f"{value:g}" if isinstance(value, float) else _cut(str(value), 24)] = None
    return list(found)[:EXAMPLES]


def _group_numbers(column: Vector) -> Codes:
    """Numbers in equally large groups, or one group for each value if these are few; -1 for missing."""
    known = ~np.isnan(column)
    groups = np.full(len(column), -1)
    if not known.any():
        return groups
    values, inverse = np.unique(column[known], return_inverse=True)
    if len(values) > BINS:
        edges = np.quantile(column[known], np.linspace(0, 1, BINS + 1)[1:-1])
        inverse = np.searchsorted(edges, column[known], side="right")
    groups[known] = inverse
    return groups


def _leak_remark(groups: Codes, y: Codes | None) -> str:
    """A warning if the class follows from this column alone, judged by the other rows of a group."""
    if y is None or len(y) < RARE_CLASS or not y.any():
        return ""  # few rows, or one class
    shares = predict_alone(groups, y)
    base = np.bincount(y).max() / len(y)
    if shares < LEAK or shares - base < (1 - base) / 2:
        return ""
    return (
        f"predicts {100 * shares:.1f} % of the rows alone: does it hold the answer? --drop leaves it out; "
        "if its rows belong together, --group keeps them together"
    )


def predict_alone(groups: Codes, y: Codes) -> float:
    """Share of the rows whose class is the most frequent one among the other rows of their group.

    >>> predict_alone(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 0]))
    0.5
    """
    k = int(y.max()) + 1
    counts = np.zeros((int(groups.max(initial=-1)) + 2, k))
    np.add.at(counts, (groups, y), 1.0)  # group -1 is the last line
    others = counts[groups]
    rows = np.arange(len(y))
    others[rows, y] -= 1.0
    own = others[rows, y].copy()
    others[rows, y] = -1.0
    return float(np.mean((own > others.max(axis=1)) & (own > 0)))


def _class_remarks(classes: dict[str, int], rows: int) -> list[str]:
    found = []
    single = [label for label, count in classes.items() if count == 1]
    if single and len(single) == len(classes):
        found.append("no value of the target occurs twice: are these classes?")
    elif single:
        names = ", ".join(_cut(label, 24) for label in single[:8])
        found.append(f"classes with one row cannot be learned and tested: {names}")
    found += find_variants(list(classes))
    few = [label for label, count in classes.items() if 1 < count < RARE_CLASS]
    if few:
        found.append(f"classes with fewer than {RARE_CLASS} rows: {', '.join(few[:8])}")
    if len(classes) == 1:
        found.append("there is only one class")
    if classes and max(classes.values()) > 0.8 * rows and len(classes) > 1:
        share = 100 * max(classes.values()) / rows
        found.append(
            f"always answering {next(iter(classes))} is right in {share:.1f} % of the rows"
        )
    return found


def find_variants(labels: Sequence[Any], what: str = "classes") -> list[str]:
    """A sentence if texts of classes differ only in case or blanks.

    >>> find_variants(["No", "no", "yes"])
    ["classes 'No' and 'no' differ only in case or blanks: write them alike if they are one"]
    """
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault("".join(label.split()).casefold(), []).append(label)
    return [
        f"{what} {' and '.join(map(repr, same))} differ only in case or blanks: write them alike if "
        "they are one"
        for same in alike.values()
        if len(same) > 1
    ][:3]


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _share(count: int, rows: int) -> str:
    return (
        "" if not count else f"{100 * count / rows:.1f} %" if count >= rows / 1000 else f"{count:,}"
    )
