import itertools
import threading
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from benchmarks.subsequence import numpy_subsequence
from tests.kernels import definitions

from separatrix.kernels.strings import subsequence
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.kernels.strings.subsequence import (
    count_steps,
    self_products,
    subsequence_products,
)


def letters(strings):
    parts = [[ord(c) for c in s] if isinstance(s, str) else list(s) for s in strings]
    codes = np.array([code for part in parts for code in part], np.int64)
    return EncodedSequences(codes, np.cumsum([0, *map(len, parts)]))


def random_strings(rng, count, longest, alphabet="abc"):
    return ["".join(rng.choice(list(alphabet), rng.integers(0, longest + 1))) for _ in range(count)]


def products(first, second, k, decay, **options):
    second = None if second is None else letters(second)
    return subsequence_products(letters(first), second, k, decay, **{"threads": 1, **options})


@pytest.mark.parametrize("decay", [1e-3, 0.3, 0.5, 0.9, 1.0])
def test_values_match_the_definition(decay):
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 4):
        first, second = random_strings(rng, 9, 7), random_strings(rng, 11, 7, "abcd")
        exact = partial(definitions.subsequence, k=k, decay=Fraction(decay))

        K = products(first, second, k, decay)

        np.testing.assert_allclose(K, definitions.block(exact, first, second), rtol=3e-15, atol=0)


@pytest.mark.slow
def test_more_levels_than_one_sweep_match_the_definition():
    first = ["abaabbabab", "bbabaababa"]
    exact = [
        definitions.block(partial(definitions.subsequence, k=level, decay=0.5), first, first)
        for level in range(1, 11)
    ]

    for k in range(1, 11):
        np.testing.assert_array_equal(products(first, None, k, 0.5, all_levels=True), exact[:k])
        np.testing.assert_array_equal(products(first, None, k, 0.5), exact[k - 1])


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.2, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7])
def test_strings_over_many_tiles_match_numpy(k, decay):
    rng = np.random.default_rng(k)
    lengths = [0, 1, 63, 64, 65, 130, 200, 31, 33, 129]
    strings = [rng.integers(0, 5, length) for length in lengths]

    K = products(strings, None, k, decay)

    peer = [[numpy_subsequence(s, t, k, decay) for t in strings] for s in strings]
    np.testing.assert_allclose(K, peer, rtol=1e-12)


def test_the_mirrored_triangle_is_the_full_matrix():
    strings = random_strings(np.random.default_rng(1), 37, 80)

    K = products(strings, None, 4, 0.6)

    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, products(strings, strings, 4, 0.6), rtol=1e-13)


def test_swapped_sides_give_the_transpose():
    rng = np.random.default_rng(2)
    few, many = random_strings(rng, 2, 50), random_strings(rng, 40, 30)

    np.testing.assert_array_equal(products(few, many, 3, 0.7), products(many, few, 3, 0.7).T)


@pytest.mark.parametrize("second", [None, 13])
def test_all_levels_are_each_level_alone(second):
    rng = np.random.default_rng(3)
    first = random_strings(rng, 21, 70)
    second = second and random_strings(rng, second, 90)

    levels = products(first, second, 8, 0.8, all_levels=True)

    for k in range(1, 9):
        np.testing.assert_array_equal(levels[k - 1], products(first, second, k, 0.8))


@pytest.mark.parametrize("chunk", [1, 2_000, 100_000, 10**9])
@pytest.mark.parametrize("threads", [1, 3])
def test_neither_threads_nor_chunks_change_a_bit(chunk, threads, monkeypatch):
    rng = np.random.default_rng(4)
    first, second = random_strings(rng, 30, 150), random_strings(rng, 20, 150)
    expected = [products(first, other, 3, 0.7, all_levels=True) for other in (None, second)]
    alone = self_products(letters(first), 3, 0.7, threads=1)
    monkeypatch.setattr(subsequence, "CHUNK", chunk)

    found = [
        products(first, other, 3, 0.7, all_levels=True, threads=threads) for other in (None, second)
    ]

    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(self_products(letters(first), 3, 0.7, threads=threads), alone)


