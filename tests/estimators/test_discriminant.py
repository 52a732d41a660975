import numpy as np
import pytest
import sklearn
import sklearn.discriminant_analysis as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.covariance import OAS, LedoitWolf
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import separatrix.estimators.base.gaussian_classes as shared
from separatrix.errors import (
    DataError,
    MemoryBudgetError,
    ParameterError,
    UnsupportedError,
)
from separatrix.estimators.discriminant import LinearDiscriminantAnalysis as Linear
from separatrix.estimators.discriminant import QuadraticDiscriminantAnalysis as Quadratic
from separatrix.estimators.fisher import FisherDiscriminant
from separatrix.estimators.least_squares import LeastSquaresClassifier

DATA = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
X, Y = load_iris(return_X_y=True)
PRIORS = [0.2, 0.3, 0.5]
SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), solver=st.sampled_from(["svd", "lsqr", "eigen"]))
def test_two_classes_are_cut_parallel_to_least_squares_and_across_fishers_axis(seed, solver):
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2
    A = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 3)) + rng.normal(size=(2, 3))[y]
    directions = [
        Linear(solver).fit(A, y).coef_[0],
        LeastSquaresClassifier().fit(A, y).coef_[0],
        FisherDiscriminant().fit(A, y).axes_[:, 0],
    ]
    units = [w / np.linalg.norm(w) for w in directions]
    np.testing.assert_allclose(units[1], units[0], atol=1e-6)
    np.testing.assert_allclose(units[2], units[0], atol=1e-6)


def test_a_change_of_units_or_axes_changes_no_probability():
    rng = np.random.default_rng(0)
    turned = X @ rng.normal(size=(4, 4)) * 100.0 + 1e4
    for model in (Linear(), Linear("eigen"), Quadratic()):
        there, here = clone(model).fit(turned, Y), clone(model).fit(X, Y)
        np.testing.assert_allclose(there.predict_proba(turned), here.predict_proba(X), atol=1e-7)


def test_far_from_the_origin_the_default_keeps_its_digits():
    grid = np.round(X * 1024) / 1024
    for model in (Linear(), Linear("eigen"), Quadratic()):
        two = Y < 2 if isinstance(model, Linear) and model.solver == "eigen" else Y < 3
        near, far = clone(model).fit(grid[two], Y[two]), clone(model).fit(grid[two] + 1e7, Y[two])
        np.testing.assert_allclose(
            far.predict_proba(grid[two] + 1e7), near.predict_proba(grid[two]), atol=1e-6
        )


