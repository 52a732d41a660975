import re

import numpy as np
import pandas as pd
import pytest
from tests.kernels import definitions
from tests.kernels.definitions import ON_SEQUENCES, named, some

from separatrix.errors import DataError
from separatrix.kernels import BagOfWords, Normalized, Spectrum, Subsequence, WeightedDegree

KERNELS = [kernel for kernel, _ in ON_SEQUENCES]
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


def test_common_substrings_are_counted_with_their_repeats():
    assert Spectrum(2).block(["abab"], ["abba", "ab", "aaa"]).tolist() == [[3.0, 2.0, 0.0]]
    assert Spectrum(2, shortest=1).block(["abab"], ["abba"]).tolist() == [[11.0]]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_weighted_degree_of_equal_letters_has_a_closed_form(k):
    text = "acgtacgtac"
    n = len(text)
    closed = sum(2 * (k - d + 1) / (k * (k + 1)) * (n - d + 1) for d in range(1, k + 1))
    assert WeightedDegree(k).diagonal([text])[0] == pytest.approx(closed, rel=1e-14)


def test_words_of_a_text_are_found_without_points_and_capitals():
    first, second = "The cat, the CAT!", "the dog's cat_2 cat"
    assert BagOfWords().block([first], [second, first]).tolist() == [[4.0, 8.0]]
    assert BagOfWords(lowercase=False).block([first], [second]).tolist() == [[2.0]]
    assert BagOfWords().block([first.encode()], [second.encode()]).tolist() == [[4.0]]


def test_tokens_are_unchanged_words():
    assert BagOfWords().block([["The", "the,"]], [["the", "The"]]).tolist() == [[1.0]]


def test_a_text_and_its_letters_are_the_same_sequence():
    X = some("unicode", 20, 11)
    for kernel in (Spectrum(2), WeightedDegree(3), Subsequence(2, 0.4)):
        apart = [list(x) for x in X]
        np.testing.assert_allclose(kernel.block(apart, apart), kernel.block(X, X), rtol=1e-12)


@pytest.mark.parametrize("make", [Spectrum, WeightedDegree, Subsequence], ids=lambda m: m.__name__)
def test_letters_outside_the_alphabet_are_letters_of_their_own(make):
    X = ["acgtn", "annrt", "nnrac", "rrnnn"]
    np.testing.assert_allclose(
        make(2, alphabet="acgt").block(X, X), make(2).block(X, X), rtol=1e-12
    )


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
