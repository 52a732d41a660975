import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.preprocessing import scale

from separatrix import LogisticRegression
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.solvers.logistic import descent as logistic_descent

IRIS, KINDS = load_iris(return_X_y=True)
CANCER, SICK = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)
DIGITS, LABELS = load_digits(return_X_y=True)
SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


def objective(model, X, y, C, weights=None):
    """Minus the log posterior, from its definition."""
    S = X @ model.coef_.T + model.intercept_
    if S.shape[1] == 1:
        S = np.column_stack([-S[:, 0] / 2, S[:, 0] / 2])
    codes = np.searchsorted(model.classes_, y)
    weights = np.ones(len(y)) if weights is None else weights
    loss = -weights @ log_softmax(S, axis=1)[np.arange(len(y)), codes]
    return loss + (model.coef_**2).sum() / (2 * C)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_scikit_learns_minimum_is_ours(load, C, solver):
    X, y = load(return_X_y=True)
    X = scale(X)
    ours = LogisticRegression(C=C, tol=1e-9, solver=solver, max_iter=2000).fit(X, y)
    theirs = Peer(C=C, tol=1e-10, solver="newton-cholesky", max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.objective_ == pytest.approx(objective(ours, X, y, C), rel=1e-12)
    assert objective(ours, X, y, C) <= objective(theirs, X, y, C) * (1 + 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("X", [CANCER, csr_array(CANCER), CANCER.astype(np.float32)])
def test_weights_of_classes_and_samples_count_as_in_scikit_learn(X, intercept):
    weights = np.random.default_rng(0).random(len(SICK))
    options = {"class_weight": "balanced", "fit_intercept": intercept, "tol": 1e-8}
    ours = LogisticRegression(**options).fit(X, SICK, weights)
    theirs = Peer(**options, max_iter=10_000).fit(CANCER, SICK, weights)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)


def test_the_gradient_that_is_reported_is_that_of_the_mean_loss():
    model = LogisticRegression(tol=1e-3).fit(CANCER, SICK)
    residual = expit(model.decision_function(CANCER)) - SICK
    gradient = np.append(CANCER.T @ residual + model.coef_[0], residual.sum()) / len(SICK)
    assert model.gradient_ == pytest.approx(np.abs(gradient).max(), rel=1e-8)
    assert model.gradient_ <= 1e-3


def test_blocks_memory_maps_and_threads_give_the_same_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(logistic_descent, "BLOCK_WORK", 1000)
    whole = LogisticRegression(tol=1e-9).fit(CANCER, SICK)
    np.save(tmp_path / "X.npy", CANCER)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    parts = [(CANCER[i::5], SICK[i::5]) for i in range(5)]
    for model in (
        LogisticRegression(tol=1e-9, n_jobs=1).fit(CANCER, SICK),
        LogisticRegression(tol=1e-9, n_jobs=3).fit(mapped, SICK),
        LogisticRegression(tol=1e-9).fit(parts),
    ):
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-9)
    alone = LogisticRegression(tol=1e-9, n_jobs=1).fit(CANCER, SICK)
    np.testing.assert_array_equal(alone.coef_, whole.coef_)
    with pytest.raises(DataError, match=r"reads all samples once for each step.*read only once"):
        LogisticRegression().fit(part for part in parts)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_lbfgs_is_the_same_to_the_last_bit_for_any_number_of_threads(k, sparse, monkeypatch):
    monkeypatch.setattr(logistic_descent, "BLOCK_WORK", 1000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20)) * (rng.random((3000, 20)) < 0.5)
    y = (X[:, :k] + rng.normal(size=(3000, k))).argmax(axis=1)
    samples = csr_array(X) if sparse else X
    alone, *others = (
        LogisticRegression(solver="lbfgs", n_jobs=jobs).fit(samples, y) for jobs in (1, 2, 5)
    )
    for model in others:
        np.testing.assert_array_equal(model.coef_, alone.coef_)
        assert model.n_iter_[0] == alone.n_iter_[0]


