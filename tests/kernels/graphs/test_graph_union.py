from itertools import pairwise

import numpy as np
import pytest

from separatrix.data.graph import Graph
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.kernels import EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman
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


@pytest.mark.parametrize("degree", [1, 2, 31, 32, 33, 40])
def test_neighbours_are_sorted_within_their_node(degree):
    rng = np.random.default_rng(degree)
    values = rng.integers(0, 50, degree + 5)
    starts = np.array([0, 2, 2, degree + 2, degree + 5])
    expected = [sorted(values[a:b].tolist()) for a, b in pairwise(starts)]
    graph_union.sort_neighborhoods(starts, values)
    assert values.tolist() == [value for part in expected for value in part]


def test_a_union_numbers_the_nodes_of_all_graphs():
    X = as_objects("a test", [*paths(3, 1), *paths(2)], "graphs")
    union = graph_union.build_union(X, Vocabulary())
    assert union.starts.tolist() == [0, 3, 4, 6]
    assert union.owners.tolist() == [0, 0, 0, 1, 2, 2]
    assert union.positions.tolist() == [0, 1, 2, 0, 0, 1]
    assert union.edge_starts.tolist() == [0, 1, 3, 4, 4, 5, 6]
    assert union.neighbors.tolist() == [1, 2, 0, 1, 5, 4]
    first, second, once = graph_union.list_edges(union)
    assert (first.tolist(), second.tolist()) == ([0, 1, 4], [1, 2, 5])
    assert union.neighbors[once].tolist() == second.tolist()
    first, second, hops = graph_union.find_paths(union, both_ways=False, nodes=True)
    found = sorted(zip(first.tolist(), second.tolist(), hops.tolist(), strict=True))
    alone = [(node, node, 0) for node in range(6)]
    assert found == sorted([*alone, (0, 1, 1), (0, 2, 2), (1, 2, 1), (4, 5, 1)])


@pytest.mark.parametrize("nodes", [2**24, 2**24 + 1])
def test_memory_is_asked_for_from_many_nodes_on(nodes, monkeypatch):
    asked = []
    monkeypatch.setattr(graph_union, "memory_of_this_machine", lambda: asked.append(1) or 1)
    large = Graph(nodes, np.array([[0, 1]]))
    monkeypatch.setattr(graph_union, "_number_labels", lambda *_: 1 / 0)  # what comes after it
    with pytest.raises(MemoryBudgetError if nodes > 2**24 else ZeroDivisionError):
        graph_union.build_union(as_objects("a test", [large], "graphs"), Vocabulary())
    assert len(asked) == (nodes > 2**24)


def labelled(*labels):
    return Graph(len(labels), np.empty((0, 2), int), node_labels=np.array(labels))


@pytest.mark.parametrize(
    ("known", "got", "said"),
    [
        (labelled("a"), labelled(1), "graphs with strings as node labels; got numbers"),
        (labelled(1), labelled("a"), "graphs with numbers as node labels; got strings"),
        (labelled(-1), labelled("a"), "graphs with numbers as node labels; got strings"),
        (
            Graph(1, np.empty((0, 2), int)),
            labelled(1),
            "with no labels as node labels; got numbers",
        ),
        (
            labelled(1),
            Graph(1, np.empty((0, 2), int)),
            "with numbers as node labels; got no labels",
        ),
    ],
)
def test_labels_of_another_type_than_in_training_are_refused(known, got, said):
    kernel, vocabulary = VertexHistogram(), Vocabulary()
    kernel.counts(as_objects("a test", [known], "graphs"), vocabulary)
    vocabulary.closed = True
    with pytest.raises(DataError, match=said):
        kernel.counts(as_objects("a test", [got], "graphs"), vocabulary)
    kernel.counts(
        as_objects("a test", [known, Graph(0, np.empty((0, 2), int))], "graphs"), vocabulary
    )
    both = as_objects("a test", [known, got], "graphs")
    with pytest.raises(DataError, match="takes graphs whose nodes have labels of one type; got"):
        kernel.block(both, both)


def test_graphs_are_told_from_other_things():
    assert graph_union.is_graph(labelled(1))
    assert not graph_union.is_graph("graph")
    with pytest.raises(DataError, match=r"a test takes .*; item 1 is int 5"):
        graph_union.check_graphs("a test", [labelled(1), 5])


def test_levels_are_rounds_of_refinement():
    for kernel in (VertexHistogram(), EdgeHistogram(), ShortestPath(), WeisfeilerLehman(0)):
        assert kernel.levels == ((0, 1.0),)
    assert WeisfeilerLehman(2).levels == ((0, 1.0), (1, 1.0), (2, 1.0))
