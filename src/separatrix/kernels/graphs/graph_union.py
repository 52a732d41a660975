"""The disjoint union of graphs with numbered labels: the data structure of all graph kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix.data.graph import Graph
from separatrix.errors import DataError, MemoryBudgetError
from separatrix.jit import njit
from separatrix.kernels.graphs.from_networkx import from_networkx, is_networkx
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.runtime.blocks import memory_of_this_machine
from separatrix.types import Codes

ACCEPTED = "a list of Graph objects or of networkx graphs"
MANY_NODES = 2**24  # from which the available memory is checked
NODE_BYTES = 64  # a lower bound
PAIRS_AT_ONCE = 2**22  # of nodes, whose distances are held together


class GraphUnion(NamedTuple):
    """Disjoint union of graphs in CSR form; every edge in both directions, sorted by its first node."""

    starts: Codes  # shape: (graphs + 1,); first node of each graph
    node_labels: Codes  # shape: (nodes,); numbers of the vocabulary
    edge_starts: Codes  # shape: (nodes + 1,); first edge of each node
    neighbors: Codes  # shape: (2 * edges,)
    edge_labels: Codes  # shape: (2 * edges,)

    @property
    def owners(self) -> Codes:
        """The graph of each node."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def positions(self) -> Codes:
        """Index of each node in its own graph."""
        return np.arange(self.starts[-1]) - self.starts[self.owners]


def is_graph(item: Any) -> bool:
    """Whether the item is a `Graph` or a networkx graph."""
    return isinstance(item, Graph) or is_networkx(item)


def check_graphs(owner: str, X: Any) -> Any:
    """An array (n,) of `Graph`, all of them labelled or none."""
    given = as_objects(owner, X, ACCEPTED)
    graphs = np.empty(len(given), dtype=object)
    for row, item in enumerate(given):
        if isinstance(item, Graph):
            graphs[row] = item
        elif is_networkx(item):
            graphs[row] = from_networkx(item, where=f"item {row}")
        else:
            raise DataError(
                f"{owner} takes {ACCEPTED}; item {row} is {type(item).__name__} {item!r:.40}"
            )
    return require_same_labels(owner, graphs)


def build_union(X: Any, vocabulary: Vocabulary) -> GraphUnion:
    """Checked graphs as one, with numbered labels."""
    nodes = np.fromiter((graph.n_nodes for graph in X), dtype=np.intp, count=len(X))
    sizes = np.fromiter((len(graph.edges) for graph in X), dtype=np.intp, count=len(X))
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(nodes)])
    if starts[-1] > MANY_NODES and NODE_BYTES * starts[-1] > memory_of_this_machine():
        raise MemoryBudgetError(
            f"graphs of {starts[-1]:,} nodes together do not fit in memory; pass fewer"
        )
    edges = np.concatenate([np.zeros((0, 2), dtype=np.intp), *(graph.edges for graph in X)])
    edges = edges + np.repeat(starts[:-1], sizes)[:, None]
    node_labels = _number_labels("node labels", X, nodes, vocabulary)
    edge_labels = _number_labels("edge labels", X, sizes, vocabulary)
    first = np.concatenate([edges[:, 0], edges[:, 1]])
    order = np.argsort(first, kind="stable")
    edge_starts = np.searchsorted(first[order], np.arange(starts[-1] + 1))
    second = np.concatenate([edges[:, 1], edges[:, 0]])[order]
    return GraphUnion(starts, node_labels, edge_starts, second, np.tile(edge_labels, 2)[order])


def require_same_labels(owner: str, graphs: Any) -> Any:
    """Raise if only some graphs have labels, or if labels have two types."""
    for name, what in (("node_labels", "nodes"), ("edge_labels", "edges")):
        some = [
            graph for graph in graphs if (graph.n_nodes if what == "nodes" else len(graph.edges))
        ]
        kinds = {_label_type(getattr(graph, name)) for graph in some}
        if len(kinds) > 1:
            listed = " and ".join(sorted(kinds))
            raise DataError(
                f"{owner} takes graphs whose {what} have labels of one type; got {listed} in one list"
            )
    return graphs


