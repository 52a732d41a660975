"""Conversion of networkx graphs, without importing networkx."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from separatrix.data.graph import Graph
from separatrix.errors import DataError

LABEL = "label"


def is_networkx(item: Any) -> bool:
    """Whether the item has the interface of a networkx graph."""
    return not isinstance(item, type) and all(
        hasattr(item, name) for name in ("nodes", "edges", "is_directed", "is_multigraph")
    )


def from_networkx(
    graph: Any, *, node_label: str = LABEL, edge_label: str = LABEL, where: str = "the graph"
) -> Graph:
    """A networkx graph as a `Graph`: nodes in its order, labels from the named attributes.

    If no node has the attribute, the graph has no node labels; likewise for edges.
    """
    if not is_networkx(graph):
        raise DataError(f"{where} must be a networkx graph; got {type(graph).__name__}")
    if graph.is_directed():
        raise DataError(f"{where} is directed; pass graph.to_undirected()")
    number = {node: position for position, node in enumerate(graph.nodes)}
    ends = list(graph.edges(data=True))
    edges = np.array([(number[a], number[b]) for a, b, _ in ends], dtype=np.intp).reshape(-1, 2)
    if graph.is_multigraph() and len({frozenset(pair) for pair in edges.tolist()}) < len(edges):
        raise DataError(f"{where} has several edges between two nodes; pass nx.Graph(graph)")
    loops = edges[edges[:, 0] == edges[:, 1]]
    if len(loops):
        raise DataError(
            f"{where} has a self-loop at node {list(number)[loops[0, 0]]!r}; remove it with "
            "graph.remove_edges_from(nx.selfloop_edges(graph))"
        )
    of_nodes = [attributes.get(node_label) for _, attributes in graph.nodes(data=True)]
    of_edges = [attributes.get(edge_label) for _, _, attributes in ends]
    return Graph(
        len(number),
        edges,
        _labels(of_nodes, where, "nodes", node_label),
        _labels(of_edges, where, "edges", edge_label),
    )


def graphs_from_networkx(
    graphs: Iterable[Any], *, node_label: str = LABEL, edge_label: str = LABEL
) -> list[Graph]:
    """networkx graphs as `Graph` objects, labels from the named attributes.

    Parameters
    ----------
    graphs
        Undirected graphs of networkx.
    node_label, edge_label
        Attributes that hold the labels of nodes and of edges; graphs without them have no labels.

    Examples
    --------
    >>> import networkx
    >>> graphs_from_networkx([networkx.cycle_graph(3), networkx.path_graph(4)])
    [Graph(3 nodes, 3 edges), Graph(4 nodes, 3 edges)]
    """
    return [
        from_networkx(graph, node_label=node_label, edge_label=edge_label, where=f"graph {number}")
        for number, graph in enumerate(graphs)
    ]


def _labels(found: list[Any], where: str, what: str, name: str) -> Any:
    missing = sum(label is None for label in found)
    if missing == len(found):
        return None
    if missing:
        raise DataError(
            f"{where}: {missing} of {len(found)} {what} have no attribute {name!r}; set it on all or "
            "on none"
        )
    if all(isinstance(label, str) for label in found):
        return np.array(found, dtype=object)
    invalid = [label for label in found if not _is_int64(label)]
    if invalid:
        raise DataError(
            f"{where}: labels of {what} must be all integers or all strings; got {invalid[0]!r:.40}"
        )
    return np.array(found, dtype=np.intp)


def _is_int64(label: Any) -> bool:
    integer = isinstance(label, int | np.integer) and not isinstance(label, bool)
    return integer and -(2**63) <= int(label) < 2**63
