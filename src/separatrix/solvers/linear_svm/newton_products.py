"""Newton's direction of a linear support vector machine by conjugate gradients, without its matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.linear_svm.dual_descent import LinearProblem, dot
from separatrix.types import Flags, Vector

SOLVED = 0.02  # share of the gradient that may be left


class ApproachedDirection(NamedTuple):
    """Newton's direction as far as conjugate gradients came, the steps, and whether it is near enough."""

    direction: tuple[Vector, float]
    steps: int
    solved: bool


def approach_direction(
    problem: LinearProblem,
    bent: Flags,
    slope: Vector,
    gradient: Vector,
    monitor: FitMonitor,
    most: int,
) -> ApproachedDirection:
    """Newton's direction without H, from at most so many products with the rows that bend."""
    X, scale = problem.samples.X[bent], slope[bent]
    with_bias = bool(problem.bias_step)
    # a little for a free bias, which nothing holds where no row bends
    bias_price = problem.bias_price or 1e-10 * max(1.0, float(scale.sum()))
    diagonal = np.append(
        1.0 + (X.multiply(X).T if issparse(X) else (X**2).T) @ scale, bias_price + scale.sum()
    )

    def times(v: Vector) -> Vector:
        u = scale * (X @ v[:-1] + v[-1])
        last = bias_price * v[-1] + u.sum() if with_bias else 0.0
        return np.append(v[:-1] + X.T @ u, last)

    rest = -gradient
    v = np.zeros_like(rest)
    along = ahead = rest / diagonal
    product, wanted = dot(rest, ahead), SOLVED * np.sqrt(dot(rest, rest))
    steps = 0
    while not (solved := bool(np.sqrt(dot(rest, rest)) <= wanted)) and steps < most:
        if monitor.should_stop():
            break
        steps += 1
        image = times(along)
        step = product / dot(along, image)
        v = v + step * along
        rest = rest - step * image
        ahead = rest / diagonal
        product, before = dot(rest, ahead), product
        along = ahead + product / before * along
    return ApproachedDirection((v[:-1], float(v[-1])), steps, solved)
