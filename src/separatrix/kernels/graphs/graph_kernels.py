"""Kernels on labelled graphs that count nodes, edges, subtrees or shortest paths.

Samples are `Graph` objects or networkx graphs. Labels are integers or strings; without labels, all nodes
or edges count as equal. In one list all graphs have labels or none. A graph without nodes has the value
0 with every other; nodes that are not connected have no path.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from separatrix.kernels import feature_names
from separatrix.kernels.graphs.graph_union import (
    GraphUnion,
    build_union,
    check_graphs,
    find_paths,
    iterate_paths,
    list_edges,
    require_same_labels,
    sort_neighborhoods,
)
from separatrix.kernels.object_kernels import (
    Coverage,
    FeatureKernel,
    Occurrences,
    count_occurrences,
)
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes
from separatrix.validation import require_flag, require_integer

Refined = tuple[GraphUnion, list[Codes]]
"""The union of graphs, and the node labels after each round of refinement."""


class GraphKernel(FeatureKernel):
    """A kernel on graphs."""

    takes = "graphs"

    def checked(self, X: Any) -> Any:
        return check_graphs(type(self).__name__, X)

    def require_one_type(self, X: Any) -> Any:
        return require_same_labels(type(self).__name__, X)

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        return ((0, 1.0),)

    def encode(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Any:
        return build_union(X, vocabulary)


@dataclass(frozen=True)
class VertexHistogram(GraphKernel):
    """Histogram of node labels: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> from separatrix import Graph
    >>> water = Graph(3, np.array([[0, 1], [0, 2]]), node_labels=np.array(["O", "H", "H"]))
    >>> VertexHistogram().block([water], [water])
    array([[5.]])
    """

    def occurrences(self, level: int, encoded: GraphUnion, vocabulary: Vocabulary) -> Occurrences:
        width = len(vocabulary.tables["node labels"])
        return Occurrences(encoded.owners, encoded.node_labels, encoded.positions, width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        return feature_names.name_labels(vocabulary, "node labels", numbers)


@dataclass(frozen=True)
class EdgeHistogram(GraphKernel):
    """Histogram of edge labels: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> from separatrix import Graph
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]), edge_labels=np.array([1, 2]))
    >>> EdgeHistogram().block([path], [path])
    array([[2.]])
    """

    def occurrences(self, level: int, encoded: GraphUnion, vocabulary: Vocabulary) -> Occurrences:
        first, _, once = list_edges(encoded)
        width = len(vocabulary.tables["edge labels"])
        return Occurrences(
            encoded.owners[first], encoded.edge_labels[once], encoded.positions[first], width
        )

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        return feature_names.name_labels(vocabulary, "edge labels", numbers)

    def coverage(
        self, X: Any, level: int, encoded: GraphUnion, occurrences: Occurrences
    ) -> Coverage:
        first, second, _ = list_edges(encoded)
        return _both_ends(encoded, first, second)


@dataclass(frozen=True)
class WeisfeilerLehman(GraphKernel):
    """Weisfeiler-Lehman subtree kernel: node labels, refined by the neighbours' labels in each round.

    k(G, H) = sum over rounds 0..iterations of sum_l c_l(G) c_l(H), where the label of a node after a
    round is its previous label and the multiset of its neighbours'. Time is linear in the edges.

    Parameters
    ----------
    iterations
        Rounds of refinement: the radius of the subtrees. At least 0, which is `VertexHistogram`.
    edge_labels
        Whether subtrees include the labels of edges.

    Examples
    --------
    >>> from separatrix import Graph
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
        return (WeisfeilerLehman, bool(self.edge_labels))

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        return tuple((t, 1.0) for t in range(self.iterations + 1))

    def encode(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Refined:
        union = build_union(X, vocabulary)
        rounds = [union.node_labels]
        for t in range(1, max(levels) + 1):
            labels = _refine_labels(union, rounds[-1], t, vocabulary, self.edge_labels)
            rounds.append(labels)
        return union, rounds

    def occurrences(self, level: int, encoded: Refined, vocabulary: Vocabulary) -> Occurrences:
        union, rounds = encoded
        width = len(vocabulary.tables[f"round {level}" if level else "node labels"])
        return Occurrences(union.owners, rounds[level], union.positions, width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        trees = feature_names.SubtreeNames(vocabulary, with_edges=self.edge_labels)
        return [trees.name(level, number) for number in numbers.tolist()]

    def coverage(self, X: Any, level: int, encoded: Refined, occurrences: Occurrences) -> Coverage:
        """The nodes within `level` edges of each node."""
        union, _ = encoded
        n = int(union.starts[-1])
        if not n:
            return Coverage(np.zeros(1, dtype=np.intp), np.zeros(0, dtype=np.intp))
        edges = csr_array(
            (np.ones(len(union.neighbors)), union.neighbors, union.edge_starts), (n, n)
        )
        step = eye_array(n, format="csr") + edges
        near = eye_array(n, format="csr")
        for _ in range(level):
            before, near = near.nnz, near @ step
            near.data[:] = 1.0
            if near.nnz == before:
                break
        near.sort_indices()
        return Coverage(near.indptr.astype(np.intp), union.positions[near.indices])


@dataclass(frozen=True)
class ShortestPath(GraphKernel):
    """Shortest-path kernel: pairs of nodes, by the labels of both ends and their distance.

    k(G, H) = sum over labels a, b and lengths d of c_abd(G) c_abd(H), where c_abd counts the pairs of
    different nodes with labels a and b whose shortest path has d edges. Time is proportional to nodes
    times edges of each graph.

    Parameters
    ----------
    both_ways
        Whether a pair counts in both directions, as in grakel. Otherwise a-b and b-a are the same.
    nodes
        Whether each node counts too, as a path without edges. Shervashidze's program, which produced
        the published figures, has both_ways=False and nodes=True.

    Examples
    --------
    >>> from separatrix import Graph
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]))
    >>> ShortestPath().block([path], [path])
    array([[20.]])
    >>> ShortestPath(both_ways=False, nodes=True).block([path], [path])
    array([[14.]])

    References
    ----------
    Borgwardt and Kriegel, Shortest-Path Kernels on Graphs, ICDM (2005).
    """

    both_ways: bool = True
    nodes: bool = False

    def __post_init__(self) -> None:
        require_flag("ShortestPath", "both_ways", self.both_ways)
        require_flag("ShortestPath", "nodes", self.nodes)

    def occurrences(self, level: int, encoded: GraphUnion, vocabulary: Vocabulary) -> Occurrences:
        none = np.zeros(0, dtype=np.intp)
        blocks = [block[:3] for block in self._iterate_occurrences(encoded, vocabulary)]
        rows, features, positions = map(
            np.concatenate, zip((none, none, none), *blocks, strict=True)
        )
        return Occurrences(rows, features, positions, _count_paths(vocabulary))

    def counts(
        self, X: Any, vocabulary: Vocabulary, levels: Sequence[int] | None = None
    ) -> list[Any]:
        # in blocks: all pairs of nodes may not fit in memory
        encoded = self.encode(X, vocabulary, (0,))
        blocks = [
            count_occurrences(block, len(X)).tocoo()
            for block in self._iterate_occurrences(encoded, vocabulary)
        ]
        none = np.zeros(0, dtype=np.intp)
        rows, features, counts = (
            np.concatenate([none, *(getattr(block, name) for block in blocks)])
            for name in ("row", "col", "data")
        )
        shape = (len(X), max(1, _count_paths(vocabulary)))
        return [csr_array((counts.astype(np.float64), (rows, features)), shape=shape)]

    def _iterate_occurrences(
        self, encoded: GraphUnion, vocabulary: Vocabulary
    ) -> Iterator[Occurrences]:
        positions, owners, labels = encoded.positions, encoded.owners, encoded.node_labels
        paths = iterate_paths(encoded, both_ways=self.both_ways, nodes=self.nodes)
        for first, second, hops in paths:
            one, other = labels[first], labels[second]
            if not self.both_ways:
                one, other = np.minimum(one, other), np.maximum(one, other)
            ends = vocabulary.pairs("ends", one, other)
            features = vocabulary.pairs("paths", ends, hops)
            width = _count_paths(vocabulary)
            yield Occurrences(owners[first], features, positions[first], width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        return feature_names.name_paths(vocabulary, numbers, both_ways=self.both_ways)

    def coverage(
        self, X: Any, level: int, encoded: GraphUnion, occurrences: Occurrences
    ) -> Coverage:
        first, second, _ = find_paths(encoded, both_ways=self.both_ways, nodes=self.nodes)
        return _both_ends(encoded, first, second)


def _refine_labels(
    union: GraphUnion, labels: Codes, t: int, vocabulary: Vocabulary, with_edges: bool
) -> Codes:
    """Labels after one more round: the old label and the sorted labels of the neighbours."""
    neighbor_labels = labels[union.neighbors]
    if with_edges:
        neighbor_labels = vocabulary.pairs(f"edges {t}", union.edge_labels, neighbor_labels)
    degrees = np.diff(union.edge_starts)
    sort_neighborhoods(union.edge_starts, neighbor_labels)
    name = f"steps {t}"
    state = vocabulary.pairs(name, 2 * labels, 0)
    by_degree = np.argsort(-degrees, kind="stable")
    reach = np.searchsorted(-degrees[by_degree], -np.arange(1, degrees.max(initial=0) + 1), "right")
    for step, count in enumerate(reach):
        nodes = by_degree[:count]
        state[nodes] = vocabulary.pairs(
            name, 2 * state[nodes] + 1, neighbor_labels[union.edge_starts[nodes] + step]
        )
    return vocabulary.pairs(f"round {t}", state, 0)


def _count_paths(vocabulary: Vocabulary) -> int:
    return len(vocabulary.tables.get("paths", ()))


def _both_ends(union: GraphUnion, first: Codes, second: Codes) -> Coverage:
    ends = np.column_stack([union.positions[first], union.positions[second]])
    return Coverage(2 * np.arange(len(ends) + 1), ends.ravel())
