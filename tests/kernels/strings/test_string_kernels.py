import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from tests.kernels import definitions

from separatrix import kernels
from separatrix.data.graph import Graph
from separatrix.errors import DataError, ParameterError
from separatrix.kernels import (
    BagOfWords,
    Gaussian,
    Kernel,
    Normalized,
    Product,
    Scaled,
    Spectrum,
    Subsequence,
    Sum,
    VertexHistogram,
    WeightedDegree,
)

LETTERS = {
    "two": "ab",
    "four": "acgt",
    "unicode": "aä€𝄞",
    "texts": "aAb .ß",
    "bytes": b"aA \x00\xff",
    "words": ("to", "be", "or", ""),
    "numbers": (0, -1, 7, 10**15),
}
DEFINED = [
    (Spectrum(1), lambda s, t: definitions.spectrum(s, t, 1)),
    (Spectrum(3), lambda s, t: definitions.spectrum(s, t, 3)),
    (Spectrum(3, shortest=1), lambda s, t: definitions.spectrum(s, t, 3, 1)),
    (Spectrum(2, shortest=2), lambda s, t: definitions.spectrum(s, t, 2)),
    (
        Spectrum(4, shortest=2, weights=(0.5, 3.0, 0.7)),
        lambda s, t: definitions.spectrum(s, t, 4, 2, (0.5, 3.0, 0.7)),
    ),
    (WeightedDegree(1), lambda s, t: definitions.weighted_degree(s, t, 1)),
    (WeightedDegree(3), lambda s, t: definitions.weighted_degree(s, t, 3)),
    (WeightedDegree(8), lambda s, t: definitions.weighted_degree(s, t, 8)),
    (Subsequence(1, 0.5), lambda s, t: definitions.subsequence(s, t, 1, 0.5)),
    (Subsequence(2, 0.3), lambda s, t: definitions.subsequence(s, t, 2, 0.3)),
    (Subsequence(3, 0.9), lambda s, t: definitions.subsequence(s, t, 3, 0.9)),
    (Subsequence(4, 1.0), lambda s, t: definitions.subsequence(s, t, 4, 1.0)),
    (BagOfWords(), definitions.bag_of_words),
    (BagOfWords(lowercase=False), lambda s, t: definitions.bag_of_words(s, t, False)),
]
KERNELS = [kernel for kernel, _ in DEFINED]


def named(part):
    return repr(part) if isinstance(part, Kernel) else None


def some(letters, count, seed):
    return definitions.random_sequences(np.random.default_rng(seed), count, LETTERS[letters])


@pytest.mark.slow
@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=named)
def test_values_match_the_definition(kernel, definition, letters):
    X, Z = some(letters, 50, 1), some(letters, 40, 2)

    values = kernel.block(X, Z)

    assert values.dtype == np.float64
    np.testing.assert_allclose(values, definitions.block(definition, X, Z), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("letters", LETTERS)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_matrix_is_symmetric_and_semidefinite_and_has_the_diagonal(kernel, letters):
    X = some(letters, 40, 3)

    K = kernel.block(X, X)

    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    np.testing.assert_allclose(
        K, kernel.block(X, list(X)), rtol=1e-12
    )  # another list: no half of it
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(K), rtol=1e-12)
    spread = np.linalg.eigvalsh(K)
    assert spread[0] >= -1e-9 * spread[-1]
    assert spread[-1] > 0


