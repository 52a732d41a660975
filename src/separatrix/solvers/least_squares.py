"""Least squares with a ridge, from moments: one factorisation serves every ridge.

With samples about their mean, A = sum of w (x - m)(x - m)' and B = sum of w (x - m)(y - ybar)', the
weights are W = (A + lambda I)^-1 B and the bias ybar - W'm: the bias is free of the ridge. Targets are
+1 and -1, or one column for each class with 1 for the own and 0 for the others; B then needs only
the class means. With A = V diag(s) V' every ridge costs one product with V.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from separatrix.runtime.interruptible import eigh_by_division, lower_cholesky
from separatrix.runtime.sums import dense
from separatrix.solvers.moments import Moments
from separatrix.types import Codes, Matrix, Vector

TINY = 1e-15  # times d and the largest eigenvalue: rounding of an eigenvalue 0
ROUNDING = 1e-13  # times d and the largest eigenvalue: eigenvalues below count as 0


class LeastSquaresFit(NamedTuple):
    """Weights and biases, with the ridge and the rank."""

    coef: Matrix  # shape: (p, d)
    intercept: Vector  # shape: (p,)
    ridge: Vector  # shape: (p,)
    rank: int  # of the scatter; d if it was not computed


class Normal(NamedTuple):
    """The normal equations of a training set about its mean."""

    A: Matrix  # shape: (d, d)
    B: Matrix  # shape: (d, p)
    mean: Vector  # shape: (d,)
    target_mean: Vector  # shape: (p,)
    weight: float

    def bias(self, W: Matrix) -> Vector:  # (d, p) -> (p,)
        """The bias that makes the mean of the residuals 0."""
        return np.asarray(self.target_mean - self.mean @ W)


def normal_equations(moments: Moments) -> Normal:
    """From moments of classes; two classes have one target, -1 and +1, several one column each."""
    k = len(moments.weight)
    T = targets(np.arange(k), k)
    total = float(moments.weight.sum())
    mean, target_mean = moments.grand_mean, moments.weight @ T / total
    A = moments.pooled() + moments.between()
    B = (moments.mean - mean).T @ (moments.weight[:, None] * (T - target_mean))
    return Normal(A, B, mean, target_mean, total)


def solve_ridge(normal: Normal, ridge: float) -> LeastSquaresFit:
    """Minimise sum of w (y - <w, x> - b)^2 + ridge |w|^2 for every target; the shortest w if several do.

    Problem
        min over W, b of  sum_i w_i |y_i - W'x_i - b|^2 + lambda |W|^2

    Given
        normal     A = sum of w (x - m)(x - m)' and B = sum of w (x - m)(y - ybar)'
        ridge      lambda, at least 0

    Returns W = (A + lambda I)^-1 B by Cholesky's factorisation. Where A + lambda I is singular to
    rounding, W = A^+ B: of all that are least, the shortest.
    """
    A = normal.A.copy()
    A.flat[:: len(A) + 1] += ridge
    scale = 1.0 / np.sqrt(np.where(np.diag(A) > 0, np.diag(A), 1.0))  # units in which all vary by 1
    A *= scale
    A *= scale[:, None]
    try:
        factor = lower_cholesky(A)
        if (np.diag(factor[0]) ** 2).min() > len(A) * ROUNDING:
            W = scale[:, None] * cho_solve(factor, scale[:, None] * normal.B, check_finite=False)
            return _fit(normal, W, np.full(normal.B.shape[1], ridge), len(A))
    except LinAlgError:
        pass
    spectrum = spectrum_of(normal)
    return _fit(normal, spectrum.weights(ridge), np.full(normal.B.shape[1], ridge), spectrum.rank)


class ScatterSpectrum(NamedTuple):
    """The normal equations in the axes of the scatter: A = V diag(s) V', C = V'B."""

    s: Vector  # shape: (r,); above 0
    V: Matrix  # shape: (d, r)
    C: Matrix  # shape: (r, p)

    @property
    def rank(self) -> int:
        """Number of axes along which samples differ."""
        return len(self.s)

    def weights(self, ridge: float | Vector) -> Matrix:
        """W for one ridge, or for one ridge a target, (d, p)."""
        return np.asarray(self.V @ (self.C / (self.s[:, None] + ridge)))

    def positions(self, X: Any, mean: Vector) -> Matrix:
        """Samples along the axes, about their mean, (n, r)."""
        Z = dense(X) @ self.V
        Z -= mean @ self.V
        return np.asarray(Z)


def spectrum_of(normal: Normal) -> ScatterSpectrum:
    """The factorisation that all ridges share."""
    s, V = eigh_by_division(normal.A)
    kept = s > max(len(s), 10) * TINY * s[-1]
    return ScatterSpectrum(s[kept], V[:, kept], V[:, kept].T @ normal.B)


def solve_within(normal: Normal, max_norm: float) -> LeastSquaresFit:
    """Least squares under |w|^2 <= max_norm, for each target.

    Problem
        min over w, b of  sum_i w_i (y_i - <w, x_i> - b)^2   subject to   |w|^2 <= C

    Given
        normal     the normal equations; A = V diag(s) V', c = V'b
        max_norm   C, above 0

    Returns the plain solution where it is short enough. Otherwise that of the ridge at which
    |w|^2 = sum of c_j^2 / (s_j + lambda)^2 = C, the secular equation, by Newton's method on
    1/|w| - 1/sqrt(C), which is nearly straight in lambda and is met from one side.

    Reference: Reinsch, Smoothing by Spline Functions II, Numerische Mathematik 16 (1971).
    """
    spectrum = spectrum_of(normal)
    ridges = ridges_within(spectrum, max_norm)
    return _fit(normal, spectrum.weights(ridges), ridges, spectrum.rank)


def ridges_within(spectrum: ScatterSpectrum, max_norm: float) -> Vector:
    """The least ridge of each target under which the weights are no longer than allowed, (p,)."""
    return np.array([_secular(spectrum.s, c, max_norm) for c in spectrum.C.T])


def _secular(s: Vector, c: Vector, max_norm: float) -> float:
    """The ridge at which the squared length of the weights is max_norm; 0 where it is below."""
    ridge = 0.0
    for _ in range(100):
        squares = (c / (s + ridge)) ** 2
        length = float(squares.sum())
        if length <= max_norm * (1.0 + 1e-14):
            return ridge
        slope = float((squares / (s + ridge)).sum())
        step = (np.sqrt(length / max_norm) - 1.0) * length / slope
        if step <= 1e-16 * ridge:
            return ridge
        ridge += step
    return ridge


class SampleSpectrum(NamedTuple):
    """Spectrum from inner products of samples, for fewer samples than features."""

    spectrum: ScatterSpectrum  # without V: shape (0, r)
    U: Matrix  # shape: (n, r); eigenvectors of the products
    root: Vector  # shape: (n,); square root of the weights

    def coefficients(self, ridge: float | Vector) -> Matrix:
        """One number for each sample, (n, p): W is the samples about their mean times these."""
        s, C = self.spectrum.s[:, None], self.spectrum.C
        return np.asarray(self.root[:, None] * (self.U @ (C / np.sqrt(s) / (s + ridge))))

    def positions(self) -> Matrix:
        """The samples along the axes, about their mean, (n, r)."""
        return np.asarray(self.U * np.sqrt(self.spectrum.s) / self.root[:, None])


def rows_spectrum(K: Matrix, T: Matrix, weights: Vector) -> SampleSpectrum:
    """From K = sum over features of (x - m)(z - m), (n, n), and targets about their mean, (n, p).

    K diag(w) and the scatter share their eigenvalues; V = (X - m)' diag(sqrt w) U / sqrt(s). K becomes
    scratch.
    """
    root = np.sqrt(weights)
    K *= root[:, None]
    K *= root
    s, U = eigh_by_division(K, overwrite=True)
    kept = s > max(len(s), 10) * TINY * s[-1]
    if not kept.all():
        s, U = s[kept], U[:, kept]
    C = np.sqrt(s)[:, None] * (U.T @ (root[:, None] * T))
    return SampleSpectrum(ScatterSpectrum(s, np.empty((0, len(s))), C), U, root)


class RidgePath(NamedTuple):
    """Leave-one-out results of each of r ridges."""

    ridges: Vector  # shape: (r,)
    error: Vector  # shape: (r,); weighted share of samples mistaken by the fit without them
    squared_error: Vector  # shape: (r,); weighted mean over samples of the summed squared residuals


class LeaveOneOut(NamedTuple):
    """Leave-one-out sums of some samples, for each of r ridges."""

    weight: float
    mistaken: Vector  # shape: (r,)
    squares: Vector  # shape: (r,)


def leave_one_out(
    Z: Matrix,  # shape: (n, r); becomes scratch
    y: Codes,  # shape: (n,)
    weights: Vector,  # shape: (n,); above 0
    *,
    spectrum: ScatterSpectrum,
    target_mean: Vector,
    total: float,
    ridges: Vector,
) -> LeaveOneOut:
    """Leave-one-out predictions for every ridge, without refitting.

    Problem
        r_i = y_i - f_(-i)(x_i),  where f_(-i) is the fit to all samples but i

    Given
        Z          some samples along the axes of the scatter of all, z = V'(x - m)
        y, weights their class codes and weights
        spectrum, target_mean, total    of all samples, W = total their summed weight
        ridges     each lambda

    Returns sums over these samples. The fit is linear in the targets, so
    r_i = (y_i - f(x_i)) / (1 - h_i) with the leverage h_i = w_i (1/W + sum_j z_ij^2 / (s_j + lambda)).
    A sample with leverage h_i = 1 has no fit without it and counts as mistaken.

    Reference: Allen, The Relationship Between Variable Selection and Data Augmentation and a Method
    for Prediction, Technometrics 16 (1974).
    """
    p = spectrum.C.shape[1]
    T = targets(y, 2 if p == 1 else p)
    shrunk = 1.0 / (spectrum.s[:, None] + ridges)  # (axes, r)
    W = spectrum.C[:, :, None] * shrunk[:, None, :]  # (axes, p, r)
    F = (Z @ W.reshape(len(W), p * len(ridges))).reshape(len(Z), p, len(ridges))
    np.square(Z, out=Z)
    spare = Z @ shrunk
    spare += 1.0 / total
    spare *= -weights[:, None]
    spare += 1.0
    alone = spare < ROUNDING * len(spectrum.s)
    undefined = bool(alone.any())
    if undefined:
        spare[alone] = np.inf
    squares = np.zeros(len(ridges))
    own, best = np.empty(spare.shape), np.full(spare.shape, -np.inf)
    for c, values in enumerate(F.transpose(1, 0, 2)):
        np.subtract(T[:, [c]] - target_mean[c], values, out=values)
        values /= spare  # residual of the fit without the sample, whose score is target - residual
        squares += np.einsum("i,ir,ir->r", weights, values, values)
        if p > 1:
            np.subtract(T[:, [c]], values, out=values)
            own[y == c] = values[y == c]
            values[y == c] = -np.inf
            np.maximum(best, values, out=best)
    # equal scores of several classes are a draw; of two, 0 is the first's
    wrong = best > own if p > 1 else (F[:, 0] < T) != (y == 1)[:, None]
    if undefined:
        wrong |= alone
        squares[alone.any(axis=0)] = np.inf  # no fit without such a sample
    return LeaveOneOut(float(weights.sum()), weights @ wrong, squares)


def merge_leave_one_out(a: LeaveOneOut, b: LeaveOneOut) -> LeaveOneOut:
    """Sums over two sets of samples together."""
    return LeaveOneOut(a.weight + b.weight, a.mistaken + b.mistaken, a.squares + b.squares)


def targets(y: Codes, n_classes: int) -> Matrix:
    """-1 and +1 for two classes, (n, 1); else one column for each class, (n, k)."""
    return np.where(y == 1, 1.0, -1.0)[:, None] if n_classes == 2 else np.eye(n_classes)[y]


def _fit(normal: Normal, W: Matrix, ridge: Vector, rank: int) -> LeastSquaresFit:
    return LeastSquaresFit(np.ascontiguousarray(W.T), normal.bias(W), ridge, rank)
