"""Kernels on sequences: strings, bytes, or lists of tokens.

A sequence that has none of a kernel's features, because it is empty or shorter than a word, has the
value 0 with everything. Letters outside a declared alphabet stay letters of their own; they are counted
and said. `Subsequence`, which counts no features, is in `gaps.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.errors import DataError, ParameterError
from separatrix.kernels import feature_names
from separatrix.kernels.object_kernels import Covered, FeatureKernel, ObjectKernel, Occurrences
from separatrix.kernels.strings.sequences import (
    BYTE_WORD,
    WORD,
    Letters,
    bags_of,
    beyond,
    checked_sequences,
    letters_of,
    words_of,
)
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes
from separatrix.validation import require_flag, require_integer, require_real


class SequenceKernel(ObjectKernel):
    """A kernel on sequences."""

    takes = "sequences"
    alphabet: str | None = None

    def checked(self, X: Any) -> Any:
        """An array (n,) of str, of bytes, or of tuples of tokens."""
        return checked_sequences(type(self).__name__, X)

    def one_kind(self, X: Any) -> Any:
        """Sequences from two places, refused where they are of two types."""
        kinds = {type(item) for item in X}
        if len(kinds) > 1 and not all(issubclass(kind, str) for kind in kinds):
            return self.checked(X)  # says so
        return X

    def notes(self, X: Any) -> list[str]:
        """Letters outside the alphabet; no word in any sequence."""
        said = []
        if self.alphabet is not None:
            strange = beyond(X, self.alphabet)
            if strange:
                listed = ", ".join(
                    f"{letter!r} {count}" for letter, count in strange.most_common(8)
                )
                said.append(
                    f"{strange.total():,} letters outside the alphabet {self.alphabet!r} are kept as "
                    f"letters of their own: {listed}"
                )
        shortest = min(level for level, _ in self.levels)
        if max(map(len, X), default=0) < shortest:
            raise DataError(
                f"no sequence has {shortest} letters, so all values of {self!r} are 0; lower k"
            )
        return said

    def _require_alphabet(self) -> None:
        if self.alphabet is not None and (not isinstance(self.alphabet, str) or not self.alphabet):
            must_be = "a string of letters, or None"
            raise ParameterError(type(self).__name__, "alphabet", must_be, self.alphabet)


class _Words(SequenceKernel, FeatureKernel):
    """Counts runs of letters."""

    def found_features(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Letters:
        """The sequences as numbers."""
        return letters_of(X, vocabulary)

    def occurrences(
        self, X: Any, level: int, found: Letters, vocabulary: Vocabulary
    ) -> Occurrences:
        """All words of `level` letters."""
        words = words_of(found, level, vocabulary)
        name = f"level {level}"
        numbers = vocabulary.pairs(name, words.keys, self._where(words.positions))
        return Occurrences(words.rows, numbers, words.positions, len(vocabulary.tables[name]))

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The words themselves."""
        keys, positions = vocabulary.tables[f"level {level}"].keys[numbers].T
        words = feature_names.words(vocabulary, keys, level)
        return [self._titled(*both) for both in zip(words, positions.tolist(), strict=True)]

    def covers(self, X: Any, level: int, found: Letters, occurrences: Occurrences) -> Covered:
        """The letters of each word."""
        starts = level * np.arange(len(occurrences.rows) + 1)
        return Covered(starts, (occurrences.positions[:, None] + np.arange(level)).ravel())

    def _where(self, positions: Any) -> Any:
        return 0

    def _titled(self, word: str, position: int) -> str:
        return word


@dataclass(frozen=True)
class Spectrum(_Words):
    """Words that two sequences share: k(s, t) = sum_u c_u(s) c_u(t) over all words u of k letters.

    c_u counts every occurrence, overlaps too.

    Parameters
    ----------
    k
        Letters of a word. At least 1.
    shortest
        Also all lengths from this on up to k. None: k alone.
    weights
        What each length counts, the shortest first; above 0. None: all 1.
    alphabet
        The letters that are expected. Others are kept, and a fit says how many there are.

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
            _require_weights("Spectrum", self.weights, len(self._lengths))
            object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        self._require_alphabet()

    @property
    def _lengths(self) -> range:
        return range(self.k if self.shortest is None else self.shortest, self.k + 1)

    @property
    def family(self) -> Hashable:
        """All lengths share one look at the sequences."""
        return Spectrum

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Lengths of words."""
        weights = self.weights or (1.0,) * len(self._lengths)
        return tuple(zip(self._lengths, weights, strict=True))


