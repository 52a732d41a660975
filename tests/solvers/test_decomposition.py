import numpy as np
import pytest

from separatrix.solvers.decomposition import ClassSides, coding, n_boundaries, pairs, problems_of


def test_each_pair_of_classes_is_one_problem_for_those_two_alone():
    sides = coding(5, "ovo")
    assert sides.shape == (5, 10)
    for column, (a, b) in enumerate(pairs(5)):
        assert sides[a, column] == 1
        assert sides[b, column] == -1
        assert np.count_nonzero(sides[:, column]) == 2


def test_each_class_is_positive_against_the_rest_once():
    sides = coding(4, "ovr")
    np.testing.assert_array_equal(np.diagonal(sides), 1)
    assert (sides.sum(axis=0) == -2).all()


def test_problems_keep_the_rows_they_are_given_in_order():
    y = np.array([0, 2, 1, 1])
    problems = problems_of(y, np.array([3, 0]), coding(3, "ovr"))
    assert problems.rows.tolist() == [3, 0]
    assert problems.targets.tolist() == [[-1, 1, -1], [1, -1, -1]]


@pytest.mark.parametrize("scheme", ["ovo", "ovr", "argmax"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_sides_of_classes_that_take_part_are_those_of_the_coding(k, scheme):
    codes, sides = coding(k, scheme), ClassSides.for_scheme(k, scheme)
    p = n_boundaries(k, scheme)
    assert p == codes.shape[1] == len(sides.starts) - 1
    np.testing.assert_array_equal(np.stack([sides.codes(i) for i in range(p)], axis=1), codes)
    for one, other in zip(sides, ClassSides.of(codes), strict=True):
        np.testing.assert_array_equal(one, other)
    twice = sides.repeat(2)
    both = np.stack([twice.codes(i) for i in range(2 * p)], axis=1)
    np.testing.assert_array_equal(both, np.tile(codes, 2))
