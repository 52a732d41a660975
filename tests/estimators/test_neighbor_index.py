import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.metrics import DistanceMetric, pairwise_distances
from tests.blas import blas_threads

import separatrix.estimators.neighbor_index as module
from separatrix import NeighborIndex
from separatrix.errors import DataError, ParameterError, PrecisionWarning
from separatrix.kernels import FromCallable, Gaussian, Laplacian, Linear, Polynomial

RNG = np.random.default_rng(0)
WHOLE = RNG.integers(0, 5, size=(80, 6))  # many ties, and sums without rounding
QUERIES = RNG.integers(0, 5, size=(30, 6))
REAL = RNG.normal(size=(80, 6))


def brute(D, k):
    rows = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, rows, axis=1), rows


def assert_finds(index, Q, D, k=7, exact=True):
    distances, rows = brute(D, k)
    found = index.search(Q, k)
    if exact:
        np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.int8, np.float16, np.float32, ">f8"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_whole_numbers_of_any_type_give_the_same_neighbours_with_ties_by_row(dtype, metric):
    names = {"euclidean": "sqeuclidean", "manhattan": "cityblock"}
    D = cdist(QUERIES, WHOLE, names.get(metric, metric))
    D = np.sqrt(D) if metric == "euclidean" else D
    assert_finds(NeighborIndex(WHOLE.astype(dtype), metric), QUERIES.astype(dtype), D)


def test_rows_of_bytes_and_of_yes_and_no_are_not_copied():
    for X in (WHOLE.astype(np.uint8), WHOLE > 2, WHOLE.astype(np.float32), REAL):
        X = np.ascontiguousarray(X)
        assert np.shares_memory(NeighborIndex(X).rows, X)
    flags = NeighborIndex(WHOLE > 2)
    assert_finds(flags, QUERIES > 2, np.sqrt(cdist(QUERIES > 2, WHOLE > 2, "sqeuclidean")))


SAME_AS_PAIRWISE = [
    ("l1", {}), ("cityblock", {}), ("infinity", {}), ("cosine", {}), ("correlation", {}),
    ("canberra", {}), ("sqeuclidean", {}), ("hamming", {}),
    ("seuclidean", {"V": np.arange(1.0, 7.0)}), ("mahalanobis", {"VI": np.diag(np.arange(1.0, 7.0))}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("metric", "params"), SAME_AS_PAIRWISE, ids=lambda value: str(value)[:12])
def test_distances_are_scikit_learns(metric, params):
    index = NeighborIndex(REAL, metric, metric_params=params or None)
    name = "chebyshev" if metric == "infinity" else metric
    assert_finds(index, REAL[:9] + 0.1, pairwise_distances(REAL[:9] + 0.1, REAL, name, **params))


def test_a_mahalanobis_distance_takes_the_covariance_as_scikit_learns_trees_do():
    units = np.array([1.0, 1e-9, 1e6, 1.0, 1e3, 1e-3])
    X = REAL * units
    V = np.cov(X.T)
    index = NeighborIndex(X, "mahalanobis", metric_params={"V": V})
    D = DistanceMetric.get_metric("mahalanobis", V=V).pairwise(X[:9], X)
    assert_finds(index, X[:9], D)
    for broken, sentence in (
        (np.ones((6, 6)), "must be invertible; got rank 1 of 6"),
        (np.zeros((6, 6)), "variances above 0"),
        (np.eye(3), "a matrix of 6 x 6"),
    ):
        with pytest.raises(DataError, match=sentence):
            NeighborIndex(X, "mahalanobis", metric_params={"V": broken})


def test_bray_curtis_is_that_of_scikit_learns_trees():
    D = DistanceMetric.get_metric("braycurtis").pairwise(REAL[:9] + 0.1, REAL)
    assert_finds(NeighborIndex(REAL, "braycurtis"), REAL[:9] + 0.1, D)


@pytest.mark.parametrize("metric", ["jaccard", "dice", "yule", "rogerstanimoto", "sokalmichener"])
def test_yes_and_no_metrics_take_numbers_for_not_zero(metric):
    name = "rogerstanimoto" if metric == "sokalmichener" else metric
    D = pairwise_distances(QUERIES > 2, WHOLE > 2, name)
    for index, Q in (
        (NeighborIndex(WHOLE > 2, metric), QUERIES > 2),
        (NeighborIndex(3.0 * (WHOLE > 2), metric), 3.0 * (QUERIES > 2)),
    ):
        assert_finds(index, Q, D)


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, np.inf])
def test_powers_and_their_weights_are_scipys(p):
    assert_finds(
        NeighborIndex(REAL, "minkowski", p=p), -REAL[:9], cdist(-REAL[:9], REAL, "minkowski", p=p)
    )
    if np.isfinite(p):
        w = np.array([0.0, 1.0, 2.0, 0.5, 3.0, 0.1])
        index = NeighborIndex(REAL, "minkowski", metric_params={"p": p, "w": w})
        assert_finds(index, -REAL[:9], cdist(-REAL[:9], REAL, "minkowski", p=p, w=w))


