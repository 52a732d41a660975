"""Explicit feature maps whose inner products are a kernel, exactly or approximately.

`Monomials` is the feature map of a polynomial kernel. `inverse_root` turns kernel values with landmarks
into features (Nystroem). `fourier_map` has random features whose inner products are a Gaussian kernel
on average. All of them are pure functions.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, groupby
from math import comb, inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from scipy.special import binom

from separatrix.errors import DataError, MemoryBudgetError, PrecisionWarning
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.runtime.blocks import in_words, row_blocks, rows_that_fit
from separatrix.runtime.interruptible import interruptible
from separatrix.types import Codes, Matrix, Vector

UNCOUNTABLE = 2**63  # for every number of monomials that an index cannot count
SCRATCH = 2**26  # bytes of one block of rows
ROWS_AT_ONCE = 1024  # rows of one matrix product
NEGLIGIBLE = 1e-12  # smaller eigenvalues, relative to the largest, are rounding errors
LARGEST_ANGLE = 1e11  # above it adjacent float64 numbers are 1e-5 apart
INDEFINITE = 1e-8  # a negative eigenvalue of this relative size is not a rounding error


def quadratic_map(X: Matrix) -> Matrix:  # (n, d) -> (n, d (d + 1) / 2)
    """All squares x_i^2 and products sqrt(2) x_i x_j: <map(x), map(z)> = <x, z>^2.

    The same columns as `Monomials.of_kernel(Polynomial(2), d)`, squares first.

    Parameters
    ----------
    X
        Samples, (n, d).

    Examples
    --------
    >>> quadratic_map(np.array([[1.0, 2.0]])).round(4)
    array([[1.    , 4.    , 2.8284]])
    """
    X = np.asarray(X)
    first, second = np.triu_indices(X.shape[1], k=1)
    return np.hstack([X**2, np.sqrt(2.0) * X[:, first] * X[:, second]])


class _Step(NamedTuple):
    """Columns `into` are columns `of` the degree below, times one feature."""

    degree: int  # of the result
    feature: int
    of: slice
    into: slice


@dataclass(frozen=True)
class Monomials:
    """All monomials of d features: by degree, then in lexicographic order.

    A monomial of degree t that begins with feature j is feature j times a monomial of degree t - 1
    that begins no earlier. Those are contiguous, so a column costs one multiplication. A sparse
    sample uses the same map over its nonzero features, with the column indices translated.

    Parameters
    ----------
    d
        Number of features.
    degree
        Highest degree.
    lowest
        Lowest degree; 0 is the constant 1.
    distinct
        Leave out monomials with a repeated feature.
    kernel
        Scale monomials so that <map(x), map(z)> is this kernel, of the same degree. Its
        (gamma <x, z> + coef0)^degree is, by the multinomial theorem, the sum over exponents a of
        degree! / (a! (degree - |a|)!) gamma^|a| coef0^(degree - |a|) x^a z^a; a monomial is scaled
        by the square root of its coefficient.

    Examples
    --------
    >>> plain = Monomials(2, degree=2)
    >>> plain.names(["a", "b"])
    ['1', 'a', 'b', 'a^2', 'a b', 'b^2']
    >>> plain.map(np.array([[2.0, 3.0]]))
    array([[1., 2., 3., 4., 6., 9.]])
    >>> scaled = Monomials.of_kernel(Polynomial(2, coef0=1.0), 2)
    >>> scaled.map(np.array([[2.0, 3.0]])).round(2)
    array([[1.  , 2.83, 4.24, 4.  , 8.49, 9.  ]])
    """

    d: int
    degree: int
    lowest: int = 0
    distinct: bool = False
    kernel: Polynomial | None = None

    @classmethod
    def of_kernel(cls, kernel: Polynomial, d: int) -> Monomials:
        """The monomials with a nonzero coefficient in this kernel on d features; coef0 at least 0."""
        lowest = 0 if kernel.coef0 > 0 else kernel.degree
        return cls(d, kernel.degree, lowest=lowest, kernel=kernel)

    @property
    def total(self) -> int:
        """Monomials up to the degree, including those below `lowest`; `UNCOUNTABLE` from 2^63 on."""
        return _count_monomials(self.d, self.degree, distinct=self.distinct)

    @property
    def skipped(self) -> int:
        """Monomials below the lowest degree, which are intermediate results."""
        return _count_monomials(self.d, self.lowest - 1, distinct=self.distinct)

    @property
    def size(self) -> int:
        """Columns of the map; `UNCOUNTABLE` from 2^63 on."""
        return self.total - self.skipped if self.total < UNCOUNTABLE else UNCOUNTABLE

    def map(self, X: Any, *, limit: float = inf) -> Any:
        """Values of all monomials, (n, size): dense, or CSR if X is CSR.

        Raises MemoryBudgetError before the computation if the output has more than `limit` bytes.
        """
        if self.total == UNCOUNTABLE:
            raise MemoryBudgetError(f"{self} are more than 2^63; lower the degree")
        try:
            with np.errstate(over="raise", invalid="raise"):
                return self._sparse(X, limit) if issparse(X) else self._dense(X, limit)
        except FloatingPointError:
            raise DataError(
                f"monomials of degree {self.degree} overflow {X.dtype}; scale the features "
                "(for example to [0, 1]) or lower the degree"
            ) from None

    def names(self, features: Sequence[str]) -> list[str]:
        """Name of each column, such as `a^2 b`."""
        choose = combinations if self.distinct else combinations_with_replacement
        return [
            " ".join(_power(name, len(list(run))) for name, run in groupby(product)) or "1"
            for degree in range(self.lowest, self.degree + 1)
            for product in choose(features, degree)
        ]

    def weights(self) -> Vector:
        """Scale of each monomial of features times sqrt(gamma), (size,)."""
        if self.kernel is None:
            return np.ones(self.size)
        orders, runs = np.ones(self.total), np.zeros(self.total)
        for step in self._steps():
            of, into = step.of, step.into
            # the monomials one degree below that begin with this feature too
            t = step.degree
            repeated = comb(self.d - step.feature + t - 3, t - 2) if t > 1 else 0
            runs[into] = 1.0
            runs[into.start : into.start + repeated] += runs[of.start : of.start + repeated]
            # a monomial of degree t can be written in t!/a! orders
            orders[into] = orders[of] * t / runs[into]
        degrees = np.repeat(np.arange(self.degree + 1), self._tails()[:, 0])
        with np.errstate(over="ignore", invalid="ignore"):
            chosen = np.sqrt(binom(self.degree, degrees) * orders)
            weights = chosen * np.sqrt(self.kernel.coef0) ** (self.degree - degrees)
        weights = weights[self.skipped :]
        if not np.isfinite(weights).all():
            raise DataError(f"the feature map of {self.kernel!r} overflows; lower the degree")
        return np.asarray(weights)

    def _dense(self, X: Matrix, limit: float) -> Matrix:
        n = X.shape[0]
        self._require_memory(n * self.size * X.dtype.itemsize, n, limit)
        out = np.empty((n, self.size), X.dtype)
        in_place = not self.skipped
        for rows, block in self._values(X, out if in_place else None):
            if not in_place:
                out[rows] = block
        return out

    def _sparse(self, X: Any, limit: float) -> Any:
        """Map rows with equally many nonzeros together, as dense rows of that many features."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        n, stored = X.shape[0], np.diff(X.indptr)
        maps = {int(s): replace(self, d=int(s)) for s in np.unique(stored)}
        sizes = {s: small.size for s, small in maps.items()}
        widths = [sizes[s] for s in stored.tolist()]
        size = sum(widths)
        wide = max(size, self.size) > np.iinfo(np.int32).max
        index = np.dtype(np.int64 if wide else np.int32)
        self._require_memory(size * (X.dtype.itemsize + index.itemsize), n, limit)
        indptr = np.zeros(n + 1, index)
        np.cumsum(widths, out=indptr[1:])
        data, indices = np.empty(size, X.dtype), np.empty(size, index)
        tails = self._tails()
        shifts = tails[:, :1] - tails[:, 1:]  # (degree + 1, d): monomials that begin earlier
        for s, small in maps.items():
            rows = np.flatnonzero(stored == s)
            source = X.indptr[rows, None] + np.arange(s)
            for part, block in small._values(X.data[source]):
                target = indptr[rows[part], None] + np.arange(small.size)
                data[target] = block
                indices[target] = small._columns(X.indices[source[part]], shifts) - self.skipped
        return type(X)((data, indices, indptr), shape=(n, self.size))

    def _values(self, X: Matrix, out: Matrix | None = None) -> Iterator[tuple[slice, Matrix]]:
        """Blocks of rows without the columns below the lowest degree; views of `out` if given."""
        weights = None if self.kernel is None else self.weights().astype(X.dtype)
        root = 1.0 if self.kernel is None else float(np.sqrt(self.kernel.gamma))
        steps = list(self._steps())
        size = rows_that_fit(self.total * X.dtype.itemsize, SCRATCH)
        for rows in row_blocks(X.shape[0], size):
            part = X[rows] if root == 1.0 else X[rows] * X.dtype.type(root)
            block = np.empty((len(part), self.total), X.dtype) if out is None else out[rows]
            block[:, 0] = 1.0
            for _, feature, of, into in steps:
                np.multiply(block[:, of], part[:, feature, None], out=block[:, into])
            kept = block[:, self.skipped :]
            if weights is not None:
                kept *= weights
            yield rows, kept

    def _columns(self, J: Codes, shifts: Any) -> npt.NDArray[np.int64]:
        """Columns, in the map over all features, of the monomials of features J, (rows, d)."""
        columns = np.zeros((len(J), self.total), np.int64)
        for degree, feature, of, into in self._steps():
            columns[:, into] = columns[:, of] + shifts[degree, J[:, feature], None]
        return columns[:, self.skipped :]

    def _steps(self) -> Iterator[_Step]:
        """The product that yields each column from an earlier one; column 0 is the constant 1."""
        tails = self._tails().tolist()
        end = 1
        for degree in range(1, self.degree + 1):
            below, into = end, end
            end += tails[degree][0]
            for feature in range(self.d):
                width = tails[degree - 1][feature + self.distinct]
                if width:
                    yield _Step(
                        degree, feature, slice(below - width, below), slice(into, into + width)
                    )
                into += width

    def _tails(self) -> npt.NDArray[np.int64]:  # (degree + 1, d + 1)
        """Number of monomials of each degree without a feature before the j-th."""
        tails = np.zeros((self.degree + 1, self.d + 1), np.int64)
        tails[0] = 1
        for degree in range(1, self.degree + 1):
            begin = tails[degree - 1][1:] if self.distinct else tails[degree - 1][:-1]
            tails[degree, :-1] = np.cumsum(begin[::-1])[::-1]
        return tails

    def _require_memory(self, size: int, n: int, limit: float) -> None:
        if size > limit:
            raise MemoryBudgetError(
                f"{self} of {n} samples need {in_words(size)}; the limit is {in_words(limit)}: lower "
                "the degree, map fewer samples at a time, or raise `memory_limit`"
            )

    def __str__(self) -> str:
        return f"monomials of {self.d} features up to degree {self.degree}"


