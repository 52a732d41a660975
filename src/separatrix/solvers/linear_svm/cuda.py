"""Newton's method for the squared hinge on a GPU: all boundaries over the same samples at once, in float64.

The torch counterpart of `joint_newton`: same objective, same rules for the end, same certificate. The
curvature of each boundary is a product of the rows inside its margin, which a GPU is fast at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.boundary_stops import BoundaryStops
from separatrix.solvers.linear_svm.dual_descent import LinearFit
from separatrix.types import Codes, Vector

Tensor = Any
CURVATURE_BYTES = 2**29  # of rows that are scaled at a time
LINE_STEPS = 60  # of the search for the best length of a step, at most
LINE_TOL = 1e-10  # of the slope at the start, that is left at most
UNHELD = 1e-10  # curvature of a free bias that no row holds, in units of the rows'


@dataclass
class DeviceBoundaries:
    """All boundaries at their present points, as tensors."""

    X: Tensor  # shape: (n, d)
    Y: Tensor  # shape: (p, n); +1 or -1
    price: Tensor  # shape: (p, n)
    bias_step: float

    def __post_init__(self) -> None:
        p, (_, d) = len(self.Y), self.X.shape
        self.free = bool(np.isinf(self.bias_step))
        self.bias_price = 1.0 / self.bias_step if self.bias_step and not self.free else 0.0
        self.bias_scale = 1.0 if self.free else self.bias_step
        self.W, self.b = self.X.new_zeros((p, d)), self.X.new_zeros(p)
        self.Z = torch.zeros_like(self.price)
        self.slope = 2.0 * self.price
        self.update()

    def update(self) -> None:
        """Forces and gradients, where margins are known."""
        self.raw = self.slope * (1.0 - self.Z)
        pull = self.raw.clamp(min=0.0).mul_(self.Y)
        self.G = self.W - pull @ self.X
        self.g_bias = self.bias_price * self.b - pull.sum(dim=1)
        if not self.bias_step:
            self.g_bias.zero_()

    def squares(self) -> Vector:
        """|g|^2 of each, with the bias as the weight of its constant feature."""
        return _host(self.G.square().sum(dim=1) + self.bias_scale * self.g_bias.square())

    def primal(self) -> Vector:
        """The objective of each."""
        slack = (1.0 - self.Z).clamp_(min=0.0)
        penalty = self.W.square().sum(dim=1) + self.bias_price * self.b.square()
        return _host(0.5 * penalty + (self.price * slack.square_()).sum(dim=1))

    def dual(self) -> Vector:
        """The objective of the dual variables that the margins give, of each: a lower bound."""
        A = self.raw.clamp(min=0.0)
        if self.free:
            A = _balanced(A, self.Y)
        own = (A * self.Y) @ self.X
        cost = torch.where(self.price > 0, 0.5 / self.price, 0.0)
        penalty = own.square().sum(dim=1) + (A.square() * cost).sum(dim=1)
        if not self.free:
            penalty = penalty + self.bias_step * (A * self.Y).sum(dim=1).square()
        return _host(A.sum(dim=1) - 0.5 * penalty)


def solve_newton_on(
    X: Tensor,
    Y: Tensor,
    price: Tensor,
    *,
    bias_step: float,
    tol: float,
    max_iter: int,
    monitor: FitMonitor | None = None,
) -> list[LinearFit]:
    """`solve_newton_jointly` over samples X, (n, d), that are a tensor in float64.

    Given
        Y          sides of the samples, (p, n), +1 or -1, on the same device
        price      of each sample at each boundary, (p, n), at least 0, likewise
        the rest   as in `solve_newton_jointly`

    Returns a fit for each boundary; its dual variables stay on the device and are left out.
    """
    monitor = monitor or FitMonitor()
    at = DeviceBoundaries(X, Y, price, bias_step)
    priced = price > 0
    above, total = _host(torch.stack([((Y > 0) & priced).sum(dim=1), priced.sum(dim=1)]))
    fewer = np.maximum(1, np.minimum(above, total - above))
    stops = BoundaryStops(fewer / total * np.sqrt(at.squares()), tol, max_iter)
    for step in range(max_iter + 1):
        stops.review(step, at.squares(), at.primal())
        active = stops.active
        if step == max_iter or not len(active):
            break
        moved = _advance(at, active, monitor)
        if moved is None:
            stops.end(np.ones(len(active), np.bool_), step, "stopped")
            break
        monitor.step()
        stops.end(~moved, step, "flat")
    stops.close()
    W, b, nothing = _host(at.W), _host(at.b), np.empty(0)
    fits = zip(W, b, at.primal(), at.dual(), stops.reached, stops.steps, stops.words, strict=True)
    return [
        LinearFit(w, float(c), nothing, float(P), float(D), float(r), int(s), str(stop))
        for w, c, P, D, r, s, stop in fits
    ]


def _advance(at: DeviceBoundaries, some: Codes, monitor: FitMonitor) -> Any:
    """Move some boundaries along Newton's directions, as far as is best; returns which of them moved.

    None if the time is over before all directions are known; then none has moved.
    """
    V, bias = at.X.new_zeros((len(some), at.X.shape[1])), at.X.new_zeros(len(some))
    for number, c in enumerate(some.tolist()):
        if monitor.should_stop():
            return None
        V[number], bias[number] = _direction(at, c)
    index = torch.as_tensor(some, device=at.X.device)
    dZ = (V @ at.X.T).add_(bias[:, None]).mul_(at.Y[index])
    linear = (at.W[index] * V).sum(dim=1) + at.bias_price * at.b[index] * bias
    bend = V.square().sum(dim=1) + at.bias_price * bias.square()
    lengths = _line_lengths(at.Z[index], dZ, at.slope[index], linear, bend)
    at.W[index] += lengths[:, None] * V
    at.b[index] += lengths * bias
    at.Z[index] += lengths[:, None] * dZ
    at.update()
    return _host(lengths) > 0.0


def _direction(at: DeviceBoundaries, c: int) -> tuple[Tensor, Any]:
    """Newton's direction of one boundary, and of its bias."""
    d = at.X.shape[1]
    rows = (at.raw[c] > 0.0).nonzero()[:, 0]
    root = at.slope[c, rows].sqrt()
    M = at.X.new_zeros((d + 1, d + 1))
    queue = BoundedQueue(at.X.device)
    for part in row_blocks(len(rows), rows_that_fit(8 * d, CURVATURE_BYTES)):
        Z = at.X[rows[part]].mul_(root[part, None])
        M[:d, :d] += Z.T @ Z
        M[:d, d] += root[part] @ Z
        queue.wait()
    M[d, :d] = M[:d, d]
    held = root.square().sum()
    M[d, d] = held + (at.bias_price or UNHELD * (1.0 + held))
    M.diagonal()[:d] += 1.0
    g = torch.cat([at.G[c], at.g_bias[c, None]])
    if not at.bias_step:
        M, g = M[:d, :d], g[:d]
    factor, failed = torch.linalg.cholesky_ex(M)
    solved = torch.cholesky_solve(g[:, None], factor) if not bool(failed) else None
    if solved is None:
        solved = torch.linalg.lstsq(M, g[:, None]).solution
    towards = -solved[:, 0]
    return towards[:d], towards[d] if at.bias_step else 0.0


