"""Kernels on sequences: strings, bytes, or lists of tokens.

A sequence without any of a kernel's features (empty, or shorter than a word) has the value 0 with every
other. Letters outside a declared alphabet stay letters of their own; a fit reports how many there are.
`Subsequence`, which has no explicit features, is in `subsequence_kernel.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import feature_names
from separatrix.kernels.object_kernels import Coverage, FeatureKernel, ObjectKernel, Occurrences
from separatrix.kernels.strings.sequences import (
    BYTE_WORD,
    WORD,
    EncodedSequences,
    check_sequences,
    count_unknown_letters,
    encode_sequences,
    encode_texts,
    encode_words,
)
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes
from separatrix.validation import require_flag, require_integer, require_real


class SequenceKernel(ObjectKernel):
    """A kernel on sequences."""

    takes = "sequences"
    alphabet: str | None = None

    def checked(self, X: Any) -> Any:
        return check_sequences(type(self).__name__, X)

    def require_one_type(self, X: Any) -> Any:
        types = {type(item) for item in X}
        if len(types) > 1 and not all(issubclass(kind, str) for kind in types):
            return self.checked(X)  # raises, with the types
        return X

    def notes(self, X: Any) -> list[str]:
        """Letters outside the alphabet. Raises if every sequence is too short."""
        shortest = min(level for level, _ in self.levels)
        if max(map(len, X), default=0) < shortest:
            raise DataError(
                f"no sequence has {shortest} letters, so all values of {self!r} are 0; lower k"
            )
        unknown = None if self.alphabet is None else count_unknown_letters(X, self.alphabet)
        if not unknown:
            return []
        listed = ", ".join(f"{letter!r} {count}" for letter, count in unknown.most_common(8))
        return [
            f"{unknown.total():,} letters outside the alphabet {self.alphabet!r} are kept as "
            f"letters of their own: {listed}"
        ]

    def _require_alphabet(self) -> None:
        if self.alphabet is not None and (not isinstance(self.alphabet, str) or not self.alphabet):
            must_be = "a string of letters, or None"
            raise ParameterError(type(self).__name__, "alphabet", must_be, self.alphabet)


class _WordKernel(SequenceKernel, FeatureKernel):
    """Counts words: runs of consecutive letters. A level is a word length."""

    def encode(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> EncodedSequences:
        return encode_sequences(X, vocabulary)

    def occurrences(
        self, level: int, encoded: EncodedSequences, vocabulary: Vocabulary
    ) -> Occurrences:
        words = encode_words(encoded, level, vocabulary)
        name = f"level {level}"
        numbers = vocabulary.pairs(name, words.keys, self._position_key(words.positions))
        return Occurrences(words.rows, numbers, words.positions, len(vocabulary.tables[name]))

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        keys, positions = vocabulary.tables[f"level {level}"].keys[numbers].T
        words = feature_names.name_words(vocabulary, keys, level)
        return [self._format_name(*both) for both in zip(words, positions.tolist(), strict=True)]

    def coverage(
        self, X: Any, level: int, encoded: EncodedSequences, occurrences: Occurrences
    ) -> Coverage:
        starts = level * np.arange(len(occurrences.rows) + 1)
        return Coverage(starts, (occurrences.positions[:, None] + np.arange(level)).ravel())

    def _position_key(self, positions: Any) -> Any:
        return 0

    def _format_name(self, word: str, position: int) -> str:
        return word


@dataclass(frozen=True)
class Spectrum(_WordKernel):
    """Spectrum kernel: k(s, t) = sum_u c_u(s) c_u(t) over all words u of k consecutive letters.

    c_u counts every occurrence, including overlapping ones.

    Parameters
    ----------
    k
        Letters of a word. At least 1.
    shortest
        Count all word lengths from `shortest` to k. None: k alone.
    weights
        Weight of each length, the shortest first; above 0. None: all 1.
    alphabet
        The expected letters. Others are kept, and a fit reports how many there are.

    Examples
    --------
    >>> Spectrum(2).block(["banana"], ["ananas", "band"])
    array([[8., 3.]])
    >>> Spectrum(2, shortest=1).block(["ab"], ["ab"])
    array([[3.]])

    References
    ----------
    Leslie, Eskin and Noble, The Spectrum Kernel: A String Kernel for SVM Protein Classification (2002).
    """

    k: int = 3
    shortest: int | None = None
    weights: tuple[float, ...] | None = None
    alphabet: str | None = None

    def __post_init__(self) -> None:
        require_integer("Spectrum", "k", self.k, least=1)
        if self.shortest is not None:
            require_integer("Spectrum", "shortest", self.shortest, least=1)
            if self.shortest > self.k:
                raise ParameterError("Spectrum", "shortest", f"at most k={self.k}", self.shortest)
        if self.weights is not None:
            _require_weights(self.weights, len(self._lengths))
            object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        self._require_alphabet()

    @property
    def _lengths(self) -> range:
        return range(self.k if self.shortest is None else self.shortest, self.k + 1)

    @property
    def family(self) -> Hashable:
        return Spectrum

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        weights = self.weights or (1.0,) * len(self._lengths)
        return tuple(zip(self._lengths, weights, strict=True))


@dataclass(frozen=True)
class WeightedDegree(_WordKernel):
    """Weighted degree kernel: common words at the same position, for aligned sequences (splice sites).

    k(s, t) = sum over d = 1..k of beta_d times the number of positions where both have the same word of
    d letters, with beta_d = 2 (k - d + 1) / (k (k + 1)). Positions past the end of either sequence count 0.

    Parameters
    ----------
    k
        Letters of the longest word. At least 1.
    alphabet
        The expected letters. Others are kept, and a fit reports how many there are.

    Examples
    --------
    >>> WeightedDegree(2).block(["ACGT"], ["ACGT", "ACTT", "TACG"]).round(3)
    array([[3.667, 2.333, 0.   ]])

    References
    ----------
    Raetsch and Sonnenburg, Accurate Splice Site Prediction for Caenorhabditis elegans (2004).
    """

    k: int = 3
    alphabet: str | None = None

    def __post_init__(self) -> None:
        require_integer("WeightedDegree", "k", self.k, least=1)
        self._require_alphabet()

    @property
    def family(self) -> Hashable:
        return WeightedDegree

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        k = self.k
        return tuple((d, 2.0 * (k - d + 1) / (k * (k + 1))) for d in range(1, k + 1))

    def _position_key(self, positions: Any) -> Any:
        return positions

    def _format_name(self, word: str, position: int) -> str:
        return f"{word} at {position + 1}"


@dataclass(frozen=True)
class BagOfWords(SequenceKernel, FeatureKernel):
    """Bag-of-words kernel on texts: k(s, t) = sum_w c_w(s) c_w(t) over all words w.

    A word is a run of letters, digits and underscores; in a list, every token is a word.

    Parameters
    ----------
    lowercase
        Ignore case. Tokens are never changed.

    Examples
    --------
    >>> BagOfWords().block(["To be or not to be"], ["to be", "not me"])
    array([[4., 1.]])
    """

    lowercase: bool = True

    def __post_init__(self) -> None:
        require_flag("BagOfWords", "lowercase", self.lowercase)

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        return ((1, 1.0),)

    def notes(self, X: Any) -> list[str]:
        return []  # texts without words are allowed

    def encode(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> EncodedSequences:
        return encode_texts(X, vocabulary, lowercase=self.lowercase)

    def occurrences(
        self, level: int, encoded: EncodedSequences, vocabulary: Vocabulary
    ) -> Occurrences:
        rows = np.repeat(np.arange(len(encoded.lengths)), encoded.lengths)
        positions = np.arange(len(rows)) - encoded.starts[rows]
        return Occurrences(rows, encoded.codes, positions, len(vocabulary.symbols))

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        return feature_names.name_symbols(vocabulary, numbers)

    def coverage(
        self, X: Any, level: int, encoded: EncodedSequences, occurrences: Occurrences
    ) -> Coverage:
        letters = [taken for item in X for taken in _word_positions(item, self.lowercase)]
        none = np.zeros(0, dtype=np.intp)
        return Coverage(np.cumsum([0, *map(len, letters)]), np.concatenate([none, *letters]))


def _word_positions(item: Any, lowercase: bool) -> list[Codes]:
    """Positions of the letters of each word of a text, in the order of `encode_texts`."""
    if isinstance(item, tuple):
        return list(np.arange(len(item))[:, None])
    text = item.lower() if lowercase else item
    letters = np.arange(len(item))
    if len(text) != len(item):  # lower() may turn one letter into two
        letters = np.repeat(letters, [len(letter.lower()) for letter in item])
    pattern: Any = BYTE_WORD if isinstance(text, bytes) else WORD
    return [np.unique(letters[slice(*match.span())]) for match in pattern.finditer(text)]


def _require_weights(weights: Any, count: int) -> None:
    must_be = f"{count} numbers above 0, one for each length"
    if not isinstance(weights, list | tuple | np.ndarray) or len(weights) != count:
        raise ParameterError("Spectrum", "weights", must_be, weights)
    for weight in weights:
        require_real("Spectrum", "weights", weight, above=0)
