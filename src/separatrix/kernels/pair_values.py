"""Values of a function of two objects: each unordered pair once, kept for the next call.

Objects are recognised by the digest of their pickle, so that copies share their values and an object
that was modified has new ones. Objects that cannot be pickled are recognised within a call only.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import DataError
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.progress import bar
from separatrix.runtime.threads import in_threads, thread_count
from separatrix.types import Codes, Matrix, Vector

MOST_OBJECTS = 2**20  # that are known at a time
TRANSIENT = 2**30  # numbers from here on are of one call
STRIP_PAIRS = 2**20  # pairs whose values are computed between two bookkeepings
ROWS_OF_TASK = 16  # rows that a process computes at a time
SYMMETRY_CHECKS = 3  # pairs that are evaluated in both orders

PairFunction = Callable[[Any, Any], Any]


class PairCache:
    """Values of pairs of objects, at most `limit` bytes of them; the oldest rows are evicted."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lock = Lock()
        self._first = 0  # number of the first object that is known
        self._numbers: dict[bytes, int] = {}
        self._rows: dict[int, Vector] = {}  # number -> values with the objects of all numbers known
        self._nbytes = 0

    def __reduce__(self) -> tuple[type[PairCache], tuple[int]]:
        return type(self), (self.limit,)  # a copy begins empty

    def _clear(self) -> None:
        """Forget all objects; their numbers stay unused, for another thread may still have them."""
        self._first = (self._first + len(self._numbers)) % (TRANSIENT // 2)
        self._numbers, self._rows, self._nbytes = {}, {}, 0

    def numbers(self, *sets: Sequence[Any]) -> list[Codes]:
        """Numbers of the objects of some sets; equal ones for objects with equal pickles."""
        local: dict[int, int] = {}
        with self._lock:
            if len(self._numbers) > MOST_OBJECTS:
                self._clear()
            found = [np.array([self._number(x, local) for x in X], dtype=np.intp) for X in sets]
        return found

    def _number(self, x: Any, local: dict[int, int]) -> int:
        try:
            key = blake2b(pickle.dumps(x, protocol=5), digest_size=16).digest()
        except Exception:  # whatever the object raises: it cannot be pickled
            return local.setdefault(id(x), TRANSIENT + len(local))
        return self._numbers.setdefault(key, self._first + len(self._numbers))

    def find(self, a: Codes, b: Codes) -> Matrix:
        """Known values of all pairs, (n, m), and NaN for the others."""
        K = np.full((len(a), len(b)), np.nan)
        with self._lock:
            for i, number in enumerate(a.tolist()):
                self._read(number, b, K[i])
            for j in np.flatnonzero(np.isnan(K).any(axis=0)).tolist():
                column = K[:, j].copy()
                self._read(int(b[j]), a, column, only=np.isnan(column))
                K[:, j] = column
        return K

    def find_own(self, a: Codes) -> Vector:
        """Known values of each object with itself, (n,), and NaN for the others."""
        with self._lock:
            values = np.full(len(a), np.nan)
            for i, number in enumerate(a.tolist()):
                self._read(number, a[i : i + 1], values[i : i + 1])
        return values

    def _read(self, number: int, others: Codes, out: Vector, only: Any = True) -> None:
        row = self._rows.get(number)
        if row is not None:
            indices = others - self._first
            known = (indices >= 0) & (indices < len(row)) & only
            out[known] = row[indices[known]]

    def keep(self, a: Codes, b: Codes, K: Matrix) -> None:
        """Keep the values of all pairs, (n, m)."""
        with self._lock:
            lasting = (b >= self._first) & (b < TRANSIENT)
            indices, K = b[lasting] - self._first, K[:, lasting]
            if not len(indices) or not self.limit:
                return
            for number, values in zip(a.tolist(), K, strict=True):
                if self._first <= number < TRANSIENT:
                    self._keep_row(number, indices, values)

    def _keep_row(self, number: int, indices: Codes, values: Vector) -> None:
        row, width = self._rows.get(number), int(indices.max()) + 1
        if row is None or len(row) < width:
            nbytes = width * values.itemsize
            if nbytes > self.limit:
                return
            longer = np.full(width, np.nan)
            if row is not None:
                longer[: len(row)] = row
                self._nbytes -= row.nbytes
                del self._rows[number]
            while self._rows and self._nbytes + nbytes > self.limit:
                self._nbytes -= self._rows.pop(next(iter(self._rows))).nbytes
            self._rows[number] = row = longer
            self._nbytes += row.nbytes
        row[indices] = values


class PairEvaluator(NamedTuple):
    """A function of two objects, and how it is called."""

    function: PairFunction
    cache: PairCache
    threads: int
    processes: bool
    verbose: bool

    @classmethod
    def of(
        cls,
        function: PairFunction,
        cache: PairCache,
        n_jobs: int | None,
        workers: str,
        verbose: int,
    ) -> PairEvaluator:
        """The evaluator of the parameters of a kernel."""
        return cls(function, cache, thread_count(n_jobs), workers == "processes", bool(verbose))

    def block(self, X: Sequence[Any], Z: Sequence[Any]) -> Matrix:
        """Values of all pairs, (n, m)."""
        return self._block(X, Z, *self.cache.numbers(X, Z), same=False)[0]

    def matrix(self, X: Sequence[Any], *, check: bool) -> Matrix:
        """Values of all pairs of one set, (n, n): half of them are evaluated.

        With `check`, a few new ones are evaluated in both orders, and a function for which they differ is
        refused.
        """
        (a,) = self.cache.numbers(X)
        K, evaluated = self._block(X, X, a, a, same=True)
        for i in range(min(SYMMETRY_CHECKS, len(X) // 2) if check and evaluated else 0):
            self._require_symmetric(X, i, len(X) - 1 - i)
        return K

    def _block(
        self, X: Sequence[Any], Z: Sequence[Any], a: Codes, b: Codes, *, same: bool
    ) -> tuple[Matrix, int]:
        """Values of all pairs, and how many were evaluated."""
        K, evaluated = np.empty((len(X), len(Z))), 0
        with bar("kernel values: row", len(X), show=self.verbose, nested=True) as advance:
            for rows in row_blocks(len(X), rows_that_fit(len(Z), STRIP_PAIRS)):
                K[rows] = self.cache.find(a[rows], b)
                if same:
                    K[rows, : rows.start] = K[: rows.start, rows].T
                evaluated += self._fill(K[rows], a[rows], b, X[rows], Z, advance)
                self.cache.keep(a[rows], b, K[rows])
        return K, evaluated

    def diagonal(self, X: Sequence[Any]) -> Vector:
        """Value of each object with itself, (n,)."""
        (a,) = self.cache.numbers(X)
        values = self.cache.find_own(a)
        for i in np.flatnonzero(np.isnan(values)).tolist():
            values[i] = evaluate(self.function, X[i], X[i])
            self.cache.keep(a[i : i + 1], a[i : i + 1], values[i : i + 1, None])
        return values

    def _require_symmetric(self, X: Sequence[Any], i: int, j: int) -> None:
        values = [evaluate(self.function, X[i], X[j]), evaluate(self.function, X[j], X[i])]
        if abs(values[0] - values[1]) > 1e-8 * max(map(abs, values)):
            raise DataError(
                f"a kernel must be symmetric, k(x, z) = k(z, x); {name_of(self.function)} gave "
                f"{values[0]:.6g} for samples {i} and {j}, and {values[1]:.6g} for {j} and {i}"
            )

    def _fill(
        self, K: Matrix, a: Codes, b: Codes, X: Sequence[Any], Z: Sequence[Any], advance: Any
    ) -> int:
        """Evaluate the missing values of some rows, each unordered pair once; returns how many."""
        rows, columns = np.nonzero(np.isnan(K))
        low, high = np.minimum(a[rows], b[columns]), np.maximum(a[rows], b[columns])
        _, first, inverse = np.unique(
            low.astype(np.int64) * 2**31 + high, return_index=True, return_inverse=True
        )
        order = np.argsort(first)  # by rows
        cuts = np.searchsorted(rows[first[order]], np.arange(len(K) + 1))
        wanted = columns[first[order]]
        values = np.empty(len(first))
        start = 0
        for part in self._evaluate([wanted[s:e] for s, e in pairwise(cuts.tolist())], X, Z):
            values[order[start : start + len(part)]] = part
            start += len(part)
            advance()
        K[rows, columns] = values[inverse]
        return len(values)

    def _evaluate(
        self, wanted: list[Codes], X: Sequence[Any], Z: Sequence[Any]
    ) -> Iterator[Vector]:
        """Values of each object of X with the wanted ones of Z."""
        total = sum(map(len, wanted))
        if self.threads == 1 or total < 2:
            for x, columns in zip(X, wanted, strict=True):
                yield evaluate_row(self.function, x, [Z[j] for j in columns.tolist()])
        elif self.processes:
            yield from self._in_processes(wanted, X, Z)
        else:
            for rows in row_blocks(len(X), 4 * self.threads):
                tasks = zip(X[rows], wanted[rows], strict=True)
                yield from in_threads(
                    lambda task: evaluate_row(self.function, task[0], [Z[j] for j in task[1]]),
                    tasks,
                    threads=self.threads,
                )

    def _in_processes(
        self, wanted: list[Codes], X: Sequence[Any], Z: Sequence[Any]
    ) -> Iterator[Vector]:
        # a requirement of scikit-learn's; it pickles lambdas too
        from joblib import Parallel, delayed

        size = max(1, min(ROWS_OF_TASK, len(X) // (2 * self.threads)))

        def tasks() -> Iterator[Any]:
            for rows in row_blocks(len(X), size):
                used = np.unique(np.concatenate(wanted[rows]))
                columns = [np.searchsorted(used, part) for part in wanted[rows]]
                others = [Z[j] for j in used.tolist()]
                yield delayed(evaluate_rows)(self.function, list(X[rows]), others, columns)

        for found in Parallel(n_jobs=self.threads, return_as="generator")(tasks()):
            yield from found


def evaluate_rows(
    function: PairFunction, X: list[Any], Z: list[Any], columns: list[Codes]
) -> list[Vector]:
    """Values of each object of X with some of Z."""
    return [
        evaluate_row(function, x, [Z[j] for j in some.tolist()])
        for x, some in zip(X, columns, strict=True)
    ]


def evaluate_row(function: PairFunction, x: Any, others: list[Any]) -> Vector:
    """Values of one object with others."""
    return np.array([evaluate(function, x, z) for z in others], dtype=np.float64)


def evaluate(function: PairFunction, x: Any, z: Any) -> float:
    """The value of one pair: a finite number."""
    value = function(x, z)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise DataError(
            f"a kernel of two objects must return a finite number; {name_of(function)} returned "
            f"{_short(value)} for {_short(x)} and {_short(z)}"
        )
    return number


def _short(value: Any) -> str:
    return f"{' '.join(repr(value).split()):.60}"


def name_of(function: Any) -> str:
    """The name of a function, or its class if it has none."""
    return str(getattr(function, "__name__", type(function).__name__))
