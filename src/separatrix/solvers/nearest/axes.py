"""Directions of the largest variance, and how many of them make a search fastest.

The squared distance of two rows is at least that of their projections on some axes plus the squared
difference of what is left of their lengths. The more axes, the closer the bound and the longer it
takes. A sample of rows shows where that balances, or that the rows spread alike in all directions and
bounds do not pay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.sums import dense
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.solvers.nearest.rounding import scale_of
from separatrix.types import Codes, Matrix, Vector

FEW = 2048  # rows below which bounds do not pay
SAMPLE = (1024, 3072)  # least and largest size of the sample, an eighth of the rows
FOR_SCALE = 256  # rows that give a centre and a scale
HELD_OUT = 3  # one in so many rows of the sample tests the axes of the others
QUERIES = 96  # rows of the test sample that serve as queries
LEADING = (8, 16, 24, 32, 48, 64, 96, 128)  # numbers of axes to choose from
FINER = 4  # times as many axes are kept, for closer bounds
PASSES = 2  # of the subspace iteration
PER_PAIR, PER_AXIS, PER_CANDIDATE = 0.35, 0.02, 8.0  # nanoseconds, measured; only ratios matter
PER_ROW, PER_FEATURE = 30.0, 0.15  # of an exact distance
PER_SAMPLED, PER_PROJECTED = (
    100.0,
    10.0,
)  # of a value, in finding the axes on one core and in projecting


class ProjectionAxes(NamedTuple):
    """Centre, scale and axes of a projection."""

    centre: Vector  # shape: (d,); float64
    scale: float  # a power of two that brings rows to about length 1
    directions: Matrix | None  # shape: (d, axes); float64, orthonormal, the widest first
    leading: int  # how many of them the first bound takes


def most_axes(n: int, d: int) -> int:
    """Largest useful number of axes for n rows of d features."""
    return min(LEADING[-1], 3 * d // 4, n // 4)


def axes_pay(n: int, d: int, *, queries: int, threads: int) -> bool:
    """Whether products of queries with n rows of d features cost more than finding axes.

    >>> axes_pay(16000, 256, queries=10_000, threads=1), axes_pay(4000, 64, queries=4000, threads=16)
    (True, False)
    """
    products = queries * n * (2 * PER_PAIR + PER_AXIS * d) / threads  # and choosing among them
    sample = min(n, max(SAMPLE[0], min(n // 8, SAMPLE[1])))
    return products > 1.2 * d * (PER_SAMPLED * sample + PER_PROJECTED * n / threads)


def no_axes(X: Any) -> ProjectionAxes:
    """Centre and scale of rows, (n, d), without a projection; they need not be accurate."""
    return _sample(X, (FOR_SCALE, FOR_SCALE))[1]


def principal_axes(X: Any, k: int, *, insist: bool = False) -> ProjectionAxes:
    """Axes for a search of k neighbours among the rows of X, (n, d).

    There are none if bounds do not pay, unless `insist`.
    """
    S, plain = _sample(X)
    most = most_axes(*S.shape)  # at most a quarter of the rows
    if most < LEADING[0] or (len(X) < FEW and not insist):
        return plain
    held_out = np.arange(len(S)) % HELD_OUT == HELD_OUT - 1
    with blas_on_one_thread():
        directions = _widest(S[~held_out], most)
        T = S[held_out]
        leading = _leading(T, T @ directions.astype(np.float32), len(X) / k, insist)
    if leading is None:
        return plain
    held = np.ascontiguousarray(directions[:, : FINER * leading])
    return plain._replace(directions=held, leading=leading)


def local_dimension(X: Any) -> float:
    """The dimension of rows near to each other: four times as many are 4^(1/dimension) times as near."""
    with blas_on_one_thread():
        factor = _approach(_distances(_sample(X)[0])[2])[1]
    return float(2 * np.log(4) / -np.log(factor)) if 0 < factor < 1 else np.inf


def _sample(X: Any, sizes: tuple[int, int] = SAMPLE) -> tuple[Matrix, ProjectionAxes]:
    """Some rows, centred and scaled, in float32; and the centre and scale."""
    n, d = X.shape
    size = int(np.clip(n // 8, *sizes))
    S = dense(X[:: max(1, n // size)][:size])
    centre = S.mean(axis=0)
    S = S - centre
    scale = scale_of(float(np.abs(S).max(initial=0.0) * np.sqrt(d)))
    return (S * scale).astype(np.float32), ProjectionAxes(centre, scale, None, d)


def _widest(S: Matrix, count: int) -> Matrix:
    """Orthonormal directions close to the principal axes of S, (d, count), by subspace iteration."""
    G = np.random.default_rng(0).standard_normal((S.shape[1], count)).astype(np.float32)
    for _ in range(PASSES):
        G = np.linalg.qr(S.T @ (S @ G))[0]
    basis = np.linalg.qr(G.astype(np.float64))[0]
    B = S @ basis.astype(np.float32)
    _, turn = np.linalg.eigh((B.T @ B).astype(np.float64))
    return np.asarray(basis @ turn[:, ::-1])


def _leading(T: Matrix, Z: Matrix, n: float, insist: bool) -> int | None:
    """The number of axes with the least cost; None if a search over all features costs no more.

    Some rows of T serve as queries among the others. The bounds show what share of rows would need an
    exact distance with n rows for each neighbour.
    """
    queries, squares, D = _distances(T)
    limits = _limits(D, n)
    costs: dict[int | None, float] = {}
    if not insist:
        costs[None] = PER_PAIR + PER_AXIS * T.shape[1]

    def passing(m: int) -> float:
        """The share of rows that a bound by m axes leaves."""
        P = Z[:, :m]
        rest = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", P, P), 0))
        products = P[queries] @ P.T + np.outer(rest[queries], rest)
        return float(np.mean(squares[queries, None] + squares - 2 * products <= limits))

    for m in (m for m in LEADING if m <= Z.shape[1]):
        costs[m] = PER_PAIR + PER_AXIS * (m + 2) + PER_CANDIDATE * passing(m)
        costs[m] += (PER_ROW + PER_FEATURE * T.shape[1]) * passing(FINER * m)
    return min(costs, key=lambda m: costs[m])


def _distances(T: Matrix) -> tuple[Codes, Vector, Matrix]:
    """Some rows, (queries,), squared lengths, (n,), and squared distances to all others, (queries, n)."""
    queries = np.arange(0, len(T), max(1, len(T) // QUERIES))
    squares = np.einsum("ij,ij->i", T, T)
    D = squares[queries, None] + squares - 2 * T[queries] @ T.T
    D[np.arange(len(queries)), queries] = np.inf
    return queries, squares, D


def _limits(D: Matrix, n: float) -> Matrix:
    """The squared distance of the nearest of n rows, (queries, 1), from those to fewer, (queries, rows).

    Four times as many rows bring the nearest nearer by a factor that is much the same each time.
    """
    rows = D.shape[1]
    if n <= rows:
        kth = min(max(1, round(rows / n)), rows - 1)
        return np.partition(D, kth - 1, axis=1)[:, kth - 1, None]
    nearest, factor = _approach(D)
    return np.asarray(nearest * factor ** (np.log(n / rows) / np.log(4)))[:, None]


def _approach(D: Matrix) -> tuple[Vector, float]:
    """The least squared distances, (queries,), and how much nearer they are than those of a quarter."""
    nearest, of_a_quarter = D.min(axis=1), D[:, ::4].min(axis=1)
    known = (nearest > 0) & np.isfinite(of_a_quarter)
    return nearest, float(np.median(nearest[known] / of_a_quarter[known])) if known.any() else 1.0
