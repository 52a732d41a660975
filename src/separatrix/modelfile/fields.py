"""Fields: how attributes and parameters of a model are stored in a file.

`put` only converts: small values go into the JSON document, arrays into the archive, under the position
of the value in the model. `get` converts back and makes every check; `save` reads back what it is about to
write. Shapes are letters, as in "k d", and all attributes of one model must agree on their lengths.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse

from separatrix.errors import ModelFileError
from separatrix.modelfile.container import Tensors, one_line
from separatrix.runtime.blocks import MEBIBYTE

MAX_INTEGER = 2**53
LONGEST_TEXT = 10_000
LONGEST_WORD = 10_000  # letters
MOST_ENTRIES = 64  # of an object with any keys
MOST_ITEMS = 100_000  # of a list in the document
MOST_DIFFERENT = 64  # words of a list with repetitions
MOST_WORDS = 200_000  # each takes some eighty bytes in memory
MOST_COLUMNS = 5_000  # with categories
MOST_LETTERS = 8 * MEBIBYTE  # of NumPy strings, all as long as the longest, four bytes a letter
MOST_RECORDS = 20_000  # of a table, each a Python object
NUMBERS = "b1|u1|i1|u2|i2|f2|u4|i4|f4|u8|i8|f8"  # kind and bytes of all storable types
LENGTH = re.compile(r"([a-z])(?:\+([0-9]))?")  # a word of a shape


def schema_error(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a value that is not what its field expects."""
    return ModelFileError("schema", f"`{at}` must be {expected}; found {one_line(found)}")


