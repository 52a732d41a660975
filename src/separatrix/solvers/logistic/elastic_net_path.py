"""Logistic regression with sparse weights for several values of C, each from the weights of the last."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.logistic.elastic_net import ElasticNetProblem, solve_elastic_net
from separatrix.solvers.logistic.newton import LogisticFit
from separatrix.types import Codes, Matrix, Vector


class ElasticNetSolver:
    """One training set under penalties of one l1_ratio; `words` names the solver and the reason."""

    def __init__(
        self,
        X: Any,
        y: Codes,
        weights: Vector,
        *,
        classes: Any,
        l1_ratio: float,
        intercept: bool,
        intercept_precision: float,
        tol: float,
        max_iter: int,
        monitor: FitMonitor,
    ) -> None:
        self.classes, self.d = classes, int(X.shape[1])
        self.n_samples = int(np.count_nonzero(weights))
        self.p = 1 if len(classes) == 2 else len(classes)
        self.tol, self.max_iter, self.monitor = tol, max_iter, monitor
        self._l1_ratio, self._intercept_precision = l1_ratio, intercept_precision
        self._problem = ElasticNetProblem.of(
            X, y, weights, n_classes=len(classes), intercept=intercept
        )
        numbers = self.p * (self.d + intercept)
        self.words = f"proximal Newton: n={X.shape[0]}, {numbers} parameters"

    def solve(self, C: float, start: Matrix | None = None) -> LogisticFit:
        """The minimum for this C, from `start` or from 0, with its duality gap."""
        ratio = self._l1_ratio
        problem = self._problem.with_penalty(
            ratio / C, (1.0 - ratio) / C, self._intercept_precision
        )
        found = solve_elastic_net(
            problem, tol=self.tol, max_iter=self.max_iter, start=start, monitor=self.monitor
        )
        theta = found.theta
        if problem.intercept and self.p > 1 and not self._intercept_precision:
            theta[:, -1] -= theta[:, -1].mean()  # softmax does not change
        return LogisticFit(
            theta, found.objective, found.violation, None, found.n_iter, found.stop,
            -np.inf, np.inf, found.gap,
        )  # fmt: skip