def _label_type(labels: Any) -> str:
    return "no labels" if labels is None else "numbers" if labels.dtype.kind == "i" else "strings"


def _require_known_type(name: str, labels: Any, vocabulary: Vocabulary) -> None:
    """Raise if labels have another type than in training."""
    first_key = vocabulary.tables[name].keys[:1, 1] if name in vocabulary.tables else ()
    for number in first_key:
        known = ("no labels", "strings", "numbers", "numbers")[number]
        if known != _label_type(labels):
            raise DataError(
                f"the features were learned from graphs with {known} as {name}; "
                f"got {_label_type(labels)}"
            )


def _number_labels(name: str, X: Any, counts: Codes, vocabulary: Vocabulary) -> Codes:
    """Labels of all graphs as numbers, concatenated; 0 for graphs without labels."""
    field = name.replace(" ", "_")
    labels = [getattr(graph, field) for graph in X]
    labels = [part for part, count in zip(labels, counts, strict=True) if count]
    if labels and vocabulary.closed:
        _require_known_type(name, labels[0], vocabulary)
    if not labels or labels[0] is None:
        return vocabulary.pairs(name, np.zeros(counts.sum(), dtype=np.intp), 0)
    values = np.concatenate(labels)
    if values.dtype.kind == "U":
        words, codes = np.unique(values, return_inverse=True)
        return vocabulary.pairs(name, vocabulary.numbers(words.tolist())[codes], 1)
    negative = values < 0
    return vocabulary.pairs(name, np.where(negative, -(values + 1), values), 2 + negative)


def iterate_paths(
    union: GraphUnion, *, both_ways: bool = True, nodes: bool = False
) -> Iterator[tuple[Codes, Codes, Codes]]:
    """Yield pairs of connected nodes and the lengths of their shortest paths, in blocks of first nodes.

    Each pair once, or in both directions; with `nodes`, also every node with itself.
    """
    owners = union.owners
    sizes = np.diff(union.starts)[owners]
    pairs = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes - 1)])
    end = 0
    while end < len(owners):
        begin = end
        last = np.searchsorted(pairs, pairs[begin] + PAIRS_AT_ONCE, side="right") - 1
        end = max(begin + 1, int(last))
        first, second, hops = (np.empty(pairs[end] - pairs[begin], dtype=np.intp) for _ in range(3))
        bounds = union.starts[owners[begin]], union.starts[owners[end - 1] + 1]
        edges = union.edge_starts, union.neighbors
        count = _search_paths(*edges, begin, end, *bounds, sizes, first, second, hops)
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


def find_paths(union: GraphUnion, **which: bool) -> tuple[Codes, Codes, Codes]:
    """`iterate_paths` of all graphs, concatenated."""
    none = (np.zeros(0, dtype=np.intp),) * 3
    first, second, hops = map(
        np.concatenate, zip(none, *iterate_paths(union, **which), strict=True)
    )
    return first, second, hops


def list_edges(union: GraphUnion) -> tuple[Codes, Codes, Codes]:
    """The lower and the higher node of every edge, and its index in `neighbors`."""
    first = np.repeat(np.arange(union.starts[-1]), np.diff(union.edge_starts))
    once = np.flatnonzero(first < union.neighbors)
    return first[once], union.neighbors[once], once


@njit(cache=True, nogil=True)
def sort_neighborhoods(edge_starts: Codes, values: Codes) -> None:
    """Sort the values of each node in place; insertion sort, since most nodes have few."""
    for node in range(len(edge_starts) - 1):
        begin, end = edge_starts[node], edge_starts[node + 1]
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
def _search_paths(
    edge_starts: Codes,
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
    """Breadth-first search from nodes begin..end - 1, whose graphs are nodes lowest..highest - 1.

    `sizes` holds the size of each node's graph. Returns the number of pairs found.
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
            if waiting == sizes[source]:  # all nodes of the graph are reached
                continue
            for position in range(edge_starts[node], edge_starts[node + 1]):
                other = neighbors[position]
                if seen[other - lowest] != source:
                    seen[other - lowest] = source
                    far[other - lowest] = far[node - lowest] + 1
                    queue[waiting] = other
                    waiting += 1
    return count
