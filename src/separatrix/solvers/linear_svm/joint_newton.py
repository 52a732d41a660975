"""Newton's method for all boundaries at once: the squared hinge over dense samples.

The boundaries of one-vs-rest differ in their sides only. So margins and gradients of all of them are one
matrix product each, the first curvature is the same for all, and with few features so is the sum that
gives the curvatures: of the products of pairs of features, weighted by what bends each boundary.

Symbols: as in `primal_newton`, with one row for each of p boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from separatrix.runtime.blocks import MEBIBYTE
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_on_one_thread, in_threads
from separatrix.solvers.linear_svm.boundary_stops import BoundaryStops
from separatrix.solvers.linear_svm.dual_descent import (
    LinearFit,
    LinearProblem,
    LinearSamples,
    certify,
)
from separatrix.solvers.linear_svm.newton_products import SOLVED
from separatrix.solvers.linear_svm.primal_newton import (
    HingeCurvature,
    Point,
    line_length,
    solve_definite,
)
from separatrix.types import Codes, Flags, Matrix, Vector

PAIRS = 300_000  # of samples and features, for each boundary, up to which their products pay
MANY_FEATURES = 256  # from which on conjugate gradients beat a curvature for each boundary
THIN = 3  # cost of an operation of a product with few columns, relative to other products
ROUNDS = 10.0  # of conjugate gradients that are expected first
PAIRS_BYTES = 32 * MEBIBYTE  # of the products of pairs of features
CURVATURE_BYTES = 256 * MEBIBYTE  # of the curvatures of all boundaries that are learned together


@dataclass
class Boundaries:
    """All boundaries at their present points."""

    samples: LinearSamples
    Y: Matrix  # shape: (p, n); +1 or -1
    price: Matrix  # shape: (p, n)
    bias_step: float
    W: Matrix  # shape: (p, d)
    b: Vector  # shape: (p,)
    Z: Matrix  # shape: (p, n)

    def __post_init__(self) -> None:
        self.bias_price = 1.0 / self.bias_step if 0 < self.bias_step < np.inf else 0.0
        self.bias_scale = self.bias_step if np.isfinite(self.bias_step) else 1.0
        self.slope = 2.0 * self.price
        self.raw, self.G = np.empty_like(self.Z), np.empty_like(self.W)
        self.g_bias = np.zeros(len(self.b))
        self.update(np.arange(len(self.b)))

    def update(self, some: Codes) -> None:
        """Forces and gradients of some boundaries, whose margins are known."""
        self.raw[some] = self.slope[some] * (1.0 - self.Z[some])
        pull = np.maximum(self.raw[some], 0.0) * self.Y[some]
        self.G[some] = self.W[some] - pull @ self.samples.X
        if self.bias_step:
            self.g_bias[some] = self.bias_price * self.b[some] - pull.sum(axis=1)

    def move_to(self, W: Matrix, b: Vector) -> None:
        """Set the weights and biases of all."""
        self.W, self.b = W.copy(), b.copy()
        self.Z = (W @ self.samples.X.T + b[:, None]) * self.Y
        self.update(np.arange(len(b)))

    def squares(self) -> Vector:
        """|g|^2 of each, with the bias as the weight of its constant feature."""
        G = self.G
        return np.asarray(np.einsum("ij,ij->i", G, G) + self.bias_scale * self.g_bias**2)

    def primal(self) -> Vector:
        """The objective of each."""
        slack = np.maximum(0.0, 1.0 - self.Z)
        penalty = np.einsum("ij,ij->i", self.W, self.W) + self.bias_price * self.b**2
        return np.asarray(0.5 * penalty + np.einsum("ij,ij,ij->i", self.price, slack, slack))

    def problem(self, c: int) -> LinearProblem:
        """One of them."""
        return LinearProblem(
            self.samples, self.Y[c], self.price[c], "squared_hinge", self.bias_step
        )


class NewtonDirections(NamedTuple):
    """Newton's directions of some boundaries."""

    V: Matrix  # shape: (some, d)
    bias: Vector  # shape: (some,)


