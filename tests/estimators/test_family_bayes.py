"""ComplementNB and CategoricalNB against scikit-learn and against definitions."""

import numpy as np
import pytest
import sklearn.naive_bayes as peer
from scipy.sparse import csr_array

from separatrix import CategoricalNB, ComplementNB
from separatrix.errors import DataError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, (90, 7))
Y = RNG.integers(0, 3, 90)
WEIGHTS = RNG.random(90)
LEARNED = [
    "class_log_prior_",
    "class_count_",
    "feature_count_",
    "feature_all_",
    "feature_log_prob_",
]


@pytest.mark.parametrize("options", [{}, {"norm": True}, {"alpha": 0.3}, {"fit_prior": False}])
@pytest.mark.parametrize("as_matrix", [np.asarray, csr_array])
def test_complement_bayes_learns_what_scikit_learns_does(options, as_matrix):
    ours = ComplementNB(**options).fit(as_matrix(X), Y, WEIGHTS)
    theirs = peer.ComplementNB(**options).fit(as_matrix(X), Y, WEIGHTS)
    for name in LEARNED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(ours.predict_proba(as_matrix(X)), theirs.predict_proba(as_matrix(X)))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("as_matrix", [np.asarray, csr_array])
def test_normalised_weights_of_one_feature_say_nothing_of_the_class(as_matrix):
    model = ComplementNB(norm=True).fit(as_matrix(X[:, :1]), Y)
    np.testing.assert_allclose(
        model.predict_proba(as_matrix(X[:, :1])), 1 / 3
    )  # NaN in scikit-learn


def test_complement_bayes_refuses_an_infinite_weight():
    with pytest.raises(DataError, match=r"feature 1 occurs in no class but .* raise `alpha`"):
        ComplementNB(alpha=0).fit([[1, 0], [1, 2]], [0, 1])


@pytest.mark.parametrize(
    "options", [{}, {"min_categories": 8}, {"alpha": 0.3, "min_categories": [5, 5, 5, 6, 7, 8, 9]}]
)
def test_categorical_bayes_learns_what_scikit_learns_does(options):
    ours = CategoricalNB(**options).fit(X, Y, WEIGHTS)
    theirs = peer.CategoricalNB(**options).fit(X, Y, WEIGHTS)
    np.testing.assert_array_equal(ours.n_categories_, theirs.n_categories_)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_)
    for name in ("category_count_", "feature_log_prob_"):
        for own, other in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(own, other)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))


def test_parts_and_merged_models_equal_the_whole_though_categories_come_later():
    low = X.min(axis=1) == 0
    whole = CategoricalNB().fit(X, Y)
    parts = (
        CategoricalNB().partial_fit(X[low], Y[low], classes=[0, 1, 2]).partial_fit(X[~low], Y[~low])
    )
    other = CategoricalNB().partial_fit(X[~low], Y[~low], classes=[0, 1, 2])
    merged = CategoricalNB().partial_fit(X[low], Y[low], classes=[0, 1, 2]).merge(other)
    for model in (parts, merged):
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_without_smoothing_the_class_with_fewest_contradictions_remains():
    model = CategoricalNB(alpha=0).fit([[0, 0], [0, 1], [1, 0], [1, 2]], [0, 0, 1, 1])
    found = model.predict_proba([[1, 2], [0, 2]])
    assert found.round(12).tolist() == [[0.0, 1.0], [0.666666666667, 0.333333333333]]
    assert np.isneginf(model.predict_joint_log_proba([[0, 2]])).all()


@pytest.mark.parametrize(
    ("samples", "sentence"),
    [
        ([[0.5], [1.0]], "needs categories 0, 1, 2, ...; got 0.5: encode the features with"),
        ([[-1], [1]], r"Negative values in data passed to CategoricalNB \(input X\); got -1"),
        ([[0], [2**50]], "too many for a table; encode the features with OrdinalEncoder"),
    ],
)
def test_what_is_no_category_is_refused(samples, sentence):
    with pytest.raises(DataError, match=sentence):
        CategoricalNB().fit(samples, [0, 1])


def test_an_unknown_category_is_refused_unless_there_is_room():
    with pytest.raises(DataError, match="row 1 has category 9 of feature 0, but training had 0 to"):
        CategoricalNB().fit(X, Y).predict([[0] * 7, [9] + [0] * 6])
    assert CategoricalNB(min_categories=10).fit(X, Y).predict([[9] * 7]).shape == (1,)
    with pytest.raises(ParameterError, match="of length 7, one number for each feature; got 2"):
        CategoricalNB(min_categories=[3, 3]).fit(X, Y)


def test_normed_weights_of_a_single_feature_are_zero_for_dense_and_sparse_counts():
    X, y = np.array([[1.0], [0.0], [3.0], [2.0]]), [0, 1, 0, 1]
    for samples in (X, csr_array(X)):
        model = ComplementNB(norm=True).fit(samples, y)
        np.testing.assert_array_equal(model.feature_log_prob_, np.zeros((2, 1)))
        np.testing.assert_allclose(model.predict_proba(samples), 0.5, rtol=1e-14)
