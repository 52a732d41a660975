import warnings

import numpy as np
import pytest
from tests.conftest import _real
from tests.kernels import definitions
from tests.kernels.definitions import LABELS, ON_GRAPHS, named, some

from separatrix.data.graph import Graph
from separatrix.kernels import EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman

KERNELS = [kernel for kernel, _ in ON_GRAPHS]


def renumbered(rng, graph):
    """The same graph with its nodes and edges in another order, and edges turned around."""
    position = rng.permutation(graph.n_nodes)  # where each node goes
    order = rng.permutation(len(graph.edges))
    ends = position[graph.edges[order]]
    back = np.argsort(position)
    return Graph(
        graph.n_nodes,
        np.where(rng.random(len(ends))[:, None] < 0.5, ends, ends[:, ::-1]),
        None if graph.node_labels is None else graph.node_labels[back],
        None if graph.edge_labels is None else graph.edge_labels[order],
    )


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_renumbered_nodes_change_nothing(kernel, labels):
    rng = np.random.default_rng(9)
    X = some(labels, 30, 10, most=9)
    other = [renumbered(rng, graph) for graph in X]

    np.testing.assert_array_equal(kernel.block(other, X), kernel.block(X, X))
    np.testing.assert_array_equal(kernel.diagonal(other), kernel.diagonal(X))


def test_refinements_add_up():
    X, Z = some("both", 30, 15), some("both", 20, 16)
    levels = [WeisfeilerLehman(h).block(X, Z) for h in range(5)]
    steps = np.diff(levels, axis=0)
    assert (steps >= 0).all()
    assert (steps[1:] <= steps[:-1]).all()  # what a later refinement joins, an earlier one did


@pytest.mark.parametrize(("kernel", "definition"), ON_GRAPHS, ids=named)
def test_nodes_may_have_many_neighbours(kernel, definition):
    rng = np.random.default_rng(25)
    leaves = np.arange(1, 61)
    stars = [
        Graph(
            61,
            np.c_[np.zeros(60, dtype=int), leaves],
            np.append(0, rng.integers(3, size=60)),
            rng.integers(2, size=60),
        )
        for _ in range(4)
    ]
    stars.append(renumbered(rng, stars[0]))

    values = kernel.block(stars, stars)

    np.testing.assert_array_equal(values, definitions.block(definition, stars, stars))


def test_edges_of_one_label_are_edges_without_labels():
    X = some("nodes", 30, 17)
    same = [Graph(g.n_nodes, g.edges, g.node_labels, np.full(len(g.edges), 3)) for g in X]
    for kernel in (WeisfeilerLehman(3, edge_labels=True), EdgeHistogram()):
        np.testing.assert_array_equal(kernel.block(same, same), kernel.block(X, X))
    np.testing.assert_array_equal(
        WeisfeilerLehman(3, edge_labels=True).block(X, X), WeisfeilerLehman(3).block(X, X)
    )


def path(*labels):
    n = len(labels)
    return Graph(n, np.c_[np.arange(n - 1), np.arange(1, n)], np.array(labels))


def test_small_values_can_be_counted_by_hand():
    first, second = path(1, 2, 1), path(1, 2)
    assert VertexHistogram().block([first], [first, second]).tolist() == [[5.0, 3.0]]
    assert EdgeHistogram().block([first], [first, second]).tolist() == [[4.0, 2.0]]
    # ends: (1, {2}) twice and once; the middle: (2, {1, 1}) and (2, {1}), not the same
    assert WeisfeilerLehman(1).block([first], [first, second]).tolist() == [[10.0, 5.0]]
    # (1, 2, 1 hop) and (2, 1, 1 hop) twice and once, (1, 1, 2 hops) twice and never
    assert ShortestPath().block([first], [first, second]).tolist() == [[12.0, 4.0]]


def test_paths_but_not_refinement_separate_a_hexagon_from_two_triangles():
    turn = np.arange(6)
    hexagon = Graph(6, np.c_[turn, (turn + 1) % 6])
    triangles = Graph(6, np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]))
    pair = [hexagon, triangles]

    assert len(np.unique(WeisfeilerLehman(5).block(pair, pair))) == 1
    # ordered pairs at 1, 2 and 3 hops: 12, 12, 6 of the hexagon, 12, 0, 0 of the triangles
    assert ShortestPath().block(pair, pair).tolist() == [[324.0, 144.0], [144.0, 144.0]]


def test_nodes_of_different_components_are_joined_by_no_path():
    apart = Graph(4, np.array([[0, 1], [2, 3]]), np.array([5, 6, 5, 6]))
    assert ShortestPath().block([apart], [path(5, 6), path(5, 9, 5)]).tolist() == [[4.0, 0.0]]


def as_grakel(graph, *, edges_once=False):
    """Adjacency matrix, labels of nodes, labels of edges in both directions or in one."""
    A = np.zeros((graph.n_nodes, graph.n_nodes), dtype=int)
    edge_labels = {}
    for (a, b), label in zip(graph.edges.tolist(), definitions.edge_labels(graph), strict=True):
        A[a, b] = A[b, a] = 1
        edge_labels[a, b] = label
        if not edges_once:
            edge_labels[b, a] = label
    return [A, dict(enumerate(definitions.node_labels(graph))), edge_labels]


PEERS = [
    (VertexHistogram(), "VertexHistogram", {}),
    (EdgeHistogram(), "EdgeHistogram", {}),
    (WeisfeilerLehman(5), "WeisfeilerLehman", {"n_iter": 5}),
    (ShortestPath(), "ShortestPath", {"with_labels": True}),
]


def grakel_values(name, parameters, X, Z):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = getattr(pytest.importorskip("grakel.kernels"), name)(**parameters)
        # grakel counts an edge once for each direction it is told of, we count it once
        once = name == "EdgeHistogram"
        peer.fit([as_grakel(graph, edges_once=once) for graph in Z])
        return peer.transform([as_grakel(graph, edges_once=once) for graph in X])


@pytest.fixture(scope="module")
def mutag():
    return _real("mutag").X


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "name", "parameters"), PEERS, ids=named)
def test_values_on_molecules_are_those_of_grakel(kernel, name, parameters, mutag):
    expected = grakel_values(name, parameters, mutag, mutag)
    np.testing.assert_array_equal(kernel.block(mutag, mutag), expected)


@pytest.mark.parametrize("labels", ["none", "both"])
@pytest.mark.parametrize(("kernel", "name", "parameters"), PEERS, ids=named)
def test_values_on_random_graphs_are_those_of_grakel(kernel, name, parameters, labels):
    X, Z = some(labels, 40, 23, fewest=1, most=12), some(labels, 30, 24, fewest=1, most=12)
    np.testing.assert_array_equal(kernel.block(X, Z), grakel_values(name, parameters, X, Z))


EDGES_ONLY, ALONE = Graph(2, [[0, 1]], None, [3]), Graph(2, [])


def test_a_graph_without_edges_is_compatible_with_labelled_edges():
    assert EdgeHistogram().block([EDGES_ONLY, ALONE], [EDGES_ONLY]).tolist() == [[1.0], [0.0]]
    assert ShortestPath().block([EDGES_ONLY, ALONE], [EDGES_ONLY]).tolist() == [[4.0], [0.0]]


@pytest.mark.parametrize("label", [-(2**63), 2**63 - 1, -1, 0])
def test_every_int64_is_a_label(label):
    ends = [Graph(1, [], [label]), Graph(1, [], [label // 2 + 17])]
    np.testing.assert_array_equal(VertexHistogram().block(ends, ends), np.eye(2))
