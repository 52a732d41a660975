"""Matrix factorisations that Ctrl-C does not have to wait for.

SciPy's routines hold the interpreter until they return. NumPy's release it, so the main thread can wait
for one in another thread; after Ctrl-C that thread ends by itself, and its result is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cho_factor, eigh, solve_triangular

from separatrix.types import Matrix, Vector

Result = TypeVar("Result")

LONG = 700  # rows of a matrix whose factorisation may take longer than some tenths of a second
PANEL = 512  # columns of a factor between two moments at which Ctrl-C is handled


def interruptible(function: Callable[..., Result], *args: Any) -> Result:
    """Call a function of NumPy on a matrix so that Ctrl-C in the main thread ends the wait for it.

    >>> interruptible(np.linalg.eigvalsh, np.eye(2))
    array([1., 1.])
    """
    if len(args[0]) < LONG or threading.current_thread() is not threading.main_thread():
        return function(*args)
    results, errors = list[Result](), list[BaseException]()

    def work() -> None:
        try:
            results.append(function(*args))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(work,), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)  # a signal that another thread receives does not end a wait
    if errors:
        raise errors[0]
    return results[0]


def eigh_by_division(A: Matrix, *, overwrite: bool = False) -> tuple[Vector, Matrix]:
    """Eigenvalues, the smallest first, and eigenvectors of a symmetric matrix, by divide and conquer.

    >>> eigh_by_division(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    if len(A) < LONG:
        found: tuple[Vector, Matrix] = eigh(
            A, check_finite=False, driver="evd", overwrite_a=overwrite
        )
        return found
    values, vectors = interruptible(np.linalg.eigh, A)
    return values, vectors


def lower_cholesky(A: Matrix) -> tuple[Matrix, bool]:
    """The factor of A = LL' for `scipy.linalg.cho_solve`; A becomes L in its lower triangle.

    >>> lower_cholesky(np.diag([4.0, 9.0]))[0]
    array([[2., 0.],
           [0., 3.]])
    """
    if len(A) < LONG:
        factor: tuple[Matrix, bool] = cho_factor(
            A, lower=True, overwrite_a=True, check_finite=False
        )
        return factor
    for begin in range(0, len(A), PANEL):
        end = min(begin + PANEL, len(A))
        corner = np.linalg.cholesky(A[begin:end, begin:end])
        A[begin:end, begin:end] = corner
        below = A[end:, begin:end]
        for row in range(0, len(below), PANEL):
            rows = below[row : row + PANEL]
            rows[:] = solve_triangular(corner, rows.T, lower=True, check_finite=False).T
            A[end + row : end + row + PANEL, end : end + row + PANEL] -= (
                rows @ below[: row + PANEL].T
            )
    return A, True
