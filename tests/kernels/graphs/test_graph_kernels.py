import re
import warnings

import numpy as np
import pytest
from tests.conftest import _real
from tests.kernels import definitions

from separatrix import kernels
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    EdgeHistogram,
    Gaussian,
    Kernel,
    Normalized,
    Product,
    Scaled,
    ShortestPath,
    Sum,
    VertexHistogram,
    WeisfeilerLehman,
)
from separatrix.kernels.graphs import graph_union as module

LABELS = {
    "none": {},
    "nodes": {"nodes": [1, 2, 3]},
    "strings": {"nodes": ["C", "N", "Cl"], "edges": ["-", "="]},
    "both": {"nodes": [4, -4], "edges": [7, -7, 10**15]},
    "edges": {"edges": [0, 1, 2]},
}
DEFINED = [
    (VertexHistogram(), definitions.vertex_histogram),
    (EdgeHistogram(), definitions.edge_histogram),
    (WeisfeilerLehman(0), lambda G, H: definitions.weisfeiler_lehman(G, H, 0)),
    (WeisfeilerLehman(1), lambda G, H: definitions.weisfeiler_lehman(G, H, 1)),
    (WeisfeilerLehman(5), lambda G, H: definitions.weisfeiler_lehman(G, H, 5)),
    (
        WeisfeilerLehman(3, edge_labels=True),
        lambda G, H: definitions.weisfeiler_lehman(G, H, 3, edge_labels=True),
    ),
    (ShortestPath(), definitions.shortest_path),
    (ShortestPath(both_ways=False, nodes=True), definitions.published_path),
]
KERNELS = [kernel for kernel, _ in DEFINED]


def named(part):
    return repr(part) if isinstance(part, Kernel) else None