@dataclass(frozen=True)
class WeightedDegree(_Words):
    """Words that two sequences share at the same place; for aligned sequences, as splice sites.

    k(s, t) = sum over d = 1..k of beta_d times the places where both have the same word of d letters,
    with beta_d = 2 (k - d + 1) / (k (k + 1)). Where one sequence has ended nothing is shared.

    Parameters
    ----------
    k
        Letters of the longest word. At least 1.
    alphabet
        The letters that are expected. Others are kept, and a fit says how many there are.

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
        """All degrees share the lengths of words."""
        return WeightedDegree

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Lengths of words."""
        k = self.k
        return tuple((d, 2.0 * (k - d + 1) / (k * (k + 1))) for d in range(1, k + 1))

    def _where(self, positions: Any) -> Any:
        return positions

    def _titled(self, word: str, position: int) -> str:
        return f"{word} at {position + 1}"


@dataclass(frozen=True)
class BagOfWords(SequenceKernel, FeatureKernel):
    """Words that two texts share, wherever they are: k(s, t) = sum_w c_w(s) c_w(t).

    A word is a run of letters, digits and underscores; of a list, each token is one.

    Parameters
    ----------
    lowercase
        Whether capitals are small letters. Tokens stay as they are.

    Examples
    --------
    >>> BagOfWords().block(["To be or not to be"], ["to be", "not me"])
    array([[4., 1.]])
    """

    lowercase: bool = True

    def __post_init__(self) -> None:
        require_flag("BagOfWords", "lowercase", self.lowercase)

    @property
    def family(self) -> Hashable:
        """Nothing is shared but with itself."""
        return self

    @property
    def levels(self) -> tuple[tuple[int, float], ...]:
        """One."""
        return ((1, 1.0),)

    def notes(self, X: Any) -> list[str]:
        """Nothing: a text without words is like no other."""
        return []

    def found_features(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Letters:
        """The words of each text, as numbers."""
        return bags_of(X, vocabulary, lowercase=self.lowercase)

    def occurrences(
        self, X: Any, level: int, found: Letters, vocabulary: Vocabulary
    ) -> Occurrences:
        """All words."""
        rows = np.repeat(np.arange(len(X)), found.lengths)
        positions = np.arange(len(rows)) - found.starts[rows]
        return Occurrences(rows, found.codes, positions, len(vocabulary.things))

    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """The words themselves."""
        return feature_names.things(vocabulary, numbers)

    def covers(self, X: Any, level: int, found: Letters, occurrences: Occurrences) -> Covered:
        """The letters of each word; of a list, its token."""
        letters = [taken for item in X for taken in _letters_of_words(item, self.lowercase)]
        none = np.zeros(0, dtype=np.intp)
        return Covered(np.cumsum([0, *map(len, letters)]), np.concatenate([none, *letters]))


def _letters_of_words(item: Any, lowercase: bool) -> list[Codes]:
    """The letters that each word of a text takes, in the order of `bags_of`."""
    if isinstance(item, tuple):
        return list(np.arange(len(item))[:, None])
    text = item.lower() if lowercase else item
    letters = np.arange(len(item))
    if len(text) != len(item):  # a capital may be two small letters
        letters = np.repeat(letters, [len(letter.lower()) for letter in item])
    pattern: Any = BYTE_WORD if isinstance(text, bytes) else WORD
    return [np.unique(letters[slice(*match.span())]) for match in pattern.finditer(text)]


def _require_weights(owner: str, weights: Any, count: int) -> None:
    must_be = f"{count} numbers above 0, one for each length"
    if not isinstance(weights, list | tuple | np.ndarray) or len(weights) != count:
        raise ParameterError(owner, "weights", must_be, weights)
    for weight in weights:
        require_real(owner, "weights", weight, above=0)
