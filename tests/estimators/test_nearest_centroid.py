"""NearestCentroid against scikit-learn and against the formulas of shrunken centroids."""

import numpy as np
import pytest
import sklearn.neighbors as peer
from scipy.sparse import csr_array

from separatrix import NearestCentroid
from separatrix.errors import DataError

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 80)
X = RNG.normal(size=(80, 6)) + 1.0 * (Y[:, None] == np.arange(6))
SPARSE = csr_array(np.where(X > 0, X, 0.0))
LEARNED = ["centroids_", "deviations_", "within_class_std_dev_", "class_prior_"]
OPTIONS = [
    {},
    {"metric": "manhattan"},
    {"shrink_threshold": 0.8},
    {"shrink_threshold": 0.8, "priors": "empirical"},
    {"metric": "manhattan", "priors": [0.2, 0.3, 0.5]},
    {"priors": [0.1, 0.1, 0.8]},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("samples", [X, SPARSE], ids=["dense", "sparse"])
def test_it_learns_and_predicts_what_scikit_learns_does(options, samples):
    ours, theirs = NearestCentroid(**options).fit(samples, Y), peer.NearestCentroid(**options)
    theirs.fit(samples, Y)
    for name in LEARNED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(samples), theirs.predict(samples))
    if "metric" not in options:
        np.testing.assert_allclose(ours.predict_proba(samples), theirs.predict_proba(samples))
        np.testing.assert_allclose(
            ours.decision_function(samples), theirs.decision_function(samples), rtol=1e-9
        )


def test_a_large_threshold_moves_all_centres_onto_the_mean():
    model = NearestCentroid(shrink_threshold=1e3).fit(X, Y)
    np.testing.assert_allclose(model.centroids_, np.tile(X.mean(axis=0), (3, 1)))
    assert not model.deviations_.any()


def test_samples_far_from_the_origin_keep_their_digits():
    shifted = NearestCentroid().fit(X + 1e9, Y)
    near = NearestCentroid().fit((X + 1e9) - 1e9, Y)
    np.testing.assert_array_equal(shifted.predict(X + 1e9), near.predict((X + 1e9) - 1e9))


def test_medians_have_no_probabilities_and_equal_samples_are_refused():
    assert not hasattr(NearestCentroid("manhattan"), "predict_proba")
    with pytest.raises(DataError, match="All features have zero variance"):
        NearestCentroid().fit(np.ones((4, 2)), [0, 0, 1, 1])
