"""Consecutive numbers for features: equal features get equal numbers, exactly.

A feature is a pair of integers, and compound features are pairs of numbers: a word is a shorter word and
a letter, a subtree is a smaller one and a branch. Hashes only speed up the search; keys are compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from separatrix.jit import njit
from separatrix.types import Codes

UNKNOWN = -1
MIN_SLOTS = 64  # of an empty hash table


class PairTable:
    """Numbers 0, 1, ... for pairs of integers, in order of first occurrence: an open-addressing table.

    >>> pairs = PairTable()
    >>> pairs.numbers(np.array([5, 7, 5]), np.array([1, 1, 1])).tolist()
    [0, 1, 0]
    >>> pairs.numbers(np.array([7, 8]), np.array([1, 1]), add=False).tolist()
    [1, -1]
    """

    def __init__(self, keys: Any = None) -> None:
        self._keys = np.empty((MIN_SLOTS // 2, 2), dtype=np.int64)
        self._slots = np.full(MIN_SLOTS, UNKNOWN)  # a power of 2, at most half full
        self._count = 0
        if keys is not None and len(keys):
            keys = np.asarray(keys, dtype=np.int64)
            self.numbers(keys[:, 0], keys[:, 1])

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> Codes:
        """The pair of each number, (numbers, 2)."""
        return self._keys[: self._count].astype(np.intp)

    def numbers(self, first: Any, second: Any, *, add: bool = True) -> Codes:
        """The number of each pair, (n,); -1 for a new pair with add=False.

        A pair with a negative integer is unknown too.
        """
        first = np.ascontiguousarray(first, dtype=np.int64)
        second = np.ascontiguousarray(np.broadcast_to(second, first.shape), dtype=np.int64)
        found = np.empty(len(first), dtype=np.intp)
        done = 0
        while done < len(first):
            done, self._count = _number_pairs(
                first, second, self._keys, self._slots, self._count, add, found, done
            )
            if done < len(first):
                self._grow()
        return found

    def _grow(self) -> None:
        self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
        self._slots = np.full(2 * len(self._slots), UNKNOWN)
        _insert_all(self._keys, self._count, self._slots)


class Vocabulary:
    """The numbers of all features of a kernel: named tables of pairs, and of symbols (words, labels).

    Once `closed`, new features get the number -1.
    """

    def __init__(self) -> None:
        self.tables: dict[str, PairTable] = {}
        self.symbols: dict[Hashable, int] = {}
        self.letter_bits = 0  # per letter; 0: not yet known
        self.closed = False

    def pairs(self, name: str, first: Any, second: Any) -> Codes:
        """The number of each pair in the named table, (n,)."""
        table = self.tables.setdefault(name, PairTable())
        return table.numbers(first, second, add=not self.closed)

    def numbers(self, symbols: Iterable[Hashable]) -> Codes:
        """The number of each symbol, (n,)."""
        known = self.symbols
        if self.closed:
            return np.fromiter((known.get(symbol, UNKNOWN) for symbol in symbols), dtype=np.intp)
        return np.fromiter((known.setdefault(s, len(known)) for s in symbols), dtype=np.intp)


@njit(cache=True, nogil=True)
def hash_slot(first: int, second: int, mask: int) -> int:
    """First slot to probe for a pair in a table of mask + 1 slots."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) + np.uint64(second)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(mask))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _number_pairs(
    first: Codes,
    second: Codes,
    keys: Codes,
    slots: Codes,
    count: int,
    add: bool,
    found: Codes,
    start: int,
) -> tuple[int, int]:
    """Number the pairs from `start` on; returns how many are done, fewer if the table is full."""
    mask = len(slots) - 1
    for i in range(start, len(first)):
        a, b = first[i], second[i]
        if a < 0 or b < 0:
            found[i] = -1
            continue
        at = hash_slot(a, b, mask)
        while True:
            number = slots[at]
            if number < 0:
                if not add:
                    found[i] = -1
                    break
                if count == len(keys):
                    return i, count
                keys[count, 0], keys[count, 1] = a, b
                slots[at] = count
                found[i] = count
                count += 1
                break
            if keys[number, 0] == a and keys[number, 1] == b:
                found[i] = number
                break
            at = (at + 1) & mask
    return len(first), count


@njit(cache=True, nogil=True)
def _insert_all(keys: Codes, count: int, slots: Codes) -> None:
    mask = len(slots) - 1
    for number in range(count):
        at = hash_slot(keys[number, 0], keys[number, 1], mask)
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = number
