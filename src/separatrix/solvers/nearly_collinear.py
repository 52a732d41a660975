"""Nearly collinear features, of whose covariance rounding leaves few digits, but not of the samples.

A covariance C holds squares: features that are collinear to 1e-5 have an eigenvalue of 1e-10, known to
some 1e-6 of it, and so are scores. T with T'CT = I from C is good enough to bring the samples to about
unit spread, and their covariance there, near I, corrects it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.runtime.sums import dense, total
from separatrix.runtime.threads import thread_count
from separatrix.solvers.discriminant import deviations
from separatrix.types import Block, Matrix, Vector

CLOSE = 1e-8  # least eigenvalue, of features scaled to 1, from which on T has enough digits
TOO_CLOSE = 1e-10  # below, scores from C alone have less than some 5 digits


def least_spread(T: Matrix, C: Matrix) -> float:
    """About the least eigenvalue of C that T, with TT' = C^-1, inverts, of features scaled to 1."""
    scaled = deviations(C)[:, None] * T
    return float(1.0 / np.einsum("ij,ij->j", scaled, scaled).max(initial=1.0))


def spread_along(block: Block, *, mean: Matrix, T: Matrix, shares: Vector) -> Matrix:
    """Sum of w p z z' over the samples, z = T'(x - m_k) and p the share of the class, (r, r)."""
    X, y, weights = block
    Z = (dense(X) - mean[y]) @ T
    Z *= np.sqrt(weights * shares[y])[:, None]
    return np.asarray(Z.T @ Z)


def refine(
    T: Matrix, blocks: Any, *, mean: Matrix, shares: Vector, threads: int | None = None
) -> tuple[Matrix, float]:
    """T with T'CT = I from one that is so to few digits, by the samples; log |T'CT| before.

    Given
        T       T'CT = I to few digits, (d, r)
        blocks  all samples, again
        mean    class means, (k, d)
        shares  factor of each class's scatter in C, (k,)

    Reference: Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, Roundoff Error Analysis of the CholeskyQR2
    Algorithm, ETNA 44 (2015).
    """
    part = partial(spread_along, mean=mean, T=T, shares=shares)
    L = np.linalg.cholesky(total(part, blocks, np.add, threads=threads or thread_count()))
    better = np.asarray(solve_triangular(L, T.T, lower=True).T)
    return better, float(2.0 * np.log(np.diag(L)).sum())