def mismatch_error(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a value that contradicts others."""
    return ModelFileError("invariant", f"`{at}` must be {expected}; found {one_line(found)}")


def require_keys(document: Any, at: str, needed: set[str], allowed: set[str] | None = None) -> None:
    """Refuse all but a JSON object with the needed keys, and no others than the allowed."""
    if not isinstance(document, dict):
        raise schema_error(at, "an object", document)
    missing, unknown = needed - set(document), set(document) - (needed | (allowed or set()))
    if missing or unknown:
        found = f"without {sorted(missing)}" if missing else f"with {sorted(unknown)}"
        raise schema_error(at, f"an object with {sorted(needed)}", f"one {found}")


def find_in(table: Mapping[str, Any], name: Any, at: str) -> Any:
    """The entry of that name in a closed table."""
    if not isinstance(name, str) or name not in table:
        raise schema_error(at, f"one of {', '.join(table)}", repr(name))
    return table[name]


class ShapeEnv(dict[str, int]):
    """Lengths of the letters in the shapes of one model."""

    def unify(self, at: str, shape: tuple[int, ...], letters: str) -> None:
        """Refuse a shape that contradicts the lengths known so far; learn those of new letters."""
        words = letters.split()
        if len(shape) != len(words):
            raise schema_error(at, f"an array of shape ({', '.join(words)})", f"shape {shape}")
        for length, word in zip(shape, words, strict=True):
            letter, shift = _parse_length(word)
            if length < shift:
                raise schema_error(at, f"at least {shift} long", f"shape {shape}")
            if self.setdefault(letter, length - shift) != length - shift:
                raise mismatch_error(
                    at, f"of shape ({', '.join(words)}) with {letter}={self[letter]}", shape
                )

    def evaluate(self, word: str) -> int:
        """The length that a word such as "s+1" stands for."""
        letter, shift = _parse_length(word)
        return self[letter] + shift


def _parse_length(word: str) -> tuple[str, int]:
    letter, _, shift = word.partition("+")
    return letter, int(shift or 0)


def _no_model(*_: Any) -> Any:
    raise ModelFileError("schema", "no model is allowed here")


@dataclass
class Archive:
    """The arrays of a file, and the state of writing or reading one model in it."""

    tensors: Tensors = field(default_factory=dict)
    sizes: ShapeEnv = field(default_factory=ShapeEnv)  # of the model being read
    used: set[str] = field(default_factory=set)  # names of the arrays read so far
    spent: dict[str, int] = field(default_factory=dict)  # of the limits of the whole file
    code: Any = None  # a GivenCode: functions and classes that the file only names
    fitted: bool = True  # whether the model being written is fitted, or a template
    put_model: Callable[[Any, str, bool], Any] = _no_model
    get_model: Callable[[Any, str], Any] = _no_model

    def scope(self, **sizes: int) -> Archive:
        """The same archive with shape letters of its own."""
        return replace(self, sizes=ShapeEnv(sizes))

    def spend(self, what: str, amount: int, most: int, at: str) -> None:
        """Count towards a limit of the whole file, and refuse more."""
        self.spent[what] = self.spent.get(what, 0) + amount
        if self.spent[what] > most:
            raise ModelFileError("limit", f"`{at}`: a file holds at most {most} {what}")

    def keep(self, at: str, array: Any) -> None:
        """Add an array."""
        if at in self.tensors:
            raise ModelFileError("schema", f"two arrays of the model would be named `{at}`")
        self.tensors[at] = array

    def take(self, at: str) -> Any:
        """Read an array."""
        if at not in self.tensors:
            raise ModelFileError("schema", f"the file has no array `{at}`")
        self.used.add(at)
        return self.tensors[at]


class Field:
    """How one value is stored. `at` is its position in the model, for names and errors."""

    def put(self, value: Any, at: str, file: Archive) -> Any:
        """Convert a value for the document; arrays go into the archive."""
        return as_plain(value)

    def get(self, document: Any, at: str, file: Archive) -> Any:
        """The value back, checked."""
        raise NotImplementedError


def as_plain(value: Any) -> Any:
    """A scalar of NumPy as one of Python; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Integer(Field):
    """An integer, perhaps the length of a letter."""

    least: int = 0
    letter: str | None = None

    def get(self, document: Any, at: str, file: Archive) -> int:
        if type(document) is not int or not self.least <= document <= MAX_INTEGER:
            raise schema_error(at, f"a whole number from {self.least} to {MAX_INTEGER}", document)
        if self.letter is not None:
            file.sizes.unify(at, (document,), self.letter)
        return document


@dataclass(frozen=True)
class Real(Field):
    """A number; `values` as in `Array`."""

    values: str = "finite"

    def put(self, value: Any, at: str, file: Archive) -> Any:
        return number_as_json(float(value))

    def get(self, document: Any, at: str, file: Archive) -> float:
        value = number_from_json(document, at)
        check_values(np.float64(value), at, self.values)
        return value


def number_as_json(value: float) -> Any:
    """A float as JSON, which has no infinity and no NaN."""
    return value if np.isfinite(value) else {"float": str(value)}


def number_from_json(document: Any, at: str) -> float:
    """The float back."""
    if type(document) in (int, float):
        return float(document)
    if any(document == {"float": name} for name in ("inf", "-inf", "nan")):
        return float(document["float"])
    raise schema_error(at, "a number", document)


class Boolean(Field):
    """True or False."""

    def get(self, document: Any, at: str, file: Archive) -> bool:
        if not isinstance(document, bool):
            raise schema_error(at, "true or false", document)
        return document


@dataclass(frozen=True)
class Text(Field):
    """One line of text, or one of some words."""

    choices: tuple[str, ...] = ()

    def get(self, document: Any, at: str, file: Archive) -> str:
        if not isinstance(document, str) or (self.choices and document not in self.choices):
            expected = f"one of {', '.join(self.choices)}" if self.choices else "text"
            raise schema_error(at, expected, repr(document))
        breaks = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line breaks
        if len(document) > LONGEST_TEXT or any(unicodedata.category(c) in breaks for c in document):
            raise schema_error(at, "a line of text", repr(document))
        return document


@dataclass(frozen=True)
class Maybe(Field):
    """A value or None."""

    inner: Field

    def put(self, value: Any, at: str, file: Archive) -> Any:
        return None if value is None else self.inner.put(value, at, file)

    def get(self, document: Any, at: str, file: Archive) -> Any:
        return None if document is None else self.inner.get(document, at, file)


@dataclass(frozen=True)
class Listed(Field):
    """A list of values of one kind."""

    inner: Field

    def put(self, value: Any, at: str, file: Archive) -> list[Any]:
        return [self.inner.put(item, f"{at}[{i}]", file) for i, item in enumerate(value)]

    def get(self, document: Any, at: str, file: Archive) -> list[Any]:
        if not isinstance(document, list) or len(document) > MOST_ITEMS:
            raise schema_error(at, f"a list of at most {MOST_ITEMS} items", document)
        return [self.inner.get(item, f"{at}[{i}]", file) for i, item in enumerate(document)]


@dataclass(frozen=True)
class Entries(Field):
    """A dict with few keys, and values of one kind."""

    inner: Field
    keys: Text = Text()

    def put(self, value: Any, at: str, file: Archive) -> dict[str, Any]:
        return {name: self.inner.put(item, at, file) for name, item in value.items()}

    def get(self, document: Any, at: str, file: Archive) -> dict[str, Any]:
        if not isinstance(document, dict) or len(document) > MOST_ENTRIES:
            raise schema_error(at, "an object", document)
        return {
            self.keys.get(name, at, file): self.inner.get(item, at, file)
            for name, item in document.items()
        }


@dataclass(frozen=True)
class Struct(Field):
    """A named tuple or a dataclass, by its fields; a scoped one has shape letters of its own."""

    make: Callable[..., Any]
    fields: Mapping[str, Field]
    check: Callable[[Any, str], None] = lambda _value, _at: None
    scoped: bool = False
    before: Mapping[str, Any] = field(default_factory=dict)
    """Values of fields that older files of the same format lack."""

    def put(self, value: Any, at: str, file: Archive) -> dict[str, Any]:
        items = self.fields.items()
        return {name: item.put(getattr(value, name), f"{at}.{name}", file) for name, item in items}

    def get(self, document: Any, at: str, file: Archive) -> Any:
        if isinstance(document, dict):
            document = {**self.before, **document}
        require_keys(document, at, set(self.fields))
        file = file.scope(**file.sizes) if self.scoped else file
        items = self.fields.items()
        value = self.make(
            **{name: item.get(document[name], f"{at}.{name}", file) for name, item in items}
        )
        self.check(value, at)
        return value


@dataclass(frozen=True)
class Mapped(Field):
    """A value stored as another: `decode` (and check) after it was read, `encode` before it is written."""

    inner: Field
    decode: Callable[[Any, str], Any]
    encode: Callable[[Any], Any] = as_plain

    def put(self, value: Any, at: str, file: Archive) -> Any:
        return self.inner.put(self.encode(value), at, file)

    def get(self, document: Any, at: str, file: Archive) -> Any:
        return self.decode(self.inner.get(document, at, file), at)


class Array(Field):
    """An array, given in words: types, lengths of its axes, and what its values may be.

    "f4|f8 k d" has finite numbers. "ordered" allows infinity and "any" NaN as well; "..." is any shape.
    "i8 s >=0 <n rising" are indices below the length of n, none smaller than the one before.
    """

    def __init__(self, words: str) -> None:
        self.types, *rest = words.split()
        self.shape = None if "..." in rest else " ".join(filter(LENGTH.fullmatch, rest))
        self.values = next((word for word in rest if word in ("any", "ordered")), "finite")
        self.least = next((float(word[2:]) for word in rest if word.startswith(">=")), None)
        self.below = next((word[1:] for word in rest if word.startswith("<")), None)
        self.rising = "rising" in rest

    def put(self, value: Any, at: str, file: Archive) -> str:
        value = np.asarray(value)
        transposed = value.ndim > 1 and value.flags.f_contiguous and not value.flags.c_contiguous
        file.keep(at, value.T if transposed else value)
        return "F" if transposed else "C"

    def get(self, document: Any, at: str, file: Archive) -> Any:
        """The array in its memory order: sums over it then round as they did."""
        if document not in ("C", "F"):
            raise schema_error(at, "'C' or 'F'", document)
        return self.read(at, file, self.transpose if document == "F" else np.asarray)

    def transpose(self, value: Any) -> Any:
        """The array in the other memory order."""
        return value.T

    def read(self, at: str, file: Archive, view: Callable[[Any], Any] = np.asarray) -> Any:
        """The array of that name, checked."""
        value = view(file.take(at))
        if f"{value.dtype.kind}{value.dtype.itemsize}" not in self.types.split("|"):
            raise schema_error(at, f"of type {self.types.replace('|', ' ')}", value.dtype)
        if self.shape is not None:
            file.sizes.unify(at, value.shape, self.shape)
        check_values(value, at, self.values)
        if not value.size:
            return value
        if self.least is not None and value.min() < self.least:
            raise mismatch_error(at, f"at least {self.least:g}", value.min())
        if self.below is not None and value.max() >= file.sizes.evaluate(self.below):
            raise mismatch_error(at, f"below {file.sizes.evaluate(self.below)}", value.max())
        if self.rising and (value[1:] < value[:-1]).any():
            raise mismatch_error(at, "rising", "a smaller value after a larger one")
        return value


def arrays(**words: str) -> dict[str, Any]:
    """Fields of attributes that are arrays, each given in words."""
    return {name: Array(text) for name, text in words.items()}


def check_values(value: Any, at: str, allowed: str) -> None:
    """Refuse NaN, and infinity unless the values need only be ordered."""
    if allowed == "any" or value.dtype.kind not in "fc":
        return
    ok = ~np.isnan(value) if allowed == "ordered" else np.isfinite(value)
    if not ok.all():
        what = "free of NaN" if allowed == "ordered" else "finite"
        raise mismatch_error(at, what, value[~ok].flat[0])


class Stacked(Array):
    """A list of arrays of one shape, stored as one array."""

    def put(self, value: Any, at: str, file: Archive) -> str:
        transposed = all(part.ndim > 1 and part.flags.f_contiguous for part in value)
        file.keep(at, np.stack([part.T if transposed else part for part in value]))
        return "F" if transposed else "C"

    def get(self, document: Any, at: str, file: Archive) -> list[Any]:
        return list(super().get(document, at, file))

    def transpose(self, value: Any) -> Any:
        return value.swapaxes(-1, -2) if value.ndim > 1 else value


class MatrixField(Field):
    """A matrix of any number type, dense or CSR; shape and values in words, as of an `Array`."""

    def __init__(self, words: str) -> None:
        self.dense = Array(f"{NUMBERS} {words}")

    def put(self, value: Any, at: str, file: Archive) -> Any:
        if not issparse(value):
            return self.dense.put(value, at, file)
        value = value if isinstance(value, csr_array | csr_matrix) else csr_array(value)
        for name in ("data", "indices", "indptr"):
            file.keep(f"{at}.{name}", getattr(value, name))
        form = "matrix" if isinstance(value, csr_matrix) else "array"
        return {"csr": form, "shape": [int(length) for length in value.shape]}

    def get(self, document: Any, at: str, file: Archive) -> Any:
        if not isinstance(document, dict):
            return self.dense.get(document, at, file)
        require_keys(document, at, {"csr", "shape"})
        forms = {"array": csr_array, "matrix": csr_matrix}
        make = forms[Text(tuple(forms)).get(document["csr"], at, file)]
        shape = Listed(Integer()).get(document["shape"], at, file)
        file.sizes.unify(at, tuple(shape), str(self.dense.shape))
        n, d = shape
        inner = file.scope(n=n, d=d)  # compiled loops follow the indices without checks
        data = Array(f"{NUMBERS} m {self.dense.values}").read(f"{at}.data", inner)
        indices = Array("i4|i8 m >=0 <d").read(f"{at}.indices", inner)
        indptr = Array("i4|i8 n+1 >=0 rising").read(f"{at}.indptr", inner)
        if indices.dtype != indptr.dtype:
            raise schema_error(at, "of one index type, int32 or int64", indices.dtype)
        if indptr[0] != 0 or indptr[-1] != len(data):
            raise mismatch_error(f"{at}.indptr", f"rising from 0 to {len(data)}", "something else")
        return make((data, indices, indptr), shape=(n, d))


def put_parts(parts: Iterable[bytes], data: str, ends: str, file: Archive) -> None:
    """Store byte strings as one array, and where each ends."""
    parts = list(parts)
    file.keep(data, np.frombuffer(b"".join(parts), dtype=np.uint8))
    file.keep(ends, np.cumsum([len(part) for part in parts], dtype=np.int64))


def get_parts(data: str, ends: str, file: Archive, what: str, most: int) -> Iterator[bytes]:
    """The byte strings; a file holds at most `most` of `what` they are."""
    raw = Array("u1 b").read(data, file.scope()).tobytes()
    cuts = get_cuts(ends, len(raw), file, what, most)
    return (raw[start:end] for start, end in pairwise(cuts))


def get_cuts(at: str, total: int, file: Archive, what: str, most: int) -> list[int]:
    """Where the parts of something `total` long begin, and the end of the last."""
    ends = Array("i8 n >=0 rising").read(at, file.scope())
    file.spend(what, len(ends), most, at)
    last = int(ends[-1]) if len(ends) else 0
    if last != total:
        raise mismatch_error(at, f"rising from 0 to {total}", last)
    return [0, *ends.tolist()]
