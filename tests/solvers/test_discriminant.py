import numpy as np
import pytest
from scipy.linalg import pinvh
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf as their_ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLda
from sklearn.preprocessing import StandardScaler

from separatrix.solvers.discriminant import (
    class_rows,
    fast_inverse_root,
    fourth_powers,
    inverse_root,
    ledoit_wolf,
    principal_axes,
    quadratic,
    shrunk,
    signed,
    solve_eigen,
    solve_fisher,
    solve_lsqr,
    solve_svd,
    total_covariance,
    varying,
    whitening,
    whitening_of_rows,
    within_covariance,
    without_rounding,
)
from separatrix.solvers.least_squares import normal_equations, solve_ridge
from separatrix.solvers.moments import moments_of
from separatrix.types import Block


def problem(k=3, n=90, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=(k, d))[y]
    return Block(X, y, np.ones(n))


def moments(block, form="pooled"):
    return moments_of(block, n_classes=int(block.y.max()) + 1, form=form)


def covariance(d=5, rank=5, seed=0, sizes=None):
    F = np.random.default_rng(seed).normal(size=(d, rank))
    F = F if sizes is None else F * np.array(sizes)[:, None]
    return F @ F.T


def parallel(a, b):
    return abs(np.ravel(a) @ np.ravel(b)) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_whitening_makes_the_identity_and_the_inverse_root_the_pseudo_inverse(rank):
    C = covariance(rank=rank)
    T, root = whitening(C), inverse_root(C)
    assert T.shape == (5, rank)
    np.testing.assert_allclose(T.T @ C @ T, np.eye(rank), atol=1e-9)
    np.testing.assert_allclose(root @ root.T, pinvh(C), rtol=1e-8, atol=1e-8)


def test_the_rank_does_not_hang_on_the_units():
    sizes = [1e-9, 1.0, 1e9, 1e3, 1e-3]
    assert whitening(covariance(sizes=sizes)).shape[1] == 5
    assert whitening(covariance(rank=3, sizes=sizes)).shape[1] == 3


def test_directions_below_tol_are_left_out():
    assert whitening(np.diag([4.0, 1.0])).shape[1] == 2
    near = np.array([[1.0, 1.0 - 1e-10], [1.0 - 1e-10, 1.0]])
    assert whitening(near).shape[1] == 2
    assert whitening(near, tol=1e-4).shape[1] == 1


def test_few_rows_give_the_whitening_of_their_covariance():
    A = np.random.default_rng(1).normal(size=(6, 20))
    A -= A.mean(axis=0)
    A[:, 3] = 1e-16  # rounding
    by_rows = whitening_of_rows(A.copy(), np.ones(20), 1e-4)
    A[:, 3] = 0.0
    by_features = whitening(A.T @ A, 1e-4)
    assert by_rows.shape == by_features.shape == (20, 5)
    np.testing.assert_allclose(by_rows @ by_rows.T, by_features @ by_features.T, atol=1e-10)


@pytest.mark.parametrize("k", [2, 3])
def test_all_three_forms_make_the_same_differences_between_classes(k):
    found = moments(problem(k))
    mean, priors = found.mean, found.weight / found.weight.sum()
    C = within_covariance(found, priors)
    rules = [
        solve_svd(whitening(C), mean, priors, 1e-4),
        solve_lsqr(fast_inverse_root(C), mean, priors),
        solve_eigen(inverse_root(C), total_covariance(found) - C, mean, priors),
    ]
    X = np.random.default_rng(2).normal(size=(20, 4))
    scores = [X @ rule.coef.T + rule.intercept for rule in rules]
    if k > 2:
        scores = [S - S[:, :1] for S in scores]
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-10)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-10)


def test_scores_are_logarithms_of_gaussian_densities():
    found = moments(problem(), form="each")
    priors = np.array([0.2, 0.3, 0.5])
    C = within_covariance(found, priors)
    rule = solve_lsqr(fast_inverse_root(C), found.mean, priors)
    X = np.random.default_rng(3).normal(size=(10, 4))
    shared = np.stack([multivariate_normal(m, C).logpdf(X) for m in found.mean], axis=1)
    S = X @ rule.coef.T + rule.intercept - shared - np.log(priors)
    np.testing.assert_allclose(S, S[:, [0, 0, 0]], atol=1e-9)

    own = [found.scatter[c] / found.weight[c] for c in range(3)]
    axes = [principal_axes(one) for one in own]
    Q = quadratic(found.mean, axes, priors)
    each = [multivariate_normal(m, one).logpdf(X) for m, one in zip(found.mean, own, strict=True)]
    expected = np.stack(each, axis=1) + np.log(priors) + 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(Q.scores(X), expected, atol=1e-9)


