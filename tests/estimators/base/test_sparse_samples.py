"""Sparse samples at the border: repeated and unsorted entries, broken indices, what stays untouched."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix import KNeighborsClassifier, LinearSVC, LogisticRegression, NearestCentroid
from separatrix.estimators.base.sample_types import is_valid_csr

rng = np.random.default_rng(0)
Y = np.arange(60) % 2
X = rng.poisson(2.0 + 3.0 * ((Y[:, None] + np.arange(5)) % 2)).astype(float)


def halved(samples):
    """The same samples with every value stored as two halves."""
    whole = csr_array(samples)
    return csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr),
        shape=whole.shape,
    )


def backwards(samples):
    """The same samples with the columns of every row in descending order."""
    whole = csr_array(samples)
    order = np.concatenate(
        [
            np.arange(stop - 1, start - 1, -1)
            for start, stop in zip(whole.indptr[:-1], whole.indptr[1:], strict=True)
        ]
    )
    return csr_array((whole.data[order], whole.indices[order], whole.indptr), shape=whole.shape)


@pytest.mark.parametrize("stored", [halved, backwards])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(penalty="l1", dual=False, tol=1e-8, max_iter=10_000),
        LinearSVC(tol=1e-8),
        LogisticRegression(tol=1e-8),
        NearestCentroid(metric="manhattan"),
        KNeighborsClassifier(),
    ],
    ids=str,
)
def test_values_stored_in_parts_are_their_sums(model, stored):
    wanted = model.fit(X, Y).predict(X)
    samples = stored(X)
    before = samples.copy()

    found = model.fit(samples, Y)

    np.testing.assert_array_equal(found.predict(samples), wanted)
    np.testing.assert_array_equal(found.predict(X), wanted)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(samples, name), getattr(before, name))


def test_valid_rows_are_recognised():
    good = csr_array(X)
    assert is_valid_csr(good)
    assert not is_valid_csr(halved(X))
    assert not is_valid_csr(backwards(X))


@pytest.mark.parametrize(
    ("name", "position", "value"), [("indices", 3, 99), ("indices", 3, -1), ("indptr", 2, 10**6)]
)
def test_broken_indices_are_refused(name, position, value):
    broken = csr_array(X)
    getattr(broken, name)[position] = value
    assert not is_valid_csr(broken)
    with pytest.raises(ValueError, match="ind"):
        LinearSVC().fit(broken, Y)


def test_a_value_that_is_not_finite_is_refused():
    samples = csr_array(X)
    samples.data[4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        LinearSVC().fit(samples, Y)
