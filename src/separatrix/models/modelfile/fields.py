"""What a part of a model is like: the words that the table of kinds is written in.

A field puts a value into a file and gets it back, and checks it both times in the same way. Shapes are
written with the letters of the house, "k d", and the letters of one model must agree with each other:
the first array that has a letter settles it. Arrays go into the file under the name of their place;
the document holds what is small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from separatrix.compute.blocks import MEBIBYTE
from separatrix.compute.container import Tensors, is_storable
from separatrix.errors import ModelFileError

LETTER = re.compile(r"([a-z])([+-]\d+)?")
ANY_SHAPE = "..."
LARGEST_WHOLE = 2**53
LONGEST_TEXT = 10_000
MOST_ITEMS = 100_000  # of a list in the document
LABEL_BYTES = 32 * MEBIBYTE  # labels of one length take as much as the longest, each
NUMBERS = "b1 u1 i1 u2 i2 f2 u4 i4 f4 u8 i8 f8"  # kind and bytes of whatever an array may hold


class Sizes(dict[str, int]):
    """What the letters of one model's shapes stand for."""

    def bind(self, at: str, shape: tuple[int, ...], letters: str) -> None:
        """Refuse a shape that does not go with the letters settled before, and settle the others."""
        words = letters.split()
        if len(shape) != len(words):
            raise wrong(at, f"an array of shape ({', '.join(words)})", f"shape {shape}")
        for length, word in zip(shape, words, strict=True):
            letter, shift = _parts(word)
            if length - shift < 0:
                raise wrong(at, f"at least {shift} long", f"shape {shape}")
            if self.setdefault(letter, length - shift) != length - shift:
                raise apart(
                    at, f"of shape ({', '.join(words)}) with {letter}={self[letter]}", shape
                )

    def of(self, word: str) -> int:
        """The number that a letter, with what is added to it, stands for."""
        letter, shift = _parts(word)
        return self[letter] + shift


def _parts(word: str) -> tuple[str, int]:
    match = LETTER.fullmatch(word)
    assert match is not None, word
    return match[1], int(match[2] or 0)


def _no_model(*_: Any) -> Any:
    raise ModelFileError("schema", "there is no place for a model here")


@dataclass
class Filing:
    """A file on its way: its arrays, and what to do with a model inside a model."""

    tensors: Tensors = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # names of arrays that something asked for
    fitted: bool = True  # whether what is written now is more than a template
    put_model: Callable[[Any, str, bool], Any] = _no_model
    get_model: Callable[[Any, str], Any] = _no_model

    def keep(self, at: str, array: Any) -> None:
        """Have an array in the file, under the name of its place."""
        self.tensors[at] = array

    def take(self, at: str) -> Any:
        """The array of that place."""
        if at not in self.tensors:
            raise ModelFileError("schema", f"the file has no array `{at}`")
        self.used.add(at)
        return self.tensors[at]


