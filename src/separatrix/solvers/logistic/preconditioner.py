"""Guesses of the Hessian of logistic regression: variables in which a guess is the identity.

The variables of a point theta, (p, D), are z = theta L with the guess L L'; each row of theta has the same
guess, or all have one together.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from separatrix.types import Codes, Matrix, Vector


class Preconditioner(Protocol):
    """A change of variables."""

    def variables(self, theta: Matrix) -> Matrix:
        """Variables of a point, (p, D)."""

    def point(self, z: Matrix) -> Matrix:
        """Point of some variables, (p, D)."""

    def slope(self, gradient: Matrix) -> Matrix:
        """Gradient by the variables from that by the point, (p, D)."""


class Diagonal(NamedTuple):
    """The guess is a diagonal, the square of `root`."""

    root: Vector  # shape: (D,)
    inverse: Vector

    @classmethod
    def of(cls, guess: Vector) -> Diagonal:
        """From a positive diagonal."""
        root = np.sqrt(guess)
        return cls(root, 1.0 / root)

    def variables(self, theta: Matrix) -> Matrix:
        return theta * self.root

    def point(self, z: Matrix) -> Matrix:
        return z * self.inverse

    def slope(self, gradient: Matrix) -> Matrix:
        return gradient * self.inverse


class Factored(NamedTuple):
    """The guess is a positive matrix, L L'."""

    L: Matrix  # shape: (D, D) or (p D, p D), lower triangular
    inverse: Matrix

    @classmethod
    def of(cls, guess: Matrix) -> Factored | None:
        """From a positive matrix; None if rounding has made it indefinite, or values overflowed."""
        L, failed = dpotrf(guess, lower=1)
        if failed or not np.isfinite(np.diag(L)).all():
            return None
        return cls(L, np.ascontiguousarray(dtrtri(L, lower=1)[0]))

    def variables(self, theta: Matrix) -> Matrix:
        return self._times(theta, self.L)

    def point(self, z: Matrix) -> Matrix:
        return self._times(z, self.inverse)

    def slope(self, gradient: Matrix) -> Matrix:
        return self._times(gradient, self.inverse.T)

    @staticmethod
    def _times(rows: Matrix, M: Matrix) -> Matrix:
        return (rows.reshape(-1, len(M)) @ M).reshape(rows.shape)


class Partial(NamedTuple):
    """The guess is a matrix for some columns, and a diagonal for the others."""

    columns: Codes  # shape: (q,)
    some: Factored  # of (q, q)
    others: Diagonal  # of all D; what it has for `columns` is not used

    def variables(self, theta: Matrix) -> Matrix:
        return self._both(self.others.variables(theta), self.some.variables(self._some(theta)))

    def point(self, z: Matrix) -> Matrix:
        return self._both(self.others.point(z), self.some.point(self._some(z)))

    def slope(self, gradient: Matrix) -> Matrix:
        return self._both(self.others.slope(gradient), self.some.slope(self._some(gradient)))

    def _some(self, rows: Matrix) -> Matrix:
        return np.take(rows.T, self.columns, axis=0).T  # in the layout of sparse samples

    def _both(self, whole: Matrix, part: Matrix) -> Matrix:
        whole.T[self.columns] = part.T
        return whole
