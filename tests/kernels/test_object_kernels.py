"""Every kernel on sequences or graphs against its definition, and what all of them have in common."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.kernels import definitions
from tests.kernels.definitions import LABELS, LETTERS, ON_GRAPHS, ON_SEQUENCES, some

from separatrix import kernels
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    BagOfWords,
    Gaussian,
    Normalized,
    Product,
    Scaled,
    ShortestPath,
    Spectrum,
    Subsequence,
    Sum,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

BOTH = ((ON_SEQUENCES, LETTERS), (ON_GRAPHS, LABELS))
DEFINED = [*ON_SEQUENCES, *ON_GRAPHS]
KERNELS = [kernel for kernel, _ in DEFINED]


def each(kinds=(*LETTERS, *LABELS)):
    """Every kernel with its definition and each of these kinds of samples that it takes."""
    return pytest.mark.parametrize(
        ("kernel", "definition", "kind"),
        [
            pytest.param(kernel, definition, kind, id=f"{kernel!r}-{kind}")
            for defined, own in BOTH
            for kernel, definition in defined
            for kind in own
            if kind in kinds
        ],
    )


every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def assert_same(kernel, found, expected):
    """Counts of graphs are exact; sums over sequences are rounded."""
    rtol = 0 if kernel.takes == "graphs" else 1e-12
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)


@pytest.mark.slow
@each()
def test_values_match_the_definition(kernel, definition, kind):
    X, Z = some(kind, 50, 1), some(kind, 40, 2)

    values = kernel.block(X, Z)

    assert values.dtype == np.float64
    assert_same(kernel, values, definitions.block(definition, X, Z))


@pytest.mark.slow
@each()
def test_a_matrix_is_symmetric_and_semidefinite_and_has_the_diagonal(kernel, definition, kind):
    X = some(kind, 40, 3)

    K = kernel.block(X, X)

    assert_same(kernel, K, K.T)
    assert_same(kernel, K, kernel.block(X, list(X)))  # another list: both halves are computed
    assert_same(kernel, kernel.diagonal(X), np.diagonal(K))
    spread = np.linalg.eigvalsh(K)
    assert spread[0] >= -1e-9 * spread[-1]
    assert spread[-1] > 0


@pytest.mark.slow
@each(["unicode", "bytes", "words", "none", "strings"])
def test_a_block_in_parts_is_the_block(kernel, definition, kind):
    X, Z = some(kind, 13, 4), some(kind, 11, 5)

    parts = [
        [kernel.block(X[i : i + 1], Z[:7]), kernel.block(X[i : i + 1], Z[7:])] for i in range(13)
    ]

    assert_same(kernel, np.block(parts), kernel.block(X, Z))


STRANGE = {
    "four": ["tzzza", "ZZZZ", "Ωacgt", "acgt acgt"],
    "both": definitions.random_graphs(
        np.random.default_rng(8), 5, nodes=[50, -4, -60], edges=[7, 70]
    ),
}


@each(STRANGE)
def test_features_of_other_samples_change_nothing(kernel, definition, kind):
    X, Z, strange = some(kind, 12, 6), some(kind, 9, 7), STRANGE[kind]

    wide = kernel.block([*X, *strange], [*Z[:4], *strange, *Z[4:]])

    kept = np.delete(wide[:12], slice(4, 4 + len(strange)), axis=1)
    assert_same(kernel, kept, kernel.block(X, Z))


@each(["words", "both"])
def test_lists_tuples_and_arrays_are_the_same_samples(kernel, definition, kind):
    X = some(kind, 10, 8)
    held = np.empty(10, dtype=object)
    held[:] = X
    expected = kernel.block(X, X)
    lists = [list(x) for x in X] if kind == "words" else X

    assert_same(kernel, kernel.block(lists, tuple(X)), expected)
    np.testing.assert_array_equal(kernel.block(held, held), expected)
    np.testing.assert_array_equal(kernel.diagonal(held), kernel.diagonal(X))


@pytest.mark.parametrize(
    ("kind", "combined"),
    [
        (Sum, lambda a, b: a + b),
        (Product, lambda a, b: a * b),
        (Scaled, lambda a, b: 2.5 * (a + b)),
    ],
)
@pytest.mark.parametrize(
    ("parts", "samples"),
    [
        ((ON_SEQUENCES[3], ON_SEQUENCES[9]), "four"),
        ((ON_GRAPHS[4], ON_GRAPHS[6]), "both"),
    ],
    ids=["sequences", "graphs"],
)
def test_composed_kernels_match_the_definitions(parts, samples, kind, combined):
    X, Z = some(samples, 30, 12), some(samples, 20, 13)
    kernel = combined(*(kernel for kernel, _ in parts))

    def definition(x, z):
        return combined(*(definition(x, z) for _, definition in parts))

    assert isinstance(kernel, kind)
    np.testing.assert_allclose(kernel.block(X, Z), definitions.block(definition, X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), [definition(x, x) for x in X], rtol=1e-12)


@pytest.mark.slow
@each(["texts", "both"])
def test_the_normalised_kernel_matches_the_definition(kernel, definition, kind):
    X, Z = some(kind, 30, 14), some(kind, 20, 15)

    def cosine(x, z):
        length = np.sqrt(definition(x, x) * definition(z, z))
        return definition(x, z) / length if length else 0.0

    np.testing.assert_allclose(
        Normalized(kernel).block(X, Z), definitions.block(cosine, X, Z), rtol=1e-12
    )
    np.testing.assert_array_equal(
        Normalized(kernel).diagonal(X), [float(definition(x, x) > 0) for x in X]
    )


def labelled_graph(n, labels):
    edges = np.array([[0, 1], [1, 2]])[: max(n - 1, 0)]
    values = (np.ones(n, dtype=int), np.ones(len(edges), dtype=int)) if labels else (None, None)
    return Graph(n, edges, *values)


EMPTY_AND_FULL = {
    "two": ("", "abcab abcab"),
    "bytes": (b"", b"abcab abcab"),
    "words": ((), tuple("abcababcab")),
    "none": (labelled_graph(0, False), labelled_graph(3, False)),
    "both": (labelled_graph(0, True), labelled_graph(3, True)),
}


@each(EMPTY_AND_FULL)
def test_an_empty_sample_has_value_zero_with_every_sample(kernel, definition, kind):
    empty, full = EMPTY_AND_FULL[kind]

    for wrapped in (kernel, Normalized(kernel)):
        values = wrapped.block([empty, full], [empty, full])
        assert values[0].tolist() == [0.0, 0.0]
        assert values[1, 0] == 0.0
        assert values[1, 1] > 0
        assert wrapped.diagonal([empty]).tolist() == [0.0]
        assert wrapped.block([empty], [empty]).tolist() == [[0.0]]


@each(["two", "nodes"])
def test_no_samples_give_an_empty_block(kernel, definition, kind):
    (one,) = some(kind, 1, 0)
    assert kernel.block([], [one]).shape == (0, 1)
    assert kernel.block([one], []).shape == (1, 0)
    assert kernel.diagonal([]).shape == (0,)


@pytest.mark.parametrize("kernel", [*KERNELS, Spectrum(2, alphabet="acgt")], ids=repr)
def test_a_kernel_prints_as_its_constructor_call_and_is_hashable(kernel):
    again = eval(repr(kernel), vars(kernels))
    assert again == kernel
    assert hash(again) == hash(kernel)


SEQUENCES = "takes a list of strings, of bytes, or of lists of tokens; "
TOKENS = "takes tokens that are strings or integers; "
GRAPHS = "takes a list of Graph objects or of networkx graphs; "
LABELLED = "takes graphs whose {} have labels of one type; got {} in one list"
BARE, EDGES_ONLY = Graph(2, [[0, 1]]), Graph(2, [[0, 1]], None, [3])
NUMBERED, LETTERED = Graph(2, [[0, 1]], [1, 2]), Graph(2, [[0, 1]], ["a", "b"])
NOT_SEQUENCES = [
    ("abc", SEQUENCES + "got a single str: put it into a list"),
    (b"abc", SEQUENCES + "got a single bytes: put it into a list"),
    (np.eye(2), SEQUENCES + r"got ndarray of shape \(2, 2\)"),
    (csr_array(np.eye(2)), SEQUENCES + r"got csr_array of shape \(2, 2\)"),
    (pd.DataFrame({"a": ["x"]}), SEQUENCES + r"got DataFrame of shape \(1, 1\): pass its one col"),
    (np.array([["a", "b"]], dtype=object), SEQUENCES + r"got ndarray of shape \(1, 2\)"),
    (None, SEQUENCES + "got NoneType"),
    (3, SEQUENCES + "got int"),
    ([1, 2], SEQUENCES + "item 0 is int 1"),
    (np.arange(3), SEQUENCES + "item 0 is int64"),
    (["a", None], SEQUENCES + "item 1 is NoneType None"),
    (pd.Series(["a", np.nan]), SEQUENCES + "item 1 is float nan"),
    (["a", Graph(1, [])], SEQUENCES + r"item 1 is Graph Graph\(1 nodes, 0 edges\)"),
    (["a", bytearray(b"a")], SEQUENCES + "item 1 is bytearray"),
    ([["a"], np.eye(2)], SEQUENCES + "item 1 is ndarray"),
    (["a", b"a"], "takes sequences of one type; got bytes and str in one list"),
    (["a", ["a"]], "takes sequences of one type; got str and tuple in one list"),
    ([["a"], [1.0]], TOKENS + "item 1 has 1.0"),
    ([["a", None]], TOKENS + "item 0 has None"),
    ([[True]], TOKENS + "item 0 has True"),
    ([[["a"]]], TOKENS + r"item 0 has \['a'\]"),
]
NOT_GRAPHS = [
    (NUMBERED, GRAPHS + "got a single Graph: put it into a list"),
    ("CN", GRAPHS + "got a single str: put it into a list"),
    (np.eye(2), GRAPHS + r"got ndarray of shape \(2, 2\)"),
    (None, GRAPHS + "got NoneType"),
    ([1, 2], GRAPHS + "item 0 is int 1"),
    (["CN"], GRAPHS + "item 0 is str 'CN'"),
    ([NUMBERED, "CN"], GRAPHS + "item 1 is str 'CN'"),
    ([NUMBERED, np.eye(2)], GRAPHS + "item 1 is ndarray"),
    ([NUMBERED, BARE], LABELLED.format("nodes", "no labels and numbers")),
    ([NUMBERED, LETTERED], LABELLED.format("nodes", "numbers and strings")),
    ([EDGES_ONLY, BARE], LABELLED.format("edges", "no labels and numbers")),
]


@pytest.mark.parametrize(
    ("kernel", "X", "sentence"),
    [
        pytest.param(kernel, X, sentence, id=f"{kernel!r}-{type(X).__name__}")
        for listed, refused in (
            ([Spectrum(2), WeightedDegree(2), Subsequence(2), BagOfWords()], NOT_SEQUENCES),
            ([kernel for kernel, _ in ON_GRAPHS], NOT_GRAPHS),
        )
        for kernel in listed
        for X, sentence in refused
    ],
)
def test_input_other_than_a_list_of_samples_is_refused(kernel, X, sentence):
    for wrapped in (kernel, Normalized(kernel)):
        for call in (lambda k: k.diagonal(X), lambda k: k.block(X, X), lambda k: k.block([], X)):
            with pytest.raises(DataError, match=f"^{type(kernel).__name__} {sentence}"):
                call(wrapped)


@every_kernel
def test_samples_of_two_types_have_no_value_with_each_other(kernel):
    pairs = {
        "sequences": [("ab", b"ab", "bytes and str"), ("ab", ["a", "b"], "str and tuple")],
        "graphs": [
            (NUMBERED, BARE, "no labels and numbers"),
            (LETTERED, NUMBERED, "numbers and strings"),
        ],
    }
    for first, second, both in pairs[kernel.takes]:
        for X, Z in (([first], [second]), ([second], [first])):
            with pytest.raises(DataError, match=f"of one type; got {both} in one list"):
                kernel.block(X, Z)


@pytest.mark.parametrize(
    ("make", "name", "must_be"),
    [
        (lambda: Spectrum(0), "k", "an integer of at least 1; got 0"),
        (lambda: Spectrum(2.0), "k", "an integer of at least 1; got 2.0"),
        (lambda: Spectrum(True), "k", "an integer of at least 1; got True"),
        (lambda: Spectrum(2, 3), "shortest", "at most k=2; got 3"),
        (lambda: Spectrum(2, 0), "shortest", "an integer of at least 1; got 0"),
        (
            *(lambda: Spectrum(2, 1, (1.0,)), "weights"),
            "2 numbers above 0, one for each length; got (1.0,)",
        ),
        (
            *(lambda: Spectrum(3, 2, {2: 0.5, 3: 1.0}), "weights"),
            "2 numbers above 0, one for each length; got {2: 0.5, 3: 1.0}",
        ),
        (lambda: Spectrum(2, 1, (1, 0)), "weights", "above 0; got 0"),
        (lambda: Spectrum(2, alphabet=""), "alphabet", "a string of letters, or None; got ''"),
        (lambda: Subsequence(2, alphabet=3), "alphabet", "a string of letters, or None; got 3"),
        (lambda: WeightedDegree(0), "k", "an integer of at least 1; got 0"),
        (lambda: Subsequence(0), "k", "an integer of at least 1; got 0"),
        (lambda: Subsequence(2, 0), "decay", "above 0 and at most 1; got 0"),
        (lambda: Subsequence(2, 1.01), "decay", "above 0 and at most 1; got 1.01"),
        (lambda: BagOfWords("no"), "lowercase", "True or False; got 'no'"),
        (lambda: WeisfeilerLehman(-1), "iterations", "an integer of at least 0; got -1"),
        (lambda: WeisfeilerLehman(1.5), "iterations", "an integer of at least 0; got 1.5"),
        (lambda: WeisfeilerLehman(1, edge_labels=1), "edge_labels", "True or False; got 1"),
        (
            *(lambda: Spectrum(2) + VertexHistogram(), "right"),
            "a kernel on sequences, as the left one is; got VertexHistogram()",
        ),
        (
            *(lambda: BagOfWords() * Gaussian(1.0), "right"),
            "a kernel on sequences, as the left one is; got Gaussian(gamma=1.0)",
        ),
        (
            *(lambda: ShortestPath() + Gaussian(1.0), "right"),
            "a kernel on graphs, as the left one is; got Gaussian(gamma=1.0)",
        ),
    ],
)
def test_bad_parameters_are_refused_at_construction(make, name, must_be):
    sentence = f"`{name}` of .* must be {re.escape(must_be)}$"
    with pytest.raises(ParameterError, match=sentence):
        make()
