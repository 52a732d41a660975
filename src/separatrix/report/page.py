"""A page of results as plain values, and the one self-contained HTML file that shows it.

A `Page` has a summary in words, sections of words, pictures and tables, and what is needed to run it
again. The file loads nothing: styles are inside, pictures are inline SVG, and there is no script.
Every word that comes from outside is escaped. The same page gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from importlib.util import find_spec
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from separatrix.errors import missing_package
from separatrix.plots.svg import clean_text, draw_svg
from separatrix.plots.tables import Table as Table
from separatrix.runtime.atomic_files import atomic_write

if TYPE_CHECKING:
    from jinja2 import Template

NOTHING = "–"
LONGEST_WORD = 24  # letters; longer ones are broken
LONGEST_WHOLE = 16  # letters of a cell that is not broken at its hyphens
MOST_DIGITS = 1e7  # whole numbers of floats below this are written out
_NUMBER = re.compile(
    r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?|"  # a date, which is not wrapped either
    r"[-−+±<>≤≥]?\s?[\d.,]+([eE][-+]?\d+)?( ?%| s| ms)?(\s?±\s?[\d.,]+( ?%)?)?|–|∞|-∞"
)


@dataclass(frozen=True)
class Picture:
    """A matplotlib figure, what one sees on it in words, and the same numbers as a table."""

    figure: Any
    caption: str
    table: Table


Shows = Sequence[Picture | Table]


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, then pictures and tables."""

    title: str
    words: Sequence[str] = ()
    shows: Shows = ()


@dataclass(frozen=True)
class Page:
    """What a report says: the answer in words first, then sections, then how to run it again."""

    title: str
    summary: Sequence[str]
    sections: Sequence[Section]
    steps: Sequence[str] = ()  # commands to run next
    command: str = ""
    python: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # versions, seed, threads, data hash


def render(page: Page) -> str:
    """The page as one HTML document that loads nothing.

    >>> html = render(Page("Iris", ["The perceptron is <best>."], []))
    >>> html.splitlines()[0], "&lt;best&gt;" in html
    ('<!doctype html>', True)
    """
    template = _template()
    pictures, lead = 0, None
    sections = []
    for number, section in enumerate(page.sections, start=1):
        shows = []
        for one in section.shows:
            if isinstance(one, Picture):
                pictures += 1
                shows.append(_picture(one, f"p{pictures}"))
            else:
                shows.append({"table": _table(one)})
        if number == 1 and page.steps and shows and "svg" in shows[0]:
            lead = shows.pop(0)  # the picture beside the answer
        words = [clean_text(paragraph) for paragraph in section.words]
        sections.append(
            {"id": f"s{number}", "title": clean_text(section.title), "words": words, "shows": shows}
        )
    return template.render(
        style=resources.files("separatrix.report").joinpath("page.css").read_text("utf-8"),
        title=clean_text(page.title),
        summary=[clean_text(paragraph) for paragraph in page.summary],
        lead=lead,
        sections=sections,
        steps=[clean_text(step).strip() for step in page.steps],
        command=clean_text(page.command).strip("\n"),
        python=clean_text(page.python).strip("\n"),
        facts=[(clean_text(name), format_value(value)) for name, value in page.facts.items()],
    )


def write(page: Page, path: Path) -> Path:
    """Write the page to a file, which is there whole or not at all."""
    html = render(page)
    with atomic_write(Path(path)) as temporary:
        temporary.write_text(html, encoding="utf-8", newline="\n")
    return Path(path)


def require_packages() -> None:
    """Refuse at once what could not be written in the end; imports nothing, which takes a while."""
    for name in ("jinja2", "matplotlib"):
        if find_spec(name) is None:
            raise missing_package(name, "report")


def format_value(value: Any) -> str:
    """How a value is written in a cell.

    >>> values = (2.53149, 1234.56, 0.00001234, 7, "1.50", None, float("nan"), True)
    >>> [format_value(value) for value in values]
    ['2.531', '1235', '1.234e-05', '7', '1.50', '–', '–', 'yes']
    """
    if value is None:
        return NOTHING
    if isinstance(value, bool) or type(value).__name__ == "bool":  # NumPy's is not a bool
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return _number(float(value))
    return clean_text(str(value))


def _number(value: float) -> str:
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.0f}" if 1000 <= abs(value) < MOST_DIGITS else f"{value:.4g}"


def _table(table: Table) -> dict[str, Any]:
    """A table as the template wants it: texts, which of them are numbers or long, lengths of bars."""
    cells = [[format_value(value) for value in row] for row in table.rows]
    columns = [clean_text(str(name)) for name in table.columns]
    numeric = [
        bool(cells) and all(not row[c] or _NUMBER.fullmatch(row[c]) for row in cells)
        for c in range(len(columns))
    ]
    bars = [
        _lengths([row[c] for row in table.rows]) if name in table.bars else [None] * len(cells)
        for c, name in enumerate(table.columns)
    ]
    return {
        "caption": clean_text(table.caption),
        "columns": [
            {"text": text, "kind": _kind(text, number)}
            for text, number in zip(columns, numeric, strict=True)
        ],
        "rows": [
            [
                {"text": text, "kind": _kind(text, numeric[c], bars[c][r]), "bar": bars[c][r]}
                for c, text in enumerate(row)
            ]
            for r, row in enumerate(cells)
        ],
    }


def _kind(text: str, numeric: bool, bar: str | None = None) -> str:
    """The classes of a cell: number, with a bar, with a word that must be broken, kept on one line."""
    wide = any(len(word) > LONGEST_WORD for word in text.split())
    whole = len(text) <= LONGEST_WHOLE and not numeric and "-" in text
    return " ".join(["n"] * numeric + ["b"] * (bar is not None) + ["w"] * wide + ["k"] * whole)


def _lengths(values: Sequence[Any]) -> list[str | None]:
    """Lengths of bars, the longest 1; None where there is no number.

    >>> _lengths([1, "2.50", 5.0, None])
    ['0.200', '0.500', '1.000', None]
    """
    numbers = [_finite(value) for value in values]
    longest = max((abs(number) for number in numbers if number is not None), default=0.0) or 1.0
    return [None if number is None else f"{abs(number) / longest:.3f}" for number in numbers]


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _picture(picture: Picture, name: str) -> dict[str, Any]:
    return {
        "svg": draw_svg(picture.figure, name, caption=picture.caption),
        "caption": clean_text(picture.caption),
        "table": _table(picture.table),
    }


def _template() -> Template:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise missing_package("jinja2", "report") from None
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    source = resources.files("separatrix.report").joinpath("page.html.j2").read_text("utf-8")
    return environment.from_string(source)
