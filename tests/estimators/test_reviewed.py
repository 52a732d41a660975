"""What a reader with fresh eyes broke, each case as it failed."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import RidgeClassifier
from sklearn.preprocessing import StandardScaler

from separatrix import (
    BayesDecision,
    BernoulliNB,
    FisherDiscriminant,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.feature_maps import PolynomialMap

RNG = np.random.default_rng(0)
Y = np.arange(200) % 2
Z = RNG.normal(size=(200, 3)) + 0.8 * Y[:, None]


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int8, bool, np.float32])
@pytest.mark.parametrize("labels", [Y, np.arange(200) % 3])
def test_sparse_whole_numbers_are_not_rounded_weights(kind, solver, labels):
    counts = RNG.poisson(1.0 + labels[:, None] * np.array([1.0, 0.0, 0.5]), size=(200, 3))
    X = csr_array(counts.astype(kind))
    ours = LogisticRegression(solver=solver, tol=1e-7, max_iter=1000).fit(X, labels)
    theirs = Peer(tol=1e-9, max_iter=5000).fit(X.toarray().astype(float), labels)
    np.testing.assert_allclose(
        ours.predict_proba(X), theirs.predict_proba(X.toarray().astype(float)), atol=1e-4
    )


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_evidence_does_not_collapse_on_few_noisy_samples(scale):
    chosen = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(60, 2))
        b = A[:, 0] + 0.5 * rng.normal(size=60) > 0
        chosen.append(LogisticRegression(C="evidence").fit(A * scale, b).C_ * scale**2)
    assert 1e-2 < min(chosen) < max(chosen) < 1e4


def test_the_evidence_says_when_the_features_say_nothing():
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(40, 2)), np.arange(40) % 2
    A[:, 0] = np.repeat([1.0, -1.0], 20)  # no relation to b at all
    A[:, 1] = np.tile([1.0, 1.0, -1.0, -1.0], 10)
    with pytest.warns(UserWarning, match="largest at the end of the range"):
        LogisticRegression(C="evidence").fit(A, b)


def test_a_ridge_keeps_small_features_beside_large_ones():
    wide = Z * [1.0, 1.0, 1e7]
    ours, theirs = LeastSquaresClassifier(1.0).fit(wide, Y), RidgeClassifier(1.0).fit(wide, Y)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, rtol=1e-6)
    assert ours.score(wide, Y) == theirs.score(wide, Y)


def test_wide_sparse_whole_numbers_do_not_overflow():
    X = RNG.integers(0, 30, size=(40, 100)).astype(np.uint8)
    sparse = LeastSquaresClassifier(10.0).fit(csr_array(X), Y[:40])
    plain = LeastSquaresClassifier(10.0).fit(X.astype(float), Y[:40])
    np.testing.assert_allclose(sparse.coef_, plain.coef_, atol=1e-10)


def test_a_ridge_without_which_nothing_can_be_left_out_is_not_chosen():
    model = LeastSquaresClassifier([0.0, 1.0]).fit(RNG.normal(size=(10, 30)), [0, 1] * 5)
    assert model.ridge_ == 1.0
    assert np.isinf(model.loo_.squared_error[0])
    flat = LeastSquaresClassifier("loo").fit(np.ones((10, 2)), [0, 1] * 5)
    assert flat.coef_.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0], [2.0], [2.0], [3.0]], [0, 0, 1, 1]),
        (np.column_stack([Z[:, 0], np.arange(200) == 7]), Y),  # a feature that one sample has
    ],
)
def test_classes_that_can_only_just_be_separated_are_noticed(X, y):
    with pytest.warns(ConvergenceWarning, match="can be separated"):
        assert LogisticRegression(C=np.inf).fit(X, y).separated_ is True
    with pytest.raises(DataError, match="there is no posterior"):
        LogisticRegression(C=np.inf, posterior="laplace").fit(X, y)


def test_quadratic_is_the_same_in_all_units():
    plain = QuadraticDiscriminantAnalysis().fit(Z, Y)
    for units in ([1e-8, 1.0, 1e8], [1e-30, 1.0, 1e30]):
        other = QuadraticDiscriminantAnalysis().fit(Z * units, Y)
        np.testing.assert_allclose(
            other.predict_proba(Z * units), plain.predict_proba(Z), atol=1e-9
        )


def test_small_weights_are_not_few_samples():
    light = QuadraticDiscriminantAnalysis().fit(Z, Y, np.full(200, 1e-3))
    np.testing.assert_allclose(
        light.predict_proba(Z), QuadraticDiscriminantAnalysis().fit(Z, Y).predict_proba(Z)
    )


def test_weights_beside_blocks_and_no_blocks_are_refused_in_parts_too():
    with pytest.raises(DataError, match=r"yield \(X, y, weights\)"):
        GaussianNB().partial_fit([(Z, Y)], classes=[0, 1], sample_weight=np.zeros(200))
    with pytest.raises(ValueError, match="held no sample at all"):
        GaussianNB().partial_fit(iter([]), classes=[0, 1])
    empty = [(Z[:0], Y[:0]), (Z, Y), (Z[:0], Y[:0])]
    np.testing.assert_array_equal(GaussianNB().fit(empty).theta_, GaussianNB().fit(Z, Y).theta_)


def test_a_refused_call_leaves_everything_as_it_was():
    def broken():
        yield Z, Y
        yield Z[:, :2], Y

    model = GaussianNB().partial_fit(Z, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(broken())
    assert model.class_count_.tolist() == [100.0, 100.0]
    linear = LinearDiscriminantAnalysis().fit(Z, Y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        linear.fit([(Z[:, :2], Y), (Z, Y)])
    assert linear.predict(Z).shape == (200,)
    squares = LeastSquaresClassifier(1.0).partial_fit(Z, Y, classes=[0, 1])
    squares.set_params(features=FrozenEstimator(PolynomialMap(2).fit(Z)))
    with pytest.raises(ParameterError, match="`features`"):
        squares.partial_fit(Z, Y)
    assert squares.predict(Z).shape == (200,)
    decides = BayesDecision(GaussianNB(), threshold=0.4).fit(Z, Y)
    with pytest.raises(DataError, match="folds"):
        decides.set_params(threshold="tune", cv=150).fit(Z, Y)
    assert decides.threshold_ == 0.4
    sure = LogisticRegression().fit(Z, Y)
    with pytest.raises(DataError, match="no posterior"):
        sure.set_params(C=np.inf, posterior="laplace").fit([[0.0], [1.0]], [0, 1])
    assert sure.coef_.shape == (1, 3)


def test_sums_of_different_things_are_not_mixed():
    flags = BernoulliNB().partial_fit(abs(Z), Y, classes=[0, 1]).set_params(binarize=2.0)
    with pytest.raises(ParameterError, match="`binarize`"):
        flags.partial_fit(abs(Z), Y)
    one, two = (
        LeastSquaresClassifier(features=FrozenEstimator(StandardScaler().fit(rows))).fit(Z, Y)
        for rows in (Z, Z[:100])
    )
    with pytest.raises(ParameterError, match="`features`"):
        one.merge(two)
    with pytest.raises(DataError, match="can only be merged with another"):
        one.merge([two])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [({0: 0, 1: 0}, "all but one class"), ({0: 0}, "all but one class"), ({0: "x"}, "at least 0")],
)
def test_class_weights_that_leave_nothing_are_refused(weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogisticRegression(class_weight=weights).fit(Z, Y)


@pytest.mark.parametrize(
    "model",
    [
        *(LeastSquaresClassifier(), LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()),
        *(FisherDiscriminant(), GaussianNB()),
    ],
)
def test_sums_that_overflow_are_refused(model):
    with pytest.raises(DataError, match="sums over the samples overflowed; scale the features"):
        model.fit(Z * 1e160, Y)


def test_one_class_so_far_has_no_axis_yet():
    model = FisherDiscriminant(threshold="midpoint").partial_fit(Z[Y == 0], Y[Y == 0], [0, 1])
    with pytest.raises(DataError, match="has met one class only"):
        model.predict(Z)


def test_many_classes_take_little_memory():
    import tracemalloc

    X, y = RNG.normal(size=(30_000, 3)), np.arange(30_000) % 1500
    tracemalloc.start()
    LinearDiscriminantAnalysis().fit(X, y)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 60e6