def test_a_value_does_not_depend_on_the_other_strings():
    rng = np.random.default_rng(5)
    first, second = random_strings(rng, 20, 90), random_strings(rng, 25, 90)

    K = products(first, second, 4, 0.55)

    alone = [[products([s], [t], 4, 0.55)[0, 0] for t in second] for s in first]
    np.testing.assert_allclose(K, alone, rtol=1e-14)  # rows and columns may have changed places


def test_self_products_are_the_diagonal():
    strings = random_strings(np.random.default_rng(6), 29, 100)

    own = self_products(letters(strings), 6, 0.4, threads=2)

    np.testing.assert_allclose(own, products(strings, None, 6, 0.4).diagonal(), rtol=1e-14)
    np.testing.assert_array_equal(self_products(letters(strings), 6, 0.4, threads=1), own)


def test_strings_shorter_than_k_have_value_zero():
    strings = ["", "a", "ab", "aba", "abab"]

    K = products(strings, None, 3, 0.5)

    assert not K[:3].any()
    assert (K[3:, 3:] > 0).all()


@pytest.mark.parametrize("second", [[], [""], None])
def test_empty_lists_give_empty_matrices(second):
    empty = products([], second, 2, 0.5)

    assert empty.shape == (0, 0 if second is None else len(second))
    assert self_products(letters([]), 2, 0.5, threads=1).shape == (0,)
    assert products(["ab"], second or [], 2, 0.5).shape == (1, len(second or []))


def test_letters_may_be_any_integers():
    lowest, highest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    codes = np.array([lowest, -1, -2, highest, lowest, -1])
    odd = EncodedSequences(codes, np.array([0, 3, 6]))
    plain = EncodedSequences(np.array([0, 2, 1, 3, 0, 2], np.int32), np.array([0, 3, 6]))

    np.testing.assert_array_equal(
        subsequence_products(odd, None, 2, 0.5, threads=1),
        subsequence_products(plain, None, 2, 0.5, threads=1),
    )


def test_without_decay_large_counts_are_finite_and_right():
    length, k = 1500, 12
    same = ["a" * length]

    K = products(same, None, k, 1.0)

    pairs = 1.0
    for i in range(k):  # (length choose k) squared
        pairs *= ((length - i) / (i + 1)) ** 2
    np.testing.assert_allclose(K[0, 0], pairs, rtol=1e-12)


@pytest.mark.parametrize("decay", [1e-300, 1e-40, 1e-16])
def test_a_tiny_decay_gives_no_nan(decay):
    K = products(["abcabc" * 30], ["abccba" * 30], 1, decay, all_levels=True)

    np.testing.assert_allclose(K[0, 0, 0], 180 * 60 * decay**2, rtol=1e-12)
    assert np.isfinite(products(["abcabc" * 30], None, 7, decay)).all()


@pytest.mark.parametrize("chunk", [1, 10_000, 10**9])
@pytest.mark.parametrize("second", [None, 9])
def test_steps_are_reported_until_all_are_done(second, chunk, monkeypatch):
    rng = np.random.default_rng(7)
    first = random_strings(rng, 20, 90)
    second = second and random_strings(rng, second, 90)
    monkeypatch.setattr(subsequence, "CHUNK", chunk)
    reported = []

    products(first, second, 3, 0.5, threads=2, on_step=reported.append)

    total = count_steps(letters(first), None if second is None else letters(second), 3)
    assert reported == sorted(reported)
    assert reported[-1] == total
    pairs = itertools.product(first, second or first)
    if second is not None:
        assert total == 3 * sum(len(s) * len(t) for s, t in pairs)


@pytest.mark.parametrize("threads", [1, 2])
def test_work_stops_soon_after_an_interrupt(threads, monkeypatch):
    monkeypatch.setattr(subsequence, "CHUNK", 10_000)
    strings = random_strings(np.random.default_rng(8), 60, 90)
    reported = []

    def interrupt(done):
        reported.append(done)
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        products(strings, None, 3, 0.5, threads=threads, on_step=interrupt)

    assert len(reported) <= threads
    started = set(threading.enumerate()) - before
    assert all(one.name.startswith("separatrix_") for one in started)  # the pool keeps its threads
