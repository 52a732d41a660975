import signal
import threading

import numpy as np
import pytest
from scipy.linalg import cho_solve

from separatrix.runtime import interruptible as module
from separatrix.runtime.interruptible import eigh_by_division, interruptible, lower_cholesky


def positive(n):
    A = np.random.default_rng(n).normal(size=(n, n))
    return A @ A.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 23])
def test_panels_give_the_factor_of_the_whole(n, monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)
    monkeypatch.setattr(module, "PANEL", 4)
    A, right = positive(n), np.arange(float(n))
    factor = lower_cholesky(A.copy())
    np.testing.assert_allclose(np.tril(factor[0]), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A @ cho_solve(factor, right), right, atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)
    monkeypatch.setattr(module, "PANEL", 2)
    with pytest.raises(np.linalg.LinAlgError):
        lower_cholesky(np.diag([1.0, 1.0, 1.0, -1.0, 1.0]))


def test_both_routines_find_the_same_eigenvalues(monkeypatch):
    A = positive(12)
    short = eigh_by_division(A)
    monkeypatch.setattr(module, "LONG", 0)
    long = eigh_by_division(A)
    np.testing.assert_allclose(long[0], short[0], rtol=1e-12)
    np.testing.assert_allclose(A @ long[1], long[1] * long[0], atol=1e-9)


def test_errors_of_the_other_thread_arrive(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)
    with pytest.raises(np.linalg.LinAlgError):
        interruptible(np.linalg.cholesky, -np.eye(2))


def test_ctrl_c_does_not_wait_for_the_end(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)
    begun, may_end, ended = (threading.Event() for _ in range(3))

    def endless(_matrix):
        begun.set()
        may_end.wait(60.0)
        ended.set()

    def interrupt():
        begun.wait(60.0)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            interruptible(endless, np.eye(2))
        assert not ended.is_set()
    finally:
        signal.signal(signal.SIGINT, before)
        may_end.set()
        thread.join()
    assert ended.wait(60.0)
