"""Sequences as integer codes: strings, bytes or lists of tokens, and the words in them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.vocabulary import UNKNOWN, Vocabulary
from separatrix.types import Codes

ACCEPTED = "a list of strings, of bytes, or of lists of tokens"
KEY_BITS = 62  # of an integer key that packs several letters
ASCII_BITS, BYTE_BITS, UNICODE_BITS, TOKEN_BITS = 7, 8, 21, 31
TYPE_NAMES = {
    ASCII_BITS: "str",
    UNICODE_BITS: "str",
    BYTE_BITS: "bytes",
    TOKEN_BITS: "lists of tokens",
}
WORD, BYTE_WORD = re.compile(r"\w+"), re.compile(rb"\w+")


class EncodedSequences(NamedTuple):
    """Concatenated sequences of integer codes."""

    codes: Codes  # shape: (letters,); -1 for a letter unknown to a closed vocabulary
    starts: Codes  # shape: (n + 1,); first letter of each sequence

    @property
    def lengths(self) -> Codes:
        """Letters of each sequence, (n,)."""
        return np.diff(self.starts)


def check_sequences(owner: str, X: Any) -> Any:
    """An array (n,) of str, of bytes, or of tuples of tokens."""
    objects = as_objects(owner, X, ACCEPTED)
    types = {_sequence_type(item) for item in objects}
    if None in types:
        row = next(row for row, item in enumerate(objects) if _sequence_type(item) is None)
        raise DataError(
            f"{owner} takes {ACCEPTED}; item {row} is {type(objects[row]).__name__} "
            f"{objects[row]!r:.40}"
        )
    if len(types) > 1:
        listed = " and ".join(sorted(kind.__name__ for kind in types if kind is not None))
        raise DataError(f"{owner} takes sequences of one type; got {listed} in one list")
    if tuple in types:
        return _check_tokens(owner, objects)
    return objects


def encode_sequences(X: Any, vocabulary: Vocabulary) -> EncodedSequences:
    """Checked sequences as code points, bytes, or token numbers."""
    lengths = np.fromiter((len(item) for item in X), dtype=np.intp, count=len(X))
    starts = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
    kind = type(X[0]) if len(X) else str
    if issubclass(kind, tuple):
        codes = vocabulary.numbers(token for item in X for token in item)
        bits = TOKEN_BITS
    elif issubclass(kind, bytes):
        codes = np.frombuffer(b"".join(X), dtype=np.uint8).astype(np.intp)
        bits = BYTE_BITS
    else:
        text = "".join(X).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(text, dtype=np.uint32).astype(np.intp)
        bits = ASCII_BITS if codes.max(initial=0) < 1 << ASCII_BITS else UNICODE_BITS
    if not vocabulary.letter_bits:
        vocabulary.letter_bits = bits
    elif len(X) and TYPE_NAMES[bits] != TYPE_NAMES[vocabulary.letter_bits]:
        raise _type_mismatch(TYPE_NAMES[vocabulary.letter_bits], TYPE_NAMES[bits])
    return EncodedSequences(np.where(codes < 1 << vocabulary.letter_bits, codes, UNKNOWN), starts)


class WordKeys(NamedTuple):
    """All runs of consecutive letters of one length, as integer keys."""

    rows: Codes  # sequence of each word
    positions: Codes  # its first letter, from 0
    keys: Codes  # equal for equal words; -1 for a word with an unknown letter


def encode_words(letters: EncodedSequences, length: int, vocabulary: Vocabulary) -> WordKeys:
    """All words of `length` consecutive letters."""
    counts = np.maximum(letters.lengths - length + 1, 0)
    if not counts.any():
        none = np.zeros(0, dtype=np.intp)
        return WordKeys(none, none, none)
    rows = np.repeat(np.arange(len(counts)), counts)
    before = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(counts)])
    positions = np.arange(before[-1]) - before[rows]
    at = letters.starts[rows] + positions
    bits = vocabulary.letter_bits
    per_key = KEY_BITS // bits
    keys = _pack_letters(letters.codes, at, 0, min(length, per_key), bits)
    for begin in range(per_key, length, per_key):
        more = min(per_key, length - begin)
        rest = _pack_letters(letters.codes, at, begin, more, bits)
        keys = vocabulary.pairs(f"first {begin} of {length}", keys, rest)
    return WordKeys(rows, positions, keys)


def encode_texts(X: Any, vocabulary: Vocabulary, *, lowercase: bool) -> EncodedSequences:
    """The words of each text, or its tokens, as numbers."""
    known = next(iter(vocabulary.symbols), None)
    if known is not None and len(X) and isinstance(known, bytes) != isinstance(X[0], bytes):
        raise _type_mismatch(type(known).__name__, type(X[0]).__name__)
    texts = [_split_words(item, lowercase) for item in X]
    starts = np.cumsum([0, *map(len, texts)])
    codes = vocabulary.numbers(word for text in texts for word in text)
    return EncodedSequences(codes, starts.astype(np.intp))


def count_unknown_letters(X: Any, alphabet: str) -> Counter[Any]:
    """How often each letter outside the alphabet occurs in checked sequences."""
    known = set(alphabet)
    counts: Counter[Any] = Counter()
    for item in X:
        counts.update(item.decode("latin-1") if isinstance(item, bytes) else item)
    return Counter({letter: count for letter, count in counts.items() if letter not in known})


def _sequence_type(item: Any) -> type | None:
    for kind in (str, bytes):
        if isinstance(item, kind):
            return kind
    if isinstance(item, list | tuple) or (isinstance(item, np.ndarray) and item.ndim == 1):
        return tuple
    return None


def _check_tokens(owner: str, objects: Any) -> Any:
    checked = np.empty(len(objects), dtype=object)
    for row, item in enumerate(objects):
        tokens = item.tolist() if isinstance(item, np.ndarray) else item
        for token in tokens:
            if not isinstance(token, str | int | np.integer) or isinstance(token, bool):
                raise DataError(
                    f"{owner} takes tokens that are strings or integers; item {row} has "
                    f"{token!r:.40}"
                )
        checked[row] = tuple(
            int(token) if isinstance(token, np.integer) else token for token in tokens
        )
    return checked


def _type_mismatch(known: str, got: str) -> DataError:
    return DataError(
        f"the features were learned from {known}; got {got}: pass the same type as in training"
    )


def _pack_letters(codes: Codes, at: Codes, begin: int, length: int, bits: int) -> Codes:
    """Letters at + begin .. at + begin + length - 1 in one integer; -1 if one is unknown."""
    keys = np.zeros(len(at), dtype=np.intp)
    unknown = np.zeros(len(at), dtype=bool)
    for step in range(begin, begin + length):
        code = codes[at + step]
        unknown |= code < 0
        keys = (keys << bits) | code
    keys[unknown] = UNKNOWN
    return keys


def _split_words(item: Any, lowercase: bool) -> Any:
    if isinstance(item, tuple):
        return item
    text = item.lower() if lowercase else item
    return (BYTE_WORD if isinstance(text, bytes) else WORD).findall(text)
