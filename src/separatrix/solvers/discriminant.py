"""Gaussian discriminants from moments: one covariance for all classes, one for each, Fisher's axes.

A covariance C is the scatter divided by the summed weight. A class is scored by

    log p_k - 1/2 (x - m_k)' C^-1 (x - m_k) - 1/2 log |C|

and with the same C for all classes the part that is square in x is the same for all and is left out.
C^-1 is always T T', where T'CT = I: features are scaled to unit variance first, so that the rank does
not hang on their units, and directions without spread have no column in T. A class that was never met
has the prior 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular, svd
from scipy.linalg.lapack import dpocon, dpotrf, dsyevd, dtrtri

from separatrix.runtime.device import as_numpy, is_tensor
from separatrix.runtime.interruptible import eigh_by_division
from separatrix.runtime.sums import dense
from separatrix.solvers.moments import Moments
from separatrix.types import Block, Codes, Flags, Matrix, Vector

ROUNDING = 1e-13  # of a feature's size: a spread below is that of sums, not of samples
SINGULAR = 1e-14  # of the largest eigenvalue: below, an eigenvalue is taken for 0, times d
SMALL = 64  # features up to which the checks of SciPy cost more than the eigenvalues
RESOLVED = (
    1e-6  # reciprocal of a condition number down to which a Cholesky factor has enough digits
)
FAR = 1e3  # deviations from the origin, whose square may be that many times larger than scores
UNRESOLVED = 1e-10  # of the largest eigenvalue: below, one has lost half of its digits


class LinearRules(NamedTuple):
    """Linear discriminants; two classes have one row, that of the second against the first."""

    coef: Matrix  # shape: (p, d)
    intercept: Vector  # shape: (p,); minus infinity for a class of prior 0
    axes: Matrix  # shape: (d, r); without correlation and of variance 1 within the classes
    ratio: Vector  # between-class variance along the leading axes, as a share of all
    rank: int  # of the covariance


class FisherFit(NamedTuple):
    """Axes along which class means lie furthest apart, for their spread within."""

    axes: Matrix  # shape: (d, c)
    ratio: Vector  # shape: (c,); between-class scatter / within-class scatter
    rank: int


def without_rounding(moments: Moments) -> Moments:
    """The same where a feature that only rounding makes vary has a scatter of 0."""
    if moments.form == "pooled":
        size = np.abs(moments.mean).max(axis=0)
        scatter = _cleaned(moments.scatter, float(moments.weight.sum()), size)
    else:
        sizes = zip(moments.scatter, moments.weight, np.abs(moments.mean), strict=True)
        scatter = np.stack([_cleaned(S, float(weight), size) for S, weight, size in sizes])
    return moments._replace(scatter=scatter)


def varying(moments: Moments) -> Flags:
    """Features that are not the same in all samples, (d,)."""
    within = moments.pooled()
    own = within.sum(axis=0) if moments.form == "features" else np.diag(within)
    spread = own + moments.weight @ (moments.mean - moments.grand_mean) ** 2
    size = np.abs(moments.mean).max(axis=0)
    return np.asarray(spread > moments.weight.sum() * (ROUNDING * size) ** 2)


def means_of(moments: Moments) -> Matrix:
    """Class means, (k, d); a class that was never met stands at the mean of all."""
    return np.where(moments.weight[:, None] > 0, moments.mean, moments.grand_mean)


def whitening(C: Matrix, tol: float = 0.0) -> Matrix:  # (d, d) -> (d, r)
    """T with T'CT = I over directions whose deviation, of features scaled to 1, is above tol."""
    s, V, scale = _scaled_axes(C, tol)
    return np.asarray(V / np.sqrt(s) / scale[:, None])


def whitening_of_rows(A: Matrix, size: Vector, tol: float) -> Matrix:  # (n, d) -> (d, r)
    """`whitening` of C = A'A where rows are fewer than features, from their (n, n) products.

    `size` is that of the values before they were centred, (d,). A becomes scratch.
    """
    scale = np.sqrt(np.einsum("ij,ij->j", A, A))
    scale = np.where(scale > ROUNDING * size, scale, np.inf)
    A /= scale
    s, U = eigh_by_division(A @ A.T, overwrite=True)
    kept = np.flatnonzero(s > max(tol**2, len(s) * SINGULAR * s[-1]))[::-1]
    return np.asarray(A.T @ (U[:, kept] / s[kept]) / scale[:, None])


