"""Certificates of support vector machines in rational arithmetic: kernels, gaps and violations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.kernels import Gaussian, Laplacian, Linear, Normalized, Polynomial, Product, Sum
from separatrix.kernels.base import Scaled

DIGITS = Context(prec=80, Emin=-(10**15), Emax=10**15)
NOTHING = 5000  # exp(-t) of larger t is below 1e-2171, and counts as 0
Row = Sequence[Fraction]


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(value)) for value in np.ravel(values)]


def of_fraction(function: Callable[[Decimal], Decimal], value: Fraction) -> Fraction:
    with localcontext(DIGITS):
        return Fraction(function(Decimal(value.numerator) / Decimal(value.denominator)))


def exp_below_0(value: Fraction) -> Fraction:
    return Fraction(0) if value < -NOTHING else of_fraction(Decimal.exp, value)


def kernel_value(kernel: Any, x: Row, z: Row) -> Fraction:
    if isinstance(kernel, Sum):
        return kernel_value(kernel.left, x, z) + kernel_value(kernel.right, x, z)
    if isinstance(kernel, Product):
        return kernel_value(kernel.left, x, z) * kernel_value(kernel.right, x, z)
    if isinstance(kernel, Scaled):
        return Fraction(kernel.factor) * kernel_value(kernel.kernel, x, z)
    if isinstance(kernel, Normalized):
        square = kernel_value(kernel.kernel, x, x) * kernel_value(kernel.kernel, z, z)
        return (
            kernel_value(kernel.kernel, x, z) / of_fraction(Decimal.sqrt, square)
            if square
            else square
        )
    if isinstance(kernel, Gaussian):
        square = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
        return exp_below_0(-Fraction(kernel.gamma) * square)
    if isinstance(kernel, Laplacian):
        distance = sum(abs(a - b) for a, b in zip(x, z, strict=True))
        return exp_below_0(-Fraction(kernel.gamma) * distance)
    product = Fraction(sum(a * b for a, b in zip(x, z, strict=True)))
    if isinstance(kernel, Polynomial):
        return (Fraction(kernel.gamma) * product + Fraction(kernel.coef0)) ** kernel.degree
    assert isinstance(kernel, Linear)
    return product


class ExactProblem:
    """One boundary at its coefficients and intercept as stored."""

    def __init__(
        self,
        kernel: Any,
        X: Any,
        y: Any,
        box: Sequence[Fraction | None],  # None: infinite
        alpha: Any,
        intercept: float,
        weights: Any = None,  # of a linear kernel
    ) -> None:
        rows = [exact(row) for row in X]
        self.y, self.alpha, self.box = [int(side) for side in y], exact(alpha), box
        self.support = [i for i, a in enumerate(self.alpha) if a]
        self.kernel, self.rows = kernel, rows
        self.values: dict[tuple[int, int], Fraction] = {}
        self.linear = weights is not None
        if weights is None:
            self.sums = [
                sum(
                    (self.alpha[j] * self.y[j] * self.value(i, j) for j in self.support), Fraction()
                )
                for i in range(len(rows))
            ]
        else:
            W = exact(weights)
            self.sums = [Fraction(sum(a * b for a, b in zip(W, row, strict=True))) for row in rows]
            self.square = Fraction(sum(w * w for w in W))
        self.intercept = Fraction(intercept)
        if weights is None:
            self.square = self.inner(self.alpha)

    def value(self, i: int, j: int) -> Fraction:
        key = min(i, j), max(i, j)
        if key not in self.values:
            self.values[key] = kernel_value(self.kernel, self.rows[i], self.rows[j])
        return self.values[key]

    def inner(self, alpha: Sequence[Fraction]) -> Fraction:
        """|sum_i a_i y_i x_i|^2."""
        some = [i for i, a in enumerate(alpha) if a]
        if not self.linear:
            c = {i: alpha[i] * self.y[i] for i in some}
            return Fraction(sum(c[i] * c[j] * self.value(i, j) for i in some for j in some))
        columns = range(len(self.rows[0]))
        w = [sum(alpha[i] * self.y[i] * self.rows[i][k] for i in some) for k in columns]
        return Fraction(sum(value * value for value in w))

    def gap(
        self, bounds: Sequence[Fraction | None], total: Fraction | None = None
    ) -> Fraction | None:
        """(P - D) / max(|P|, 1) for the coefficients made feasible; None: infinite.

        `bounds` are exact, where those that coefficients reach may be rounded.
        """
        target = 1 if total is None else 0
        margins = [s + self.intercept for s in self.sums]
        short = [target - side * m for side, m in zip(self.y, margins, strict=True)]
        primal = self.square / 2
        if any(bound is None for bound in bounds):
            least = 1 - max(short)
            if least <= 0:
                return None
            primal = primal / min(least, 1) ** 2
        else:
            primal += sum(C * max(t, 0) for C, t in zip(bounds, short, strict=True))
        alpha = self.feasible(bounds, total)
        dual = -self.inner(alpha) / 2
        if total is None:
            dual += sum(alpha)
        else:
            primal += self.intercept * total
        return (primal - dual) / max(abs(primal), 1)

    def feasible(self, bounds: Sequence[Fraction | None], total: Fraction | None) -> list[Fraction]:
        """The coefficients within their bounds, and their heavier side scaled down."""
        alpha = [a if C is None else min(a, C) for a, C in zip(self.alpha, bounds, strict=True)]
        if total is not None:
            missing = total - sum(alpha)
            if missing <= 0:
                return [a * total / (total - missing) for a in alpha]
            for i, (a, C) in enumerate(zip(alpha, bounds, strict=True)):
                alpha[i] = a + min(C - a, missing)
                missing -= alpha[i] - a
            return alpha
        sides = {s: sum(a for a, y in zip(alpha, self.y, strict=True) if y == s) for s in (1, -1)}
        least = min(sides.values())
        return [a * least / sides[y] if a else a for a, y in zip(alpha, self.y, strict=True)]

    def violation(self, sides: Sequence[Sequence[int]] = ((1, -1),)) -> Fraction:
        """The largest of the given groups of sides."""
        falls = [y - s for y, s in zip(self.y, self.sums, strict=True)]
        found = Fraction()
        for group in sides:
            up, down = [], []
            for y, a, C, fall in zip(self.y, self.alpha, self.box, falls, strict=True):
                if y in group and C != 0:
                    grows, shrinks = C is None or a < C, a > 0
                    up += [fall] if (grows if y > 0 else shrinks) else []
                    down += [fall] if (shrinks if y > 0 else grows) else []
            if up and down:
                found = max(found, max(up) - min(down))
        return found
