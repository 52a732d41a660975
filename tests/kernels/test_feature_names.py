"""Names of features: each count is that of the words, labels, paths or subtrees of that name."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from separatrix import Graph
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    Gaussian,
    Linear,
    ShortestPath,
    Spectrum,
    VertexHistogram,
    WeisfeilerLehman,
)
from separatrix.kernels.base import device_kernel_refusal
from separatrix.kernels.feature_names import (
    MAX_LETTERS,
    MAX_ROUNDS,
    name_paths,
    name_words,
    to_text,
)
from separatrix.kernels.vocabulary import Vocabulary

# C - O - N with a second C at O, and labelled bonds
MOLECULE = Graph(
    4,
    np.array([[0, 1], [1, 2], [1, 3]]),
    node_labels=np.array(["C", "O", "N", "C"]),
    edge_labels=np.array([1, 2, 1]),
)


def named_counts(kernel, sample):
    """How often a sample has each feature, by the name of the feature."""
    vocabulary = Vocabulary()
    counts = kernel.counts(np.array([sample, None], dtype=object)[:1], vocabulary)
    found = Counter()
    for (level, _), part in zip(kernel.levels, counts, strict=True):
        row = part.toarray()[0]
        for name, count in zip(
            kernel.names(level, vocabulary, np.arange(len(row))), row.tolist(), strict=True
        ):
            found[name] += count
    return found


@pytest.mark.parametrize("k", [1, 2, 5, 9, 20])
def test_words_of_letters(k):
    text = "abracadabraäöü日本abracadabra"
    words = Counter(text[i : i + k] for i in range(len(text) - k + 1))
    assert named_counts(Spectrum(k, shortest=k), text) == words


def test_words_of_tokens():
    tokens = ("to", "be", "or", "not", "to", "be")
    words = Counter(" ".join(pair) for pair in pairwise(tokens))
    assert named_counts(Spectrum(2, shortest=2), tokens) == words


def test_words_of_a_text():
    expected = {"to": 2, "be": 2, "or": 1, "not": 1}
    assert named_counts(BagOfWords(), "to be or not to be") == expected


def test_labels():
    assert named_counts(VertexHistogram(), MOLECULE) == {"C": 2, "O": 1, "N": 1}
    assert named_counts(EdgeHistogram(), MOLECULE) == {"1": 2, "2": 1}
    plain = Graph(2, np.array([[0, 1]]))
    assert named_counts(VertexHistogram(), plain) == {"*": 2}
    negative = Graph(3, np.empty((0, 2), int), node_labels=np.array([-1, 0, -7]))
    assert named_counts(VertexHistogram(), negative) == {"-1": 1, "0": 1, "-7": 1}


def test_shortest_paths():
    names = named_counts(ShortestPath(), MOLECULE)
    found = {name.partition(",")[0] + name.rpartition(",")[2] for name in names if names[name]}
    assert {"C-O 1 apart", "N-O 1 apart", "C-N 2 apart", "C-C 2 apart"} <= found
    apart = Counter()
    for name, count in names.items():
        apart["2 apart" in name] += count * (" apart" in name)
    assert apart[True] == apart[False]  # three paths of one edge and three of two


def subtree(graph, node, depth, edges):
    """The name of a node's subtree by its definition."""
    if depth == 0:
        return str(graph.node_labels[node])
    branches = []
    for (a, b), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
        if node in (a, b):
            name = subtree(graph, a + b - node, depth - 1, edges)
            branches.append(f"{label}:{name}" if edges else name)
    return f"{graph.node_labels[node]}({','.join(sorted(branches))})"


@pytest.mark.slow
@pytest.mark.parametrize("edges", [False, True])
def test_subtrees(edges):
    kernel = WeisfeilerLehman(3, edge_labels=edges)
    expected = Counter()
    for depth in range(4):
        for node in range(4):
            name = subtree(MOLECULE, node, depth, edges)
            long = len(name) > MAX_LETTERS
            expected[name[: MAX_LETTERS - 3] + "..." if long else name] += 1
    found = {name: n for name, n in named_counts(kernel, MOLECULE).items() if "..." not in name}
    assert found == {name: n for name, n in expected.items() if "..." not in name}
    assert max(map(len, named_counts(WeisfeilerLehman(40), MOLECULE))) <= MAX_LETTERS


def test_a_composed_kernel_has_the_parts_it_was_made_of():
    first, second, third = Gaussian(1.0), Gaussian(2.0), Linear()
    inner = first + second
    assert (inner * third).parts == [inner, third]
    assert inner.parts == [first, second]


def test_kernels_of_objects_are_refused_on_a_device_and_those_of_vectors_are_not():
    for kernel in (Spectrum(2), WeisfeilerLehman(2), 2.0 * Spectrum(3)):
        assert "not a function of inner products" in device_kernel_refusal(kernel)
    for kernel in (Gaussian(1.0), Linear(), Gaussian(1.0) + Linear(), "precomputed"):
        assert device_kernel_refusal(kernel) is None


@pytest.mark.parametrize("long", [0, 1])
def test_a_name_of_a_subtree_is_cut_above_its_longest_length(long):
    """A star: its name has the label of its centre and, in parentheses, those of two others."""
    centre = "c" * (MAX_LETTERS - 5 + long)
    star = Graph(3, np.array([[0, 1], [0, 2]]), node_labels=np.array([centre, "a", "b"]))
    names = named_counts(WeisfeilerLehman(1), star)
    whole = f"{centre}(a,b)"
    assert len(whole) == MAX_LETTERS + long
    assert (whole in names) == (long == 0)
    if long:
        assert f"{whole[: MAX_LETTERS - 3]}..." in names


def test_rounds_that_no_name_can_show_have_the_names_of_earlier_ones():
    pair = Graph(2, np.array([[0, 1]]), node_labels=np.array(["a", "b"]))
    vocabulary = Vocabulary()
    kernel = WeisfeilerLehman(MAX_ROUNDS + 2)
    kernel.counts(np.array([pair, None], dtype=object)[:1], vocabulary)
    at_last = kernel.names(MAX_ROUNDS, vocabulary, np.array([0, 1]))
    assert kernel.names(MAX_ROUNDS + 2, vocabulary, np.array([0, 1])) == at_last
    assert at_last[0] != at_last[1]
    assert kernel.names(3, vocabulary, np.array([0])) == ["a(b(a(b)))"]


def test_paths_both_ways_keep_their_direction():
    chain = Graph(3, np.array([[0, 1], [1, 2]]), node_labels=np.array(["b", "a", "c"]))
    both = named_counts(ShortestPath(), chain)
    expected = ["b-a, 1", "a-b, 1", "a-c, 1", "c-a, 1", "b-c, 2", "c-b, 2"]
    assert both == {f"{name} apart": 1 for name in expected}
    once = named_counts(ShortestPath(both_ways=False, nodes=True), chain)
    expected = {"a-b, 1 apart", "a-c, 1 apart", "b-c, 2 apart", "a", "b", "c"}
    assert once == dict.fromkeys(expected, 1)


def test_no_features_have_no_names():
    none = np.zeros(0, dtype=np.intp)
    assert name_words(Vocabulary(), none, 3) == []
    assert name_paths(Vocabulary(), none, both_ways=True) == []
    assert [to_text(symbol) for symbol in ("a", b"\xff", 7)] == ["a", "\xff", "7"]
