"""Kernels on graphs, each by counts of what a graph is made of.

Samples are `Graph` objects, or graphs of networkx. Labels are whole numbers or strings. Graphs without
labels have the same label at every node, or edge; in one list all have labels or none. A graph without
nodes has the value 0 with everything; unconnected nodes have no path.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from separatrix.kernels import feature_names
from separatrix.kernels.graphs.graph_union import (
    Union,
    alike,
    all_paths,
    checked_graphs,
    edges_once,
    paths_of,
    sort_each,
    union_of,
)
from separatrix.kernels.object_kernels import Covered, FeatureKernel, Occurrences, counted
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes
from separatrix.validation import require_flag, require_integer


class GraphKernel(FeatureKernel):
    """A kernel on graphs."""

    takes = "graphs"

    def checked(self, X: Any) -> Any:
        """An array (n,) of `Graph`, all of them labelled or none."""
        return checked_graphs(type(self).__name__, X)

    def one_kind(self, X: Any) -> Any:
        """Graphs from two places, refused where some have labels and others not."""
        return alike(type(self).__name__, X)

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """One."""
        return ((0, 1.0),)

    @property
    def family(self) -> Hashable:
        """Nothing is shared but with itself."""
        return self

    def found_features(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Any:
        """The graphs side by side."""
        return union_of(X, vocabulary)


@dataclass(frozen=True)
class VertexHistogram(GraphKernel):
    """Node labels that two graphs share: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> from separatrix import Graph
    >>> water = Graph(3, np.array([[0, 1], [0, 2]]), node_labels=np.array(["O", "H", "H"]))
    >>> VertexHistogram().block([water], [water])
    array([[5.]])
    """

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each node."""
        width = len(vocabulary.tables["node labels"])
        return Occurrences(found.owners, found.node_labels, found.positions, width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels."""
        return feature_names.labels(vocabulary, "node labels", numbers)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Each node itself."""
        return Covered(np.arange(len(occurrences.rows) + 1), occurrences.positions)


@dataclass(frozen=True)
class EdgeHistogram(GraphKernel):
    """Edge labels that two graphs share: k(G, H) = sum_l c_l(G) c_l(H).

    Examples
    --------
    >>> from separatrix import Graph
    >>> path = Graph(3, np.array([[0, 1], [1, 2]]), edge_labels=np.array([1, 2]))
    >>> EdgeHistogram().block([path], [path])
    array([[2.]])
    """

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each edge, at its lower node."""
        first, _, once = edges_once(found)
        width = len(vocabulary.tables["edge labels"])
        return Occurrences(
            found.owners[first], found.edge_labels[once], found.positions[first], width
        )

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels."""
        return feature_names.labels(vocabulary, "edge labels", numbers)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Both ends of each edge."""
        first, second, _ = edges_once(found)
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
        """All numbers of rounds share the rounds."""
        return (WeisfeilerLehman, bool(self.edge_labels))

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Rounds."""
        return tuple((t, 1.0) for t in range(self.iterations + 1))

    def found_features(
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
        return Occurrences(union.owners, rounds[level], union.positions, width)

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
        return Covered(near.indptr.astype(np.intp), union.positions[near.indices])


@dataclass(frozen=True)
class ShortestPath(GraphKernel):
    """Pairs of nodes that two graphs share: by the labels of both ends and the edges between them.

    k(G, H) = sum over labels a, b and lengths d of c_abd(G) c_abd(H), where c_abd counts the pairs of
    different nodes so labelled whose shortest path has d edges. Time grows with the nodes times the
    edges of each graph.

    Parameters
    ----------
    both_ways
        Whether a pair counts from either end, as in grakel. Otherwise a-b and b-a are the same.
    nodes
        Whether each node counts too, as a path without edges. Shervashidze's programme, with which
        the published figures were made, has both_ways=False and nodes=True.

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

    def occurrences(self, X: Any, level: int, found: Union, vocabulary: Vocabulary) -> Occurrences:
        """One for each pair of nodes with a path, at its first node."""
        none = np.zeros(0, dtype=np.intp)
        met = [(none, none, none), *(part[:3] for part in self._parts(found, vocabulary))]
        rows, features, positions = map(np.concatenate, zip(*met, strict=True))
        return Occurrences(rows, features, positions, _numbers(vocabulary, "paths"))

    def counts(
        self, X: Any, vocabulary: Vocabulary, levels: Sequence[int] | None = None
    ) -> list[Any]:
        """Some pairs of nodes at a time: all of them may not fit the memory."""
        found = self.found_features(X, vocabulary, (0,))
        met = [counted(part, len(X)).tocoo() for part in self._parts(found, vocabulary)]
        none = np.zeros(0, dtype=np.intp)
        rows, features, counts = (
            np.concatenate([none, *(getattr(part, name) for part in met)])
            for name in ("row", "col", "data")
        )
        shape = (len(X), max(1, _numbers(vocabulary, "paths")))
        return [csr_array((counts.astype(np.float64), (rows, features)), shape=shape)]

    def _parts(self, found: Union, vocabulary: Vocabulary) -> Iterator[Occurrences]:
        positions, owners, labels = found.positions, found.owners, found.node_labels
        for first, second, hops in all_paths(found, both_ways=self.both_ways, nodes=self.nodes):
            one, other = labels[first], labels[second]
            if not self.both_ways:
                one, other = np.minimum(one, other), np.maximum(one, other)
            ends = vocabulary.pairs("ends", one, other)
            features = vocabulary.pairs("paths", ends, hops)
            width = _numbers(vocabulary, "paths")
            yield Occurrences(owners[first], features, positions[first], width)

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The labels of both ends, and the edges between them."""
        return feature_names.paths(vocabulary, numbers, both_ways=self.both_ways)

    def covers(self, X: Any, level: int, found: Union, occurrences: Occurrences) -> Covered:
        """Both ends of each path."""
        first, second, _ = paths_of(found, both_ways=self.both_ways, nodes=self.nodes)
        return _both_ends(found, first, second)


def _refined(
    union: Union, labels: Codes, t: int, vocabulary: Vocabulary, *, with_edges: bool
) -> Codes:
    """Labels after one more round: a label, then those of the neighbours in order, one by one."""
    around = labels[union.neighbors]
    if with_edges:
        around = vocabulary.pairs(f"edges {t}", union.edge_labels, around)
    degrees = np.diff(union.tops)
    sort_each(union.tops, around)
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


def _numbers(vocabulary: Vocabulary, name: str) -> int:
    return len(vocabulary.tables[name]) if name in vocabulary.tables else 0


def _both_ends(union: Union, first: Codes, second: Codes) -> Covered:
    ends = np.column_stack([union.positions[first], union.positions[second]])
    return Covered(2 * np.arange(len(ends) + 1), ends.ravel())
