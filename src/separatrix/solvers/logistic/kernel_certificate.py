"""Certificates of kernel logistic regression: the duality gap of stored coefficients, from above.

With E = A - C G for dual variables G whose rows sum to 0, and the divergence of the dual probabilities
from those predicted,

    P - D = 1/(2C) tr(E K E') + sum_i w_i KL(q_i || p_i)

and no part cancels another. G are the residuals at the best biases, which exist near to those stored.
"""

from __future__ import annotations

import numpy as np

from separatrix.runtime.exact_sums import UNIT
from separatrix.solvers.logistic.certificate import NEAR, bias_error, bounded_residuals
from separatrix.solvers.logistic.kernel_newton import KernelLogisticFit, KernelProducts
from separatrix.types import Codes, Gram, Vector


def certify_kernel_logistic(
    gram: Gram,  # shape: (n, n)
    y: Codes,  # shape: (n,)
    weights: Vector,  # shape: (n,)
    fit: KernelLogisticFit,
    C: float,
) -> KernelLogisticFit:
    """The fit with the objective of its coefficients and biases, and a bound of their duality gap.

    `rounding` is the part of the gap that stands for the rounding of kernel values, scores and sums.
    """
    products = KernelProducts(gram)
    A, n = fit.coef, len(y)
    F = products.exact(A)
    lost = (
        gram.error + (2.0 * n + 8.0) * UNIT * products.largest
    )  # of the values in a product, at most
    kept = weights > 0
    scores = F[:, kept] + fit.intercept[:, None]
    e = lost * float(np.abs(A).sum(axis=1).max()) + 4.0 * UNIT * np.abs(scores).max(axis=0)
    losses, R, off = bounded_residuals(scores, np.zeros_like(scores), y[kept], weights[kept])
    moved = bias_error(R, np.abs(R) * off, y[kept], weights[kept])
    if not moved <= NEAR:
        moved = np.inf
    E = A.copy()
    E[:, kept] += C * R
    sizes = np.abs(E).sum(axis=1)
    squares = np.einsum("cn,cn->c", E, products.exact(E))
    # dual variables are exact ones near R: what that and the rounding of E change of its length
    near_R = (np.abs(R) * (off + np.expm1(2.0 * moved) + 4.0 * UNIT)).sum(axis=1)
    shift = np.sqrt(products.largest) * (C * near_R + 2.0 * UNIT * np.abs(A).sum(axis=1))
    roots = np.sqrt(np.maximum(squares, 0.0) + lost * sizes**2) + shift
    apart = e + moved + 4.0 * off
    others = np.abs(R).max(axis=0) / weights[kept]
    divergence = apart**2 * np.minimum(0.5, 2.0 * others * np.exp(np.minimum(2.0 * apart, 50.0)))
    loss = float(weights[kept] @ losses)
    objective = loss + 0.5 / C * float(np.vdot(A, F))
    size = max(1.0, objective - float(weights[kept] @ (2.0 * e)))
    gap = (0.5 / C * float((roots**2).sum()) + float(weights[kept] @ divergence)) / size
    gap = gap * (1.0 + 4.0 * UNIT * (n + 16.0)) if np.isfinite(gap) else np.inf
    near = 0.5 / C * float(np.maximum(squares, 0.0).sum()) / size
    return fit._replace(objective=objective, gap=gap, rounding=gap - min(near, gap))
