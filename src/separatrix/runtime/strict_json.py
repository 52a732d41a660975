"""Untrusted JSON: no duplicate keys, no non-finite or huge numbers, limited depth."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

import numpy as np

LARGEST_INTEGER = 2**63
MAX_DEPTH = 64  # of nested brackets
OPENING, CLOSING = ([ord(letter) for letter in pair] for pair in ("[{", "]}"))
_KEY_ENDS = re.compile(rb'"[ \t\r\n]*:')
_FEW = 8  # objects of a list that are all looked into
STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def parsed_json(text: str) -> Any:
    """Parse JSON; ValueError for a duplicate key, a non-finite or huge number, or deep nesting."""
    characters = np.frombuffer(STRINGS.sub("", text).encode(), dtype=np.uint8)
    steps = np.isin(characters, OPENING).astype(np.int8) - np.isin(characters, CLOSING)
    deepest = int(np.cumsum(steps, dtype=np.int64).max(initial=0))
    if deepest > MAX_DEPTH:
        raise ValueError(f"it is nested {deepest} levels deep; the limit is {MAX_DEPTH}")
    return json.loads(
        text,
        object_pairs_hook=_unique_keys,
        parse_constant=_refuse_constant,
        parse_int=_parse_integer,
        parse_float=_parse_number,
    )


def require_unique_keys(text: bytes, value: Any) -> None:
    """ValueError for a key that occurs twice in one object of valid JSON, parsed to `value`.

    A fast parser keeps the last. There are as many colons behind quotes as keys, unless a text has some
    or a key is lost: only then are the keys compared one by one.

    >>> require_unique_keys(b'{"a": 1, "b": {"a": 2}}', {"a": 1, "b": {"a": 2}})
    >>> require_unique_keys(b'[{"a": 1, "a": 2}]', [{"a": 2}])
    Traceback (most recent call last):
    ...
    ValueError: the key 'a' occurs twice
    """
    keys = _count_keys(value)
    if text.count(b":") == keys or len(_KEY_ENDS.findall(text)) == keys:
        return
    json.loads(text, object_pairs_hook=_unique_keys, parse_int=float)


def _count_keys(value: Any) -> int:
    """The number of keys in a value; too few where lists mix objects with others, or rows nest."""
    if type(value) is dict:
        inner = (one for one in value.values() if type(one) in (dict, list))
        return len(value) + sum(map(_count_keys, inner))
    if type(value) is not list or not value or type(value[0]) is not dict:
        return 0
    if set(map(type, value)) != {dict}:
        return 0
    nested = len(value) < _FEW or any(type(one) in (dict, list) for one in value[0].values())
    return sum(map(_count_keys if nested else len, value))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:40]!r} occurs twice")
    return found


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _parse_integer(digits: str) -> int:
    if len(digits) > 20 or not -LARGEST_INTEGER <= int(digits) < LARGEST_INTEGER:
        raise ValueError(f"{digits:.20}... is beyond 64 bits")
    return int(digits)


def _parse_number(digits: str) -> float:
    value = float(digits) if len(digits) <= 40 else math.inf
    if not math.isfinite(value):
        raise ValueError(f"{digits:.40} is not a finite number")
    return value
