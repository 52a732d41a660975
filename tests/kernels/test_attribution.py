"""Contributions of features, letters and nodes: each is counted by hand from the definition."""

import networkx
import numpy as np
import pytest

from separatrix import Graph
from separatrix.kernels import (
    BagOfWords,
    EdgeHistogram,
    ShortestPath,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)
from separatrix.kernels.attribution import (
    attribute_features,
    attribute_subsequences,
    find_features,
)
from separatrix.kernels.vocabulary import Vocabulary

# C - O - N with a second C at O, and a lone H
MOLECULE = Graph(
    5, np.array([[0, 1], [2, 1], [1, 3]]), np.array(["C", "O", "N", "C", "H"]), np.array([1, 2, 1])
)


def objects(*items):
    found = np.empty(len(items), dtype=object)
    found[:] = items
    return found


def attributed(kernel, sample, names=None, weight=lambda level, number: 1.0):
    """Contributions of positions, and the terms of features by name, for given weights of features."""
    X = objects(sample)
    found = find_features(kernel, X, Vocabulary())
    weights = [
        np.array([weight(level, number) for number in range(part.width)])
        for (level, _), part in zip(kernel.levels, found.occurrences, strict=True)
    ]
    values, features = attribute_features(kernel, X, found, weights, names)
    sizes = [abs(feature.term) for feature in features]
    assert sizes == sorted(sizes, reverse=True)
    assert all(one.term == one.count * one.weight for one in features)
    assert values.sum() == pytest.approx(sum(one.term for one in features))
    return values.tolist(), {one.name: (one.count, one.weight) for one in features}


def test_a_word_gives_its_letters_equal_parts():
    values, features = attributed(Spectrum(2), "abab", weight=lambda _, number: 1.0 + number)
    assert features == {"ab": (2, 1.0), "ba": (1, 2.0)}
    assert values == [0.5, 0.5 + 1.0, 1.0 + 0.5, 0.5]


def test_words_of_several_lengths_add_up():
    values, features = attributed(Spectrum(3, shortest=2), "abc", weight=lambda level, _: level)
    assert features == {"ab": (1, 2), "bc": (1, 2), "abc": (1, 3)}
    assert values == [1.0 + 1.0, 1.0 + 1.0 + 1.0, 1.0 + 1.0]


def test_words_at_positions_are_named_from_1():
    values, features = attributed(WeightedDegree(2), "aa")
    assert features == {"a at 1": (1, 1.0), "a at 2": (1, 1.0), "aa at 1": (1, 1.0)}
    assert values == [1.5, 1.5]


@pytest.mark.parametrize("text", ["To be, to", b"To be, to"])
def test_words_of_a_text_cover_their_letters(text):
    values, features = attributed(BagOfWords(), text, weight=lambda _, number: 2.0 + 4 * number)
    assert features == {"to": (2, 2.0), "be": (1, 6.0)}
    assert values == [1.0, 1.0, 0.0, 3.0, 3.0, 0.0, 0.0, 1.0, 1.0]


def test_a_letter_that_becomes_two_in_lower_case_is_one_letter():
    values, features = attributed(BagOfWords(), "aİ b")
    assert values == [0.5, 0.5, 0.0, 1.0]
    assert sum(count for count, _ in features.values()) == 2


def test_tokens_are_words():
    assert attributed(BagOfWords(), ("To", "be", "To"))[0] == [1.0, 1.0, 1.0]
    assert attributed(BagOfWords(), ("To", "be", "To"))[1] == {"To": (2, 1.0), "be": (1, 1.0)}


def test_nodes_and_edges_of_a_graph():
    assert attributed(VertexHistogram(), MOLECULE) == (
        [1.0] * 5,
        {"C": (2, 1.0), "O": (1, 1.0), "N": (1, 1.0), "H": (1, 1.0)},
    )
    values, features = attributed(EdgeHistogram(), MOLECULE)
    assert features == {"1": (2, 1.0), "2": (1, 1.0)}
    assert values == [0.5, 1.5, 0.5, 0.5, 0.0]


def test_subtrees_cover_the_nodes_within_their_radius():
    graph = networkx.Graph([(0, 1), (1, 2), (1, 3)])
    graph.add_node(4)
    kernel = WeisfeilerLehman(3)
    X = objects(MOLECULE, Graph(2, np.array([[0, 1]]), np.array(["C", "O"]), np.array([1])))
    found = find_features(kernel, X, Vocabulary())
    for level, occurrences in enumerate(found.occurrences):
        starts, positions = kernel.coverage(X, level, found.encoded, occurrences)
        for node in range(5):
            near = sorted(networkx.single_source_shortest_path_length(graph, node, level))
            assert positions[starts[node] : starts[node + 1]].tolist() == near
        assert positions[starts[5] :].tolist() == ([0, 1] if level == 0 else [0, 1, 0, 1])
    none = objects(Graph(0, np.zeros((0, 2), int)))
    empty = find_features(kernel, none, Vocabulary())
    starts, positions = kernel.coverage(none, 1, empty.encoded, empty.occurrences[1])
    assert (starts.tolist(), positions.tolist()) == ([0], [])
    values, features = attributed(WeisfeilerLehman(1), MOLECULE)
    assert features["O(C,C,N)"] == (1, 1.0)
    assert features["C(O)"] == (2, 1.0)
    np.testing.assert_allclose(values, [1.75, 2.75, 1.75, 1.75, 2.0])


def test_paths_are_shared_by_their_ends():
    values, features = attributed(ShortestPath(both_ways=False, nodes=True), MOLECULE)
    assert features["C-O, 1 apart"] == (2, 1.0)
    assert features["C-C, 2 apart"] == (1, 1.0)
    assert features["H"] == (1, 1.0)
    assert values == [2.5, 2.5, 2.5, 2.5, 1.0]
    both, _ = attributed(ShortestPath(), MOLECULE)
    assert both == [3.0, 3.0, 3.0, 3.0, 0.0]


def test_names_may_replace_the_labels_of_nodes():
    _, features = attributed(VertexHistogram(), MOLECULE, names={"C": "carbon", "N": 7})
    assert set(features) == {"carbon", "O", "7", "H"}
    bare = Graph(2, np.array([[0, 1]]))
    assert attributed(VertexHistogram(), bare, names={"C": "carbon"})[1] == {"*": (2, 1.0)}


def test_features_that_a_closed_vocabulary_does_not_have_contribute_nothing():
    kernel, vocabulary = Spectrum(1), Vocabulary()
    find_features(kernel, objects("ab"), vocabulary)
    vocabulary.closed = True
    X = objects("xab")
    found = find_features(kernel, X, vocabulary)
    values, features = attribute_features(kernel, X, found, [np.array([2.0, -3.0])], None)
    assert values.tolist() == [0.0, 2.0, -3.0]
    assert [(one.name, one.term) for one in features] == [("b", -3.0), ("a", 2.0)]


@pytest.mark.parametrize("sample", ["cat", b"cat"])
def test_letters_of_subsequences_are_named_with_their_positions(sample):
    support = objects("car", "tax") if isinstance(sample, str) else objects(b"car", b"tax")
    values, features = attribute_subsequences(
        Subsequence(2, 0.5), objects(sample), support, np.array([2.0, 0.0])
    )
    np.testing.assert_allclose(values, [0.0625, 0.0625, 0.0])  # "ca": 2 * 0.5^4, in two parts
    assert sorted(one.name for one in features) == ["a at 2", "c at 1", "t at 3"]
    assert features[-1].term == 0.0
    assert all(one.count == 1 and one.weight == one.term for one in features)
