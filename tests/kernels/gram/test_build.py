import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist

from separatrix.errors import DataError, MemoryBudgetError, PrecisionWarning
from separatrix.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
)
from separatrix.kernels import prepared as vectors
from separatrix.kernels.gram import (
    CachedGram,
    HeldGram,
    LazyGram,
    SharedProducts,
    kernel_blocks,
    make_gram,
)
from separatrix.kernels.gram.operations import scores_of_rows
from separatrix.kernels.gram.sources import make_source
from separatrix.kernels.prepared import Vectors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 6))
KERNELS = [Linear(), Polynomial(3), Gaussian(0.2), Laplacian(0.2), Gaussian(0.2) + Linear()]
SEGMENTS = (slice(0, 30), slice(30, 31), slice(31, 90))


@pytest.fixture
def float32(monkeypatch):
    """Let small matrices be float32 too, as large ones are."""
    monkeypatch.setattr(vectors, "SMALL", 0)


def forms(kernel, X, segments=None, batch=7, capacity=10):
    source = make_source(kernel, X, tolerance=1e-3, budget=2**30, threads=2)
    row = source.n * source.dtype.itemsize
    return {
        "held": make_gram(kernel, X, segments=segments),
        "cached": CachedGram(source, budget=capacity * row, batch=batch, segments=segments),
        "lazy": LazyGram(source, batch=batch, segments=segments),
    }


