"""JSON from strangers: nothing ambiguous, nothing that grows once it is read."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

LARGEST_INTEGER = 2**63
DEEPEST = 64  # brackets in brackets
OPENING, CLOSING = ([ord(letter) for letter in pair] for pair in ("[{", "]}"))
STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def parsed_json(text: str) -> Any:
    """JSON without what makes it ambiguous or large: no key twice, no NaN, no endless number, not deep."""
    letters = np.frombuffer(STRINGS.sub("", text).encode(), dtype=np.uint8)
    steps = np.isin(letters, OPENING).astype(np.int8) - np.isin(letters, CLOSING)
    deepest = int(np.cumsum(steps, dtype=np.int64).max(initial=0))
    if deepest > DEEPEST:
        raise ValueError(f"it is {deepest} levels deep, and at most {DEEPEST} are read")
    return json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_constant=_no_constant,
        parse_int=_integer,
        parse_float=_number,
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _integer(digits: str) -> int:
    if len(digits) > 20 or not -LARGEST_INTEGER <= int(digits) < LARGEST_INTEGER:
        raise ValueError(f"{digits:.20}... is beyond 64 bits")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits) if len(digits) <= 40 else np.inf
    if not np.isfinite(value):
        raise ValueError(f"{digits:.40} is no finite number")
    return value
