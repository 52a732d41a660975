"""RadiusNeighborsClassifier against scikit-learn and against all distances."""

import warnings

import numpy as np
import pytest
import sklearn.neighbors as peer
from scipy.sparse import csr_array

from separatrix import RadiusNeighborsClassifier
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.metrics import radius as module
from separatrix.kernels import Gaussian

RNG = np.random.default_rng(0)
X, QUERIES = RNG.normal(size=(500, 3)), 1.2 * RNG.normal(size=(90, 3))
Y = RNG.integers(0, 3, 500)
pytestmark = pytest.mark.filterwarnings(
    "ignore:Outlier label", "ignore:Precomputed sparse input was not sorted"
)


def decay(distances):
    found = np.empty(len(distances), dtype=object)
    for i, own in enumerate(distances):
        found[i] = 1.0 / (1.0 + np.asarray(own))
    return found


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "cosine", "canberra"])
@pytest.mark.parametrize("weights", ["uniform", "distance", decay])
@pytest.mark.parametrize("radius", [0.05, 0.3, 1.5, 50.0])
def test_votes_are_those_of_scikit_learn(metric, weights, radius):
    for outlier_label in ("most_frequent", 7):
        options = {"weights": weights, "metric": metric, "outlier_label": outlier_label}
        ours = RadiusNeighborsClassifier(radius, **options).fit(X, Y)
        theirs = peer.RadiusNeighborsClassifier(radius, **options).fit(X, Y)
        P = theirs.predict_proba(QUERIES)
        np.testing.assert_allclose(ours.predict_proba(QUERIES), P, atol=1e-12)
        np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))


@pytest.mark.parametrize("scan", [1, 10**9], ids=["search", "scan"])
@pytest.mark.parametrize("queries", [QUERIES, None], ids=["queries", "own rows"])
def test_neighbours_are_all_rows_within_the_radius_nearest_first(scan, queries, monkeypatch):
    monkeypatch.setattr(module, "MANY", scan)
    model = RadiusNeighborsClassifier(0.7).fit(X, Y)
    distances, rows = model.radius_neighbors(queries)
    D = np.sqrt(((X[None] - (X if queries is None else queries)[:, None]) ** 2).sum(axis=2))
    if queries is None:
        np.fill_diagonal(D, np.inf)
    for i in range(len(D)):
        expected = np.flatnonzero(D[i] <= 0.7)
        expected = expected[np.argsort(D[i, expected], kind="stable")]
        assert rows[i].tolist() == expected.tolist()
        np.testing.assert_allclose(distances[i], D[i, expected])


def test_graphs_several_outputs_and_sparse_samples_agree_with_scikit_learn():
    two = np.column_stack([Y, Y % 2])
    options = {"radius": 0.5, "outlier_label": "most_frequent"}
    ours = RadiusNeighborsClassifier(**options).fit(X, two)
    theirs = peer.RadiusNeighborsClassifier(**options).fit(X, two)
    np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
    graph = theirs.radius_neighbors_graph(X, 2.0, mode="distance")
    assert abs(ours.radius_neighbors_graph(X, 2.0, mode="distance") - graph).max() < 1e-12
    for samples, metric in ((graph, "precomputed"), (csr_array(np.maximum(X, 0)), "euclidean")):
        a, b = (
            make(0.5, metric=metric, outlier_label=0).fit(samples, Y).predict(samples)
            for make in (RadiusNeighborsClassifier, peer.RadiusNeighborsClassifier)
        )
        np.testing.assert_array_equal(a, b)


def test_a_kernel_gives_distances_in_its_feature_space():
    model = RadiusNeighborsClassifier(0.6, kernel=Gaussian(0.5), outlier_label=-1).fit(X, Y)
    # |phi(x) - phi(z)|^2 = 2 - 2 exp(-|x - z|^2 / 2)
    plain = RadiusNeighborsClassifier(np.sqrt(-2.0 * np.log(1 - 0.18)), outlier_label=-1).fit(X, Y)
    np.testing.assert_array_equal(model.predict(QUERIES), plain.predict(QUERIES))


def test_outliers_get_their_label_or_are_an_error():
    far = [[99.0, 0.0, 0.0]]
    with pytest.raises(DataError, match="No neighbors found for test samples"):
        RadiusNeighborsClassifier().fit(X, Y).predict(far)
    words = np.array(["a", "b", "c"])[Y]
    model = RadiusNeighborsClassifier(outlier_label="far away").fit(X, words)
    assert model.predict(far).tolist() == ["far away"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert model.predict_proba(far).tolist() == [[0.0, 0.0, 0.0]]
    assert "not in training classes" in str(caught[0].message)
    with pytest.raises(TypeError, match="a label like those of y, such as 'a'; got 3"):
        RadiusNeighborsClassifier(outlier_label=3).fit(X, words)
    with pytest.raises(ParameterError, match="as many as there are outputs, 1"):
        RadiusNeighborsClassifier(outlier_label=[0, 1]).fit(X, Y)
