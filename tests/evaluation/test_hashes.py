import numpy as np
import pytest

from separatrix.data.dataset import Dataset
from separatrix.data.graph import Graph
from separatrix.evaluation.hashes import hash_of


def graph(*edges, labels=(0, 1, 1)):
    return Graph(3, np.array(edges), node_labels=np.array(labels))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Dataset("a", np.eye(2), np.array([0, 1])), Dataset("a", np.eye(2), np.array([1, 0]))),
        (
            Dataset("a", ["x", "y"], ["p", "q"], kind="text"),
            Dataset("a", ["xy", ""], ["p", "q"], kind="text"),
        ),
        (
            Dataset("a", [graph((0, 1))], [1], kind="graphs"),
            Dataset("a", [graph((0, 2))], [1], kind="graphs"),
        ),
        (
            Dataset("a", [graph((0, 1))], [1], kind="graphs"),
            Dataset("a", [graph((0, 1), labels=(1, 1, 1))], [1], kind="graphs"),
        ),
        (
            Dataset("a", np.eye(2), np.array([0, 1])),
            Dataset("a", np.eye(2), np.array([0, 1]), np.eye(2), np.array([0, 1])),
        ),
    ],
)
def test_data_that_differs_has_another_hash(one, other):
    assert hash_of(one) == hash_of(one)
    assert hash_of(one) != hash_of(other)