def test_probabilities_agree_with_their_logarithms_also_where_they_vanish():
    for model in (Linear().fit(X, Y), Quadratic().fit(X, Y)):
        S = model.decision_function(X)
        np.testing.assert_allclose(model.predict_log_proba(X), log_softmax(S, axis=1))
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        far = model.predict_log_proba(X[:1] * 1e3)
        assert np.isfinite(far).all()
        assert far.min() < -1e4  # the probability itself is 0


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize(
    ("solver", "shrinkage"),
    [
        ("svd", None),
        ("lsqr", None),
        ("lsqr", "auto"),
        ("lsqr", 0.3),
        ("eigen", None),
        ("eigen", "auto"),
        ("eigen", 0.3),
    ],
)
def test_linear_agrees_with_scikit_learn(name, priors, solver, shrinkage):
    A, y = DATA[name](return_X_y=True)
    k = len(np.unique(y))
    given = {"priors": np.arange(1, k + 1) / sum(range(k + 1)) if priors else None}
    given |= {"solver": solver, "shrinkage": shrinkage, "store_covariance": True}
    ours = Linear(**given).fit(A, y)
    if name == "digits" and (solver, shrinkage) == ("eigen", None):
        with pytest.raises(np.linalg.LinAlgError):  # theirs cannot: three pixels are never inked
            peer.LinearDiscriminantAnalysis(**given).fit(A, y)
        assert ours.rank_ == 61
        assert ours.score(A, y) > 0.95
        return
    theirs = peer.LinearDiscriminantAnalysis(**given).fit(A, y)
    for attribute in ("coef_", "intercept_", "means_", "priors_", "covariance_"):
        a, b = getattr(ours, attribute), getattr(theirs, attribute)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(b).max(), err_msg=attribute)
    np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-8)
    if solver == "lsqr":
        assert not hasattr(ours, "scalings_")
        return
    b = theirs.transform(A)
    np.testing.assert_allclose(np.abs(ours.transform(A)), np.abs(b), atol=1e-7 * np.abs(b).max())
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-8
    )
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert hasattr(ours, "xbar_") == (solver == "svd")


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"reg_param": 0.1},
        {"solver": "eigen"},
        {"solver": "eigen", "shrinkage": 0.2},
        {"solver": "eigen", "shrinkage": "auto"},
        {"solver": "eigen", "covariance_estimator": OAS()},
    ],
    ids=repr,
)
def test_quadratic_agrees_with_scikit_learn(name, priors, given):
    A, y = DATA[name](return_X_y=True)
    k = len(np.unique(y))
    given = given | {"priors": np.arange(1, k + 1) / sum(range(k + 1)) if priors else None}
    given |= {"store_covariance": True}
    if name == "digits" and not {"reg_param", "shrinkage", "covariance_estimator"} & set(given):
        with pytest.raises(np.linalg.LinAlgError, match="of class 0 is not full rank"):
            peer.QuadraticDiscriminantAnalysis(**given).fit(A, y)
        with pytest.warns(UserWarning, match="of class 0 has rank"):
            ours = Quadratic(**given).fit(A, y)
        assert ours.score(A, y) > 0.95
        return
    ours, theirs = Quadratic(**given), peer.QuadraticDiscriminantAnalysis(**given)
    ours.fit(A, y)
    theirs.fit(A, y)
    for attribute in ("means_", "priors_", "covariance_", "scalings_"):
        a, b = np.array(getattr(ours, attribute)), np.array(getattr(theirs, attribute))
        np.testing.assert_allclose(a, b, atol=1e-8 * np.abs(b).max(), err_msg=attribute)
    S = theirs.decision_function(A)
    np.testing.assert_allclose(ours.decision_function(A), S, atol=1e-8 * np.abs(S).max())
    np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-7)


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_a_covariance_estimator_is_fitted_to_each_class_and_left_as_it_is(solver):
    A, y = load_breast_cancer(return_X_y=True)
    estimator = LedoitWolf()
    given = {"solver": solver, "covariance_estimator": estimator}
    ours = Linear(**given).fit(A, y)
    assert not hasattr(estimator, "covariance_")
    theirs = peer.LinearDiscriminantAnalysis(**given).fit(A, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_)
    np.testing.assert_allclose(ours.predict_proba(A), theirs.predict_proba(A), atol=1e-6)