def inverse_root(C: Matrix) -> Matrix:  # (d, d) -> (d, r)
    """T with TT' = C^-1; where C is singular, the pseudo-inverse C^+ and r is the rank."""
    s, V, scale = _scaled_axes(C)
    if len(s) == len(C):
        return np.asarray(V / np.sqrt(s) / scale[:, None])
    # C = QR(QR)'; with its largest rows first and pivots, QR keeps the digits of small features
    order = np.argsort(-scale, kind="stable")
    root = (scale[:, None] * V * np.sqrt(s))[order]
    Q, R, _ = qr(root, mode="economic", pivoting=True)
    T = np.empty_like(root)
    T[order] = solve_triangular(R, Q.T).T
    return T


def _inverse_triangle(C: Matrix) -> Matrix | None:  # (d, d) -> (d, d)
    """Triangular T with TT' = C^-1, faster than by eigenvalues; None if C is nearly singular."""
    scale = deviations(C)
    R = C / scale / scale[:, None]
    size = np.abs(R).sum(axis=0).max()
    L, failed = dpotrf(R, lower=1)
    if failed or dpocon(L, size, uplo="L")[0] < RESOLVED:
        return None
    inverse, failed = dtrtri(L, lower=1)
    return None if failed else np.tril(inverse).T / scale[:, None]


def shrunk(C: Matrix, amount: float) -> Matrix:
    """(1 - amount) C + amount mu I, where mu is the mean variance, (d, d)."""
    out = (1.0 - amount) * C
    out.flat[:: len(C) + 1] += amount * np.trace(C) / len(C)
    return np.asarray(out)


def within_covariance(moments: Moments, priors: Vector) -> Matrix:
    """Mean of the class covariances, weighted by the priors, (d, d)."""
    if moments.form == "pooled":  # the priors are the classes' shares, and weights cancel
        return np.asarray(moments.scatter / moments.weight.sum())
    shares = np.where(moments.weight > 0, priors, 0.0) / _or_one(moments.weight)
    return np.tensordot(shares, moments.scatter, axes=1)


def total_covariance(moments: Moments) -> Matrix:
    """Covariance of all samples about their mean, (d, d)."""
    return np.asarray((moments.pooled() + moments.between()) / moments.weight.sum())


def fourth_powers(block: Block, *, mean: Matrix, scale: Matrix) -> Vector:
    """Sum of w |z|^4 over the samples of each class, z = (x - m_k) / scale_k, (k,).

    This part of a sum over blocks is what Ledoit and Wolf's shrinkage needs beside the moments.
    """
    X, y, weights = block
    Z = dense(X) - mean[y]
    Z /= scale[y]
    squares = np.einsum("ij,ij->i", Z, Z)
    return np.asarray(np.bincount(y, weights * squares**2, minlength=len(mean)), dtype=np.float64)


def deviations(C: Matrix) -> Vector:
    """Deviation of each feature, (d,); 1 for one that does not vary."""
    return _or_one(np.sqrt(np.diag(C)))


def ledoit_wolf(C: Matrix, weight: float, fourth: float) -> Matrix:
    """The covariance of features scaled to 1, shrunk to where its expected squared error is least.

    Problem
        min over a of  E |(1 - a) R + a mu I - true R|^2,   R = D^-1 C D^-1,  D the deviations

    Given
        C          covariance, (d, d)
        weight     n, summed over the samples
        fourth     sum of w |z|^4 over the samples, z = D^-1 (x - m)

    Returns D ((1 - a) R + a mu I) D, where mu is the mean of R's diagonal and, with |.|^2 summed over
    all entries, a = min(1, (fourth / n - |R|^2) / (n |R - mu I|^2)).

    Reference: Ledoit and Wolf, A Well-conditioned Estimator for Large-dimensional Covariance
    Matrices, Journal of Multivariate Analysis 88 (2004).
    """
    d, scale = len(C), deviations(C)
    R = C / scale / scale[:, None]
    mu = np.trace(R) / d
    squares = float((R**2).sum())
    apart = squares - d * mu**2
    noise = (fourth / weight - squares) / weight if weight > 0 else 0.0
    amount = 0.0 if d == 1 or min(noise, apart) <= 0 else min(1.0, noise / apart)
    return np.asarray(shrunk(R, amount) * scale * scale[:, None])


def solve_svd(T: Matrix, mean: Matrix, priors: Vector, tol: float) -> LinearRules:
    """Linear discriminants in the space that the class means span, scaled to unit spread within.

    Problem
        score_k(x) = <w_k, x> + b_k = log p_k - 1/2 |V'T'(x - m_k)|^2  up to what all classes share

    Given
        T          T'CT = I for the covariance C within the classes, (d, r)
        mean       class means, (k, d)
        priors     p, (k,); they sum to 1
        tol        axes whose singular value is below tol times the largest are left out

    Returns w, b, and the axes TV, where V are the right singular vectors of the rows
    sqrt(p_k) (m_k - m)'T.

    Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, section 4.3.
    """
    centre = priors @ mean
    _, s, Vt = svd(np.sqrt(priors)[:, None] * ((mean - centre) @ T), full_matrices=False)
    axes = signed(T @ Vt[s > tol * s.max(initial=0.0)].T)
    return LinearRules(*_rules(axes, mean, priors, centre), axes, _shares(s**2), T.shape[1])