def wrong(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a part that is not what its field says."""
    return ModelFileError("schema", f"`{at}` must be {expected}; found {in_a_line(found)}")


def apart(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a part that does not go with the others."""
    return ModelFileError("invariant", f"`{at}` must be {expected}; found {in_a_line(found)}")


def in_a_line(found: object) -> str:
    """The beginning of what was found, without line breaks and other letters that do not print."""
    text = f"{found!s:.160}"
    return text if text.isprintable() else ascii(text)


class Field(Protocol):
    """How one part of a model lies in a file."""

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """Check a value, keep its arrays, and return what goes into the document."""
        ...

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The value back, checked."""
        ...


@dataclass(frozen=True)
class Array:
    """An array of one of some types, as "f4 f8", and of a shape in letters."""

    types: str
    shape: str
    values: str = "finite"  # or "ordered": no NaN, or "any"
    least: float | None = None
    below: str | None = None  # a letter that all values lie below
    rising: bool = False  # each at least as large as the one before

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> str:
        """Which way round it lies; the array itself is kept."""
        if not isinstance(value, np.ndarray):
            raise wrong(at, "an array", type(value).__name__)
        self.check(value, at, sizes)
        backwards = value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
        file.keep(at, value.T if backwards else value)
        return "F" if backwards else "C"

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The array, lying as it did: sums over it then round as they did."""
        if document not in ("C", "F"):
            raise wrong(at, "'C' or 'F'", document)
        value = file.take(at)
        value = value.T if document == "F" else value
        self.check(value, at, sizes)
        return value

    def check(self, value: Any, at: str, sizes: Sizes) -> None:
        """Refuse another type or shape, and values out of range."""
        if _code(value) not in self.types.split():
            raise wrong(at, f"of type {self.types}", value.dtype)
        if self.shape != ANY_SHAPE:
            sizes.bind(at, value.shape, self.shape)
        check_values(value, at, self.values)
        if not value.size:
            return
        if self.least is not None and value.min() < self.least:
            raise apart(at, f"at least {self.least:g}", value.min())
        if self.below is not None and value.max() >= sizes.of(self.below):
            raise apart(at, f"below {sizes.of(self.below)}", value.max())
        if self.rising and (value[1:] < value[:-1]).any():
            raise apart(at, "rising", "a smaller value after a larger one")


def _code(value: Any) -> str:
    """Kind and bytes of what an array holds."""
    return f"{value.dtype.kind}{value.dtype.itemsize}"


def check_values(value: Any, at: str, kind: str) -> None:
    """Refuse NaN, and infinite numbers unless only their order counts."""
    if kind == "any" or value.dtype.kind not in "fc":
        return
    ok = ~np.isnan(value) if kind == "ordered" else np.isfinite(value)
    if not ok.all():
        what = "free of NaN" if kind == "ordered" else "finite"
        raise apart(at, what, value[~ok].flat[0])


@dataclass(frozen=True)
class Stacked:
    """A list of arrays of one shape, as one array with an axis more."""

    whole: Array

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> str:
        """Which way round those in the list lie."""
        if len({part.shape for part in value}) > 1:
            raise wrong(at, "arrays of one shape", {part.shape for part in value})
        backwards = all(part.ndim > 1 and part.flags.f_contiguous for part in value)
        whole = np.stack([part.T if backwards else part for part in value])
        self.whole.check(whole.swapaxes(-1, -2) if backwards else whole, at, sizes)
        file.keep(at, whole)
        return "F" if backwards else "C"

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> list[Any]:
        """The list."""
        if document not in ("C", "F"):
            raise wrong(at, "'C' or 'F'", document)
        whole = file.take(at)
        whole = whole.swapaxes(-1, -2) if document == "F" and whole.ndim > 1 else whole
        self.whole.check(whole, at, sizes)
        return list(whole)


@dataclass(frozen=True)
class Rows:
    """Samples, (rows, columns): a dense array of any number type, or CSR."""

    shape: str
    values: str = "finite"

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
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

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
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
            raise wrong(at, "a CSR matrix with its shape", document)
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

    def _check_sparse(self, value: Any, at: str, sizes: Sizes) -> None:
        _check_csr(value.data, value.indices, value.indptr, value.shape, at)
        sizes.bind(at, value.shape, self.shape)
        check_values(value.data, at, self.values)


def _check_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...], at: str) -> None:
    """Refuse what compiled loops would follow out of their arrays."""
    if _code(data) not in NUMBERS.split():
        raise wrong(f"{at}.data", "numbers", data.dtype)
    if not (indices.dtype == indptr.dtype and indices.dtype in (np.int32, np.int64)):
        raise wrong(at, "of one type of index, int32 or int64", indices.dtype)
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (shape[0] + 1,):
        raise apart(at, "three arrays that fit each other", f"{data.shape}, {indptr.shape}")
    if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise apart(f"{at}.indptr", f"rising from 0 to {len(data)}", "something else")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise apart(f"{at}.indices", f"between 0 and {shape[1] - 1}", indices.max())


