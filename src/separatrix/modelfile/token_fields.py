"""Strings, bytes and tokens as plain arrays: all letters one after the other, and where each ends.

Strings are in UTF-8; halves of letters, which Python allows in a string, are written as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.modelfile.array_fields import MOST_WORDS, Array
from separatrix.modelfile.fields import Archive, ShapeEnv, mismatch_error, schema_error
from separatrix.types import Codes

STRING, NUMBER, BYTES = range(3)  # what a token is
HALVES = "surrogatepass"


def put_bytes(parts: Iterable[bytes], at: str, file: Archive) -> None:
    """Keep bytes, and where each part of them ends."""
    listed = list(parts)
    file.keep(f"{at}.letters", np.frombuffer(b"".join(listed), dtype=np.uint8))
    file.keep(f"{at}.ends", np.cumsum([len(part) for part in listed], dtype=np.int64))


def get_bytes(at: str, file: Archive, what: str, most: int) -> Iterator[memoryview]:
    """The parts, none of them copied; a file holds at most so many of what they are."""
    letters = file.take(f"{at}.letters")
    Array("u1", "b").check(letters, f"{at}.letters", ShapeEnv())
    cuts = cuts_of(f"{at}.ends", len(letters), file, what, most)
    whole = np.ascontiguousarray(letters).data
    return (whole[start:end] for start, end in pairwise(cuts))


def cuts_of(at: str, total: int, file: Archive, what: str, most: int) -> list[int]:
    """Where parts of something that long begin, and the end of the last."""
    ends = file.take(at)
    Array("i8", "n", least=0, rising=True).check(ends, at, ShapeEnv())
    file.spend(what, len(ends), most, at)
    last = int(ends[-1]) if len(ends) else 0
    if last != total:
        raise mismatch_error(at, f"rising from 0 to {total}", last)
    return [0, *ends.tolist()]


def put_strings(strings: Iterable[str], at: str, file: Archive) -> None:
    """Keep strings."""
    put_bytes((string.encode("utf-8", HALVES) for string in strings), at, file)


def get_strings(at: str, file: Archive, what: str, most: int) -> list[str]:
    """The strings."""
    return [_decoded(part, at) for part in get_bytes(at, file, what, most)]


def _decoded(part: memoryview, at: str) -> str:
    try:
        return str(part, "utf-8", HALVES)
    except UnicodeDecodeError:
        raise schema_error(at, "strings in UTF-8", "other bytes") from None


def put_tokens(tokens: Sequence[Any], at: str, file: Archive) -> None:
    """Keep tokens that differ from each other: strings, whole numbers or bytes, in any order."""
    kinds = [_kind(token, at) for token in tokens]
    file.keep(f"{at}.kinds", np.array(kinds, dtype=np.uint8))
    numbers = [int(token) for token in tokens if isinstance(token, int)]
    if any(not -(2**63) <= number < 2**63 for number in numbers):
        raise schema_error(at, "tokens of at most 64 bits", max(numbers, key=abs))
    file.keep(f"{at}.numbers", np.array(numbers, dtype=np.int64))
    put_bytes(
        (
            token if isinstance(token, bytes) else token.encode("utf-8", HALVES)
            for token in tokens
            if not isinstance(token, int)
        ),
        at,
        file,
    )


def get_tokens(at: str, file: Archive) -> list[Any]:
    """The tokens, in the same order."""
    kinds, numbers = file.take(f"{at}.kinds"), file.take(f"{at}.numbers")
    Array("u1", "t", below="k").check(kinds, f"{at}.kinds", ShapeEnv(k=3))
    Array("i8", "n").check(numbers, f"{at}.numbers", ShapeEnv())
    file.spend("words", len(numbers), MOST_WORDS, at)
    parts = list(get_bytes(at, file, "words", MOST_WORDS))
    count = int((kinds == NUMBER).sum())
    if (len(numbers), len(parts)) != (count, len(kinds) - count):
        raise mismatch_error(at, f"{count} numbers and {len(kinds) - count} words", len(numbers))
    tokens = list(_in_order(kinds, iter(numbers.tolist()), iter(parts), at))
    if len(set(tokens)) < len(tokens):
        raise mismatch_error(at, "all different", "one of them twice")
    return tokens


def _in_order(
    kinds: Codes, numbers: Iterator[int], parts: Iterator[memoryview], at: str
) -> Iterator[Any]:
    for kind in kinds.tolist():
        if kind == NUMBER:
            yield next(numbers)
        else:
            yield bytes(next(parts)) if kind == BYTES else _decoded(next(parts), at)


def _kind(token: Any, at: str) -> int:
    for kind, what in ((STRING, str), (NUMBER, int), (BYTES, bytes)):
        if isinstance(token, what) and not isinstance(token, bool):
            return kind
    raise schema_error(at, "tokens that are strings or whole numbers", type(token).__name__)
