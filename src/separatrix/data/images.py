"""Images as arrays (n, h, w): rescaled to bytes, deskewed, shifted by pixels.

Pixels that leave an image are lost; pixels that enter are 0. The compiled loops are single-threaded and
release the GIL, so that a caller may give each thread a block of images.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.jit import njit
from separatrix.validation import require_integer

WHITEST = 255


def as_bytes(X: Any, low: float | None = None, high: float | None = None) -> Any:
    """Pixels rescaled from low..high, or from their own range, to 0..255; unchanged if already so.

    >>> as_bytes(np.array([[0.0, 0.5, 2.0]])).tolist()
    [[0, 64, 255]]
    """
    low = float(X.min()) if low is None else low
    high = float(X.max()) if high is None else high
    if X.dtype == np.uint8 and low == 0 and high == WHITEST:
        return X
    spread = (high - low) or 1.0
    return np.clip(np.round((X - low) * (WHITEST / spread)), 0, WHITEST).astype(np.uint8)


def sides(d: int) -> tuple[int, int]:
    """Rows and columns of an image of d pixels; a single row if d is not a square.

    >>> sides(784), sides(10)
    ((28, 28), (1, 10))
    """
    side = isqrt(d)
    return (side, side) if side * side == d else (1, d)


def slants(images: Any) -> Any:
    """Slant of each image, (n,): columns to the right per row down.

    The slope of the line through the centre of mass that best tells a pixel's column from its row,
    mu_11 / mu_02, pixels weighed by their value. 0 for an image without ink, or with ink in one row only.

    >>> slants(np.eye(4)[None]).tolist()
    [1.0]
    """
    images = _check_images("slants", images)
    return _moments(images)[0]


def deskewed(images: Any) -> Any:
    """Images without slant, by a shear about the centre of mass.

    Values between two pixels are interpolated. The dtype is kept; integers are rounded.

    >>> deskewed(np.eye(3, dtype=np.uint8)[None]).tolist()
    [[[0, 1, 0], [0, 1, 0], [0, 1, 0]]]
    """
    images = _check_images("deskewed", images)
    slant, centre = _moments(images)
    upright = np.empty_like(images)
    _shear(images, slant, centre, 0.5 if images.dtype.kind in "iu" else 0.0, upright)
    return upright


def shifts_within(pixels: int) -> list[tuple[int, int]]:
    """All shifts (down, right) of at most `pixels` in each direction; (0, 0) comes first.

    >>> len(shifts_within(1)), shifts_within(1)[:3]
    (9, [(0, 0), (-1, -1), (-1, 0)])
    """
    require_integer("shifts_within", "pixels", pixels, least=0)
    reach = range(-pixels, pixels + 1)
    return sorted(((i, j) for i in reach for j in reach), key=lambda move: (move != (0, 0), move))


def jittered(images: Any, pixels: int) -> Any:
    """The images, then all of them shifted by each of `shifts_within`: (copies n, h, w).

    >>> jittered(np.ones((2, 3, 3)), 1).shape
    (18, 3, 3)
    """
    images = _check_images("jittered", images)
    _, h, w = images.shape
    moves = shifts_within(pixels)
    copies = np.zeros((len(moves), *images.shape), dtype=images.dtype)
    for (down, right), copy in zip(moves, copies, strict=True):
        (to_rows, rows), (to_columns, columns) = _overlap(down, h), _overlap(right, w)
        copy[:, to_rows, to_columns] = images[:, rows, columns]
    return copies.reshape(-1, *images.shape[1:])


def unit_norm(images: Any) -> Any:
    """Images as rows of unit norm in float32, (n, h w); an image without ink stays 0.

    >>> unit_norm(np.array([[[3, 4]], [[0, 0]]], dtype=np.uint8)).tolist()
    [[0.6..., 0.8...], [0.0, 0.0]]
    """
    images = _check_images("unit_norm", images)
    rows = images.reshape(len(images), -1).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    rows /= np.where(lengths > 0, lengths, 1)[:, None]
    return rows


def _check_images(owner: str, images: Any) -> Any:
    images = np.ascontiguousarray(images)
    if images.ndim != 3 or images.dtype.kind not in "iuf":
        raise DataError(
            f"{owner} needs images of numbers, (n, rows, columns); got {images.dtype} of shape "
            f"{images.shape}: reshape samples (n, d) first"
        )
    return images


def _overlap(by: int, size: int) -> tuple[slice, slice]:
    """Slices of the pixels that stay inside, after and before a shift."""
    by = max(min(by, size), -size)
    return slice(max(by, 0), size + min(by, 0)), slice(max(-by, 0), size - max(by, 0))


@njit(cache=True, nogil=True)
def _moments(images: Any) -> Any:
    """Slant mu_11 / mu_02 of each image, and the row of its centre of mass."""
    n, h, w = images.shape
    slant, centre = np.zeros(n), np.zeros(n)
    for p in range(n):
        ink = down = right = both = square = 0.0
        for i in range(h):
            row = along = 0.0
            for j in range(w):
                row += images[p, i, j]
                along += j * images[p, i, j]
            ink += row
            right += along
            down += i * row
            both += i * along
            square += i * i * row
        if ink > 0:
            centre[p] = down / ink
            spread = square / ink - centre[p] ** 2
            if spread > 1e-9:
                slant[p] = (both / ink - centre[p] * right / ink) / spread
    return slant, centre


@njit(cache=True, nogil=True)
def _shear(images: Any, slant: Any, centre: Any, half: float, upright: Any) -> None:
    """Row i of image p is read slant (i - centre) columns further right."""
    n, h, w = images.shape
    for p in range(n):
        for i in range(h):
            by = slant[p] * (i - centre[p])
            by = min(max(by, -float(w)), float(w))  # a row that leaves the image is all 0
            whole = int(np.floor(by))
            part = by - whole
            for j in range(w):
                left = right = 0.0
                if 0 <= j + whole < w:
                    left = images[p, i, j + whole]
                if 0 <= j + whole + 1 < w:
                    right = images[p, i, j + whole + 1]
                upright[p, i, j] = (1 - part) * left + part * right + half