def test_a_class_of_prior_0_scores_minus_infinity_and_nothing_is_nan():
    found = moments(problem())
    priors = np.array([0.5, 0.5, 0.0])
    C = within_covariance(found, priors)
    for rule in (
        solve_svd(whitening(C), found.mean, priors, 1e-4),
        solve_lsqr(fast_inverse_root(C), found.mean, priors),
    ):
        assert rule.intercept[2] == -np.inf
        assert np.isfinite(rule.coef).all()
        assert np.isfinite(rule.intercept[:2]).all()


def test_axes_are_without_correlation_and_of_unit_variance_within_the_classes():
    found = moments(problem())
    priors = found.weight / found.weight.sum()
    C = within_covariance(found, priors)
    for rule in (
        solve_svd(whitening(C), found.mean, priors, 1e-4),
        solve_eigen(inverse_root(C), total_covariance(found) - C, found.mean, priors),
    ):
        A = rule.axes
        np.testing.assert_allclose(A.T @ C @ A, np.eye(A.shape[1]), atol=1e-10)
        assert (np.diff(rule.ratio) <= 1e-12).all()


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_fisher_of_two_classes_is_the_formula_and_least_squares(ridge):
    found = moments(problem(2))
    axis = solve_fisher(found, ridge).axes
    w = np.linalg.solve(found.scatter + ridge * np.eye(4), found.mean[1] - found.mean[0])
    assert parallel(axis, w) == pytest.approx(1.0, abs=1e-12)
    assert axis[:, 0] @ (found.mean[1] - found.mean[0]) > 0
    assert parallel(axis, solve_ridge(normal_equations(found), ridge).coef) == pytest.approx(1.0)


@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_no_direction_has_a_larger_ratio_than_the_first_axis(ridge):
    found = moments(problem())
    fit = solve_fisher(found, ridge)
    within, between = found.scatter + ridge * np.eye(4), found.between()

    def ratio(A, S):
        return np.einsum("dc,dc->c", A, between @ A) / np.einsum("dc,dc->c", A, S @ A)

    tried = np.random.default_rng(4).normal(size=(4, 2000))
    assert ratio(fit.axes, within)[0] >= ratio(tried, within).max()
    np.testing.assert_allclose(fit.ratio, ratio(fit.axes, found.scatter), rtol=1e-9)
    np.testing.assert_allclose(fit.axes.T @ within @ fit.axes, 90 * np.eye(2), atol=1e-9)


def test_fisher_looks_only_where_the_samples_spread():
    block = problem(2)
    X = np.column_stack([block.X, block.X[:, 0] + block.X[:, 1], block.y])
    fit = solve_fisher(moments(block._replace(X=X)), 0.0)
    assert fit.rank == 4
    plain = solve_fisher(moments(block), 0.0)
    np.testing.assert_allclose(X @ fit.axes, block.X @ plain.axes, atol=1e-8)
    assert fit.ratio == pytest.approx(plain.ratio)
    tight = solve_fisher(moments(block._replace(X=X)), 1e-9)
    assert tight.rank == 6
    assert tight.ratio[0] > 1e6  # the last feature alone tells the classes apart


def test_ledoit_and_wolf_are_scikit_learns():
    block = problem(1, n=30, d=8)
    found = moments(block, form="each")
    C = found.scatter[0] / 30
    scale = np.sqrt(np.diag(C))
    parts = [Block(*(part[rows] for part in block)) for rows in (slice(0, 7), slice(7, 30))]
    fourth = sum(fourth_powers(part, mean=found.mean, scale=scale[None]) for part in parts)
    scaler = StandardScaler().fit(block.X)
    theirs, amount = their_ledoit_wolf(scaler.transform(block.X))
    assert 0 < amount < 1
    expected = theirs * scaler.scale_ * scaler.scale_[:, None]
    np.testing.assert_allclose(ledoit_wolf(C, 30.0, fourth[0]), expected, rtol=1e-10, atol=1e-12)


def test_ledoit_and_wolf_leave_one_feature_and_the_identity_as_they_are():
    np.testing.assert_array_equal(ledoit_wolf(np.array([[2.0]]), 5.0, 3.0), [[2.0]])
    np.testing.assert_allclose(ledoit_wolf(np.eye(3), 5.0, 100.0), np.eye(3))
    np.testing.assert_array_equal(ledoit_wolf(np.zeros((2, 2)), 0.0, 0.0), np.zeros((2, 2)))


