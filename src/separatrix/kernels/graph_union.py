"""Graphs side by side as one, their labels as numbers: what the kernels on graphs look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from separatrix.arrays import Codes, Graph
from separatrix.compute.blocks import row_blocks
from separatrix.errors import DataError
from separatrix.kernels.networkx_graphs import from_networkx, is_networkx
from separatrix.kernels.objects import as_objects
from separatrix.kernels.vocabulary import Vocabulary

MEANT = "a list of Graph objects or of networkx graphs"
PAIRS_AT_ONCE = 2**22  # of nodes, whose distances are looked at together


class Union(NamedTuple):
    """Graphs side by side as one; every edge in both directions, sorted by its first node."""

    starts: Codes  # shape: (graphs + 1,); first node of each graph
    node_labels: Codes  # shape: (nodes,); numbers of the vocabulary
    tops: Codes  # shape: (nodes + 1,); where the edges of a node begin
    neighbors: Codes  # shape: (2 * edges,)
    edge_labels: Codes  # shape: (2 * edges,)

    @property
    def owners(self) -> Codes:
        """The graph of each node."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def places(self) -> Codes:
        """Number of each node in its own graph."""
        return np.arange(self.starts[-1]) - self.starts[self.owners]


def is_graph(item: Any) -> bool:
    """Whether the item is a graph, ours or of networkx."""
    return isinstance(item, Graph) or is_networkx(item)


def checked_graphs(owner: str, X: Any) -> Any:
    """An array (n,) of `Graph`, all of them labelled or none."""
    given = as_objects(owner, X, MEANT)
    graphs = np.empty(len(given), dtype=object)
    for row, item in enumerate(given):
        if isinstance(item, Graph):
            graphs[row] = item
        elif is_networkx(item):
            graphs[row] = from_networkx(item, where=f"item {row}")
        else:
            raise DataError(
                f"{owner} takes {MEANT}; item {row} is {type(item).__name__} {item!r:.40}"
            )
    return alike(owner, graphs)


def union_of(X: Any, vocabulary: Vocabulary) -> Union:
    """Checked graphs side by side, their labels numbered."""
    nodes = np.fromiter((graph.n_nodes for graph in X), dtype=np.intp, count=len(X))
    sizes = np.fromiter((len(graph.edges) for graph in X), dtype=np.intp, count=len(X))
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(nodes)])
    edges = np.concatenate([np.zeros((0, 2), dtype=np.intp), *(graph.edges for graph in X)])
    edges = edges + np.repeat(starts[:-1], sizes)[:, None]
    node_labels = _numbered("node labels", X, nodes, vocabulary)
    edge_labels = _numbered("edge labels", X, sizes, vocabulary)
    first = np.concatenate([edges[:, 0], edges[:, 1]])
    order = np.argsort(first, kind="stable")
    tops = np.searchsorted(first[order], np.arange(starts[-1] + 1))
    second = np.concatenate([edges[:, 1], edges[:, 0]])[order]
    return Union(starts, node_labels, tops, second, np.tile(edge_labels, 2)[order])


def alike(owner: str, graphs: Any) -> Any:
    """Refuse graphs of which some have labels and others not, or labels of two types."""
    for name, what in (("node_labels", "nodes"), ("edge_labels", "edges")):
        some = [
            graph for graph in graphs if (graph.n_nodes if what == "nodes" else len(graph.edges))
        ]
        kinds = {
            "no labels" if labels is None else "numbers" if labels.dtype.kind == "i" else "strings"
            for labels in (getattr(graph, name) for graph in some)
        }
        if len(kinds) > 1:
            listed = " and ".join(sorted(kinds))
            raise DataError(
                f"{owner} takes graphs whose {what} are all labelled alike; got {listed} in one list"
            )
    return graphs


def _numbered(name: str, X: Any, counts: Codes, vocabulary: Vocabulary) -> Codes:
    """Labels as numbers, those of all graphs one after the other; 0 throughout where there are none."""
    field = name.replace(" ", "_")
    labels = [getattr(graph, field) for graph in X]
    labels = [part for part, count in zip(labels, counts, strict=True) if count]
    if not labels or labels[0] is None:
        return vocabulary.pairs(name, np.zeros(counts.sum(), dtype=np.intp), 0)
    together = np.concatenate(labels)
    if together.dtype.kind == "U":
        words, together = np.unique(together, return_inverse=True)
        together = vocabulary.numbers(words.tolist())[together]
        return vocabulary.pairs(name, together, 1)
    below = together < 0
    return vocabulary.pairs(name, np.where(below, -(together + 1), together), 2 + below)


def all_paths(union: Union) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Ordered pairs of different nodes with a path, and its length; some graphs at a time."""
    sizes = np.diff(union.starts)
    largest = int(sizes.max(initial=0))
    at_once = max(1, PAIRS_AT_ONCE // max(1, largest * largest))
    for graphs in row_blocks(len(sizes), at_once):
        begin, end = union.starts[graphs.start], union.starts[graphs.stop]
        room = int((sizes[graphs] * (sizes[graphs] - 1)).sum())
        first, second, hops = (np.empty(room, dtype=np.intp) for _ in range(3))
        count = _paths(union.tops, union.neighbors, begin, end, largest, first, second, hops)
        yield first[:count], second[:count], hops[:count]


def paths_of(union: Union) -> tuple[Codes, Codes, Codes]:
    """The same for all graphs together."""
    none = (np.zeros(0, dtype=np.intp),) * 3
    first, second, hops = map(np.concatenate, zip(none, *all_paths(union), strict=True))
    return first, second, hops


def edges_once(union: Union) -> tuple[Codes, Codes, Codes]:
    """The lower and the higher node of every edge, and where the edge is among those of all nodes."""
    first = np.repeat(np.arange(union.starts[-1]), np.diff(union.tops))
    once = np.flatnonzero(first < union.neighbors)
    return first[once], union.neighbors[once], once


@njit(cache=True, nogil=True)
def sort_each(tops: Codes, values: Codes) -> None:
    """Values of each node in rising order; most nodes have few."""
    for node in range(len(tops) - 1):
        begin, end = tops[node], tops[node + 1]
        if end - begin > 32:
            values[begin:end] = np.sort(values[begin:end])
            continue
        for at in range(begin + 1, end):
            value, place = values[at], at
            while place > begin and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value


@njit(cache=True, nogil=True)
def _paths(
    tops: Codes,
    neighbors: Codes,
    begin: int,
    end: int,
    largest: int,
    first: Codes,
    second: Codes,
    hops: Codes,
) -> int:
    """Breadth first from every node begin..end; returns how many pairs were found."""
    seen = np.full(end - begin, -1)  # the last source that reached a node
    far = np.empty(end - begin, np.int64)
    queue = np.empty(max(1, largest), np.int64)
    count = 0
    for source in range(begin, end):
        queue[0], waiting, at = source, 1, 0
        seen[source - begin], far[source - begin] = source, 0
        while at < waiting:
            node = queue[at]
            at += 1
            if node != source:
                first[count], second[count] = source, node
                hops[count] = far[node - begin]
                count += 1
            for place in range(tops[node], tops[node + 1]):
                other = neighbors[place]
                if seen[other - begin] != source:
                    seen[other - begin] = source
                    far[other - begin] = far[node - begin] + 1
                    queue[waiting] = other
                    waiting += 1
    return count
