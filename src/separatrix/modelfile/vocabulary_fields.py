"""The numbers that the features of a kernel have: tables of pairs, and of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from separatrix.kernels.strings.sequences import ASCII_BITS, BYTE_BITS, TOKEN_BITS, UNICODE_BITS
from separatrix.kernels.vocabulary import MIN_SLOTS, PairTable, Vocabulary, hash_slot
from separatrix.modelfile.array_fields import Array
from separatrix.modelfile.fields import (
    Archive,
    Listed,
    ShapeEnv,
    Text,
    mismatch_error,
    require_keys,
    schema_error,
)
from separatrix.modelfile.token_fields import cuts_of, get_tokens, put_tokens
from separatrix.types import Codes

LETTER_BITS = (0, ASCII_BITS, BYTE_BITS, UNICODE_BITS, TOKEN_BITS)
MOST_TABLES = 5_000
STEPS, SPARE_STEPS = 64, 1_000_000  # through taken places, for each pair and besides


@dataclass(frozen=True)
class VocabularyField:
    """A closed vocabulary: the pairs of all tables in one array, and the tokens in their order."""

    def put(self, value: Vocabulary, at: str, file: Archive, sizes: ShapeEnv) -> dict[str, Any]:
        """The names of the tables, and how many bits a letter takes."""
        if not value.closed or list(value.symbols.values()) != list(range(len(value.symbols))):
            raise schema_error(at, "closed, its tokens numbered as they came", "others")
        tables = [table.keys.astype(np.int64) for table in value.tables.values()]
        file.keep(f"{at}.keys", np.concatenate([np.zeros((0, 2), dtype=np.int64), *tables]))
        file.keep(f"{at}.cuts", np.cumsum([len(table) for table in tables], dtype=np.int64))
        put_tokens(list(value.symbols), at, file)
        return {"tables": list(value.tables), "letter_bits": int(value.letter_bits)}

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> Vocabulary:
        """The vocabulary."""
        require_keys(document, at, {"tables", "letter_bits"})
        names = Listed(Text()).get(document["tables"], at, file, sizes)
        if len(set(names)) < len(names):
            raise schema_error(at, "tables of different names", "one of them twice")
        found = Vocabulary()
        found.letter_bits = document["letter_bits"]
        if type(found.letter_bits) is not int or found.letter_bits not in LETTER_BITS:
            raise schema_error(at, f"letters of {LETTER_BITS} bits", found.letter_bits)
        keys = file.take(f"{at}.keys")
        Array("i8", "m c", least=0).check(keys, f"{at}.keys", ShapeEnv(c=2))
        cuts = cuts_of(f"{at}.cuts", len(keys), file, "tables", MOST_TABLES)
        if len(cuts) != len(names) + 1:
            raise mismatch_error(f"{at}.cuts", f"of {len(names)} tables", len(cuts) - 1)
        for name, (start, end) in zip(names, pairwise(cuts), strict=True):
            found.tables[name] = _pairs(keys[start:end], f"{at}.keys")
        found.symbols = {token: number for number, token in enumerate(get_tokens(at, file))}
        found.closed = True
        return found


def _pairs(keys: Codes, at: str) -> PairTable:
    """The table of pairs, after it was found that they do not crowd at a few of its places."""
    size = MIN_SLOTS
    while size // 4 < len(keys):  # as it grows, at most half full
        first = keys[: size // 2]
        if _steps(_homes(first, size - 1)) > STEPS * len(first) + SPARE_STEPS:
            raise mismatch_error(at, "pairs that differ in their places", "many that have the same")
        size *= 2
    table = PairTable(keys)
    if len(table) < len(keys):
        raise mismatch_error(at, "all different", "one of them twice")
    return table


def _steps(services: Codes) -> int:
    """How many taken places are passed, in all, until each has found one that is free."""
    services = np.sort(services)
    turn = np.arange(len(services))
    return int((np.maximum.accumulate(services - turn) + turn - services).sum())


@njit(cache=True, nogil=True)
def _homes(keys: Codes, mask: int) -> Codes:
    services = np.empty(len(keys), np.int64)
    for number in range(len(keys)):
        services[number] = hash_slot(keys[number, 0], keys[number, 1], mask)
    return services