def some(labels, count, seed, **sizes):
    rng = np.random.default_rng(seed)
    return definitions.random_graphs(rng, count, **LABELS[labels], **sizes)


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
@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=named)
def test_values_match_the_definition(kernel, definition, labels):
    X, Z = some(labels, 50, 1), some(labels, 40, 2)

    values = kernel.block(X, Z)

    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, definitions.block(definition, X, Z))


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_matrix_is_symmetric_and_semidefinite_and_has_the_diagonal(kernel, labels):
    X = some(labels, 40, 3)

    K = kernel.block(X, X)

    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K, kernel.block(X, list(X)))  # another list: no half of it
    np.testing.assert_array_equal(kernel.diagonal(X), np.diagonal(K))
    spread = np.linalg.eigvalsh(K)
    assert spread[0] >= -1e-9 * spread[-1]
    assert spread[-1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["none", "strings"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_block_in_parts_is_the_block(kernel, labels):
    X, Z = some(labels, 13, 4), some(labels, 11, 5)

    parts = [
        [kernel.block(X[i : i + 1], Z[:7]), kernel.block(X[i : i + 1], Z[7:])] for i in range(13)
    ]

    np.testing.assert_array_equal(np.block(parts), kernel.block(X, Z))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_labels_that_others_have_change_nothing(kernel):
    X, Z = some("both", 12, 6), some("both", 9, 7)
    strange = definitions.random_graphs(
        np.random.default_rng(8), 5, nodes=[50, -4, -60], edges=[7, 70]
    )

    wide = kernel.block([*X, *strange], [*Z[:4], *strange, *Z[4:]])

    np.testing.assert_array_equal(np.delete(wide[:12], slice(4, 9), axis=1), kernel.block(X, Z))


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_renumbered_nodes_change_nothing(kernel, labels):
    rng = np.random.default_rng(9)
    X = some(labels, 30, 10, most=9)
    other = [renumbered(rng, graph) for graph in X]

    np.testing.assert_array_equal(kernel.block(other, X), kernel.block(X, X))
    np.testing.assert_array_equal(kernel.diagonal(other), kernel.diagonal(X))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_graph_and_its_renumbered_self_have_cosine_one(kernel):
    rng = np.random.default_rng(11)
    X = [graph for graph in some("both", 30, 12, fewest=2) if len(graph.edges)]

    for graph in X:
        cosine = Normalized(kernel).block([graph], [renumbered(rng, graph)])
        assert cosine[0, 0] == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("edge_labels", [False, True])
def test_no_refinement_is_the_histogram_of_nodes(labels, edge_labels):
    X, Z = some(labels, 30, 13), some(labels, 20, 14)
    np.testing.assert_array_equal(
        WeisfeilerLehman(0, edge_labels=edge_labels).block(X, Z), VertexHistogram().block(X, Z)
    )


def test_refinements_add_up():
    X, Z = some("both", 30, 15), some("both", 20, 16)
    levels = [WeisfeilerLehman(h).block(X, Z) for h in range(5)]
    steps = np.diff(levels, axis=0)
    assert (steps >= 0).all()
    assert (steps[1:] <= steps[:-1]).all()  # what a later refinement joins, an earlier one did


@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=named)
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


def test_paths_do_not_depend_on_the_number_of_graphs(monkeypatch):
    X = some("both", 30, 26)
    full = ShortestPath().block(X, X)
    for pairs in (1, 100):
        monkeypatch.setattr(module, "PAIRS_AT_ONCE", pairs)
        np.testing.assert_array_equal(ShortestPath().block(X, X), full)


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


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_arrays_and_lists_of_graphs_are_the_same_samples(kernel):
    X = some("both", 8, 18)
    held = np.empty(8, dtype=object)
    held[:] = X
    np.testing.assert_array_equal(kernel.block(held, tuple(X)), kernel.block(X, X))
    np.testing.assert_array_equal(kernel.diagonal(held), kernel.diagonal(X))


COMPOSED = [
    (WeisfeilerLehman(2) + ShortestPath(), Sum, lambda a, b: a + b),
    (WeisfeilerLehman(2) * ShortestPath(), Product, lambda a, b: a * b),
    (2.5 * (WeisfeilerLehman(2) + ShortestPath()), Scaled, lambda a, b: 2.5 * (a + b)),
]


@pytest.mark.parametrize(
    ("kernel", "kind", "combined"), COMPOSED, ids=["sum", "product", "multiple"]
)
def test_composed_graph_kernels_match_the_definitions(kernel, kind, combined):
    X, Z = some("both", 30, 19), some("both", 20, 20)

    def definition(G, H):
        return combined(definitions.weisfeiler_lehman(G, H, 2), definitions.shortest_path(G, H))

    assert isinstance(kernel, kind)
    np.testing.assert_allclose(kernel.block(X, Z), definitions.block(definition, X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), [definition(x, x) for x in X], rtol=1e-12)


@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=named)
def test_the_normalised_kernel_matches_the_definition(kernel, definition):
    X, Z = some("both", 30, 21), some("both", 20, 22)

    def cosine(G, H):
        length = np.sqrt(definition(G, G) * definition(H, H))
        return definition(G, H) / length if length else 0.0

    np.testing.assert_allclose(
        Normalized(kernel).block(X, Z), definitions.block(cosine, X, Z), rtol=1e-12
    )
    np.testing.assert_array_equal(
        Normalized(kernel).diagonal(X), [float(definition(x, x) > 0) for x in X]
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("labels", [None, np.empty(0, dtype=int)], ids=["bare", "labelled"])
def test_an_empty_graph_has_value_zero_with_every_sample(kernel, labels):
    empty = Graph(0, np.empty((0, 2), dtype=int), labels, labels)
    full = path(1, 2, 1) if labels is not None else Graph(3, np.array([[0, 1], [1, 2]]))
    if labels is not None:
        full = Graph(3, full.edges, full.node_labels, np.array([1, 1]))

    for wrapped in (kernel, Normalized(kernel)):
        values = wrapped.block([empty, full], [empty, full])
        assert values[0].tolist() == [0.0, 0.0]
        assert values[1, 0] == 0.0
        assert values[1, 1] > 0
        assert wrapped.diagonal([empty]).tolist() == [0.0]
        assert wrapped.block([empty], [empty]).tolist() == [[0.0]]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_no_samples_give_an_empty_block(kernel):
    assert kernel.block([], [path(1, 2)]).shape == (0, 1)
    assert kernel.block([path(1, 2)], []).shape == (1, 0)
    assert kernel.diagonal([]).shape == (0,)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_prints_as_its_constructor_call_and_is_hashable(kernel):
    again = eval(repr(kernel), vars(kernels))
    assert again == kernel
    assert hash(again) == hash(kernel)


# grakel


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


# Bad input


BARE, EDGES_ONLY = Graph(2, [[0, 1]]), Graph(2, [[0, 1]], None, [3])
ALONE, NUMBERED, LETTERED = Graph(2, []), Graph(2, [[0, 1]], [1, 2]), Graph(2, [[0, 1]], ["a", "b"])
MEANT = "takes a list of Graph objects or of networkx graphs; "


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (NUMBERED, MEANT + "got a single Graph: put it into a list"),
        ("CN", MEANT + "got a single str: put it into a list"),
        (np.eye(2), MEANT + r"got ndarray of shape \(2, 2\)"),
        (None, MEANT + "got NoneType"),
        ([1, 2], MEANT + "item 0 is int 1"),
        (["CN"], MEANT + "item 0 is str 'CN'"),
        ([NUMBERED, "CN"], MEANT + "item 1 is str 'CN'"),
        ([NUMBERED, np.eye(2)], MEANT + "item 1 is ndarray"),
        (
            [NUMBERED, BARE],
            "takes graphs whose nodes have labels of one type; got no labels and numbers in one list",
        ),
        (
            [NUMBERED, LETTERED],
            "takes graphs whose nodes have labels of one type; got numbers and strings in one list",
        ),
        (
            [EDGES_ONLY, BARE],
            "takes graphs whose edges have labels of one type; got no labels and numbers in one list",
        ),
    ],
    ids=lambda part: "" if isinstance(part, str) else type(part).__name__,
)
def test_input_other_than_a_list_of_graphs_is_refused(kernel, X, sentence):
    for wrapped in (kernel, Normalized(kernel)):
        for call in (lambda k: k.diagonal(X), lambda k: k.block(X, X), lambda k: k.block([], X)):
            with pytest.raises(DataError, match=f"^{type(kernel).__name__} {sentence}"):
                call(wrapped)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("first", "second"), [(NUMBERED, BARE), (LETTERED, NUMBERED)])
