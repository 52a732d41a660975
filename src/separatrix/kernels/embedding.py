"""What a Gram matrix says about its feature space: is it one, and where the samples lie in it."""

from __future__ import annotations

import numpy as np

from separatrix.arrays import Matrix, require_integer
from separatrix.errors import DataError


def symmetric_matrix(K: Matrix, *, name: str = "K") -> Matrix:
    """K as float64 when it is a finite symmetric matrix; otherwise an error that says why not."""
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(f"{name} must be a square kernel matrix (n, n); got shape {K.shape}")
    if K.dtype.kind not in "fiub":
        raise DataError(f"{name} must hold numbers; got dtype {K.dtype}")
    K = K.astype(np.float64, copy=False)
    if not np.isfinite(K).all():
        raise DataError(f"{name} must be finite; it contains NaN or infinity")
    gap = float(np.abs(K - K.T).max(initial=0.0))
    if gap > 1e-5 * max(1e-300, float(np.abs(K).max(initial=0.0))):
        raise DataError(
            f"{name} must be symmetric; found |K - K'| up to {gap:.3g}. "
            "Pass (K + K.T) / 2 if that is what you mean"
        )
    return K


def is_positive_semidefinite(K: Matrix, *, tol: float = 1e-8) -> bool:
    """Whether no eigenvalue of the symmetric matrix K is below -tol times the largest.

    >>> is_positive_semidefinite(np.array([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> is_positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    False
    """
    values = np.linalg.eigvalsh(symmetric_matrix(K))
    return bool(len(values) == 0 or values[0] >= -tol * max(abs(values[-1]), abs(values[0])))


def eigen_embedding(K: Matrix, n_components: int | None = None, *, tol: float = 1e-8) -> Matrix:
    """Vectors F, (n, c), whose inner products are K: F F' = K with all components kept.

    Components come by falling eigenvalue; those below tol times the largest are left out. With
    fewer components, F F' is the best approximation of K of that rank.

    >>> K = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> F = eigen_embedding(K)
    >>> F.shape, bool(np.allclose(F @ F.T, K))
    ((2, 1), True)
    """
    if n_components is not None:
        require_integer("eigen_embedding", "n_components", n_components, least=1)
    K = symmetric_matrix(K)
    values, vectors = np.linalg.eigh(K)
    if len(values) and values[0] < -tol * max(abs(values[-1]), abs(values[0])):
        raise DataError(
            f"K must be positive semi-definite to have a feature space; its lowest eigenvalue is "
            f"{values[0]:.3g}"
        )
    order = np.argsort(values)[::-1][:n_components]
    order = order[values[order] > tol * values.max(initial=0.0)]
    return np.asarray(vectors[:, order] * np.sqrt(values[order]))
