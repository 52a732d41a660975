"""When Newton's method of several boundaries ends, on the CPU and on a GPU."""

from __future__ import annotations

import numpy as np

from separatrix.solvers.linear_svm.primal_newton import FLAT, PATIENCE, PROGRESS, WIDE
from separatrix.types import Codes, Flags, Vector


class BoundaryStops:
    """Which boundaries still move, and after how many steps and why the others ended.

    Given
        scale      of the gradients, (p,)
        tol        of the gradient relative to it, and of the objective
        max_iter   steps
    """

    def __init__(self, scale: Vector, tol: float, max_iter: int) -> None:
        p = len(scale)
        self.scale, self.tol = np.where(scale == 0.0, 1.0, scale), tol
        self.words, self.steps = np.full(p, "max_iter", dtype=object), np.full(p, max_iter)
        self.active: Codes = np.arange(p)
        self.reached = np.full(p, np.inf)  # relative gradients
        self._smallest, self._lowest = np.full(p, np.inf), np.full(p, np.inf)
        self._since = np.zeros(p, np.intp)

    def review(self, step: int, squares: Vector, objectives: Vector) -> None:
        """End boundaries that are solved, or have not become better for long; squares are |g|^2."""
        self.reached = np.sqrt(squares) / self.scale
        solved = (self.reached <= self.tol) & (
            0.5 * squares <= self.tol * np.maximum(1.0, objectives)
        )
        better = (squares < 0.9 * self._smallest) | (objectives < (1.0 - PROGRESS) * self._lowest)
        self._since = np.where(better, 0, self._since + 1)
        self._smallest = np.minimum(self._smallest, squares)
        self._lowest = np.minimum(self._lowest, objectives)
        for found, word in ((solved, "tol"), (self._since > PATIENCE, "flat")):
            self.end(found[self.active], step, word)

    def end(self, which: Flags, step: int, word: str) -> None:
        """End some of the boundaries that move."""
        ended = self.active[which]
        self.words[ended], self.steps[ended] = word, step
        self.active = self.active[~which]

    def close(self) -> None:
        """Say of flat boundaries whether they are solved."""
        flat = self.words == "flat"
        squares = (self.reached * self.scale) ** 2
        solved = (self.reached <= FLAT) & (squares <= WIDE * np.maximum(1.0, self._lowest))
        self.words[flat] = np.where(solved[flat], "tol", "max_iter")