def _line_lengths(Z: Tensor, dZ: Tensor, slope: Tensor, linear: Tensor, bend: Tensor) -> Tensor:
    """The lengths that minimise the objective along each direction, (some,).

    Its derivative rises with the length, in straight pieces: Newton's method between two bounds.
    """

    def derivative(t: Tensor) -> tuple[Tensor, Tensor]:
        slack = 1.0 - Z - t[:, None] * dZ
        force = torch.where(slack > 0, slope * dZ, 0.0)
        return linear + t * bend - (force * slack).sum(dim=1), bend + (force * dZ).sum(dim=1)

    low, high = torch.zeros_like(linear), torch.full_like(linear, torch.inf)
    start, _ = derivative(low)
    wanted, t = LINE_TOL * start.abs(), torch.ones_like(linear)
    for _ in range(LINE_STEPS):
        g, h = derivative(t)
        if bool((g.abs() <= wanted).all()):
            break
        low, high = torch.where(g < 0, t, low), torch.where(g < 0, high, t)
        ahead = t - g / torch.where(h > 0, h, 1.0)
        middle = torch.where(high.isinf(), 2.0 * t, 0.5 * (low + high))
        ahead = torch.where((ahead > low) & (ahead < high), ahead, middle)
        t = torch.where(g.abs() <= wanted, t, ahead)
    return torch.where(start < 0, t, 0.0)


def _balanced(A: Tensor, Y: Tensor) -> Tensor:
    """Dual variables with the heavier side of each boundary scaled down, so that sum_i a_i y_i = 0."""
    above, below = (A * (Y > 0)).sum(dim=1), (A * (Y < 0)).sum(dim=1)
    share = torch.minimum(above, below) / torch.maximum(above, below).clamp(min=1e-300)
    heavier = torch.where(above > below, 1.0, -1.0)
    return torch.where(heavier[:, None] == Y, A * share[:, None], A)


def _host(values: Tensor) -> Vector:
    return np.asarray(as_numpy(values))
