"""One scale of colours for pictures of why: which of two classes a part speaks for, and how much.

A value above 0 speaks for the second class and is orange, one below 0 for the first and is blue; 0 has no
colour. The scale is symmetric: equal strength, equal depth. Both colours are Okabe and Ito's, thinned so
that ink can be read on them on a light and on a dark page; pictures mark the sign without colour too.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.plots.figures import new_figure
from separatrix.plots.svg import clean_text
from separatrix.types import Matrix, Vector
from separatrix.validation import require_real

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BELOW, ABOVE = (0, 114, 178), (213, 94, 0)  # blue and vermilion of Okabe and Ito
STRONGEST = 0.7  # opacity at the end of the scale
QUIET = "#7a828c"  # to be read on a light and on a dark page
FAINT = 0.05  # below this share of the scale a sign is not marked
LONGEST = 32  # letters of what stands below an end of the scale
WORDS = ("lowers the score", "raises the score")
EDGE, SCALE = 0.12, 0.72  # inches around and below
TITLE_LETTER, TITLE_LINE = 0.08, 0.17  # inches


def checked_values(values: Any, count: int, of_what: str) -> Vector:
    """Refuse whatever is not one finite number for each of them."""
    strengths: Vector = np.asarray(values, dtype=np.float64)
    if strengths.shape != (count,):
        raise DataError(
            f"values must be one for each of {count} {of_what}; got shape {strengths.shape}"
        )
    if not np.isfinite(strengths).all():
        position = int(np.argmin(np.isfinite(strengths)))
        raise DataError(f"values must be finite; number {position} is {strengths[position]}")
    return strengths


def checked_limit(owner: str, limit: float | None, *values: Vector) -> float:
    """Where the scale ends: as given, or at the largest value; 1 where there is none."""
    if limit is not None:
        require_real(owner, "limit", limit, above=0)
        return float(limit)
    return max((float(np.abs(one).max(initial=0.0)) for one in values), default=0.0) or 1.0


def checked_classes(owner: str, classes: Sequence[Any] | None) -> tuple[str, str]:
    """What either end of the scale says."""
    if classes is None:
        return WORDS
    if isinstance(classes, str) or len(classes) != 2:
        raise ParameterError(owner, "classes", "two names, that of values below 0 first", classes)
    below, above = (clean_text(str(name)) for name in classes)
    return f"towards {below}", f"towards {above}"


def shades(values: Any, limit: float) -> Matrix:
    """Colours of values with their opacities, (n, 4) between 0 and 1; nothing is seen at 0.

    >>> (shades([0.0, -1.0, 0.5], 1.0) * [255, 255, 255, 100]).round().astype(int).tolist()
    [[0, 114, 178, 0], [0, 114, 178, 70], [213, 94, 0, 35]]
    """
    share: Vector = np.clip(np.asarray(values, dtype=np.float64) / limit, -1.0, 1.0)
    hue = np.where(share[:, None] > 0, ABOVE, BELOW) / 255
    return np.column_stack([hue, STRONGEST * np.abs(share)])


def wrapped_title(title: str | None, inches: float) -> str:
    """A title in lines of so many inches; none is empty."""
    return fill(clean_text(title or ""), max(int(inches / TITLE_LETTER), 8))


def height_of(title: str) -> float:
    """Inches that a wrapped title takes."""
    return TITLE_LINE * (title.count("\n") + 1.5) if title else 0.0


def fixed_figure(width: float, height: float) -> Figure:
    """An empty figure of so many inches, in which everything is placed by hand."""
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    return figure


def add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes without a frame at a position in inches."""
    wide, high = figure.get_size_inches()
    axes = figure.add_axes((left / wide, bottom / high, width / wide, height / high))
    axes.set_axis_off()
    return axes


def draw_scale(
    figure: Figure, limit: float, words: tuple[str, str], *, left: float, marks: tuple[str, str]
) -> None:
    """The colours from one end to the other at the foot of a figure, what either end says below."""
    span = min(float(figure.get_size_inches()[0]) - left - EDGE, 4.2)
    axes = add_axes(figure, left, EDGE + 0.44, span, 0.13)
    axes.set_axis_on()
    axes.patch.set_visible(False)  # the page's ground is that of the letters too
    colours = shades(np.linspace(-limit, limit, 101), limit)[None]
    axes.imshow(colours, extent=(-limit, limit, 0, 1), aspect="auto")
    axes.set_yticks([])
    for frame in axes.spines.values():
        frame.set_linewidth(0.5)
    ends = [
        f"{sign}{limit:.3g}\n{cut_short(word, LONGEST)}\n({mark})"
        for sign, word, mark in zip("−+", words, marks, strict=True)
    ]
    axes.set_xticks([-limit, 0, limit], [ends[0], "0", ends[1]], fontsize=7.5, parse_math=False)
    axes.tick_params(length=2, pad=2, width=0.5)
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")


def cut_short(text: str, most: int) -> str:
    """A text of at most so many letters.

    >>> cut_short("word", 4), cut_short("sentence", 4)
    ('word', 'sen…')
    """
    return text if breadth_of(text) <= most else text[: most - 1] + "…"


def breadth_of(text: str) -> int:
    """How many letters wide a text is; those of East Asia count twice.

    >>> breadth_of("word"), breadth_of("語")
    (4, 2)
    """
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
