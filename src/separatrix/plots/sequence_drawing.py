"""Explanations of sequences: each letter or word on a background coloured by the class it supports.

Colours are those of `color_scale.py`; a line above a letter, or below it, shows the same without colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.plots import color_scale
from separatrix.plots.color_scale import ABOVE, BELOW, EDGE, FAINT, QUIET, SCALE, shades
from separatrix.plots.figures import INK
from separatrix.plots.svg import clean_text
from separatrix.plots.tables import Table
from separatrix.types import Vector
from separatrix.validation import require_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIGNS = {"\n": "↵", "\r": "↵", "\t": "⇥"}  # letters that would not be seen

LETTER, LINE, SIZE = 0.1, 0.27, 9.0  # inches from letter to letter and line to line; points
IN_WORD, AROUND = 0.76, 0.45  # of that, from letter to letter in a word, and on each side of it
TILE = 0.66  # share of a line that its ground takes
NUMBERS = 0.4  # inches beside
NARROWEST = 4.4  # inches; the words below the scale need them


class Tile(NamedTuple):
    """One letter or word where it is drawn."""

    text: str
    value: float
    left: float  # in letters from the line's start
    right: float


class Line(NamedTuple):
    """Letters or words side by side."""

    first: int  # position of its first one in the sequence
    tiles: list[Tile]


def plot_letters(
    sequence: Any,
    values: Any,  # shape: (letters,)
    *,
    title: str | None = None,
    classes: Sequence[Any] | None = None,
    width: int = 60,
    limit: float | None = None,
) -> Figure:
    """A sequence with every letter on the colour of its value, in numbered lines.

    Parameters
    ----------
    sequence
        A string, bytes, or words (a list or tuple of tokens), which flow by their lengths.
    values
        What each letter or word adds to the score.
    title
        Words above.
    classes
        The class that values below 0 speak for, and that of values above 0, as in `classes_`.
        None: the scale speaks of the score.
    width
        Letters in a line.
    limit
        Where the scale ends; larger values have the colour of its end. None: the largest value.

    Examples
    --------
    >>> figure = plot_letters("ACGT", [0.5, -0.25, 0.0, 1.0], classes=("intron", "exon"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['1', 'A', 'C', 'G', 'T']
    """
    require_integer("plot_letters", "width", width, least=1)
    texts = _texts(sequence)
    strengths = color_scale.checked_values(values, len(texts), _kind(sequence))
    end = color_scale.checked_limit("plot_letters", limit, strengths)
    ends = color_scale.checked_classes("plot_letters", classes)
    lines = list(_lines(texts, strengths, width, words=not _is_text(sequence)))

    taken = max((line.tiles[-1].right for line in lines), default=0.0)
    inside = max(taken * LETTER, NARROWEST - NUMBERS - 2 * EDGE)
    height = max(len(lines), 1) * LINE
    heading = color_scale.wrapped_title(title, inside)
    above = color_scale.height_of(heading)
    figure = color_scale.fixed_figure(
        NUMBERS + inside + 2 * EDGE, height + above + SCALE + 2 * EDGE
    )
    axes = color_scale.add_axes(figure, EDGE, EDGE + SCALE, NUMBERS + inside, height)
    axes.set_xlim(-NUMBERS / LETTER, inside / LETTER)
    axes.set_ylim(max(len(lines), 1), 0)
    for row, line in enumerate(lines):
        _draw_line(axes, row, line, end)
    if not lines:
        axes.text(0, 0.5, f"no {_kind(sequence)}", va="center", fontsize=SIZE, color=QUIET)
    axes.set_title(
        heading, fontsize=9.5, loc="left", x=NUMBERS / (NUMBERS + inside), parse_math=False
    )
    color_scale.draw_scale(
        figure, end, ends, left=EDGE + NUMBERS, marks=("line below", "line above")
    )
    return figure


def letters_table(sequence: Any, values: Any) -> Table:  # values: (letters,)
    """The same as a table: position, counted from 1, letter or word, and value.

    >>> letters_table(["not", "good"], [-2.0, 0.5]).rows
    [(1, 'not', -2.0), (2, 'good', 0.5)]
    """
    texts = _texts(sequence)
    strengths = color_scale.checked_values(values, len(texts), _kind(sequence))
    name = "letter" if _is_text(sequence) else "word"
    rows = zip(range(1, len(texts) + 1), texts, strengths.tolist(), strict=True)
    return Table(["position", name, "value"], list(rows), bars=["value"])


def _texts(sequence: Any) -> list[str]:
    """What is drawn for each letter or word."""
    if isinstance(sequence, bytes):
        sequence = sequence.decode("latin-1")
    if isinstance(sequence, str):
        return [clean_text(SIGNS.get(letter, letter)) for letter in sequence]
    if isinstance(sequence, list | tuple | np.ndarray):
        return [clean_text(" ".join(str(word).split())) for word in sequence]
    raise DataError(
        f"a sequence is a string, bytes or a list of words; got {type(sequence).__name__}"
    )


def _is_text(sequence: Any) -> bool:
    return isinstance(sequence, str | bytes)


def _kind(sequence: Any) -> str:
    return "letters" if _is_text(sequence) else "words"


def _lines(texts: list[str], values: Vector, width: int, *, words: bool) -> Iterator[Line]:
    """Letters or words in lines of at most `width`; a word that is longer is cut."""
    line, left = Line(0, []), 0.0
    for position, (text, value) in enumerate(zip(texts, values.tolist(), strict=True)):
        text = color_scale.cut_short(text, max(int(width / IN_WORD), 2)) if words else text
        breadth = IN_WORD * max(color_scale.breadth_of(text), 1) + 2 * AROUND if words else 1.0
        if line.tiles and left + breadth > width:
            yield line
            line, left = Line(position, []), 0.0
        line.tiles.append(Tile(text, value, left, left + breadth))
        left += breadth
    if line.tiles:
        yield line


def _draw_line(axes: Axes, row: int, line: Line, limit: float) -> None:
    """Ground, letters, marks of the sign, and the number of the first one."""
    number = f"{line.first + 1}"
    axes.text(-0.8, row + 0.5, number, ha="right", va="center", fontsize=6.5, color=QUIET)
    style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "family": "monospace"}
    style |= {"fontsize": SIZE, "color": INK, "parse_math": False}
    for tile in line.tiles:
        if tile.text.strip():
            axes.text((tile.left + tile.right) / 2, row + 0.52, tile.text, **style)
    _draw_grounds(axes, row, line.tiles, limit)


def _draw_grounds(axes: Axes, row: int, tiles: list[Tile], limit: float) -> None:
    """Colours, and a line above or below as thick as the value is strong."""
    from matplotlib.collections import PolyCollection

    top, foot = row + (1 - TILE) / 2, row + (1 + TILE) / 2
    seen = [tile for tile in tiles if tile.value != 0]
    corners = [
        [(left, top), (right, top), (right, foot), (left, foot)] for left, right in _inside(seen)
    ]
    colours = shades([tile.value for tile in seen], limit)
    axes.add_collection(PolyCollection(corners, facecolors=colours, linewidth=0), autolim=False)
    for sign, height in ((1, top), (-1, foot)):
        marked = [tile for tile in seen if sign * tile.value >= FAINT * limit]
        ends = np.reshape(_inside(marked), (-1, 2))
        depths = [0.4 + 1.4 * min(abs(tile.value) / limit, 1.0) for tile in marked]
        hue = np.array(ABOVE if sign > 0 else BELOW) / 255
        axes.hlines([height] * len(marked), *ends.T, color=hue, linewidth=depths)


def _inside(tiles: list[Tile]) -> list[tuple[float, float]]:
    """Where grounds begin and end: a little apart."""
    return [(tile.left + 0.04, tile.right - 0.04) for tile in tiles]
