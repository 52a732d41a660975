"""Logistic regression in the feature space of a kernel, by Newton's method on the Gram matrix.

Arrays are class by class, (p, n): one row for two classes, else k. With scores F = A K + b, probabilities
P = softmax(F) and the dual variables G = w (Y - P), the best bias for A K makes every row of G sum to 0.
G is then feasible for the dual problem, and the duality gap is the squared length of E = A - C G:

    gap = 1/(2C) tr(E K E')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.newton import ARMIJO, ROUNDING
from separatrix.solvers.logistic.softmax import replace_scores
from separatrix.types import Codes, Gram, HeldMatrix, Matrix, Vector

TILE_BYTES = 2**27  # of kernel values that are computed at a time if they are not in memory
CONVERTED = 512  # rows of float32 kernel values that are converted at a time
SHARE = 10.0  # products with K that the preconditioner of a Newton step may cost, about
CG_STEPS = 500  # of conjugate gradients in a Newton step, at most
FORCING = 1e-3  # share of the residual that a Newton step leaves at most
BIAS_TOL = 1e-14  # of the weight of all samples: what the gradient for the bias may be
STAGE_FROM = 10.0  # C times the largest k(x, x) up to which Newton steps begin at 0
STAGE_TOL = 0.1  # relative gap at which the next value of C begins
EPSILON = float(np.finfo(np.float64).eps)
NEGATIVE = 1e-6  # of the terms of EKE': below minus this it is no rounding error


class KernelLogisticFit(NamedTuple):
    """Where kernel logistic regression stopped."""

    coef: Matrix  # shape: (p, n); A
    intercept: Vector  # shape: (p,); b
    scores: Matrix  # shape: (n, p); of all rows of the Gram matrix
    objective: float
    gap: float  # duality gap over max(1, objective)
    n_iter: int
    n_products: int  # with the Gram matrix
    stop: (
        str  # "tol", "max_iter", "stopped", "rounding", or "indefinite": the problem is not convex
    )
    rounding: float = 0.0  # the part of the gap that stands for rounding


class _Point(NamedTuple):
    """Coefficients, their scores and what follows from them."""

    A: Matrix  # shape: (p, n)
    F: Matrix  # shape: (p, n); A K
    bias: Vector  # shape: (p,); the best for F
    residuals: Matrix  # shape: (p, n); w (P - Y) = -G
    objective: float


def solve_kernel_logistic(
    gram: Gram,  # shape: (n, n)
    y: Codes,  # shape: (n,)
    weights: Vector,  # shape: (n,); 0: a row that takes no part, but is scored
    *,
    n_classes: int,
    C: float,
    tol: float,
    max_iter: int,
    start: Matrix | None = None,
    monitor: FitMonitor | None = None,
) -> KernelLogisticFit:
    """Newton's method with preconditioned conjugate gradients, to a duality gap.

    Problem
        min over f_c in the kernel's space, b   sum_i w_i (-log p(y_i | x_i)) + 1/(2C) sum_c |f_c|^2
        p(c | x) = softmax of f_c(x) + b_c;  for two classes one f, the log odds of the second

    Given
        gram       K, held, or computed in blocks of rows for each product
        y          class codes 0..n_classes-1
        weights    w, above 0 for at least one sample of each class
        C          inverse strength of the penalty; b has none
        tol        duality gap over max(1, objective) at which to stop
        max_iter   Newton steps at most
        start      A of an earlier fit

    Returns f = sum_j A_j k(x_j, .) and b. With D = SS' the Hessian of the losses for F and b at its best,
    a step is A = C G + S v, where (1/C + S'KS) v = S'KE: symmetric and positive definite, solved by
    conjugate gradients whose every step is one product with K for all classes. The preconditioner is the
    same matrix with K by Nystroem's approximation on some rows.

    Reference: Zhu and Hastie, Kernel Logistic Regression and the Import Vector Machine, JCGS 14 (2005);
    Keerthi, Duan, Shevade and Poo, A Fast Dual Algorithm for Kernel Logistic Regression, Machine
    Learning 61 (2005).
    """
    monitor = monitor or FitMonitor()
    p = 1 if n_classes == 2 else n_classes
    products = KernelProducts(gram)
    A = np.zeros((p, len(y))) if start is None else start
    F = np.zeros_like(A) if start is None else products.exact(A)
    L = _nystroem(gram, np.flatnonzero(weights), int((SHARE * len(y) / p) ** 0.5) + 1)
    n_iter = 0
    bias: Vector = np.zeros(p)
    for stage in _stages(C, products.largest) if start is None else [C]:
        loss, wanted_gap = _Loss(y, weights, stage), tol if stage == C else STAGE_TOL
        now, gap, steps, stop = _descend(
            products, loss, loss.at(A, F, bias), L, wanted_gap, max_iter - n_iter, monitor
        )
        A, F, bias, n_iter = now.A, now.F, now.bias, n_iter + steps
        if stop not in ("tol", "rounding"):
            break
    if stage != C:  # stopped on the way: the certificate is for C
        now = _Loss(y, weights, C).at(A, F, bias)
        gap = _gap(products, now, C)[0]
    S = (now.F + now.bias[:, None]).T
    return KernelLogisticFit(
        now.A, now.bias, S, now.objective, max(gap, 0.0), n_iter, products.count, stop
    )


def _stages(C: float, largest: float) -> list[float]:
    """Values of C from a small one on, each ten times the last: far from the end Newton steps overshoot."""
    first = STAGE_FROM / max(largest, 1e-300)
    steps = int(np.ceil(np.log10(max(C / first, 1.0))))
    return [C / 10.0**step for step in range(steps, 0, -1)] + [C]


def _descend(
    products: KernelProducts,
    loss: _Loss,
    now: _Point,
    L: Matrix,
    tol: float,
    max_iter: int,
    monitor: FitMonitor,
) -> tuple[_Point, float, int, str]:
    """Newton steps for one C: where they end, the gap there, their number and why they ended."""
    C, n_iter = loss.C, 0
    while True:
        gap, K_wanted, negative = _gap(products, now, C)
        stop = _reason(gap, negative, tol, n_iter, max_iter, monitor)
        if stop:
            return now, gap, n_iter, stop
        wanted = -C * now.residuals
        hessian = _Hessian.of(now.residuals, loss.y, loss.weights)
        v, stop = _conjugate_gradients(
            products, hessian, now.F - K_wanted, 1.0 / C, L, min(FORCING, gap**0.5), monitor
        )
        if stop:
            return now, gap, n_iter, stop
        A = wanted + hessian.root(v)
        there = loss.search(now, A, products.exact(A))
        if there is None:
            return now, gap, n_iter, "rounding"
        now, n_iter = there, n_iter + 1
        monitor.step()


def _gap(products: KernelProducts, now: _Point, C: float) -> tuple[float, Matrix, bool]:
    """The relative duality gap, C G times K, and whether the gap is negative."""
    wanted = -C * now.residuals  # C G
    K_wanted = products.exact(wanted)
    E = now.A - wanted
    square = float(np.vdot(E, now.F - K_wanted))
    size = float(np.vdot(np.abs(E), np.abs(now.F) + np.abs(K_wanted)))
    lost = products.rounding(E, np.abs(now.A) + np.abs(wanted), np.dtype(np.float64))
    gap = square / (2.0 * C) / max(1.0, now.objective)
    return gap, K_wanted, square < -NEGATIVE * size - lost


def _reason(
    gap: float, negative: bool, tol: float, n_iter: int, max_iter: int, monitor: FitMonitor
) -> str:
    """Why to stop here; nothing where to go on."""
    if negative:
        return "indefinite"
    if gap <= tol:
        return "tol"
    if n_iter >= max_iter:
        return "max_iter"
    return "stopped" if monitor.should_stop() else ""


class KernelProducts:
    """Products of rows of coefficients with the Gram matrix, (p, n) -> (p, n).

    Those of conjugate gradients are in the precision of its values. Those that decide about the
    objective and its gap sum in float64, because sums over many rows lose digits.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram, self.count = gram, 0
        self.matrix = gram.matrix if isinstance(gram, HeldMatrix) else None
        self.largest = float(np.max(gram.diagonal()))

    def __call__(self, V: Matrix) -> Matrix:
        """V K."""
        self.count += 1
        V = V.astype(self.gram.dtype, copy=False)
        if self.matrix is not None:
            return (V @ self.matrix).astype(np.float64, copy=False)
        n = V.shape[1]
        return self._sum(V, rows_that_fit(8 * n, TILE_BYTES), self.gram.dtype)

    def rounding(self, U: Matrix, V: Matrix, dtype: np.dtype[Any]) -> float:
        """What rounding may add to UKV', with sums in that precision."""
        sizes = np.abs(U).sum(axis=1) @ np.abs(V).sum(axis=1)
        return float(np.finfo(dtype).eps * self.largest * sizes)

    def exact(self, V: Matrix) -> Matrix:
        """V K, summed in float64."""
        if self.gram.dtype == np.float64:
            return self(V)
        self.count += 1
        return self._sum(V, CONVERTED, np.dtype(np.float64))

    def _sum(self, V: Matrix, size: int, dtype: np.dtype[Any]) -> Matrix:
        n = V.shape[1]
        out = np.zeros(V.shape)
        for rows in row_blocks(n, size):
            out += V[:, rows] @ self.gram.tile(rows, slice(0, n)).astype(dtype, copy=False)
        return out


class _Loss:
    """The losses of scores, with the best bias, and the objective along a line."""

    def __init__(self, y: Codes, weights: Vector, C: float) -> None:
        self.y, self.weights, self.C = y, weights, C
        self.total = float(weights.sum())

    def at(self, A: Matrix, F: Matrix, bias: Vector) -> _Point:
        """The objective at A with its scores F = A K, the search for the bias begun at one."""
        value, R = self._residuals(F, bias)
        for _ in range(100):
            gradient = R.sum(axis=1)
            if np.abs(gradient).max() <= BIAS_TOL * self.total:
                break
            step = _Hessian.of(R, self.y, self.weights).inverse @ gradient
            found = self._step_of_bias(F, bias, step, value, float(np.abs(gradient).max()))
            if found is None:
                break
            bias, value, R = found
        return _Point(A, F, bias, R, value + 0.5 / self.C * float(np.vdot(A, F)))

    def _step_of_bias(
        self, F: Matrix, bias: Vector, step: Vector, value: float, size: float
    ) -> tuple[Vector, float, Matrix] | None:
        """The first of halved steps that lowers the loss or, to rounding, its gradient; None: none does."""
        for _ in range(30):
            there = bias - step
            lower, R = self._residuals(F, there)
            level = lower <= value + ROUNDING * abs(value)
            if lower < value or (level and np.abs(R.sum(axis=1)).max() < size):
                return there, lower, R
            step = step / 2.0
        return None

    def search(self, now: _Point, A: Matrix, F: Matrix) -> _Point | None:
        """The best of halved steps towards A whose objective falls enough; None if none does."""
        dA, dF = A - now.A, F - now.F
        slope = float(np.vdot(now.A + self.C * now.residuals, dF)) / self.C
        size = 1.0
        for _ in range(40):
            there = self.at(now.A + size * dA, now.F + size * dF, now.bias)
            allowed = ARMIJO * size * slope + ROUNDING * abs(now.objective)
            if slope < 0 and there.objective <= now.objective + allowed:
                return there
            size /= 2.0
        return None

    def _residuals(self, F: Matrix, bias: Vector) -> tuple[float, Matrix]:
        R = F.copy()
        return replace_scores(R, bias, self.y, self.weights), R


class _Hessian(NamedTuple):
    """D = SS' of the losses for all scores, with the bias at its best: S = S0 (1 - projection)."""

    outer: Matrix  # shape: (p, n); sqrt(w P), or sqrt(w P (1 - P)) for two classes
    unit: Matrix | None  # shape: (p, n); sqrt(P), of length 1 for each sample; None for two classes
    inverse: Matrix  # shape: (p, p); pseudo-inverse of the sum of S0 S0' over the samples

    @classmethod
    def of(cls, residuals: Matrix, y: Codes, weights: Vector) -> _Hessian:
        """From the residuals w (P - Y)."""
        P = residuals / np.where(weights > 0, weights, 1.0)
        if len(P) == 1:
            spread = np.abs(P) * (1.0 - np.abs(P))
            sums = np.array([[float(weights @ spread[0])]])
            return cls(np.sqrt(weights * spread), None, _inverse(sums))
        P[y, np.arange(len(y))] += weights > 0
        P = np.maximum(P, 0.0)
        unit, outer = np.sqrt(P), np.sqrt(weights * P)
        sums = np.diag((weights * P).sum(axis=1)) - (weights * P) @ P.T
        return cls(outer, unit, _inverse(sums))

    def root(self, v: Matrix) -> Matrix:
        """S v."""
        return self._root(self.project(v))

    def root_t(self, u: Matrix) -> Matrix:
        """S' u."""
        return self.project(self._root_t(u))

    def project(self, v: Matrix) -> Matrix:
        """v without the part that the bias makes up for."""
        return v - self._root_t((self.inverse @ self._root(v).sum(axis=1))[:, None])

    def _root(self, v: Matrix) -> Matrix:
        if self.unit is not None:
            v = v - self.unit * np.einsum("cn,cn->n", self.unit, v)
        return np.asarray(self.outer * v)

    def _root_t(self, u: Matrix) -> Matrix:
        u = self.outer * u
        if self.unit is not None:
            u -= self.unit * np.einsum("cn,cn->n", self.unit, u)
        return np.asarray(u)

    def preconditioner(self, L: Matrix, ridge: float) -> Callable[[Matrix], Matrix]:
        """The inverse of ridge + S0'LL'S0, projected; L is (n, r)."""
        p, r = len(self.outer), L.shape[1]
        N = np.empty((p * r, p * r))
        for c in range(p):
            for other in range(c + 1):  # cho_factor reads the lower triangle
                own, others = slice(c * r, (c + 1) * r), slice(other * r, (other + 1) * r)
                N[own, others] = (L.T * self._entries(c, other)) @ L
        # entries are differences of terms of this size: below their rounding, N may have no factor
        size = float((self.outer**2 @ L**2).max(initial=0.0))
        N.flat[:: p * r + 1] += max(ridge, p * r * EPSILON * size)
        factor = cho_factor(N, lower=True, overwrite_a=True, check_finite=False)

        def apply(v: Matrix) -> Matrix:
            inside = cho_solve(factor, (self._root(v) @ L).ravel(), check_finite=False)
            return self.project((v - self._root_t(inside.reshape(p, r) @ L.T)) / ridge)

        return apply

    def _entries(self, c: int, other: int) -> Vector:
        """Those of S0 S0' for two classes of each sample, (n,)."""
        own = self.outer[c] ** 2 if c == other else 0.0
        if self.unit is None:
            return np.asarray(own)
        product = self.outer[c] * self.outer[other] * self.unit[c] * self.unit[other]
        return np.asarray(own - product)


def _inverse(sums: Matrix) -> Matrix:
    return np.linalg.pinv(sums, rcond=1e-14, hermitian=True)


def _nystroem(gram: Gram, rows: Codes, most: int) -> Matrix:
    """L, (n, r), with K ~ LL': the projection of all samples onto some, spread evenly over the rows."""
    chosen = rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.intp)]
    columns = np.asarray(gram.tile(slice(0, gram.shape[0]), chosen), dtype=np.float64)
    s, V = eigh(columns[chosen], check_finite=False)
    kept = s > len(s) * 1e-7 * max(s[-1], 0.0) if gram.dtype == np.float32 else s > 1e-12 * s[-1]
    return np.asarray(columns @ (V[:, kept] / np.sqrt(s[kept])))


