"""Numbers for pairs, compared with a dict."""

import numpy as np
import pytest

from separatrix.kernels.vocabulary import PairTable, Vocabulary


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_those_of_a_dict_in_order_of_first_occurrence(seed):
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

    pairs = PairTable()
    found = np.concatenate(
        [
            pairs.numbers(first[part], second[part])
            for part in np.split(np.arange(3000), [10, 11, 900])
        ]
    )

    assert found.tolist() == expected
    assert len(pairs) == len(known)
    assert [tuple(key) for key in pairs.keys.tolist()] == list(known)


def test_a_table_rebuilt_from_its_keys_has_the_same_numbers():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 50, 400), rng.integers(0, 50, 400)
    pairs = PairTable()
    numbers = pairs.numbers(first, second)

    again = PairTable(pairs.keys)

    assert again.numbers(first, second, add=False).tolist() == numbers.tolist()


def test_new_pairs_are_unknown_with_add_false():
    pairs = PairTable([[1, 2]])
    assert pairs.numbers([1, 1, -1, 1], [2, 3, 2, -1], add=False).tolist() == [0, -1, -1, -1]
    assert len(pairs) == 1


def test_numbers_below_0_are_unknown_even_with_add_true():
    pairs = PairTable()
    assert pairs.numbers([-1, 0], [0, -5]).tolist() == [-1, -1]
    assert len(pairs) == 0


def test_no_pairs_have_no_numbers():
    assert PairTable().numbers([], []).tolist() == []
    assert len(PairTable(np.empty((0, 2)))) == 0


def test_a_closed_vocabulary_learns_nothing():
    vocabulary = Vocabulary()
    assert vocabulary.numbers(["a", "b", "a"]).tolist() == [0, 1, 0]
    vocabulary.closed = True
    assert vocabulary.numbers(["b", "c"]).tolist() == [1, -1]
    assert vocabulary.pairs("new", [1], [1]).tolist() == [-1]
    assert vocabulary.symbols == {"a": 0, "b": 1}
