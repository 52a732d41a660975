"""Notes on columns whose values may not be what they seem; their roles are not changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from separatrix.data.counts import count_of
from separatrix.data.data_table import NUMERIC, DataTable
from separatrix.data.formats.columns import format_names
from separatrix.data.numerals import is_number
from separatrix.types import Vector

EXACT = 2.0**53  # from which on whole numbers differ from the next float by more than 1
MISSING_CODES = (-9.0, -99.0, -999.0, -9999.0)
HIGH_CODES = (99.0, 999.0, 9999.0, 99999.0)
_MOST_SHOWN = 5  # columns of a note


def is_integral(values: Vector) -> bool:
    """Whether all are whole numbers."""
    return bool((values == np.rint(values)).all())


def note_rounded(name: str, known: Vector) -> list[str]:
    """A note on whole numbers that float64 cannot tell apart: those are often identifiers."""
    largest = max(-float(known.min()), float(known.max()))
    if largest < EXACT or largest > 2.0**64 or not is_integral(known):
        return []
    return [
        f"{name}: whole numbers up to {largest:.3g} are rounded to float64: if they are identifiers, "
        f"--drop {name} or --category {name}"
    ]


def note_missing_code(name: str, known: Vector) -> list[str]:
    """A note on -99, or 99 far above all others: a survey's mark of no answer.

    >>> note_missing_code("age", np.array([30.0, -99.0, 41.0, -99.0]))[0][:45]
    'age: -99 in 2 rows, and no other value below '
    >>> note_missing_code("mark", np.array([1.0, 99.0, 5.0, 99.0]))[0][:44]
    'mark: 99 in 2 rows, and no other value above'
    """
    for code, codes in ((known.min(), MISSING_CODES), (known.max(), HIGH_CODES)):
        count = int(np.count_nonzero(known == code))
        if code not in codes or count < 2 or count == len(known):
            continue
        others = known[known != code]
        beyond = "below 0" if code < 0 else f"above {others.max():g}"
        if (others.min() >= 0) if code < 0 else (0 <= others.min() <= others.max() <= code / 5):
            return [
                f"{name}: {code:g} in {count:,} rows, and no other value {beyond}: if it marks missing "
                "values, replace it by NA; it counts as a number"
            ]
    return []


def note_cells(name: str, shown: Sequence[str]) -> list[str]:
    """A note on cells that hold several values, which another program should make columns of.

    >>> note_cells("place", ["59.1, 10.2", "60.3, 5.3"])
    ["place: cells hold 2 numbers, such as '59.1, 10.2': give each a column of its own"]
    """
    if all(text[:1] + text[-1:] in ("{}", "[]") for text in shown):
        return [
            f"{name}: cells hold JSON, such as {shown[0]!r:.40}: give each value a column of its own"
        ]
    numbers = {len(found) if all(found) else 0 for found in map(_numbers_of, shown)}
    if len(numbers) != 1 or (count := numbers.pop()) < 2:
        return []
    example = f"such as {shown[0]!r:.40}"
    return [f"{name}: cells hold {count} numbers, {example}: give each a column of its own"]


def _numbers_of(text: str) -> list[bool]:
    """Whether each part of a cell between commas, semicolons or bars is a number with a point."""
    parts = re.split(r"[;,|]\s*", text.strip("()[] "))
    return [is_number(part) and "." in part for part in parts]


def count_missing(table: DataTable) -> Counter[str]:
    """The number of missing cells of each column that has some."""
    counts = {
        spec.name: int(
            np.count_nonzero(
                np.isnan(table.number_column(spec.name))
                if spec.role in NUMERIC
                else table.texts[spec.name].codes < 0
            )
        )
        for spec in table.kept
    }
    return Counter({name: count for name, count in counts.items() if count})


def note_missing(counts: Counter[str], rows: int) -> list[str]:
    """A note of the cells that are missing, and of the columns with most of them.

    >>> note_missing(Counter(age=3, job=1), 1200)
    ['4 cells of 1,200 rows are missing (age 3, job 1) and are imputed as at training']
    """
    if not counts:
        return []
    cells = f"{count_of(counts.total(), 'cell')} of {count_of(rows, 'row')}"
    verb = "is missing" if counts.total() == 1 else "are missing"
    some = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(_MOST_SHOWN))
    some += ", ..." if len(counts) > _MOST_SHOWN else ""
    return [f"{cells} {verb} ({some}) and {verb.split()[0]} imputed as at training"]


def unseen_words(table: DataTable, known: Mapping[str, Collection[str]]) -> list[str]:
    """A note for each column of categories with values that a model has not seen."""
    notes = []
    for name, values in known.items():
        codes, words = table.texts[name]
        unseen = [i for i, word in enumerate(words) if word not in values]
        if not unseen:
            continue
        rows = int(np.isin(codes, unseen).sum())
        if rows:
            shown = format_names([words[i] for i in unseen])
            verb = "1 row has values" if rows == 1 else f"{rows:,} rows have values"
            notes.append(f"{name}: {verb} the model has not seen: {shown}")
    return notes
