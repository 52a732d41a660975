"""Samples prepared for products: which precision, which columns, which way of multiplying."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse, random_array

from separatrix.errors import DataError, PrecisionWarning
from separatrix.kernels import Gaussian, Linear, Polynomial
from separatrix.kernels import prepared as vectors
from separatrix.kernels.base import InnerProduct
from separatrix.kernels.prepared import TOLERANCE, Vectors, precision, prepare

EPS32, EPS64 = float(np.finfo(np.float32).eps), float(np.finfo(np.float64).eps)


class Known(InnerProduct):
    """A kernel of given scale, resolution and error, relative to the rounding of products."""

    def __init__(self, off, *, scale=None, resolution=1.0):
        self.off, self.largest, self.smallest = off, scale, resolution

    def block(self, X, Z):
        raise NotImplementedError

    diagonal = block

    def scale(self, s):
        return s if self.largest is None else self.largest

    def resolution(self, s):
        return self.smallest

    def error(self, s, eps):
        return self.off * eps

    def __repr__(self):
        return "Known()"


def chosen(kernel, squares, tolerance=1e-3, can_be_float32=True):
    return precision(kernel, np.array(squares), tolerance, can_be_float32=can_be_float32).name


def test_float32_is_taken_up_to_a_tenth_of_the_tolerance():
    most = 1e-4 / EPS32
    assert chosen(Known(most), [1.0]) == "float32"
    assert chosen(Known(most * (1 + 1e-12)), [1.0]) == "float64"
    assert chosen(Known(most), [1.0], can_be_float32=False) == "float64"
    assert chosen(Known(2 * most, resolution=2.0), [1.0]) == "float32"
    assert chosen(Known(1e30, resolution=0.0), [1.0]) == "float32"


def test_float32_is_taken_within_its_range():
    assert chosen(Known(0.0), [1.0, 0.99e37]) == "float32"
    assert chosen(Known(0.0), [1.0, 1e37]) == "float64"
    assert chosen(Known(0.0, scale=1e37), [1.0]) == "float64"
    assert chosen(Known(0.0), [1.01e-30, 1.0]) == "float32"
    assert chosen(Known(0.0), [1e-30, 1.0]) == "float64"
    assert chosen(Known(0.0), [0.0, 1.0]) == "float32"
    assert chosen(Known(0.0), [0.0, 0.0]) == "float32"
    assert chosen(Known(0.0, scale=1e-30), [1.0]) == "float64"
    assert chosen(Known(0.0), []) == "float32"


@pytest.mark.parametrize(("tolerance", "most"), [(1e-3, 1e-4), (1e-9, 1e-9)])
def test_an_error_of_float64_warns_above_what_is_wanted(tolerance, most):
    assert chosen(Known(most / EPS64 * (1 - 1e-12)), [1.0], tolerance) == "float64"
    with pytest.warns(
        PrecisionWarning, match=r"Known\(\) of samples with squared norm 1 may be off"
    ):
        assert chosen(Known(most / EPS64 * (1 + 1e-12)), [1.0], tolerance) == "float64"


def test_values_beyond_float64_are_refused():
    with pytest.raises(DataError, match=r"Known\(\) overflows: samples of squared norm 4 give"):
        chosen(Known(0.0, scale=np.inf), [4.0])


def made(X, Z=None, kernel=None, **more):
    return prepare(kernel or Linear(), X, *([] if Z is None else [Z]), **more)


def test_small_matrices_are_float64_and_large_ones_float32(monkeypatch):
    X = np.ones((4, 2))
    monkeypatch.setattr(vectors, "SMALL", 16)
    assert made(X).dtype == np.float64
    assert made(X, np.ones((5, 2))).dtype == np.float32
    assert made(X, np.ones((3, 2))).dtype == np.float64
    assert made(X, order=np.array([0, 1, 2, 3, 0])).dtype == np.float32
    monkeypatch.setattr(vectors, "SMALL", 15)
    assert made(X).dtype == np.float32
    assert made(X, dtype=np.dtype(np.float64)).dtype == np.float64


@pytest.mark.parametrize(("used", "kept"), [(18, 18), (19, 20), (20, 20)])
def test_empty_columns_are_dropped_if_there_are_enough_of_them(used, kept):
    X = np.zeros((3, 20))
    X[1, :used] = 1.0
    found = made(X)
    assert found.X.shape == (3, kept)
    assert (found.used is None) == (kept == 20)
    np.testing.assert_array_equal(found.squares, [0, used, 0])


def test_constant_columns_are_dropped_from_samples_that_are_centred():
    X = np.full((4, 3), 7.0)
    X[:, 1] = [1.0, 2.0, 3.0, 6.0]
    assert made(X).used is None
    found = made(X, kernel=Gaussian(1.0))
    np.testing.assert_array_equal(found.used, [1])
    np.testing.assert_array_equal(found.centre, [7.0, 3.0, 7.0])
    np.testing.assert_array_equal(found.X, [[-2.0], [-1.0], [0.0], [3.0]])
    np.testing.assert_array_equal(found.squares, [4.0, 1.0, 0.0, 9.0])
    other = found.like(np.array([[8.0, 3.0, 7.0]]))
    np.testing.assert_array_equal(other.X, [[0.0]])
    np.testing.assert_array_equal(other.squares, [1.0])
    sparse = found.like(csr_array(np.array([[8.0, 4.0, 7.0]])))
    np.testing.assert_array_equal(sparse.X, [[1.0]])
    np.testing.assert_array_equal(sparse.squares, [2.0])


@pytest.mark.parametrize("stored", [1, 2])
def test_sparse_samples_become_dense_if_they_are_full_enough_and_fit(stored):
    X = np.zeros((2, 64))
    X[:, :stored] = 1.0
    found = made(csr_array(X))
    assert issparse(found.X) == (stored == 1)  # 64 columns are 32 for each of 2
    assert not issparse(made(csr_array(X[:, :32])).X)
    if stored == 2:
        assert not issparse(made(csr_array(X), budget=2 * 8 * 128).X)
        assert issparse(made(csr_array(X), budget=2 * 8 * 128 - 1).X)


@pytest.mark.parametrize("order", [None, np.array([2, 0, 0])])
@pytest.mark.parametrize("columns", [3, 900])
def test_rows_come_in_the_order_that_is_asked_for(order, columns):
    X = np.zeros((3, columns))
    X[:, 0] = [1.0, 2.0, 3.0]
    rows = np.arange(3) if order is None else order
    for samples in (X, csr_array(X)):
        for kernel in (Linear(), Polynomial(2)):
            found = made(samples, kernel=kernel, order=order)
            np.testing.assert_array_equal(found.squares, X[rows, 0] ** 2)
            np.testing.assert_array_equal(found.own_products(1), np.outer(X[rows, 0], X[rows, 0]))


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0)], ids=repr)
def test_one_sample_is_enough(kernel):
    found = made(np.array([[3.0, 4.0]]), kernel=kernel)
    assert len(found) == 1
    assert found.own_products(1).tolist() == [[25.0 if kernel == Linear() else 0.0]]


def test_others_are_measured_from_the_same_centre():
    """A far sample needs float64, whichever set it is in."""
    X, far = np.array([[0.0], [2.0]]), np.array([[1.0], [1e6]])
    assert made(X, kernel=Gaussian(1e-4), dtype=np.dtype(np.float32)).dtype == np.float32
    for Z in (far, csr_array(far)):
        assert made(X, Z, kernel=Gaussian(1e-4), dtype=np.dtype(np.float32)).dtype == np.float64
    assert made(X, X[:0], kernel=Gaussian(1e-4)).dtype == np.float64
    np.testing.assert_array_equal(vectors._squares(far, np.array([1.0])), [0.0, (1e6 - 1) ** 2])
    assert vectors._squares(far[:0], np.array([1.0])).shape == (0,)


@pytest.mark.parametrize("spread", [2**28, 0])
@pytest.mark.parametrize("density", [0.01, 0.6])
@pytest.mark.parametrize(("n", "m"), [(5, 8), (8, 5), (6, 6)])
def test_products_of_sparse_and_dense_samples_are_those_of_matrices(
    n, m, density, spread, monkeypatch
):
    monkeypatch.setattr(vectors, "LARGEST_SPREAD", spread)
    rng = np.random.default_rng(n)
    A, B = (random_array((k, 60), density=density, random_state=rng).toarray() for k in (n, m))
    forms = [
        [Vectors(make(part), None, None, None) for make in (np.asarray, csr_array)]
        for part in (A, B)
    ]
    for first in forms[0]:
        for second in forms[1]:
            if issparse(first.X) and not issparse(second.X):
                continue  # `like` makes others as the first are
            np.testing.assert_allclose(first.products(second), A @ B.T, atol=1e-14)
            out = np.full((n, m), np.nan)
            assert first.products(second, out) is out
            np.testing.assert_allclose(out, A @ B.T, atol=1e-14)


@pytest.mark.parametrize("n", [1, 255, 1025, 1290])
def test_own_products_in_blocks_are_a_symmetric_matrix(n):
    X = np.arange(2.0 * n).reshape(n, 2) % 7
    np.testing.assert_array_equal(made(X, dtype=np.dtype(np.float64)).own_products(2), X @ X.T)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_blocks_of_rows_change_nothing(rows, monkeypatch):
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", rows)
    monkeypatch.setattr(vectors, "WORTH_THREADS", 0)
    X = np.arange(15.0).reshape(5, 3) ** 2
    found = made(X, kernel=Gaussian(0.1))
    np.testing.assert_allclose(found.centre, X.mean(axis=0))
    np.testing.assert_allclose(found.X, X - X.mean(axis=0))
    np.testing.assert_allclose(found.squares, ((X - X.mean(axis=0)) ** 2).sum(axis=1))


def test_the_tolerance_is_a_thousandth():
    assert TOLERANCE == 1e-3
