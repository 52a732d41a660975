"""Kernels on sequences and graphs straight from their definitions: slow reference implementations.

Each kernel is a function of two samples. A sequence is a str, bytes or a tuple of tokens; a graph has
`n_nodes`, `edges`, `node_labels` and `edge_labels`. Below them, generators of small random samples, and
tables of kernels with their definitions.
"""

import re
from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np

from separatrix.data.graph import Graph
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Kernel,
    ShortestPath,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)


def block(definition, X, Z):
    """Values of every sample of X with every sample of Z, (n, m), one pair at a time."""
    return np.array([[definition(x, z) for z in Z] for x in X], dtype=float).reshape(len(X), len(Z))


def inner(first, second):
    """Sum over common keys of the product of both counts."""
    return sum(count * second[what] for what, count in first.items() if what in second)


# Sequences


@lru_cache(maxsize=None, typed=True)  # a decay may be a float or an equal Fraction
def substrings(s, length):
    """How often each run of `length` letters occurs."""
    return Counter(s[i : i + length] for i in range(len(s) - length + 1))


def spectrum(s, t, k, shortest=None, weights=None):
    """Common substrings of each length, `shortest` to k, times the weight of the length."""
    lengths = range(k if shortest is None else shortest, k + 1)
    weights = weights or [1] * len(lengths)
    return sum(
        weight * inner(substrings(s, length), substrings(t, length))
        for length, weight in zip(lengths, weights, strict=True)
    )


def weighted_degree(s, t, k):
    """Common substrings at the same position, of every length d up to k, times beta_d."""
    total = 0.0
    for d in range(1, k + 1):
        positions = range(min(len(s), len(t)) - d + 1)
        matches = sum(s[i : i + d] == t[i : i + d] for i in positions)
        total += 2 * (k - d + 1) / (k * (k + 1)) * matches
    return total


@lru_cache(maxsize=None, typed=True)  # a decay may be a float or an equal Fraction
def subsequences(s, k, decay):
    """Each subsequence of k letters, with decay^span summed over the ways to find it.

    Exact if the decay is a Fraction.
    """
    found = {}
    for positions in combinations(range(len(s)), k):
        letters = tuple(s[i] for i in positions)
        found[letters] = found.get(letters, 0) + decay ** (positions[-1] - positions[0] + 1)
    return found


def subsequence(s, t, k, decay):
    """Common subsequences of k letters; gaps cost."""
    return inner(subsequences(s, k, decay), subsequences(t, k, decay))


@lru_cache(maxsize=None, typed=True)  # a decay may be a float or an equal Fraction
def words(s, lowercase):
    """How often each word occurs; tokens are words as they are."""
    if isinstance(s, tuple):
        return Counter(s)
    pattern = r"\w+" if isinstance(s, str) else rb"\w+"
    return Counter(re.findall(pattern, s.lower() if lowercase else s))


def bag_of_words(s, t, lowercase=True):
    """Common words."""
    return inner(words(s, lowercase), words(t, lowercase))


# Graphs


def node_labels(graph):
    """The label of each node; all the same where there are none."""
    return [0] * graph.n_nodes if graph.node_labels is None else graph.node_labels.tolist()


def edge_labels(graph):
    """The label of each edge; all the same where there are none."""
    return [0] * len(graph.edges) if graph.edge_labels is None else graph.edge_labels.tolist()


def neighbours(graph):
    """Of each node, its neighbours as (node, label of the edge)."""
    found = [[] for _ in range(graph.n_nodes)]
    for (a, b), label in zip(graph.edges.tolist(), edge_labels(graph), strict=True):
        found[a].append((b, label))
        found[b].append((a, label))
    return found


def vertex_histogram(G, H):
    """Common labels of nodes."""
    return inner(Counter(node_labels(G)), Counter(node_labels(H)))


def edge_histogram(G, H):
    """Common labels of edges."""
    return inner(Counter(edge_labels(G)), Counter(edge_labels(H)))


@lru_cache(maxsize=None, typed=True)  # a decay may be a float or an equal Fraction
def subtrees(graph, iterations, with_edge_labels):
    """The nodes' labels after each refinement, as nested tuples; a Counter for each refinement."""
    labels = node_labels(graph)
    levels = [Counter(labels)]
    for _ in range(iterations):
        labels = [
            (
                labels[node],
                tuple(
                    sorted(
                        ((edge, labels[other]) if with_edge_labels else labels[other])
                        for other, edge in around
                    )
                ),
            )
            for node, around in enumerate(neighbours(graph))
        ]
        levels.append(Counter(labels))
    return levels


def weisfeiler_lehman(G, H, iterations, edge_labels=False):
    """Common labels of nodes, summed over all refinements."""
    return sum(
        inner(of_g, of_h)
        for of_g, of_h in zip(
            subtrees(G, iterations, edge_labels), subtrees(H, iterations, edge_labels), strict=True
        )
    )