@dataclass(frozen=True)
class Labels:
    """Labels of classes, or names: numbers as an array, words as their bytes and where each ends."""

    shape: str
    rising: bool = True  # sorted, as NumPy sorts; otherwise only none twice
    distinct: bool = True

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """What kind of labels they are."""
        value = np.asarray(value)
        words = value.dtype.kind == "U" or (
            value.dtype.kind == "O" and all(isinstance(label, str) for label in value)
        )
        if words:
            try:
                parts = [str(label).encode() for label in value]
            except UnicodeEncodeError:
                raise wrong(at, "words that UTF-8 can write", "a lone surrogate") from None
            file.keep(at, np.frombuffer(b"".join(parts), dtype=np.uint8))
            file.keep(f"{at}.ends", np.cumsum([len(part) for part in parts], dtype=np.int64))
            document: Any = "objects"
            if value.dtype.kind == "U":
                document = {"words": value.dtype.itemsize // 4}
        elif value.dtype.kind == "O":
            if not all(type(label) in (str, int, float, bool) for label in value):
                raise wrong(at, "words and numbers", {type(label).__name__ for label in value})
            if not all(np.isfinite(label) for label in value if type(label) is float):
                raise wrong(at, "words and finite numbers", "others")
            document = {"mixed": value.tolist()}
        else:
            if not is_storable(value.dtype):
                raise wrong(at, "words or numbers", value.dtype)
            file.keep(at, value)
            document = "numbers"
        self._check(value, at, sizes)
        return document

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The labels as they were: numbers, words of one length, or Python objects."""
        if document == "numbers":
            value = file.take(at)
        elif document == "objects":
            value = _as_objects(_words(file.take(at), file.take(f"{at}.ends"), at))
        elif isinstance(document, dict) and list(document) == ["words"]:
            words = _words(file.take(at), file.take(f"{at}.ends"), at)
            value = _of_one_length(words, document["words"], at)
        elif isinstance(document, dict) and list(document) == ["mixed"]:
            value = _objects(document["mixed"], at)
        else:
            raise wrong(at, "labels", document)
        self._check(value, at, sizes)
        return value

    def _check(self, value: Any, at: str, sizes: Sizes) -> None:
        sizes.bind(at, value.shape, self.shape)
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise apart(at, "finite", "NaN or infinity")
        if value.dtype.kind == "U" and value.nbytes > LABEL_BYTES:
            raise ModelFileError(
                "limit", f"`{at}`: words of up to {value.itemsize // 4} letters are too long"
            )
        if self.rising and value.dtype.kind != "O":
            if not (value[1:] > value[:-1]).all():
                raise apart(at, "in rising order, none twice", "another order")
        elif self.distinct and len(set(value.tolist())) < len(value):
            raise apart(at, "all different", "one of them twice")


def _words(data: Any, ends: Any, at: str) -> list[str]:
    if data.dtype != np.uint8 or data.ndim != 1 or ends.dtype != np.int64 or ends.ndim != 1:
        raise wrong(at, "bytes, and where each word ends", f"{data.dtype}, {ends.dtype}")
    if len(ends) > MOST_ITEMS * 100:
        raise ModelFileError("limit", f"`{at}` has {len(ends)} words")
    starts = np.concatenate([np.zeros(1, np.int64), ends])
    if (np.diff(starts) < 0).any() or starts[-1] != len(data):
        raise apart(f"{at}.ends", f"rising from 0 to {len(data)}", "something else")
    raw, cuts = data.tobytes(), starts.tolist()
    try:
        return [raw[start:end].decode() for start, end in pairwise(cuts)]
    except UnicodeDecodeError:
        raise wrong(at, "words in UTF-8", "other bytes") from None


def _of_one_length(words: list[str], length: Any, at: str) -> Any:
    """An array of NumPy's words, each with room for so many letters."""
    if type(length) is not int or not 0 <= length * max(1, len(words)) * 4 <= LABEL_BYTES:
        raise ModelFileError("limit", f"`{at}`: {len(words)} words of {length!s:.20} letters")
    value = np.array(words, dtype=f"<U{length}")
    if value.tolist() != words:  # cut off, or zeros at the end, which NumPy drops
        raise wrong(at, f"words of up to {length} letters", "others")
    return value


def _objects(values: object, at: str) -> Any:
    if not isinstance(values, list) or not all(
        type(value) in (str, int, float, bool) for value in values
    ):
        raise wrong(at, "a list of words and numbers", values)
    return _as_objects(values)


def _as_objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True)
class Whole:
    """A whole number, which may settle a letter."""

    least: int = 0
    letter: str | None = None
    most: int = LARGEST_WHOLE

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> int:
        """As an integer of Python."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise wrong(at, "a whole number", value)
        return int(self.get(int(value), at, file, sizes))

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> int:
        """In range, and the same as its letter."""
        if type(document) is not int or not self.least <= document <= self.most:
            raise wrong(at, f"a whole number from {self.least} to {self.most}", document)
        if self.letter is not None:
            sizes.bind(at, (document,), self.letter)
        return document


@dataclass(frozen=True)
class Real:
    """A number; finite, unless another kind of values is allowed as in `Array`."""

    values: str = "finite"

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """As a float of Python, or its name."""
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | np.integer | np.floating
        ):
            raise wrong(at, "a number", value)
        check_values(np.float64(value), at, self.values)
        return number_as_json(float(value))

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> float:
        """The float."""
        value = number_from_json(document, at)
        check_values(np.float64(value), at, self.values)
        return value


def number_as_json(value: float) -> Any:
    """A float as JSON, which has no word for those that are not finite."""
    return value if np.isfinite(value) else {"float": str(value)}


def number_from_json(document: Any, at: str) -> float:
    """The float back."""
    if type(document) in (int, float):
        return float(document)
    if isinstance(document, dict) and list(document) == ["float"]:
        name = document["float"]
        if isinstance(name, str) and name in ("inf", "-inf", "nan"):
            return float(name)
    raise wrong(at, "a number", document)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> bool:
        """As Python's."""
        return self.get(bool(value) if isinstance(value, np.bool_) else value, at, file, sizes)

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> bool:
        """One of the two."""
        if not isinstance(document, bool):
            raise wrong(at, "true or false", document)
        return document


