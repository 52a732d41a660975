"""Predictions of kernel machines and nearest neighbours on a lattice of positions.

Gaussian and Laplacian kernels are products over features: k(x, z) = k1(x1, z1) k2(x2, z2). So on g by
g positions the scores of s support vectors are one matrix product of g x s with s x g, and g s
exponentials replace g g s. Other kernels are evaluated for all positions at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from separatrix.estimators.base.multiclass import decision_values, winners
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.svc import SVC
from separatrix.kernels.vector_kernels import Gaussian, Laplacian
from separatrix.runtime.blocks import row_blocks
from separatrix.types import Codes, Matrix, Vector

POINTS_AT_ONCE = 2**14  # bounds the temporary memory
SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler)  # each feature by itself


class Lattice(NamedTuple):
    """All combinations of first and second coordinates; the first varies fastest."""

    first: Vector  # shape: (g,)
    second: Vector  # shape: (h,)

    @property
    def positions(self) -> Matrix:
        """Return all positions, (h g, 2)."""
        return np.stack(np.meshgrid(self.first, self.second), axis=-1).reshape(-1, 2)


class LatticePredictions(NamedTuple):
    """Predictions of a model at every position."""

    codes: Codes  # shape: (m,); indices into `classes_`
    values: Matrix  # shape: (m,) or (m, k); scores, or vote fractions
    pairs: Matrix | None = None  # shape: (m, k (k - 1) / 2); scores of each pair, if they vote


def predict_on(model: Any, lattice: Lattice) -> LatticePredictions | None:
    """Predict with a fitted kernel machine or `KNeighborsClassifier`, alone or after scalers.

    Equal to `predict` and the scores up to rounding of kernel values. None for other models.
    """
    scalers, last = _split_pipeline(model)
    if any(type(scaler) not in SCALERS for scaler in scalers):
        return None
    if type(last) is KNeighborsClassifier and not last.outputs_2d_:
        shares = in_blocks(model.predict_proba, lattice.positions)
        return LatticePredictions(shares.argmax(axis=1), shares)
    if not _is_one_sum(last):
        return None
    S = _separable_scores(last, _scale(lattice, scalers))
    if S is None:
        ready = Pipeline(model.steps[:-1]).transform if scalers else np.asarray
        S = in_blocks(lambda positions: last.boundary_scores(ready(positions)), lattice.positions)
    if isinstance(last, SVC | NuSVC):
        voting = last.multi_class == "ovo" and len(last.classes_) > 2
        return LatticePredictions(last._codes(S), last._values(S), S if voting else None)
    values = decision_values(S, len(last.classes_), last._scheme, last.ties)
    return LatticePredictions(winners(values), values)


def in_blocks(answer: Callable[[Matrix], Any], positions: Matrix) -> Any:
    """Call a function on blocks of positions and concatenate the results."""
    return np.concatenate(
        [
            np.asarray(answer(positions[block]))
            for block in row_blocks(len(positions), POINTS_AT_ONCE)
        ]
    )


def _split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the last one of a pipeline, and the last one."""
    if not isinstance(model, Pipeline):
        return [], model
    steps = [step for _, step in model.steps]
    return steps[:-1], steps[-1]


def _is_one_sum(machine: Any) -> bool:
    """Return whether its scores are one sum over the support vectors."""
    if type(machine) in (SVC, NuSVC):
        return not (machine.break_ties or hasattr(machine, "_ties"))
    return type(machine) is KernelPerceptron and machine.predictor in ("last", "average")


def _scale(lattice: Lattice, scalers: list[Any]) -> Lattice:
    """Apply scalers, which map a lattice to a lattice."""
    first, second = (np.stack([side, side], axis=1) for side in lattice)
    for scaler in scalers:
        first, second = scaler.transform(first), scaler.transform(second)
    return Lattice(first[:, 0], second[:, 1])


def _separable_scores(machine: Any, lattice: Lattice) -> Matrix | None:
    """Return the scores of every boundary, (m, p), if the kernel is a product over the two features."""
    kernel, vectors = machine.kernel_, machine.support_vectors_
    if type(kernel) not in (Gaussian, Laplacian) or not isinstance(vectors, np.ndarray):
        return None
    columns, rows = (
        _kernel_values(kernel, side, vectors[:, j]) for j, side in enumerate(lattice)
    )  # (g, s), (h, s)
    if isinstance(machine, SVC | NuSVC):
        coefficients, biases = machine._support.columns(), machine.intercept_
    else:
        coefficients, biases = machine.alpha_.T, np.zeros(machine.alpha_.shape[1])
    S = [(rows * a) @ columns.T + b for a, b in zip(coefficients, biases, strict=True)]
    return np.stack([part.ravel() for part in S], axis=1)


def _kernel_values(kernel: Any, x: Vector, z: Vector) -> Matrix:
    """Return kernel values of single coordinates, (n, m)."""
    D = np.abs(x[:, None] - z)
    if type(kernel) is Gaussian:
        D *= D
    D *= -kernel.gamma
    return np.asarray(np.exp(D, out=D))
