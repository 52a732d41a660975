"""Letters and words as numbers: equal ones alike, different ones apart, at the borders of their types."""

import numpy as np
import pytest

from separatrix.errors import DataError
from separatrix.kernels import BagOfWords, Spectrum, WeightedDegree
from separatrix.kernels.feature_names import name_words
from separatrix.kernels.strings import sequences
from separatrix.kernels.strings.sequences import (
    ASCII_BITS,
    BYTE_BITS,
    KEY_BITS,
    TOKEN_BITS,
    UNICODE_BITS,
    check_sequences,
    count_unknown_letters,
    encode_sequences,
    encode_texts,
    encode_words,
)
from separatrix.kernels.vocabulary import Vocabulary


def encoded(*items):
    vocabulary = Vocabulary()
    return encode_sequences(list(items), vocabulary), vocabulary


@pytest.mark.parametrize(
    ("items", "bits", "codes"),
    [
        (["a\x7f", ""], ASCII_BITS, [97, 127]),
        (["a\x80"], UNICODE_BITS, [97, 128]),
        (["\U0010ffff\ud800"], UNICODE_BITS, [0x10FFFF, 0xD800]),
        ([b"\x00\xff"], BYTE_BITS, [0, 255]),
        ([("x", 5, "x")], TOKEN_BITS, [0, 1, 0]),
        ([], ASCII_BITS, []),
    ],
)
def test_letters_are_numbers_of_as_few_bits_as_they_need(items, bits, codes):
    found, vocabulary = encoded(*items)
    assert vocabulary.letter_bits == bits
    assert found.codes.tolist() == codes
    assert found.starts.tolist() == np.cumsum([0, *map(len, items)]).tolist()
    assert found.lengths.tolist() == [len(item) for item in items]
    assert 1 << bits > max(codes, default=0)


def test_letters_that_training_did_not_have_are_unknown():
    _, vocabulary = encoded("ab\x7f")
    again = encode_sequences(["a\x7f\x80é"], vocabulary)
    assert again.codes.tolist() == [97, 127, -1, -1]
    _, wide = encoded("é")
    assert encode_sequences(["a\U0010ffff"], wide).codes.tolist() == [97, 0x10FFFF]


def test_sequences_of_another_type_than_in_training_are_refused():
    said = "the features were learned from {}; got {}: pass the same type"
    for known, got, names in (
        ("ab", b"ab", ("str", "bytes")),
        (b"ab", ("a",), ("bytes", "lists of tokens")),
        (("a",), "ab", ("lists of tokens", "str")),
    ):
        _, vocabulary = encoded(known)
        with pytest.raises(DataError, match=said.format(*names)):
            encode_sequences([got], vocabulary)
        assert len(encode_sequences([], vocabulary).codes) == 0


@pytest.mark.parametrize(
    "letters", ["ab", "aé", b"ab", ("x", "y")], ids=["ascii", "unicode", "bytes", "tokens"]
)
def test_words_are_equal_if_their_letters_are(letters):
    rng = np.random.default_rng(0)
    make = type(letters)
    rows = [[letters[i] for i in rng.integers(0, 2, size)] for size in (0, 1, 5, 30)]
    items = ["".join(row) if make is str else make(row) for row in rows]
    found, vocabulary = encoded(*items)
    per_key = KEY_BITS // vocabulary.letter_bits
    for length in {1, 2, per_key - 1, per_key, per_key + 1, 2 * per_key, 2 * per_key + 1} - {0}:
        words = encode_words(found, length, vocabulary)
        expected = [
            (row, at, item[at : at + length])
            for row, item in enumerate(items)
            for at in range(len(item) - length + 1)
        ]
        assert words.rows.tolist() == [row for row, _, _ in expected]
        assert words.positions.tolist() == [at for _, at, _ in expected]
        seen = {}
        for key, (_, _, word) in zip(words.keys.tolist(), expected, strict=True):
            assert key >= 0
            assert seen.setdefault(word, key) == key
        assert len(set(seen.values())) == len(seen)
        text = [
            word.decode() if isinstance(word, bytes) else " ".join(word) if make is tuple else word
            for word in seen
        ]
        assert name_words(vocabulary, np.array([*seen.values()], dtype=np.intp), length) == text


def test_words_with_an_unknown_letter_are_unknown():
    vocabulary = Vocabulary()
    encode_words(encode_sequences(["abcabcabcabc"], vocabulary), 10, vocabulary)
    vocabulary.closed = True
    found = encode_sequences(["abcé" + "abcabcabca"], vocabulary)
    keys = encode_words(found, 10, vocabulary).keys
    assert (keys[:4] == -1).all()
    assert keys[4] >= 0
    keys = encode_words(found, 2, vocabulary).keys
    assert np.flatnonzero(keys < 0).tolist() == [2, 3]


