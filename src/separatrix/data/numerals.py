"""Numbers as people write them: decimal comma, thousands, percent, currency; booleans in words.

A column has one convention for all of its cells, because 48,440 alone may be either of two numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from separatrix.types import Flags, Vector

BLANKS = " \t\u00a0\u200b\u2060\ufeff"  # around a cell, those without a width among them

MISSING = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None"),
    "\\N",  # of MySQL and PostgreSQL
)
"""Cells that stand for a missing value in every column."""

MISSING_WORDS = frozenset(
    {"-", "--", ".", "n.a.", "N.A.", "#NA", "<NA>", "NaT", "NAN", "Nan", "none", "Null"}
    | {"#DIV/0!", "#NULL!", "#NUM!", "#REF!", "#VALUE!"}
)
"""Cells that stand for a missing value, except in the target, and - beside +."""

BOOLEANS = (
    *(("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on")),
    *(("nein", "ja"), ("non", "oui"), ("falsch", "wahr"), ("faux", "vrai")),
)
TRUTH = {"0": 0.0, "1": 1.0} | {word: float(i) for pair in BOOLEANS for i, word in enumerate(pair)}
"""0 and 1 for each word of false and true, in lower case."""

# A cell may have millions of characters: no pattern here splits a run of them in two ways, as
# [0-9]+\.?[0-9]* does, since Python would try all of them.
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity)", re.IGNORECASE
)
_SIGNS = r"[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY"
_CURRENCY = re.compile(_SIGNS)
_SAME_CURRENCY = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_EDGE = rf"(?:{_SIGNS}|%|\s)+"
_EDGES = f"^{_EDGE}|{_EDGE}$"
_NOT_BEHIND = "".join(f"(?<!{sign})" for sign in (*_SIGNS.split("|"), "%", r"\s"))
_SIGNED = rf"^([+-])(?:{_SIGNS}|\s)+"
_MAY_BE_MARKED = re.compile(r"[%$<>A-Z]")  # of ASCII
_MINUS = "\u2212"  # the sign that is no hyphen
_SCRIPTS = (
    "٠۰०০௦๐０"  # zeros of scripts whose digits people write tables in; nine others follow each
)
_DIGITS = {ord(zero) + i: str(i) for zero in _SCRIPTS for i in range(10)} | {
    ord("٫"): ".",  # the decimal and the thousands sign of Arabic
    ord("٬"): "'",
    ord("٪"): "%",
    ord(_MINUS): "-",
}
_PARENTHESES = rf"^\(((?:{_SIGNS}|\s)*[0-9.,][^()]*)\)$"  # accountants' negative numbers
_SIGN_BEHIND = r"^([0-9][0-9.,]*[.,][0-9]+)-$"  # as SAP writes them
_SPACES = "[ \u00a0\u202f'’]"
MARKS = ("%", "<", "USD", "EUR", "GBP", "CHF", "JPY", "₹", "₽", "₩", *_SCRIPTS)
"""What numbers of a column may be written with: a percent sign, limits, currencies, zeros of scripts."""

LIMIT = r"^(?:[<>]=?|[≤≥])\s*"  # of detection, as in <0.5
_CLEANING = (
    (LIMIT, ""),
    (_PARENTHESES, r"-\1"),
    (_SIGN_BEHIND, r"-\1"),
    (_EDGES, ""),
    (_SIGNED, r"\1"),
)
"""What is replaced before a number is read, in this order."""
_CLEANERS = tuple(
    # Python would try the last edge from each place of a run; Arrow would not, and has no lookbehind.
    (re.compile(pattern.replace(f"|{_EDGE}", f"|{_NOT_BEHIND}{_EDGE}")), to)
    for pattern, to in _CLEANING
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written."""

    name: str
    pattern: str  # of a number without sign, currency and percent
    thousands: str = ""  # characters to remove, as a class of a regular expression
    decimal: str = "."


_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
FORMATS = {
    kind.name: kind
    for kind in (
        NumberFormat("plain", rf"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}"),
        NumberFormat("1,234.5", r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?", ","),
        NumberFormat("1.234,5", rf"[0-9]+(?:,[0-9]*)?{_EXPONENT}", "", ","),
        NumberFormat("1.234.567,5", r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]*)?", "[.]", ","),
        NumberFormat(
            "1 234.5", rf"[1-9][0-9]{{0,2}}(?:{_SPACES}[0-9]{{3}})+(?:\.[0-9]*)?", _SPACES
        ),
        NumberFormat(
            "1 234,5", rf"[1-9][0-9]{{0,2}}(?:{_SPACES}[0-9]{{3}})+(?:,[0-9]*)?", _SPACES, ","
        ),
    )
}
"""Every way to write a number by its name."""

