"""Numbers for pairs: against a dict."""

import numpy as np
import pytest

from separatrix.kernels.vocabulary import Pairs, Vocabulary


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_a_dict_in_the_order_met(seed):
    rng = np.random.default_rng(seed)
    first, second = (
        rng.integers(0, 2**62, 3000) // rng.integers(1, 2**61, 3000),
        rng.integers(0, 9, 3000),
    )
    known: dict[tuple[int, int], int] = {}
    expected = [
        known.setdefault(pair, len(known))
        for pair in zip(first.tolist(), second.tolist(), strict=True)
    ]

    pairs = Pairs()
    found = np.concatenate(
        [
            pairs.numbers(first[part], second[part])
            for part in np.split(np.arange(3000), [10, 11, 900])
        ]
    )

    assert found.tolist() == expected
    assert len(pairs) == len(known)
    assert [tuple(key) for key in pairs.keys.tolist()] == list(known)


def test_a_table_made_of_its_keys_numbers_alike():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 50, 400), rng.integers(0, 50, 400)
    pairs = Pairs()
    numbers = pairs.numbers(first, second)

    again = Pairs(pairs.keys)

    assert again.numbers(first, second, add=False).tolist() == numbers.tolist()


def test_what_is_new_is_unknown_where_nothing_is_added():
    pairs = Pairs([[1, 2]])
    assert pairs.numbers([1, 1, -1, 1], [2, 3, 2, -1], add=False).tolist() == [0, -1, -1, -1]
    assert len(pairs) == 1


def test_numbers_below_0_are_unknown_even_where_pairs_are_added():
    pairs = Pairs()
    assert pairs.numbers([-1, 0], [0, -5]).tolist() == [-1, -1]
    assert len(pairs) == 0


def test_no_pairs_have_no_numbers():
    assert Pairs().numbers([], []).tolist() == []
    assert len(Pairs(np.empty((0, 2)))) == 0


def test_a_closed_vocabulary_learns_nothing():
    vocabulary = Vocabulary()
    assert vocabulary.numbers(["a", "b", "a"]).tolist() == [0, 1, 0]
    vocabulary.closed = True
    assert vocabulary.numbers(["b", "c"]).tolist() == [1, -1]
    assert vocabulary.pairs("new", [1], [1]).tolist() == [-1]
    assert vocabulary.things == {"a": 0, "b": 1}
