import numpy as np
import pytest

from separatrix.data.graph import Graph
from separatrix.errors import MemoryBudgetError
from separatrix.kernels import ShortestPath, WeisfeilerLehman
from separatrix.kernels.graphs import graph_union
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.vocabulary import Vocabulary


def paths(*sizes):
    steps = [np.arange(n) for n in sizes]
    return [Graph(len(s), np.column_stack([s[:-1], s[1:]])) for s in steps]


@pytest.mark.parametrize("at_once", [1, 3, 7, 2**22])
@pytest.mark.parametrize(
    "kernel", [ShortestPath(), ShortestPath(both_ways=False, nodes=True)], ids=repr
)
def test_paths_counted_in_blocks_are_the_same(kernel, at_once, monkeypatch):
    two_parts = Graph(5, np.array([[0, 1], [1, 2], [3, 4]]), node_labels=np.array([1, 1, 2, 1, 3]))
    X = as_objects(
        "a test", [two_parts, Graph(0, np.zeros((0, 2), dtype=int)), two_parts], "graphs"
    )
    wanted = kernel.counts(X, Vocabulary())[0].toarray()

    monkeypatch.setattr(graph_union, "PAIRS_AT_ONCE", at_once)

    np.testing.assert_array_equal(kernel.counts(X, Vocabulary())[0].toarray(), wanted)


def test_paths_take_the_memory_of_one_block(monkeypatch):
    sizes = []
    counted = graph_union._search_paths

    def counting(*args):
        sizes.append(len(args[-1]))
        return counted(*args)

    monkeypatch.setattr(graph_union, "_search_paths", counting)
    monkeypatch.setattr(graph_union, "PAIRS_AT_ONCE", 1000)

    value = ShortestPath().diagonal(paths(200))

    assert max(sizes) <= 1000
    assert sum(sizes) == 200 * 199
    assert value[0] == sum((2 * (200 - d)) ** 2 for d in range(1, 200))


def test_graphs_that_do_not_fit_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(graph_union, "memory_of_this_machine", lambda: 2**30)

    with pytest.raises(MemoryBudgetError, match="2,147,483,648 nodes together do not fit"):
        WeisfeilerLehman(1).diagonal([Graph(2**31, np.array([[0, 1]]))])