_PLAIN, _COMMA_DECIMAL = FORMATS["plain"], FORMATS["1.234,5"]
_GROUPS = {  # what a column may mix: a format, and what numbers below 1,000 are written as
    "plain": (_PLAIN,),
    "1,234.5": (FORMATS["1,234.5"], _PLAIN),
    "1.234,5": (FORMATS["1.234.567,5"], _COMMA_DECIMAL),
    "1 234.5": (FORMATS["1 234.5"], _PLAIN),
    "1 234,5": (FORMATS["1 234,5"], _COMMA_DECIMAL),
}
CONVENTIONS = tuple(_GROUPS)
"""Names of the conventions of a column, the likelier one first."""

_MATCHERS = {
    name: re.compile(f"[+-]?(?:{'|'.join(kind.pattern for kind in kinds)})")
    for name, kinds in _GROUPS.items()
}
_DIGIT = re.compile("[0-9]")
SAMPLE = 2000  # different texts that decide about a convention
FEW_WORDS = 0.05
"""A column is read as numbers if at most this share of its cells are other texts."""


class ParsedNumbers(NamedTuple):
    """The numbers of some texts, NaN for those that are not one."""

    convention: str
    values: Vector  # shape: (texts,)
    wrong: Flags  # shape: (texts,); neither a number nor missing


def is_number(cell: str) -> bool:
    """Whether a cell is a plain decimal number or an infinity.

    >>> [cell for cell in ("1", "-.5e3", "007", "+inf", "1_0", "nan", "") if is_number(cell)]
    ['1', '-.5e3', '007', '+inf']
    """
    return _NUMBER.fullmatch(cell) is not None


def is_numeral(cell: str) -> bool:
    """Whether a cell is a number in any convention, perhaps with a currency or a percent sign.

    >>> [cell for cell in ("48,44", "1.234,5", "$5", "12 %", "3rd", "v2", "1,2,3") if is_numeral(cell)]
    ['48,44', '1.234,5', '$5', '12 %']
    >>> [cell for cell in ("($5.20)", "(a)", "5.20-", "1-", "−3") if is_numeral(cell)]
    ['($5.20)', '5.20-', '−3']
    """
    inner = cell if cell.isascii() else cell.translate(_DIGITS)
    if _DIGIT.search(inner) is None:
        return False
    if _MATCHERS["plain"].fullmatch(inner):
        return True
    for pattern, to in _CLEANERS:
        inner = pattern.sub(to, inner)
    return any(matcher.fullmatch(inner) for matcher in _MATCHERS.values())


def parse_numbers(
    texts: Sequence[str],  # different from each other
    counts: Any = None,  # shape: (texts,)
    convention: str | None = None,
) -> ParsedNumbers:
    """The numbers of the texts of a column in one convention, by default the one that reads most rows.

    >>> parse_numbers(["48,44", "1.048,5", "-3"]).values.tolist()
    [48.44, 1048.5, -3.0]
    >>> parse_numbers(["48,440", "$1,048", "12"]).values.tolist()
    [48440.0, 1048.0, 12.0]
    >>> parse_numbers(["12", "old", "15"]).wrong.tolist()
    [False, True, False]
    """
    weights = np.ones(len(texts)) if counts is None else np.asarray(counts, dtype=float)
    if convention is None:
        some = np.argsort(-weights, kind="stable")[:SAMPLE]
        convention = _choose_convention([texts[i] for i in some], weights[some])
    plus = "+" in texts
    absent = np.array([is_missing(text, plus) for text in texts], dtype=bool)
    values = _convert(_clean(texts), convention)
    return ParsedNumbers(convention, values, np.isnan(values) & ~absent)


def is_limit(text: str) -> bool:
    """Whether a cell is a limit such as <0.5, which is read as that number."""
    return text[:1] in ("<", ">", "≤", "≥")


def is_missing(text: str, plus: bool = False) -> bool:
    """Whether a cell stands for a missing value, in a column with or without a +."""
    return text in MISSING or (text in MISSING_WORDS and not (plus and text == "-"))


