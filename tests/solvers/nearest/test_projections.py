"""Projections against a plain transcription, and the limits of their rounding."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.solvers.nearest.agreement import assert_exhaustive

from separatrix.solvers.nearest import projections
from separatrix.solvers.nearest.axes import no_axes, principal_axes
from separatrix.solvers.nearest.index import build_index
from separatrix.solvers.nearest.metrics import metric_of


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * 0.7 ** np.arange(d) + 3.0


@pytest.mark.parametrize("insist", [True, False])
def test_rows_are_projected_with_the_lengths_left_over(insist):
    X = rows(70, 40)
    axes = principal_axes(X, 1, insist=True) if insist else no_axes(X)
    found = projections.Projections(X, axes, threads=2)
    projected, squares = found._project(X, 2, -0.25, 0.125)
    Z = (X - axes.centre) * axes.scale
    np.testing.assert_allclose(squares, (Z**2).sum(axis=1))
    if not insist:
        np.testing.assert_allclose(projected.first[:, :-1], Z, rtol=1e-6)
        assert projected.second.shape[1] == projected.third.shape[1] == 0
    else:
        m, V = axes.leading, axes.directions
        ends = [m, min(2 * m, V.shape[1]), V.shape[1]]
        for part, (low, high) in zip(
            projected, zip([0, *ends[:2]], ends, strict=True), strict=True
        ):
            if high > low:
                left = np.sqrt((Z**2).sum(axis=1) - ((Z @ V[:, :high]) ** 2).sum(axis=1))
                np.testing.assert_allclose(part[:, : high - low], (Z @ V)[:, low:high], atol=1e-6)
                np.testing.assert_allclose(part[:, high - low], left, atol=1e-6)
            else:
                assert part.shape[1] == 0
    np.testing.assert_allclose(projected.first[:, -1], 0.125 - 0.25 * squares, rtol=1e-6)


@pytest.mark.parametrize("insist", [True, False])
def test_the_rounding_that_bounds_allow_is_the_documented_one(insist):
    X = rows(70, 40)
    axes = principal_axes(X, 1, insist=True) if insist else no_axes(X)
    found = projections.Projections(X, axes, threads=1)
    terms = axes.leading + (2 if insist else 1)
    rest = np.sqrt(40 * 2.0**-53)
    assert found._off == 2 * (terms + 8) * 2.0**-24 + 4 * rest
    assert found._moved == 4 * 2.0**-24 + 2 * rest
    assert found.method == ("projections" if insist else "products")
    assert len(found._rows.lows) == 1  # few features are in cells, with axes or without
    lengths = np.linalg.norm((X - axes.centre) * axes.scale, axis=1)
    np.testing.assert_allclose(found._rows.margins, [found._moved * lengths.max()])


def test_many_features_without_axes_are_in_no_cells():
    for d, cells in ((48, 1), (49, 0)):
        X = rows(30, d)
        found = projections.Projections(X, no_axes(X), threads=1)
        assert len(found._rows.lows) == len(found._rows.highs) == len(found._rows.margins) == cells
        assert found._rows.lows.shape[1] == d


@pytest.mark.parametrize("method", ["projections", "products", "boxes", "sparse", "exhaustive"])
@pytest.mark.parametrize("k", [1, 9, 130])
def test_small_cells_and_groups_change_nothing(method, k, monkeypatch):
    """Rows of several cells, queries of several groups, several rounds between two checks."""
    monkeypatch.setattr(projections, "CELL", 64)
    monkeypatch.setattr(projections, "GROUP", 8)
    monkeypatch.setattr(projections, "AT_ONCE", 3000)
    rng = np.random.default_rng(k)
    X = (2 * rows(150, 12, seed=k)).round().astype(np.float64)  # with ties
    Q = np.vstack([X[:12], X[:9] + rng.normal(size=(9, 12)).round(1)])
    skip = np.r_[np.arange(12), np.full(9, -1)]
    made = csr_array(X) if method == "sparse" else X
    index = build_index(made, metric_of("l2"), method=method)
    rtol = 1e-12 if method == "sparse" else None
    assert_exhaustive(index, X, Q, k, skip=skip, rtol=rtol, threads=2)


def test_a_value_that_at_least_k_values_reach():
    rng = np.random.default_rng(0)
    for width, parts, k in ((64, 16, 3), (70, 16, 8), (5, 5, 5), (33, 16, 1)):
        tile = rng.normal(size=(2, width)).astype(np.float32)
        best = projections.Neighbors(np.empty((1, k)), np.empty((1, k), np.int64))
        found = projections._least_of_best(tile, 1, np.empty(parts), best)
        highest = [tile[1, c::parts].max() for c in range(parts)]
        assert found == sorted(highest, reverse=True)[k - 1]
        left = np.empty(width, np.int64)
        count = projections._reaching(tile, 1, found, left)
        np.testing.assert_array_equal(left[:count], np.flatnonzero(tile[1] >= found))


def test_positions_within_a_limit_move_to_the_front():
    left, bounds = np.array([4, 7, 9, 11]), np.array([2.0, 1.0, 3.0, 2.0])
    assert projections._within(2.0, left, bounds, 4) == 3
    assert left[:3].tolist() == [4, 7, 11]
    assert bounds[:3].tolist() == [2.0, 1.0, 2.0]
    Q, X = np.ones((2, 3), np.float32), np.full((2, 3), 3.0, np.float32)
    assert projections._gap(Q, 1, X, 0) == 12.0
