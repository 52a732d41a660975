"""Logistic regression: what passes, Hessians and guesses of Hessians cost, in multiply-adds of a pass."""

from __future__ import annotations

import math
from typing import NamedTuple

NEWTON_STEPS, LBFGS_STEPS = 5, 4  # of Newton's method; of L-BFGS for each decimal of the tolerance
VALUE = 50  # multiply-adds that cost as much as the exponential and the sums of one score
PRODUCT = 30  # as many as one product of a value and a probability in a Hessian, which is stored
FEWEST_TRIED = 4  # steps without moments, if they are tried at all
SAVED_STEPS = 17  # of L-BFGS, by a good guess of the Hessian, for each decimal after the first
FEW_FEATURES = 128  # up to which factors of their moments take less than a millisecond
LARGE_PRODUCT, SPARSE_MOMENT = 0.2, 12.0  # cost of a multiply-add there, in those of a pass


class LogisticCosts(NamedTuple):
    """Sizes of a problem, from which costs follow."""

    n: int  # samples
    D: int  # features, with the constant one
    p: int  # rows of weights
    values: int  # stored ones
    sparse: bool
    tol: float

    @property
    def stored(self) -> float:
        """Values of a sample."""
        return self.values / max(1, self.n)

    @property
    def narrow(self) -> bool:
        """Whether moments of the features cost next to nothing to factor."""
        return self.D <= FEW_FEATURES

    def newton_pays(self) -> bool:
        """Whether few steps with a Hessian cost less than many without; for a sample."""
        stored, numbers = max(1.0, self.stored), self.p * self.D
        steps = LBFGS_STEPS * max(1.0, -math.log10(self.tol))
        hessians = numbers**2 / 2 + numbers**3 / (3 * max(1, self.n))
        if self.p > 1:
            hessians += PRODUCT * numbers
        newton = NEWTON_STEPS * (hessians + VALUE * self.p)
        lbfgs = stored * min(self.D, stored) + steps * self.p * (2 * stored + VALUE)
        return newton <= lbfgs

    def moments_pay(self) -> bool:
        """Whether the moments and their factor cost less than the iterations that they save."""
        saved = SAVED_STEPS * max(0.0, -math.log10(self.tol) - 1.0)
        in_variables = 0.0 if self.narrow else LARGE_PRODUCT * 2 * self.p * self.D**2
        return self._moments() <= saved * (self._step() - in_variables)

    def trial_steps(self) -> int:
        """Steps without the moments of dense samples, before these are computed: as long as they take.

        Features that are hardly correlated need no more, and others at most twice the time of the better.
        """
        if self.sparse or self.narrow or not self.moments_pay():
            return 0
        steps = int(self._moments() / self._step())
        return steps if steps >= FEWEST_TRIED else 0

    def _moments(self) -> float:
        """Of the moments and their factor."""
        moments = self.n * self.stored**2 * (SPARSE_MOMENT if self.sparse else LARGE_PRODUCT)
        # without the factor of few, it does not matter whether samples are repeated
        return moments + (0.0 if self.narrow else LARGE_PRODUCT * 2 * self.D**3)

    def _step(self) -> float:
        """Of one pass over the samples."""
        return self.n * self.p * (2 * self.stored + VALUE)
