"""The geometry of the pictures of a data set, so that drawings can be rendered the same way.

Lengths are in pixels of the picture. Ink is 0 on paper and 1 where it is full. The numbers were measured
on the first 5,000 pictures of each set: the larger side of the box around the ink; where pictures are
centred; the mean ink; the width of a stroke, 2 A / V, with A the sum of the ink and V the sum of the
lengths of its gradient (of a stroke of length L and width w, A = L w and V = 2 L). The pen gives drawings
of all ten digits about the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.types import Matrix

SIDES = range(4, 65)  # of pictures that can be drawn
MEASURED = 2000  # pictures that are enough to measure a data set
TRACE = 0.05  # less ink than that is paper


@dataclass(frozen=True)
class Canvas:
    """How the pictures of a data set are drawn."""

    side: int  # rows and columns
    box: float  # larger side of the drawing, the pen included
    pen: float  # width of a stroke; the smallest one if `ink` is set
    widest: float  # largest width of the pen
    ink: float = 0.0  # share of ink that the pen is widened for; 0: fixed pen
    edge: float = 1.0  # pixels over which ink fades at the edge of a stroke
    by_mass: bool = False  # whether pictures are centred by their mass of ink, or by its box
    upright: str = ""  # how slant is taken out: "moments", "corners", or "" where it is kept
    middle: float = 0.0  # offset of the centre to the right and down
    bitmap: int = 0  # binary points a side of each pixel, which are counted; 0: shades of grey
    paper: float = 0.0  # the value of a pixel without ink
    full: float = 1.0  # the value of a pixel full of ink
    decimals: int = 0  # of a pixel's value
    far: float = 1.5  # times the usual distance: a drawing farther from all pictures resembles none

    @property
    def unit(self) -> float:
        """The largest value that a pixel can have."""
        return max(abs(self.paper), abs(self.full)) or 1.0

    def values(self, ink: Matrix) -> Matrix:
        """Ink, 0 to 1, as values of the data set.

        >>> DIGITS.values(np.array([0.0, 0.5, 1.0])).tolist()
        [0.0, 8.0, 16.0]
        """
        return np.asarray(np.round(self.paper + ink * (self.full - self.paper), self.decimals))

    def ink_of(self, values: Any) -> Matrix:
        """Values of the data set as ink, 0 to 1."""
        shares = (np.asarray(values, dtype=np.float64) - self.paper) / (self.full - self.paper)
        return np.clip(shares, 0.0, 1.0)


# 8 x 8 counts, 0 to 16, of a bitmap of 32 x 32. Every digit is 8 high. Whatever the digit, the share of
# ink is 0.30 (0.296 to 0.322 by class): thin digits were widened with their strokes, so the pen grows
# here until there is enough. Strokes are 1.5 wide (quartiles 1.37, 1.59). NIST sheared the bitmaps until
# the leftmost point of the first row was above that of the last one: their columns differ by 0.05 in the
# mean, in no class by more than 0.12.
DIGITS = Canvas(
    8, box=8.0, pen=1.2, widest=2.5, ink=0.30, upright="corners", bitmap=4, full=16.0, far=1.7
)
# 16 x 16 greys, -1 to 1. Boxes are 16 high or wide and lie in the middle, to 0.06 of a pixel. Ink 0.25,
# strokes 1.9 wide (1.67, 2.31). The covariance of rows and columns of the ink is 0 in every picture.
USPS = Canvas(
    16, box=16.0, pen=2.1, widest=2.1, edge=1.5, upright="moments", paper=-1.0, decimals=3, far=1.4
)
# 28 x 28 greys, 0 to 255. Boxes of 20; the centre of mass is half a pixel right of and below the middle.
# Ink 0.13, strokes 2.4 wide (2.03, 2.74).
MNIST = Canvas(
    28, box=20.0, pen=2.6, widest=2.6, edge=1.2, by_mass=True, middle=0.5, full=255.0, far=1.3
)
# Classes that a person draws: no data set to be like. Narrow enough for one covariance for each class.
OWN = Canvas(16, box=14.0, pen=2.0, widest=2.0, edge=1.5, decimals=3)
KNOWN = {"digits": DIGITS, "usps": USPS, "mnist": MNIST}


def side_of(columns: int) -> int:
    """Rows of a square picture with so many pixels; raises a DataError otherwise.

    >>> side_of(784)
    28
    """
    side = isqrt(columns)
    if side * side != columns or side not in SIDES:
        raise DataError(
            f"a picture to draw is a square of {SIDES[0]} x {SIDES[0]} to {SIDES[-1]} x {SIDES[-1]} "
            f"pixels; got {columns} columns"
        )
    return side


def measure_canvas(X: Any) -> Canvas:
    """The canvas of unknown pictures, (n, d), estimated from them."""
    side = side_of(X.shape[1])
    some = np.asarray(X[:: max(1, len(X) // MEASURED)], dtype=np.float64)
    paper, full = _paper_and_full(some.reshape(-1, side, side))
    if paper == full:
        raise DataError("all pixels of these pictures are equal")
    plain = Canvas(side=side, box=float(side), pen=1.0, widest=1.0, paper=paper, full=full)
    images = plain.ink_of(some).reshape(-1, side, side)
    extents, centres, masses = _boxes(images)
    pen = float(np.median(stroke_widths(images)))
    by_mass = bool(masses.std() < centres.std())
    return replace(
        plain,
        box=float(np.median(extents)),
        pen=pen,
        widest=pen,
        by_mass=by_mass,
        middle=float(np.median(masses if by_mass else centres)),
        decimals=0 if (some == np.round(some)).all() else 3,
    )


def stroke_widths(images: Matrix) -> Matrix:
    """Width of the strokes of each picture of ink, (n, h, w) -> (n,); see above.

    >>> line = np.zeros((1, 20, 20))
    >>> line[0, 1:19, 8:11] = 1.0
    >>> stroke_widths(line).round(1).tolist()
    [2.6]
    """
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    down = np.diff(padded, axis=1)[:, :, :-1]
    right = np.diff(padded, axis=2)[:, :-1]
    lengths = np.sqrt(down**2 + right**2).sum(axis=(1, 2))
    return np.asarray(2.0 * images.sum(axis=(1, 2)) / np.maximum(lengths, 1e-12))


def _paper_and_full(images: Matrix) -> tuple[float, float]:
    """Paper is the value of most of the rim; full ink is the other extreme."""
    low, high = float(images.min()), float(images.max())
    rim = np.concatenate([images[:, [0, -1], :].ravel(), images[:, :, [0, -1]].ravel()])
    return (low, high) if np.median(rim) <= (low + high) / 2 else (high, low)


def _boxes(images: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Larger side of the box around the ink; offsets of its centre and of the centre of mass."""
    side = images.shape[1]
    images = images[images.max(axis=(1, 2)) > TRACE]
    extents, centres = [], []
    for axis in (1, 2):
        some = np.asarray((images > TRACE).any(axis=axis))
        first, last = some.argmax(axis=1), side - some[:, ::-1].argmax(axis=1)
        extents.append(last - first)
        centres.append((first + last - side) / 2)
    positions = np.arange(side) + 0.5 - side / 2
    mass = images.sum(axis=(1, 2))
    masses = [images.sum(axis=axis) @ positions / mass for axis in (1, 2)]
    return np.maximum(*extents), np.concatenate(centres), np.concatenate(masses)
