"""Kernels on graphs, each by counts of what a graph is made of.

Samples are `Graph` objects, or graphs of networkx. Labels are whole numbers or strings. Graphs without
labels have the same label at every node, or edge; in one list all have labels or none. A graph without
nodes has the value 0 with everything; unconnected nodes have no path.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import csr_array, eye_array

from separatrix.arrays import Codes, Graph, require_flag, require_integer
from separatrix.compute.blocks import row_blocks
from separatrix.errors import DataError
from separatrix.kernels import feature_names
from separatrix.kernels.networkx_graphs import from_networkx, is_networkx
from separatrix.kernels.objects import Covered, FeatureKernel, Occurrences, as_objects
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


class GraphKernel(FeatureKernel):
    """A kernel on graphs."""

    takes = "graphs"

    def checked(self, X: Any) -> Any:
        """An array (n,) of `Graph`, all of them labelled or none."""
        return checked_graphs(type(self).__name__, X)

    def one_kind(self, X: Any) -> Any:
        """Graphs from two places, refused where some have labels and others not."""
        return _alike(type(self).__name__, X)

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """One."""
        return ((0, 1.0),)

    @property
    def family(self) -> Hashable:
        """Nothing is shared but with itself."""
        return self

    def looked_at(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Any:
        """The graphs side by side."""
        return union_of(X, vocabulary)


@dataclass(frozen=True)
class VertexHistogram(GraphKernel):
    """Node labels that two graphs share: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> water = Graph(3, np.array([[0, 1], [0, 2]]), node_labels=np.array(["O", "H", "H"]))
    >>> VertexHistogram().block([water], [water])
    array([[5.]])
    """

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each node."""
        width = len(vocabulary.tables["node labels"])
        return Occurrences(found.owners, found.node_labels, found.places, width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels."""
        return feature_names.labels(vocabulary, "node labels", numbers)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Each node itself."""
        return Covered(np.arange(len(occurrences.rows) + 1), occurrences.places)


@dataclass(frozen=True)
class EdgeHistogram(GraphKernel):
    """Edge labels that two graphs share: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]), edge_labels=np.array([1, 2]))
    >>> EdgeHistogram().block([path], [path])
    array([[2.]])
    """

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each edge, at its lower node."""
        first, _, once = _edges_once(found)
        width = len(vocabulary.tables["edge labels"])
        return Occurrences(found.owners[first], found.edge_labels[once], found.places[first], width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels."""
        return feature_names.labels(vocabulary, "edge labels", numbers)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Both ends of each edge."""
        first, second, _ = _edges_once(found)
        return _both_ends(found, first, second)


@dataclass(frozen=True)
class WeisfeilerLehman(GraphKernel):
    """Subtrees that two graphs share: labels, refined by those of the neighbours, round after round.

    k(G, H) = sum over rounds 0..iterations of sum_l c_l(G) c_l(H), where the label of a node after a
    round is its label before and the multiset of its neighbours'. Time grows with the edges.

    Parameters
    ----------
    iterations
        Rounds of refinement, which see that far around a node. At least 0: then `VertexHistogram`.
    edge_labels
        Whether the label of the edge to a neighbour counts too.

    Examples
    --------
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> triangle = Graph(3, np.array([[0, 1], [1, 2], [0, 2]]))
    >>> WeisfeilerLehman(1).block([path], [path, triangle])
    array([[14., 12.]])

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, Weisfeiler-Lehman Graph Kernels, JMLR
    12 (2011).
    """

    iterations: int = 5
    edge_labels: bool = False

    def __post_init__(self) -> None:
        require_integer("WeisfeilerLehman", "iterations", self.iterations, least=0)
        require_flag("WeisfeilerLehman", "edge_labels", self.edge_labels)

    @property
    def family(self) -> Hashable:
        """All numbers of rounds share the rounds."""
        return (WeisfeilerLehman, bool(self.edge_labels))

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Rounds."""
        return tuple((t, 1.0) for t in range(self.iterations + 1))

    def looked_at(
        self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]
    ) -> tuple[Union, list[Codes]]:
        """The graphs side by side, and the labels after each round."""
        union = union_of(X, vocabulary)
        rounds = [union.node_labels]
        for t in range(1, max(levels) + 1):
            rounds.append(_refined(union, rounds[-1], t, vocabulary, with_edges=self.edge_labels))
        return union, rounds

    def occurrences(
        self, X: Any, level: int, found: tuple[Union, list[Codes]], vocabulary: Vocabulary
    ) -> Occurrences:
        """One for each node."""
        union, rounds = found
        width = len(vocabulary.tables[f"round {level}" if level else "node labels"])
        return Occurrences(union.owners, rounds[level], union.places, width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """A node and, in brackets, its neighbours with theirs, as far as the round sees."""
        trees = feature_names.Subtrees(vocabulary, with_edges=self.edge_labels)
        return [trees.name(level, number) for number in numbers.tolist()]

    def covers(
        self, X: Any, level: int, found: tuple[Union, list[Codes]], occurrences: Occurrences
    ) -> Covered:
        """All nodes that are as near as the round sees."""
        union, _ = found
        n = int(union.starts[-1])
        if not n:
            return Covered(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.intp))
        edges = csr_array((np.ones(len(union.neighbors)), union.neighbors, union.tops), (n, n))
        step = eye_array(n, format="csr") + edges
        near = eye_array(n, format="csr")
        for _ in range(level):
            before, near = near.nnz, near @ step
            near.data[:] = 1.0
            if near.nnz == before:
                break
        near.sort_indices()
        return Covered(near.indptr.astype(np.intp), union.places[near.indices])


