import numpy as np

from separatrix.solvers.nearest.axes import (
    LEADING,
    axes_pay,
    local_dimension,
    most_axes,
    no_axes,
    principal_axes,
)


def rows(rng, n, d, factors, noise):
    return rng.standard_normal((n, factors)) @ rng.standard_normal((factors, d)) + (
        noise * rng.standard_normal((n, d))
    )


def test_directions_are_orthonormal_and_hold_most_of_the_spread():
    X = rows(np.random.default_rng(0), 4000, 100, 10, 0.1)
    axes = principal_axes(X, 5)
    V = axes.directions
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    Z = (X - axes.centre) * axes.scale
    assert np.sum((Z @ V[:, :10]) ** 2) > 0.99 * np.sum(Z**2)
    spread = ((Z @ V) ** 2).sum(axis=0)
    assert spread[0] > spread[9] > spread[10]


def test_no_axes_where_all_directions_are_alike():
    noise = np.random.default_rng(1).standard_normal((4000, 60))
    assert principal_axes(noise, 5).directions is None
    assert principal_axes(noise, 5, insist=True).leading in LEADING


def test_axes_are_tried_on_rows_they_have_not_seen():
    """The axes of a few rows of many features fit those rows, and no others."""
    noise = np.random.default_rng(4).standard_normal((3000, 900))
    assert principal_axes(noise, 5).directions is None


def test_more_neighbours_are_farther_and_need_no_fewer_axes():
    X = rows(np.random.default_rng(2), 6000, 200, 40, 0.3)
    few, many = (principal_axes(X, k) for k in (1, 1000))
    assert few.directions is not None
    assert (many.leading if many.directions is not None else 200) > few.leading


def test_the_scale_is_a_power_of_two_that_brings_rows_to_length_one():
    X = 1e5 + rows(np.random.default_rng(3), 3000, 20, 5, 0.1)
    axes = no_axes(X)
    assert np.log2(axes.scale) == int(np.log2(axes.scale))
    lengths = axes.scale * np.linalg.norm(X - axes.centre, axis=1)
    assert 0.3 < lengths.max() < 2
    assert axes.leading == 20


def test_few_rows_or_features_have_no_axes():
    assert most_axes(20, 500) < LEADING[0]
    assert most_axes(5000, 8) < LEADING[0]


def test_more_queries_pay_for_axes_and_more_threads_do_not():
    queries = [m for m in (100, 1000, 10_000, 100_000) if axes_pay(4000, 64, queries=m, threads=1)]
    assert queries
    assert not axes_pay(4000, 64, queries=100, threads=1)
    assert not axes_pay(4000, 64, queries=queries[0], threads=64)


def test_the_dimension_of_near_rows_is_that_of_the_surface_they_lie_on():
    rng = np.random.default_rng(5)
    flat = rng.standard_normal((4000, 2)) @ rng.standard_normal((2, 16))
    assert local_dimension(flat) < 4
    assert local_dimension(rng.random((4000, 16))) > 8
    assert local_dimension(np.ones((100, 3))) == np.inf
