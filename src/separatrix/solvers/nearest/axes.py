"""A few directions in which the rows differ most, and how many of them pay.

The squared distance of two rows is at least that of their projections on some axes plus the squared
difference of what is left of their lengths. The more axes, the closer the bound and the longer it
takes; a look at some rows says where that balances, or that the rows spread alike in all directions
and looking at everything is best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.runtime.sums import dense
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.solvers.nearest.rounding import scale_of
from separatrix.types import Matrix, Vector

FEW = 2048  # rows below which there is no time to be won
SAMPLE = (1024, 3072)  # rows that are looked at: an eighth of all, within these
TRIED = 3  # one in so many of them is not seen by the axes, which are tried on it
QUERIES = 96  # of those, that are asked for their neighbours
LEADING = (8, 16, 24, 32, 48, 64, 96, 128)  # numbers of axes to choose from
FINER = 4  # times as many are held, for closer bounds
PASSES = 2  # of the subspace iteration
PER_PAIR, PER_AXIS, PER_CANDIDATE = 0.25, 0.01, 8.0  # nanoseconds, measured; only ratios matter
PER_ROW, PER_FEATURE = 30.0, 0.15  # of a row that is measured


class ProjectionAxes(NamedTuple):
    """Where rows are projected to."""

    centre: Vector  # shape: (d,); float64
    scale: float  # a power of two that brings rows to about length 1
    directions: Matrix | None  # shape: (d, axes); float64, orthonormal, the widest first
    leading: int  # how many of them the first bound takes


def most_axes(n: int, d: int) -> int:
    """How many axes n rows of d features are worth."""
    return min(LEADING[-1], 3 * d // 4, n // 4)


def no_axes(X: Any) -> ProjectionAxes:
    """Rows as they are, (n, d), but centred and scaled."""
    return _sampled(X)[1]


def principal_axes(X: Any, k: int, *, insist: bool = False) -> ProjectionAxes:
    """Axes for a search of k neighbours among the rows of X, (n, d).

    There are none where bounds do not pay, unless somebody insists.
    """
    S, plain = _sampled(X)
    most = most_axes(*S.shape)  # at most a quarter of the rows
    if most < LEADING[0] or (len(X) < FEW and not insist):
        return plain
    tried = np.arange(len(S)) % TRIED == TRIED - 1
    with blas_on_one_thread():
        directions = _widest(S[~tried], most)
        T = S[tried]
        leading = _leading(T, T @ directions.astype(np.float32), len(X) / k, insist)
    if leading is None:
        return plain
    held = np.ascontiguousarray(directions[:, : FINER * leading])
    return plain._replace(directions=held, leading=leading)


def _sampled(X: Any) -> tuple[Matrix, ProjectionAxes]:
    """Some rows, centred and scaled, in float32; and the centre and scale."""
    n, d = X.shape
    size = int(np.clip(n // 8, *SAMPLE))
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
    """How many axes cost least; None where looking at all features costs no more.

    Some rows of T are asked for their neighbours among the others, and the bounds for how many rows
    they would leave to look at, were there n rows for each neighbour that is wanted.
    """
    asked = np.arange(0, len(T), max(1, len(T) // QUERIES))
    squares = np.einsum("ij,ij->i", T, T)
    D = squares[asked, None] + squares - 2 * T[asked] @ T.T
    D[np.arange(len(asked)), asked] = np.inf
    limits = _limits(D, n)
    costs: dict[int | None, float] = {}
    if not insist:
        costs[None] = PER_PAIR + PER_AXIS * T.shape[1]

    def passing(m: int) -> float:
        """The share of rows that a bound by m axes leaves."""
        P = Z[:, :m]
        rest = np.sqrt(np.maximum(squares - np.einsum("ij,ij->i", P, P), 0))
        products = P[asked] @ P.T + np.outer(rest[asked], rest)
        return float(np.mean(squares[asked, None] + squares - 2 * products <= limits))

    for m in (m for m in LEADING if m <= Z.shape[1]):
        costs[m] = PER_PAIR + PER_AXIS * (m + 2) + PER_CANDIDATE * passing(m)
        costs[m] += (PER_ROW + PER_FEATURE * T.shape[1]) * passing(FINER * m)
    return min(costs, key=lambda m: costs[m])


def _limits(D: Matrix, n: float) -> Matrix:
    """The squared distance of the nearest of n rows, (asked, 1), from those to fewer, (asked, rows).

    Four times as many rows bring the nearest nearer by a factor that is much the same each time.
    """
    rows = D.shape[1]
    if n <= rows:
        kth = min(max(1, round(rows / n)), rows - 1)
        return np.partition(D, kth - 1, axis=1)[:, kth - 1, None]
    nearest, of_a_quarter = D.min(axis=1), D[:, ::4].min(axis=1)
    known = (nearest > 0) & np.isfinite(of_a_quarter)
    factor = np.median(nearest[known] / of_a_quarter[known]) if known.any() else 1.0
    return np.asarray(nearest * factor ** (np.log(n / rows) / np.log(4)))[:, None]
