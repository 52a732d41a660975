"""Numbers for pairs, compared with a dict."""

import numpy as np
import pytest

from separatrix.kernels.vocabulary import MIN_SLOTS, PairTable, Vocabulary, hash_slot


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


def plain_slot(first, second, mask):
    """The hash in integers of any size, cut to 64 bits."""
    cut = 2**64 - 1
    mixed = first * 0x9E3779B97F4A7C15 & cut
    mixed = ((mixed ^ (mixed >> 32)) + second) * 0xD6E8FEB86659FD93 & cut
    return (mixed ^ (mixed >> 32)) & mask


def test_slots_are_those_of_plain_integers():
    rng = np.random.default_rng(0)
    for first, second in [(0, 0), (1, 0), (0, 1), *rng.integers(0, 2**62, (50, 2)).tolist()]:
        for bits in (6, 20):
            mask = 2**bits - 1
            assert hash_slot(first, second, mask) == plain_slot(first, second, mask)


@pytest.mark.parametrize("count", [MIN_SLOTS // 2 - 1, MIN_SLOTS // 2, MIN_SLOTS // 2 + 1, 200])
def test_a_table_is_at_most_half_full(count):
    pairs = PairTable()
    assert pairs.numbers(np.arange(count), 7).tolist() == list(range(count))
    assert len(pairs) == count <= len(pairs._slots) // 2
    assert len(pairs._keys) == len(pairs._slots) // 2
    assert len(pairs._slots) == MIN_SLOTS or count > len(pairs._slots) // 4
    assert np.sort(pairs._slots[pairs._slots >= 0]).tolist() == list(range(count))
    assert pairs.numbers(np.arange(count), 8, add=False).tolist() == [-1] * count
    assert pairs.keys.tolist() == [[number, 7] for number in range(count)]


def test_pairs_of_one_slot_are_told_apart():
    same = [pair for pair in range(2000) if hash_slot(pair, 3, 63) == 63][:4]
    assert len(same) == 4
    pairs = PairTable()
    assert pairs.numbers(same, 3).tolist() == [0, 1, 2, 3]
    assert pairs.numbers(same[::-1], 3, add=False).tolist() == [3, 2, 1, 0]
    assert pairs.numbers(same, 4, add=False).tolist() == [-1] * 4
