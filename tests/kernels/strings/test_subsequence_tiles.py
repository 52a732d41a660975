"""The subsequence kernel at tiny sizes against sums over all subsequences: tiles, levels, lanes, blocks."""

import itertools

import numpy as np
import pytest
from tests.kernels import definitions
from tests.kernels.strings.test_subsequence import letters, products

from separatrix.kernels.strings import subsequence, subsequence_attribution
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.kernels.strings.subsequence import (
    _count_cells,
    _longest,
    _PairBlock,
    _split_task,
    _task,
    count_steps,
    self_products,
    subsequence_products,
)
from separatrix.kernels.strings.subsequence_attribution import attribute_letters
from separatrix.kernels.strings.subsequence_simd import (
    LANES,
    ROWS,
    fill_lanes,
    nonnegative_codes,
    order_by_length,
)

FIRST = ["abaabbab", "", "bbab", "a", "abcab"]
SECOND = ["bab", "aabba", "cabbaab"]


def exact(first, second, k, decay):
    return definitions.block(lambda s, t: definitions.subsequence(s, t, k, decay), first, second)


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of three columns and two groups of rows, where the decay loses one bit in each step."""
    monkeypatch.setattr(subsequence, "MAX_TILE_COLUMNS", 3)
    monkeypatch.setattr(subsequence, "MAX_TILE_ROWS", 2 * ROWS)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 8])
def test_strings_over_many_small_tiles_match_the_definition(k):
    for decay in (0.5, 0.9):
        expected = exact(FIRST, SECOND, k, decay)
        np.testing.assert_allclose(products(FIRST, SECOND, k, decay), expected, rtol=1e-13)
        symmetric = products(FIRST, None, k, decay)
        np.testing.assert_allclose(symmetric, exact(FIRST, FIRST, k, decay), rtol=1e-13)
        own = self_products(letters(FIRST), k, decay, threads=1)
        np.testing.assert_allclose(own, symmetric.diagonal(), rtol=1e-13)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6, 7, 9, 10])
def test_every_number_of_levels_at_once_matches_the_definition(k):
    first, second = ["abaabbabab", "bb"], ["bbabaababa"]
    found = products(first, second, k, 0.5, all_levels=True)
    expected = [exact(first, second, level, 0.5) for level in range(1, k + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(products(first, second, k, 0.5), expected[-1], rtol=1e-13)


@pytest.mark.parametrize("chunk", [1, 150, 10**9])
def test_chunks_of_one_group_of_lanes_match_the_definition(chunk, monkeypatch, small_tiles):
    monkeypatch.setattr(subsequence, "CHUNK", chunk)
    for second in (None, SECOND):
        expected = exact(FIRST, second or FIRST, 2, 0.5)
        np.testing.assert_allclose(products(FIRST, second, 2, 0.5), expected, rtol=1e-13)
    own = self_products(letters(FIRST), 2, 0.5, threads=1)
    np.testing.assert_allclose(own, exact(FIRST, FIRST, 2, 0.5).diagonal(), rtol=1e-13)


def string_lengths(*lengths):
    return EncodedSequences(np.zeros(sum(lengths), np.int64), np.cumsum([0, *lengths]))


ROW_LENGTHS, COLUMN_LENGTHS = (5, 0, 9, 3, 14, 1, 7), (4, 11, 2, 8, 6, 1, 3, 10, 5, 20, 0)
TASKS = {
    "symmetric": _task(string_lengths(*COLUMN_LENGTHS), None),
    "two sides": _task(string_lengths(*ROW_LENGTHS), string_lengths(*COLUMN_LENGTHS)),
}


def pairs_of(task, block):
    for row in range(block.top, block.bottom):
        right = min(block.right, row + 1) if task.symmetric else block.right
        yield from ((row, column) for column in range(block.left, right))


def sizes_of(task):
    return (
        np.diff(task.first_starts)[task.rows].tolist(),
        np.diff(task.second_starts)[task.columns].tolist(),
    )


@pytest.mark.parametrize("chunk", [1, 60, 300, 2000, 10**6])
@pytest.mark.parametrize("name", TASKS)
def test_blocks_of_pairs_have_each_pair_once_and_are_no_larger_than_a_chunk(
    name, chunk, monkeypatch
):
    monkeypatch.setattr(subsequence, "CHUNK", chunk)
    task, k = TASKS[name], 2
    heights, widths = sizes_of(task)
    n, m = len(heights), len(widths)
    found = []
    for block in _split_task(task, k):
        own = list(pairs_of(task, block))
        found += own
        if task.symmetric:
            own = [(row, column) for row, column in own if column < block.bottom]
        rows = [heights[row] for row in range(block.top, block.bottom)]
        columns = [widths[column] for _, column in own]
        assert _longest(task, block) == (max(rows, default=0), max(columns, default=0))
        cells = sum(heights[row] * widths[column] for row, column in own)
        assert _count_cells(task, block) == cells
        one_group = block.bottom - block.top == 1 and block.right - block.left <= LANES
        padded = sum(
            heights[row] * LANES * max(widths[left : min(left + LANES, m)])
            for row in range(block.top, block.bottom)
            for left in range(block.left, min(block.right, row + 1 if task.symmetric else m), LANES)
        )
        assert k * padded <= chunk or one_group
    if task.symmetric:
        assert sorted(found) == [(row, column) for row in range(n) for column in range(row + 1)]
    else:
        assert sorted(found) == list(itertools.product(range(n), range(m)))


def test_a_whole_task_is_one_block_if_it_fits():
    for task in TASKS.values():
        n, m = len(task.rows), len(task.columns)
        assert list(_split_task(task, 3)) == [_PairBlock(0, n, 0, m)]
        heights, widths = sizes_of(task)
        assert heights == sorted(heights)
        assert widths == sorted(widths)


def test_steps_count_each_pair_once():
    one, two = string_lengths(*ROW_LENGTHS), string_lengths(*COLUMN_LENGTHS)
    assert count_steps(one, two, 3) == 3 * sum(ROW_LENGTHS) * sum(COLUMN_LENGTHS)
    below = itertools.combinations_with_replacement(sorted(ROW_LENGTHS), 2)
    assert count_steps(one, None, 3) == 3 * sum(a * b for a, b in below)


@pytest.mark.parametrize("chunk", [1, 10**9])
def test_steps_are_reported_for_every_letter_also_the_first_of_an_alphabet(chunk, monkeypatch):
    monkeypatch.setattr(subsequence, "CHUNK", chunk)
    zeros, reported = string_lengths(3, 5, 2), []
    subsequence_products(zeros, zeros, 2, 0.5, threads=1, on_step=reported.append)
    assert reported[-1] == 2 * 10 * 10


def test_the_side_that_fills_the_lanes_best_is_in_the_columns():
    one, many = string_lengths(6), string_lengths(*[6] * (2 * LANES))
    assert not _task(one, many).transposed
    assert _task(many, one).transposed
    assert not _task(one, one).transposed


@pytest.mark.parametrize("chosen", [[0], [1], [2, 0], [1, 1]])
def test_lanes_hold_a_string_each_and_padding(chosen):
    strings = ["abcde", "", "xyz"]
    one = letters(strings)
    out = np.full((5 + 2 * ROWS, LANES), 99)
    longest = fill_lanes(one.codes, one.starts, np.array(chosen), -2, out)
    assert longest == max(len(strings[number]) for number in chosen)
    for lane in range(LANES):
        text = strings[chosen[lane]] if lane < len(chosen) else ""
        expected = [ord(c) for c in text] + [-2] * (longest + ROWS - len(text))
        assert out[: longest + ROWS, lane].tolist() == expected
    assert (out[longest + ROWS :] == 99).all()


def test_codes_become_numbers_from_0_only_if_some_are_below():
    plain = EncodedSequences(np.array([5, 3], np.int32), np.array([0, 2]))
    (same,) = nonnegative_codes(plain)
    assert same.codes.tolist() == [5, 3]
    assert same.codes.dtype == np.int64
    below = EncodedSequences(np.array([-7, 5, -1]), np.array([0, 1, 3]))
    first, second = nonnegative_codes(below, plain)
    assert first.codes.tolist() == [0, 3, 1]
    assert second.codes.tolist() == [3, 2]
    assert order_by_length(below).tolist() == [0, 1]
    assert order_by_length(letters(["abc", "", "ab", "x"])).tolist() == [1, 3, 2, 0]


def letters_by_definition(x, others, coef, k, decay):
    """Each letter's part of the weight of all common subsequences through it, one pair at a time."""
    values = np.zeros(len(x))
    for z, weight in zip(others, coef, strict=True):
        for i in itertools.combinations(range(len(x)), k):
            for j in itertools.combinations(range(len(z)), k):
                if all(x[a] == z[b] for a, b in zip(i, j, strict=True)):
                    span = i[-1] - i[0] + 1 + j[-1] - j[0] + 1
                    values[list(i)] += weight * decay**span / k
    return values


@pytest.mark.parametrize("chunk", [1, 10**9])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_letters_get_their_part_of_all_common_subsequences(k, chunk, monkeypatch):
    monkeypatch.setattr(subsequence_attribution, "CHUNK", chunk)
    x, others = "abcabba", ["bab", "abcab", "", "cc", "aabb"]
    coef = np.array([1.0, -2.0, 3.0, 0.0, 0.5])
    codes = np.array([ord(c) for c in x])
    for decay in (0.5, 0.8):
        found = attribute_letters(codes, letters(others), coef, k, decay)
        expected = letters_by_definition(x, others, coef, k, decay)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
