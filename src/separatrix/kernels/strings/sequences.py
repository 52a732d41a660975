"""Sequences as numbers: strings, bytes, or lists of tokens, and the words in them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.kernels.object_kernels import as_objects
from separatrix.kernels.vocabulary import UNKNOWN, Vocabulary
from separatrix.types import Codes

MEANT = "a list of strings, of bytes, or of lists of tokens"
KEY_BITS = 62  # of a whole number that stands for several letters
ASCII_BITS, BYTE_BITS, UNICODE_BITS, TOKEN_BITS = 7, 8, 21, 31
KINDS = {ASCII_BITS: "str", UNICODE_BITS: "str", BYTE_BITS: "bytes", TOKEN_BITS: "lists of tokens"}
WORD, BYTE_WORD = re.compile(r"\w+"), re.compile(rb"\w+")


class Letters(NamedTuple):
    """Sequences one after the other, as numbers."""

    codes: Codes  # shape: (letters,); -1 where a letter is new to a closed vocabulary
    starts: Codes  # shape: (n + 1,); where each sequence begins

    @property
    def lengths(self) -> Codes:
        """Letters of each sequence, (n,)."""
        return np.diff(self.starts)


def checked_sequences(owner: str, X: Any) -> Any:
    """An array (n,) of str, of bytes, or of tuples of tokens."""
    objects = as_objects(owner, X, MEANT)
    kinds = {_kind(item) for item in objects}
    if None in kinds:
        row = next(row for row, item in enumerate(objects) if _kind(item) is None)
        raise DataError(
            f"{owner} takes {MEANT}; item {row} is {type(objects[row]).__name__} {objects[row]!r:.40}"
        )
    if len(kinds) > 1:
        words = " and ".join(sorted(kind.__name__ for kind in kinds if kind is not None))
        raise DataError(f"{owner} takes sequences of one type; got {words} in one list")
    if tuple in kinds:
        return _tokens(owner, objects)
    return objects


def letters_of(X: Any, vocabulary: Vocabulary) -> Letters:
    """Checked sequences as numbers: code points, bytes, or numbers of tokens."""
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
        joined = "".join(X).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(joined, dtype=np.uint32).astype(np.intp)
        bits = ASCII_BITS if codes.max(initial=0) < 1 << ASCII_BITS else UNICODE_BITS
    if not vocabulary.letter_bits:
        vocabulary.letter_bits = bits
    elif len(X) and KINDS[bits] != KINDS[vocabulary.letter_bits]:
        raise _other_kind(KINDS[vocabulary.letter_bits], KINDS[bits])
    return Letters(np.where(codes < 1 << vocabulary.letter_bits, codes, UNKNOWN), starts)


class Words(NamedTuple):
    """All runs of some letters, as whole numbers that say which letters they are."""

    rows: Codes  # the sequence of each
    positions: Codes  # its first letter, from 0
    keys: Codes  # equal where the letters are; -1 where one is not known


def words_of(letters: Letters, length: int, vocabulary: Vocabulary) -> Words:
    """All words of that many consecutive letters."""
    counts = np.maximum(letters.lengths - length + 1, 0)
    if not counts.any():
        none = np.zeros(0, dtype=np.intp)
        return Words(none, none, none)
    rows = np.repeat(np.arange(len(counts)), counts)
    before = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(counts)])
    positions = np.arange(before[-1]) - before[rows]
    at = letters.starts[rows] + positions
    together = KEY_BITS // vocabulary.letter_bits
    keys = _packed(letters.codes, at, 0, min(length, together), vocabulary.letter_bits)
    for begin in range(together, length, together):
        more = min(together, length - begin)
        rest = _packed(letters.codes, at, begin, more, vocabulary.letter_bits)
        keys = vocabulary.pairs(f"first {begin} of {length}", keys, rest)
    return Words(rows, positions, keys)


def bags_of(X: Any, vocabulary: Vocabulary, *, lowercase: bool) -> Letters:
    """The words of each text, or its tokens, as numbers."""
    known = next(iter(vocabulary.things), None)
    if known is not None and len(X) and isinstance(known, bytes) != isinstance(X[0], bytes):
        raise _other_kind(type(known).__name__, type(X[0]).__name__)
    bags = [_split(item, lowercase) for item in X]
    starts = np.cumsum([0, *map(len, bags)])
    codes = vocabulary.numbers(word for bag in bags for word in bag)
    return Letters(codes, starts.astype(np.intp))


def beyond(X: Any, alphabet: str) -> Counter[Any]:
    """How often each letter outside the alphabet occurs in checked sequences."""
    known = set(alphabet)
    met: Counter[Any] = Counter()
    for item in X:
        met.update(item.decode("latin-1") if isinstance(item, bytes) else item)
    return Counter({letter: count for letter, count in met.items() if letter not in known})


def _kind(item: Any) -> type | None:
    for kind in (str, bytes):
        if isinstance(item, kind):
            return kind
    if isinstance(item, list | tuple) or (isinstance(item, np.ndarray) and item.ndim == 1):
        return tuple
    return None


def _tokens(owner: str, objects: Any) -> Any:
    found = np.empty(len(objects), dtype=object)
    for row, item in enumerate(objects):
        tokens = item.tolist() if isinstance(item, np.ndarray) else item
        for token in tokens:
            if not isinstance(token, str | int | np.integer) or isinstance(token, bool):
                raise DataError(
                    f"{owner} takes tokens that are strings or whole numbers; item {row} has {token!r:.40}"
                )
        found[row] = tuple(
            int(token) if isinstance(token, np.integer) else token for token in tokens
        )
    return found


def _other_kind(known: str, got: str) -> DataError:
    return DataError(
        f"the features are those of {known}; got {got}: pass the same type as in training"
    )


def _packed(codes: Codes, at: Codes, begin: int, length: int, bits: int) -> Codes:
    """Letters begin..begin + length from each place on, in one whole number; -1 with one not known."""
    keys = np.zeros(len(at), dtype=np.intp)
    unknown = np.zeros(len(at), dtype=bool)
    for step in range(begin, begin + length):
        code = codes[at + step]
        unknown |= code < 0
        keys = (keys << bits) | code
    keys[unknown] = UNKNOWN
    return keys


def _split(item: Any, lowercase: bool) -> Any:
    if isinstance(item, tuple):
        return item
    text = item.lower() if lowercase else item
    return (BYTE_WORD if isinstance(text, bytes) else WORD).findall(text)