def test_many_separable_samples_end_near_the_least_objective():
    # the fit starts from one in sixteen samples, so that the first gradient may be below tol already
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = X @ rng.normal(size=5) > 0

    found = LogisticRegression(C=1000.0).fit(X, y)
    least = LogisticRegression(C=1000.0, tol=1e-9).fit(X, y)

    assert found.objective_ <= (1 + 1e-6) * least.objective_


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("units", ["standard", "raw", "sparse"])
def test_the_objective_at_default_settings_is_no_higher_than_scikit_learns(k, units):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(1500, 3)) @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(1500, 12))
    y = (X[:, :k] + rng.normal(size=(1500, min(k, 12)))).argmax(axis=1)
    if units == "raw":
        X = (X + rng.normal(size=12)) * 10.0 ** rng.uniform(-2, 3, size=12)
    elif units == "sparse":
        X = X * (rng.random(X.shape) < 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the peer, in raw units
        peer = Peer().fit(X, y)
    model = LogisticRegression().fit(csr_array(X) if units == "sparse" else X, y)
    assert model.objective_ <= objective(peer, X, y, 1.0) * (1 + 1e-6)


def test_beginning_with_few_samples_ends_at_the_same_point(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6))
    y = (rng.random(40_000) < expit(X @ rng.normal(size=6))).astype(int)
    quick = LogisticRegression(tol=1e-9).fit(X, y)
    monkeypatch.setattr(logistic_descent, "MIN_SUBSAMPLE", 10**9)
    plain = LogisticRegression(tol=1e-9).fit(X, y)
    assert quick.n_iter_[0] < plain.n_iter_[0]
    np.testing.assert_allclose(quick.coef_, plain.coef_, atol=1e-8)


def test_rows_in_an_unlucky_order_do_no_harm():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(32_768, 3))
    y = np.zeros(32_768, dtype=int)
    y[1::16] = 1  # the samples that are begun with have one class only
    model = LogisticRegression(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        model.coef_, Peer(solver="newton-cholesky", tol=1e-10).fit(X, y).coef_, atol=1e-6
    )


@pytest.mark.parametrize("solver", ["newton-cholesky", "lbfgs"])
def test_a_warm_start_goes_on_where_it_was(solver):
    model = LogisticRegression(warm_start=True, solver=solver, tol=1e-6, max_iter=500)
    model.fit(CANCER, SICK)
    steps = model.n_iter_[0]
    assert model.fit(CANCER, SICK).n_iter_[0] <= 1 < steps


# Maximum likelihood


def test_without_a_prior_it_is_maximum_likelihood():
    two = KINDS > 0
    ours = LogisticRegression(C=np.inf, tol=1e-8).fit(IRIS[two], KINDS[two])
    theirs = Peer(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(IRIS[two], KINDS[two])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5)
    assert ours.separated_ is False


@pytest.mark.parametrize("labels", [KINDS, KINDS == 0])
def test_separated_classes_are_noticed_and_said(labels):
    rows = slice(None) if labels.dtype == bool else slice(0, 100)
    with pytest.warns(ConvergenceWarning, match="can be separated.*Use a finite C"):
        model = LogisticRegression(C=np.inf).fit(IRIS[rows], labels[rows])
    assert model.separated_ is True
    assert model.score(IRIS[rows], labels[rows]) == 1.0


def test_a_prior_takes_no_notice_of_separation():
    assert LogisticRegression().fit(IRIS[:100], KINDS[:100]).separated_ is None


def test_the_old_name_of_maximum_likelihood_warns_as_in_scikit_learn():
    two = KINDS > 0
    with pytest.warns(FutureWarning, match="'penalty' was deprecated"):
        old = LogisticRegression(penalty=None, tol=1e-8).fit(IRIS[two], KINDS[two])
    new = LogisticRegression(C=np.inf, tol=1e-8).fit(IRIS[two], KINDS[two])
    np.testing.assert_array_equal(old.coef_, new.coef_)


def test_a_fit_cut_short_says_how_far_it_got():
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 iterations.*wanted 0.0001"):
        LogisticRegression(max_iter=2).fit(CANCER, SICK)


# The posterior


def test_deviations_are_those_of_the_inverse_fisher_information():
    model = LogisticRegression(C=2.0, posterior="laplace").fit(CANCER, SICK)
    X = np.column_stack([CANCER, np.ones(len(SICK))])
    p = expit(model.decision_function(CANCER))
    H = (X * (p * (1 - p))[:, None]).T @ X + np.diag([0.5] * 30 + [0.0])
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(H), rtol=1e-6, atol=1e-9)
    spread = np.sqrt(np.diag(model.covariance_))
    np.testing.assert_allclose(model.coef_std_[0], spread[:30])
    np.testing.assert_allclose(model.intercept_std_, spread[30])


