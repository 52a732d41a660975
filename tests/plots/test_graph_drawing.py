import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection

from separatrix.data.catalogue import VARIABLE, load
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.plots.color_scale import shades
from separatrix.plots.graph_drawing import (
    MUTAG_ATOMS,
    MUTAG_BONDS,
    RADIUS,
    graph_layout,
    plot_graph,
    plot_graphs,
)
from separatrix.plots.svg import draw_svg

NONE = np.zeros((0, 2), dtype=int)


def ring(n):
    return Graph(n, np.array([(a, (a + 1) % n) for a in range(n)]))


def path(n):
    return Graph(n, np.array([(a, a + 1) for a in range(n - 1)]))


def lengths(graph, positions):
    return np.linalg.norm(positions[graph.edges[:, 0]] - positions[graph.edges[:, 1]], axis=1)


def distances(positions):
    return np.linalg.norm(positions[:, None] - positions, axis=2)


def atoms_of(figure, panel=0):
    """Centres, colours, rims of the circles."""
    (discs,) = (one for one in figure.axes[panel].collections if isinstance(one, PatchCollection))
    boxes = [found.get_extents() for found in discs.get_paths()]
    centres = np.array([[(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] for box in boxes])
    return centres, discs


def bonds_of(figure, panel=0):
    """Ends of whole and of dashed lines."""
    lines = [one for one in figure.axes[panel].collections if isinstance(one, LineCollection)]
    return [np.array(one.get_segments()).reshape(-1, 2, 2) for one in lines] + [NONE]


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8])
def test_a_ring_is_a_regular_polygon(n):
    positions = graph_layout(ring(n))
    np.testing.assert_allclose(lengths(ring(n), positions), 1.0, atol=1e-3)
    outwards = np.linalg.norm(positions - positions.mean(axis=0), axis=1)
    np.testing.assert_allclose(outwards, 0.5 / np.sin(np.pi / n), atol=1e-3)


def test_a_long_ring_has_bonds_of_one_length():
    found = lengths(ring(14), graph_layout(ring(14)))
    assert np.ptp(found) < 0.01 * found.mean()


def test_a_path_is_a_flat_zigzag_of_120_degrees_from_left_to_right():
    positions = graph_layout(path(9))
    np.testing.assert_allclose(lengths(path(9), positions), 1.0, atol=1e-3)
    np.testing.assert_allclose(np.diff(positions[:, 0]), np.sqrt(0.75), atol=1e-3)
    np.testing.assert_allclose(np.abs(np.diff(positions[:, 1])), 0.5, atol=1e-3)
    assert np.ptp(positions[:, 1]) == pytest.approx(0.5, abs=1e-3)


def test_a_graph_that_is_its_own_mirror_is_drawn_as_one():
    # two hexagons that share an edge; 0-9 with the mirror that exchanges the rings
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 6), (6, 7), (7, 8), (8, 9), (9, 5)]
    mirror = [9, 8, 7, 6, 4, 5, 3, 2, 1, 0]
    apart = distances(graph_layout(Graph(10, np.array(edges))))
    np.testing.assert_allclose(apart, apart[np.ix_(mirror, mirror)], atol=0.01)
    # para atoms of a hexagon are two bonds apart
    np.testing.assert_allclose([apart[0, 3], apart[1, 4], apart[2, 5]], 2.0, atol=0.1)


def test_more_hops_are_farther_apart_on_a_path_and_on_a_star():
    apart = distances(graph_layout(path(7)))
    assert (np.diff(apart[0]) > 0.4).all()
    star = distances(graph_layout(Graph(6, np.array([(0, leaf) for leaf in range(1, 6)]))))
    assert star[0, 1:].max() < star[1:, 1:][~np.eye(5, dtype=bool)].min()


def test_the_same_graph_has_the_same_places_and_another_order_of_edges_only_moves_it():
    rng = np.random.default_rng(0)
    edges = np.array([(node, rng.integers(node)) for node in range(1, 30)])
    tree = Graph(30, edges)
    np.testing.assert_array_equal(graph_layout(tree), graph_layout(tree))
    again = Graph(30, edges[rng.permutation(29)][:, ::-1])
    np.testing.assert_allclose(
        distances(graph_layout(again)), distances(graph_layout(tree)), atol=1e-6
    )