def test_rows_of_zeros_are_at_right_angles_to_all():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    index = NeighborIndex(X, "cosine")
    distances, rows = index.search([[5.0, 0.0], [0.0, 0.0]], 4)
    assert rows.tolist() == [[1, 3, 0, 2], [0, 1, 2, 3]]
    assert distances.tolist() == [[0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    assert index.search_self(2).rows.tolist() == [[1, 2], [3, 0], [0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("kernel", "D"),
    [
        (Linear(), cdist(QUERIES, WHOLE)),
        (Gaussian(0.1), np.sqrt(2 - 2 * np.exp(-0.1 * cdist(QUERIES, WHOLE, "sqeuclidean")))),
        (Laplacian(0.1), np.sqrt(2 - 2 * np.exp(-0.1 * cdist(QUERIES, WHOLE, "cityblock")))),
    ],
)
def test_kernels_that_fall_with_a_norm_order_rows_as_it_does(kernel, D):
    index = NeighborIndex(WHOLE, kernel=kernel)
    assert_finds(index, QUERIES, D)
    assert not index.search(WHOLE, 1).distances.any()


@pytest.mark.parametrize(
    "kernel", [Polynomial(2, coef0=1.0), FromCallable(lambda X, Z: (X @ Z.T) ** 2)]
)
def test_distances_in_feature_space_are_exact_for_whole_numbers(kernel):
    K, own, other = (
        kernel.block(QUERIES.astype(float), WHOLE.astype(float)),
        kernel.diagonal(QUERIES.astype(float)),
        kernel.diagonal(WHOLE.astype(float)),
    )
    D = np.sqrt(own[:, None] + other - 2 * K)
    for X, Q in ((WHOLE, QUERIES), (WHOLE.astype(np.float32), QUERIES.astype(np.float32))):
        assert_finds(NeighborIndex(X, kernel=kernel), Q, D)


def test_a_sum_of_kernels_adds_squared_distances_and_the_same_row_is_at_none():
    a, b = Polynomial(3, 0.1, 1.0), Gaussian(0.3)
    D = [NeighborIndex(REAL, kernel=one).search(REAL, 80) for one in (a, b, a + b)]
    by_row = [np.take_along_axis(d, r.argsort(axis=1), axis=1) for d, r in D]
    np.testing.assert_allclose(by_row[0] ** 2 + by_row[1] ** 2, by_row[2] ** 2, atol=1e-9)
    assert not np.diagonal(by_row[2]).any()
    assert NeighborIndex(csr_array(REAL), kernel=a).search(csr_array(REAL), 1).distances.max() == 0


def test_a_function_of_two_rows_is_a_metric():
    def gap(x, z, power=1):
        return abs(x[0] - z[0]) ** power

    D = np.abs(QUERIES[:, :1] - WHOLE[:, 0].T)
    assert_finds(NeighborIndex(WHOLE, gap), QUERIES, D)
    assert_finds(NeighborIndex(WHOLE, gap, metric_params={"power": 2}), QUERIES, D**2)


def test_given_distances_are_searched_dense_and_sparse():
    D = cdist(REAL, REAL)
    index = NeighborIndex(D, "precomputed")
    assert_finds(index, D[:9], D[:9])
    own = NeighborIndex(REAL).search_self(5)
    sparse = NeighborIndex(csr_array(D), "precomputed")
    for found in (index.search_self(5), sparse.search_self(5)):
        np.testing.assert_array_equal(found.rows, own.rows)
    assert_finds(sparse, D[:9], D[:9])


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "chebyshev", "canberra"])
def test_the_own_row_is_left_out_and_its_duplicates_are_not(metric):
    X = np.vstack([REAL, REAL[:5]])
    found = NeighborIndex(X, metric).search_self(84)
    assert all(i not in row for i, row in enumerate(found.rows.tolist()))
    np.testing.assert_array_equal(found.rows[:5, 0], np.arange(80, 85))
    everything = NeighborIndex(X, metric).search(X, 85)
    for i in range(85):
        kept = everything.rows[i] != i
        np.testing.assert_array_equal(found.rows[i], everything.rows[i][kept])
        np.testing.assert_array_equal(found.distances[i], everything.distances[i][kept])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_neither_threads_nor_blocks_of_queries_change_anything(metric, monkeypatch):
    first = NeighborIndex(WHOLE, metric, n_jobs=1).search(QUERIES, 9)
    monkeypatch.setattr(module, "QUERY_BYTES", 1000)
    second = NeighborIndex(WHOLE, metric, n_jobs=2).search(QUERIES.astype(np.uint8), 9)
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.distances, second.distances)