def fast_inverse_root(C: Matrix) -> Matrix:
    """`inverse_root` by Cholesky's factorisation where that has enough digits."""
    T = _inverse_triangle(C)
    return inverse_root(C) if T is None else T


def solve_lsqr(T: Matrix, mean: Matrix, priors: Vector) -> LinearRules:
    """Linear discriminants w_k = C^-1 m_k, with TT' = C^-1, or C^+ where it is singular."""
    return LinearRules(*_rules(T, mean, priors), T, np.empty(0), T.shape[1])


def solve_eigen(T: Matrix, between: Matrix, mean: Matrix, priors: Vector) -> LinearRules:
    """Linear discriminants w_k = C^-1 m_k, and axes by their ratio of scatters.

    Problem
        B a = ratio C a,   a'Ca = 1

    Given
        T          TT' = C^-1 for the covariance C within the classes, (d, r)
        between    B, the covariance of all samples less C, (d, d)
        mean       class means, (k, d)
        priors     p, (k,)

    Returns all axes a, by falling ratio; over the range of C where it is singular.
    """
    s, V = eigh_by_division(T.T @ between @ T)
    axes = signed(T @ V[:, ::-1])
    ratio = np.sort(_shares(s))[::-1]
    return LinearRules(*_rules(axes, mean, priors), axes, ratio, T.shape[1])


def solve_fisher(moments: Moments, ridge: float) -> FisherFit:
    """Axes with the largest ratio of scatter between classes to scatter within.

    Problem
        max over a of  a'S_b a / a'(S_w + lambda I) a,   then again, without correlation within
        S_w = sum of w (x - m_k)(x - m_k)',   S_b = sum over classes of n_k (m_k - m)(m_k - m)'

    Given
        moments    weight n_k and mean m_k of each class, and S_w
        ridge      lambda, at least 0

    Returns at most k - 1 axes by falling ratio, with a'(S_w + lambda I) a = n. For two classes that is
    a ~ (S_w + lambda I)^-1 (m_2 - m_1). The last class met lies above the first along every axis.
    Where S_w + lambda I is singular, only directions in its range are looked at.

    Reference: Fisher, The Use of Multiple Measurements in Taxonomic Problems, Annals of Eugenics 7
    (1936); Rao, The Utilization of Multiple Measurements in Problems of Biological Classification,
    Journal of the Royal Statistical Society B 10 (1948).
    """
    total = float(moments.weight.sum())
    met = np.flatnonzero(moments.weight)
    S = moments.pooled()
    C = S / total
    C.flat[:: len(C) + 1] += ridge / total
    T = inverse_root(C)
    apart = np.sqrt(moments.weight[met])[:, None] * (moments.mean[met] - moments.grand_mean)
    apart[:, ~varying(moments)] = 0.0  # means of equal values differ by rounding
    _, s, Vt = svd(apart @ T, full_matrices=False)
    axes = signed(T @ Vt[: len(met) - 1].T, moments.mean[met[-1]] - moments.mean[met[0]])
    between = s[: axes.shape[1]] ** 2
    if ridge:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = between / np.einsum("dc,dc->c", axes, S @ axes)
        return FisherFit(axes, np.where(between > 0, ratio, 0.0), T.shape[1])
    return FisherFit(axes, between / total, T.shape[1])


class CovarianceAxes(NamedTuple):
    """A covariance C along its axes."""

    variances: Vector  # shape: (d,); largest first
    axes: Matrix  # shape: (d, d)
    root: Matrix  # shape: (d, d); T with TT' = C^-1
    log_determinant: float  # of C


def principal_axes(C: Matrix) -> CovarianceAxes:
    """Axes of a covariance; where it is singular the root has infinite entries."""
    s, V = _eigen(C)
    if s[0] > UNRESOLVED * s[-1]:
        s, V = s[::-1], signed(V[:, ::-1])
        return CovarianceAxes(s, V, V / np.sqrt(s), float(np.log(s).sum()))
    # singular, or features of very different sizes: scaled to 1 the small ones keep their digits
    s, V, scale = _scaled_axes(C)
    U, root, _ = svd(scale[:, None] * V * np.sqrt(s))
    variances = np.zeros(len(C))
    variances[: len(root)] = root**2
    if len(s) < len(C):
        return CovarianceAxes(variances, signed(U), np.full(C.shape, np.inf), -np.inf)
    log_determinant = float(np.log(s).sum() + 2.0 * np.log(scale).sum())
    return CovarianceAxes(variances, signed(U), V / np.sqrt(s) / scale[:, None], log_determinant)


