"""The posterior of logistic regression as a Gaussian at its peak, and what it predicts.

With H the second derivative of minus the log posterior at its peak theta*, the posterior is taken
for N(theta*, H^-1), and the probability of the data, all weights considered, for

    log p(D) = log p(D | theta*) + log p(theta*) + (D/2) log 2 pi - 1/2 log |H|

A score f then is N(m, v), and its class probability the mean of sigma(f) over that: MacKay's formula,
sigma(m / sqrt(1 + pi v / 8)), or the integral itself.

Reference: MacKay, The Evidence Framework Applied to Classification Networks, Neural Computation 4
(1992).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import expit, logsumexp, ndtr, softmax

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.solvers.logistic.newton import pinned, pinned_steepness
from separatrix.types import Matrix, Vector

_HERMITE = np.polynomial.hermite_e.hermegauss(60)
_LEGENDRE = np.polynomial.legendre.leggauss(120)
NARROW = 1.0  # up to this variance Gauss and Hermite's nodes do; beyond, the step is taken out
FAR = 40.0  # where sigma differs from a step by less than 1e-17


class Posterior(NamedTuple):
    """A Gaussian around the most probable weights."""

    factor: Matrix  # shape: (p D, p D); lower, L L' = H
    p: int
    log_evidence: float

    def covariance(self) -> Matrix:
        """H^-1, (p D, p D); rows of weights one after the other, each with its bias last."""
        return np.asarray(cho_solve((self.factor, True), np.eye(len(self.factor))))

    def deviations(self) -> Matrix:
        """Standard deviation of every weight, (p, D)."""
        inverse = solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", inverse, inverse)).reshape(self.p, -1))

    def score_covariances(self, X: Matrix) -> Matrix:
        """Covariance of the scores of each sample, (n, p, p); X has the 1 for the bias."""
        p, D = self.p, X.shape[1]
        out = np.empty((len(X), p, p))
        # A row of L^-1 (I_p x x) for each class: the products of these rows are the covariances
        inverse = solve_triangular(self.factor, np.eye(p * D), lower=True).reshape(p * D, p, D)
        for rows in row_blocks(len(X), rows_that_fit(8 * p * p * D, 64 * MEBIBYTE)):
            spread = np.stack([X[rows] @ inverse[:, c].T for c in range(p)], axis=1)
            out[rows] = spread @ spread.transpose(0, 2, 1)
        return out


def laplace(
    theta: Matrix,  # shape: (p, D)
    hessian: Matrix,  # shape: (p D, p D); of minus the log posterior, up to a constant
    objective: float,
    precision: Vector,  # shape: (D,)
    unit: float = 1.0,
) -> Posterior | None:
    """The Gaussian at a peak; None where there is no peak: the posterior does not fall off.

    A column without a prior has the constant density of 1 per `unit`, so that the evidence is then
    known up to a constant only; with softmax its mean over the classes is fixed, since nothing
    depends on it. Where priors of different widths are compared, the unit must be in proportion:
    weights ten times as large move the boundary as much as they did only with a bias ten times as
    large, and in a fixed unit wide priors would be given more room for nothing.
    """
    p = len(theta)
    H = pinned(hessian, precision, p)
    try:
        factor = np.tril(cho_factor(H, lower=True, check_finite=False)[0])
    except LinAlgError:
        return None
    if not (np.diag(factor) ** 2 > len(H) * 1e-14 * np.diag(H)).all():
        return None
    held = precision[precision > 0]
    free = len(precision) - len(held)
    log_determinant = 2.0 * float(np.log(np.diag(factor)).sum())
    unheld = (p if p == 1 else p - 1) * free
    dimensions = p * len(held) + unheld
    # the pinned directions are no part of the volume
    log_determinant -= float(np.log(pinned_steepness(hessian, precision, p)).sum())
    log_prior_scale = 0.5 * p * float(np.log(held / (2.0 * np.pi)).sum())
    log_evidence = (
        -objective
        + log_prior_scale
        + 0.5 * dimensions * np.log(2.0 * np.pi)
        - 0.5 * log_determinant
        - unheld * np.log(unit)
    )
    return Posterior(factor, p, float(log_evidence))


def mackay(m: Vector, v: Vector) -> Vector:
    """Approximate mean of sigma(f) for f from N(m, v): sigma(m / sqrt(1 + pi v / 8)).

    >>> mackay(np.array([1.0, 5.0]), np.array([1.0, 9.0])).round(5)
    array([0.70001, 0.91278])
    """
    return np.asarray(expit(m / np.sqrt(1.0 + np.pi * v / 8.0)))


def mean_sigmoid(m: Vector, v: Vector) -> Vector:
    """The mean of sigma(f) for f from N(m, v), to 1e-10, by quadrature.

    Up to v = 1 by Gauss and Hermite's rule. Beyond, sigma is a step, whose mean is known, and a rest
    that dies off within 40 of 0, which Gauss and Legendre's rule takes on either side.

    >>> mean_sigmoid(np.array([1.0, 5.0]), np.array([1.0, 9.0])).round(5)
    array([0.69673, 0.9238 ])
    """
    m, v = np.broadcast_arrays(np.asarray(m, dtype=np.float64), np.asarray(v, dtype=np.float64))
    out = np.empty(m.shape)
    narrow = v <= NARROW
    nodes, weights = _HERMITE
    out[narrow] = expit(m[narrow, None] + np.sqrt(v[narrow, None]) * nodes) @ (
        weights / np.sqrt(2.0 * np.pi)
    )
    m, s = m[~narrow], np.sqrt(v[~narrow])
    half, legendre = _LEGENDRE
    f = FAR * ((half + 1.0) / 2.0) ** 2  # closer together near 0, where the rest is large
    weights = legendre * FAR * (half + 1.0) / 2.0
    rest = weights * expit(-f) / np.sqrt(2.0 * np.pi)
    below = np.exp(-0.5 * ((-f - m[:, None]) / s[:, None]) ** 2) @ rest
    above = np.exp(-0.5 * ((f - m[:, None]) / s[:, None]) ** 2) @ rest
    out[~narrow] = ndtr(m / s) + (below - above) / s
    return np.clip(out, 0.0, 1.0)


def mean_softmax(M: Matrix, V: Matrix) -> Matrix:
    """Approximate mean of softmax(f) for f from N(M, V), (n, k) and (n, k, k) -> (n, k).

    MacKay's formula for each pair: with v_ab the variance of f_a - f_b,
    p_a is taken as proportional to 1 / sum_b exp(-(M_a - M_b) / sqrt(1 + pi v_ab / 8)). With two
    classes it is his formula itself.

    Reference: Lu, Ie and Sha, Mean-Field Approximation to Gaussian-Softmax Integral (2020).
    """
    variances = np.einsum("icc->ic", V)
    apart = np.maximum(variances[:, :, None] + variances[:, None, :] - 2.0 * V, 0.0)
    ahead = (M[:, :, None] - M[:, None, :]) / np.sqrt(1.0 + np.pi * apart / 8.0)
    log_share = -logsumexp(-ahead, axis=2)
    return np.asarray(softmax(log_share, axis=1))