def _count_monomials(d: int, degree: int, *, distinct: bool) -> int:
    """Monomials of d features up to a degree, at most `UNCOUNTABLE`."""
    if degree < 0:
        return 0
    factors = min(d, degree)
    if factors > 62:  # at least 2^factors, which may take hours to count
        return UNCOUNTABLE
    if distinct:
        return min(UNCOUNTABLE, sum(comb(d, t) for t in range(factors + 1)))
    return min(UNCOUNTABLE, comb(d + degree, factors))


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


class InverseRoot(NamedTuple):
    """The inverse square root of a kernel matrix on its range."""

    root: Matrix  # shape: (m, m); symmetric
    rank: int  # eigenvalues kept
    lowest: float  # the lowest eigenvalue, relative to the largest absolute one
    definite: bool  # whether no eigenvalue is negative by more than rounding


def inverse_root(K: Matrix) -> InverseRoot:
    """The symmetric R with R K R = 1 on the range of K.

    Given
        K   kernel values of m landmarks with each other, (m, m)

    Returns R = U diag(s)^(-1/2) U' over the eigenvalues s of K above `NEGLIGIBLE` of the largest.
    The others, such as those of duplicate landmarks, are left out. The features
    f(x) = R (k(x, z_1), ..., k(x, z_m)) have <f(x), f(y)> = k(x, Z) K^+ k(Z, y), which is k(x, y)
    if x or y is a landmark.

    Reference: Williams and Seeger, Using the Nystroem Method to Speed Up Kernel Machines, NIPS 2000.

    >>> inverse_root(np.array([[4.0, 4.0], [4.0, 4.0]]))
    InverseRoot(root=array([[0.1767767, 0.1767767],
                            [0.1767767, 0.1767767]]), rank=1, lowest=0.0, definite=True)
    """
    values, vectors = interruptible(np.linalg.eigh, K)
    largest = float(np.abs(values).max(initial=0.0))
    kept = values > NEGLIGIBLE * largest
    lowest = float(values[0]) / largest if largest else 0.0
    half = vectors[:, kept] / values[kept] ** 0.25
    return InverseRoot(half @ half.T, int(kept.sum()), lowest, lowest >= -INDEFINITE)


