"""From a pen's strokes to a picture like those of a data set.

A drawing is strokes, each a list of points [x, y]; x to the right, y down, 0 to 1 across the page. It is
moved and scaled into the box of the canvas, its aspect kept, and drawn anew with the pen of the canvas:
where and how large somebody drew says nothing. A pixel is as dark as its distance to the nearest stroke
says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from separatrix.errors import DataError
from separatrix.types import Flags, Matrix
from separatrix.workbench.drawing.canvas import Canvas

Strokes = Sequence[Sequence[Sequence[float]]]
MOST_STROKES, MOST_POINTS = 200, 20_000
FARTHEST = 2.0  # pages from its corner that a pen may have strayed
SMALLEST = 0.04  # of the page: less is a dot, and is not blown up
STEP = 0.2  # pixels between two points of a stroke
ROUNDS = 3  # of finding the pen that gives enough ink
FINE = 6  # decimals: so that the same drawing elsewhere on the page gives the same picture


def drawn(strokes: Strokes, canvas: Canvas) -> Matrix | None:
    """The picture of a drawing, ink from 0 to 1, (side, side); None where nothing is drawn.

    >>> from separatrix.workbench.drawing.canvas import DIGITS
    >>> drawn([[[0.5, 0.1], [0.5, 0.9]]], DIGITS)[4].tolist()
    [0.0, 0.0, 0.25, 1.0, 1.0, 0.25, 0.0, 0.0]
    >>> drawn([], DIGITS) is None
    True
    """
    parts = [part for part in map(_points, checked(strokes)) if len(part)]
    if not parts:
        return None
    pen = canvas.pen
    if not canvas.ink:
        return _shades(_nearest(parts, canvas, pen, canvas.side), canvas)
    points = canvas.side * canvas.bitmap
    for _ in range(ROUNDS):
        distances = _nearest(parts, canvas, pen, points)
        wanted = 2.0 * float(np.quantile(distances, canvas.ink))
        pen = (pen + min(max(wanted, canvas.pen), canvas.widest)) / 2
    return _counts(_nearest(parts, canvas, pen, points) <= pen / 2, canvas)


def checked(strokes: Strokes) -> Strokes:
    """Strokes that can be drawn; those that are too many, too far away or no numbers are refused."""
    if len(strokes) > MOST_STROKES or sum(map(len, strokes)) > MOST_POINTS:
        raise DataError(
            f"a drawing has at most {MOST_STROKES} strokes and {MOST_POINTS} points; this one has "
            f"{len(strokes)} and {sum(map(len, strokes))}"
        )
    for stroke in strokes:
        points = _points(stroke)
        if len(points) and not (np.abs(points) <= FARTHEST).all():
            raise DataError(
                f"a point of a drawing lies between 0 and 1 across the page; found one beyond {FARTHEST}"
            )
    return strokes


def _points(stroke: Sequence[Sequence[float]]) -> Matrix:
    """The points of a stroke, (n, 2)."""
    points = np.asarray(stroke, dtype=np.float64)
    if points.size and (points.ndim != 2 or points.shape[1] != 2):
        raise DataError(
            f"a stroke is a list of points [x, y]; got an array of shape {points.shape}"
        )
    return points.reshape(-1, 2)


def _nearest(parts: list[Matrix], canvas: Canvas, pen: float, points: int) -> Matrix:
    """Distance of each of points x points places to the nearest point of a stroke, in pixels."""
    tree = cKDTree(_placed(parts, canvas, pen))
    at = (np.arange(points) + 0.5) * (canvas.side / points)
    places = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    return np.asarray(tree.query(places)[0]).reshape(points, points)


def _placed(parts: list[Matrix], canvas: Canvas, pen: float) -> Matrix:
    """Points along the strokes, close to each other, where they lie on the canvas; [x, y] in pixels."""
    corners = np.concatenate(parts)
    low, high = corners.min(axis=0), corners.max(axis=0)
    scale = (canvas.box - pen) / max(float((high - low).max()), SMALLEST)
    trace = _along([(part - (low + high) / 2) * scale for part in parts])
    if canvas.by_mass:
        trace = trace - trace.mean(axis=0)
    return np.round(trace + canvas.side / 2 + canvas.middle, FINE)


def _along(parts: list[Matrix]) -> Matrix:
    """Evenly spaced points along all strokes, both ends of each included."""
    lengths = [np.linalg.norm(np.diff(part, axis=0), axis=1) for part in parts]
    whole = sum(float(length.sum()) for length in lengths)
    step = max(STEP, whole / MOST_POINTS)
    return np.concatenate(
        [_spaced(part, length, step) for part, length in zip(parts, lengths, strict=True)]
    )


def _spaced(part: Matrix, lengths: Matrix, step: float) -> Matrix:
    """Points of one stroke that are at most `step` apart along it."""
    travelled = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0.0, travelled[-1], 1 + int(np.ceil(np.round(travelled[-1] / step, FINE))))
    return np.column_stack([np.interp(at, travelled, part[:, axis]) for axis in (0, 1)])


def _shades(distances: Matrix, canvas: Canvas) -> Matrix:
    """Full ink within the pen's half width, fading across its edge."""
    return np.asarray(np.clip((canvas.pen / 2 - distances) / canvas.edge + 0.5, 0.0, 1.0))


def _counts(bitmap: Flags, canvas: Canvas) -> Matrix:
    """The share of the points of each pixel that are ink."""
    side, points = canvas.side, canvas.bitmap
    return np.asarray(bitmap.reshape(side, points, side, points).mean(axis=(1, 3)))
