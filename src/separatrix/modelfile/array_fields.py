"""Arrays of all kinds as parts of a model: plain, stacked, sparse, of words, and whole tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from separatrix.errors import ModelFileError
from separatrix.modelfile.container import is_storable
from separatrix.modelfile.fields import (
    LARGEST_WHOLE,
    Archive,
    ShapeEnv,
    Text,
    check_values,
    mismatch_error,
    number_as_json,
    number_from_json,
    require_keys,
    schema_error,
)
from separatrix.runtime.blocks import MEBIBYTE

ANY_SHAPE = "..."
MOST_DIFFERENT = 64
MOST_WORDS = 200_000  # each takes some eighty bytes once it is read
MOST_COLUMNS = 5_000  # that encoders have categories of
LONGEST_WORD = 10_000  # letters
MOST_LETTERS = 8 * MEBIBYTE  # of words that all have room for the longest, four bytes each
MOST_RECORDS = 20_000  # of a table, each of which is a Python object
NUMBERS = "b1 u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8"  # kind and bytes of whatever an array may hold
HOLDERS = ("words", "mixed", *NUMBERS.split())  # of the labels of a column


@dataclass(frozen=True)
class Array:
    """An array of one of some types, as "f4 f8", and of a shape in letters."""

    types: str
    shape: str
    values: str = "finite"  # or "ordered": no NaN, or "any"
    least: float | None = None
    below: str | None = None  # a letter that all values lie below
    rising: bool = False  # each at least as large as the one before

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """Which way round it lies; the array itself is kept."""
        if not isinstance(value, np.ndarray):
            raise schema_error(at, "an array", type(value).__name__)
        self.check(value, at, sizes)
        backwards = value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
        file.keep(at, value.T if backwards else value)
        return "F" if backwards else "C"

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The array, lying as it did: sums over it then round as they did."""
        if document not in ("C", "F"):
            raise schema_error(at, "'C' or 'F'", document)
        value = file.take(at)
        value = value.T if document == "F" else value
        self.check(value, at, sizes)
        return value

    def check(self, value: Any, at: str, sizes: ShapeEnv) -> None:
        """Refuse another type or shape, and values out of range."""
        if _code(value) not in self.types.split():
            raise schema_error(at, f"of type {self.types}", value.dtype)
        if self.shape != ANY_SHAPE:
            sizes.unify(at, value.shape, self.shape)
        check_values(value, at, self.values)
        if not value.size:
            return
        if self.least is not None and value.min() < self.least:
            raise mismatch_error(at, f"at least {self.least:g}", value.min())
        if self.below is not None and value.max() >= sizes.of(self.below):
            raise mismatch_error(at, f"below {sizes.of(self.below)}", value.max())
        if self.rising and (value[1:] < value[:-1]).any():
            raise mismatch_error(at, "rising", "a smaller value after a larger one")


def _code(value: Any) -> str:
    """Kind and bytes of what an array holds."""
    return f"{value.dtype.kind}{value.dtype.itemsize}"


@dataclass(frozen=True)
class Stacked:
    """A list of arrays of one shape, as one array with an axis more."""

    whole: Array

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """Which way round those in the list lie."""
        if len({part.shape for part in value}) > 1:
            raise schema_error(at, "arrays of one shape", {part.shape for part in value})
        backwards = all(part.ndim > 1 and part.flags.f_contiguous for part in value)
        whole = np.stack([part.T if backwards else part for part in value])
        self.whole.check(whole.swapaxes(-1, -2) if backwards else whole, at, sizes)
        file.keep(at, whole)
        return "F" if backwards else "C"

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """The list."""
        if document not in ("C", "F"):
            raise schema_error(at, "'C' or 'F'", document)
        whole = file.take(at)
        whole = whole.swapaxes(-1, -2) if document == "F" and whole.ndim > 1 else whole
        self.whole.check(whole, at, sizes)
        return list(whole)


