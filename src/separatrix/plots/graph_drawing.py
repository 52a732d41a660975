"""Explanations of graphs: a molecule in the plane, its atoms coloured by the class they support.

Nodes are at the positions of `graph_layout.py`. Colours are those of `color_scale.py`; rims show the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.plots import color_scale
from separatrix.plots.color_scale import EDGE, FAINT, QUIET, SCALE, shades
from separatrix.plots.figures import INK
from separatrix.plots.graph_layout import ROOM, graph_layout, require_graph, rings_of
from separatrix.plots.svg import clean_text
from separatrix.types import Matrix, Vector
from separatrix.validation import require_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AROMATIC = "aromatic"
# as the README of MUTAG's folder in the TU collection (TUDataset) lists them
MUTAG_ATOMS: Mapping[Any, str] = {0: "C", 1: "N", 2: "O", 3: "F", 4: "I", 5: "Cl", 6: "Br"}
MUTAG_BONDS: Mapping[Any, int | str] = {0: AROMATIC, 1: 1, 2: 2, 3: 3}

BOND, RADIUS = 0.46, 0.3  # inches of a bond, and an atom in bonds
LARGEST = 9.0  # inches of a picture; larger graphs have shorter bonds
NARROWEST = 3.2  # inches; the words below the scale need them
APART = 0.075  # half the way between lines of a double bond, in bonds


def plot_graph(
    graph: Graph,
    values: Any,  # shape: (n_nodes,)
    *,
    names: Mapping[Any, str] | None = None,
    bonds: Mapping[Any, int | str] | None = None,
    title: str | None = None,
    classes: Sequence[Any] | None = None,
    limit: float | None = None,
) -> Figure:
    """A graph in the plane, each node on the colour of its value.

    Parameters
    ----------
    graph
        At most 500 nodes; components lie side by side.
    values
        What each node adds to the score.
    names
        What is written for a node's label, such as `MUTAG_ATOMS`; a label that is not there is
        written itself. Nodes without labels have their number, counted from 1.
    bonds
        How an edge's label is drawn, such as `MUTAG_BONDS`: as 1, 2 or 3 lines, or "aromatic", a
        line and a dashed one towards the inside of the ring. Other edges are one line.
    title
        Words above.
    classes
        The class that values below 0 speak for, and that of values above 0, as in `classes_`.
        None: the scale speaks of the score.
    limit
        Where the scale ends; larger values have the colour of its end. None: the largest value.

    Examples
    --------
    >>> water = Graph(3, np.array([[0, 1], [0, 2]]), node_labels=np.array([8, 1, 1]))
    >>> figure = plot_graph(water, [1.0, -0.5, 0.0], names={8: "O", 1: "H"})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['O', 'H', 'H']
    """
    titles = [title] if title else None
    return plot_graphs(
        [graph], [values], titles, names=names, bonds=bonds, classes=classes, limit=limit
    )


def plot_graphs(
    graphs: Sequence[Graph],
    values: Sequence[Any],  # of shape (n_nodes,) each
    titles: Sequence[str] | None = None,
    *,
    names: Mapping[Any, str] | None = None,
    bonds: Mapping[Any, int | str] | None = None,
    classes: Sequence[Any] | None = None,
    limit: float | None = None,
    columns: int = 3,
) -> Figure:
    """Several graphs in one figure, on one scale and with bonds of one length; as `plot_graph`.

    Parameters
    ----------
    graphs, values, titles
        Graphs, what each of their nodes adds to the score, and words above each.
    names, bonds, classes, limit
        As in `plot_graph`.
    columns
        Graphs in a line.

    Examples
    --------
    >>> from separatrix import Graph
    >>> ring, path = Graph(3, [[0, 1], [1, 2], [0, 2]]), Graph(3, [[0, 1], [1, 2]])
    >>> figure = plot_graphs([ring, path], [[1, 0, -1], [0, 1, 0]], ["ring", "path"])
    >>> [axes.get_title() for axes in figure.axes[:2]]
    ['ring', 'path']
    """
    require_integer("plot_graphs", "columns", columns, least=1)
    if not len(graphs):
        raise DataError("plot_graphs needs at least one graph; got none")
    for name, given in (("values", values), ("titles", titles)):
        if given is not None and len(given) != len(graphs):
            raise DataError(
                f"{name} must be one for each of {len(graphs)} graphs; got {len(given)}"
            )
    for graph in graphs:
        require_graph(graph)
    strengths = [
        color_scale.checked_values(given, graph.n_nodes, "nodes")
        for graph, given in zip(graphs, values, strict=True)
    ]
    end = color_scale.checked_limit("plot_graphs", limit, *strengths)
    words = color_scale.checked_classes("plot_graphs", classes)
    shapes = [graph_layout(graph) for graph in graphs]
    figure, panels = _panels(shapes, titles, columns)
    for axes, graph, shape, one in zip(panels, graphs, shapes, strengths, strict=True):
        _draw_bonds(axes, graph, shape, bonds or {})
        _draw_atoms(axes, shape, one, _texts(graph, names), end)
    color_scale.draw_scale(figure, end, words, left=EDGE, marks=("dashed rim", "solid rim"))
    return figure


def _panels(
    shapes: Sequence[Matrix], titles: Sequence[str] | None, columns: int
) -> tuple[Figure, list[Axes]]:
    """A figure with axes for every shape, a bond equally long in all of them."""
    columns = min(columns, len(shapes))
    extents = np.array([np.abs(shape).max(axis=0, initial=0.0) + 2 * ROOM for shape in shapes])
    widths = np.array([extents[column::columns, 0].max() for column in range(columns)])
    heights = np.array(
        [extents[at : at + columns, 1].max() for at in range(0, len(shapes), columns)]
    )
    unit = min(BOND, LARGEST / widths.sum())
    widths *= max(NARROWEST / (unit * widths.sum()), 1.0)
    words = [
        color_scale.wrapped_title(title, unit * widths[position % columns])
        for position, title in enumerate(titles or [None] * len(shapes))
    ]
    above = max(map(color_scale.height_of, words))
    full = unit * heights.sum() + above * len(heights)
    figure = color_scale.fixed_figure(unit * widths.sum() + 2 * EDGE, full + SCALE + 2 * EDGE)
    panels = []
    for position, extent in enumerate(extents):
        row, column = divmod(position, columns)
        left = EDGE + unit * widths[:column].sum()
        foot = EDGE + SCALE + unit * heights[row + 1 :].sum() + above * (len(heights) - row - 1)
        size = np.array([widths[column], heights[row]])
        axes = color_scale.add_axes(figure, left, foot, *(unit * size))
        low, high = (extent * [1, -1] / 2 + [-ROOM, ROOM] + sign * size / 2 for sign in (-1, 1))
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_title(words[position], fontsize=9, parse_math=False)
        panels.append(axes)
    return figure, panels


def _draw_bonds(
    axes: Axes, graph: Graph, positions: Matrix, bonds: Mapping[Any, int | str]
) -> None:
    """A line, or what its label asks for, from rim to rim."""
    from matplotlib.collections import LineCollection

    middles = [(set(ring.tolist()), positions[ring].mean(axis=0)) for ring in rings_of(graph)]
    whole, dashed = [], []
    for (a, b), order in zip(graph.edges.tolist(), _orders(graph, bonds), strict=True):
        along = positions[b] - positions[a]
        length = float(np.linalg.norm(along))
        if length <= 2 * RADIUS:
            continue  # circles touch: there is nothing between them
        along = along / length
        aside = np.array([-along[1], along[0]])
        ends = np.array([positions[a] + RADIUS * along, positions[b] - RADIUS * along])
        if order == AROMATIC:
            inside = [middle for ring, middle in middles if a in ring and b in ring]
            side = -1.0 if inside and (inside[0] - positions[a]) @ aside < 0 else 1.0
            whole.append(ends)
            dashed.append(ends + 2 * side * APART * aside)
        else:
            shifts = APART * (2 * np.arange(int(order)) - (int(order) - 1))
            whole.extend(ends + shift * aside for shift in shifts)
    thick = 1.3 * _unit(axes) / BOND
    axes.add_collection(LineCollection(whole, colors=INK, linewidths=thick), autolim=False)
    if dashed:
        dashes = LineCollection(
            dashed, colors=INK, linewidths=0.8 * thick, linestyles=(0, (2, 1.4))
        )
        axes.add_collection(dashes, autolim=False)


def _orders(graph: Graph, bonds: Mapping[Any, int | str]) -> list[int | str]:
    """How each edge is drawn: 1, 2 or 3 lines, or as aromatic."""
    for order in bonds.values():
        if order not in (1, 2, 3, AROMATIC):
            raise ParameterError("plot_graph", "bonds", f"of 1, 2, 3 and {AROMATIC!r}", order)
    if graph.edge_labels is None:
        return [1] * len(graph.edges)
    return [bonds.get(label, 1) for label in np.asarray(graph.edge_labels).tolist()]


def _draw_atoms(
    axes: Axes, positions: Matrix, values: Vector, texts: list[str], limit: float
) -> None:
    """Circles on their colours, rims as thick as values are strong, dashed below 0; and names."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    scale = _unit(axes) / BOND
    share = np.minimum(np.abs(values) / limit, 1.0)
    discs = PatchCollection(
        [Circle((x, y), RADIUS) for x, y in positions.tolist()],
        facecolors=shades(values, limit),
        edgecolors=[INK if one >= FAINT else QUIET for one in share],
        linewidths=scale * (0.5 + 1.3 * share),
        linestyles=[
            (0, (2.2, 1.3)) if value <= -FAINT * limit else "solid" for value in values.tolist()
        ],
    )
    axes.add_collection(discs, autolim=False)
    for (x, y), text in zip(positions.tolist(), texts, strict=True):
        size = 9.5 * scale * min(1.0, 2.6 / max(len(text), 1))
        style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "color": INK}
        axes.text(x, y, text, fontsize=size, parse_math=False, **style)
    if not texts:
        axes.text(0, 0, "no nodes", ha="center", va="center", fontsize=9, color=QUIET)


def _unit(axes: Axes) -> float:
    """Inches of a bond."""
    left, right = axes.get_xlim()
    pixels = axes.get_window_extent().width
    return float(pixels / axes.figure.dpi / (right - left))


def _texts(graph: Graph, names: Mapping[Any, str] | None) -> list[str]:
    """What is written for each node."""
    if graph.node_labels is None:
        return [str(node + 1) for node in range(graph.n_nodes)]
    labels = np.asarray(graph.node_labels).tolist()
    return [clean_text(str((names or {}).get(label, label))) for label in labels]
