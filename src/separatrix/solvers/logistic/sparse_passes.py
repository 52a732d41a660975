"""Loss and gradient over CSR samples."""

from __future__ import annotations

import numpy as np

from separatrix.jit import njit
from separatrix.solvers.logistic.softmax import replace_scores, sigmoid_residuals
from separatrix.solvers.logistic.sparse_products import (
    add_products,
    add_rows,
    arrays_of,
    score_rows,
    scores_of,
)
from separatrix.types import Block, Codes, Matrix, Vector

STRIP = 16_384  # stored values, which are read twice from the second-level cache


def add_gradient(
    block: Block, theta: Matrix, bias: Vector, gradient: Matrix
) -> tuple[float, Vector]:
    """Add to the gradient by weights, (p, D) in Fortran order; the loss, and its gradient by the biases."""
    if len(theta) > 1:
        F = scores_of(block.X, theta)
        loss = replace_scores(F, bias, block.y, block.weights)
        add_products(block.X, F, gradient)
        return loss, F.sum(axis=1)
    n = len(block.y)
    behind, totals = np.empty((2, n))
    by_bias = pass_over_rows(
        *arrays_of(block.X),
        np.ascontiguousarray(theta[0]),
        float(bias[0]),
        block.y,
        block.weights,
        behind,
        totals,
        max(1, STRIP * n // max(1, block.X.nnz)),
        gradient[0],
    )
    behind += np.log(totals, out=totals)
    return float(block.weights @ behind), np.array([by_bias])


@njit(cache=True, nogil=True)
def pass_over_rows(
    data: Vector,
    columns: Codes,
    starts: Codes,
    w: Vector,
    bias: float,
    y: Codes,
    weights: Vector,
    behind: Vector,
    totals: Vector,
    strip: int,
    gradient: Vector,
) -> float:
    """Add the gradient of two classes, in strips of rows; the sum of their residuals.

    `behind` and `totals` as in `sigmoid_residuals`.
    """
    f, total = np.empty(strip), 0.0
    for first in range(0, len(y), strip):
        end = min(first + strip, len(y))
        rows, r = starts[first : end + 1], f[: end - first]
        score_rows(data, columns, rows, w, r)
        sigmoid_residuals(
            r, bias, y[first:end], weights[first:end], behind[first:end], totals[first:end]
        )
        add_rows(data, columns, rows, r, gradient)
        for i in range(len(r)):
            total += r[i]
    return total