@dataclass(frozen=True)
class Rows:
    """Samples, (rows, columns): a dense array of any number type, or CSR."""

    shape: str
    values: str = "finite"

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """Which way round a dense array lies, or what else CSR needs."""
        if not issparse(value):
            return self._dense.put(np.asarray(value), at, file, sizes)
        if not isinstance(value, csr_array | csr_matrix):
            value = csr_array(value)
        self._check_sparse(value, at, sizes)
        for name in ("data", "indices", "indptr"):
            file.keep(f"{at}.{name}", getattr(value, name))
        form = "matrix" if isinstance(value, csr_matrix) else "array"
        return {"csr": form, "shape": [int(length) for length in value.shape]}

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The samples, of the same class as before."""
        if not isinstance(document, dict):
            return self._dense.get(document, at, file, sizes)
        shape = document.get("shape")
        if (
            set(document) != {"csr", "shape"}
            or document["csr"] not in ("array", "matrix")
            or not isinstance(shape, list)
            or len(shape) != 2
            or not all(type(length) is int and 0 <= length < LARGEST_WHOLE for length in shape)
        ):
            raise schema_error(at, "a CSR matrix with its shape", document)
        data, indices, indptr = (
            file.take(f"{at}.{name}") for name in ("data", "indices", "indptr")
        )
        _check_csr(data, indices, indptr, tuple(shape), at)
        form = csr_matrix if document["csr"] == "matrix" else csr_array
        value = form((data, indices, indptr), shape=tuple(shape))
        self._check_sparse(value, at, sizes)
        return value

    @property
    def _dense(self) -> Array:
        return Array(NUMBERS, self.shape, self.values)

    def _check_sparse(self, value: Any, at: str, sizes: ShapeEnv) -> None:
        _check_csr(value.data, value.indices, value.indptr, value.shape, at)
        sizes.unify(at, value.shape, self.shape)
        check_values(value.data, at, self.values)


def _check_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...], at: str) -> None:
    """Refuse what compiled loops would follow out of their arrays."""
    if _code(data) not in NUMBERS.split():
        raise schema_error(f"{at}.data", "numbers", data.dtype)
    if not (indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)):
        raise schema_error(at, "of one type of index, int32 or int64", indices.dtype)
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (shape[0] + 1,):
        raise mismatch_error(
            at, "three arrays that fit each other", f"{data.shape}, {indptr.shape}"
        )
    if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise mismatch_error(f"{at}.indptr", f"rising from 0 to {len(data)}", "something else")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise mismatch_error(f"{at}.indices", f"between 0 and {shape[1] - 1}", indices.max())


@dataclass(frozen=True)
class Labels:
    """Labels of classes, or names: numbers as an array, words as their bytes and where each ends."""

    shape: str
    rising: bool = True  # sorted, as NumPy sorts; otherwise only none twice
    distinct: bool = True
    missing: bool = False  # whether NaN and None may be among them

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """What kind of labels they are."""
        value = np.asarray(value)
        if value.dtype.kind == "O":
            value = _as_objects([_plain(label) for label in value])
        self.check(value, at, sizes)
        if value.dtype.kind == "U" or (
            value.dtype.kind == "O" and all(isinstance(label, str) for label in value)
        ):
            _put_words(value, at, file)
            return {"words": value.dtype.itemsize // 4} if value.dtype.kind == "U" else "objects"
        if value.dtype.kind == "O":
            return {"mixed": [_as_json(label, at) for label in value.tolist()]}
        if not is_storable(value.dtype):
            raise schema_error(at, "words or numbers", value.dtype)
        file.keep(at, value)
        return "numbers"

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The labels as they were: numbers, words of one length, or Python objects."""
        if document == "numbers":
            value = file.take(at)
        elif document == "objects":
            value = _as_objects(_words(at, file))
        elif isinstance(document, dict) and list(document) == ["words"]:
            value = _of_one_length(_words(at, file), document["words"], at, file)
        elif isinstance(document, dict) and list(document) == ["mixed"]:
            value = _mixed(document["mixed"], at)
        else:
            raise schema_error(at, "labels", document)
        self.check(value, at, sizes)
        return value

    def check(self, value: Any, at: str, sizes: ShapeEnv) -> None:
        """Refuse labels that are no labels, come twice, or are not in order."""
        sizes.unify(at, value.shape, self.shape)
        if not self.missing:
            check_values(value, at, "finite")
            if value.dtype.kind == "O" and any(not _is_plain(label) for label in value):
                raise schema_error(
                    at, "words and numbers", {type(label).__name__ for label in value}
                )
        if self.rising and value.dtype.kind != "O":
            if not (value[1:] > value[:-1]).all():
                raise mismatch_error(at, "in rising order, none twice", "another order")
        elif self.distinct and len(set(value.tolist())) < len(value):
            raise mismatch_error(at, "all different", "one of them twice")


def _plain(label: Any) -> Any:
    """A label of Python's own type."""
    return label.item() if isinstance(label, np.generic) else label


