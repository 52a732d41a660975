"""Graphs side by side as one, their labels as numbers: what the kernels on graphs look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from separatrix.data.graph import Graph
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.kernels.graphs.from_networkx import from_networkx, is_networkx
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.blocks import memory_of_this_machine
from separatrix.types import Codes

MEANT = "a list of Graph objects or of networkx graphs"
MANY_NODES = 2**24  # from which on memory is looked at
NODE_BYTES = 64  # at least, that a node takes
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
    def positions(self) -> Codes:
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
    if starts[-1] > MANY_NODES and NODE_BYTES * starts[-1] > memory_of_this_machine():
        raise MemoryBudgetError(
            f"graphs of {starts[-1]:,} nodes together do not fit the memory of this machine; pass fewer"
        )
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
        kinds = {_kind(getattr(graph, name)) for graph in some}
        if len(kinds) > 1:
            listed = " and ".join(sorted(kinds))
            raise DataError(
                f"{owner} takes graphs whose {what} are all labelled alike; got {listed} in one list"
            )
    return graphs


def _kind(labels: Any) -> str:
    return "no labels" if labels is None else "numbers" if labels.dtype.kind == "i" else "strings"


def _require_known_kind(name: str, labels: Any, vocabulary: Vocabulary) -> None:
    """Refuse labels of another type than those that the features were learned from."""
    met = vocabulary.tables[name].keys[:1, 1] if name in vocabulary.tables else ()
    for number in met:
        known = ("no labels", "strings", "numbers", "numbers")[number]
        if known != _kind(labels):
            raise DataError(
                f"the features are those of graphs with {known} as {name}; got {_kind(labels)}"
            )


def _numbered(name: str, X: Any, counts: Codes, vocabulary: Vocabulary) -> Codes:
    """Labels as numbers, those of all graphs one after the other; 0 throughout where there are none."""
    field = name.replace(" ", "_")
    labels = [getattr(graph, field) for graph in X]
    labels = [part for part, count in zip(labels, counts, strict=True) if count]
    if labels and vocabulary.closed:
        _require_known_kind(name, labels[0], vocabulary)
    if not labels or labels[0] is None:
        return vocabulary.pairs(name, np.zeros(counts.sum(), dtype=np.intp), 0)
    together = np.concatenate(labels)
    if together.dtype.kind == "U":
        words, together = np.unique(together, return_inverse=True)
        together = vocabulary.numbers(words.tolist())[together]
        return vocabulary.pairs(name, together, 1)
    below = together < 0
    return vocabulary.pairs(name, np.where(below, -(together + 1), together), 2 + below)


def all_paths(
    union: Union, *, both_ways: bool = True, nodes: bool = False
) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Pairs of different nodes with a path, and its length; some first nodes at a time.

    Each pair once or both ways; with `nodes`, every node with itself too.
    """
    owners = union.owners
    sizes = np.diff(union.starts)[owners]
    upto = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes - 1)])
    end = 0
    while end < len(owners):
        begin = end
        fitting = np.searchsorted(upto, upto[begin] + PAIRS_AT_ONCE, side="right") - 1
        end = max(begin + 1, int(fitting))
        first, second, hops = (np.empty(upto[end] - upto[begin], dtype=np.intp) for _ in range(3))
        among = union.starts[owners[begin]], union.starts[owners[end - 1] + 1]
        edges = union.tops, union.neighbors
        count = _paths(*edges, begin, end, *among, sizes, first, second, hops)
        first, second, hops = first[:count], second[:count], hops[:count]
        if not both_ways:
            once = first < second
            first, second, hops = first[once], second[once], hops[once]
        if nodes:
            alone = np.arange(begin, end)
            order = np.argsort(np.concatenate([alone, first]), kind="stable")
            first = np.concatenate([alone, first])[order]
            second = np.concatenate([alone, second])[order]
            hops = np.concatenate([np.zeros_like(alone), hops])[order]
        yield first, second, hops


def paths_of(union: Union, **which: bool) -> tuple[Codes, Codes, Codes]:
    """The same for all graphs together."""
    none = (np.zeros(0, dtype=np.intp),) * 3
    first, second, hops = map(np.concatenate, zip(none, *all_paths(union, **which), strict=True))
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
            value, position = values[at], at
            while position > begin and values[position - 1] > value:
                values[position] = values[position - 1]
                position -= 1
            values[position] = value


@njit(cache=True, nogil=True)
def _paths(
    tops: Codes,
    neighbors: Codes,
    begin: int,
    end: int,
    lowest: int,
    highest: int,
    sizes: Codes,
    first: Codes,
    second: Codes,
    hops: Codes,
) -> int:
    """Breadth first from every node begin..end, whose graphs are nodes lowest..highest, each with the
    size of its own; returns how many pairs were found.
    """
    seen = np.full(highest - lowest, -1)  # the last source that reached a node
    far = np.empty(highest - lowest, np.int64)
    queue = np.empty(highest - lowest, np.int64)
    count = 0
    for source in range(begin, end):
        queue[0], waiting, at = source, 1, 0
        seen[source - lowest], far[source - lowest] = source, 0
        while at < waiting:
            node = queue[at]
            at += 1
            if node != source:
                first[count], second[count] = source, node
                hops[count] = far[node - lowest]
                count += 1
            if waiting == sizes[source]:  # the whole graph is reached
                continue
            for position in range(tops[node], tops[node + 1]):
                other = neighbors[position]
                if seen[other - lowest] != source:
                    seen[other - lowest] = source
                    far[other - lowest] = far[node - lowest] + 1
                    queue[waiting] = other
                    waiting += 1
    return count