def _conjugate_gradients(
    products: KernelProducts,
    hessian: _Hessian,
    KE: Matrix,  # shape: (p, n)
    ridge: float,
    L: Matrix,  # shape: (n, r)
    forcing: float,
    monitor: FitMonitor,
) -> tuple[Matrix, str]:
    """v with (ridge + S'KS) v = S'KE to a share of the residual.

    The text is "indefinite" where a direction has no positive curvature, "stopped" where told to.
    """
    precondition = hessian.preconditioner(L, ridge)
    r = hessian.root_t(KE)
    v = np.zeros_like(r)
    z = precondition(r)
    direction, rz = z, float(np.vdot(r, z))
    first = rz
    for _ in range(CG_STEPS):
        if monitor.should_stop():
            return v, "stopped"
        along = hessian.root(direction)
        curved = ridge * direction + hessian.root_t(products(along))
        curvature = float(np.vdot(direction, curved))
        if curvature <= 0.0:
            negative = curvature < -products.rounding(along, along, products.gram.dtype)
            return v, "indefinite" if negative else ""
        size = rz / curvature
        v += size * direction
        r -= size * curved
        z = precondition(r)
        rz, before = float(np.vdot(r, z)), rz
        if rz <= forcing**2 * first:
            break
        direction = z + (rz / before) * direction
    return v, ""
