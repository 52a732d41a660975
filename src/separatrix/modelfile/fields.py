"""What a part of a model is like: the words that the table of kinds is written in.

A field puts a value into a file and gets it back, and checks it both times in the same way. Shapes are
written with the letters of the house, "k d", and the letters of one model must agree with each other:
the first part that has a letter settles it. Arrays, in `array_fields.py`, go into the file under the name
of their place; the document holds what is small.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from separatrix.errors import ModelFileError
from separatrix.modelfile.container import Tensors, in_a_line

LETTER = re.compile(r"([a-z])([+-]\d+)?")
LARGEST_WHOLE = 2**53
LONGEST_TEXT = 10_000
MOST_ITEMS = 100_000  # of a list in the document


class ShapeEnv(dict[str, int]):
    """What the letters of one model's shapes stand for."""

    def unify(self, at: str, shape: tuple[int, ...], letters: str) -> None:
        """Refuse a shape that does not go with the letters settled before, and settle the others."""
        words = letters.split()
        if len(shape) != len(words):
            raise schema_error(at, f"an array of shape ({', '.join(words)})", f"shape {shape}")
        for length, word in zip(shape, words, strict=True):
            letter, shift = _parts(word)
            if length - shift < 0:
                raise schema_error(at, f"at least {shift} long", f"shape {shape}")
            if self.setdefault(letter, length - shift) != length - shift:
                raise mismatch_error(
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
class Archive:
    """A file on its way: its arrays, and what to do with a model inside a model."""

    tensors: Tensors = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # names of arrays that something asked for
    fitted: bool = True  # whether what is written now is more than a template
    put_model: Callable[[Any, str, bool], Any] = _no_model
    get_model: Callable[[Any, str], Any] = _no_model
    spent: dict[str, int] = field(default_factory=dict)  # of what all parts together may take

    def spend(self, what: str, amount: int, most: int, at: str) -> None:
        """Refuse what is more than one file may hold of something, over all of its parts."""
        self.spent[what] = self.spent.get(what, 0) + amount
        if self.spent[what] > most:
            raise ModelFileError("limit", f"`{at}`: a file holds at most {most} {what}")

    def keep(self, at: str, array: Any) -> None:
        """Have an array in the file, under the name of its place."""
        if at in self.tensors:
            raise ModelFileError("schema", f"two arrays of the model would be named `{at}`")
        self.tensors[at] = array

    def take(self, at: str) -> Any:
        """The array of that place."""
        if at not in self.tensors:
            raise ModelFileError("schema", f"the file has no array `{at}`")
        self.used.add(at)
        return self.tensors[at]


def schema_error(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a part that is not what its field says."""
    return ModelFileError("schema", f"`{at}` must be {expected}; found {in_a_line(found)}")


def mismatch_error(at: str, expected: str, found: object) -> ModelFileError:
    """The error for a part that does not go with the others."""
    return ModelFileError("invariant", f"`{at}` must be {expected}; found {in_a_line(found)}")


class Field(Protocol):
    """How one part of a model lies in a file."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """Check a value, keep its arrays, and return what goes into the document."""
        ...

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """The value back, checked."""
        ...


@dataclass(frozen=True)
class Whole:
    """A whole number, which may settle a letter."""

    least: int = 0
    letter: str | None = None

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> int:
        """As an integer of Python."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            raise schema_error(at, "a whole number", value)
        return int(self.get(int(value), at, file, sizes))

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> int:
        """In range, and the same as its letter."""
        if type(document) is not int or not self.least <= document <= LARGEST_WHOLE:
            raise schema_error(at, f"a whole number from {self.least} to {LARGEST_WHOLE}", document)
        if self.letter is not None:
            sizes.unify(at, (document,), self.letter)
        return document


@dataclass(frozen=True)
class Real:
    """A number; finite, unless another kind of values is allowed as in `Array`."""

    values: str = "finite"

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As a float of Python, or its name."""
        if isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | np.integer | np.floating
        ):
            raise schema_error(at, "a number", value)
        check_values(np.float64(value), at, self.values)
        return number_as_json(float(value))

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> float:
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
    raise schema_error(at, "a number", document)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> bool:
        """As Python's."""
        return self.get(bool(value) if isinstance(value, np.bool_) else value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> bool:
        """One of the two."""
        if not isinstance(document, bool):
            raise schema_error(at, "true or false", document)
        return document


def is_one_line(text: str) -> bool:
    """Whether a text has no line breaks, control letters or halves of letters in it."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text)


def checked_text(value: str, at: str) -> str:
    """Refuse text that is very long, or has halves of letters in it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise schema_error(at, "text that UTF-8 can write", "a lone surrogate") from None
    if len(value) > LONGEST_TEXT:
        raise ModelFileError("limit", f"`{at}` has {len(value)} letters")
    return value


@dataclass(frozen=True)
class Text:
    """A line of text, or one of some words."""

    choices: tuple[str, ...] = ()

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """As it is."""
        return self.get(str(value) if isinstance(value, str) else value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """Printable, and one of the words."""
        if not isinstance(document, str) or (self.choices and document not in self.choices):
            expected = f"one of {', '.join(self.choices)}" if self.choices else "text"
            raise schema_error(at, expected, repr(document))
        if len(document) > LONGEST_TEXT or not is_one_line(document):
            raise schema_error(at, "a line of text", repr(document))
        return document


@dataclass(frozen=True)
class Maybe:
    """A part that may be None."""

    inner: Field

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """None, or as the part inside."""
        return None if value is None else self.inner.put(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """None, or as the part inside."""
        return None if document is None else self.inner.get(document, at, file, sizes)


@dataclass(frozen=True)
class Listed:
    """A list of parts of one kind."""

    inner: Field

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """As a list of what goes into the document for each."""
        return [self.inner.put(part, f"{at}[{i}]", file, sizes) for i, part in enumerate(value)]

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[Any]:
        """The list."""
        if not isinstance(document, list) or len(document) > MOST_ITEMS:
            raise schema_error(at, f"a list of at most {MOST_ITEMS} items", document)
        return [self.inner.get(part, f"{at}[{i}]", file, sizes) for i, part in enumerate(document)]


@dataclass(frozen=True)
class Record:
    """A named tuple or a dataclass, part by part."""

    make: Callable[..., Any]
    parts: Mapping[str, Field]
    check: Callable[[Any, str, ShapeEnv], None] | None = None

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> dict[str, Any]:
        """As an object of what goes into the document for each part."""
        if self.check is not None:
            self.check(value, at, sizes)
        return {
            name: part.put(getattr(value, name), f"{at}.{name}", file, sizes)
            for name, part in self.parts.items()
        }

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
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
        raise schema_error(at, "an object", document)
    missing, unknown = needed - set(document), set(document) - (needed | (allowed or set()))
    if missing or unknown:
        found = f"without {sorted(missing)}" if missing else f"with {sorted(unknown)}"
        raise schema_error(at, f"an object with {sorted(needed)}", f"one {found}")


@dataclass(frozen=True)
class Scoped:
    """A part whose new letters are its own."""

    inner: Field

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As the part inside."""
        return self.inner.put(value, at, file, ShapeEnv(sizes))

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Any:
        """As the part inside."""
        return self.inner.get(document, at, file, ShapeEnv(sizes))


def check_values(value: Any, at: str, kind: str) -> None:
    """Refuse NaN, and infinite numbers unless only their order counts."""
    if kind == "any" or value.dtype.kind not in "fc":
        return
    ok = ~np.isnan(value) if kind == "ordered" else np.isfinite(value)
    if not ok.all():
        what = "free of NaN" if kind == "ordered" else "finite"
        raise mismatch_error(at, what, value[~ok].flat[0])
