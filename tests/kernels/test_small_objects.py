"""Lists of objects, their features and their levels, at the borders of what is accepted."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix import Graph
from separatrix.errors import DataError
from separatrix.kernels import BagOfWords, Gaussian, Linear, Normalized, Spectrum
from separatrix.kernels.callables import FromCallable
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.object_kernels import (
    Occurrences,
    as_objects,
    as_vectors,
    count_occurrences,
    first_base,
)
from separatrix.kernels.vocabulary import Vocabulary

GRAPH = Graph(1, np.empty((0, 2), int))


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ("abc", "a test takes strings; got a single str: put it into a list"),
        (b"abc", "got a single bytes: put it into a list"),
        (GRAPH, "got a single Graph: put it into a list"),
        ({"a": 1}, "got dict"),
        ({"a"}, "got set"),
        (iter("ab"), "got str_.*iterator"),
        (5, "got int"),
        (np.ones((2, 1)), r"got ndarray of shape \(2, 1\): pass its one column alone"),
        (np.ones((2, 2)), r"got ndarray of shape \(2, 2\)$"),
        (
            np.array(["a"], dtype=object)[None],
            r"got ndarray of shape \(1, 1\): pass its one column",
        ),
        (csr_array(np.eye(2)), r"got csr_array of shape \(2, 2\)$"),
    ],
)
def test_what_is_no_list_is_refused(X, said):
    with pytest.raises(DataError, match=said):
        as_objects("a test", X, "strings")


def test_items_of_a_list_stay_as_they_are():
    for X in ([[1, 2], [3, 4]], ([1], [2, 3]), np.array([1, 2])):
        found = as_objects("a test", X, "lists")
        assert found.shape == (2,)
        assert found.dtype == object
        assert list(found) == list(X)
    same = np.array(["a", "b"], dtype=object)
    assert as_objects("a test", same, "strings") is same
    assert as_objects("a test", [], "strings").shape == (0,)


def test_occurrences_are_counted_and_unknown_ones_left_out():
    rows, features = np.array([0, 0, 0, 2, 2]), np.array([1, -1, 1, 0, -1])
    counts = count_occurrences(Occurrences(rows, features, rows, 3), 4)
    np.testing.assert_array_equal(counts.toarray(), [[0, 2, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]])
    none = np.zeros(0, dtype=np.intp)
    assert count_occurrences(Occurrences(none, none, none, 0), 2).shape == (2, 1)


def test_levels_are_weighted_by_the_root_of_their_weights():
    kernel = Spectrum(2, shortest=1, weights=(4.0, 1.0))
    X = np.array(["aab", "b"], dtype=object)
    counts = kernel.counts(X, Vocabulary())
    assert [part.shape[1] for part in counts] == [2, 2]
    F = kernel.concatenate_levels(counts).toarray()
    np.testing.assert_array_equal(F, [[4.0, 2.0, 1.0, 1.0], [0.0, 2.0, 0.0, 0.0]])
    (single,) = Spectrum(1).counts(X, Vocabulary())
    assert Spectrum(1).concatenate_levels([single]) is single
    first, second = kernel.features(X[:1], X[1:])
    np.testing.assert_array_equal((first @ second.T).toarray(), [[4.0]])
    (only,) = kernel.counts(X, Vocabulary(), [2])
    assert only.shape == (2, 2)


@pytest.mark.parametrize(("letters", "kind"), [(4095, np.float32), (4096, np.float64)])
def test_products_of_counts_are_float32_while_they_are_exact(letters, kind):
    X = np.array(["a" * letters, "a"], dtype=object)
    ((products, own),) = Spectrum(1).level_products(X, [1], np.dtype(np.float32), 1)
    assert products.dtype == kind
    np.testing.assert_array_equal(products, [[letters**2, letters], [letters, 1]])
    np.testing.assert_array_equal(own, [letters**2, 1])


def test_the_kernel_on_objects_inside_a_kernel():
    own = FromCallable(len, objects=True)
    assert first_base(Linear() + Gaussian(1.0)) is None
    assert first_base(2.0 * Normalized(Spectrum(2))) == Spectrum(2)
    assert first_base(own + Spectrum(3)) == Spectrum(3)
    assert first_base(own) is own
    X = np.array(["ab", "b"], dtype=object)
    assert as_vectors(Linear(), X)[0] is X
    assert as_vectors(2.0 * Spectrum(1), X)[0].toarray().tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert BagOfWords().matrices_of({1, 2}) == 2


def test_products_of_another_preparation_take_the_place_of_the_first(monkeypatch):
    """Room for one matrix of products beside the values: the first goes, the values stay right."""
    X = np.random.default_rng(0).normal(size=(8, 2))
    kernels = [Linear(), Gaussian(1.0), 2.0 * Linear(), 2.0 * Gaussian(1.0)]
    for matrices, kept in ((2, 1), (3, 2)):
        shared = SharedProducts(X, memory=matrices * 8 * 64)
        for kernel, gram in zip(kernels, shared.grams(kernels), strict=True):
            np.testing.assert_allclose(gram.matrix, kernel.block(X, X), rtol=1e-12)
            assert len(shared._products) <= kept
        assert len(shared._products) == kept