def test_doubt_draws_probabilities_to_one_half_and_keeps_the_class():
    sure = LogisticRegression().fit(CANCER[:40], SICK[:40])
    for predictive in ("mackay", "quadrature"):
        model = LogisticRegression(posterior="laplace", predictive=predictive)
        model.fit(CANCER[:40], SICK[:40])
        p, q = sure.predict_proba(CANCER)[:, 1], model.predict_proba(CANCER)[:, 1]
        assert (np.abs(q - 0.5) <= np.abs(p - 0.5) + 1e-4).all()
        np.testing.assert_array_equal(model.predict(CANCER) == 1, q > 0.5)


def test_the_predictive_of_softmax_is_near_a_sampled_one():
    model = LogisticRegression(C=1.0, posterior="laplace").fit(scale(IRIS), KINDS)
    X = np.column_stack([scale(IRIS), np.ones(150)])
    rng = np.random.default_rng(0)
    theta = np.column_stack([model.coef_, model.intercept_]).ravel()
    draws = rng.multivariate_normal(theta, model.covariance_, size=4000).reshape(4000, 3, 5)
    sampled = np.exp(log_softmax(np.einsum("scj,ij->sic", draws, X), axis=2)).mean(axis=0)
    plain = LogisticRegression(C=1.0, tol=1e-8).fit(scale(IRIS), KINDS)
    off = np.abs(plain.predict_proba(scale(IRIS)) - sampled).mean()
    assert np.abs(model.predict_proba(scale(IRIS)) - sampled).mean() < off / 3
    np.testing.assert_array_equal(
        model.predict(scale(IRIS)), model.predict_proba(scale(IRIS)).argmax(axis=1)
    )


@pytest.mark.parametrize(("X", "y"), [(CANCER, SICK), (scale(IRIS), KINDS)])
def test_the_chosen_prior_has_the_most_evidence(X, y):
    model = LogisticRegression(C="evidence", posterior="laplace").fit(X, y)
    for factor in (0.5, 0.8, 1.25, 2.0):
        other = LogisticRegression(C=factor * model.C_, posterior="laplace").fit(X, y)
        assert other.log_evidence_ < model.log_evidence_


def test_the_evidence_chooses_sensibly_where_planes_separate_the_classes():
    for X, y in ((IRIS[:100], KINDS[:100]), (CANCER[:40], SICK[:40])):
        model = LogisticRegression(C="evidence", posterior="laplace").fit(X, y)
        assert 0.1 < model.C_ < 1e3
        assert model.predict_proba(X).max(axis=1).mean() > 0.8
    with pytest.raises(DataError, match="without a prior there is no posterior"):
        LogisticRegression(C=np.inf, posterior="laplace").fit(IRIS[:100], KINDS[:100])


def test_a_prior_on_the_bias_makes_the_evidence_proper():
    improper = LogisticRegression(posterior="laplace").fit(CANCER, SICK)
    proper = LogisticRegression(posterior="laplace", intercept_precision=1e-8).fit(CANCER, SICK)
    np.testing.assert_allclose(proper.coef_, improper.coef_, atol=1e-5)
    # the prior's density at the bias, and 1 per sqrt(1 + C r^2) where there is none
    constant = 0.5 * np.log(1e-8 / (2 * np.pi)) + 0.5 * np.log(1 + (CANCER**2).sum() / len(SICK))
    assert proper.log_evidence_ == pytest.approx(improper.log_evidence_ + constant, abs=1e-4)


def test_without_a_prior_deviations_are_the_classical_standard_errors():
    two = KINDS > 0
    model = LogisticRegression(C=np.inf, posterior="laplace").fit(IRIS[two], KINDS[two])
    X = np.column_stack([IRIS[two], np.ones(100)])
    p = expit(model.decision_function(IRIS[two]))
    errors = np.sqrt(np.diag(np.linalg.inv((X * (p * (1 - p))[:, None]).T @ X)))
    np.testing.assert_allclose(
        np.append(model.coef_std_[0], model.intercept_std_), errors, rtol=1e-5
    )
    twice = np.column_stack([IRIS[two], IRIS[two][:, 0]])
    with pytest.raises(DataError, match="the posterior is flat in some direction"):
        LogisticRegression(C=np.inf, posterior="laplace").fit(twice, KINDS[two])


def test_what_a_posterior_needs_is_said(monkeypatch):
    with pytest.raises(AttributeError, match="posterior='laplace'"):
        _ = LogisticRegression().fit(CANCER, SICK).covariance_
    monkeypatch.setattr(logistic_descent, "default_budget", lambda: 1000)
    with pytest.raises(MemoryBudgetError, match="the Hessian of 31 parameters needs"):
        LogisticRegression(posterior="laplace").fit(CANCER, SICK)