@lru_cache(maxsize=None, typed=True)  # a decay may be a float or an equal Fraction
def paths(graph):
    """How many ordered pairs of nodes there are of each (label, label, hops between them)."""
    labels, around, found = node_labels(graph), neighbours(graph), Counter()
    for start in range(graph.n_nodes):
        hops = {start: 0}
        queue = [start]
        for node in queue:  # breadth first: the queue grows while it is read
            for other, _ in around[node]:
                if other not in hops:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        found.update((labels[start], labels[end], hops[end]) for end in queue[1:])
    return found


def shortest_path(G, H):
    """Common shortest paths, known by the labels of their ends and their number of edges."""
    return inner(paths(G), paths(H))


def published_path(G, H):
    """The same, each pair once whichever end comes first, and each node as a path without edges."""
    return inner(_once(G), _once(H))


def _once(graph):
    found = Counter({(label, label, 0): n for label, n in Counter(node_labels(graph)).items()})
    for (a, b, hops), count in paths(graph).items():
        found[(*sorted([a, b]), hops)] += count / 2  # both directions are there
    return found


# Random samples


def random_sequences(rng, count, letters, longest=9):
    """Sequences of 0 to `longest` of these letters, of the type of `letters`: str, bytes or tuple."""
    found = []
    for _ in range(count):
        drawn = [letters[i] for i in rng.integers(len(letters), size=rng.integers(longest + 1))]
        if isinstance(letters, str):
            found.append("".join(drawn))
        else:
            found.append(type(letters)(drawn))
    return found


def random_graphs(rng, count, *, nodes=None, edges=None, fewest=0, most=7):
    """Graphs of `fewest` to `most` nodes, from none to all edges; labels drawn from `nodes`, `edges`."""
    found = []
    for _ in range(count):
        n = int(rng.integers(fewest, most + 1))
        pairs = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in combinations(range(n), 2)]
        density = rng.choice([0.0, 0.2, 0.4, 0.7, 1.0])
        drawn = [pair for pair in pairs if rng.random() < density]
        found.append(
            Graph(
                n,
                np.array(drawn, dtype=int).reshape(-1, 2),
                None if nodes is None else rng.choice(nodes, size=n),
                None if edges is None else rng.choice(edges, size=len(drawn)),
            )
        )
    return found


LETTERS = {
    "two": "ab",
    "four": "acgt",
    "unicode": "aä€𝄞",
    "texts": "aAb .ß",
    "bytes": b"aA \x00\xff",
    "words": ("to", "be", "or", ""),
    "numbers": (0, -1, 7, 10**15),
}
LABELS = {
    "none": {},
    "nodes": {"nodes": [1, 2, 3]},
    "strings": {"nodes": ["C", "N", "Cl"], "edges": ["-", "="]},
    "both": {"nodes": [4, -4], "edges": [7, -7, 10**15]},
    "edges": {"edges": [0, 1, 2]},
}


def some(kind, count, seed, **sizes):
    """Random samples: sequences of the named letters, or graphs with the named labels."""
    rng = np.random.default_rng(seed)
    if kind in LETTERS:
        return random_sequences(rng, count, LETTERS[kind], **sizes)
    return random_graphs(rng, count, **LABELS[kind], **sizes)


def named(part):
    """The id of a parameter of a test: a kernel as it prints."""
    return repr(part) if isinstance(part, Kernel) else None


def _defined(kernel, definition, **params):
    return kernel(**params), lambda x, z: definition(x, z, **params)


ON_SEQUENCES = [
    _defined(Spectrum, spectrum, k=1),
    _defined(Spectrum, spectrum, k=3),
    _defined(Spectrum, spectrum, k=3, shortest=1),
    _defined(Spectrum, spectrum, k=2, shortest=2),
    _defined(Spectrum, spectrum, k=4, shortest=2, weights=(0.5, 3.0, 0.7)),
    _defined(WeightedDegree, weighted_degree, k=1),
    _defined(WeightedDegree, weighted_degree, k=3),
    _defined(WeightedDegree, weighted_degree, k=8),
    _defined(Subsequence, subsequence, k=1, decay=0.5),
    _defined(Subsequence, subsequence, k=2, decay=0.3),
    _defined(Subsequence, subsequence, k=3, decay=0.9),
    _defined(Subsequence, subsequence, k=4, decay=1.0),
    _defined(BagOfWords, bag_of_words),
    _defined(BagOfWords, bag_of_words, lowercase=False),
]
ON_GRAPHS = [
    _defined(VertexHistogram, vertex_histogram),
    _defined(EdgeHistogram, edge_histogram),
    _defined(WeisfeilerLehman, weisfeiler_lehman, iterations=0),
    _defined(WeisfeilerLehman, weisfeiler_lehman, iterations=1),
    _defined(WeisfeilerLehman, weisfeiler_lehman, iterations=5),
    _defined(WeisfeilerLehman, weisfeiler_lehman, iterations=3, edge_labels=True),
    _defined(ShortestPath, shortest_path),
    (ShortestPath(both_ways=False, nodes=True), published_path),
]