def test_graphs_with_and_without_labels_have_no_value_with_each_other(kernel, first, second):
    for X, Z in (([first], [second]), ([second], [first])):
        with pytest.raises(DataError, match="takes graphs whose nodes have labels of one type"):
            kernel.block(X, Z)


def test_a_graph_without_edges_is_compatible_with_labelled_edges():
    assert EdgeHistogram().block([EDGES_ONLY, ALONE], [EDGES_ONLY]).tolist() == [[1.0], [0.0]]
    assert ShortestPath().block([EDGES_ONLY, ALONE], [EDGES_ONLY]).tolist() == [[4.0], [0.0]]


@pytest.mark.parametrize("label", [-(2**63), 2**63 - 1, -1, 0])
def test_every_int64_is_a_label(label):
    ends = [Graph(1, [], [label]), Graph(1, [], [label // 2 + 17])]
    np.testing.assert_array_equal(VertexHistogram().block(ends, ends), np.eye(2))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: WeisfeilerLehman(-1),
            "`iterations` of WeisfeilerLehman must be an integer of at least 0; got -1",
        ),
        (
            lambda: WeisfeilerLehman(1.5),
            "`iterations` of WeisfeilerLehman must be an integer of at least 0; got 1.5",
        ),
        (
            lambda: WeisfeilerLehman(1, edge_labels=1),
            "`edge_labels` of WeisfeilerLehman must be True or False; got 1",
        ),
        (
            lambda: ShortestPath() + Gaussian(1.0),
            "`right` of Sum must be a kernel on graphs, as the left one is; got Gaussian(gamma=1.0)",
        ),
    ],
)
def test_bad_parameters_are_refused_at_construction(make, sentence):
    with pytest.raises(ParameterError, match="^" + re.escape(sentence) + "$"):
        make()