def test_other_orders_of_the_rows_give_the_same_neighbours():
    order = RNG.permutation(80)
    plain, moved = NeighborIndex(REAL).search(-REAL, 9), NeighborIndex(REAL[order]).search(-REAL, 9)
    np.testing.assert_array_equal(order[moved.rows], plain.rows)
    np.testing.assert_array_equal(moved.distances, plain.distances)


def test_it_says_what_it_is_and_survives_a_pickle():
    index = NeighborIndex(WHOLE.astype(np.uint8), "cosine", n_jobs=1)
    assert (index.n_rows, index.n_features) == (80, 6)
    assert repr(index).startswith("NeighborIndex(80 x 6 float64, metric='cosine', ")
    assert "kernel=Gaussian(gamma=2.0)" in repr(NeighborIndex(REAL, kernel=Gaussian(2.0)))
    for made in (index, NeighborIndex(REAL, kernel=Polynomial(2)), NeighborIndex(REAL, "canberra")):
        again = pickle.loads(pickle.dumps(made))
        for before, after in zip(made.search(QUERIES, 3), again.search(QUERIES, 3), strict=True):
            np.testing.assert_array_equal(before, after)


def test_no_query_has_no_neighbours():
    for made in (
        NeighborIndex(REAL),
        NeighborIndex(REAL, "cosine"),
        NeighborIndex(REAL, "canberra"),
    ):
        distances, rows = made.search(np.empty((0, 6)), 4)
        assert (distances.shape, rows.shape) == ((0, 4), (0, 4))
        assert (distances.dtype, rows.dtype) == (np.float64, np.intp)


def test_all_rows_the_same_are_found_in_order():
    for metric in ("euclidean", "manhattan", "cosine", "canberra"):
        found = NeighborIndex(np.ones((9, 2)), metric).search([[1.0, 1.0]], 9)
        assert found.rows.tolist() == [list(range(9))]
        assert not found.distances.any()


