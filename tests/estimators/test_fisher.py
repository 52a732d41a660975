import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import separatrix.estimators.base.gaussian_classes as shared
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.estimators.fisher import FisherDiscriminant
from separatrix.estimators.least_squares import LeastSquaresClassifier

X, Y = load_iris(return_X_y=True)
TWO = Y > 0
SIDES = np.arange(200) % 2
NOISY = np.random.default_rng(0).normal(size=(200, 3)) + 0.8 * SIDES[:, None]


def test_the_ratio_is_that_of_the_scatters_of_the_embedding():
    model = FisherDiscriminant().fit(X, Y)
    Z = model.transform(X)
    means = np.stack([Z[c == Y].mean(axis=0) for c in range(3)])
    within = ((Z - means[Y]) ** 2).sum(axis=0)
    between = 50 * ((means - Z.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(model.scatter_ratio_, between / within)
    np.testing.assert_allclose(within / len(X), 1.0)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-10)
    assert (means[2] > means[0]).all()  # the sign: the last class above the first


def test_two_classes_have_the_direction_of_the_formula_and_of_least_squares():
    A, y = X[TWO], Y[TWO]
    for ridge in (0.0, 5.0):
        axis = FisherDiscriminant(ridge=ridge).fit(A, y).axes_[:, 0]
        apart = [A[y == c] - A[y == c].mean(axis=0) for c in (1, 2)]
        S = sum(part.T @ part for part in apart) + ridge * np.eye(4)
        w = np.linalg.solve(S, A[y == 2].mean(axis=0) - A[y == 1].mean(axis=0))
        other = LeastSquaresClassifier(ridge=ridge).fit(A, y).coef_[0]
        for direction in (w, other):
            np.testing.assert_allclose(
                axis / np.linalg.norm(axis), direction / np.linalg.norm(direction), atol=1e-9
            )


def test_the_axes_are_those_of_scikit_learns_transform():
    A, y = load_wine(return_X_y=True)
    ours = FisherDiscriminant().fit(A, y).transform(A)
    theirs = LinearDiscriminantAnalysis().fit(A, y).transform(A)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


def test_it_is_an_embedding_and_no_classifier():
    model = FisherDiscriminant().fit(X, Y)
    assert not is_classifier(model)
    for name in ("predict", "decision_function", "score"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError) as error:
        model.predict(X)
    assert "an embedding, not a classifier" in str(error.value.__cause__)
    assert model.get_feature_names_out().tolist() == ["fisherdiscriminant0", "fisherdiscriminant1"]
    assert FisherDiscriminant(1).fit(X, Y).transform(X).shape == (150, 1)
    assert make_pipeline(FisherDiscriminant(), LeastSquaresClassifier()).fit(X, Y).score(X, Y) > 0.8


def test_with_a_threshold_it_is_a_classifier_of_two_classes():
    A, y = X[TWO], Y[TWO]
    model = FisherDiscriminant(threshold="midpoint").fit(A, y)
    assert is_classifier(model)
    assert not get_tags(model).classifier_tags.multi_class
    positions = model.transform(A)[:, 0]
    middle = (positions[y == 1].mean() + positions[y == 2].mean()) / 2
    np.testing.assert_allclose(model.decision_function(A), positions - middle, atol=1e-12)
    np.testing.assert_array_equal(model.predict(A), np.where(positions > middle, 2, 1))
    assert model.score(A, y) > 0.95
    assert model.threshold_ == pytest.approx(middle, abs=1e-12)
    np.testing.assert_array_equal(
        FisherDiscriminant(threshold=1.5).fit(A, y).predict(A), np.where(positions > 1.5, 2, 1)
    )


def test_the_midpoint_is_the_cut_of_equal_priors():
    A, y = X[TWO][:70], Y[TWO][:70]
    linear = LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(A, y)
    np.testing.assert_array_equal(
        FisherDiscriminant(threshold="midpoint").fit(A, y).predict(X), linear.predict(X)
    )


def test_several_classes_cannot_be_cut_by_one_threshold():
    with pytest.raises(DataError, match="3 classes: use LinearDiscriminantAnalysis, or leave out"):
        FisherDiscriminant(threshold=0.0).fit(X, Y)


def test_directions_without_spread_are_left_out_and_said():
    doubled = np.column_stack([X, X[:, 0]])
    with pytest.warns(UserWarning, match="rank 4, and 5 features vary.*set ridge above 0"):
        model = FisherDiscriminant().fit(doubled, Y)
    assert model.rank_ == 4
    np.testing.assert_allclose(
        model.transform(doubled), FisherDiscriminant().fit(X, Y).transform(X), atol=1e-8
    )
    assert FisherDiscriminant(ridge=1e-3).fit(doubled, Y).rank_ == 5
    with pytest.raises(DataError, match="some must differ within a class"):
        FisherDiscriminant().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])


def test_new_labels_in_a_stream_are_refused():
    model = FisherDiscriminant().partial_fit(X[:100], Y[:100])
    with pytest.raises(DataError, match=r"labels \[2\] that are not in classes \[0, 1\]"):
        model.partial_fit(X[100:], Y[100:])


def test_a_scatter_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(shared, "default_budget", lambda: 300)
    monkeypatch.setattr(shared, "LITTLE", 0)
    with pytest.raises(MemoryBudgetError, match="The covariance of 4 features take"):
        FisherDiscriminant().fit(X, Y)


def test_one_class_has_no_axis():
    model = FisherDiscriminant(threshold="midpoint").partial_fit(
        NOISY[SIDES == 0], SIDES[SIDES == 0], [0, 1]
    )
    with pytest.raises(DataError, match="has met one class only"):
        model.predict(NOISY)


def test_equal_samples_lie_nowhere_whatever_the_sums_leave():
    """Their weighted means differ by rounding: that is no scatter between classes."""
    rng = np.random.default_rng(0)
    for value in (-1e-4, 0.3, 1e8):
        for n in (19, 30, 50):
            same, weights = np.full((n, 1), value), rng.uniform(0.1, 3.0, size=n)
            model = FisherDiscriminant(ridge=1e-30 * value**2).fit(
                same, np.arange(n) % 2, sample_weight=weights
            )
            assert not model.scatter_ratio_.any()