def test_components_lie_side_by_side_without_touching():
    triangle, chain = [(0, 4), (4, 6), (6, 0)], [(1, 3), (3, 5)]
    graph = Graph(9, np.array(triangle + chain))
    positions = graph_layout(graph)
    np.testing.assert_allclose(lengths(graph, positions), 1.0, atol=1e-3)
    parts = [[0, 4, 6], [1, 3, 5], [2], [7], [8]]
    boxes = [
        (positions[part].min(axis=0) - 0.49, positions[part].max(axis=0) + 0.49) for part in parts
    ]
    for a, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:a]:
            assert (low >= other_high).any() or (other_low >= high).any()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_nodes_without_edges_are_a_bond_apart(n):
    positions = graph_layout(Graph(n, NONE))
    assert distances(positions)[~np.eye(n, dtype=bool)].min(initial=9.0) >= 0.99
    assert len(atoms_of(plot_graph(Graph(n, NONE), np.ones(n)))[0]) == n


def test_a_graph_without_nodes_says_so():
    figure = plot_graph(Graph(0, NONE), [])
    assert [text.get_text() for text in figure.axes[0].texts] == ["no nodes"]
    figure.draw_without_rendering()


def test_a_hundred_nodes_keep_their_circles_apart():
    rng = np.random.default_rng(3)
    tree = Graph(
        100, np.array([(node, rng.integers(max(0, node - 9), node)) for node in range(1, 100)])
    )
    figure = plot_graph(tree, rng.normal(size=100), title="tree")
    centres, _ = atoms_of(figure)
    assert distances(centres)[~np.eye(100, dtype=bool)].min() > 2 * RADIUS
    assert (figure.get_size_inches() < 14).all()


def test_atoms_are_coloured_by_value_and_rims_say_the_sign():
    values = np.array([1.0, -0.5, 0.0])
    figure = plot_graph(path(3), values)
    centres, discs = atoms_of(figure)
    np.testing.assert_allclose(centres, graph_layout(path(3)), atol=1e-9)
    np.testing.assert_allclose(discs.get_facecolors(), shades(values, 1.0))
    solid, dashed, faint = discs.get_linestyles()
    assert (solid[1], faint[1]) == (None, None)
    assert dashed[1] is not None
    widths = discs.get_linewidths()
    assert widths[0] > widths[1] > widths[2]
    scale = figure.axes[1]
    assert scale.get_xlim() == (-1.0, 1.0)
    assert "(solid rim)" in scale.get_xticklabels()[2].get_text()


def test_labels_have_names_and_nodes_without_labels_their_number():
    labelled = Graph(3, path(3).edges, node_labels=np.array([0, 5, 99]))
    shown = [
        text.get_text()
        for text in plot_graph(labelled, np.ones(3), names=MUTAG_ATOMS).axes[0].texts
    ]
    assert shown == ["C", "Cl", "99"]
    named = Graph(2, path(2).edges, node_labels=np.array(["$x$", "y"]))
    assert [text.get_text() for text in plot_graph(named, np.ones(2)).axes[0].texts] == ["$x$", "y"]
    assert [text.get_text() for text in plot_graph(path(2), np.ones(2)).axes[0].texts] == ["1", "2"]


@pytest.mark.parametrize(
    ("label", "whole", "dashed"), [(0, 1, 1), (1, 1, 0), (2, 2, 0), (3, 3, 0), (7, 1, 0)]
)
def test_a_bond_has_as_many_lines_as_its_label_says(label, whole, dashed):
    graph = Graph(2, path(2).edges, edge_labels=np.array([label]))
    found, rest, *_ = bonds_of(plot_graph(graph, np.ones(2), bonds=MUTAG_BONDS))
    assert (len(found), len(rest)) == (whole, dashed)
    middle = graph_layout(graph).mean(axis=0)
    np.testing.assert_allclose(found.mean(axis=(0, 1)), middle, atol=1e-9)
    np.testing.assert_allclose(np.ptp(found[..., 0], axis=1), 1 - 2 * RADIUS, atol=1e-6)


def test_without_bonds_given_every_edge_is_one_line():
    graph = Graph(6, ring(6).edges, edge_labels=np.zeros(6, dtype=int))
    whole, rest, *_ = bonds_of(plot_graph(graph, np.ones(6)))
    assert (len(whole), len(rest)) == (6, 0)


def test_the_dashes_of_an_aromatic_ring_are_inside():
    graph = Graph(6, ring(6).edges, edge_labels=np.zeros(6, dtype=int))
    whole, dashed, *_ = bonds_of(plot_graph(graph, np.ones(6), bonds=MUTAG_BONDS))
    middle = graph_layout(graph).mean(axis=0)
    outer, inner = (np.linalg.norm(part.mean(axis=1) - middle, axis=1) for part in (whole, dashed))
    assert inner.max() < outer.min()


