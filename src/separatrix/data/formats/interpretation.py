"""Columns of texts that are numbers in another notation, or numbers with a few words among them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any, NamedTuple
from unicodedata import digit

import numpy as np

from separatrix.data.data_table import Category
from separatrix.data.formats.columns import ColumnTable, format_names, without_values
from separatrix.data.numerals import (
    FEW_WORDS,
    MISSING_WORDS,
    find_mixture,
    is_limit,
    is_missing,
    is_numeral,
    marks_of,
    parse_numbers,
)
from separatrix.data.units import find_unit, join_form, split_form, strip_unit

MOST_DIFFERENT_WORDS = 5
"""A column is read as numbers if at most this many different cells are other texts, in few rows."""

LEAST_BESIDE_LIMITS = 10
"""Different numbers of a column in which <0.5 is a limit; else it is one of a few words."""

_SAMPLE = 20


class NumberColumn(NamedTuple):
    """A column of texts that was read as numbers."""

    values: Any  # shape: (n,)
    form: str  # convention, unit and marks
    notes: list[str]


def interpret_numbers(
    table: ColumnTable, target: str | None = None
) -> tuple[ColumnTable, list[str]]:
    """The table with columns of numbers in another notation as numbers, and notes of what was done."""
    found: dict[str, NumberColumn] = {}
    for name, category in table.categories.items():
        if name != target and (column := as_numbers(name, category)) is not None:
            found[name] = column
    if not found:
        return table, []
    numbers = np.column_stack([table.numbers, *(column.values for column in found.values())])
    categories = {name: c for name, c in table.categories.items() if name not in found}
    notes = [note for column in found.values() for note in column.notes]
    names = (*table.number_names, *found)
    return replace(table, numbers=numbers, number_names=names, categories=categories), notes


def as_numbers(
    name: str, category: Category, form: str | None = None, *, forced: bool = False
) -> NumberColumn | None:
    """A column of texts as numbers if nearly all cells are, or if `forced`; else None."""
    codes, values = category
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if (not len(values) or _begins_with_zero(values)) and not forced:
        return None
    known, unit, _ = split_form(form or "")
    unit = unit or ("" if form else find_unit(values, counts))
    texts, factors = strip_unit(values, unit) if unit else (values, np.ones(len(values)))
    if not forced and not _may_be_numbers(texts, counts):
        return None
    parsed = parse_numbers(texts, counts, known or None)
    parsed = parsed._replace(values=parsed.values * factors)
    limits = np.array([is_limit(text) for text in texts], dtype=bool)
    if limits.any() and not forced and not _are_limits(limits, counts):
        wrong = parsed.wrong | limits
        parsed = parsed._replace(values=np.where(limits, np.nan, parsed.values), wrong=wrong)
        limits[:] = False
    wrong = np.flatnonzero(parsed.wrong)
    rows, bad = int(counts.sum()), int(counts[wrong].sum())
    right = int(counts[~np.isnan(parsed.values)].sum())
    few = len(wrong) <= MOST_DIFFERENT_WORDS and bad <= FEW_WORDS * rows
    if not forced and (not right or not few):
        return None
    notes = [_note_wrong(name, [values[i] for i in wrong], bad, rows)] if bad else []
    if limits.any():
        example, count = values[int(limits.argmax())], int(counts[limits].sum())
        verb = "is a limit and counts" if count == 1 else "are limits and count"
        notes.append(f"{name}: {count:,} of {rows:,} cells, such as {example!r}, {verb} as numbers")
    if parsed.convention != "plain" or unit:
        i = int(np.argmin(np.isnan(parsed.values) | ~_other_units(factors)))
        written = f"numbers in {unit}" if unit else f"numbers written as {parsed.convention}"
        notes.append(f"{name}: {written}: {values[i]!r} is {parsed.values[i]:g}")
    read = [values[i] for i in np.flatnonzero(~np.isnan(parsed.values) & (counts > 0))]
    if mixture := find_mixture(read):
        notes.append(f"{name}: {mixture} are mixed and not converted into each other")
    found = np.append(parsed.values, np.nan)[codes]
    marks = set[str]().union(*map(marks_of, read))
    return NumberColumn(found, join_form(parsed.convention, unit, marks), notes)


def _other_units(factors: Any) -> Any:
    """The texts in another unit than the column; all if there are none."""
    other = factors != 1.0
    return other if other.any() else ~other


def _are_limits(limits: Any, counts: Any) -> bool:
    """Whether marked cells are limits among many numbers, and not classes such as <18 and >18."""
    few = counts[limits].sum() <= counts.sum() / 2
    return bool(few and (~limits).sum() >= LEAST_BESIDE_LIMITS)


def _note_wrong(name: str, words: list[str], bad: int, rows: int) -> str:
    one = bad == 1
    return (
        f"{name}: {bad:,} of {rows:,} cells {'is no number' if one else 'are not numbers'} "
        f"({format_names(words, 3)}) and count{'s' * one} as missing; --category {shlex.quote(name)} "
        f"keeps {'it as a word' if one else 'them as words'}"
    )


def _may_be_numbers(values: list[str], counts: Any) -> bool:
    """Whether most of the most frequent texts are numbers: cheap, where a table has many columns."""
    some = np.argsort(-counts, kind="stable")[:_SAMPLE]
    numbers = sum(is_numeral(values[i]) or is_missing(values[i]) for i in some.tolist())
    return numbers >= len(some) / 2


def _begins_with_zero(values: list[str]) -> bool:
    """Whether a text such as 007 or 01234 shows that these are codes and not numbers."""
    return any(len(text) > 1 and digit(text[0], -1) == 0 and text[1].isdigit() for text in values)


def drop_missing_words(category: Category) -> Category:
    """A column of texts in which words such as - and n.a. are missing values."""
    marks = MISSING_WORDS - {"-"} if "+" in category.values else MISSING_WORDS
    return without_values(category, marks)