@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["one segment", "by class"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_held_cached_and_lazy_give_the_same_answers(kernel, segments, batch):
    exact = kernel.block(X, X)
    coef = RNG.normal(size=(5, 2))
    index = np.array([5, 80, 5, 31, 0])
    for gram in forms(kernel, X, segments, batch).values():
        assert gram.shape == (90, 90)
        rows = gram.tile(index, slice(0, 90))
        np.testing.assert_allclose(rows, exact[index], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            gram.tile(index, index[:2]), exact[np.ix_(index, index[:2])], atol=1e-12
        )
        scores = scores_of_rows(gram, index, coef)
        np.testing.assert_allclose(scores, exact[:, index] @ coef, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(gram.diagonal(), np.diagonal(exact), rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    requests=st.lists(
        st.lists(st.integers(0, 89), min_size=1, max_size=8), min_size=1, max_size=30
    ),
    capacity=st.integers(8, 20),
)
def test_a_cache_that_forgets_never_answers_wrongly(requests, capacity):
    gram = forms(Gaussian(0.2), X, SEGMENTS, capacity=capacity)["cached"]
    exact = Gaussian(0.2).block(X, X)
    for number, request in enumerate(requests):
        segment = number % 3
        storage, where = gram.fetch(np.array(request), segment)
        np.testing.assert_allclose(storage[where], exact[request][:, SEGMENTS[segment]], atol=1e-12)


def test_the_cache_computes_a_row_once_and_forgets_the_oldest(monkeypatch):
    gram = forms(Linear(), X, capacity=4)["cached"]
    computed = []
    fill_rows = gram.source.fill_rows

    def counting(parts):
        computed.extend(row for rows, *_ in parts for row in rows.tolist())
        return fill_rows(parts)

    monkeypatch.setattr(gram.source, "fill_rows", counting)
    for request in ([0, 1, 2, 3], [0, 1], [4], [0, 1, 3], [2]):
        gram.fetch(np.array(request), 0)
    # 4 takes the place of 2 (or 3: as old); then whichever is gone is computed again, 0 and 1 never
    assert computed[:5] == [0, 1, 2, 3, 4]
    assert set(computed[5:]) <= {2, 3}
    assert 2 in computed[5:]


@pytest.mark.usefixtures("float32")
def test_the_form_follows_the_memory_and_shows_in_the_repr():
    assert (
        repr(make_gram(Linear(), X, memory=90 * 90 * 4)) == "HeldGram(90 x 90, float32, 31.6 KiB)"
    )
    cached = make_gram(Linear(), np.tile(X, (5, 1)), memory=200 * 450 * 4)
    assert repr(cached) == "CachedGram(450 x 450, float32, 200 rows in 351.6 KiB)"
    assert repr(make_gram(Linear(), X, memory=20 * 90 * 4)) == "LazyGram(90 x 90, float32)"


def test_what_cannot_fit_is_refused_with_a_suggestion():
    with pytest.raises(
        MemoryBudgetError, match="one row of the kernel matrix of 90 samples takes 720"
    ):
        make_gram(Linear(), X, memory=100)


DRAW = np.random.default_rng(1)
METRES = np.array([4.5e6, 5.2e6]) + DRAW.normal(scale=300.0, size=(200, 2))
PIXELS = DRAW.integers(0, 256, size=(50, 784), dtype=np.uint8)
MIXED = DRAW.normal(size=(60, 2)) * np.array([1e-6, 1e6])
UNEVEN = DRAW.normal(size=(60, 6)) * np.where(np.arange(60) % 2, 1.0, 1e-9)[:, None]
TINY = DRAW.normal(size=(40, 3)) * 1e-4


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize(
    ("kernel", "samples", "dtype", "off"),
    [
        pytest.param(Gaussian(2e-5), METRES, "f4", {"atol": 1e-4}, id="centred first"),
        pytest.param(Polynomial(6, coef0=1.0), PIXELS, "f8", {"rtol": 1e-12}, id="raw pixels"),
        pytest.param(Polynomial(4, coef0=1.0), PIXELS, "f4", {"rtol": 1e-4}, id="lower degree"),
        pytest.param(Gaussian(1e-10), MIXED, "f8", {"atol": 1e-4}, id="features of all sizes"),
        pytest.param(Gaussian(1e-13), MIXED, "f4", {"atol": 1e-4}, id="small gamma"),
        pytest.param(Polynomial(6), TINY, "f8", {"rtol": 1e-10}, id="below float32"),
        pytest.param(Normalized(Polynomial(5)), UNEVEN, "f8", {"atol": 1e-4}, id="uneven norms"),
    ],
)
def test_products_are_float32_only_where_that_is_precise_enough(kernel, samples, dtype, off):
    wide = samples.astype(np.float64)
    exact = kernel.block(wide, wide)
    if isinstance(kernel, Gaussian):
        exact = np.exp(-kernel.gamma * cdist(wide, wide, "sqeuclidean"))

    gram = make_gram(kernel, samples)

    assert gram.dtype == dtype
    np.testing.assert_allclose(gram.matrix, exact, **{"rtol": 1e-7, **off})


def test_what_even_float64_cannot_give_is_said():
    far = np.array([[0.0], [1e9], [-1e9], [3.0]])
    with pytest.warns(PrecisionWarning, match="scale the features"):
        make_gram(Gaussian(1.0), far)
    with pytest.raises(DataError, match="overflows"):
        make_gram(Polynomial(40), far)


@pytest.mark.parametrize(
    ("kernels", "ways"),
    [
        ([*(Polynomial(d) for d in (1, 2, 3)), Normalized(Polynomial(2)), Linear()], 1),
        ([Gaussian(0.1), Polynomial(2), Gaussian(0.2), Polynomial(3)], 2),
    ],
    ids=["one way of preparing", "two in turn"],
)
def test_products_are_computed_once_for_each_way_of_preparing(kernels, ways, monkeypatch):
    calls = []
    products = Vectors.own_products
    monkeypatch.setattr(Vectors, "own_products", lambda *args: calls.append(1) or products(*args))
    for kernel, gram in zip(kernels, SharedProducts(X).grams(kernels), strict=True):
        np.testing.assert_allclose(gram.matrix, kernel.block(X, X), rtol=1e-9, atol=1e-9)
    assert len(calls) == ways


def test_shared_products_that_do_not_fit_give_the_same_rows_from_a_cache():
    big = np.tile(X, (4, 1))
    kernels = [Polynomial(2), Gaussian(0.1), Laplacian(0.1)]
    shared = SharedProducts(big, memory=200 * 360 * 8)
    for kernel, gram in zip(kernels, shared.grams(kernels), strict=True):
        assert not hasattr(gram, "matrix")
        np.testing.assert_allclose(
            gram.tile(np.array([3, 300]), slice(None)), kernel.block(big[[3, 300]], big), atol=1e-10
        )


@pytest.mark.parametrize("density", [0.005, 0.3])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(0.3), Laplacian(0.3)], ids=repr)
def test_sparse_samples_give_the_dense_matrix(kernel, density):
    sparse = csr_array(random_array((80, 400), density=density, random_state=0, format="csr"))
    dense = kernel.block(sparse.toarray(), sparse.toarray())
    for gram in forms(kernel, sparse).values():
        np.testing.assert_allclose(gram.tile(np.arange(80), slice(None)), dense, atol=1e-10)
    for rows, block in kernel_blocks(kernel, sparse, sparse[:7]):
        np.testing.assert_allclose(block, dense[rows, :7], atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_blocks_with_other_samples_agree_with_the_kernel(kernel):
    Z = RNG.normal(size=(17, 6))
    K = np.vstack([block for _, block in kernel_blocks(kernel, X, Z, memory=8 * 17 * 5)])
    np.testing.assert_allclose(K, kernel.block(X, Z), atol=1e-10)


def test_columns_of_zeros_change_nothing():
    padded = np.zeros((90, 40))
    padded[:, ::7] = X
    other = np.zeros((3, 40))
    other[:, ::7] = X[:3]
    other[:, 1] = 2.0  # a feature that is 0 in training
    for kernel in (Linear(), Gaussian(0.2)):
        np.testing.assert_allclose(make_gram(kernel, padded).matrix, kernel.block(padded, padded))
        (_, block), *_ = kernel_blocks(kernel, other, padded)
        np.testing.assert_allclose(block, kernel.block(other, padded), atol=1e-12)


def test_a_given_matrix_is_held_as_it_is():
    K = Gaussian(1.0).block(X, X)
    gram = make_gram(Precomputed(), K)
    assert isinstance(gram, HeldGram)
    assert gram.matrix is K


def test_no_samples_at_all_is_an_error():
    with pytest.raises(DataError, match="at least one sample"):
        make_gram(Linear(), X[:0])


@pytest.mark.usefixtures("float32")
def test_a_large_term_does_not_drown_a_small_one():
    far = np.random.default_rng(0).normal(size=(60, 6)) + 100.0
    gram = make_gram(Gaussian(1.0) + Linear(), far)
    np.testing.assert_allclose(
        gram.matrix - far @ far.T, np.exp(-cdist(far, far, "sqeuclidean")), atol=1e-4
    )


def test_a_matrix_that_is_none_is_not_held():
    with pytest.raises(DataError, match="must be a square kernel matrix"):
        make_gram(Precomputed(), X)
    with pytest.raises(DataError, match="must be a square kernel matrix"):
        next(SharedProducts(X).grams([Precomputed()]))