def draw_fourier(
    d: int, n_components: int, *, gamma: float, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Frequencies W, (d, D), and phases b, (D,), of a Gaussian kernel exp(-gamma |x - z|^2).

    The kernel is the characteristic function of a normal distribution of variance 2 gamma, from
    which the frequencies are drawn. Phases are uniform on the circle.
    """
    W = rng.normal(scale=np.sqrt(2.0 * gamma), size=(d, n_components))
    return W, rng.uniform(0.0, 2.0 * np.pi, size=n_components)


def fourier_map(X: Any, W: Matrix, b: Vector) -> Matrix:  # (n, d), (d, D), (D,) -> (n, D)
    """f(x) = sqrt(2 / D) cos(W' x + b): over W and b, <f(x), f(z)> is k(x, z) on average.

    With k = k(x, z), the variance of <f(x), f(z)> is (1 - k^2 + k^4 / 2) / D.

    Reference: Rahimi and Recht, Random Features for Large-Scale Kernel Machines, NIPS 2007.

    >>> fourier_map(np.zeros((1, 3)), np.ones((3, 2)), np.array([0.0, np.pi])).tolist()
    [[1.0, -1.0]]
    """
    out = np.empty((X.shape[0], W.shape[1]))
    reach = 0.0
    for rows in row_blocks(X.shape[0], ROWS_AT_ONCE):
        angles = out[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            angles[...] = X[rows] @ W
        angles += b
        reach = float(np.maximum(reach, np.maximum(angles.max(), -angles.min())))
        if np.isfinite(reach):
            np.cos(angles, out=angles)
    warn_of_angles(reach)
    out *= np.sqrt(2.0 / W.shape[1])
    return out


def warn_of_angles(reach: float) -> None:
    """Refuse angles that overflowed, and warn of those that are too large for a precise cosine."""
    if not np.isfinite(reach):
        raise DataError("the features are too large for `gamma`; scale them or lower `gamma`")
    if reach > LARGEST_ANGLE:
        warnings.warn(
            f"angles up to {reach:.1g} are too large for a precise cosine; scale the features or lower "
            "`gamma`",
            PrecisionWarning,
            stacklevel=3,
        )
