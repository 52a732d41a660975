"""Samples of any plain type in a file: sets, dicts, lists, tuples, numbers, strings, arrays, dataclasses.

Samples are written in prefix order: a code and an argument for each value, which is the number of a word
or of a float, or the length of a container. A dataclass is its name and its fields; its class must be
given to `load`, for no name from a file is ever imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from separatrix.errors import DataError, ModelFileError
from separatrix.modelfile import fields as f
from separatrix.modelfile.container import one_line
from separatrix.modelfile.given_code import GivenCode

NONE, FALSE, TRUE, WORD, FLOAT, LIST, TUPLE, SET, FROZENSET, DICT, RECORD, ARRAY = range(12)
CODES = 12
CONTAINERS: dict[type, int] = {list: LIST, tuple: TUPLE, set: SET, frozenset: FROZENSET}
MAKERS: dict[int, Callable[[list[Any]], Any]] = {code: kind for kind, code in CONTAINERS.items()}
CONSTANTS = {NONE: None, FALSE: False, TRUE: True}
DTYPES = ("|b1", "|u1", "<i4", "<i8", "<f4", "<f8")
MOST_VALUES = 4_000_000  # of all samples together
DEEPEST = 200  # containers in containers
HINT = "a file holds sets, dicts, lists, tuples, strings, numbers, arrays and dataclasses of these"


@dataclass
class PlainWriter:
    """Codes and arguments of values, and the words and floats that they refer to."""

    codes: list[int] = field(default_factory=list)
    arguments: list[int] = field(default_factory=list)
    words: dict[Any, int] = field(default_factory=dict)
    floats: list[float] = field(default_factory=list)
    arrays: list[bytes] = field(default_factory=list)
    code: GivenCode = field(default_factory=GivenCode)

    def add(self, value: Any, at: str, depth: int = 0) -> None:
        """Append one value."""
        value = f.as_plain(value)
        if depth > DEEPEST:
            raise ModelFileError("limit", f"`{at}`: samples are nested more than {DEEPEST} deep")
        kind = type(value)
        if value is None or kind is bool:
            self._emit({None: NONE, False: FALSE, True: TRUE}[value], 0)
        elif kind in (str, int, bytes):
            self._emit(WORD, self._word(value))
        elif kind is float:
            self._emit(FLOAT, len(self.floats))
            self.floats.append(value)
        elif kind in CONTAINERS:
            self._add_all(CONTAINERS[kind], value, at, depth)
        elif kind is dict:
            self._add_all(DICT, [part for pair in value.items() for part in pair], at, depth)
        elif isinstance(value, np.ndarray) and value.dtype.newbyteorder("<").str in DTYPES:
            self._add_array(value)
        elif is_dataclass(kind):
            parts: list[Any] = [self.code.keep_class(kind, at)]
            for one in fields(kind):
                parts += [one.name, getattr(value, one.name)]
            self._add_all(RECORD, parts, at, depth)
        else:
            why = f"`{at}` are objects of type {kind.__name__}: {HINT}"
            raise ModelFileError("unsupported", why)

    def _emit(self, code: int, argument: int) -> None:
        self.codes.append(code)
        self.arguments.append(argument)

    def _word(self, value: Any) -> int:
        return self.words.setdefault((type(value), value), len(self.words))

    def _add_all(self, code: int, parts: Iterable[Any], at: str, depth: int) -> None:
        parts = list(parts)
        self._emit(code, len(parts))
        for part in parts:
            self.add(part, at, depth + 1)

    def _add_array(self, value: Any) -> None:
        value = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        self._emit(ARRAY, len(self.arrays))
        for number in (DTYPES.index(value.dtype.str), value.ndim, *value.shape):
            self._emit(WORD, self._word(int(number)))
        self.arrays.append(value.tobytes())


@dataclass
class PlainReader:
    """Values from their codes and arguments."""

    codes: list[int]
    arguments: list[int]
    words: list[Any]
    floats: list[float]
    arrays: list[bytes]
    classes: dict[str, type]
    at: str
    position: int = 0

    def read(self, depth: int = 0) -> Any:
        """The next value."""
        if depth > DEEPEST:
            raise ModelFileError(
                "limit", f"`{self.at}`: samples are nested more than {DEEPEST} deep"
            )
        if self.position >= len(self.codes):
            raise self._broken("one more value")
        code, argument = self.codes[self.position], self.arguments[self.position]
        self.position += 1
        if code in CONSTANTS:
            return CONSTANTS[code]
        if code in (WORD, FLOAT):
            return self._item(self.words if code == WORD else self.floats, argument)
        if code == ARRAY:
            return self._read_array(argument)
        if argument > len(self.codes) - self.position:
            raise self._broken(f"at most {len(self.codes) - self.position} values")
        parts = [self.read(depth + 1) for _ in range(argument)]
        try:
            if code in MAKERS:
                return MAKERS[code](parts)
            return self._make_dict(parts) if code == DICT else self._make_record(parts)
        except TypeError as error:  # an item of a set or a key that has no hash
            raise self._broken(one_line(error)) from None

    def _broken(self, expected: str) -> ModelFileError:
        return f.schema_error(self.at, f"plain objects: {expected}", "something else")

    def _item(self, items: list[Any], number: int) -> Any:
        if number >= len(items):
            raise self._broken(f"one of {len(items)} items")
        return items[number]

    def _make_dict(self, parts: list[Any]) -> dict[Any, Any]:
        if len(parts) % 2:
            raise self._broken("a value for each key")
        return dict(zip(parts[::2], parts[1::2], strict=True))

    def _make_record(self, parts: list[Any]) -> Any:
        if not parts or not isinstance(parts[0], str):
            raise self._broken("the name of a dataclass")
        name, found = parts[0], self._make_dict(parts[1:])
        if name not in self.classes:
            raise ModelFileError(
                "function",
                f"`{self.at}` are objects of the dataclass {one_line(name)}, and a file holds no code: "
                f"give the class again, load(path, kernel=..., classes=[{one_line(name)}])",
            )
        kind = self.classes[name]
        if set(found) != {one.name for one in fields(kind)}:
            raise self._broken(f"the fields of {name}")
        made: Any = object.__new__(kind)  # no constructor runs
        for key, value in found.items():
            object.__setattr__(made, key, value)
        return made

    def _read_array(self, number: int) -> Any:
        dtype, ndim = (self.read(DEEPEST) for _ in range(2))
        if type(dtype) is not int or not 0 <= dtype < len(DTYPES) or type(ndim) is not int:
            raise self._broken("the type of an array")
        shape = [self.read(DEEPEST) for _ in range(ndim if 0 <= ndim <= 8 else 0)]
        data = self._item(self.arrays, number)
        if not all(type(length) is int and 0 <= length <= len(data) for length in shape):
            raise self._broken("the shape of an array")
        if int(np.prod([np.dtype(DTYPES[dtype]).itemsize, *shape], dtype=object)) != len(data):
            raise self._broken("an array of that shape")
        return np.frombuffer(data, dtype=DTYPES[dtype]).reshape(shape).copy()


def canonical_text(value: Any) -> str:
    """A value as text that depends on nothing but the value: sets and dicts are sorted.

    >>> canonical_text({"b", "a"}), canonical_text({"x": {2, 1}})
    ("set('a','b')", "dict('x',set(1,2))")
    """
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({','.join(sorted(map(canonical_text, value)))})"
    if isinstance(value, dict):
        pairs = sorted(f"{canonical_text(key)},{canonical_text(one)}" for key, one in value.items())
        return f"dict({','.join(pairs)})"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({','.join(map(canonical_text, value))})"
    if isinstance(value, np.ndarray):
        return f"array({value.dtype.str},{value.shape},{value.tolist()})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{one.name}={canonical_text(getattr(value, one.name))}" for one in fields(value))
        return f"{type(value).__name__}({','.join(parts)})"
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return repr(value)
    raise DataError(f"objects of type {type(value).__name__} have no hash that lasts; {HINT}")
