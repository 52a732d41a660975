"""Fisher's discriminant in the feature space of a kernel, from the Gram matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, eigh

from separatrix.runtime.interruptible import lower_cholesky
from separatrix.types import Codes, Matrix, Vector

EPSILON = float(np.finfo(np.float64).eps)
FLAT = 1e-12  # of the largest ratio: below, the class means do not differ along an axis


class KernelFisherFit(NamedTuple):
    """Axes a = sum_i coef_i phi(x_i) along which class means lie furthest apart."""

    coef: Matrix  # shape: (c, n)
    origin: Vector  # shape: (c,); position of the mean of all samples along each axis
    means: Matrix  # shape: (k, c); positions of the class means about it
    ratio: Vector  # shape: (c,); between-class scatter / within-class scatter


def solve_kernel_fisher(
    K: Matrix,  # shape: (n, n); becomes scratch
    y: Codes,  # shape: (n,)
    weights: Vector,  # shape: (n,)
    *,
    n_classes: int,
    ridge: float,
) -> KernelFisherFit:
    """Axes with the largest ratio of scatter between classes to scatter within, in a kernel's space.

    Problem
        max over a of  a'S_b a / a'(S_w + lambda I) a,   then again, without correlation within
        S_w = sum of w (phi - m_k)(phi - m_k)',   S_b = sum over classes of n_k (m_k - m)(m_k - m)'

    Given
        K          kernel values of the samples, float64
        y          class codes; a class without weight takes no part
        weights    w
        ridge      lambda, above 0

    Returns at most k - 1 axes by falling ratio, with a'(S_w + lambda I) a = n: `solve_fisher` in the
    feature space. With Phi the samples times sqrt(w), S_b = Phi'J'J Phi and S_w = Phi'H Phi, where H takes
    the class means away, a = (S_w + lambda I)^-1 Phi'J'z for the eigenvectors z of a k x k matrix, and
    lambda (S_w + lambda I)^-1 Phi' = Phi'(I - H (HKH + lambda I)^-1 HK): one Cholesky factorisation.
    The last class with weight lies above the first along every axis.

    Reference: Mika, Ratsch, Weston, Scholkopf and Muller, Fisher Discriminant Analysis with Kernels, IEEE
    Neural Networks for Signal Processing (1999); Baudat and Anouar, Generalized Discriminant Analysis
    Using a Kernel Approach, Neural Computation 12 (2000).
    """
    of_class = np.bincount(y, weights, minlength=n_classes)
    total, root, size = float(of_class.sum()), np.sqrt(weights), np.sqrt(of_class)
    Q = np.zeros((n_classes, len(y)))  # H = I - Q'Q
    Q[y, np.arange(len(y))] = root / np.where(size > 0, size, 1.0)[y]
    J = Q - np.outer(size, size @ Q) / total
    K *= root
    K *= root[:, None]
    QK, JK = Q @ K, J @ K
    noise = EPSILON * float(np.trace(K)) / ridge  # of the sums in JK B': J has rows of length 1
    V = _solve_within(K, Q, QK, JK, ridge)  # H Phi (S_w + lambda I)^-1 Phi'J', transposed
    B = (J - V) / ridge
    theta, Z = eigh(JK @ B.T)
    kept = np.flatnonzero(theta > max(FLAT * theta[-1], noise))[::-1][: n_classes - 1]
    theta = theta[kept]
    Z = (np.sqrt(total / theta) * Z[:, kept]).T  # a'(S_w + lambda I) a = z' JK B' z = total
    axes = Z @ B
    at = (QK @ axes.T) / np.where(size > 0, size, 1.0)[:, None]  # of the class means
    origin = (of_class @ at) / total
    means = np.where(of_class[:, None] > 0, at - origin, 0.0)
    met = np.flatnonzero(of_class)
    sign = _signs(axes, means[met[-1]] - means[met[0]])
    with np.errstate(divide="ignore"):
        ratio = total * theta / np.einsum("cn,cn->c", Z @ V, Z @ V)
    return KernelFisherFit(sign[:, None] * axes * root, sign * origin, sign * means, ratio)


def _solve_within(K: Matrix, Q: Matrix, QK: Matrix, JK: Matrix, ridge: float) -> Matrix:
    """JKH (HKH + lambda I)^-1, (k, n); K becomes the factor."""
    K -= Q.T @ QK
    K -= (QK - (QK @ Q.T) @ Q).T @ Q
    K.flat[:: len(K) + 1] += ridge
    factor = lower_cholesky(K)
    right = JK - (JK @ Q.T) @ Q
    V = cho_solve(factor, right.T, check_finite=False).T
    return np.asarray(V - (V @ Q.T) @ Q)


def _signs(axes: Matrix, ahead: Vector) -> Vector:
    """Signs that put the last class above the first; where they are level, the largest coefficient."""
    if not len(axes):
        return np.ones(0)
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    level = np.abs(ahead) <= 1e-9 * np.abs(ahead).max()
    return np.where(np.where(level, largest, ahead) < 0, -1.0, 1.0)
