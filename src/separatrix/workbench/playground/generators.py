"""Generators of points, in shapes that are easy for one model and hard for another.

Each generator gives coordinates (n, 2) and class codes (n,). `noise` is a standard deviation relative to
the size of the shape. The schema of the request checks n, noise and seed. Only NumPy is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.types import Codes, Matrix

MIN_POINTS, MAX_POINTS = 4, 2000
LETTERS = "abcdefgh"
Points = tuple[Matrix, Codes]
Rng = np.random.Generator


@dataclass(frozen=True)
class PointGenerator:
    """A shape of points and its number of classes."""

    title: str
    classes: int
    make: Callable[[int, float, Rng], Points]


def generate_points(key: str, *, n: int, noise: float, seed: int) -> list[list[Any]]:
    """Points [x, y, label] of a shape in random order; the same seed gives the same points.

    >>> generate_points("xor", n=4, noise=0.0, seed=0) == generate_points("xor", n=4, noise=0.0, seed=0)
    True
    """
    if key not in GENERATORS:
        raise ParameterError("Playground", "generator", f"one of {', '.join(GENERATORS)}", key[:60])
    rng = np.random.default_rng(seed)
    X, y = GENERATORS[key].make(n, noise, rng)
    order = rng.permutation(n)
    rounded = X[order].round(4).tolist()  # short enough for an address
    return [[*point, LETTERS[code]] for point, code in zip(rounded, y[order], strict=True)]


def _balanced_codes(n: int, k: int) -> Codes:
    """Codes of k classes of equal size."""
    return np.arange(n) % k


def _moons(n: int, noise: float, rng: Rng) -> Points:
    y = _balanced_codes(n, 2)
    angle = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.where(y[:, None] == 0, upper, [1.0, 0.5] - upper)
    return X + rng.normal(0, noise, (n, 2)), y


def _circles(n: int, noise: float, rng: Rng) -> Points:
    y = _balanced_codes(n, 2)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y == 0, 1.0, 0.4)
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(0, noise, (n, 2)), y


def _blobs(k: int) -> Callable[[int, float, Rng], Points]:
    def make(n: int, noise: float, rng: Rng) -> Points:
        y = _balanced_codes(n, k)
        angle = 2 * np.pi * (y + rng.uniform()) / k
        X = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return X + rng.normal(0, 0.15 + noise, (n, 2)), y

    return make


def _xor(n: int, noise: float, rng: Rng) -> Points:
    corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    which = _balanced_codes(n, 4)
    X = 0.9 * corners[which] + rng.uniform(-0.5, 0.5, (n, 2))
    return X + rng.normal(0, noise, (n, 2)), (which >= 2).astype(np.intp)


def _spiral(n: int, noise: float, rng: Rng) -> Points:
    y = _balanced_codes(n, 2)
    along = np.sqrt(rng.uniform(0.02, 1, n))
    angle = 3.2 * np.pi * along + np.pi * y
    X = 2 * along[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(0, 0.5 * noise, (n, 2)), y


def _stripes(n: int, noise: float, rng: Rng) -> Points:
    X = rng.uniform(-2, 2, (n, 2))
    y = np.floor(X[:, 0] + 2).astype(np.intp) % 2
    return X + rng.normal(0, 0.5 * noise, (n, 2)), y


def _equal_gaussians(n: int, noise: float, rng: Rng) -> Points:
    """Two Gaussians with one covariance: the best boundary is straight."""
    y = _balanced_codes(n, 2)
    root = np.linalg.cholesky((0.6 + noise) * np.array([[1.0, 0.6], [0.6, 1.0]]))
    return rng.normal(size=(n, 2)) @ root.T + np.where(y[:, None] == 0, -1.0, 1.0) * [1, -0.5], y


def _unequal_gaussians(n: int, noise: float, rng: Rng) -> Points:
    """Two Gaussians with different covariances: the best boundary is a conic."""
    y = _balanced_codes(n, 2)
    spread = np.where(y[:, None] == 0, [0.35, 0.35], [1.6, 1.0])
    X = rng.normal(size=(n, 2)) * (spread + 0.5 * noise) + np.where(y[:, None] == 0, 0.0, 0.3)
    return X, y


def _outliers(n: int, noise: float, rng: Rng) -> Points:
    """Two distant clouds, with one label in twenty flipped."""
    y = _balanced_codes(n, 2)
    X = np.where(y[:, None] == 0, -1.2, 1.2) * [1, 0.4] + rng.normal(0, 0.3 + noise / 2, (n, 2))
    strange = rng.permutation(n)[: max(1, n // 20)]
    return X, np.where(np.isin(np.arange(n), strange), 1 - y, y)


def _separable(n: int, noise: float, rng: Rng) -> Points:
    """Classes on both sides of a line, at a distance of 0.2 or more."""
    y = _balanced_codes(n, 2)
    turn = rng.uniform(0, np.pi)
    across, along = rng.uniform(0, 1 + noise, n) + 0.2, rng.uniform(-1.5, 1.5, n)
    flat = np.stack([np.where(y == 0, -across, across), along], axis=1)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return flat @ rotation.T, y


GENERATORS = {
    "moons": PointGenerator("two moons", 2, _moons),
    "circles": PointGenerator("a circle in a circle", 2, _circles),
    "separable": PointGenerator("separable by a line", 2, _separable),
    "gaussians": PointGenerator("Gaussians, one covariance", 2, _equal_gaussians),
    "unlike": PointGenerator("Gaussians, two covariances", 2, _unequal_gaussians),
    "outliers": PointGenerator("two clouds with outliers", 2, _outliers),
    "xor": PointGenerator("corners of a square", 2, _xor),
    "spiral": PointGenerator("two spirals", 2, _spiral),
    "stripes": PointGenerator("stripes", 2, _stripes),
    "blobs2": PointGenerator("2 clouds", 2, _blobs(2)),
    "blobs3": PointGenerator("3 clouds", 3, _blobs(3)),
    "blobs4": PointGenerator("4 clouds", 4, _blobs(4)),
    "blobs5": PointGenerator("5 clouds", 5, _blobs(5)),
}