def solve_newton_jointly(
    samples: LinearSamples,
    Y: Matrix,
    price: Matrix,
    *,
    bias_step: float,
    tol: float,
    max_iter: int,
    threads: int = 1,
    start: tuple[Matrix, Vector] | None = None,
    monitor: FitMonitor | None = None,
) -> list[LinearFit]:
    """`solve_newton` with the squared hinge for several boundaries over the same dense samples.

    Given
        Y          sides of the samples, (p, n), +1 or -1
        price      of each sample at each boundary, (p, n), above 0
        start      weights, (p, d), and biases, (p,), to begin with
        the rest   as in `solve_newton`

    Returns a fit for each boundary.
    """
    monitor = monitor or FitMonitor()
    d = samples.X.shape[1]
    at_once = max(1, CURVATURE_BYTES // (8 * d * d))
    fits = []
    for first in range(0, len(Y), at_once):
        part = slice(first, first + at_once)
        size = len(Y[part])
        zeros = np.zeros((size, d)), np.zeros(size), np.zeros((size, len(samples.X)))
        at = Boundaries(samples, Y[part], price[part], bias_step, *zeros)
        begin = None if start is None else (start[0][part], start[1][part])
        fits += _minimise(at, begin, tol, max_iter, threads, monitor)
    return fits


def _minimise(
    at: Boundaries,
    begin: tuple[Matrix, Vector] | None,
    tol: float,
    max_iter: int,
    threads: int,
    monitor: FitMonitor,
) -> list[LinearFit]:
    """Newton steps until each boundary is good enough."""
    n = at.Y.shape[1]
    above = np.count_nonzero(at.Y > 0, axis=1)
    fewer = np.maximum(1, np.minimum(above, n - above))
    stops = BoundaryStops(fewer / n * np.sqrt(at.squares()), tol, max_iter)
    if begin is not None:
        at.move_to(*begin)
    curvatures = Curvatures(at, threads)
    for step in range(max_iter + 1):
        stops.review(step, at.squares(), at.primal())
        active = stops.active
        if step == max_iter or not len(active):
            break
        towards = curvatures.directions(active, monitor)
        if monitor.should_stop():
            stops.end(np.ones(len(active), np.bool_), step, "stopped")
            break
        lengths = _advance(at, active, towards, threads)
        monitor.step()
        stops.end(lengths == 0.0, step, "flat")
    stops.close()
    return _certify_all(at, stops.reached, stops.steps, stops.words)


def _certify_all(at: Boundaries, reached: Vector, steps: Codes, stops: Any) -> list[LinearFit]:
    """The fits with both objectives, as `certify` computes them."""
    A = np.maximum(at.raw, 0.0)
    if np.isinf(at.bias_step):
        return [
            certify(
                at.problem(c),
                at.W[c],
                float(at.b[c]),
                A[c],
                n_iter=int(steps[c]),
                stop=str(stops[c]),
                violation=float(reached[c]),
            )
            for c in range(len(A))
        ]
    own = at.W - at.G  # the weights of the dual variables
    penalty = np.einsum("ij,ij->i", own, own) + np.einsum("ij,ij,ij->i", A, A, 0.5 / at.price)
    penalty += at.bias_step * np.einsum("ij,ij->i", A, at.Y) ** 2
    above, below = at.primal(), A.sum(axis=1) - 0.5 * penalty
    fits = zip(at.W, at.b, A, above, below, reached, steps, stops, strict=True)
    return [
        LinearFit(w, float(b), a, float(P), float(D), float(violation), int(n_iter), str(stop))
        for w, b, a, P, D, violation, n_iter, stop in fits
    ]


def _advance(at: Boundaries, some: Codes, towards: NewtonDirections, threads: int) -> Vector:
    """Move some boundaries along their directions, as far as is best; returns how far."""
    V, v_bias = towards
    dZ = V @ at.samples.X.T
    dZ += v_bias[:, None]
    dZ *= at.Y[some]
    linear = np.einsum("ij,ij->i", at.W[some], V) + at.bias_price * at.b[some] * v_bias
    quadratic = np.einsum("ij,ij->i", V, V) + at.bias_price * v_bias**2
    cap = np.full(dZ.shape[1], np.inf)

    def length(c: int) -> float:
        rate = at.slope[some[c]] * dZ[c]
        own = at.raw[some[c]], rate, dZ[c], cap, linear[c], quadratic[c]
        return float(line_length(*own))

    lengths = np.array(in_threads(length, range(len(some)), threads=threads))
    at.W[some] += lengths[:, None] * V
    at.b[some] += lengths * v_bias
    dZ *= lengths[:, None]
    at.Z[some] += dZ
    at.update(some)
    return lengths


def _pairs_of(X: Matrix) -> Matrix:
    """Products of all pairs of features, (n, d (d + 1) / 2), as `np.triu_indices` orders them."""
    n, d = X.shape
    pairs, stop = np.empty((n, d * (d + 1) // 2)), 0
    for j in range(d):
        start, stop = stop, stop + d - j
        np.multiply(X[:, j:], X[:, j, None], out=pairs[:, start:stop])
    return pairs


class Curvatures:
    """The second derivatives of all boundaries."""

    def __init__(self, at: Boundaries, threads: int) -> None:
        self._at, self._threads = at, threads
        n, d = at.samples.X.shape
        self._upper = np.triu_indices(d)
        self._pairs: Matrix | None = None
        if n * d * d <= min(PAIRS * len(at.Y), PAIRS_BYTES // 4):
            self._pairs = _pairs_of(at.samples.X)
        self._kept: list[HingeCurvature] = []
        self._factor: Any = None
        self._rounds = np.full(len(at.Y), ROUNDS)  # of conjugate gradients that each took last

    def directions(self, some: Codes, monitor: FitMonitor) -> NewtonDirections:
        """Newton's directions of some boundaries."""
        if self._pairs is not None:
            return self._from_pairs(some, self._pairs)
        if not self._kept:
            self._begin(monitor)
        direct = self._direct_is_cheaper(some)
        V, bias = np.empty((len(some), self._at.W.shape[1])), np.empty(len(some))
        for chosen, find in ((direct, self._by_factoring), (~direct, self._from_products)):
            if chosen.any():
                V[chosen], bias[chosen] = find(some[chosen], monitor)
        return NewtonDirections(V, bias)

    def _direct_is_cheaper(self, some: Codes) -> Flags:
        """Whether to update and factor the curvature of each rather than take conjugate gradients."""
        at = self._at
        n, d = at.samples.X.shape
        if d < MANY_FEATURES:
            return np.ones(len(some), np.bool_)
        rows = np.array([self._kept[c].rows_to_add(at.raw[c] > 0.0) for c in some])
        return np.asarray(rows * d + d * d / 3 < 4 * THIN * n * self._rounds[some])

    def _by_factoring(self, some: Codes, monitor: FitMonitor) -> NewtonDirections:
        at = self._at

        def direction(c: int) -> tuple[Vector, float]:
            point = Point(at.W[c], at.b[c], at.Z[c], at.raw[c], at.raw[c], at.G[c], at.g_bias[c])
            return self._kept[c].direction(at.raw[c] > 0.0, at.slope[c], point, monitor)

        if self._threads > 1 and len(some) > 1:
            with blas_on_one_thread():
                found = in_threads(direction, some, threads=self._threads, monitor=monitor)
        else:
            found = [direction(c) for c in some]
        return NewtonDirections(
            np.stack([v for v, _ in found]), np.array([bias for _, bias in found])
        )

    def _begin(self, monitor: FitMonitor) -> None:
        """At first all rows bend all boundaries: those of equal prices share the sum."""
        at = self._at
        self._kept = [HingeCurvature(at.problem(c)) for c in range(len(at.Y))]
        if at.W.shape[1] >= MANY_FEATURES:
            return
        everyone: Flags = np.ones(at.Y.shape[1], np.bool_)
        for c, own in enumerate(self._kept):
            if c and np.array_equal(at.price[c], at.price[0]):
                own.copy(self._kept[0], at.slope[c])
            else:
                own.follow(everyone, at.slope[c], monitor)

    def _from_pairs(self, some: Codes, pairs: Matrix) -> NewtonDirections:
        at, d = self._at, self._at.W.shape[1]
        weights = at.slope[some] * (at.raw[some] > 0.0)
        size = d + 1 if at.bias_step else d
        M = np.zeros((len(some), size, size))
        first, second = self._upper
        M[:, first, second] = M[:, second, first] = weights @ pairs
        diagonal = np.arange(d)
        M[:, diagonal, diagonal] += 1.0
        g = at.G[some]
        if at.bias_step:
            M[:, :d, d] = M[:, d, :d] = weights @ at.samples.X
            M[:, d, d] = weights.sum(axis=1) + at.bias_price
            g = np.concatenate([g, at.g_bias[some, None]], axis=1)
        try:
            V = -np.linalg.solve(M, g[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            V = -np.stack([solve_definite(own, of) for own, of in zip(M, g, strict=True)])
        return NewtonDirections(V[:, :d], V[:, d] if at.bias_step else np.zeros(len(some)))

    def _from_products(self, some: Codes, monitor: FitMonitor) -> NewtonDirections:
        """Conjugate gradients, preconditioned by the curvature where all rows bend."""
        at, d = self._at, self._at.W.shape[1]
        if self._factor is None:
            self._factor = cho_factor(self._where_all_bend(monitor), check_finite=False)
        weights = at.slope[some] * (at.raw[some] > 0.0)
        # a little for a free bias, which nothing holds where no row bends
        price = at.bias_price or 1e-10 * float(np.maximum(1.0, weights.sum(axis=1)).max())
        rest = -np.concatenate([at.G[some], at.g_bias[some, None]], axis=1)
        V = np.zeros_like(rest)
        wanted = SOLVED**2 * np.einsum("ij,ij->i", rest, rest)
        ahead = self._precondition(rest)
        along, product = ahead, np.einsum("ij,ij->i", rest, ahead)
        left = np.arange(len(some))
        for number in range(1, d + 2):  # as many as there are weights, with the bias
            u = along[:, :d] @ at.samples.X.T + along[:, d:]
            u *= weights[left]
            image = np.concatenate([u @ at.samples.X, u.sum(axis=1, keepdims=True)], axis=1)
            image += along * np.append(np.ones(d), price)
            if not at.bias_step:
                image[:, d] = 0.0
            step = (product / np.einsum("ij,ij->i", along, image))[:, None]
            V[left] += step * along
            rest = rest - step * image
            self._rounds[some[left]] = number
            going = np.einsum("ij,ij->i", rest, rest) > wanted[left]
            if not going.any() or monitor.should_stop():
                break
            left, rest, along, before = left[going], rest[going], along[going], product[going]
            ahead = self._precondition(rest)
            product = np.einsum("ij,ij->i", rest, ahead)
            along = ahead + (product / before)[:, None] * along
        return NewtonDirections(V[:, :d], V[:, d])

    def _precondition(self, rest: Matrix) -> Matrix:
        return np.asarray(cho_solve(self._factor, rest.T, check_finite=False).T)

    def _where_all_bend(self, monitor: FitMonitor) -> Matrix:
        """The second derivative with the mean slope of each row, and the bias last."""
        at, d = self._at, self._at.W.shape[1]
        mean = HingeCurvature(at.problem(0))
        mean.follow(np.ones(at.Y.shape[1], np.bool_), at.slope.mean(axis=0), monitor)
        M = np.zeros((d + 1, d + 1), order="F")
        M[:d, :d], M[:d, d] = mean.H, mean.border[:d]
        M[d, d] = mean.border[d] + at.bias_price
        if not at.bias_step:
            M[:, d] = np.append(np.zeros(d), 1.0)
        M[np.diag_indices(d)] += 1.0
        return M