def _is_plain(label: Any) -> bool:
    """A word, or a number that is one."""
    return type(label) in (str, int, bool) or (type(label) is float and bool(np.isfinite(label)))


def _as_json(label: Any, at: str) -> Any:
    if type(label) is float:
        return number_as_json(label)
    if label is not None and type(label) not in (str, int, bool):
        raise schema_error(at, "words and numbers", type(label).__name__)
    return label


def _mixed(values: object, at: str) -> Any:
    if not isinstance(values, list):
        raise schema_error(at, "a list of words and numbers", values)
    for value in values:
        if isinstance(value, list) or (isinstance(value, dict) and list(value) != ["float"]):
            raise schema_error(at, "words and numbers", value)
    return _as_objects(
        [number_from_json(value, at) if isinstance(value, dict) else value for value in values]
    )


def _as_objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _put_words(words: Any, at: str, file: Archive) -> None:
    try:
        parts = [str(word).encode() for word in words]
    except UnicodeEncodeError:
        raise schema_error(at, "words that UTF-8 can write", "a lone surrogate") from None
    file.keep(at, np.frombuffer(b"".join(parts), dtype=np.uint8))
    file.keep(f"{at}.ends", np.cumsum([len(part) for part in parts], dtype=np.int64))


def _words(at: str, file: Archive) -> list[str]:
    data, ends = file.take(at), file.take(f"{at}.ends")
    if data.dtype != np.uint8 or data.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise schema_error(at, "bytes, and where each word ends", f"{data.dtype}, {ends.dtype}")
    file.spend("words", len(ends), MOST_WORDS, at)
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    if (np.diff(starts) < 0).any() or starts[-1] != len(data):
        raise mismatch_error(f"{at}.ends", f"rising from 0 to {len(data)}", "something else")
    raw = data.tobytes()
    try:
        return [raw[start:end].decode() for start, end in pairwise(starts.tolist())]
    except UnicodeDecodeError:
        raise schema_error(at, "words in UTF-8", "other bytes") from None


def _of_one_length(words: list[str], length: Any, at: str, file: Archive) -> Any:
    """An array of NumPy's words, each with room for so many letters."""
    if type(length) is not int or not 0 <= length <= LONGEST_WORD:
        raise schema_error(at, f"words of at most {LONGEST_WORD} letters", length)
    file.spend("letters of words", length * len(words), MOST_LETTERS, at)
    value = np.array(words, dtype=f"<U{length}")
    if value.tolist() != words:  # cut off, or zeros at the end, which NumPy drops
        raise schema_error(at, f"words of up to {length} letters", "others")
    return value


@dataclass(frozen=True)
class Columns:
    """Labels of every column: all words one after the other in one array, numbers of a type in another."""

    each: Labels
    letter: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """Of each column the array that has its labels, what they are, and how many."""
        sizes.unify(at, (len(value),), self.letter)
        arrays: dict[str, list[Any]] = {}
        document = []
        for number, column in enumerate(value):
            kind = self.each.put(column, f"{at}[{number}]", Archive(), ShapeEnv())
            name = "mixed" if isinstance(kind, dict) and "mixed" in kind else "words"
            if kind == "numbers":
                name = column.dtype.newbyteorder("<").str[1:]
            arrays.setdefault(name, []).append(column)
            document.append([name, kind, len(column)])
        for name, columns in arrays.items():
            if name == "words":
                _put_words([word for column in columns for word in column], f"{at}.words", file)
            elif name != "mixed":
                file.keep(f"{at}.{name}", np.concatenate(columns))
        return document

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """The columns."""
        if not isinstance(document, list):
            raise schema_error(at, "a list of columns", document)
        sizes.unify(at, (len(document),), self.letter)
        file.spend("columns with categories", len(document), MOST_COLUMNS, at)
        arrays: dict[str, list[Any] | Any] = {}
        taken: dict[str, int] = {}
        columns = []
        for number, entry in enumerate(document):
            position = f"{at}[{number}]"
            name, kind, size = entry if isinstance(entry, list) and len(entry) == 3 else [None] * 3
            if type(size) is not int or name not in HOLDERS or size < 0:
                raise schema_error(position, "an array, a kind and a length", entry)
            if name not in arrays and name != "mixed":
                arrays[name] = self._whole(name, at, file)
            start = taken.get(name, 0)
            taken[name] = start + size
            part = None if name == "mixed" else arrays[name][start : start + size]
            columns.append(self._column(part, kind, size, position, file))
        for name, whole in arrays.items():
            if taken[name] != len(whole):
                raise mismatch_error(f"{at}.{name}", f"{taken[name]} labels", len(whole))
        return columns

    def _whole(self, name: str, at: str, file: Archive) -> Any:
        position = f"{at}.{name}"
        if name == "words":
            return _words(position, file)
        whole = file.take(position)
        Array(name, "n", "any").check(whole, position, ShapeEnv())
        file.spend("words", len(whole), MOST_WORDS, position)
        return whole

    def _column(self, part: Any, kind: Any, size: int, at: str, file: Archive) -> Any:
        if isinstance(part, list):
            value = _as_objects(part)
            if isinstance(kind, dict) and list(kind) == ["words"]:
                value = _of_one_length(part, kind["words"], at, file)
            elif kind != "objects":
                raise schema_error(at, "words", kind)
            self.each.check(value, at, ShapeEnv())
        elif part is None:
            value = self.each.get(kind, at, Archive(), ShapeEnv())
        elif kind != "numbers":
            raise schema_error(at, "numbers", kind)
        else:
            value = part.copy()
            self.each.check(value, at, ShapeEnv())
        if len(value) != size:
            raise mismatch_error(at, f"{size} labels", len(value))
        return value