def test_fewer_rows_than_features_are_fitted_from_the_rows():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    A = rng.normal(size=(30, 50)) + 2 * rng.normal(size=(3, 50))[y]
    with pytest.warns(UserWarning, match="rank 27, and 50 features vary"):
        ours = Linear().fit(A, y)
    assert ours._sums.scatter.shape == (3, 50)
    theirs = peer.LinearDiscriminantAnalysis().fit(A, y).coef_
    if sklearn.__version__ == "1.9.0":  # divides the scatter by n - k, later versions by n
        theirs *= 30 / 27
    np.testing.assert_allclose(ours.coef_, theirs, atol=1e-9 * np.abs(theirs).max())
    with pytest.warns(UserWarning, match="rank 27"):
        by_moments = Linear(store_covariance=True).fit(A, y)
    np.testing.assert_allclose(ours.transform(A), by_moments.transform(A), atol=1e-8)
    with pytest.raises(DataError, match="it kept no covariance; start again"):
        ours.partial_fit(A, y)
    w = np.arange(30) % 4
    with pytest.warns(UserWarning, match="rank"):
        weighted = Linear().fit(A, y, sample_weight=w)
    with pytest.warns(UserWarning, match="rank"):
        repeated = Linear().fit(np.repeat(A, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(weighted.predict_proba(A), repeated.predict_proba(A), atol=1e-8)


def test_constant_features_are_left_out_without_a_word_and_others_are_said():
    constant = np.column_stack([X, np.full(len(X), 0.1)])
    for solver in ("svd", "lsqr", "eigen"):
        found = Linear(solver).fit(constant, Y)
        assert found.rank_ == 4
        np.testing.assert_allclose(
            found.predict_proba(constant), Linear().fit(X, Y).predict_proba(X)
        )
    for extra in (X[:, 0] + X[:, 1], Y / 3):
        for solver in ("svd", "lsqr", "eigen"):
            with pytest.warns(UserWarning, match="rank 4, and 5 features vary") as told:
                found = Linear(solver).fit(np.column_stack([X, extra]), Y)
            assert told[0].filename == __file__
            np.testing.assert_array_equal(
                found.predict(np.column_stack([X, extra])), Linear().fit(X, Y).predict(X)
            )


def test_a_stream_is_not_warned_of_before_it_can_have_full_rank():
    A, y = load_wine(return_X_y=True)
    streamed = Linear()
    order = np.random.default_rng(0).permutation(len(A))
    for rows in np.split(order, range(5, len(A), 5)):
        streamed.partial_fit(A[rows], y[rows], classes=[0, 1, 2])
    assert streamed.rank_ == 13


def test_a_class_that_was_never_met_is_never_predicted():
    two = Y < 2
    for model in (Linear(), Linear("lsqr"), Linear("eigen", priors=PRIORS), Quadratic()):
        found = clone(model).partial_fit(X[two], Y[two], classes=[0, 1, 2])
        assert set(found.predict(X)) <= {0, 1}
        P = found.predict_proba(X)
        np.testing.assert_array_equal(P[:, 2], 0.0)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert found.priors_[2] == 0.0
        assert np.isfinite(found.means_).all()
    for model in (Linear(), Quadratic()):
        lone = clone(model).partial_fit(X[:50], Y[:50], classes=[0, 1])
        assert set(lone.predict(X)) == {0}
        np.testing.assert_array_equal(lone.predict_proba(X), np.tile([1.0, 0.0], (150, 1)))
        assert not np.isnan(lone.predict_log_proba(X)).any()


def test_a_prior_of_0_rules_a_class_out():
    for model in (Linear(priors=[0, 0.5, 0.5]), Quadratic(priors=[0, 0.5, 0.5])):
        assert set(model.fit(X, Y).predict(X)) == {1, 2}


def test_quadratic_waits_for_samples_in_a_stream():
    model = Quadratic().partial_fit(X[[0, 50, 100]], Y[[0, 50, 100]], classes=[0, 1, 2])
    assert model.rank_.tolist() == [0, 0, 0]  # nothing to warn of yet
    assert np.isfinite(model.predict_proba(X)).all()
    model.partial_fit(np.delete(X, [0, 50, 100], axis=0), np.delete(Y, [0, 50, 100]))
    np.testing.assert_allclose(model.predict_proba(X), Quadratic().fit(X, Y).predict_proba(X))
    with pytest.raises(DataError, match="y has only 1 sample in class 0, too few"):
        Quadratic().fit(X[[0, 50, 51, 52]], Y[[0, 50, 51, 52]])


def test_a_singular_class_is_named_with_what_was_done():
    flat = X.copy()
    flat[Y == 1, 2] = 7.0
    with pytest.warns(
        UserWarning,
        match=r"the covariance of class 1 has rank 3 of 4, over 50 samples; constant there: 2; "
        r"tol=0.0001 of each feature's usual variance is added; .* reg_param",
    ):
        model = Quadratic(store_covariance=True).fit(flat, Y)
    assert model.rank_.tolist() == [4, 3, 4]
    within = sum(np.cov(flat[c == Y].T, bias=True) for c in range(3)) / 3
    expected = np.cov(flat[Y == 1].T, bias=True) + 1e-4 * np.diag(np.diag(within))
    np.testing.assert_allclose(model.covariance_[1], expected, atol=1e-12)
    assert model.score(flat, Y) == 1.0


def test_a_singular_class_is_handled_alike_in_all_units():
    doubled = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(UserWarning, match="has rank 4 of 5"):
        metres = Quadratic().fit(doubled, Y)
    units = np.array([1e3, 1e-3, 1.0, 1e5, 1.0])
    with pytest.warns(UserWarning, match="has rank 4 of 5"):
        others = Quadratic().fit(doubled * units, Y)
    np.testing.assert_allclose(
        others.predict_proba(doubled * units), metres.predict_proba(doubled), atol=1e-6
    )
    small = Quadratic().fit(X / 1000, Y)  # below tol, but not singular
    np.testing.assert_allclose(
        small.predict_proba(X / 1000), Quadratic().fit(X, Y).predict_proba(X), atol=1e-9
    )


def test_a_regularised_class_may_have_fewer_samples_than_features():
    rows = [0, 1, 50, 51, 100, 101]
    model = Quadratic(reg_param=0.5).fit(X[rows], Y[rows])
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize(
    ("model", "smallest"),
    [(Linear(), 1e-8), (Linear("lsqr"), 1e-8), (Linear("eigen"), 1e-8), (Quadratic(tol=0), 1e-4)],
    ids=repr,
)
def test_features_of_very_different_sizes_do_no_harm(model, smallest):
    sizes = np.array([smallest, 1.0, 1.0 / smallest, 1e2])
    np.testing.assert_allclose(
        clone(model).fit(X * sizes, Y).predict_proba(X * sizes),
        clone(model).fit(X, Y).predict_proba(X),
        atol=1e-6,
    )


@pytest.mark.parametrize("kind", [Linear, Quadratic])
def test_priors_are_checked_and_the_user_is_told(kind):
    for priors in ([0.5, 0.5], [0.5, 0.6, -0.1], [np.nan, 0.5, 0.5], [0, 0, 0], "half"):
        with pytest.raises(ParameterError, match="`priors` of"):
            kind(priors=priors).fit(X, Y)
    with pytest.warns(UserWarning, match="sum to 2, not to 1; they are rescaled") as told:
        model = kind(priors=[0.5, 0.5, 1.0]).fit(X, Y)
    assert told[0].filename == __file__
    assert model.priors_.tolist() == [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("kind", "given", "error", "words"),
    [
        (Linear, {"covariance_estimator": OAS()}, UnsupportedError, "not supported with"),
        (Linear, {"shrinkage": 0.1}, ParameterError, "None with covariance_estimator"),
        (Quadratic, {"covariance_estimator": 3}, ParameterError, "an object with fit"),
        (Quadratic, {"covariance_estimator": KMeans(2)}, ParameterError, r"of shape \(4, 4\)"),
    ],
)
def test_bad_covariance_estimators_are_refused(kind, given, error, words):
    solver = {} if error is UnsupportedError else {"solver": "eigen"}
    with pytest.raises(error, match=words):
        kind(**{"covariance_estimator": OAS(), **solver, **given}).fit(X, Y)


def test_what_needs_the_rows_says_so():
    for model in (Linear("lsqr", "auto"), Quadratic(solver="eigen", shrinkage="auto")):
        with pytest.raises(DataError, match="needs a second pass, but the blocks can be read only"):
            clone(model).fit(iter([(X, Y)]))
        with pytest.raises(ParameterError, match="None or a number for partial_fit"):
            clone(model).partial_fit(X, Y, classes=[0, 1, 2])
    model = Linear("lsqr", covariance_estimator=OAS())
    with pytest.raises(DataError, match="must be one array; got an iterable of blocks"):
        model.fit([(X, Y)])
    with pytest.raises(DataError, match="without weights"):
        model.fit(X, Y, sample_weight=np.ones(len(X)))
    with pytest.raises(ParameterError, match="None for partial_fit: rows are not kept"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match="None for merge"):
        model.fit(X, Y).merge(model)


def test_only_models_with_the_same_sums_are_merged():
    with pytest.raises(DataError, match="must have kept the same sums"):
        Linear("lsqr").fit(X, Y).merge(Linear("lsqr", priors=PRIORS).fit(X, Y))
    with pytest.raises(DataError, match="it kept one covariance for all classes"):
        Linear("lsqr").fit(X, Y).set_params(priors=PRIORS).partial_fit(X, Y)
    with pytest.raises(DataError, match="can only be merged with another"):
        Linear().fit(X, Y).merge(Quadratic().fit(X, Y))


def test_samples_without_spread_are_refused():
    for solver in ("svd", "lsqr", "eigen"):
        with pytest.raises(
            DataError, match="The number of samples must be more than the number of"
        ):
            Linear(solver).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_blocks_without_weight_are_refused():
    for w in (np.zeros(150), (Y == 0) * 1.0):
        with pytest.raises(DataError, match="all but one class have weight 0"):
            Linear().fit([(X, Y, w)])


def test_least_squares_has_no_axes():
    with pytest.raises(UnsupportedError, match="transform not implemented for 'lsqr'"):
        Linear("lsqr").fit(X, Y).transform(X)


def test_a_refit_forgets_what_it_does_not_have():
    model = Linear(store_covariance=True).fit(X, Y)
    model.set_params(solver="lsqr").fit(X, Y)
    assert not hasattr(model, "scalings_")
    assert not hasattr(model, "xbar_")
    assert not hasattr(
        model.set_params(solver="svd", store_covariance=False).fit(X, Y), "covariance_"
    )


def test_reg_param_says_where_it_does_nothing():
    with pytest.warns(UserWarning, match="does nothing with solver='eigen'; use shrinkage"):
        Quadratic(solver="eigen", reg_param=0.1).fit(X, Y)


@pytest.mark.parametrize(("model", "whose"), [(Linear(), "The covariance"), (Quadratic(), "3 cov")])
def test_moments_that_do_not_fit_are_refused_before_they_are_made(model, whose, monkeypatch):
    monkeypatch.setattr(shared, "default_budget", lambda: 300)
    monkeypatch.setattr(shared, "LITTLE", 0)
    with pytest.raises(
        MemoryBudgetError, match=f"{whose}.* of 4 features take .*, more than the 300"
    ):
        model.fit(X, Y)


def test_quadratic_is_the_same_in_all_units():
    plain = Quadratic().fit(NOISY, SIDES)
    for units in ([1e-8, 1.0, 1e8], [1e-30, 1.0, 1e30]):
        other = Quadratic().fit(NOISY * units, SIDES)
        np.testing.assert_allclose(
            other.predict_proba(NOISY * units), plain.predict_proba(NOISY), atol=1e-9
        )


def test_small_weights_are_not_few_samples():
    light = Quadratic().fit(NOISY, SIDES, np.full(200, 1e-3))
    np.testing.assert_allclose(
        light.predict_proba(NOISY), Quadratic().fit(NOISY, SIDES).predict_proba(NOISY)
    )


def test_many_classes_take_little_memory():
    import tracemalloc

    X, y = np.random.default_rng(0).normal(size=(30_000, 3)), np.arange(30_000) % 1500
    tracemalloc.start()
    Linear().fit(X, y)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 60e6
