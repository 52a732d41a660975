"""Explicit feature maps: coordinates that a kernel is the inner product of, exactly or nearly.

Three of them. `Monomials` are the coordinates of a polynomial kernel. `inverse_root` turns kernel
values with some landmarks into coordinates (Nystroem). `fourier_map` has random coordinates whose
inner products are a Gaussian kernel on average. Nothing here keeps anything.
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
from separatrix.types import Codes, Matrix, Vector

BEYOND = 2**63  # stands for every number of monomials that no index can count
SCRATCH = 2**26  # bytes of one block of rows on the way
ROWS_AT_ONCE = 1024  # rows of one matrix product
NEGLIGIBLE = 1e-12  # eigenvalues below this share of the largest are rounding
LARGEST_ANGLE = 1e11  # above it neighbouring float64 numbers are 1e-5 apart
INDEFINITE = 1e-8  # one this far below 0, as a share of the largest, is no rounding


def quadratic_map(X: Matrix) -> Matrix:  # (n, d) -> (n, d (d + 1) / 2)
    """All squares x_i^2 and products sqrt(2) x_i x_j: <map(x), map(z)> = <x, z>^2.

    The same columns as `Monomials.of_kernel(Polynomial(2), d)`, squares first.

    >>> quadratic_map(np.array([[1.0, 2.0]])).round(4)
    array([[1.    , 4.    , 2.8284]])
    """
    X = np.asarray(X)
    first, second = np.triu_indices(X.shape[1], k=1)
    return np.hstack([X**2, np.sqrt(2.0) * X[:, first] * X[:, second]])


class _Step(NamedTuple):
    """Columns `into` are those `of` the degree below, times one feature."""

    degree: int  # of what is made
    feature: int
    of: slice
    into: slice


@dataclass(frozen=True)
class Monomials:
    """All products of some of d features: by degree, then in the order of a dictionary.

    A product of degree t that begins with feature j is feature j times a product of degree t - 1
    that begins no earlier. These lie side by side, so a column costs one multiplication. A sparse
    sample is the same map over the few features it has, with the columns counted anew.

    Parameters
    ----------
    d
        Features.
    degree
        Factors of the longest product.
    lowest
        Factors of the shortest; 0 is the constant 1.
    distinct
        Whether no feature may come twice in a product.
    kernel
        Scale products so that <map(x), map(z)> is this kernel, of the same degree. Its
        (gamma <x, z> + coef0)^degree is, by the multinomial theorem, the sum over exponents a of
        degree! / (a! (degree - |a|)!) gamma^|a| coef0^(degree - |a|) x^a z^a; a product is scaled
        by the root of its factor.

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
        """The monomials that have a weight in this kernel on d features; coef0 at least 0."""
        lowest = 0 if kernel.coef0 > 0 else kernel.degree
        return cls(d, kernel.degree, lowest=lowest, kernel=kernel)

    @property
    def total(self) -> int:
        """Monomials up to the degree, those below the lowest too; `BEYOND` for 2^63 and more."""
        return self._up_to(self.degree)

    @property
    def skipped(self) -> int:
        """Monomials below the lowest degree, which are computed on the way."""
        return self._up_to(self.lowest - 1)

    @property
    def size(self) -> int:
        """Monomials that are kept: the columns of the map; `BEYOND` for 2^63 and more."""
        return self.total - self.skipped if self.total < BEYOND else BEYOND

    def map(self, X: Any, *, limit: float = inf) -> Any:
        """Values of all monomials, (n, size): dense, or CSR where X is CSR.

        An output of more than `limit` bytes is an error before anything is computed.
        """
        if self.total == BEYOND:
            raise MemoryBudgetError(f"{self._words()} are more than 2^63; lower the degree")
        try:
            with np.errstate(over="raise", invalid="raise"):
                return self._sparse(X, limit) if issparse(X) else self._dense(X, limit)
        except FloatingPointError:
            raise DataError(
                f"monomials of degree {self.degree} overflow {X.dtype}; scale the features "
                "(for example to [0, 1]) or lower the degree"
            ) from None

    def names(self, features: Sequence[str]) -> list[str]:
        """What each column is, as `a^2 b`."""
        choose = combinations if self.distinct else combinations_with_replacement
        return [
            " ".join(_power(name, len(list(run))) for name, run in groupby(product)) or "1"
            for degree in range(self.lowest, self.degree + 1)
            for product in choose(features, degree)
        ]

    def weights(self) -> Vector:
        """What each product of features times sqrt(gamma) is scaled by, (size,)."""
        if self.kernel is None:
            return np.ones(self.size)
        orders, runs = np.ones(self.total), np.zeros(self.total)
        for step in self._steps():
            of, into = step.of, step.into
            again = of.start + self._begins_with(step.degree - 1, step.feature)
            runs[into] = 1.0
            runs[into.start : into.start + again - of.start] += runs[of.start : again]
            # a product of t factors can be written in t!/a! orders
            orders[into] = orders[of] * step.degree / runs[into]
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
        self._require_room(n * self.size * X.dtype.itemsize, n, limit)
        out = np.empty((n, self.size), X.dtype)
        whole = not self.skipped
        for rows, block in self._values(X, out if whole else None):
            if not whole:
                out[rows] = block
        return out

    def _sparse(self, X: Any, limit: float) -> Any:
        """Rows that have as many values are mapped together, as dense ones of that many features."""
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        n, stored = X.shape[0], np.diff(X.indptr)
        maps = {int(s): replace(self, d=int(s)) for s in np.unique(stored)}
        sizes = {s: few.size for s, few in maps.items()}
        widths = [sizes[s] for s in stored.tolist()]
        size = sum(widths)
        wide = max(size, self.size) > np.iinfo(np.int32).max
        index = np.dtype(np.int64 if wide else np.int32)
        self._require_room(size * (X.dtype.itemsize + index.itemsize), n, limit)
        indptr = np.zeros(n + 1, index)
        np.cumsum(widths, out=indptr[1:])
        data, indices = np.empty(size, X.dtype), np.empty(size, index)
        shifts = self._shifts()
        for s, few in maps.items():
            rows = np.flatnonzero(stored == s)
            given = X.indptr[rows, None] + np.arange(s)
            for part, block in few._values(X.data[given]):
                made = indptr[rows[part], None] + np.arange(few.size)
                data[made] = block
                indices[made] = few._columns(X.indices[given[part]], shifts) - self.skipped
        return type(X)((data, indices, indptr), shape=(n, self.size))

    def _values(self, X: Matrix, room: Matrix | None = None) -> Iterator[tuple[slice, Matrix]]:
        """Blocks of rows without the columns below the lowest degree; in `room` for all columns."""
        weights = None if self.kernel is None else self.weights().astype(X.dtype)
        root = 1.0 if self.kernel is None else float(np.sqrt(self.kernel.gamma))
        steps = list(self._steps())
        size = rows_that_fit(self.total * X.dtype.itemsize, SCRATCH)
        for rows in row_blocks(X.shape[0], size):
            part = X[rows] if root == 1.0 else X[rows] * X.dtype.type(root)
            block = np.empty((len(part), self.total), X.dtype) if room is None else room[rows]
            block[:, 0] = 1.0
            for _, feature, of, into in steps:
                np.multiply(block[:, of], part[:, feature, None], out=block[:, into])
            kept = block[:, self.skipped :]
            if weights is not None:
                kept *= weights
            yield rows, kept

    def _columns(self, J: Codes, shifts: Any) -> npt.NDArray[np.int64]:
        """Columns in the map over all features of products of the features J, (rows, d)."""
        columns = np.zeros((len(J), self.total), np.int64)
        for degree, feature, of, into in self._steps():
            columns[:, into] = columns[:, of] + shifts[degree, J[:, feature], None]
        return columns[:, self.skipped :]

    def _steps(self) -> Iterator[_Step]:
        """How each column comes from an earlier one; column 0 is the constant 1."""
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

    def _begins_with(self, degree: int, feature: int) -> int:
        """How many products of this degree begin with this feature, where it may come again."""
        return comb(self.d - feature + degree - 2, degree - 1) if degree else 0

    def _tails(self) -> npt.NDArray[np.int64]:  # (degree + 1, d + 1)
        """How many products of each degree have no feature before the j-th."""
        tails = np.zeros((self.degree + 1, self.d + 1), np.int64)
        tails[0] = 1
        for degree in range(1, self.degree + 1):
            begun = tails[degree - 1][1:] if self.distinct else tails[degree - 1][:-1]
            tails[degree, :-1] = np.cumsum(begun[::-1])[::-1]
        return tails

    def _shifts(self) -> npt.NDArray[np.int64]:  # (degree + 1, d)
        """How far a product moves when a feature is put before it: past those that begin earlier."""
        tails = self._tails()
        return np.asarray(tails[:, :1] - tails[:, 1:])

    def _up_to(self, degree: int) -> int:
        if degree < 0:
            return 0
        few = min(self.d, degree)
        if few > 62:  # at least 2^few, which may take hours to count
            return BEYOND
        if self.distinct:
            return min(BEYOND, sum(comb(self.d, t) for t in range(few + 1)))
        return min(BEYOND, comb(self.d + degree, few))

    def _require_room(self, size: int, n: int, limit: float) -> None:
        if size > limit:
            raise MemoryBudgetError(
                f"{self._words()} take {in_words(size)} for {n} samples, more than the "
                f"{in_words(limit)} there are; lower the degree, map fewer samples at a time, or "
                "give more memory (`memory_limit`)"
            )

    def _words(self) -> str:
        return f"monomials of {self.d} features up to degree {self.degree}"


