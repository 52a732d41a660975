"""What a reader with fresh eyes broke in kernels on sequences and graphs: each of these failed once."""

import numpy as np
import pytest

from separatrix.data.graph import Graph
from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.kernels import (
    Normalized,
    ShortestPath,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
)
from separatrix.kernels.gram import SharedProducts
from separatrix.kernels.graphs import graph_union
from separatrix.kernels.names import parse_kernel
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.strings import subsequence_kernel as gaps
from separatrix.kernels.vocabulary import Vocabulary

LARGE = 2100  # samples from which on float32 is tried


def words(n, seed=0):
    letters = np.random.default_rng(seed).choice(list("ACGT"), size=(n, 6))
    return as_objects("a test", ["".join(row) for row in letters.tolist()], "strings")


def paths(*sizes):
    steps = [np.arange(n) for n in sizes]
    return [Graph(len(s), np.column_stack([s[:-1], s[1:]])) for s in steps]


def test_deeper_levels_of_a_family_may_be_asked_for_later():
    X = as_objects("a test", paths(2, 3, 5), "graphs")
    shared = SharedProducts(X)
    list(shared.grams([WeisfeilerLehman(1)]))

    (gram,) = shared.grams([WeisfeilerLehman(3)])

    np.testing.assert_array_equal(gram.matrix, WeisfeilerLehman(3).block(X, X))


@pytest.mark.parametrize("weight", [1e-46, 1e-300, 1e39])
@pytest.mark.parametrize("make", [lambda w: Spectrum(2, weights=(w,)), lambda w: w * Spectrum(2)])
def test_shared_levels_of_any_weight_keep_their_values(weight, make):
    X = words(LARGE)

    (gram,) = SharedProducts(X).grams([Normalized(make(weight))])

    np.testing.assert_allclose(
        gram.matrix[:30, :30], Normalized(Spectrum(2)).block(X[:30], X[:30]), rtol=1e-6
    )


def test_shared_levels_are_as_exact_as_asked_for():
    X = words(LARGE)

    (gram,) = SharedProducts(X, tolerance=1e-9).grams([Normalized(Spectrum(2))])

    assert gram.dtype == np.float64


def test_shared_levels_that_overflow_are_refused():
    shared = SharedProducts(words(3))

    with pytest.raises(DataError, match="overflows"):
        list(shared.grams([Spectrum(1, weights=(1e308,))]))


def test_only_levels_of_subsequences_that_are_wanted_are_computed(monkeypatch):
    asked = []
    products = gaps._products

    def watched(*args, **how):
        asked.append(how.get("all_levels", False))
        return products(*args, **how)

    monkeypatch.setattr(gaps, "_products", watched)
    X = words(5)

    (gram,) = SharedProducts(X).grams([Subsequence(4)])

    assert asked == [False]
    np.testing.assert_allclose(gram.matrix, Subsequence(4).block(X, X))


def test_all_levels_of_subsequences_count_in_the_memory():
    X = words(64)
    one = 8 * len(X) ** 2

    (gram, _) = SharedProducts(X, memory=5 * one).grams([Subsequence(2), Subsequence(9)])

    assert gram.matrix is not None  # but of its own, not cut from nine levels
    assert Subsequence(2).matrices_of({2, 9}) == 9


@pytest.mark.parametrize("around", [lambda k: k, Normalized])
def test_subsequences_beyond_float64_are_refused(around):
    X = ["a" * 1000, "a" * 999]

    with pytest.raises(DataError, match="beyond float64; lower k or decay"):
        around(Subsequence(400, decay=1.0)).block(X, X)


def test_a_decay_that_leaves_nothing_is_refused():
    with pytest.raises(ParameterError, match="larger with k=100"):
        Subsequence(100, decay=0.01)


@pytest.mark.parametrize("at_once", [1, 3, 7, 2**22])
@pytest.mark.parametrize(
    "kernel", [ShortestPath(), ShortestPath(both_ways=False, nodes=True)], ids=repr
)
def test_paths_of_one_graph_may_be_counted_some_at_a_time(kernel, at_once, monkeypatch):
    two_parts = Graph(5, np.array([[0, 1], [1, 2], [3, 4]]), node_labels=np.array([1, 1, 2, 1, 3]))
    X = as_objects(
        "a test", [two_parts, Graph(0, np.zeros((0, 2), dtype=int)), two_parts], "graphs"
    )
    wanted = kernel.counts(X, Vocabulary())[0].toarray()

    monkeypatch.setattr(graph_union, "PAIRS_AT_ONCE", at_once)

    np.testing.assert_array_equal(kernel.counts(X, Vocabulary())[0].toarray(), wanted)


def test_memory_of_paths_is_that_of_some_of_their_pairs(monkeypatch):
    sizes = []
    counted = graph_union._paths

    def watched(*args):
        sizes.append(len(args[-1]))
        return counted(*args)

    monkeypatch.setattr(graph_union, "_paths", watched)
    monkeypatch.setattr(graph_union, "PAIRS_AT_ONCE", 1000)

    value = ShortestPath().diagonal(paths(200))

    assert max(sizes) <= 1000
    assert sum(sizes) == 200 * 199
    assert value[0] == sum((2 * (200 - d)) ** 2 for d in range(1, 200))


def test_a_text_of_a_kernel_makes_no_long_text():
    with pytest.raises(ParameterError, match=r"such as Spectrum\(4\)"):
        parse_kernel("Spectrum(2, alphabet='A' * 3)")


def test_labels_that_numpy_would_cut_short_are_refused():
    edges = np.array([[0, 1]])

    with pytest.raises(DataError, match="must not end with the letter NUL"):
        Graph(2, edges, node_labels=["C\0", "C"])
    with pytest.raises(DataError, match="must not end with the letter NUL"):
        Graph(2, edges, edge_labels=np.array(["=\0"], dtype=object))


def test_networkx_labels_that_numpy_would_cut_short_are_refused():
    nx = pytest.importorskip("networkx")
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C\0", 1: "C"}, "label")

    with pytest.raises(DataError, match="must not end with the letter NUL"):
        WeisfeilerLehman(1).diagonal([graph])


def test_a_class_of_graphs_is_no_graph():
    nx = pytest.importorskip("networkx")

    with pytest.raises(DataError, match="item 0 is type"):
        WeisfeilerLehman(1).diagonal([nx.Graph])


@pytest.mark.parametrize("n", [2**31 + 1, 2**62, 2**70])
def test_a_graph_of_too_many_nodes_is_refused(n):
    with pytest.raises(DataError, match="at most 2,147,483,648 nodes"):
        Graph(n, np.array([[0, 1]]))


def test_graphs_that_do_not_fit_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(graph_union, "memory_of_this_machine", lambda: 2**30)

    with pytest.raises(MemoryBudgetError, match="2,147,483,648 nodes together do not fit"):
        WeisfeilerLehman(1).diagonal([Graph(2**31, np.array([[0, 1]]))])


def test_weights_are_no_mapping():
    with pytest.raises(ParameterError, match="2 numbers above 0"):
        Spectrum(3, shortest=2, weights={2: 0.5, 3: 1.0})


def test_one_column_of_strings_is_told_to_come_alone():
    with pytest.raises(DataError, match=r"of shape \(2, 1\): pass its one column alone"):
        Spectrum(1).diagonal(np.array([["a"], ["b"]]))
