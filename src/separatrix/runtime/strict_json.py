"""Untrusted JSON: no duplicate keys, no non-finite or huge numbers, limited depth."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np

LARGEST_INTEGER = 2**63
MAX_DEPTH = 64  # of nested brackets
OPENING, CLOSING = ([ord(letter) for letter in pair] for pair in ("[{", "]}"))
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


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
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