# Properties


def test_wide_sparse_samples_go_down_without_a_matrix():
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((60, 5000)) < 0.01).astype(float))
    y = rng.integers(0, 3, 60)
    model = LogisticRegression().fit(X, y)
    assert model.solver_ == "L-BFGS: n=60, 15003 parameters"
    theirs = Peer(tol=1e-6, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_overflowing_features_are_refused_with_advice():
    X = np.array([[1e200], [-1e200], [2e200], [-1e199]])
    with pytest.raises(DataError, match="scale the features"):
        LogisticRegression().fit(X, [0, 1, 0, 1])


OTHER_KINDS = (np.int64, np.int8, bool, np.float32)


def test_a_search_for_the_prior_can_be_watched(capsys):
    model = LogisticRegression(C="evidence", max_iter=20).set_callbacks(ProgressBar())
    assert model.fit(CANCER, SICK).n_iter_[0] > 20  # all searched steps, more than one fit may take
    assert "LogisticRegression" in capsys.readouterr().out


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize(
    "kind",
    [np.uint8, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHER_KINDS)],
)  # each is compiled
@pytest.mark.parametrize("labels", [SIDES, np.arange(200) % 3])
def test_sparse_integers_do_not_round_the_weights(kind, solver, labels):
    counts = np.random.default_rng(0).poisson(
        1.0 + labels[:, None] * np.array([1.0, 0.0, 0.5]), size=(200, 3)
    )
    X = csr_array(counts.astype(kind))
    ours = LogisticRegression(solver=solver, tol=1e-7, max_iter=1000).fit(X, labels)
    theirs = Peer(tol=1e-9, max_iter=5000).fit(X.toarray().astype(float), labels)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X.toarray().astype(float)), atol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_evidence_does_not_collapse_on_few_noisy_samples(scale):
    chosen = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(60, 2))
        b = A[:, 0] + 0.5 * rng.normal(size=60) > 0
        chosen.append(LogisticRegression(C="evidence").fit(A * scale, b).C_ * scale**2)
    assert 1e-2 < min(chosen) < max(chosen) < 1e4


def test_the_evidence_warns_of_uninformative_features():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(40, 2)), np.arange(40) % 2
    A[:, 0] = np.repeat([1.0, -1.0], 20)  # no relation to b at all
    A[:, 1] = np.tile([1.0, 1.0, -1.0, -1.0], 10)
    with pytest.warns(UserWarning, match="largest at a limit of the search"):
        LogisticRegression(C="evidence").fit(A, b)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0], [2.0], [2.0], [3.0]], [0, 0, 1, 1]),
        ([[0.0], [1.0], [1.0], [2.0], [-1.0], [3.0]], [0, 0, 1, 1, 0, 1]),
        (
            np.column_stack([NOISY[:, 0], np.arange(200) == 7]),
            SIDES,
        ),  # a feature that one sample has
    ],
)
def test_barely_separable_classes_are_detected(X, y):
    with pytest.warns(ConvergenceWarning, match="can be separated"):
        assert LogisticRegression(C=np.inf).fit(X, y).separated_ is True
    with pytest.raises(DataError, match="there is no posterior"):
        LogisticRegression(C=np.inf, posterior="laplace").fit(X, y)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [({0: 0, 1: 0}, "all samples have weight 0"), ({0: "x"}, "at least 0")],
)
def test_class_weights_of_zero_for_all_classes_are_refused(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogisticRegression(class_weight=weights).fit(NOISY, SIDES)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_evidence_of_a_rare_class_is_found(seed):
    """The intercept once ended at -70, where no curvature led back, and the weights at 0."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20_000, 5)), np.zeros(20_000, dtype=int)
    rare = rng.permutation(20_000)[:20]
    y[rare] = 1
    X[rare, :2] += (3.0, -2.0)
    model = LogisticRegression(C="evidence").fit(X, y)
    assert model.gradient_ <= model.tol
    base = -0.001 * np.log(0.001) - 0.999 * np.log(0.999)
    loss = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()
    assert loss < base / 2
    known = LogisticRegression(C=model.C_, posterior="laplace").fit(X, y).log_evidence_
    for factor in (0.01, 0.5, 2.0, 100.0):
        other = LogisticRegression(C=factor * model.C_, posterior="laplace").fit(X, y)
        assert other.log_evidence_ < known
