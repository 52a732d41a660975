"""Scores of kernel machines in the plane, in float64, each with a bound of its rounding error.

Gaussian and Laplacian kernels are products over features: k(x, z) = k1(x1, z1) k2(x2, z2). So on g by
g positions the scores of s support vectors are one matrix product of g x s with s x g, and g s
exponentials replace g g s. Other kernels, and other positions, are evaluated position by position.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from separatrix.errors import DataError
from separatrix.estimators.kernel_logistic import KernelLogisticRegression
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.svc import SVC
from separatrix.kernels.vector_kernels import Gaussian, Laplacian, squared_norms
from separatrix.runtime.blocks import row_blocks
from separatrix.solvers.decomposition import coding
from separatrix.types import Matrix, Vector

POINTS_AT_ONCE = 2**14  # bounds the temporary memory
VALUES_AT_ONCE = 2**19  # kernel values; estimators compute more of them in float32
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)  # each feature by itself
EPS = float(np.finfo(np.float64).eps)
TINY = 1e-290  # below, kernels may give 0
OPERATIONS = 8  # roundings of a term beside those of the sum


class Lattice(NamedTuple):
    """All combinations of first and second coordinates; the first varies fastest."""

    first: Vector  # shape: (g,)
    second: Vector  # shape: (h,)

    @property
    def positions(self) -> Matrix:
        """Return all positions, (h g, 2)."""
        return np.stack(np.meshgrid(self.first, self.second), axis=-1).reshape(-1, 2)

    def at(self, i: Any, j: Any) -> Matrix:
        """Return the positions of row i, column j, (m, 2)."""
        return np.stack([self.first[j], self.second[i]], axis=-1)


class BoundedScores(NamedTuple):
    """Scores at every boundary, and how far rounding may have moved each of them."""

    values: Matrix  # shape: (m, p)
    bounds: Matrix  # shape: (m, p)


def kernel_machine(model: Any) -> Any:
    """The kernel machine whose scores are one sum over its vectors, alone or after scalers, or None."""
    scalers, last = _split_pipeline(model)
    if any(type(scaler) not in SCALERS for scaler in scalers):
        return None
    if type(last) in (SVC, NuSVC):
        ready = True
    elif type(last) is KernelPerceptron:
        ready = last.predictor in ("last", "average")
    else:
        ready = type(last) is KernelLogisticRegression
    dense = ready and last.kernel_.takes == "vectors" and not last._precomputed
    return last if dense and isinstance(last.support_vectors_, np.ndarray) else None


def kernel_scores(model: Any, where: Lattice | Matrix) -> BoundedScores:
    """Scores of a model with a `kernel_machine` at positions, and bounds of their rounding errors."""
    scalers, machine = _split_pipeline(model)
    kernel, vectors = machine.kernel_, np.asarray(machine.support_vectors_, dtype=np.float64)
    terms = _Terms.of(machine)
    if isinstance(where, Lattice) and type(kernel) in (Gaussian, Laplacian):
        scaled = _scale(where, scalers)
        S, sizes = _separable_sums(kernel, scaled, vectors, terms)
        positions = scaled.positions
    else:
        positions = where.positions if isinstance(where, Lattice) else where
        for scaler in scalers:
            positions = scaler.transform(positions)
        S, sizes = _sums(kernel, positions, vectors, terms)
    relative, absolute = _kernel_errors(kernel, positions, vectors)
    bounds = (EPS * (len(vectors) + OPERATIONS) + relative)[:, None] * sizes
    bounds += absolute[:, None] * np.abs(terms.coef).sum(axis=1)
    bounds += OPERATIONS * (EPS * np.abs(terms.intercept) + TINY)
    return BoundedScores(S + terms.intercept, bounds)


def in_blocks(
    answer: Callable[[Matrix], Any], positions: Matrix, size: int = POINTS_AT_ONCE
) -> Any:
    """Call a function on blocks of positions and concatenate the results."""
    blocks = row_blocks(len(positions), size)
    return np.concatenate([np.asarray(answer(positions[block])) for block in blocks])


def _split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one of a pipeline, and the last one."""
    if not isinstance(model, Pipeline):
        return [], model
    steps = [step for _, step in model.steps]
    return steps[:-1], steps[-1]


