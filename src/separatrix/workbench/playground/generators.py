"""Points that are made up: shapes that one model finds easy and another hard, from a seed.

Each generator gives coordinates (n, 2) and class codes (n,). `noise` is a standard deviation, as a
share of the size of the shape. Nothing here needs more than NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.types import Codes, Matrix

FEWEST, MOST = 4, 2000
MOST_NOISE = 2.0
LARGEST_SEED = 2**32 - 1
LETTERS = "abcdefgh"
Made = tuple[Matrix, Codes]
Rng = np.random.Generator


@dataclass(frozen=True)
class Generator:
    """A shape of points."""

    title: str
    classes: int
    make: Callable[[int, float, Rng], Made]


def generated(key: str, *, n: int, noise: float, seed: int) -> list[list[Any]]:
    """Points [x, y, label] of a shape, in an order drawn from the seed; the same for the same seed.

    >>> generated("xor", n=4, noise=0.0, seed=0) == generated("xor", n=4, noise=0.0, seed=0)
    True
    """
    if key not in GENERATORS:
        raise ParameterError("Playground", "generator", f"one of {', '.join(GENERATORS)}", key[:60])
    _require("n", n, isinstance(n, int) and FEWEST <= n <= MOST, f"{FEWEST} to {MOST:,}")
    _require("noise", noise, 0 <= noise <= MOST_NOISE, f"0 to {MOST_NOISE:g}")
    _require("seed", seed, 0 <= seed <= LARGEST_SEED, f"0 to {LARGEST_SEED:,}")
    rng = np.random.default_rng(seed)
    X, y = GENERATORS[key].make(n, noise, rng)
    order = rng.permutation(n)
    rounded = X[order].round(4).tolist()  # short enough to travel in an address
    return [[*place, LETTERS[code]] for place, code in zip(rounded, y[order], strict=True)]


def _require(name: str, value: Any, good: bool, must_be: str) -> None:
    if not good:
        raise ParameterError("Playground", name, must_be, value)


def _turns(n: int, k: int) -> Codes:
    """Classes of equal size, to a point."""
    return np.arange(n) % k


def _moons(n: int, noise: float, rng: Rng) -> Made:
    y = _turns(n, 2)
    angle = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X = np.where(y[:, None] == 0, upper, [1.0, 0.5] - upper)
    return X + rng.normal(0, noise, (n, 2)), y


def _circles(n: int, noise: float, rng: Rng) -> Made:
    y = _turns(n, 2)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y == 0, 1.0, 0.4)
    X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(0, noise, (n, 2)), y


def _blobs(k: int) -> Callable[[int, float, Rng], Made]:
    def make(n: int, noise: float, rng: Rng) -> Made:
        y = _turns(n, k)
        angle = 2 * np.pi * (y + rng.uniform()) / k
        X = 1.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return X + rng.normal(0, 0.15 + noise, (n, 2)), y

    return make


def _xor(n: int, noise: float, rng: Rng) -> Made:
    corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    which = _turns(n, 4)
    X = 0.9 * corners[which] + rng.uniform(-0.5, 0.5, (n, 2))
    return X + rng.normal(0, noise, (n, 2)), (which >= 2).astype(np.intp)


def _spiral(n: int, noise: float, rng: Rng) -> Made:
    y = _turns(n, 2)
    along = np.sqrt(rng.uniform(0.02, 1, n))
    angle = 3.2 * np.pi * along + np.pi * y
    X = 2 * along[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(0, 0.5 * noise, (n, 2)), y


def _stripes(n: int, noise: float, rng: Rng) -> Made:
    X = rng.uniform(-2, 2, (n, 2))
    y = np.floor(X[:, 0] + 2).astype(np.intp) % 2
    return X + rng.normal(0, 0.5 * noise, (n, 2)), y


def _alike(n: int, noise: float, rng: Rng) -> Made:
    """Two Gaussians of one covariance, [[1, 0.6], [0.6, 1]] at noise 0: the best boundary is straight."""
    y = _turns(n, 2)
    root = np.linalg.cholesky((0.6 + noise) * np.array([[1.0, 0.6], [0.6, 1.0]]))
    return rng.normal(size=(n, 2)) @ root.T + np.where(y[:, None] == 0, -1.0, 1.0) * [1, -0.5], y


def _unlike(n: int, noise: float, rng: Rng) -> Made:
    """Two Gaussians around one another, of different covariances: the best boundary is a conic."""
    y = _turns(n, 2)
    spread = np.where(y[:, None] == 0, [0.35, 0.35], [1.6, 1.0])
    X = rng.normal(size=(n, 2)) * (spread + 0.5 * noise) + np.where(y[:, None] == 0, 0.0, 0.3)
    return X, y


def _outliers(n: int, noise: float, rng: Rng) -> Made:
    """Two clouds far apart, and one point in twenty with the label of the other."""
    y = _turns(n, 2)
    X = np.where(y[:, None] == 0, -1.2, 1.2) * [1, 0.4] + rng.normal(0, 0.3 + noise / 2, (n, 2))
    strange = rng.permutation(n)[: max(1, n // 20)]
    return X, np.where(np.isin(np.arange(n), strange), 1 - y, y)


def _separable(n: int, noise: float, rng: Rng) -> Made:
    """A straight line has all of each class on its side, at a distance of 0.2 or more."""
    y = _turns(n, 2)
    turn = rng.uniform(0, np.pi)
    across, along = rng.uniform(0, 1 + noise, n) + 0.2, rng.uniform(-1.5, 1.5, n)
    flat = np.stack([np.where(y == 0, -across, across), along], axis=1)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return flat @ rotation.T, y


GENERATORS = {
    "moons": Generator("two moons", 2, _moons),
    "circles": Generator("a circle in a circle", 2, _circles),
    "separable": Generator("separable by a line", 2, _separable),
    "gaussians": Generator("Gaussians, alike", 2, _alike),
    "unlike": Generator("Gaussians, unlike", 2, _unlike),
    "outliers": Generator("two clouds with outliers", 2, _outliers),
    "xor": Generator("corners of a square", 2, _xor),
    "spiral": Generator("two spirals", 2, _spiral),
    "stripes": Generator("stripes", 2, _stripes),
    "blobs2": Generator("2 clouds", 2, _blobs(2)),
    "blobs3": Generator("3 clouds", 3, _blobs(3)),
    "blobs4": Generator("4 clouds", 4, _blobs(4)),
    "blobs5": Generator("5 clouds", 5, _blobs(5)),
}