def test_too_short_sequences_have_no_words():
    found, vocabulary = encoded("abc", "a", "")
    for length, rows in ((3, [0]), (4, []), (1, [0, 0, 0, 1])):
        words = encode_words(found, length, vocabulary)
        assert words.rows.tolist() == rows
        assert len(words.keys) == len(words.positions) == len(rows)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (["a", 3], "a test takes a list of strings, .*; item 1 is int 3"),
        ([np.ones((1, 2))], "item 0 is ndarray"),
        (["a", b"b"], "takes sequences of one type; got bytes and str in one list"),
        (["a", ("b",)], "got str and tuple in one list"),
        ([["a"], ["b", 1.5]], "tokens that are strings or integers; item 1 has 1.5"),
        ([["a", True]], "item 0 has True"),
        ([[b"a"]], "item 0 has b'a'"),
    ],
)
def test_what_is_no_list_of_sequences_is_refused(items, said):
    with pytest.raises(DataError, match=said):
        check_sequences("a test", items)


def test_tokens_are_plain_strings_and_integers():
    checked = check_sequences("a test", [["a", np.int32(4)], np.array([1, 2]), ()])
    assert checked.tolist() == [("a", 4), (1, 2), ()]
    assert type(checked[0][1]) is int
    assert check_sequences("a test", ["b", "a"]).tolist() == ["b", "a"]


def test_words_of_texts_are_numbered_in_order():
    vocabulary = Vocabulary()
    found = encode_texts(["To be, to", "", "be_2"], vocabulary, lowercase=True)
    assert found.codes.tolist() == [0, 1, 0, 2]
    assert found.starts.tolist() == [0, 3, 3, 4]
    assert list(vocabulary.symbols) == ["to", "be", "be_2"]
    assert encode_texts(["To to"], Vocabulary(), lowercase=False).codes.tolist() == [0, 1]
    for other in (b"to", b""):
        with pytest.raises(DataError, match="learned from str; got bytes"):
            encode_texts([other], vocabulary, lowercase=True)
    assert len(encode_texts([], vocabulary, lowercase=True).codes) == 0
    raw = Vocabulary()
    encode_texts([b"to"], raw, lowercase=True)
    with pytest.raises(DataError, match="learned from bytes; got str"):
        encode_texts(["to"], raw, lowercase=True)


def test_letters_outside_an_alphabet_are_counted():
    found = count_unknown_letters(["ACGT", "NAN", "x"], "ACGT")
    assert found == {"N": 2, "x": 1}
    assert count_unknown_letters([b"A\xff"], "A") == {"\xff": 1}
    (note,) = Spectrum(1, alphabet="ACGT").notes(["ACNN", "x"])
    assert note.startswith("3 letters outside the alphabet 'ACGT' are kept")
    assert note.endswith(": 'N' 2, 'x' 1")
    assert Spectrum(1, alphabet="ab").notes(["ab"]) == []
    many = Spectrum(1, alphabet="-").notes(["abcdefghijk"])[0]
    assert many.count("' 1") == 8


@pytest.mark.parametrize(("length", "refused"), [(2, False), (1, True), (0, True)])
def test_a_fit_needs_one_sequence_as_long_as_the_shortest_word(length, refused):
    X = ["", "a" * length]
    for kernel in (Spectrum(4, shortest=2), Spectrum(2)):
        if refused:
            with pytest.raises(DataError, match="no sequence has 2 letters, so all values of"):
                kernel.notes(X)
        else:
            assert kernel.notes(X) == []
    with pytest.raises(DataError, match="no sequence has 1 letters"):
        WeightedDegree(3).notes([])
    assert BagOfWords().notes([]) == []


def test_strings_of_two_classes_are_of_one_type():
    class Text(str):
        __slots__ = ()

    X = np.array([Text("ab"), "ab"], dtype=object)
    assert Spectrum(1).require_one_type(X) is X
    with pytest.raises(DataError, match="sequences of one type"):
        Spectrum(1).require_one_type(np.array(["ab", b"ab"], dtype=object))
    np.testing.assert_array_equal(Spectrum(1).block(X, ["a"]), [[1.0], [1.0]])


def test_bits_of_a_key_hold_the_letters():
    assert KEY_BITS // TOKEN_BITS == 2
    assert sequences._pack_letters(np.array([1, 2, 3]), np.array([0, 1]), 1, 1, 7).tolist() == [
        2,
        3,
    ]
    packed = sequences._pack_letters(np.array([1, 2, -1]), np.array([0, 1]), 0, 2, 7)
    assert packed.tolist() == [(1 << 7) | 2, -1]
