"""One class alone, weights that leave one class, and long floats: as scikit-learn's classes take them."""

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.naive_bayes
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier

import separatrix

X, Y = load_iris(return_X_y=True)
BAYES = ["GaussianNB", "MultinomialNB", "BernoulliNB", "ComplementNB", "CategoricalNB"]
LINEAR = ["LogisticRegression", "LinearSVC", "Perceptron"]


@pytest.mark.parametrize("name", BAYES)
def test_one_class_alone_is_learned(name):
    counts = np.round(X)
    ours, theirs = (
        getattr(home, name)().fit(counts, np.zeros(150))
        for home in (separatrix, sklearn.naive_bayes)
    )
    np.testing.assert_array_equal(ours.predict(counts), theirs.predict(counts))
    np.testing.assert_allclose(ours.predict_proba(counts), theirs.predict_proba(counts))


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", BAYES)
@pytest.mark.parametrize("left", [0, 2])
def test_weights_may_leave_one_class_of_counts(name, left):
    counts, weights = np.round(X), (left == Y).astype(float)
    options = {"min_categories": 9} if name == "CategoricalNB" else {}
    ours, theirs = (
        getattr(home, name)(**options).fit(counts, Y, sample_weight=weights)
        for home in (separatrix, sklearn.naive_bayes)
    )
    np.testing.assert_array_equal(ours.predict(counts), theirs.predict(counts))
    np.testing.assert_allclose(ours.predict_proba(counts), theirs.predict_proba(counts), atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("y", [Y, (Y > 0).astype(int)], ids=["three", "two"])
def test_weights_may_leave_one_class_of_a_linear_model(name, y):
    for left in np.unique(y):
        model = getattr(separatrix, name)().fit(X, y, sample_weight=(y == left).astype(float))
        assert (model.predict(X[y == left]) == left).all()
        assert model.classes_.tolist() == np.unique(y).tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*LINEAR, "GaussianNB", "KNeighborsClassifier"])
def test_bags_may_miss_a_rare_class(name):
    rare = np.r_[0:50, 50:51]
    bag = BaggingClassifier(getattr(separatrix, name)(), n_estimators=5, random_state=0)
    assert bag.fit(X[rare], Y[rare]).score(X[rare], Y[rare]) >= 50 / 51


@pytest.mark.skipif(np.longdouble == np.float64, reason="no longer floats here")
@pytest.mark.parametrize("name", ["SVC", "NuSVC", "KernelPerceptron", *LINEAR, "GaussianNB"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_long_floats_are_read_as_float64(name):
    long = X.astype(np.longdouble)
    model = getattr(separatrix, name)().fit(long, Y)
    same = getattr(separatrix, name)().fit(X, Y)
    np.testing.assert_array_equal(model.predict(long), same.predict(X))