@dataclass(frozen=True)
class Words:
    """A list of words of which many are the same: each once, and which of them is where."""

    letter: str

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[str]:
        """The different words."""
        words = sorted(set(value))
        file.keep(at, np.array([words.index(word) for word in value], dtype=np.int32))
        self.get(words, at, file, sizes)
        return words

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[str]:
        """The list."""
        if not isinstance(document, list) or len(document) > MOST_DIFFERENT:
            raise schema_error(at, f"a list of at most {MOST_DIFFERENT} words", document)
        words = [Text().get(word, at, file, sizes) for word in document]
        codes = file.take(at)
        inside = ShapeEnv({**sizes, "w": len(words)})
        Array("i4", self.letter, least=0, below="w").check(codes, at, inside)
        sizes.unify(at, codes.shape, self.letter)
        return [words[code] for code in codes.tolist()]


@dataclass(frozen=True)
class Table:
    """A list of named tuples, column by column, in as many arrays however long the list is."""

    make: Callable[..., Any]
    arrays: Mapping[str, Array]  # one axis each, of the same length within a tuple
    numbers: Mapping[str, str]  # types of parts that are one number
    words: tuple[str, ...]
    letter: str  # the length of the list

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The words; the rest are arrays."""
        if len(value) > MOST_RECORDS:
            raise ModelFileError(
                "limit",
                f"`{at}` has {len(value)} records, at most {MOST_RECORDS} are kept; use slim=True",
            )
        first = next(iter(self.arrays))
        ends = np.cumsum([len(getattr(row, first)) for row in value], dtype=np.int64)
        file.keep(f"{at}.ends", ends)
        for name, column in self.arrays.items():
            whole = np.concatenate([getattr(row, name) for row in value])
            column.put(whole, f"{at}.{name}", file, ShapeEnv(sizes))
        for name, kind in self.numbers.items():
            file.keep(f"{at}.{name}", np.array([getattr(row, name) for row in value], dtype=kind))
        return {
            name: Words(self.letter).put(
                [getattr(row, name) for row in value], f"{at}.{name}", file, sizes
            )
            for name in self.words
        }

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """The list."""
        require_keys(document, at, set(self.words))
        ends = file.take(f"{at}.ends")
        Array("i8", self.letter, least=0, rising=True).check(ends, f"{at}.ends", sizes)
        file.spend("records", len(ends), MOST_RECORDS, at)
        columns: dict[str, Any] = {}
        for name, column in self.arrays.items():
            position = f"{at}.{name}"
            whole = column.get("C", position, file, ShapeEnv(sizes))
            if not len(ends) or len(whole) != ends[-1]:
                raise mismatch_error(position, "as long as its parts together", whole.shape)
            columns[name] = np.split(whole, ends[:-1])
        for name, kind in self.numbers.items():
            position = f"{at}.{name}"
            whole = file.take(position)
            Array(kind, self.letter, "any").check(whole, position, sizes)
            columns[name] = whole.tolist()
        for name in self.words:
            columns[name] = Words(self.letter).get(document[name], f"{at}.{name}", file, sizes)
        return [
            self.make(**dict(zip(columns, row, strict=True)))
            for row in zip(*columns.values(), strict=True)
        ]
