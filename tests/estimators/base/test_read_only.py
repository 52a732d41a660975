"""Read-only samples, as memory maps and joblib's workers pass them."""

import sys

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from scipy.sparse import csr_array

from separatrix import (
    KNeighborsClassifier,
    LinearSVC,
    LogisticRegression,
    MultinomialNB,
    NeighborIndex,
    Perceptron,
)
from separatrix.estimators.base.sample_types import writable

Y = np.arange(120) % 3
X = np.random.default_rng(0).poisson(2.0 + Y[:, None], size=(120, 6)).astype(float)


def locked(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def locked_rows(samples):
    rows = csr_array(samples)
    return csr_array(
        (locked(rows.data), locked(rows.indices), locked(rows.indptr)), shape=rows.shape
    )


def compiled_versions():
    """Number of versions of every compiled function."""
    return {
        function.py_func: len(function.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("separatrix")
        for function in vars(module).values()
        if isinstance(function, Dispatcher)
    }


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(loss="hinge", random_state=0),
        LogisticRegression(),
        Perceptron(random_state=0),
        MultinomialNB(),
        KNeighborsClassifier(),
    ],
    ids=str,
)
def test_compiled_code_serves_writable_and_read_only_samples(model, sparse):
    usual = csr_array(X) if sparse else X
    wanted = model.fit(usual, Y).predict(usual)
    before = compiled_versions()
    samples = locked_rows(X) if sparse else locked(X)

    found = model.fit(samples, locked(Y)).predict(samples)

    assert compiled_versions() == before
    np.testing.assert_array_equal(found, wanted)


def test_neighbors_of_read_only_rows_need_no_other_code():
    wanted = NeighborIndex(X.copy()).search(X[:5], 3)
    before = compiled_versions()
    found = NeighborIndex(locked(X)).search(locked(X[:5]), 3)
    assert compiled_versions() == before
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_view_shares_memory_and_keeps_it(tmp_path):
    np.save(tmp_path / "samples.npy", X)
    view = writable(np.asarray(np.load(tmp_path / "samples.npy", mmap_mode="r")))
    np.testing.assert_array_equal(view, X)
    assert view.flags.writeable
    source = locked(X[::2, 1:])
    assert np.shares_memory(writable(source), source)
    np.testing.assert_array_equal(writable(source), source)
    assert writable(X) is X