@dataclass(frozen=True)
class Text:
    """A line of text, or one of some words."""

    choices: tuple[str, ...] = ()

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> str:
        """As it is."""
        return self.get(str(value) if isinstance(value, str) else value, at, file, sizes)

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> str:
        """Printable, and one of the words."""
        if not isinstance(document, str) or (self.choices and document not in self.choices):
            expected = f"one of {', '.join(self.choices)}" if self.choices else "text"
            raise wrong(at, expected, repr(document))
        if len(document) > LONGEST_TEXT or not document.isprintable():
            raise wrong(at, "a line of text", repr(document))
        return document


@dataclass(frozen=True)
class Maybe:
    """A part that may be None."""

    inner: Field

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """None, or as the part inside."""
        return None if value is None else self.inner.put(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """None, or as the part inside."""
        return None if document is None else self.inner.get(document, at, file, sizes)


@dataclass(frozen=True)
class Listed:
    """A list of parts of one kind; its length may settle a letter."""

    inner: Field
    letter: str | None = None
    form: Callable[[list[Any]], Any] = list

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> list[Any]:
        """As a list of what goes into the document for each."""
        value = list(value)
        self._check(value, at, sizes)
        return [self.inner.put(part, f"{at}[{i}]", file, sizes) for i, part in enumerate(value)]

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The list, or whatever it was made of."""
        if not isinstance(document, list):
            raise wrong(at, "a list", document)
        self._check(document, at, sizes)
        return self.form(
            [self.inner.get(part, f"{at}[{i}]", file, sizes) for i, part in enumerate(document)]
        )

    def _check(self, value: list[Any], at: str, sizes: Sizes) -> None:
        if len(value) > MOST_ITEMS:
            raise ModelFileError("limit", f"`{at}` has {len(value)} items")
        if self.letter is not None:
            sizes.bind(at, (len(value),), self.letter)


@dataclass(frozen=True)
class Record:
    """A named tuple or a dataclass, part by part."""

    make: Callable[..., Any]
    parts: Mapping[str, Field]
    check: Callable[[Any, str, Sizes], None] | None = None

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> dict[str, Any]:
        """As an object of what goes into the document for each part."""
        if self.check is not None:
            self.check(value, at, sizes)
        return {
            name: part.put(getattr(value, name), f"{at}.{name}", file, sizes)
            for name, part in self.parts.items()
        }

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The tuple."""
        require_keys(document, at, set(self.parts))
        value = self.make(
            **{
                name: part.get(document[name], f"{at}.{name}", file, sizes)
                for name, part in self.parts.items()
            }
        )
        if self.check is not None:
            self.check(value, at, sizes)
        return value


def require_keys(document: Any, at: str, needed: set[str], allowed: set[str] | None = None) -> None:
    """Refuse what is not an object with these keys, and perhaps others."""
    if not isinstance(document, dict):
        raise wrong(at, "an object", document)
    missing, unknown = needed - set(document), set(document) - (needed | (allowed or set()))
    if missing or unknown:
        found = f"without {sorted(missing)}" if missing else f"with {sorted(unknown)}"
        raise wrong(at, f"an object with {sorted(needed)}", f"one {found}")


@dataclass(frozen=True)
class Scoped:
    """A part whose new letters are its own."""

    inner: Field

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """As the part inside."""
        return self.inner.put(value, at, file, Sizes(sizes))

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """As the part inside."""
        return self.inner.get(document, at, file, Sizes(sizes))


@dataclass(frozen=True)
class Table:
    """A list of named tuples, column by column, in as many arrays however long the list is."""

    make: Callable[..., Any]
    arrays: Mapping[str, Array]  # one axis each, of the same length within a tuple
    numbers: Mapping[str, str]  # types of parts that are one number
    words: tuple[str, ...]
    letter: str  # the length of the list

    def put(self, value: Any, at: str, file: Filing, sizes: Sizes) -> Any:
        """The words; the rest are arrays."""
        first = next(iter(self.arrays))
        ends = np.cumsum([len(getattr(row, first)) for row in value], dtype=np.int64)
        file.keep(f"{at}.ends", ends)
        for name, column in self.arrays.items():
            whole = np.concatenate([getattr(row, name) for row in value])
            column.put(whole, f"{at}.{name}", file, Sizes(sizes))
        for name, kind in self.numbers.items():
            file.keep(f"{at}.{name}", np.array([getattr(row, name) for row in value], dtype=kind))
        document = {name: [getattr(row, name) for row in value] for name in self.words}
        self.get(document, at, file, sizes)
        return document

    def get(self, document: Any, at: str, file: Filing, sizes: Sizes) -> list[Any]:
        """The list."""
        require_keys(document, at, set(self.words))
        ends = file.take(f"{at}.ends")
        Array("i8", self.letter, least=0, rising=True).check(ends, f"{at}.ends", sizes)
        columns: dict[str, Any] = {}
        for name, column in self.arrays.items():
            place = f"{at}.{name}"
            whole = column.get("C", place, file, Sizes(sizes))
            if not len(ends) or len(whole) != ends[-1]:
                raise apart(place, "as long as its parts together", whole.shape)
            columns[name] = np.split(whole, ends[:-1])
        for name, kind in self.numbers.items():
            place = f"{at}.{name}"
            whole = file.take(place)
            Array(kind, self.letter, "any").check(whole, place, sizes)
            columns[name] = whole.tolist()
        for name in self.words:
            columns[name] = Listed(Text(), self.letter).get(document[name], at, file, sizes)
        return [
            self.make(**dict(zip(columns, row, strict=True)))
            for row in zip(*columns.values(), strict=True)
        ]
