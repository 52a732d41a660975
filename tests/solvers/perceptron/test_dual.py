import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from separatrix.kernels import Gaussian
from separatrix.solvers.perceptron.dual import mistake_bound, sgn, solve_dual, solve_primal


def separable(seed, margin=0.5, n=40, d=3):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=d), rng.normal()
    X = rng.uniform(-3, 3, size=(20 * n, d))
    distance = (X @ w + b) / np.linalg.norm(w)
    X, distance = X[np.abs(distance) > margin][:n], distance[np.abs(distance) > margin][:n]
    return X, np.where(distance > 0, 1, -1).astype(np.int8)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_primal_and_dual_make_the_same_mistakes_in_the_same_order(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, size=(30, 3)).astype(float)
    y = rng.choice([-1, 1], size=30).astype(np.int8)

    primal = solve_primal(X, y, max_iter=10)
    dual = solve_dual(X @ X.T, y, max_iter=10)

    np.testing.assert_array_equal(primal.mistakes, dual.mistakes)
    np.testing.assert_array_equal((dual.alpha * y) @ X, primal.w)
    assert dual.b == primal.b
    np.testing.assert_array_equal(np.bincount(dual.mistakes, minlength=30), dual.alpha)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_separable_data_are_separated_within_the_mistake_bound(seed):
    X, y = separable(seed)
    assume(len(np.unique(y)) == 2)  # the theorem's: on one class alone a margin may exceed 2R
    found = solve_primal(X, y, max_iter=100_000)
    assert found.clean
    assert (sgn(X @ found.w + found.b) == y).all()
    assert len(found.mistakes) <= mistake_bound(X, y, found.w, found.b)


def test_neither_the_learning_rate_nor_the_dual_form_changes_a_mistake():
    X, y = separable(1)
    one, quarter = solve_primal(X, y), solve_primal(X, y, eta=0.25)
    np.testing.assert_array_equal(one.mistakes, quarter.mistakes)
    np.testing.assert_array_equal(one.mistakes, solve_dual(X @ X.T, y).mistakes)
    np.testing.assert_allclose(quarter.w, 0.25 * one.w)


def test_the_dual_takes_any_kernel_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where((X**2).sum(axis=1) > 1, 1, -1).astype(np.int8)  # a circle: not linearly separable
    K = Gaussian(2.0).block(X, X)
    found = solve_dual(K, y)
    assert found.clean
    assert (sgn(K @ (found.alpha * y) + found.b) == y).all()


def test_what_is_not_separable_stops_at_the_limit_and_says_so():
    X = np.array([[1.0], [1.0]])
    y = np.array([1, -1], dtype=np.int8)
    found = solve_primal(X, y, max_iter=7)
    assert not found.clean
    assert mistake_bound(X, y, found.w, found.b) == float("inf")


def test_a_score_of_zero_is_on_the_positive_side_and_the_bound_is_novikoffs():
    assert sgn(np.array([-1e-300, 0.0, 1e-300])).tolist() == [-1, 1, 1]
    X, y = np.array([[2.0, 0.0], [-4.0, 0.0]]), np.array([1, -1], np.int8)
    for size in (3.0, 0.5):
        assert mistake_bound(X, y, np.array([size, 0.0]), 0.0) == (2 * 4 / 2) ** 2
    assert mistake_bound(X, y, np.array([3.0, 0.0]), 3.0) == (2 * 4 / 3) ** 2
    assert mistake_bound(X, y, np.array([3.0, 0.0]), -6.0) == np.inf  # on the boundary
    assert mistake_bound(X, y, np.zeros(2), 1.0) == np.inf


def test_too_few_passes_leave_mistakes_and_say_so():
    X, y = np.array([[1.0], [1.0]]), np.array([1, -1], np.int8)
    found = solve_primal(X, y, max_iter=3)
    assert not found.clean
    assert found.mistakes.tolist() == [0, 1] * 3
    dual = solve_dual(X @ X.T, y, max_iter=3)
    assert (dual.alpha.tolist(), dual.b, dual.clean) == ([3.0, 3.0], 0.0, False)
