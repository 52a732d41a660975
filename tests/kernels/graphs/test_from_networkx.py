import numpy as np
import pytest
from tests.kernels.definitions import LABELS, ON_GRAPHS, some

from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.kernels import (
    EdgeHistogram,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
    graphs_from_networkx,
)


@pytest.fixture
def nx():
    return pytest.importorskip("networkx")


def as_networkx(nx, graph, *, names=None, node="label", edge="label"):
    """The same graph with nodes of these names and labels as attributes."""
    names = names or list(range(graph.n_nodes))
    found = nx.Graph()
    for position, name in enumerate(names):
        labelled = graph.node_labels is not None
        found.add_node(name, **({node: graph.node_labels[position]} if labelled else {}))
    for position, (a, b) in enumerate(graph.edges.tolist()):
        labelled = graph.edge_labels is not None
        label = {edge: graph.edge_labels[position]} if labelled else {}
        found.add_edge(names[a], names[b], **label)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kernel", [kernel for kernel, _ in ON_GRAPHS], ids=repr)
def test_graphs_of_networkx_have_the_same_values(kernel, labels, nx):
    X, Z = some(labels, 12, 27), some(labels, 9, 28)
    foreign = [as_networkx(nx, graph, names=[*"gfedcba"][: graph.n_nodes]) for graph in X]
    expected = kernel.block(X, Z)

    np.testing.assert_array_equal(kernel.block(foreign, Z), expected)
    np.testing.assert_array_equal(kernel.block(Z, foreign), expected.T)
    np.testing.assert_array_equal(kernel.diagonal(foreign), kernel.diagonal(X))
    np.testing.assert_array_equal(
        kernel.block([nx.MultiGraph(graph) for graph in foreign], Z), expected
    )


def test_labels_of_networkx_may_have_other_names(nx):
    X = some("strings", 12, 29)
    foreign = [as_networkx(nx, graph, node="atom", edge="bond") for graph in X]
    kernel = WeisfeilerLehman(2, edge_labels=True)

    found = graphs_from_networkx(foreign, node_label="atom", edge_label="bond")

    np.testing.assert_array_equal(kernel.block(found, found), kernel.block(X, X))
    bare = [Graph(graph.n_nodes, graph.edges) for graph in X]
    np.testing.assert_array_equal(kernel.block(foreign, foreign), kernel.block(bare, bare))


def labelled_path(nx, *labels, kind="Graph"):
    found = getattr(nx, kind)()
    for node, label in enumerate(labels):
        found.add_node(node, **({} if label is None else {"label": label}))
    nx.add_path(found, range(len(labels)))
    return found


@pytest.mark.parametrize(
    ("labels", "kind", "more", "sentence"),
    [
        ("CN", "DiGraph", [], r"item 1 is directed; pass graph.to_undirected\(\)"),
        ("CN", "MultiDiGraph", [], r"item 1 is directed; pass graph.to_undirected\(\)"),
        ("CN", "MultiGraph", [(1, 0)], "item 1 has several edges between two nodes; pass nx.Graph"),
        ("CN", "Graph", [(1, 1)], "item 1 has a self-loop at node 1; remove it with"),
        ("CN", "MultiGraph", [(1, 1)], "item 1 has a self-loop at node 1; remove it with"),
        (["C", None, None], "Graph", [], "item 1: 2 of 3 nodes have no attribute 'label'; set"),
        (["C", 1], "Graph", [], "item 1: labels of nodes must be all integers or all strings"),
        ([1, 1.5], "Graph", [], "labels of nodes must be all integers .*; got 1.5"),
        ([(1, 2), (3, 4)], "Graph", [], r"labels of nodes must be all integers .*; got \(1, 2\)"),
        ([True, False], "Graph", [], "labels of nodes must be all integers .*; got True"),
        ([True, 1], "Graph", [], "labels of nodes must be all integers .*; got True"),
        ([2**63, 1], "Graph", [], "labels of nodes must be .* integers"),
    ],
)
def test_graphs_of_networkx_without_an_equivalent_are_refused(labels, kind, more, sentence, nx):
    graph = labelled_path(nx, *labels, kind=kind)
    graph.add_edges_from(more)
    for kernel in (VertexHistogram(), WeisfeilerLehman(1), ShortestPath()):
        with pytest.raises(DataError, match=sentence):
            kernel.block([labelled_path(nx, "C", "N"), graph], [Graph(2, [[0, 1]], ["a", "b"])])


def test_edges_of_networkx_that_are_labelled_in_part_are_refused(nx):
    graph = labelled_path(nx, "C", "N", "C")
    graph.edges[1, 2]["label"] = "="
    with pytest.raises(DataError, match="item 0: 1 of 2 edges have no attribute 'label'; set it"):
        EdgeHistogram().block([graph], [graph])


def test_networkx_labels_with_a_trailing_nul_are_refused(nx):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "C\0", 1: "C"}, "label")

    with pytest.raises(DataError, match="must not end with the letter NUL"):
        WeisfeilerLehman(1).diagonal([graph])


def test_the_networkx_class_itself_is_refused(nx):
    with pytest.raises(DataError, match="item 0 is type"):
        WeisfeilerLehman(1).diagonal([nx.Graph])
