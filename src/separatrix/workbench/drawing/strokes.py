"""From the strokes of a pen to a picture like those of a data set.

A drawing, as in `requests.py`, is made upright if the data set was, moved and scaled into the box of the
canvas, and drawn with the pen of the canvas, so that position and size on the page do not matter. The ink
of a pixel follows from its distance to the nearest stroke.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from separatrix.types import Flags, Matrix
from separatrix.workbench.drawing.canvas import Canvas
from separatrix.workbench.drawing.requests import MAX_POINTS, Strokes

SMALLEST = 0.04  # of the page: a smaller drawing is a dot and is not enlarged
FLATTEST = 0.25  # height against width: a flatter drawing is a line and is not made upright
STEEPEST = 1.0  # columns a row that a drawing is sheared at most
STEP = 0.2  # pixels between two points of a stroke
TRACED = 200  # points along the height of a drawing, to measure its slant
ROUNDS = 3  # of the searches for the pen that gives enough ink, and for the shear
DECIMALS = 6  # so that a drawing gives the same picture anywhere on the page


def rasterize(strokes: Strokes, canvas: Canvas, pen: float = 1.0) -> Matrix | None:
    """The picture of a drawing, ink from 0 to 1, (side, side); None if nothing is drawn.

    `pen` is the width of the pen relative to that of the data set. It has no effect where the data set has
    one share of ink.

    >>> from separatrix.workbench.drawing.canvas import DIGITS
    >>> rasterize([[[0.5, 0.1], [0.5, 0.9]]], DIGITS)[4].tolist()
    [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    >>> rasterize([], DIGITS) is None
    True
    """
    parts: list[Matrix] = [np.array(stroke, dtype=np.float64) for stroke in strokes if stroke]
    if not parts:
        return None
    parts = make_upright(parts, canvas.upright)
    if not canvas.ink:
        width = pen * canvas.pen
        return _shade(_nearest(parts, canvas, width, canvas.side), width, canvas.edge)
    width, points = canvas.pen, canvas.side * canvas.bitmap
    for _ in range(ROUNDS):
        distances = _nearest(parts, canvas, width, points)
        wanted = 2.0 * float(np.quantile(distances, canvas.ink))
        width = (width + min(max(wanted, canvas.pen), canvas.widest)) / 2
    return _count_ink(_nearest(parts, canvas, width, points) <= width / 2, canvas)


def make_upright(parts: list[Matrix], way: str) -> list[Matrix]:
    """Shear strokes as a data set was: "moments", "corners" (see `canvas.py`), or "" for not at all.

    >>> lean = [np.array([[0.6, 0.0], [0.4, 1.0]])]
    >>> make_upright(lean, "moments")[0].round(3).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    corners = np.concatenate(parts)
    width, height = np.ptp(corners, axis=0)
    if not way or height < max(SMALLEST, FLATTEST * width):
        return parts
    for _ in range(ROUNDS if way == "moments" else 1):  # a shear changes how much ink a stroke has
        trace = _sample_strokes(parts, height / TRACED)
        slant = min(max(_measure_slant(trace, way, height), -STEEPEST), STEEPEST)
        middle = float(trace[:, 1].mean())
        parts = [np.column_stack([p[:, 0] + slant * (p[:, 1] - middle), p[:, 1]]) for p in parts]
    return parts


def _measure_slant(trace: Matrix, way: str, height: float) -> float:
    """Columns by which a drawing leans to the right for each row upwards."""
    if way == "moments":
        x, y = (trace - trace.mean(axis=0)).T
        return -float(x @ y / (y @ y))
    first, last = trace[:, 1].min(), trace[:, 1].max()
    return (_leftmost(trace, first, height) - _leftmost(trace, last, height)) / height


def _leftmost(trace: Matrix, row: float, height: float) -> float:
    """The leftmost point of a trace in the row of pixels at `row`, the first or the last of 32."""
    return float(trace[np.abs(trace[:, 1] - row) <= height / 32, 0].min())


def _nearest(parts: list[Matrix], canvas: Canvas, pen: float, points: int) -> Matrix:
    """Distances in pixels from a grid of points x points to the nearest stroke."""
    tree = cKDTree(_position_strokes(parts, canvas, pen))
    at = (np.arange(points) + 0.5) * (canvas.side / points)
    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    return np.asarray(tree.query(grid)[0]).reshape(points, points)


def _position_strokes(parts: list[Matrix], canvas: Canvas, pen: float) -> Matrix:
    """Dense points along the strokes, [x, y] in pixels of the canvas."""
    corners = np.concatenate(parts)
    low, high = corners.min(axis=0), corners.max(axis=0)
    scale = (canvas.box - pen) / max(float((high - low).max()), SMALLEST)
    trace = _sample_strokes([(part - (low + high) / 2) * scale for part in parts], STEP)
    if canvas.by_mass:
        trace = trace - trace.mean(axis=0)
    return np.round(trace + canvas.side / 2 + canvas.middle, DECIMALS)


def _sample_strokes(parts: list[Matrix], step: float) -> Matrix:
    """Evenly spaced points along all strokes, both ends of each included."""
    lengths = [np.linalg.norm(np.diff(part, axis=0), axis=1) for part in parts]
    total = sum(float(length.sum()) for length in lengths)
    step = max(step, total / MAX_POINTS)
    return np.concatenate(
        [_sample_stroke(part, length, step) for part, length in zip(parts, lengths, strict=True)]
    )


def _sample_stroke(part: Matrix, lengths: Matrix, step: float) -> Matrix:
    """Points of one stroke that are at most `step` apart along it."""
    travelled = np.concatenate([[0.0], np.cumsum(lengths)])
    at = np.linspace(0.0, travelled[-1], 1 + int(np.ceil(np.round(travelled[-1] / step, DECIMALS))))
    return np.column_stack([np.interp(at, travelled, part[:, axis]) for axis in (0, 1)])


def _shade(distances: Matrix, pen: float, edge: float) -> Matrix:
    """Full ink within the pen's half width, fading across its edge."""
    return np.asarray(np.clip((pen / 2 - distances) / edge + 0.5, 0.0, 1.0))


def _count_ink(bitmap: Flags, canvas: Canvas) -> Matrix:
    """The share of the points of each pixel that are ink."""
    side, points = canvas.side, canvas.bitmap
    return np.asarray(bitmap.reshape(side, points, side, points).mean(axis=(1, 3)))
