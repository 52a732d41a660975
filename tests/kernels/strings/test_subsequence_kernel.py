from contextlib import contextmanager

import numpy as np
import pytest

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import Normalized, Subsequence
from separatrix.kernels.strings import subsequence_kernel


@pytest.mark.slow
@pytest.mark.parametrize("around", [lambda k: k, Normalized])
def test_values_that_overflow_are_refused(around):
    X = ["a" * 1000, "a" * 999]

    with pytest.raises(DataError, match="overflow float64; lower k or decay"):
        around(Subsequence(400, decay=1.0)).block(X, X)


def test_a_decay_that_underflows_is_refused():
    with pytest.raises(ParameterError, match="larger for k=100"):
        Subsequence(100, decay=0.01)


def test_prepared_sequences_are_taken_and_multiplied_in_parts():
    kernel = Subsequence(2, 0.5)
    X = np.array(["abab", "", "ba", "aab"], dtype=object)
    K = kernel.block(X, X.copy())
    (whole,) = kernel.prepared(X)
    for rows in (np.array([3, 0, 0]), slice(1, 3), np.array([], dtype=int)):
        part = whole.take(rows)
        np.testing.assert_array_equal(part.squares, K.diagonal()[rows])
        np.testing.assert_array_equal(part.products(whole), K[rows])
        out = np.full((len(part), 4), np.nan)
        assert part.products(whole, out) is out
        np.testing.assert_array_equal(out, K[rows])
    np.testing.assert_array_equal(whole.own_products(), K)
    np.testing.assert_array_equal(whole.squares, K.diagonal())
    np.testing.assert_array_equal(whole.take(np.array([2]))._squares, K.diagonal()[[2]])


def test_levels_of_subsequences_come_from_one_run():
    X = np.array(["abab", "ba", "aab"], dtype=object)
    kernel = Subsequence(3, 0.5)
    for levels in ([2], [1, 3], [3]):
        found = kernel.level_products(X, levels, np.dtype(np.float64), 1)
        for level, (products, own) in zip(levels, found, strict=True):
            expected = Subsequence(level, 0.5).block(X, X.copy())
            np.testing.assert_array_equal(products, expected)
            np.testing.assert_array_equal(own, expected.diagonal())
        assert kernel.matrices_of(levels) == (max(levels) if len(levels) > 1 else 1)
    assert kernel.levels == ((3, 1.0),)
    assert kernel.family == (Subsequence, 0.5)


@pytest.mark.parametrize(("steps", "shown"), [(10**10, False), (10**10 + 1, None)])
def test_a_bar_is_shown_for_long_work_only(steps, shown, monkeypatch):
    asked, ticks = [], []

    @contextmanager
    def bar(_text, total, *, show):
        asked.append((total, show))
        yield lambda: ticks.append(1)

    monkeypatch.setattr(subsequence_kernel, "bar", bar)
    monkeypatch.setattr(subsequence_kernel, "count_steps", lambda *_: steps)

    def run(*_, on_step, **__):
        for done, expected in ((0, 0), (steps // 2, 50), (steps, 100)):
            on_step(done)
            assert len(ticks) == expected or expected == 50
        return np.zeros((1, 1))

    monkeypatch.setattr(subsequence_kernel, "subsequence_products", run)
    Subsequence(2).block(["ab"], ["ab"])
    assert asked == [(100, shown)]
    assert len(ticks) == 100
