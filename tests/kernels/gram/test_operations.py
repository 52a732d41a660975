"""What is read of a Gram matrix: rows of a tile, columns, scores, and fits at a time."""

import sys

import numpy as np
import pytest

from separatrix.kernels import Gaussian, Linear
from separatrix.kernels.gram import CachedGram, HeldGram, LazyGram, make_gram, operations
from separatrix.kernels.gram.held import reorder
from separatrix.kernels.gram.operations import (
    cheapest_columns,
    concurrent_fits,
    scores_of_rows,
    tile_rows,
)
from separatrix.kernels.gram.sources import make_source

X = np.random.default_rng(0).normal(size=(12, 3))
SEGMENTS = (slice(0, 5), slice(5, 12))


def grams(batch=4):
    source = make_source(Linear(), X, tolerance=1e-3, budget=2**30, threads=1)
    return {
        "held": HeldGram(X @ X.T, segments=SEGMENTS),
        "cached": CachedGram(source, budget=12 * 8 * 12, batch=batch, segments=SEGMENTS),
        "lazy": LazyGram(source, batch=batch, segments=SEGMENTS),
    }


def test_columns_are_read_all_if_they_are_stored_and_few_otherwise():
    few, half, most = np.arange(2), np.arange(6), np.arange(7)
    held, cached, lazy = grams().values()
    for wanted in (few, half, most):
        assert cheapest_columns(held, wanted, all_rows=True) == slice(0, 12)
        for gram in (cached, lazy):
            assert cheapest_columns(gram, wanted, all_rows=True) is wanted
    assert cheapest_columns(held, few, all_rows=False) is few
    assert cheapest_columns(held, half, all_rows=False) is half
    assert cheapest_columns(held, most, all_rows=False) == slice(0, 12)


def test_fits_at_a_time():
    held, cached, lazy = grams().values()
    assert [concurrent_fits(gram, 3) for gram in (held, cached, lazy)] == [3, 1, 1]

    class Other:
        pass

    assert concurrent_fits(Other(), 3) == sys.maxsize


def test_a_tile_has_the_rows_that_fit(monkeypatch):
    monkeypatch.setattr(operations, "TILE_BYTES", 8 * 12 * 5 + 7)
    held = grams()["held"]
    assert tile_rows(held, 12) == 5
    assert tile_rows(held, 13) == 4
    assert tile_rows(held, 0) == 8 * 12 * 5 // 8
    assert tile_rows(held, 10**6) == 1


@pytest.mark.parametrize("batch", [1, 2, 3, 12])
@pytest.mark.parametrize("name", ["held", "cached", "lazy"])
def test_scores_are_sums_over_the_rows_in_float64(name, batch, monkeypatch):
    monkeypatch.setattr(operations, "TILE_BYTES", 8 * 12 * batch)
    gram = grams(batch)[name]
    support, coef = np.array([11, 2, 2, 7]), np.arange(8.0).reshape(4, 2)
    found = scores_of_rows(gram, support, coef)
    np.testing.assert_allclose(found, (X @ X.T)[:, support] @ coef, rtol=1e-12)
    assert found.dtype == np.float64


def test_rows_of_a_cache_are_kept_while_there_is_room_and_the_oldest_go(monkeypatch):
    source = make_source(Linear(), X, tolerance=1e-3, budget=2**30, threads=1)
    gram = CachedGram(source, budget=3 * 8 * 12, batch=9, segments=SEGMENTS)
    assert (gram.capacity, gram.batch) == (3, 3)
    computed = []
    fill = source.fill_rows
    monkeypatch.setattr(
        source,
        "fill_rows",
        lambda parts: (computed.append([p[0].tolist() for p in parts]), fill(parts)),
    )

    def fetch(*rows, segment=0):
        computed.clear()
        storage, slots = gram.fetch(np.array(rows), segment)
        expected = (X @ X.T)[list(rows), SEGMENTS[segment]]
        np.testing.assert_allclose(storage[slots], expected, rtol=1e-12)
        return [row for parts in computed for part in parts for row in part]

    assert fetch(4, 1) == [1, 4]
    assert fetch(1, 4, 1) == []
    assert fetch(2) == [2]
    assert fetch(1) == []
    assert fetch(4) == []
    assert fetch(9) == [9]  # in the place of 2, the oldest
    assert fetch(1, 4) == []
    assert fetch(2) == [2]  # in the place of 9
    assert fetch(9, segment=1) == [9]  # each segment by itself
    many = gram.fetch_many({0: np.array([5, 6]), 1: np.array([9, 0])})
    for segment, index in ((0, [5, 6]), (1, [9, 0])):
        storage, slots = many[segment]
        np.testing.assert_allclose(storage[slots], (X @ X.T)[index, SEGMENTS[segment]], rtol=1e-12)


def test_a_matrix_in_another_order():
    K = np.arange(16.0).reshape(4, 4)
    order = np.array([2, 0, 2])
    np.testing.assert_array_equal(reorder(K, order), K[np.ix_(order, order)])


@pytest.mark.parametrize(
    ("rows", "form"),
    [(12, "HeldGram"), (11, "LazyGram"), (1, "LazyGram"), (24, "HeldGram")],
)
def test_the_form_of_a_matrix_follows_the_rows_that_fit(rows, form):
    assert type(make_gram(Gaussian(1.0), X, memory=rows * 8 * 12)).__name__ == form


def test_a_cache_has_room_for_the_rows_of_a_working_set():
    wide = np.tile(X, (20, 1))
    for rows, form in ((128, CachedGram), (127, LazyGram)):
        gram = make_gram(Gaussian(1.0), wide, memory=rows * 8 * 240)
        assert type(gram) is form
        assert gram.batch == rows // 2
    held = make_gram(Gaussian(1.0), X, memory=24 * 8 * 12, hold=False)
    assert type(held) is CachedGram
    assert type(make_gram(Gaussian(1.0), X, memory=24 * 8 * 12 - 1, hold=False)) is LazyGram
