"""Derivatives by some weights: those of the definition, for dense and for sparse samples."""

import numpy as np
import pytest
from scipy.sparse import random_array

from separatrix.solvers.logistic.working_columns import WeightSet, columns_of

N, D = 40, 6


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def case(request):
    """Samples, the same with their constant feature as an array, and weights of which some are chosen."""
    rng = np.random.default_rng(0)
    X = random_array((N, D), density=0.5, rng=rng, format="csr")
    whole = np.column_stack([X.toarray(), np.ones(N)])
    return rng, columns_of(X if request.param else X.toarray(), True), whole


def test_scores_and_gradients(case):
    rng, samples, whole = case
    theta, R = rng.normal(size=(3, D + 1)), rng.normal(size=(3, N))
    np.testing.assert_allclose(samples.scores(theta), theta @ whole.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(samples.gradient(R), R @ whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_second_derivatives_of_the_chosen_weights(case, classes, share):
    rng, samples, whole = case
    weights = rng.uniform(0.5, 2.0, N)
    P = rng.dirichlet(np.ones(max(classes, 2)), N)
    chosen = rng.random((classes, D + 1)) < share
    chosen[:, -1] = True
    at = WeightSet.of(chosen)
    if classes == 1:
        own = (weights * P[:, 0] * P[:, 1])[None]
        each = own[0][:, None, None]
        chosen[:] |= chosen.any(axis=0)
    else:
        own = (weights[:, None] * P).T
        each = np.einsum("n,nc,cd->ncd", weights, P, np.eye(classes))
        each -= np.einsum("n,nc,nd->ncd", weights, P, P)
    exact = np.einsum("ncd,ni,nj->cidj", each, whole, whole)
    expected = exact[at.classes, at.features][:, at.classes, at.features]
    found = samples.take(at.columns).hessian(at, np.ascontiguousarray(own), 1.0 / weights)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_sets_of_weights_are_the_same_if_all_their_weights_are():
    chosen = np.array([[True, False], [True, True]])
    assert WeightSet.of(chosen).same(WeightSet.of(chosen.copy()))
    assert not WeightSet.of(chosen).same(WeightSet.of(chosen[::-1]))
    assert not WeightSet.of(chosen).same(WeightSet.of(chosen[:, ::-1]))
