"""Units behind the numbers of a column, as in 170 cm; units of one quantity are converted."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from separatrix.data.numerals import (
    CONVENTIONS,
    FEW_WORDS,
    LIMIT,
    MARKS,
    SAMPLE,
    is_missing,
    is_numeral,
)
from separatrix.types import Vector

LONGEST_UNIT = 12
_DAY = 86_400.0
_QUANTITIES = (  # units of one quantity, with their sizes
    {"µg": 1e-9, "mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3},
    {"oz": 1.0, "lb": 16.0, "lbs": 16.0},
    {"µm": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3},
    {"in": 1.0, "inch": 1.0, "inches": 1.0, "ft": 12.0, "feet": 12.0, "foot": 12.0},
    {"ml": 1e-3, "mL": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0, "L": 1.0},
    {"B": 1.0, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    {"W": 1.0, "kW": 1e3, "MW": 1e6},
    {"Wh": 1.0, "kWh": 1e3, "MWh": 1e6},
    {
        **{"ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0},
        **{"min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0},
        **{"h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0, "hours": 3600.0},
        **{"day": _DAY, "days": _DAY, "week": 7 * _DAY, "weeks": 7 * _DAY},
    },
    {
        **{"month": 1.0, "months": 1.0, "mo": 1.0, "mos": 1.0},
        **{"year": 12.0, "years": 12.0, "yr": 12.0, "yrs": 12.0},
    },
)
_ABBREVIATED = (  # need no blank before them
    "[µmk]g|[µmcdk]m|m[lL]|[cd]l|ms|mins?|hrs?|yrs?|secs?|[kMG]?Hz|kWh?|[kKMGT]B|lbs?|oz|px|°[CF]?|[gh]"
)
_WITH_UNIT = re.compile(
    rf"({LIMIT[1:]}|)([+-]?[0-9][0-9.,'’\u00a0\u202f ]*?)"
    rf"(?:(?<!\s)\s++|(?=(?:{_ABBREVIATED})$))([^\W\d_][\w²³°/·^-]{{0,11}}|°[A-Z]?)"
)
_FORM = re.compile(r"(.+?)(?: \[(.+)\])?(?: with (.+))?")


def find_unit(texts: Sequence[str], counts: Any = None) -> str:
    """The unit behind nearly all numbers of a column, or the most frequent one of their quantity.

    >>> find_unit(["170 cm", "182cm", "165"]), find_unit(["5x", "7x"])
    ('cm', '')
    >>> find_unit(["1 m", "90 cm", "2 m"]), find_unit(["3 kg", "90 cm"])
    ('m', '')
    """
    weights = np.ones(len(texts)) if counts is None else np.asarray(counts, dtype=float)
    some = np.argsort(-weights, kind="stable")[:SAMPLE].tolist()
    rows: dict[str, float] = {}
    total = 0.0
    for i in some:
        found = _WITH_UNIT.fullmatch(texts[i])
        if found:
            rows[found[3]] = rows.get(found[3], 0.0) + weights[i]
        if not is_missing(texts[i]) and not is_numeral(texts[i]):
            total += weights[i]
    unit = max(rows, key=lambda one: rows[one], default="")
    same = sum(rows[other] for other in rows if other in _sizes(unit))
    return unit if unit and same >= (1 - FEW_WORDS) * total else ""


def strip_unit(texts: Sequence[str], unit: str) -> tuple[list[str], Vector]:
    """The texts without units of a quantity, those with others as they are; and factors to `unit`.

    >>> strip_unit(["170 cm", "<5cm", "1 m", "3 kg"], "cm")
    (['170', '<5', '1', '3 kg'], array([  1.,   1., 100.,   1.]))
    """
    sizes = _sizes(unit)
    bare, factors = list(texts), np.ones(len(texts))
    for i, text in enumerate(texts):
        found = _WITH_UNIT.fullmatch(text)
        if found and found[3] in sizes:
            bare[i], factors[i] = found[1] + found[2], sizes[found[3]] / sizes[unit]
    return bare, factors


def _sizes(unit: str) -> dict[str, float]:
    """The units that measure the same as one, with their sizes."""
    return next((sizes for sizes in _QUANTITIES if unit in sizes), {unit: 1.0})


def join_form(convention: str, unit: str, marks: Collection[str] = ()) -> str:
    """The name of how a column of numbers is written: its convention, unit and marks.

    >>> join_form("plain", "cm"), join_form("1.234,5", "", {"%", "<"})
    ('plain [cm]', '1.234,5 with % <')
    >>> split_form("1.234,5 [mg] with % <"), split_form("plain")
    (('1.234,5', 'mg', ('%', '<')), ('plain', '', ()))
    """
    signs = " ".join(mark for mark in MARKS if mark in marks)
    return convention + (f" [{unit}]" if unit else "") + (f" with {signs}" if signs else "")


def split_form(name: str) -> tuple[str, str, tuple[str, ...]]:
    """The convention, the unit and the marks of a name that `join_form` made."""
    found = _FORM.fullmatch(name)
    return (found[1], found[2] or "", tuple((found[3] or "").split())) if found else (name, "", ())


def is_percent(form: str) -> bool:
    """Whether the numbers of a column have a percent sign: 12.5 alone may then be 12.5 or 0.125.

    >>> is_percent("plain with % <"), is_percent("plain [cm]")
    (True, False)
    """
    return "%" in split_form(form)[2]


def has_decimal_comma(form: str) -> bool:
    """Whether the numbers of a column have a decimal comma: 1.234 is then 1234.

    >>> has_decimal_comma("1 234,5 with EUR"), has_decimal_comma("1,234.5")
    (True, False)
    """
    return split_form(form)[0].endswith(",5")


def is_form(name: str) -> bool:
    """Whether a text names a convention, with or without a unit and marks."""
    convention, unit, marks = split_form(name)
    known = convention in CONVENTIONS and len(unit) <= LONGEST_UNIT and set(marks) <= set(MARKS)
    return known and (not unit or _WITH_UNIT.fullmatch(f"1 {unit}") is not None)
