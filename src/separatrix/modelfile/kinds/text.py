"""What turns texts into numbers before a model sees them: words that are counted, letters in place.

Texts come from anybody, and so may the file that says how they are read. What could open a path, run a
function or match an expression for ever is refused here, both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from separatrix.errors import ModelFileError
from separatrix.estimators.positions import PositionIndicator
from separatrix.modelfile.array_fields import MOST_WORDS, Array, Labels
from separatrix.modelfile.container import in_a_line
from separatrix.modelfile.fields import (
    Archive,
    Field,
    ShapeEnv,
    Whole,
    mismatch_error,
    schema_error,
)
from separatrix.modelfile.schema import (
    FEATURES,
    Model,
    ModelSchema,
    Values,
    require,
    set_all,
    without,
)
from separatrix.modelfile.values import NO_CODE, Only, Value

TOKEN_PATTERN = r"(?u)\b\w\w+\b"  # scikit-learn's default; takes time in proportion to a text
LONGEST_RUN = 32  # words or letters together; a text has about as many terms for each word
COUNTED_AS = (np.int64, np.float64, np.float32)
ENCODINGS = (
    *("utf-8", "utf8", "utf-8-sig", "utf-16", "utf-32", "ascii", "latin-1", "latin1"),
    *("iso-8859-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251", "cp1252", "windows-1252"),
)


@dataclass(frozen=True)
class CountType:
    """The type that words are counted in."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """Its name."""
        self._check(value, at)
        return Value().put(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The type."""
        value = Value().get(document, at, file, sizes)
        self._check(value, at)
        return value

    def _check(self, value: Any, at: str) -> None:
        if not isinstance(value, type) or value not in COUNTED_AS:
            names = ", ".join(f"np.{kind.__name__}" for kind in COUNTED_AS)
            raise ModelFileError(
                "unsupported", f"`{at}` must be one of {names} in a file; found {in_a_line(value)}"
            )


@dataclass(frozen=True)
class Run:
    """How many words or letters are taken together, from and to."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[int]:
        """As a list."""
        return list(self.get(list(value), at, file, sizes))

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> tuple[int, int]:
        """The pair, neither of them so large that a short text gives very many terms."""
        if not isinstance(document, list) or len(document) != 2:
            raise schema_error(at, "two whole numbers", document)
        low, high = (Whole(1).put(length, at, file, sizes) for length in document)
        if not low <= high <= LONGEST_RUN:
            raise mismatch_error(at, f"from 1 to {LONGEST_RUN}, the smaller first", (low, high))
        return low, high


@dataclass(frozen=True)
class Vocabulary:
    """Words and their columns, as the words in the order of the columns."""

    letter: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """What kind of labels the words are."""
        if not isinstance(value, dict) or not all(isinstance(word, str) for word in value):
            raise schema_error(at, "a dict of words", type(value).__name__)
        words = np.array(sorted(value, key=value.__getitem__), dtype=object)
        if [value[word] for word in words] != list(range(len(words))):
            raise mismatch_error(at, f"of the columns 0 to {len(words) - 1}, each once", "others")
        return self._words.put(words, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> dict[str, int]:
        """The dict."""
        if document != "objects":
            raise schema_error(at, "words", document)
        words = self._words.get(document, at, file, sizes).tolist()
        if not words:
            raise mismatch_error(at, "at least one word", "none")
        return {word: column for column, word in enumerate(words)}

    @property
    def _words(self) -> Labels:
        return Labels(self.letter, rising=False)


@dataclass(frozen=True)
class Letters:
    """Letters in order, each once, as their numbers in Unicode."""

    letter: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """The numbers are an array."""
        codes = np.array([ord(one) for one in value], dtype=np.uint32)
        self._check(codes, at)
        return self._codes.put(codes, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """The letters as one string."""
        codes = self._codes.get(document, at, file, sizes)
        self._check(codes, at)
        return "".join(map(chr, codes.tolist()))

    @property
    def _codes(self) -> Array:
        return Array("u4", self.letter)

    def _check(self, codes: Any, at: str) -> None:
        if codes.ndim != 1 or not len(codes) or codes.max() > 0x10FFFF:
            raise schema_error(at, "letters, at least one", codes.shape)
        if not (codes[1:] > codes[:-1]).all():
            raise mismatch_error(at, "in rising order, none twice", "another order")


READING: dict[str, Field] = {
    "input": Only(("content",), "for no model from a file opens others"),
    "encoding": Only(ENCODINGS, "for others are not known to be safe"),
    "strip_accents": Only((None, "ascii", "unicode"), NO_CODE),
    "preprocessor": Only((None,), NO_CODE),
    "tokenizer": Only((None,), NO_CODE),
    "stop_words": Only((None, "english"), "for a file holds no other list of them"),
    "token_pattern": Only((TOKEN_PATTERN,), "for another may take for ever to match"),
    "analyzer": Only(("word", "char", "char_wb"), NO_CODE),
    "ngram_range": Run(),
    "dtype": CountType(),
}


def _vectorizer_unpack(model: Any, values: Values) -> None:
    set_all(model, values)
    model.fixed_vocabulary_ = model.vocabulary is not None
    if model.analyzer == "word":
        model._stop_words_id = id(model.stop_words)  # they need not be looked at once more


def _vectorizer_check(model: Any, _sizes: ShapeEnv) -> None:
    given = model.vocabulary
    if given is not None:
        meant = given if isinstance(given, dict) else {word: at for at, word in enumerate(given)}
        require(meant == model.vocabulary_, "vocabulary_", "as `vocabulary` says", "another")


def _tfidf_vectorizer_check(model: Any, sizes: ShapeEnv) -> None:
    _vectorizer_check(model, sizes)
    inner = model._tfidf
    found, wanted = inner.n_features_in_, sizes["w"]
    require(found == wanted, "_tfidf.n_features_in_", f"{wanted}, one for each word", found)
    for name, value in inner.get_params().items():
        meant = getattr(model, name)
        require(value == meant, f"_tfidf.{name}", f"{meant}, as in the model around it", value)


def _tfidf_check(model: Any, _sizes: ShapeEnv) -> None:
    there = hasattr(model, "idf_")
    require(there == model.use_idf, "idf_", f"there: {model.use_idf}, as use_idf says", there)


def _positions_check(model: Any, sizes: ShapeEnv) -> None:
    columns = model.length_ * sizes["k"]
    if columns > MOST_WORDS:
        raise ModelFileError(
            "limit",
            f"`length_`: a file holds at most {MOST_WORDS} letters at positions; found {columns}",
        )


KINDS = {
    "CountVectorizer": ModelSchema(
        CountVectorizer,
        {"vocabulary_": Vocabulary("w")},
        params=READING,
        pack=without("fixed_vocabulary_", "_stop_words_id"),
        unpack=_vectorizer_unpack,
        check=_vectorizer_check,
    ),
    "TfidfVectorizer": ModelSchema(
        TfidfVectorizer,
        {"vocabulary_": Vocabulary("w"), "_tfidf": Model(("TfidfTransformer",))},
        params=READING,
        pack=without("fixed_vocabulary_", "_stop_words_id"),
        unpack=_vectorizer_unpack,
        check=_tfidf_vectorizer_check,
    ),
    "TfidfTransformer": ModelSchema(
        TfidfTransformer,
        {**FEATURES, "idf_": Array("f4 f8", "d")},
        sometimes=frozenset({"idf_"}),
        check=_tfidf_check,
    ),
    "PositionIndicator": ModelSchema(
        PositionIndicator,
        {"letters_": Letters("k"), "length_": Whole(1)},
        check=_positions_check,
    ),
}
