"""`NearestNeighbors`: scikit-learn's answers, without labels."""

import inspect

import numpy as np
import pytest
import sklearn.neighbors
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from separatrix import NearestNeighbors
from separatrix.errors import DataError, ParameterError

X = scale(load_breast_cancer().data)
A, B = X[:400], X[400:]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["minkowski", "manhattan", "cosine"])
def test_neighbours_are_scikit_learns(metric):
    ours = NearestNeighbors(n_neighbors=4, radius=2.5, metric=metric).fit(A)
    theirs = sklearn.neighbors.NearestNeighbors(n_neighbors=4, radius=2.5, metric=metric).fit(A)
    for queries in (B, None):
        for found, wanted in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-7)
        found = ours.radius_neighbors(queries, return_distance=False)
        wanted = theirs.radius_neighbors(queries, return_distance=False)
        assert [sorted(own) for own in found] == [sorted(own) for own in wanted]
        for mode in ("connectivity", "distance"):
            for name in ("kneighbors_graph", "radius_neighbors_graph"):
                graph, other = (getattr(m, name)(queries, mode=mode) for m in (ours, theirs))
                np.testing.assert_allclose(graph.toarray(), other.toarray(), atol=1e-7)


def test_sparse_samples_and_distances():
    wanted = np.argsort(cdist(B, A), axis=1)[:, :3]
    sparse = NearestNeighbors(n_neighbors=3).fit(csr_array(A))
    np.testing.assert_array_equal(sparse.kneighbors(csr_array(B))[1], wanted)
    given = NearestNeighbors(n_neighbors=3, metric="precomputed").fit(cdist(A, A))
    np.testing.assert_array_equal(given.kneighbors(cdist(B, A))[1], wanted)


def test_the_signature_is_scikit_learns_and_a_device():
    ours, theirs = (
        inspect.signature(kind).parameters
        for kind in (NearestNeighbors, sklearn.neighbors.NearestNeighbors)
    )
    assert {name: p.default for name, p in theirs.items()} == {
        name: p.default for name, p in ours.items() if name != "device"
    }
    assert clone(NearestNeighbors(n_neighbors=2)).n_neighbors == 2


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(NotFittedError):
        NearestNeighbors().kneighbors(B)
    with pytest.raises(ParameterError, match="n_neighbors"):
        NearestNeighbors(n_neighbors=0).fit(A)
    with pytest.raises(DataError, match="Expected n_neighbors <= n_samples_fit"):
        NearestNeighbors().fit(A[:3]).kneighbors(B)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(model, check, id=check.func.__name__)
        for model, check in estimator_checks_generator(NearestNeighbors())
    ],
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