def marks_of(text: str) -> set[str]:
    """The `MARKS` that a number is written with: without one of them it may mean another number.

    >>> sorted(marks_of("< $5")), marks_of("12 %"), marks_of("１２"), marks_of("-1.5e3")
    (['<', 'USD'], {'%'}, {'０'}, set())
    """
    if text.isascii() and not _MAY_BE_MARKED.search(text):
        return set()
    found = {_SAME_CURRENCY.get(sign, sign) for sign in _CURRENCY.findall(text)}
    plain = text if text.isascii() else text.translate(_DIGITS)
    found |= {"%"} if "%" in plain else set()
    found |= {"<"} if is_limit(plain) else set()
    return found | {zero for zero in _SCRIPTS if any(0 <= ord(c) - ord(zero) < 10 for c in text)}


def _choose_convention(texts: Sequence[str], weights: Vector) -> str:
    """The first convention that reads the most rows."""
    best, most, every = "plain", -1.0, float(weights.sum())
    cleaned = _clean(texts)
    for name in CONVENTIONS:
        read = ~np.isnan(_convert(cleaned, name))
        rows = float(weights[read].sum())
        if rows > most:
            best, most = name, rows
        if most == every:
            break
    return best


class _Cleaned(NamedTuple):
    """Texts without currencies and percent signs, and which of them had one of these."""

    column: Any  # shape: (texts,); of Arrow
    percent: Flags  # shape: (texts,)


def _clean(texts: Sequence[str]) -> _Cleaned:
    column = pa.array(_with_plain_digits(texts), pa.large_string())
    percent = pc.match_substring(column, "%").to_numpy(zero_copy_only=False)
    for expression, to in _CLEANING:
        column = pc.replace_substring_regex(column, expression, to)
    return _Cleaned(column, percent)


def _convert(cleaned: _Cleaned, convention: str) -> Vector:
    """The numbers of texts, NaN where a text is not one in this convention."""
    column, percent = cleaned
    pattern = "|".join(kind.pattern for kind in _GROUPS[convention])
    fits = pc.match_substring_regex(column, f"^[+-]?(?:{pattern})$")
    for kind in _GROUPS[convention]:
        if kind.thousands:
            column = pc.replace_substring_regex(column, kind.thousands, "")
    if convention.endswith(",5"):
        column = pc.replace_substring(column, ",", ".")
    plain = pc.if_else(fits, column, None)
    values = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False).astype(float)
    found: Vector = np.where(percent, values / 100.0, values)
    return found


def _with_plain_digits(texts: Sequence[str]) -> Sequence[str]:
    """The texts with digits and signs of other scripts replaced by those of ASCII."""
    if all(map(str.isascii, texts)):
        return texts
    return [text if text.isascii() else text.translate(_DIGITS) for text in texts]


def find_mixture(texts: Sequence[str]) -> str:
    """What numbers of a column must not mix, if they do: percent with other numbers, or currencies.

    >>> find_mixture(["$5", "7 USD", "€6"]), find_mixture(["12 %", "0.3", "0"]), find_mixture(["$5", "6"])
    ('EUR and USD', '% and plain numbers', '')
    """
    found = {_SAME_CURRENCY.get(sign, sign) for text in texts for sign in _CURRENCY.findall(text)}
    if len(found) > 1:
        return " and ".join(sorted(found))
    bare = (text for text in texts if "%" not in text and text.strip("0.,+- "))
    if any("%" in text for text in texts) and any(is_numeral(text) for text in bare):
        return "% and plain numbers"
    return ""


def find_boolean(texts: Sequence[str]) -> tuple[str, str] | None:
    """The words for false and true if there are only these, in any case or in several ways.

    >>> find_boolean(["Yes", "no"]), find_boolean(["yes", "maybe"]), find_boolean(["y", "t", "n"])
    (('no', 'yes'), None, None)
    >>> find_boolean(["TRUE", "yes", "1", "No", "0"])
    ('false', 'true')
    """
    words = {text.casefold() for text in texts}
    pair = next((pair for pair in BOOLEANS if words == set(pair)), None)
    if pair is None and len(words) > 2 and words <= set(TRUTH):
        clear = {TRUTH[word] for word in words if len(word) > 1}  # letters alone may be codes
        return BOOLEANS[0] if len(clear) == 2 else None
    return pair