@dataclass(frozen=True)
class ShortestPath(GraphKernel):
    """Pairs of nodes that two graphs share: by the labels of both ends and the edges between them.

    k(G, H) = sum over labels a, b and lengths d of c_abd(G) c_abd(H), where c_abd counts the ordered
    pairs of different nodes so labelled whose shortest path has d edges. Time grows with the nodes
    times the edges of each graph.

    Examples
    --------
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> ShortestPath().block([path], [path])
    array([[20.]])

    References
    ----------
    Borgwardt and Kriegel, Shortest-Path Kernels on Graphs, ICDM (2005).
    """

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each ordered pair of nodes with a path, at its first node."""
        places, owners = found.places, found.owners
        rows, features, at = [], [], []
        for first, second, hops in _all_paths(found):
            labels = found.node_labels
            ends = vocabulary.pairs("ends", labels[first], labels[second])
            features.append(vocabulary.pairs("paths", ends, hops))
            rows.append(owners[first])
            at.append(places[first])
        none = np.zeros(0, dtype=np.intp)
        table = vocabulary.tables.get("paths")
        return Occurrences(
            np.concatenate([none, *rows]),
            np.concatenate([none, *features]),
            np.concatenate([none, *at]),
            0 if table is None else len(table),
        )

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels of both ends, and the edges between them."""
        return feature_names.paths(vocabulary, numbers)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Both ends of each path."""
        first, second, _ = _paths_of(found)
        return _both_ends(found, first, second)


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
    return _alike(owner, graphs)


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


def _alike(owner: str, graphs: Any) -> Any:
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


def _refined(
    union: Union, labels: Codes, t: int, vocabulary: Vocabulary, *, with_edges: bool
) -> Codes:
    """Labels after one more round: a label, then those of the neighbours in order, one by one."""
    around = labels[union.neighbors]
    if with_edges:
        around = vocabulary.pairs(f"edges {t}", union.edge_labels, around)
    degrees = np.diff(union.tops)
    _sort_each(union.tops, around)
    name = f"steps {t}"
    state = vocabulary.pairs(name, 2 * labels, 0)
    by_degree = np.argsort(-degrees, kind="stable")
    reach = np.searchsorted(-degrees[by_degree], -np.arange(1, degrees.max(initial=0) + 1), "right")
    for step, count in enumerate(reach):
        nodes = by_degree[:count]
        state[nodes] = vocabulary.pairs(
            name, 2 * state[nodes] + 1, around[union.tops[nodes] + step]
        )
    return vocabulary.pairs(f"round {t}", state, 0)


def _all_paths(union: Union) -> Iterator[tuple[Codes, Codes, Codes]]:
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


def _paths_of(union: Union) -> tuple[Codes, Codes, Codes]:
    """The same for all graphs together."""
    none = (np.zeros(0, dtype=np.intp),) * 3
    first, second, hops = map(np.concatenate, zip(none, *_all_paths(union), strict=True))
    return first, second, hops


def _edges_once(union: Union) -> tuple[Codes, Codes, Codes]:
    """The lower and the higher node of every edge, and where the edge is among those of all nodes."""
    first = np.repeat(np.arange(union.starts[-1]), np.diff(union.tops))
    once = np.flatnonzero(first < union.neighbors)
    return first[once], union.neighbors[once], once


def _both_ends(union: Union, first: Codes, second: Codes) -> Covered:
    ends = np.column_stack([union.places[first], union.places[second]])
    return Covered(2 * np.arange(len(ends) + 1), ends.ravel())


@njit(cache=True, nogil=True)
def _sort_each(tops: Codes, values: Codes) -> None:
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
