import numpy as np
import pytest
from tests.kernels.graphs.test_graph_union import paths

from separatrix.errors import DataError
from separatrix.kernels import Normalized, Spectrum, Subsequence, WeisfeilerLehman
from separatrix.kernels.gram.shared_products import SharedProducts
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.strings import subsequence_kernel

LARGE = 2100  # samples from which float32 is used


def words(n, seed=0):
    letters = np.random.default_rng(seed).choice(list("ACGT"), size=(n, 6))
    return as_objects("a test", ["".join(row) for row in letters.tolist()], "strings")


def test_deeper_levels_of_a_family_may_be_requested_later():
    X = as_objects("a test", paths(2, 3, 5), "graphs")
    shared = SharedProducts(X)
    list(shared.grams([WeisfeilerLehman(1)]))

    (gram,) = shared.grams([WeisfeilerLehman(3)])

    np.testing.assert_array_equal(gram.matrix, WeisfeilerLehman(3).block(X, X))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e-46, 1e-300, 1e39])
@pytest.mark.parametrize("make", [lambda w: Spectrum(2, weights=(w,)), lambda w: w * Spectrum(2)])
def test_shared_levels_of_any_weight_keep_their_values(weight, make):
    X = words(LARGE)

    (gram,) = SharedProducts(X).grams([Normalized(make(weight))])

    np.testing.assert_allclose(
        gram.matrix[:30, :30], Normalized(Spectrum(2)).block(X[:30], X[:30]), rtol=1e-6
    )


@pytest.mark.slow
def test_shared_levels_are_as_exact_as_requested():
    X = words(LARGE)

    (gram,) = SharedProducts(X, tolerance=1e-9).grams([Normalized(Spectrum(2))])

    assert gram.dtype == np.float64


def test_shared_levels_that_overflow_are_refused():
    shared = SharedProducts(words(3))

    with pytest.raises(DataError, match="overflows"):
        list(shared.grams([Spectrum(1, weights=(1e308,))]))


def test_one_level_of_subsequences_is_computed_alone(monkeypatch):
    requested = []
    products = subsequence_kernel._products

    def counting(*args, **options):
        requested.append(options.get("all_levels", False))
        return products(*args, **options)

    monkeypatch.setattr(subsequence_kernel, "_products", counting)
    X = words(5)

    (gram,) = SharedProducts(X).grams([Subsequence(4)])

    assert requested == [False]
    np.testing.assert_allclose(gram.matrix, Subsequence(4).block(X, X))


def test_all_levels_of_subsequences_count_in_the_memory():
    X = words(64)
    one = 8 * len(X) ** 2

    (gram, _) = SharedProducts(X, memory=5 * one).grams([Subsequence(2), Subsequence(9)])

    assert gram.matrix is not None  # but of its own, not cut from nine levels
    assert Subsequence(2).matrices_of({2, 9}) == 9