@pytest.mark.slow
@pytest.mark.parametrize("letters", ["unicode", "bytes", "words"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_block_in_parts_is_the_block(kernel, letters):
    X, Z = some(letters, 13, 4), some(letters, 11, 5)

    parts = [
        [kernel.block(X[i : i + 1], Z[:7]), kernel.block(X[i : i + 1], Z[7:])] for i in range(13)
    ]

    np.testing.assert_allclose(np.block(parts), kernel.block(X, Z), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_letters_that_others_have_change_nothing(kernel):
    X, Z = some("four", 12, 6), some("four", 9, 7)
    strange = ["tzzza", "ZZZZ", "Ωacgt", "acgt acgt"]
    at = slice(4, 4 + len(strange))

    wide = kernel.block([*X, *strange], [*Z[:4], *strange, *Z[4:]])

    np.testing.assert_allclose(np.delete(wide[:12], at, axis=1), kernel.block(X, Z), rtol=1e-12)


LONG = [
    (Spectrum(17), lambda s, t: definitions.spectrum(s, t, 17)),
    (Spectrum(10, shortest=6), lambda s, t: definitions.spectrum(s, t, 10, 6)),
    (WeightedDegree(17), lambda s, t: definitions.weighted_degree(s, t, 17)),
]


@pytest.mark.parametrize("letters", ["ab", "aä", "a𝄞", b"a\xff", ("to", "be"), (0, -1)], ids=repr)
@pytest.mark.parametrize(("kernel", "definition"), LONG, ids=named)
def test_long_words_differ_in_every_letter(kernel, definition, letters):
    rng = np.random.default_rng(16)
    text = max(definitions.random_sequences(rng, 30, letters, longest=40), key=len)
    X = [text[:i] + letters[1:] + text[i + 1 :] for i in range(0, len(text), 4)]  # one replaced

    values = kernel.block(X, X)

    np.testing.assert_allclose(values, definitions.block(definition, X, X), rtol=1e-12)
    assert len(np.unique(values)) > 2


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_lists_tuples_and_arrays_of_tokens_are_the_same_samples(kernel):
    X = some("words", 10, 8)
    held = np.empty(10, dtype=object)
    held[:] = X
    expected = kernel.block(X, X)

    np.testing.assert_allclose(kernel.block([list(x) for x in X], tuple(X)), expected, rtol=1e-12)
    np.testing.assert_array_equal(kernel.block(held, held), expected)
    np.testing.assert_array_equal(kernel.diagonal(held), kernel.diagonal(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sequences_of_tokens_of_equal_length_are_not_a_table(kernel):
    X = [("a", "b", "a", "c"), ("b", "a", "b", "a"), ("a", "b", "c", "a")]

    values = kernel.block([list(x) for x in X], tuple(X))

    if isinstance(kernel, BagOfWords):
        np.testing.assert_array_equal(values, Spectrum(1).block(X, X))
    else:
        joined = ["".join(x) for x in X]
        np.testing.assert_allclose(values, kernel.block(joined, joined), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_arrays_and_series_of_texts_are_accepted(kernel):
    X = ["abcabc", "bc abc", "", "cabca cabca"]
    expected = kernel.block(X, X)

    for held in (np.array(X), np.array(X, dtype=object), pd.Series(X), tuple(X)):
        np.testing.assert_allclose(kernel.block(held, X), expected, rtol=1e-12)


@pytest.mark.parametrize("decay", [0.1, 0.5, 0.75, 1.0])
def test_lodhis_worked_values_are_exact(decay):
    kernel = Subsequence(2, decay)
    words = ["cat", "car", "bat", "bar"]

    values = kernel.block(["car"], words)[0]

    own = 2 * decay**4 + decay**6
    np.testing.assert_allclose(values, [decay**4, own, 0.0, decay**4], rtol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(words), [own] * 4, rtol=1e-14)
    cosine = Normalized(kernel).block(["car"], ["cat"])[0, 0]
    assert cosine == pytest.approx(1 / (2 + decay**2), rel=1e-14)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_sentences_match_the_definition(k):
    pair = ["science is organized knowledge", "wisdom is organized life"]

    def definition(s, t):
        return definitions.subsequence(s, t, k, 0.5)

    values = Subsequence(k, 0.5).block(pair, pair)

    np.testing.assert_allclose(values, definitions.block(definition, pair, pair), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_with_decay_one_all_subsequences_count_the_same(k):
    text = "aaaaaaa"
    ways = {1: 7, 2: 21, 4: 35}[k]
    assert Subsequence(k, 1.0).block([text], [text])[0, 0] == ways**2


def test_common_substrings_are_counted_with_their_repeats():
    assert Spectrum(2).block(["abab"], ["abba", "ab", "aaa"]).tolist() == [[3.0, 2.0, 0.0]]
    assert Spectrum(2, shortest=1).block(["abab"], ["abba"]).tolist() == [[11.0]]


def test_weighted_degree_counts_equal_letters_for_k_one():
    assert WeightedDegree(1).block(["acgt"], ["acgt", "acct", "tgca"]).tolist() == [[4.0, 3.0, 0.0]]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_weighted_degree_of_equal_letters_has_a_closed_form(k):
    text = "acgtacgtac"
    n = len(text)
    closed = sum(2 * (k - d + 1) / (k * (k + 1)) * (n - d + 1) for d in range(1, k + 1))
    assert WeightedDegree(k).diagonal([text])[0] == pytest.approx(closed, rel=1e-14)


def test_weighted_degree_ends_with_the_shorter_sequence():
    kernel = WeightedDegree(3)
    value = kernel.block(["acgtac"], ["acg"])
    np.testing.assert_allclose(value, kernel.diagonal(["acg"])[:, None], rtol=1e-14)


def test_words_of_a_text_are_found_without_points_and_capitals():
    first, second = "The cat, the CAT!", "the dog's cat_2 cat"
    assert BagOfWords().block([first], [second, first]).tolist() == [[4.0, 8.0]]
    assert BagOfWords(lowercase=False).block([first], [second]).tolist() == [[2.0]]
    assert BagOfWords().block([first.encode()], [second.encode()]).tolist() == [[4.0]]


def test_tokens_are_unchanged_words():
    assert BagOfWords().block([["The", "the,"]], [["the", "The"]]).tolist() == [[1.0]]


@pytest.mark.parametrize("letters", ["words", "numbers"])
def test_the_spectrum_of_single_tokens_is_the_bag_of_words(letters):
    X, Z = some(letters, 30, 9), some(letters, 20, 10)
    np.testing.assert_array_equal(Spectrum(1).block(X, Z), BagOfWords().block(X, Z))


def test_a_text_and_its_letters_are_the_same_sequence():
    X = some("unicode", 20, 11)
    for kernel in (Spectrum(2), WeightedDegree(3), Subsequence(2, 0.4)):
        apart = [list(x) for x in X]
        np.testing.assert_allclose(kernel.block(apart, apart), kernel.block(X, X), rtol=1e-12)


COMPOSED = [
    (Spectrum(2) + Subsequence(2, 0.5), Sum, lambda a, b: a + b),
    (Spectrum(2) * Subsequence(2, 0.5), Product, lambda a, b: a * b),
    (2.5 * (Spectrum(2) + Subsequence(2, 0.5)), Scaled, lambda a, b: 2.5 * (a + b)),
]


@pytest.mark.parametrize(
    ("kernel", "kind", "combined"), COMPOSED, ids=["sum", "product", "multiple"]
)
def test_composed_string_kernels_match_the_definitions(kernel, kind, combined):
    X, Z = some("four", 30, 12), some("four", 20, 13)

    def definition(s, t):
        return combined(definitions.spectrum(s, t, 2), definitions.subsequence(s, t, 2, 0.5))

    assert isinstance(kernel, kind)
    np.testing.assert_allclose(kernel.block(X, Z), definitions.block(definition, X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), [definition(x, x) for x in X], rtol=1e-12)


@pytest.mark.parametrize(("kernel", "definition"), DEFINED, ids=named)
def test_the_normalised_kernel_matches_the_definition(kernel, definition):
    X, Z = some("texts", 30, 14), some("texts", 20, 15)

    def cosine(s, t):
        length = np.sqrt(definition(s, s) * definition(t, t))
        return definition(s, t) / length if length else 0.0

    np.testing.assert_allclose(
        Normalized(kernel).block(X, Z), definitions.block(cosine, X, Z), rtol=1e-12
    )
    np.testing.assert_array_equal(
        Normalized(kernel).diagonal(X), [float(definition(x, x) > 0) for x in X]
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("empty", ["", b"", ()], ids=repr)
def test_an_empty_sequence_has_value_zero_with_every_sample(kernel, empty):
    full = {str: "abcab abcab", bytes: b"abcab abcab", tuple: tuple("abcababcab")}[type(empty)]

    for wrapped in (kernel, Normalized(kernel)):
        values = wrapped.block([empty, full], [empty, full])
        assert values[0].tolist() == [0.0, 0.0]
        assert values[1, 0] == 0.0
        assert values[1, 1] > 0
        assert wrapped.diagonal([empty]).tolist() == [0.0]
        assert wrapped.block([empty], [empty]).tolist() == [[0.0]]


@pytest.mark.parametrize("kernel", [Spectrum(5), Subsequence(5, 0.5)], ids=repr)
def test_a_sequence_shorter_than_k_has_value_zero_with_every_sample(kernel):
    short, long = ["a", "abab", ""], ["ababab", "abab"]

    for wrapped in (kernel, Normalized(kernel)):
        assert not wrapped.block(short, [*short, *long]).any()
        assert not wrapped.block(short, short).any()
        assert not wrapped.diagonal(short).any()
        assert wrapped.block(long, long)[0, 0] > 0


def test_weighted_degree_uses_the_lengths_that_fit():
    value = WeightedDegree(5).block(["ab"], ["ab"])[0, 0]
    assert value == pytest.approx(2 * (2 * 5 + 1 * 4) / 30, rel=1e-14)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_no_samples_give_an_empty_block(kernel):
    assert kernel.block([], ["ab"]).shape == (0, 1)
    assert kernel.block(["ab"], []).shape == (1, 0)
    assert kernel.diagonal([]).shape == (0,)


@pytest.mark.parametrize("make", [Spectrum, WeightedDegree, Subsequence], ids=lambda m: m.__name__)
def test_letters_outside_the_alphabet_are_letters_of_their_own(make):
    X = ["acgtn", "annrt", "nnrac", "rrnnn"]
    np.testing.assert_allclose(
        make(2, alphabet="acgt").block(X, X), make(2).block(X, X), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", [*KERNELS, Spectrum(2, alphabet="acgt")], ids=repr)
def test_a_kernel_prints_as_its_constructor_call_and_is_hashable(kernel):
    again = eval(repr(kernel), vars(kernels))
    assert again == kernel
    assert hash(again) == hash(kernel)


def test_parameters_can_be_changed():
    assert Spectrum(3).with_params(k=5) == Spectrum(5)
    assert Normalized(Subsequence(3)).with_params(kernel__decay=0.9) == Normalized(
        Subsequence(3, 0.9)
    )


MEANT = "takes a list of strings, of bytes, or of lists of tokens; "


@pytest.mark.parametrize(
    "kernel", [Spectrum(2), WeightedDegree(2), Subsequence(2), BagOfWords()], ids=repr
)
@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        ("abc", MEANT + "got a single str: put it into a list"),
        (b"abc", MEANT + "got a single bytes: put it into a list"),
        (np.eye(2), MEANT + r"got ndarray of shape \(2, 2\)"),
        (csr_array(np.eye(2)), MEANT + r"got csr_array of shape \(2, 2\)"),
        (pd.DataFrame({"a": ["x"]}), MEANT + r"got DataFrame of shape \(1, 1\)"),
        (np.array([["a", "b"]], dtype=object), MEANT + r"got ndarray of shape \(1, 2\)"),
        (None, MEANT + "got NoneType"),
        (3, MEANT + "got int"),
        ([1, 2], MEANT + "item 0 is int 1"),
        (np.arange(3), MEANT + "item 0 is int64"),
        (["a", None], MEANT + "item 1 is NoneType None"),
        (pd.Series(["a", np.nan]), MEANT + "item 1 is float nan"),
        (["a", Graph(1, [])], MEANT + r"item 1 is Graph Graph\(1 nodes, 0 edges\)"),
        (["a", bytearray(b"a")], MEANT + "item 1 is bytearray"),
        ([["a"], np.eye(2)], MEANT + "item 1 is ndarray"),
        (["a", b"a"], "takes sequences of one type; got bytes and str in one list"),
        (["a", ["a"]], "takes sequences of one type; got str and tuple in one list"),
        ([["a"], [1.0]], "takes tokens that are strings or integers; item 1 has 1.0"),
        ([["a", None]], "takes tokens that are strings or integers; item 0 has None"),
        ([[True]], "takes tokens that are strings or integers; item 0 has True"),
        ([[["a"]]], r"takes tokens that are strings or integers; item 0 has \['a'\]"),
    ],
    ids=lambda part: "" if isinstance(part, str) else type(part).__name__,
)
def test_input_other_than_a_list_of_sequences_is_refused(kernel, X, sentence):
    for wrapped in (kernel, Normalized(kernel)):
        for call in (lambda k: k.diagonal(X), lambda k: k.block(X, X), lambda k: k.block([], X)):
            with pytest.raises(DataError, match=f"^{type(kernel).__name__} {sentence}"):
                call(wrapped)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("Z", "both"),
    [([b"ab"], "bytes and str"), ([["a", "b"]], "str and tuple")],
    ids=["bytes", "tokens"],
)
def test_sequences_of_two_types_have_no_value_with_each_other(kernel, Z, both):
    sentence = f"{type(kernel).__name__} takes sequences of one type; got {both} in one list"
    with pytest.raises(DataError, match=sentence):
        kernel.block(["ab"], Z)
    with pytest.raises(DataError, match=sentence):
        kernel.block(Z, ["ab"])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Spectrum(0), "`k` of Spectrum must be an integer of at least 1; got 0"),
        (lambda: Spectrum(2.0), "`k` of Spectrum must be an integer of at least 1; got 2.0"),
        (lambda: Spectrum(True), "`k` of Spectrum must be an integer of at least 1; got True"),
        (lambda: Spectrum(2, 3), "`shortest` of Spectrum must be at most k=2; got 3"),
        (lambda: Spectrum(2, 0), "`shortest` of Spectrum must be an integer of at least 1; got 0"),
        (
            lambda: Spectrum(2, 1, (1.0,)),
            "`weights` of Spectrum must be 2 numbers above 0, one for each length; got (1.0,)",
        ),
        (lambda: Spectrum(2, 1, (1, 0)), "`weights` of Spectrum must be above 0; got 0"),
        (
            lambda: Spectrum(2, alphabet=""),
            "`alphabet` of Spectrum must be a string of letters, or None; got ''",
        ),
        (
            lambda: Subsequence(2, alphabet=3),
            "`alphabet` of Subsequence must be a string of letters, or None; got 3",
        ),
        (
            lambda: WeightedDegree(0),
            "`k` of WeightedDegree must be an integer of at least 1; got 0",
        ),
        (lambda: Subsequence(0), "`k` of Subsequence must be an integer of at least 1; got 0"),
        (lambda: Subsequence(2, 0), "`decay` of Subsequence must be above 0 and at most 1; got 0"),
        (
            lambda: Subsequence(2, 1.01),
            "`decay` of Subsequence must be above 0 and at most 1; got 1.01",
        ),
        (lambda: BagOfWords("no"), "`lowercase` of BagOfWords must be True or False; got 'no'"),
        (
            lambda: Spectrum(2) + VertexHistogram(),
            "`right` of Sum must be a kernel on sequences, as the left one is; got VertexHistogram()",
        ),
        (
            lambda: BagOfWords() * Gaussian(1.0),
            "`right` of Product must be a kernel on sequences, as the left one is; "
            "got Gaussian(gamma=1.0)",
        ),
    ],
)
def test_bad_parameters_are_refused_at_construction(make, sentence):
    with pytest.raises(ParameterError, match="^" + re.escape(sentence) + "$"):
        make()


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (["acNNgR", "N"], "4 letters .* 'acgt' are kept as letters of their own: 'N' 3, 'R' 1"),
        ([b"acNNgR", b"N"], "4 letters .* 'acgt' are kept as letters of their own: 'N' 3, 'R' 1"),
        ([["a", "stop", "a"]], "1 letters .* 'acgt' are kept as letters of their own: 'stop' 1"),
        ([[-1, 10**15, -1]], "3 letters .* are kept as letters of their own: '?-1'? 2, "),
    ],
    ids=["str", "bytes", "words", "numbers"],
)
def test_letters_outside_the_alphabet_are_counted(X, sentence):
    for kernel in (Spectrum(1, alphabet="acgt"), WeightedDegree(1, alphabet="acgt")):
        (note,) = kernel.notes(kernel.checked(X))
        assert re.fullmatch(sentence + ".*", note)
        assert not kernel.notes(kernel.checked(["acgt", ""]))
        assert not Spectrum(1).notes(kernel.checked(X))


@pytest.mark.parametrize("kernel", [Spectrum(5), Spectrum(7, 5), Subsequence(5)], ids=repr)
def test_training_samples_that_are_all_shorter_than_k_are_refused(kernel):
    with pytest.raises(DataError, match=r"no sequence has 5 letters, so all values of .* lower k"):
        kernel.notes(kernel.checked(["abcd", "", "ab"]))
    assert not kernel.notes(kernel.checked(["abcde", "", "ab"]))


def test_a_mapping_of_weights_is_refused():
    with pytest.raises(ParameterError, match="2 numbers above 0"):
        Spectrum(3, shortest=2, weights={2: 0.5, 3: 1.0})


def test_one_column_of_strings_must_be_passed_as_one_dimension():
    with pytest.raises(DataError, match=r"of shape \(2, 1\): pass its one column alone"):
        Spectrum(1).diagonal(np.array([["a"], ["b"]]))
