import numpy as np

from separatrix.solvers.decomposition import coding, pairs, problems_of


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
