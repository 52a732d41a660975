import numpy as np
import pytest

from separatrix import SVC
from separatrix.errors import DataError
from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.svm.hard_margin import INSIDE, _length, solve_interior_point
from separatrix.workbench.playground.generators import generate_points


def moons(n=200, noise=0.2):
    points = generate_points("moons", n=n, noise=noise, seed=0)
    return np.array([point[:2] for point in points]), np.array([point[2] for point in points])


def test_two_overlapping_moons_are_separated_by_a_hard_gaussian_margin_in_few_steps():
    X, y = moons()

    model = SVC(C=np.inf, gamma=1.0, max_iter=100_000).fit(X, y)  # by pairs of rows: 10^9 steps

    assert model.stop_ == ["tol"]
    assert np.all(model.predict(X) == y)
    assert model.dual_gap_.max() < 1e-3


def test_classes_that_no_line_separates_are_refused_in_few_steps():
    X, y = moons()

    with pytest.raises(DataError, match="cannot be separated"):
        SVC(C=np.inf, kernel="linear", max_iter=100_000).fit(X, y)


def test_the_start_is_the_solution_of_the_dual_with_a_very_large_box():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(-2, 0.6, (15, 2)), rng.normal(2, 0.6, (20, 2))]
    y = np.repeat([-1.0, 1.0], [15, 20])

    alpha = solve_interior_point(X @ X.T, y)

    peer = SVC(C=1e6, kernel="linear", tol=1e-8).fit(X, y)
    w = (alpha * y) @ X
    np.testing.assert_allclose(w, peer.coef_[0], rtol=1e-5)
    assert abs(alpha @ y) < 1e-9
    assert np.count_nonzero(alpha) == len(peer.support_)


def test_an_indefinite_matrix_and_a_stop_give_no_start():
    y = np.array([1.0, -1.0, 1.0])
    monitor = FitMonitor()
    monitor.should_stop = lambda: True

    assert solve_interior_point(-100 * np.eye(3), y) is None
    assert solve_interior_point(np.eye(3), y, monitor) is None


def test_a_step_stays_inside_and_is_never_longer_than_1():
    value = np.array([1.0, 2.0])
    assert _length(value, np.array([0.0, 5.0])) == 1.0
    assert _length(value, np.array([-0.1, 0.0])) == 1.0
    assert _length(value, np.array([-2.0, -1.0])) == INSIDE * 0.5
    assert _length(value, np.array([1.0, -4.0])) == INSIDE * 0.5