class Quadratic(NamedTuple):
    """One Gaussian for each class, ready to score samples."""

    mean: Matrix  # shape: (k, d)
    root: Sequence[Matrix]  # of each class T with TT' = C^-1, (d, d)
    constant: Vector  # shape: (k,); log p - 1/2 log |C|

    def scores(self, X: Any) -> Matrix:  # (n, d) -> (n, k)
        """log p_k - 1/2 (x - m_k)' C_k^-1 (x - m_k) - 1/2 log |C_k|."""
        S = np.empty((len(X), len(self.mean)))
        for c, T in enumerate(self.root):
            if np.isinf(self.constant[c]):
                S[:, c] = self.constant[c]
                continue
            if is_tensor(X):
                from separatrix.solvers.device_sums import distances_on  # torch is optional

                S[:, c] = self.constant[c] - 0.5 * as_numpy(distances_on(X, self.mean[c], T))
                continue
            Z = (X - self.mean[c]) @ T
            S[:, c] = self.constant[c] - 0.5 * np.einsum("ij,ij->i", Z, Z)
        return S


def quadratic(mean: Matrix, each: Sequence[CovarianceAxes], priors: Vector) -> Quadratic:
    """The Gaussians with these means, covariances and priors."""
    logs = np.array([axes.log_determinant for axes in each])
    return Quadratic(mean, [axes.root for axes in each], _log(priors) - 0.5 * logs)


def signed(axes: Matrix, along: Vector | None = None) -> Matrix:  # (d, c), (d,) -> (d, c)
    """The axes turned so that they point along a vector; where that is across, to a feature.

    The feature is that of the largest entry, the first among equals to rounding.
    """
    size = np.abs(axes)
    largest = np.argmax(size >= (1.0 - 1e-9) * size.max(axis=0, initial=0.0), axis=0)
    sign = axes[largest, np.arange(axes.shape[1])]
    if along is not None:
        ahead = along @ axes
        sign = np.where(np.abs(ahead) > 1e-9 * np.abs(ahead).max(initial=0.0), ahead, sign)
    return np.asarray(axes * np.where(sign < 0, -1.0, 1.0))


def class_rows(y: Codes, n_classes: int) -> list[Codes]:
    """The rows of each class, in their order."""
    order = np.argsort(y, kind="stable")
    return np.split(order, np.cumsum(np.bincount(y, minlength=n_classes))[:-1])


def _rules(
    T: Matrix, mean: Matrix, priors: Vector, origin: Vector | None = None
) -> tuple[Matrix, Vector]:
    """Weights and biases of w_k = TT'(m_k - origin); the origin drops out of two classes' difference.

    Far from the origin, in deviations, all samples' scores would be rounded: there w_k is taken about the
    mean, by which the scores of all classes change alike.
    """
    centre = priors @ mean
    if len(mean) == 2 or np.linalg.norm(centre @ T) > FAR:
        origin = centre
    positions = (mean if origin is None else mean - origin) @ T
    bias = _log(priors) - 0.5 * np.einsum("kr,kr->k", positions, positions)
    if len(mean) == 2:
        positions, bias = positions[1:] - positions[:1], bias[1:] - bias[:1]
    coef = positions @ T.T
    return coef, bias if origin is None else bias - coef @ origin


def _scaled_axes(C: Matrix, tol: float = 0.0) -> tuple[Vector, Matrix, Vector]:
    """Eigenvalues, largest first, and eigenvectors of C with its features scaled to 1; the scale."""
    scale = deviations(C)
    R = C / scale
    R /= scale[:, None]
    s, V = _eigen(R)
    kept = np.flatnonzero(s > max(tol**2, len(s) * SINGULAR * s[-1]))[::-1]
    return s[kept], V[:, kept], scale


def _eigen(C: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues, the smallest first, and eigenvectors; of a small matrix without SciPy's checks."""
    if len(C) <= SMALL:
        s, V, failed = dsyevd(C, lower=1)
        if not failed:
            return s, V
    return eigh_by_division(C)


def _cleaned(S: Matrix, weight: float, size: Vector) -> Matrix:
    flat = np.diag(S) <= weight * (ROUNDING * size) ** 2
    if not flat.any():
        return S
    S = S.copy()
    S[flat] = 0.0
    S[:, flat] = 0.0
    return S


def _or_one(values: Vector) -> Vector:
    return np.where(values > 0, values, 1.0)


def _shares(values: Vector) -> Vector:
    total = values.sum()
    return np.asarray(values / total) if total else np.zeros(len(values))


def _log(values: Vector) -> Vector:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
