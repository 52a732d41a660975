"""Merges of columns against plain loops over whole numbers."""

import numpy as np
import pytest

from separatrix.solvers.nearest import columns


def test_what_a_pair_of_columns_loses():
    C, spread = np.array([[9.0, -6.0], [-6.0, 16.0]]), np.array([3.0, 4.0])
    assert columns._lost(C, spread, 0, 1) == columns._lost(C, spread, 1, 0) == 7.0 - np.sqrt(37.0)


def test_a_mate_is_the_first_living_column_that_loses_the_least():
    S = np.array([[1.0, 1.0, 2.0, -1.0], [0.0, 0.0, 1.0, 0.0]])
    C = S.T @ S
    spread, loss, mate = np.sqrt(np.diag(C)), np.zeros(4), np.full(4, 9)
    for alive, expected in (
        ([1, 1, 1, 1], [1, 0, 0, 0]),
        ([1, 0, 1, 1], [3, 0, 0, 0]),
        ([0, 0, 1, 1], [3, 3, 3, 2]),
    ):
        for i in range(4):
            columns._find_mate(C, spread, np.array(alive, bool), i, loss, mate)
            assert mate[i] == expected[i]
            assert loss[i] == columns._lost(C, spread, i, expected[i])
    columns._find_mate(C, spread, np.array([1, 0, 0, 0], bool), 0, loss, mate)
    assert loss[0] == np.inf


def plain_merges(S, left):
    """The pair that loses the least, of those the first; the second goes into the first."""
    sums, merges = {j: column.copy() for j, column in enumerate(S.T)}, []
    while len(sums) > left:
        C = {(a, b): sums[a] @ sums[b] for a in sums for b in sums}
        spread = {a: np.sqrt(C[a, a]) for a in sums}

        def lost(a, b, C=C, spread=spread):
            whole = spread[a] * spread[a] + spread[b] * spread[b] + 2.0 * abs(C[a, b])
            return spread[a] + spread[b] - np.sqrt(whole)

        a, b = min(((a, b) for a in sums for b in sums if a < b), key=lambda pair: lost(*pair))
        sign = 1 if C[a, b] >= 0 else -1
        sums[a] = sums[a] + sign * sums.pop(b)
        merges.append((a, b, sign))
    return merges


@pytest.mark.parametrize("seed", range(6))
def test_columns_are_merged_in_the_order_of_what_they_lose(seed):
    rng = np.random.default_rng(seed)
    S = rng.integers(-9, 10, (12, 7)) / 32  # covariances below 1, exact
    for left in (1, 3, 7):
        into, gone, signs = columns._merge(S.T @ S, left)
        assert list(zip(into, gone, signs, strict=True)) == plain_merges(S, left)


def test_columns_that_do_not_move_together_are_added():
    into, gone, signs = columns._merge(np.diag([16.0, 1.0, 4.0]), 1)
    assert into.tolist() == [1, 0]
    assert gone.tolist() == [2, 1]
    assert signs.tolist() == [1, 1]


def test_merges_are_undone_from_the_last_to_the_first():
    merges = columns.Merges(
        np.array([1, 0, 3, 0]), np.array([2, 1, 4, 3]), np.array([-1, 1, -1, -1], np.int8)
    )
    for g, labels, signs in (
        (5, [0, 1, 2, 3, 4], [1, 1, 1, 1, 1]),
        (3, [0, 0, 0, 1, 2], [1, 1, -1, 1, 1]),
        (1, [0, 0, 0, 0, 0], [1, 1, -1, -1, 1]),
    ):
        groups = merges.groups(5, g)
        assert groups.labels.tolist() == labels
        assert groups.signs.tolist() == signs
        S = np.arange(10.0).reshape(2, 5)
        expected = [
            [sum(row[groups.labels == c] * groups.signs[groups.labels == c]) for c in range(g)]
            for row in S
        ]
        assert columns.group_sums(S, groups).tolist() == expected
