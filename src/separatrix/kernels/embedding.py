"""The feature space of a Gram matrix: whether it has one, and the samples as vectors in it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from separatrix.errors import DataError
from separatrix.jit import njit
from separatrix.runtime.blocks import row_blocks
from separatrix.runtime.interruptible import interruptible
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.runtime.warnings import warn_user
from separatrix.types import Matrix
from separatrix.validation import require_integer

SEMIDEFINITE = 1e-8  # share of the largest eigenvalue that is rounding
ROUNDED = 1e-6  # the same, of values that may have been rounded to float32


def symmetric_matrix(K: Matrix, *, name: str = "K") -> Matrix:
    """K as float64 if it is a finite symmetric matrix; otherwise an error."""
    K = np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(f"{name} must be a square kernel matrix (n, n); got shape {K.shape}")
    if K.dtype.kind not in "fiub":
        raise DataError(f"{name} must hold numbers; got dtype {K.dtype}")
    K = K.astype(np.float64, copy=False)
    largest, gap = np.max([(0.0, 0.0), *_over_strips(K)], axis=0)
    if not np.isfinite(largest):
        raise DataError(f"{name} must be finite; it contains NaN or infinity")
    if gap > 1e-5 * max(1e-300, largest):
        raise DataError(
            f"{name} must be symmetric; found |K - K'| up to {gap:.3g}. "
            "Pass (K + K.T) / 2 if that is what you mean"
        )
    return K


def _over_strips(K: Matrix) -> list[tuple[float, float]]:
    strips = row_blocks(len(K), 256)
    return in_threads(lambda rows: _sizes(K, rows.start, rows.stop), strips, threads=thread_count())


@njit(cache=True, nogil=True)
def _sizes(K: Matrix, start: int, stop: int) -> tuple[float, float]:
    """Largest |K_ij| of some rows, infinite with NaN among them, and largest |K_ij - K_ji|."""
    side = 32
    largest = gap = 0.0
    for top in range(start, stop, side):
        for left in range(0, len(K), side):
            for i in range(top, min(top + side, stop)):
                for j in range(left, min(left + side, len(K))):
                    size = abs(K[i, j])
                    if not size <= largest:
                        largest = size if size == size else np.inf
                    gap = max(gap, abs(K[i, j] - K[j, i]))
    return largest, gap


def is_positive_semidefinite(K: Matrix, *, tol: float = 1e-8) -> bool:
    """Whether no eigenvalue of the symmetric matrix K is below -tol times the largest.

    Parameters
    ----------
    K
        A symmetric matrix, (n, n).
    tol
        Share of the largest eigenvalue that counts as rounding.

    Examples
    --------
    >>> is_positive_semidefinite(np.array([[2.0, 1.0], [1.0, 2.0]]))
    True
    >>> is_positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    False
    """
    values = np.linalg.eigvalsh(symmetric_matrix(K))
    return bool(len(values) == 0 or values[0] >= -tol * max(abs(values[-1]), abs(values[0])))


def extreme_eigenvalues(K: Matrix) -> tuple[float, float]:
    """The smallest and the largest eigenvalue of a symmetric matrix."""
    last = len(K) - 1
    lowest = eigvalsh(K, subset_by_index=[0, 0])[0]
    return float(lowest), float(eigvalsh(K, subset_by_index=[last, last])[0])


def enforce_semidefinite(name: str, K: Matrix, policy: str) -> float:
    """Do what the policy says if K has a negative eigenvalue; returns what was added to its diagonal.

    "warn", "error", "shift" or "ignore"; eigenvalues of -1e-8 times the largest count as rounding.
    """
    if policy == "ignore" or not len(K) or _has_cholesky(K):
        return 0.0
    lowest, largest = extreme_eigenvalues(K)
    if lowest >= -SEMIDEFINITE * max(abs(lowest), largest):
        return 0.0
    if policy == "shift":
        K[np.diag_indices_from(K)] -= lowest
        return -lowest
    found = (
        f"{name} is not positive semi-definite on these {len(K)} samples: the smallest eigenvalue of its "
        f"matrix is {lowest:.4g}, the largest {largest:.4g}"
    )
    advice = f"check_psd='shift' adds {-lowest:.4g} to k(x, x) of training samples"
    if policy == "error":
        raise DataError(f"{found}; {advice}")
    warn_user(
        f"{found}. An SVM is then no convex problem, and its fit may be one of several local optima; "
        f"{advice}, 'ignore' accepts it"
    )
    return 0.0


def require_semidefinite(owner: str, kernel: object, K: Matrix) -> None:
    """Refuse a matrix with a negative eigenvalue beyond rounding to float32: the problem is not convex."""
    K = np.asarray(K, dtype=np.float64)
    if not len(K) or _has_cholesky(K, ROUNDED):
        return
    lowest, largest = extreme_eigenvalues(K)
    if lowest < -ROUNDED * max(abs(lowest), largest):
        raise DataError(
            f"{owner} needs a positive semi-definite kernel, and the matrix of {kernel!r} on these "
            f"{len(K)} samples has eigenvalues from {lowest:.4g} to {largest:.4g}; use another one"
        )


def _has_cholesky(K: Matrix, share: float = SEMIDEFINITE) -> bool:
    """Whether K plus a rounding error is positive definite: cheaper than eigenvalues."""
    least = max(float(np.abs(np.diagonal(K)).max()), float(K.sum()) / len(K))  # of the largest
    try:
        np.linalg.cholesky(K + share * least * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return False
    return True


def eigen_embedding(K: Matrix, n_components: int | None = None, *, tol: float = 1e-8) -> Matrix:
    """Vectors F, (n, c), whose inner products are K: F F' = K with all components kept.

    Components come by falling eigenvalue; those below tol times the largest are left out. With
    fewer components, F F' is the best approximation of K of that rank.

    Parameters
    ----------
    K
        A symmetric positive semi-definite matrix, (n, n).
    n_components
        Number of components at most. None: all.
    tol
        Eigenvalues below this share of the largest are left out.

    Examples
    --------
    >>> K = np.array([[4.0, 2.0], [2.0, 1.0]])
    >>> F = eigen_embedding(K)
    >>> F.shape, bool(np.allclose(F @ F.T, K))
    ((2, 1), True)
    """
    if n_components is not None:
        require_integer("eigen_embedding", "n_components", n_components, least=1)
    K = symmetric_matrix(K)
    values, vectors = interruptible(np.linalg.eigh, K)
    if len(values) and values[0] < -tol * max(abs(values[-1]), abs(values[0])):
        raise DataError(
            f"K must be positive semi-definite to have a feature space; its lowest eigenvalue is "
            f"{values[0]:.3g}"
        )
    order = np.argsort(values)[::-1][:n_components]
    order = order[values[order] > tol * values.max(initial=0.0)]
    return np.asarray(vectors[:, order] * np.sqrt(values[order]))
