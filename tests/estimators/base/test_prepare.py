import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from separatrix import (
    SVC,
    BayesDecision,
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
)
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.feature_maps import PolynomialMap

SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


def test_a_refused_call_leaves_the_model_unchanged():
    def broken():
        yield NOISY, SIDES
        yield NOISY[:, :2], SIDES

    model = GaussianNB().partial_fit(NOISY, SIDES, classes=[0, 1])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(broken())
    assert model.class_count_.tolist() == [100.0, 100.0]
    linear = LinearDiscriminantAnalysis().fit(NOISY, SIDES)
    with pytest.raises(ValueError, match="expecting 2 features"):
        linear.fit([(NOISY[:, :2], SIDES), (NOISY, SIDES)])
    assert linear.predict(NOISY).shape == (200,)
    squares = LeastSquaresClassifier(1.0).partial_fit(NOISY, SIDES, classes=[0, 1])
    squares.set_params(features=FrozenEstimator(PolynomialMap(2).fit(NOISY)))
    with pytest.raises(ParameterError, match="`features`"):
        squares.partial_fit(NOISY, SIDES)
    assert squares.predict(NOISY).shape == (200,)
    decides = BayesDecision(GaussianNB(), threshold=0.4).fit(NOISY, SIDES)
    with pytest.raises(DataError, match="folds"):
        decides.set_params(threshold="tune", cv=150).fit(NOISY, SIDES)
    assert decides.threshold_ == 0.4
    sure = LogisticRegression().fit(NOISY, SIDES)
    with pytest.raises(DataError, match="no posterior"):
        sure.set_params(C=np.inf, posterior="laplace").fit([[0.0], [1.0]], [0, 1])
    assert sure.coef_.shape == (1, 3)


def test_plain_arrays_are_refused_for_the_same_reasons_as_others():
    model = LinearDiscriminantAnalysis().fit(NOISY, SIDES)
    broken = NOISY.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(broken)
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken, SIDES)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(NOISY[:, :2])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(NOISY[:0])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(NOISY, SIDES[:-1])
    large = np.full((40, 3), 1e307)  # a sum that overflows is not an infinite value
    assert model.predict(large).shape == (40,)


def test_an_array_after_a_table_with_names_still_warns():
    pandas = pytest.importorskip("pandas")
    model = GaussianNB().fit(pandas.DataFrame(NOISY, columns=["a", "b", "c"]), SIDES)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(NOISY)
    model.fit(NOISY, SIDES)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(NOISY), model.predict(NOISY.tolist()))


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression(), GaussianNB()], ids=repr)
def test_weights_whose_squares_overflow_are_refused(model):
    with pytest.raises(DataError, match=r"at most 1e100; got 1e\+200: divide all"):
        model.fit(NOISY, SIDES, sample_weight=np.full(200, 1e200))


@pytest.mark.parametrize("model", [SVC(), GaussianNB()], ids=repr)
def test_missing_text_labels_are_counted(model):
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(np.where(SIDES, "a", "b"), dtype="string")
    labels[[3, 7]] = pandas.NA
    with pytest.raises(DataError, match="y contains 2 missing labels of 200; drop"):
        model.fit(NOISY, labels)


def test_a_variance_that_underflows_has_no_scale():
    with pytest.raises(DataError, match="variance of X underflows"):
        SVC().fit(NOISY * 1e-160, SIDES)
