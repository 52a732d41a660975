"""The squared hinge over blocks of samples: Newton's method in the primal, each step one sum over them.

Symbols: theta = (w, b / c) with a constant feature c; z = y <x, theta> the margin of a sample.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.sums import dense, total
from separatrix.solvers.linear_svm.dual_descent import LinearFit
from separatrix.solvers.logistic.newton import largest_entry, solve_newton
from separatrix.solvers.logistic.passes import Sums, merge
from separatrix.types import Block, Matrix, Vector

GAP = 1e-9  # share of the objective that a last step may promise


def solve_newton_over_blocks(
    blocks: Any,
    own: int,
    price: Vector,  # shape: (k,)
    *,
    constant: float,
    tol: float,
    max_iter: int,
    monitor: FitMonitor | None = None,
) -> LinearFit:
    """One class against the rest, over blocks that `total` sums.

    Problem
        min over theta of  1/2 |theta|^2 + sum_i price(y_i) v_i max(0, 1 - z_i)^2

    Given
        blocks    samples with codes and weights v, and the number of their features
        own       code of the class on the positive side
        price     of each class
        constant  the feature whose weight is the bias; 0: no bias

    Returns the weights, with the largest entry of the gradient as the violation. The objective has
    curvature 1 at least, so that |g|^2 / 2 bounds what is left of it.
    """
    d = int(blocks.n_features)
    D = d + bool(constant)

    def evaluate(theta: Matrix, hessian: bool) -> Sums:
        options: dict[str, Any] = {"own": own, "price": price, "constant": constant}
        options["hessian"] = hessian
        return total(partial(hinge_sums, theta=theta, **options), blocks, merge)

    start = np.zeros((1, D))
    found = solve_newton(
        evaluate,
        start,
        precision=np.ones(D),
        weight=1.0,
        tol=tol * min(1.0, largest_entry(evaluate(start, False), 1.0)),
        max_iter=max_iter,
        gap=GAP,
        monitor=monitor,
    )
    theta, solved = found.theta[0], found.stop not in ("max_iter", "stopped")
    return LinearFit(
        w=theta[:d].copy(),
        b=constant * theta[d] if constant else 0.0,
        a=None,
        objective=found.objective,
        dual_objective=found.objective - 0.5 * D * found.gradient**2,
        violation=found.gradient,
        n_iter=found.n_iter,
        stop="tol" if solved else found.stop,
    )


def hinge_sums(
    block: Block, theta: Matrix, *, own: int, price: Vector, constant: float, hessian: bool
) -> Sums:
    """Loss, gradient and Hessian of the squared hinge over a block."""
    side = np.where(block.y == own, 1.0, -1.0)
    d = block.X.shape[1]
    scores = np.asarray(block.X @ theta[0, :d]).ravel()
    if constant:
        scores += constant * theta[0, d]
    slack = np.maximum(0.0, 1.0 - side * scores)
    bent = np.flatnonzero((slack > 0) & (block.weights > 0))
    weight = price[block.y[bent]] * block.weights[bent]
    x = dense(block.X[bent])
    if constant:
        x = np.column_stack([x, np.full(len(x), constant)])
    loss = float(weight @ slack[bent] ** 2)
    gradient = ((-2.0 * weight * slack[bent] * side[bent]) @ x)[None, :]
    rooted = x * np.sqrt(2.0 * weight)[:, None] if hessian else x[:0]
    return Sums(loss, gradient, rooted.T @ rooted if hessian else None, -np.inf, np.inf)