def test_several_graphs_share_scale_and_length_of_a_bond():
    figure = plot_graphs(
        [path(2), ring(6), path(5), ring(3)],
        [[0.5, 0.0], -2.0 * np.ones(6), np.ones(5), np.zeros(3)],
        ["a", "b", "c", "d"],
        classes=("no", "yes"),
    )
    *panels, scale = figure.axes
    assert [axes.get_title() for axes in panels] == ["a", "b", "c", "d"]
    assert scale.get_xlim() == (-2.0, 2.0)
    np.testing.assert_allclose(atoms_of(figure)[1].get_facecolors(), shades([0.5, 0.0], 2.0))
    units = []
    for position, axes in enumerate(panels):
        corners = axes.transData.transform([(0, 0), (1, 0), (0, 1)])
        units.extend(np.abs(np.diff(corners[[0, 1]], axis=0))[0][:1])
        units.extend(np.abs(np.diff(corners[[0, 2]], axis=0))[0][1:])
        centres, _ = atoms_of(figure, position)
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        assert (centres - RADIUS > [left, low]).all()
        assert (centres + RADIUS < [right, high]).all()
    np.testing.assert_allclose(units, units[0])
    boxes = [axes.get_window_extent().padded(-1) for axes in figure.axes]
    assert not any(a.overlaps(b) for position, a in enumerate(boxes) for b in boxes[:position])


def test_a_picture_on_a_page_is_escaped_takes_its_ink_and_is_the_same_again():
    graph = Graph(2, path(2).edges, node_labels=np.array(["<b>", "y"]))
    once, again = (
        str(draw_svg(plot_graph(graph, [1.0, -1.0]), "p", caption="s")) for _ in range(2)
    )
    assert once == again
    assert "&lt;b&gt;" in once
    assert "<b>" not in once
    assert "#333333" not in once
    assert "fill: #d55e00; fill-opacity: 0.7" in once


def test_values_must_be_one_for_each_node():
    with pytest.raises(DataError, match=r"one for each of 3 nodes; got shape \(2,\)"):
        plot_graph(path(3), [1.0, 2.0])
    with pytest.raises(DataError, match="finite; number 2 is nan"):
        plot_graph(path(3), [1.0, 2.0, np.nan])
    with pytest.raises(DataError, match="must be a separatrix Graph; got dict"):
        plot_graph({}, [1.0])


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="at least one graph; got none"):
        plot_graphs([], [])
    with pytest.raises(DataError, match="values must be one for each of 2 graphs; got 1"):
        plot_graphs([path(2), path(3)], [[1.0, 2.0]])
    with pytest.raises(DataError, match="titles must be one for each of 1 graphs; got 2"):
        plot_graphs([path(2)], [[1.0, 2.0]], ["a", "b"])


def test_what_is_no_bond_and_too_many_nodes_are_refused():
    with pytest.raises(
        ParameterError, match="`bonds` of plot_graph must be of 1, 2, 3 and 'aromatic'; got 4"
    ):
        plot_graph(path(2), [1.0, 1.0], bonds={0: 4})
    with pytest.raises(DataError, match="at most 500 nodes can be drawn; got 501"):
        plot_graph(Graph(501, NONE), np.zeros(501))


def folder():
    if not os.environ.get(VARIABLE):
        pytest.skip(f"{VARIABLE} is not set: no mutag here")
    return Path(os.environ[VARIABLE])


def crossing(p, q, a, b):
    def side(u, v, w):
        return (v[0] - u[0]) * (w[1] - u[1]) - (v[1] - u[1]) * (w[0] - u[0])

    return side(p, q, a) * side(p, q, b) < 0 and side(a, b, p) * side(a, b, q) < 0


@pytest.mark.slow
def test_molecules_of_mutag_have_equal_bonds_that_do_not_cross():
    folder()
    for graph in load("mutag").X[::6]:
        positions = graph_layout(graph)
        found = lengths(graph, positions)
        assert found.min() > 0.9
        assert found.max() < 1.1
        assert distances(positions)[~np.eye(graph.n_nodes, dtype=bool)].min() > 0.9
        ends = [(positions[a], positions[b]) for a, b in graph.edges]
        # bonds that share an atom have a side of 0: they do not count as crossing
        assert not any(crossing(*one, *other) for n, one in enumerate(ends) for other in ends[:n])


def test_names_are_those_of_the_readme_of_mutag():
    readme = (folder() / "MUTAG" / "README.txt").read_text("utf-8")
    atoms, bonds = (
        readme.split(head)[1].split("\n\n")[1] for head in ("Node labels:", "Edge labels:")
    )
    pairs = [tuple(line.split()) for line in atoms.splitlines()]
    assert {int(label): name for label, name in pairs} == MUTAG_ATOMS
    words = {1: "single", 2: "double", 3: "triple", "aromatic": "aromatic"}
    pairs = [tuple(line.split()) for line in bonds.splitlines()]
    assert {int(label): name for label, name in pairs} == {
        label: words[order] for label, order in MUTAG_BONDS.items()
    }
