"""Whole numbers for what is met: the same thing always has the same number, and it is exact.

A thing is a pair of whole numbers, and so is whatever is made of things: a word is a shorter word and a
letter, a subtree is a smaller one and a branch. Nothing is told apart by a hash alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numba import njit

from separatrix.types import Codes

UNKNOWN = -1
SMALLEST = 64  # places of a table that is empty


class Pairs:
    """Numbers 0, 1, ... for pairs of whole numbers, in the order they are met.

    >>> pairs = Pairs()
    >>> pairs.numbers(np.array([5, 7, 5]), np.array([1, 1, 1])).tolist()
    [0, 1, 0]
    >>> pairs.numbers(np.array([7, 8]), np.array([1, 1]), add=False).tolist()
    [1, -1]
    """

    def __init__(self, keys: Any = None) -> None:
        self._keys = np.empty((SMALLEST // 2, 2), dtype=np.int64)
        self._positions = np.full(SMALLEST, UNKNOWN)  # a power of 2 of them, at most half taken
        self._count = 0
        if keys is not None and len(keys):
            keys = np.asarray(keys, dtype=np.int64)
            self.numbers(keys[:, 0], keys[:, 1])

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> Codes:
        """The pair behind each number, (numbers, 2)."""
        return self._keys[: self._count].astype(np.intp)

    def numbers(self, first: Any, second: Any, *, add: bool = True) -> Codes:
        """The number of each pair, (n,); -1 where it was not met before and is not to be added.

        A pair with a number below 0 in it is not known either.
        """
        first = np.ascontiguousarray(first, dtype=np.int64)
        second = np.ascontiguousarray(np.broadcast_to(second, first.shape), dtype=np.int64)
        found = np.empty(len(first), dtype=np.intp)
        done = 0
        while done < len(first):
            done, self._count = _numbered(
                first, second, self._keys, self._positions, self._count, add, found, done
            )
            if done < len(first):
                self._grow()
        return found

    def _grow(self) -> None:
        self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
        self._positions = np.full(2 * len(self._positions), UNKNOWN)
        _placed(self._keys, self._count, self._positions)


class Vocabulary:
    """All numbers that the features of a kernel have: tables of pairs by name, and of other things.

    Once `closed`, what is new has the number -1.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Pairs] = {}
        self.things: dict[Hashable, int] = {}
        self.letter_bits = 0  # that a letter takes; 0: not yet known
        self.closed = False

    def pairs(self, name: str, first: Any, second: Any) -> Codes:
        """The number of each pair in the table of that name, (n,)."""
        table = self.tables.setdefault(name, Pairs())
        return table.numbers(first, second, add=not self.closed)

    def numbers(self, things: Iterable[Hashable]) -> Codes:
        """The number of each thing, (n,)."""
        known = self.things
        if self.closed:
            return np.fromiter((known.get(thing, UNKNOWN) for thing in things), dtype=np.intp)
        return np.fromiter((known.setdefault(thing, len(known)) for thing in things), dtype=np.intp)


@njit(cache=True, nogil=True)
def home_of(first: int, second: int, mask: int) -> int:
    """Where the search for a pair begins in a table of mask + 1 places."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) + np.uint64(second)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(mask))  # type: ignore[return-value]


@njit(cache=True, nogil=True)
def _numbered(
    first: Codes,
    second: Codes,
    keys: Codes,
    positions: Codes,
    count: int,
    add: bool,
    found: Codes,
    start: int,
) -> tuple[int, int]:
    """Number pairs from `start` on; returns how many are done, fewer where the table is full."""
    mask = len(positions) - 1
    for i in range(start, len(first)):
        a, b = first[i], second[i]
        if a < 0 or b < 0:
            found[i] = -1
            continue
        at = home_of(a, b, mask)
        while True:
            number = positions[at]
            if number < 0:
                if not add:
                    found[i] = -1
                    break
                if count == len(keys):
                    return i, count
                keys[count, 0], keys[count, 1] = a, b
                positions[at] = count
                found[i] = count
                count += 1
                break
            if keys[number, 0] == a and keys[number, 1] == b:
                found[i] = number
                break
            at = (at + 1) & mask
    return len(first), count


@njit(cache=True, nogil=True)
def _placed(keys: Codes, count: int, positions: Codes) -> None:
    mask = len(positions) - 1
    for number in range(count):
        at = home_of(keys[number, 0], keys[number, 1], mask)
        while positions[at] >= 0:
            at = (at + 1) & mask
        positions[at] = number