BAD = [
    (lambda: NeighborIndex(REAL, "hyperbolic"), "`metric` of NeighborIndex must be a function or one"),
    (lambda: NeighborIndex(REAL, "minkowski", p=0), "`p` of NeighborIndex must be above 0; got 0"),
    (lambda: NeighborIndex(REAL, np.subtract).search(REAL, 1), "a metric must return a number for two"),
    (lambda: NeighborIndex(REAL, lambda x, z: np.nan).search(REAL, 1), "a metric must .* returned nan"),
    (lambda: NeighborIndex(REAL, "cosine", kernel=Linear()), "`metric` .* left at its default"),
    (lambda: NeighborIndex(REAL, kernel="precomputed"), "`kernel` .* must be computed from samples"),
    (lambda: NeighborIndex(REAL, "seuclidean"), "must be a dict with 'V', the variance of each feature"),
    (lambda: NeighborIndex(REAL, "seuclidean", metric_params={"V": [1, 2]}), "'V' .* must be 6 finite"),
    (lambda: NeighborIndex(REAL, n_jobs=0), "`n_jobs` of NeighborIndex must be an integer other"),
    (lambda: NeighborIndex([[1.0, np.nan]]), "NaN"),
    (lambda: NeighborIndex(csr_array(REAL), "chebyshev"), "not valid for sparse input"),
    (lambda: NeighborIndex(REAL, "precomputed"), "must be square. Input is a 80x6 matrix"),
    (lambda: NeighborIndex(-np.eye(3), "precomputed"), "Negative values in data passed"),
    (lambda: NeighborIndex(REAL).search(REAL, 81), "`k` of NeighborIndex must be at most 80"),
    (lambda: NeighborIndex(REAL).search_self(80), "`k` of NeighborIndex must be at most 79"),
    (lambda: NeighborIndex(REAL).search(REAL, 0), "`k` .* an integer of at least 1; got 0"),
    (lambda: NeighborIndex(REAL).search(REAL, 1.5), "`k` .* an integer of at least 1; got 1.5"),
    (lambda: NeighborIndex(REAL).search(REAL[:, :2], 1), "queries have 2 features, but .* have 6"),
    (lambda: NeighborIndex(1e200 * REAL, kernel=Polynomial(3)), "overflow; scale the features"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(("use", "sentence"), BAD)
def test_what_cannot_be_searched_is_refused(use, sentence):
    with pytest.raises((DataError, ParameterError, ValueError), match=sentence):
        use()


def test_nan_is_welcome_where_the_metric_skips_it():
    X = np.array([[0.0, 1.0], [np.nan, 3.0], [2.0, 2.0]])
    assert NeighborIndex(X, "nan_euclidean").search(X, 1).rows.ravel().tolist() == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_rows_need_not_be_canonical(metric):
    rng = np.random.default_rng(20)
    A = np.where(rng.random((200, 900)) < 0.02, rng.standard_normal((200, 900)), 0.0)
    A[:, 0] = 1.0
    S = csr_array(A)
    backwards = csr_array((S.data.copy(), S.indices.copy(), S.indptr), shape=S.shape)
    for start, stop in zip(S.indptr[:-1], S.indptr[1:], strict=True):
        backwards.indices[start:stop] = backwards.indices[start:stop][::-1].copy()
        backwards.data[start:stop] = backwards.data[start:stop][::-1].copy()
    twice = csr_array(
        (np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape
    )
    expected = NeighborIndex(S, metric).search(S[:30], 5)
    for rows in (backwards, twice):
        for queries in (S[:30], rows[:30]):
            found = NeighborIndex(rows.copy(), metric).search(queries, 5)
            np.testing.assert_array_equal(found.rows, expected.rows)
            np.testing.assert_allclose(found.distances, expected.distances, atol=1e-15)


@pytest.mark.slow
def test_sparse_queries_of_other_values_to_rows_of_zeros_and_ones():
    X = (np.random.default_rng(21).random((100, 20)) < 0.3).astype(np.float64)
    index = NeighborIndex(X)
    assert index.method == "bits"
    found = index.search(csr_array(1.5 * X), 4)
    expected = NeighborIndex(X, method="exhaustive").search(1.5 * X, 4)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_a_distance_given_twice_is_one():
    D = csr_array(([1.0, 2.0, 4.0, 4.0], ([0, 0, 1, 2], [1, 1, 2, 0])), shape=(3, 3))
    found = NeighborIndex(D, "precomputed").search_self(1)
    assert found.rows.tolist() == [[1], [2], [0]]
    assert found.distances.tolist() == [[3.0], [4.0], [4.0]]


def test_whole_numbers_that_float64_does_not_hold_are_told_of():
    with pytest.warns(PrecisionWarning, match="Subtract an offset"):
        NeighborIndex(np.array([[2**60], [2**60 + 1]]))


@pytest.mark.slow
def test_threads_that_search_at_once_leave_matrix_products_as_they_were():
    X = np.random.default_rng(22).standard_normal((3000, 40))
    index, before = NeighborIndex(X, n_jobs=2), blas_threads()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: index.search(X[:600], 3).rows, range(12)))
    assert all((rows == found[0]).all() for rows in found)
    assert blas_threads() == before
