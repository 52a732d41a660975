"""Which method, how many axes and which groups a search takes: the rules, at their limits."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.nearest import axes, index, manhattan
from separatrix.solvers.nearest.axes import axes_pay, local_dimension, most_axes, principal_axes
from separatrix.solvers.nearest.columns import group_sums, merge_columns
from separatrix.solvers.nearest.groups import SMALL_GROUP, Search
from separatrix.solvers.nearest.metrics import metric_of

L1, L2, LARGEST, CUBES = (metric_of(*name) for name in (("l1",), ("l2",), ("chebyshev",), ("p", 3)))
EVERY = ["exhaustive", "boxes", "products", "projections"]


def chosen(n, d, metric=L2, choices=EVERY):
    return index._choose_method(np.broadcast_to(np.array(1.5), (n, d)), metric, choices)


def test_few_features_are_searched_by_boxes(monkeypatch):
    monkeypatch.setattr(index, "local_dimension", lambda X: 7.9)
    assert chosen(64, 4) == "exhaustive"
    assert chosen(65, 4) == "boxes"
    assert [chosen(5000, d) for d in (10, 20, 21)] == ["boxes", "boxes", "projections"]
    assert [chosen(n, 11) for n in (2047, 2048)] == ["projections", "boxes"]
    assert [chosen(100, d, L1) for d in (10, 11)] == ["boxes", "manhattan"]
    assert [chosen(100, d, LARGEST, EVERY[:2]) for d in (32, 33)] == ["boxes", "exhaustive"]
    monkeypatch.setattr(index, "local_dimension", lambda X: 8.0)
    assert chosen(5000, 11) == "projections"
    assert chosen(5000, 11, L2, EVERY[:3]) == "products"
    assert chosen(5000, 5, L2, EVERY[:1]) == "exhaustive"
    assert chosen(5000, 5, L2, ["exhaustive", "bits", "boxes"]) == "bits"


def test_sparse_rows_stay_sparse_where_their_values_are_few_or_an_array_would_not_fit(monkeypatch):
    X = csr_array((np.ones(4), np.arange(4), np.arange(5)), shape=(4, 33))
    choices = ["exhaustive", "sparse", "products"]
    assert index._choose_method(X, L2, choices) == "sparse"  # 33 features, one stored
    assert index._choose_method(X[:, :32], L2, choices) == "exhaustive"
    many = csr_array(np.ones((40, 33)))
    monkeypatch.setattr(index, "default_budget", lambda: 2 * 8 * 40 * 33)
    assert index._choose_method(many, L2, choices) == "products"
    monkeypatch.setattr(index, "default_budget", lambda: 2 * 8 * 40 * 33 - 2)
    assert index._choose_method(many, L2, choices) == "sparse"


def test_what_a_metric_and_the_rows_allow():
    rows = np.arange(44 * 11.0).reshape(44, 11)
    assert index._choices(rows, L2) == EVERY
    assert index._choices(rows[:31], L2) == EVERY[:3]  # a quarter of the rows, 7, is below 8 axes
    assert index._choices(rows[:32], L2) == EVERY
    assert index._choices(rows[:, :10], L2) == EVERY[:3]
    assert index._choices(rows, L1) == ["exhaustive", "manhattan", "boxes"]
    assert index._choices(rows, LARGEST) == ["exhaustive", "boxes"]
    assert index._choices(rows, CUBES) == ["exhaustive"]
    assert index._choices(csr_array(rows), L1)[:2] == ["exhaustive", "sparse"]
    bits = (rows % 2).astype(np.uint8)
    assert "bits" in index._choices(bits, L2)
    assert index._choices(bits, metric_of("p", 0.5)) == ["exhaustive"]
    assert index._choices(bits, metric_of("p", 1.0))[1] == "bits"
    assert "bits" not in index._choices(bits, LARGEST)
    for size in (1e100, 1e-100):
        assert index._choices(np.full((44, 11), -size), LARGEST) == ["exhaustive"]
    assert index._in_range(np.zeros((2, 2)))
    assert index._in_range(np.empty((0, 2)))


def test_sparse_rows_become_arrays_of_the_smallest_type():
    for value, dtype in ((255.0, np.uint8), (256.0, np.float32), (0.1, np.float64)):
        found = index._dense(csr_array([[value, 0.0]]))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, [[value, 0.0]])


def test_a_lazy_index_counts_queries_and_builds_again_only_for_axes(monkeypatch):
    built = []

    def build(X, *, many):
        built.append(many)
        return index._build(X, L2, k=1, method="products", threads=1)

    lazy = index.LazyIndex(np.random.default_rng(0).normal(size=(50, 3)), build)
    asked = []
    monkeypatch.setattr(
        index, "axes_pay", lambda n, d, *, queries, threads: asked.append(queries) or queries > 200
    )
    for m in (100, 28, 1, 71, 1, 5):
        lazy.nearest(np.zeros((m, 3)), 1, np.full(m, -1), threads=1)
    assert asked == [129, 200, 201, 206]
    assert built == [False, True]
    assert lazy.nbytes == lazy.built().nbytes > 0
    assert built == [False, True]


def test_axes_pay_when_products_cost_more_than_finding_axes():
    for n, d, threads in itertools.product((500, 9000, 100_000), (16, 300), (1, 4)):
        sample = min(n, max(1024, min(n // 8, 3072)))
        finding = 1.2 * d * (100.0 * sample + 10.0 * n / threads)
        enough = finding * threads / (n * (0.7 + 0.02 * d))
        assert not axes_pay(n, d, queries=int(enough * 0.999), threads=threads)
        assert axes_pay(n, d, queries=int(enough * 1.001) + 1, threads=threads)


def test_axes_are_at_most_a_quarter_of_the_rows_and_three_quarters_of_the_features():
    assert most_axes(10**6, 10**6) == 128
    assert [most_axes(10**6, d) for d in (10, 11, 12)] == [7, 8, 9]
    assert [most_axes(n, 100) for n in (31, 32, 300)] == [7, 8, 75]


def test_rows_from_which_axes_are_searched_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2048, 2)) @ rng.normal(size=(2, 16)) + 1e-3 * rng.normal(size=(2048, 16))
    assert principal_axes(X, 1).leading == 8
    assert principal_axes(X, 1).directions.shape == (16, 12)
    assert principal_axes(X[:2047], 1).directions is None
    assert principal_axes(X[:100], 1, insist=True).directions is not None


def test_a_sample_is_an_eighth_of_the_rows_within_limits():
    X = np.arange(9000.0)[:, None] * np.ones(3)
    S, plain = axes._sample(X)
    assert len(S) == 1125
    np.testing.assert_array_equal(plain.centre, X[::8][:1125].mean(axis=0))
    np.testing.assert_array_equal(S, ((X[::8][:1125] - plain.centre) * plain.scale))
    assert len(axes._sample(X[:2000])[0]) == 1024
    assert len(axes._sample(X, (256, 256))[0]) == 256
    assert axes._sample(X[:5])[0].shape == (5, 3)


def test_distances_of_a_sample_leave_each_row_itself_out():
    T = np.random.default_rng(1).normal(size=(200, 4))
    queries, squares, D = axes._distances(T)
    np.testing.assert_array_equal(queries, np.arange(0, 200, 2))
    expected = cdist(T[queries], T, "sqeuclidean")
    expected[np.arange(100), queries] = np.inf
    np.testing.assert_allclose(D, expected, atol=1e-12)
    np.testing.assert_allclose(squares, (T**2).sum(axis=1))
    assert len(axes._distances(T[:50])[0]) == 50


def test_the_nearest_of_more_rows_is_nearer_by_the_same_factor_each_time():
    D = np.array([[9.0, 1.0, 4.0, 2.0, 8.0, 3.0, 5.0, 16.0]] * 3)
    nearest, factor = axes._approach(D)
    assert nearest.tolist() == [1.0] * 3
    assert factor == 1.0 / 8.0  # the first and the fifth are the quarter
    np.testing.assert_allclose(axes._limits(D, 32.0), np.full((3, 1), 1.0 / 8.0))
    np.testing.assert_allclose(axes._limits(D, 128.0), np.full((3, 1), 1.0 / 64.0))
    assert axes._limits(D, 8.0)[:, 0].tolist() == [1.0] * 3
    assert axes._limits(D, 4.0)[0, 0] == 2.0  # one neighbour of 4 rows is the second of 8
    assert axes._limits(D, 1.0)[0, 0] == 9.0  # the last is at infinity: the row itself
    assert axes._approach(np.zeros((2, 8)))[1] == 1.0
    unknown = np.full((1, 8), np.inf)
    unknown[0, 1] = 3.0
    assert axes._approach(unknown) == (3.0, 1.0)


def test_the_local_dimension_follows_from_how_much_nearer_four_times_as_many_rows_are(monkeypatch):
    X = np.arange(20.0)[:, None]
    for factor, dimension in ((1 / 16, 1.0), (0.25, 2.0), (0.5, 4.0), (1.0, np.inf), (0.0, np.inf)):
        monkeypatch.setattr(axes, "_approach", lambda D, factor=factor: (D[:, 0], factor))
        np.testing.assert_allclose(local_dimension(X), dimension)


def test_the_number_of_axes_has_the_least_cost(monkeypatch):
    """Against the formula: bounds of all pairs, candidates by more axes, exact distances."""
    rng = np.random.default_rng(3)
    T = (rng.normal(size=(300, 20)) * 0.75 ** np.arange(20)).astype(np.float32)
    monkeypatch.setattr(axes, "LEADING", (1, 2, 3, 5, 8, 12))
    for n in (30.0, 3000.0):
        queries, squares, D = axes._distances(T)
        limits = axes._limits(D, n)
        costs = {None: 0.35 + 0.02 * 20}
        for m in (1, 2, 3, 5, 8, 12):
            shares = []
            for width in (m, 4 * m):
                P = T[:, :width]
                rest = np.sqrt(np.maximum(squares - (P**2).sum(axis=1), 0))[:, None]
                bound = cdist(np.hstack([P, rest])[queries], np.hstack([P, rest]), "sqeuclidean")
                shares.append(np.mean(bound <= limits))
            costs[m] = 0.35 + 0.02 * (m + 2) + 8.0 * shares[0] + (30.0 + 0.15 * 20) * shares[1]
        assert axes._leading(T, T, n, False) == min(costs, key=costs.get)
        del costs[None]
        assert axes._leading(T, T, n, True) == min(costs, key=costs.get)


def correlated(rng, n, d):
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.05 * rng.normal(size=(n, d))


@pytest.mark.parametrize(
    ("d", "row_cost", "radius"), [(20, 60.0, 1.0), (60, 80.0, 3.0), (60, 1.0, 3.0), (30, 0.1, 0.1)]
)
def test_the_levels_of_groups_have_the_least_cost(d, row_cost, radius, monkeypatch):
    monkeypatch.setattr(manhattan, "SIZES", (2, 4, 8, 16, 24))
    S = correlated(np.random.default_rng(d), 150, d)
    trials, unit = np.arange(0, 150, 10), 0.01
    steps = merge_columns(S)
    sizes = [*(g for g in (2, 4, 8, 16, 24) if g < d), d]
    passing = []
    for g in sizes:
        sums = group_sums(S, steps.groups(d, g))
        near = cdist(sums[trials], sums, "cityblock") <= radius + g * unit
        passing.append((near.sum() - 15) / (near.size - 15))
        if passing[-1] * row_cost < 0.1 * 0.022 * g:
            break
    costs = {(): row_cost}
    for fine, share in enumerate(passing):
        alone = 0.022 * sizes[fine]
        costs[(sizes[fine],)] = share * row_cost + alone
        for coarse in range(fine):
            if sizes[coarse] + sizes[fine] <= d:
                more = 0.022 * sizes[coarse] - (1.0 - min(1.0, 8.0 * passing[coarse])) * alone
                costs[sizes[coarse], sizes[fine]] = share * row_cost + alone + more

    found = manhattan._levels(S, trials, np.full(15, radius), unit, row_cost)

    assert tuple(groups.size for groups in found) == min(costs, key=costs.get)
    for groups in found:  # those that differ most come first
        spread = np.abs(group_sums(S, groups)).sum(axis=0)
        assert (np.diff(spread) <= 0).all()


def test_the_unit_is_a_power_of_two_that_holds_four_typical_distances():
    S = correlated(np.random.default_rng(0), 40, 6)
    gaps = cdist(S, S, "cityblock")
    np.fill_diagonal(gaps, np.inf)
    typical = np.quantile(gaps.min(axis=1), 0.9)
    coding = manhattan._choose_coding(S)
    assert coding.unit == 2.0 ** np.ceil(np.log2(4.0 * typical / 65_535))
    np.testing.assert_allclose(coding.centre, S.mean(axis=0))
    assert manhattan._choose_coding(1024.0 * S).unit == 1024.0 * coding.unit
    assert manhattan._choose_coding(S[:1]).levels == []


def test_the_radius_of_a_sample_shrinks_and_bytes_cost_less(monkeypatch):
    seen = []
    monkeypatch.setattr(manhattan, "SAMPLE", 50)
    monkeypatch.setattr(
        manhattan, "_levels", lambda S, t, radius, unit, cost: seen.append((radius, cost)) or []
    )
    X = np.random.default_rng(1).integers(0, 200, (51, 10)).astype(np.uint8)
    manhattan._choose_coding(X[:50].astype(np.float64))
    manhattan._choose_coding(X[:50])
    manhattan._choose_coding(X)
    assert [cost for _, cost in seen] == [55.0, 52.0, 52.0]
    sampled = X[np.linspace(0, 50, 50).astype(int)].astype(float)
    gaps = cdist(sampled, sampled, "cityblock")
    np.fill_diagonal(gaps, np.inf)
    trials = np.linspace(0, 49, 48).astype(int)
    top = 10 * np.abs(sampled - sampled.mean(axis=0)).max()
    expected = 0.85 * gaps.min(axis=1)[trials] * 2.0 ** -np.ceil(np.log2(top))
    np.testing.assert_allclose(seen[2][0], expected)


def group_sizes(m, threads, size, **cost):
    found = []
    search = Search(np.empty((m, 2)), 3, np.full(m, -1), threads, FitMonitor())
    search.over_groups(lambda group, _: found.append(group.stop - group.start), size, **cost)
    return sorted(found, reverse=True)


def test_groups_of_queries_are_divided_evenly_but_not_below_half_a_small_group():
    assert group_sizes(1, 1, 320) == [1]
    assert group_sizes(320, 1, 320) == [160, 160]  # two small groups and more: two shares
    assert group_sizes(255, 1, 320) == [255]
    assert group_sizes(64, 2, 320) == [SMALL_GROUP // 2]
    assert group_sizes(65, 2, 320) == [SMALL_GROUP // 2, 1]
    assert group_sizes(1000, 2, 320) == [250] * 4
    assert group_sizes(1000, 2, 320, cost=999.0) == [250] * 4  # one thread is enough
    assert group_sizes(961, 1, 320) == [241, 241, 241, 238]
