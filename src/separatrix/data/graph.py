"""An undirected graph with labels: the sample of the graph kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.types import Codes
from separatrix.validation import require_integer

MOST_NODES = 2**31  # so that a pair of node numbers fits 64 bits


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph: nodes 0..n_nodes-1, each edge once, optional labels.

    Labels are integers or strings.

    Parameters
    ----------
    n_nodes
        Number of nodes.
    edges
        Pairs of nodes, (m, 2); each edge once, in one direction, no loops.
    node_labels, edge_labels
        A label for each node, (n_nodes,), and for each edge, (m,). None: all alike.

    Examples
    --------
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]), node_labels=np.array([6, 8, 6]))
    >>> path
    Graph(3 nodes, 2 edges)
    """

    n_nodes: int
    edges: Codes  # shape: (m, 2); none twice, in either direction, and no loops
    node_labels: Any = None  # shape: (n_nodes,)
    edge_labels: Any = None  # shape: (m,)

    def __post_init__(self) -> None:
        require_integer("Graph", "n_nodes", self.n_nodes, least=0)
        if self.n_nodes > MOST_NODES:
            raise DataError(f"a Graph has at most {MOST_NODES:,} nodes; got {self.n_nodes:,}")
        edges = _whole("edges", self.edges)
        if not edges.size:
            edges = edges.reshape(0, 2)
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise DataError(f"`edges` of Graph must have two columns; got shape {edges.shape}")
        if edges.size and not self.n_nodes:
            raise DataError(f"a Graph without nodes has no edges; got {len(edges)}")
        if edges.size and (edges.min() < 0 or edges.max() >= self.n_nodes):
            raise DataError(
                f"`edges` of Graph must join nodes 0 to {self.n_nodes - 1}; got node "
                f"{edges.min() if edges.min() < 0 else edges.max()}"
            )
        if (edges[:, 0] == edges[:, 1]).any():
            node = edges[edges[:, 0] == edges[:, 1]][0, 0]
            raise DataError(f"`edges` of Graph must join different nodes; node {node} has a loop")
        keys = edges.min(axis=1, initial=self.n_nodes) * self.n_nodes + edges.max(axis=1, initial=0)
        if len(np.unique(keys)) != len(edges):
            raise DataError("`edges` of Graph must name each edge once, in one direction")
        object.__setattr__(self, "edges", edges)
        for name, count in (("node_labels", self.n_nodes), ("edge_labels", len(edges))):
            if getattr(self, name) is None:
                continue
            given = getattr(self, name)
            if isinstance(given, list | tuple) and len({isinstance(x, str) for x in given}) > 1:
                raise DataError(f"`{name}` of Graph must be all whole numbers or all strings")
            labels = np.asarray(given)
            if labels.dtype.kind == "U" or labels.dtype == object:
                _require_no_null_at_the_end(name, given)
            if labels.dtype == object and all(isinstance(label, str) for label in labels):
                labels = labels.astype(str)
            labels = labels if labels.dtype.kind == "U" else _whole(name, labels)
            if labels.shape != (count,):
                raise DataError(
                    f"`{name}` of Graph must be {count} whole numbers or strings; got shape {labels.shape}"
                )
            object.__setattr__(self, name, labels)

    def __repr__(self) -> str:
        return f"Graph({self.n_nodes} nodes, {len(self.edges)} edges)"


def _require_no_null_at_the_end(name: str, labels: Any) -> None:
    """NumPy drops it, and two labels would be one."""
    for label in np.ravel(np.asarray(labels, dtype=object)):
        if isinstance(label, str) and label.endswith("\0"):
            raise DataError(f"`{name}` of Graph must not end with the letter NUL; got {label!r}")


def _whole(name: str, values: Any) -> Codes:
    found = np.asarray(values)
    if found.dtype.kind not in "iu" and found.size:
        strings = "" if name == "edges" else " or strings"
        raise DataError(f"`{name}` of Graph must be whole numbers{strings}; got {found.dtype}")
    if found.dtype == np.uint64 and found.max(initial=0) >= 2**63:
        raise DataError(f"`{name}` of Graph must be below 2**63; got {found.max()}")
    return found.astype(np.intp)