class _Terms(NamedTuple):
    """Coefficients of the vectors at every boundary, and biases."""

    coef: Matrix  # shape: (p, s)
    intercept: Vector  # shape: (p,)
    own: list[Any]  # the vectors that each boundary has, in groups: rows of vectors, boundaries

    @classmethod
    def of(cls, machine: Any) -> Self:
        if isinstance(machine, KernelPerceptron):
            coef = machine.alpha_.T
            return cls(coef, machine.intercept_, [(slice(None), slice(None))])
        support = machine._support
        coef = support.columns()
        if not support.paired:
            return cls(coef, support.intercept, [(slice(None), slice(None))])
        classes = [slice(*cut) for cut in pairwise(support.cuts)]
        sides = coding(len(classes), "ovo")
        own = [(part, np.flatnonzero(side)) for part, side in zip(classes, sides, strict=True)]
        return cls(coef, support.intercept, own)

    def sums(self, K: Matrix) -> tuple[Matrix, Matrix]:
        """Sums of the terms, and of their absolute values, (m, p) each."""
        found = np.zeros((2, len(K), len(self.coef)))
        for vectors, boundaries in self.own:
            coef, part = self.coef[boundaries][:, vectors].T, K[:, vectors]
            found[0][:, boundaries] += part @ coef
            found[1][:, boundaries] += np.abs(part) @ np.abs(coef)
        return found[0], found[1]


def _scale(lattice: Lattice, scalers: list[Any]) -> Lattice:
    """Apply scalers, which map a lattice to a lattice."""
    first, second = (np.stack([side, side], axis=1) for side in lattice)
    for scaler in scalers:
        first, second = scaler.transform(first), scaler.transform(second)
    return Lattice(first[:, 0], second[:, 1])


def _separable_sums(
    kernel: Any, lattice: Lattice, vectors: Matrix, terms: _Terms
) -> tuple[Matrix, Matrix]:
    """Sums at every boundary and of the absolute values of their terms, (m, p) each."""
    columns, rows = (
        _kernel_values(kernel, side, vectors[:, j]) for j, side in enumerate(lattice)
    )  # (g, s), (h, s)
    sums = np.empty((2, len(rows) * len(columns), len(terms.coef)))
    for p, a in enumerate(terms.coef):
        own = np.flatnonzero(a)
        across = columns[:, own].T
        sums[0, :, p] = ((rows[:, own] * a[own]) @ across).ravel()
        sums[1, :, p] = ((rows[:, own] * np.abs(a[own])) @ across).ravel()
    return sums[0], sums[1]


def _kernel_values(kernel: Any, x: Vector, z: Vector) -> Matrix:
    """Return kernel values of single coordinates, (n, m)."""
    D = np.abs(x[:, None] - z)
    if type(kernel) is Gaussian:
        D *= D
    D *= -kernel.gamma
    return np.asarray(np.exp(D, out=D))


def _sums(kernel: Any, positions: Matrix, vectors: Matrix, terms: _Terms) -> tuple[Matrix, Matrix]:
    """Sums at every boundary and of the absolute values of their terms, (m, p) each."""
    sums = np.zeros((2, len(positions), len(terms.coef)))
    if len(vectors):
        for block in row_blocks(len(positions), max(1, VALUES_AT_ONCE // len(vectors))):
            sums[:, block] = terms.sums(kernel.block(positions[block], vectors))
    return sums[0], sums[1]


def _kernel_errors(kernel: Any, positions: Matrix, vectors: Matrix) -> tuple[Vector, Vector]:
    """Rounding errors of kernel values at each position, relative and absolute, (m,) each.

    Estimators compute them from inner products, whose errors grow with the distance from the origin,
    or from the mean of the vectors where the kernel depends on differences only.
    """
    none = np.zeros(len(positions))
    if not len(vectors):
        return none, none
    centre = vectors.mean(axis=0) if kernel.translation_invariant else np.zeros(2)
    far = np.maximum(squared_norms(positions - centre), squared_norms(vectors - centre).max())
    if type(kernel) is Gaussian:
        return OPERATIONS * kernel.gamma * EPS * far, none
    if type(kernel) is Laplacian:
        return OPERATIONS * kernel.gamma * EPS * np.sqrt(far), none
    powers = np.ceil(np.log2(np.maximum(far, TINY)))  # few different ones: a bound for each
    try:
        errors = {power: kernel.error(2.0**power, OPERATIONS * EPS) for power in np.unique(powers)}
    except DataError:  # the kernel has no bound of its own
        return none, none
    return none, np.array([errors[power] for power in powers])
