"""Sums over blocks of samples, by their definitions."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.logistic import block_sums
from separatrix.types import Block


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def block(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.5)
    y, weights = rng.integers(0, 3, 30), rng.integers(0, 3, 30).astype(float)
    return Block(csr_array(X) if request.param else X, y, weights), X


def test_the_survey_counts_samples_with_a_weight(block):
    block, X = block
    used = block.weights > 0
    sparse = not isinstance(block.X, np.ndarray)
    stored = np.count_nonzero(X[used]) if sparse else X[used].size
    assert block_sums.survey_block(block).tolist() == [
        *(block.weights.sum(), used.sum(), stored, not sparse),
    ]
    whole = block._replace(weights=np.ones(30))
    stored = np.count_nonzero(X) if sparse else X.size
    assert block_sums.survey_block(whole).tolist() == [30, 30, stored, not sparse]


def test_weights_of_classes_and_squares_of_features(block):
    block, X = block
    expected = [block.weights[block.y == c].sum() for c in range(4)]
    np.testing.assert_array_equal(block_sums.class_weights_of(block, k=4), expected)
    np.testing.assert_allclose(block_sums.squares_of(block), block.weights @ X**2)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("at", [False, True])
def test_second_moments(block, intercept, at):
    block, X = block
    Z = np.column_stack([X, np.ones(30)]) if intercept else X
    theta = np.random.default_rng(1).normal(size=(1, Z.shape[1])) if at else None
    weights = block.weights
    if at:
        share = 1.0 / (1.0 + np.exp(-Z @ theta[0]))
        weights = weights * share * (1.0 - share)
    two = block._replace(y=(block.y > 0).astype(block.y.dtype))
    found = block_sums.moments_of(two, theta=theta, intercept=intercept)
    np.testing.assert_allclose(found, (Z.T * weights) @ Z, atol=1e-12)


def test_own_rows_are_in_order_and_have_short_column_numbers():
    X = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    own = block_sums.own_block(Block(X, np.arange(8)[::2], np.ones(8)[::2]), 4)
    assert own.X.flags.c_contiguous
    assert own.y.flags.c_contiguous
    np.testing.assert_array_equal(own.X, X)
    sparse = csr_array(X)
    wide = csr_array((sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)))
    short = block_sums._own_rows(wide, False)
    assert short.indices.dtype == short.indptr.dtype == np.int32
    np.testing.assert_array_equal(short.toarray(), X)
    assert block_sums._own_rows(sparse, True) is sparse
    assert block_sums._own_rows(sparse, False) is not sparse