def _power(name: str, exponent: int) -> str:
    return name if exponent == 1 else f"{name}^{exponent}"


class InverseRoot(NamedTuple):
    """The inverse square root of a kernel matrix, where it has one."""

    root: Matrix  # shape: (m, m); symmetric
    rank: int  # eigenvalues that were kept
    lowest: float  # the lowest eigenvalue, as a share of the largest in size
    definite: bool  # whether no eigenvalue is below 0 by more than rounding


def inverse_root(K: Matrix) -> InverseRoot:
    """The symmetric R with R K R = 1 on the directions that K has.

    Given
        K   kernel values of m landmarks with each other, (m, m)

    Returns R = U diag(s)^(-1/2) U' over the eigenvalues s of K above `NEGLIGIBLE` of the largest.
    The rest, such as those of landmarks that come twice, are left out. So the features
    f(x) = R (k(x, z_1), ..., k(x, z_m)) have <f(x), f(y)> = k(x, Z) K^+ k(Z, y), which is k(x, y)
    where x or y is a landmark.

    Reference: Williams and Seeger, Using the Nystroem Method to Speed Up Kernel Machines, NIPS 2000.

    >>> inverse_root(np.array([[4.0, 4.0], [4.0, 4.0]]))
    InverseRoot(root=array([[0.1767767, 0.1767767],
                            [0.1767767, 0.1767767]]), rank=1, lowest=0.0, definite=True)
    """
    values, vectors = np.linalg.eigh(K)
    largest = float(np.abs(values).max(initial=0.0))
    kept = values > NEGLIGIBLE * largest
    lowest = float(values[0]) / largest if largest else 0.0
    half = vectors[:, kept] / values[kept] ** 0.25
    return InverseRoot(half @ half.T, int(kept.sum()), lowest, lowest >= -INDEFINITE)


def fourier_draw(
    d: int, n_components: int, *, gamma: float, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Frequencies W, (d, D), and phases b, (D,), of a Gaussian kernel exp(-gamma |x - z|^2).

    The kernel is the characteristic function of a normal distribution of variance 2 gamma, which
    the frequencies are drawn from. Phases are uniform on the circle.
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
        if not np.isfinite(reach):
            raise DataError("the features are too large for this gamma; scale them or lower it")
        np.cos(angles, out=angles)
    if reach > LARGEST_ANGLE:
        warnings.warn(
            f"angles up to {reach:.1g} are too large to have a cosine; scale the features or lower "
            "gamma",
            PrecisionWarning,
            stacklevel=2,
        )
    out *= np.sqrt(2.0 / W.shape[1])
    return out