def test_shrinking_keeps_the_mean_variance():
    C = covariance()
    assert np.trace(shrunk(C, 0.3)) == pytest.approx(np.trace(C))
    np.testing.assert_array_equal(shrunk(C, 0.0), C)
    np.testing.assert_allclose(shrunk(C, 1.0), np.eye(5) * np.trace(C) / 5)


def test_small_features_keep_their_variance_beside_large_ones():
    sizes = np.array([1e-7, 1.0, 1e7])
    s, V, *_ = principal_axes(np.diag(sizes**2))
    np.testing.assert_allclose(s, sizes[::-1] ** 2)
    np.testing.assert_allclose(V, np.eye(3)[:, ::-1])


@pytest.mark.parametrize("form", ["pooled", "each"])
def test_what_only_rounding_makes_vary_does_not_vary(form):
    block = problem(n=6000)
    X = np.column_stack([block.X, np.full(6000, 0.1), np.full(6000, 1e6 / 3), block.y / 3])
    found = moments(block._replace(X=X), form)
    clean = without_rounding(found)
    flat = np.einsum("...ii->...i", clean.scatter)[..., 4:]
    np.testing.assert_array_equal(flat, np.zeros_like(flat))
    np.testing.assert_array_equal(clean.scatter[..., :4, :4], found.scatter[..., :4, :4])
    assert varying(found).tolist() == [True] * 4 + [False, False, True]


def test_signs_are_settled_by_the_direction_then_by_the_largest_entry():
    axes = np.array([[1.0, -3.0, 0.0], [2.0, 1.0, -1.0]])
    np.testing.assert_array_equal(signed(axes), axes * [1, -1, -1])
    np.testing.assert_array_equal(signed(axes, np.array([-1.0, 0.0])), axes * [-1, 1, -1])


def test_rows_of_each_class_are_in_order():
    rows = class_rows(np.array([2, 0, 2, 0]), 3)
    assert [part.tolist() for part in rows] == [[1, 3], [], [0, 2]]


def test_axes_by_eigenvalues_say_their_share_of_the_scatter_between_classes():
    block = problem(3)
    found = moments(block)
    mean, priors = found.mean, found.weight / found.weight.sum()
    C = within_covariance(found, priors)
    rules = solve_eigen(inverse_root(C), total_covariance(found) - C, mean, priors)
    peer = TheirLda(solver="eigen").fit(block.X, block.y)
    np.testing.assert_allclose(rules.ratio[:2], peer.explained_variance_ratio_, rtol=1e-9)
    assert rules.ratio.sum() == pytest.approx(1.0)


def test_ledoit_and_wolf_shrink_at_most_to_equal_variances():
    C = np.array([[4.0, 1.0], [1.0, 9.0]])
    np.testing.assert_allclose(ledoit_wolf(C, 5.0, 1e9), np.diag([4.0, 9.0]))
    R = np.array([[1.0, 1 / 6], [1 / 6, 1.0]])
    noise = (20.0 / 5.0 - (R**2).sum()) / 5.0
    amount = noise / ((R**2).sum() - 2.0)
    assert amount > 1.0
    noise = (10.4 / 5.0 - (R**2).sum()) / 5.0
    amount = noise / ((R**2).sum() - 2.0)
    assert 0.0 < amount < 1.0
    expected = C * np.where(np.eye(2), 1.0, 1.0 - amount)
    np.testing.assert_allclose(ledoit_wolf(C, 5.0, 10.4), expected)


def test_axes_of_features_of_very_different_sizes_are_their_own():
    rng = np.random.default_rng(4)
    A = rng.normal(size=(30, 3))
    scale = np.array([1e-4, 1.0, 1e4])
    C = (A.T @ A / 30) * scale * scale[:, None]
    found = principal_axes(C)
    np.testing.assert_allclose(
        found.root @ found.root.T * scale * scale[:, None], np.linalg.inv(A.T @ A / 30), rtol=1e-6
    )
    np.testing.assert_allclose(found.variances.max(), np.linalg.eigvalsh(C)[-1], rtol=1e-9)
    exact = np.linalg.slogdet(A.T @ A / 30)[1] + 2 * np.log(scale).sum()
    assert found.log_determinant == pytest.approx(exact)
    assert np.prod(found.variances) == pytest.approx(np.exp(exact), rel=1e-4)
