"""nu-SVC and one-class problems: LIBSVM and a general solver are the oracles."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import NuSVC, OneClassSVM

from separatrix.kernels import Gaussian
from separatrix.kernels.gram.build import make_gram
from separatrix.solvers.svm import nu, solve_svms
from separatrix.solvers.svm.nu import set_sums, solve_nu_svms
from separatrix.solvers.svm.problem import SvmProblem

TWO, ONE = np.array([-1, 1], np.int8), np.array([1, 1], np.int8)


def samples(n, seed=0, shift=1.6):
    """Two clouds; the margin of overlapping ones is small, and LIBSVM's scores, divided by it, inexact."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.permutation(n) % 2)
    return rng.normal(size=(n, 3)) + shift * y[:, None], y, rng.uniform(0.5, 2.0, size=n)


def gram_of(X, y, **options):
    first = int(np.sum(y == 0))
    segments = (slice(0, first), slice(first, len(y)))
    return make_gram(Gaussian(0.3), X, segments=segments, tolerance=1e-12, **options)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("n", [41, 150, 700])
def test_scores_are_those_of_libsvm(n, hold):
    X, y, weights = samples(n, n)
    gram = gram_of(X, y, hold=hold)
    (two,) = solve_nu_svms(gram, [SvmProblem(TWO, weights)], nu=0.37, tol=1e-7)
    (one,) = solve_nu_svms(gram, [SvmProblem(ONE, weights)], nu=0.37, tol=1e-7)

    theirs = NuSVC(nu=0.37, gamma=0.3, tol=1e-9).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(two.scores, theirs.decision_function(X), atol=2e-6)
    theirs = OneClassSVM(nu=0.37, gamma=0.3, tol=1e-9).fit(X, sample_weight=weights)
    np.testing.assert_allclose(one.scores, theirs.decision_function(X), atol=2e-5)
    for fit in (two, one):
        assert fit.stop == "tol"
        assert fit.violation <= 1e-7
        assert -1e-9 <= fit.gap <= 1e-3


@pytest.mark.parametrize("sides", [TWO, ONE])
def test_the_objective_is_the_minimum_that_a_general_solver_finds(sides):
    X, y, weights = samples(18, 3)
    gram = gram_of(X, y)
    (fit,) = solve_nu_svms(gram, [SvmProblem(sides, weights)], nu=0.4, tol=1e-9)
    signs = fit.y
    Q = signs[:, None] * signs * gram.matrix
    share = 0.4 * weights.sum() / len(set(signs))
    found = minimize(
        lambda a: 0.5 * a @ Q @ a,
        0.4 * weights,
        jac=lambda a: Q @ a,
        bounds=[(0.0, w) for w in weights],
        constraints=[
            {"type": "eq", "fun": lambda a, s=s: a[signs == s].sum() - share} for s in set(signs)
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    r = fit.box[0] / weights[0]  # 1 / r, or 1 of one class
    assert 0.5 * fit.square / r**2 == pytest.approx(found.fun, rel=1e-6)


@pytest.mark.parametrize(("shift", "near"), [(0.2, 3e-5), (0.7, 1e-6), (1.6, 1e-6)])
def test_the_boundary_is_that_of_the_c_svc_with_the_same_bounds(shift, near):
    X, y, weights = samples(120, 5, shift)
    gram = gram_of(X, y)
    (fit,) = solve_nu_svms(gram, [SvmProblem(TWO, weights)], nu=0.3, tol=1e-9)
    box = np.empty(len(y))
    box[fit.rows] = fit.box
    (same,) = solve_svms(gram, [SvmProblem(TWO, box)], tol=1e-9)
    np.testing.assert_allclose(fit.scores, same.scores, atol=near)
    assert fit.dual == pytest.approx(same.dual, rel=1e-8)
    assert fit.primal == pytest.approx(same.primal, rel=1e-6)


def test_a_start_is_used_and_a_limit_of_steps_leaves_a_feasible_fit():
    X, y, weights = samples(300, 7)
    gram = gram_of(X, y)
    problem = SvmProblem(TWO, weights)
    (cold,) = solve_nu_svms(gram, [problem], nu=0.3, tol=1e-5)
    (warm,) = solve_nu_svms(gram, [problem._replace(start=cold.alpha)], nu=0.3, tol=1e-5)
    (cut,) = solve_nu_svms(gram, [problem], nu=0.3, tol=1e-5, max_iter=7)
    assert warm.n_iter < cold.n_iter / 5
    assert cut.stop == "max_iter"
    for fit in (cold, warm, cut):
        assert abs(fit.alpha @ fit.y) < 1e-9 * fit.alpha.sum()
        assert (fit.alpha >= 0).all()
        assert (fit.alpha <= fit.box).all()


def test_overlapping_classes_have_no_margin():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.arange(80) // 40
    gram = make_gram(Gaussian(1e-4), X, segments=(slice(0, 40), slice(40, 80)), tolerance=1e-12)
    (fit,) = solve_nu_svms(gram, [SvmProblem(TWO, np.ones(80))], nu=0.05)
    assert fit.stop == "no margin"
    assert len(y) == len(fit.alpha)


def test_a_sum_is_kept_in_the_box():
    box = np.array([1.0, 2.0, 0.0, 3.0])
    for total in (0.0, 0.5, 5.9, 6.0):
        for start in (np.zeros(4), np.array([9.0, 0.0, 1.0, 1.0])):
            alpha = start.copy()
            set_sums(np.array([0, 4]), np.array([total]), np.ones(4), box, alpha)
            assert alpha.sum() == pytest.approx(total)
            assert (alpha >= 0).all()
            assert (alpha <= box).all()


def test_the_violation_that_a_small_margin_needs_is_asked_for_at_once(monkeypatch):
    X, y, weights = samples(60, shift=0.3)
    reviews, review = [], nu.NuBatch.review
    monkeypatch.setattr(nu.NuBatch, "review", lambda *given: reviews.append(1) or review(*given))
    (fit,) = solve_nu_svms(gram_of(X, y), [SvmProblem(TWO, weights)], nu=0.5, tol=1e-3)
    assert fit.stop == "tol"
    assert len(reviews) <= 6  # solved, checked; each halving would be two more
