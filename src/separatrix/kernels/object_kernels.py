"""Base classes of kernels on sequences and graphs.

Samples are an array (n,) of Python objects. Most of these kernels count features: a sample is a sparse
vector of counts, and the kernel is an inner product, to which everything in `gram/` applies. A kernel
may have levels (word lengths, rounds of refinement): it is the weighted sum of their products, and
kernels of one family share them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.kernels.base import ComposedKernel, InnerProduct, Kernel
from separatrix.kernels.graphs.from_networkx import is_networkx
from separatrix.kernels.prepared import Prepared, Vectors
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes, Matrix, Vector


class ObjectKernel(InnerProduct):
    """A kernel on objects whose values are inner products, so composed kernels are functions of them."""

    @property
    def from_products(self) -> bool:
        return True

    @property
    def base(self) -> ObjectKernel:
        return self

    @property
    def family(self) -> Hashable:
        """Equal for kernels that differ only in the weights of their levels."""
        return self

    @property
    @abstractmethod
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Each level with its weight."""

    @abstractmethod
    def checked(self, X: Any) -> Any:
        """Samples as an array (n,) of objects of one type; raises DataError for anything else."""

    @abstractmethod
    def prepared(self, X: Any, *others: Any) -> tuple[Prepared, ...]:
        """Checked samples, prepared for products with each other."""

    @abstractmethod
    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        """Products of checked samples at each level, (n, n), and of each with itself, (n,)."""

    def matrices_of(self, levels: Collection[int]) -> int:
        """Number of (n, n) matrices held while the products of these levels are computed."""
        return len(levels)

    def notes(self, X: Any) -> list[str]:
        """Remarks on checked training samples, for the user."""
        return []

    def block(self, X: Any, Z: Any) -> Matrix:
        same = X is Z
        X = self.checked(X)
        if same:
            return self.prepared(X)[0].own_products()
        first, second = self.prepared(X, self.checked(Z))
        return first.products(second)

    def diagonal(self, X: Any) -> Vector:
        return self.prepared(self.checked(X))[0].squares.astype(np.float64)


class Occurrences(NamedTuple):
    """All occurrences of features in some samples."""

    rows: Codes  # sample; ascending
    features: Codes  # number of the feature; -1 if a closed vocabulary does not have it
    positions: Codes  # in the sample: first letter, or node
    width: int  # feature numbers are below this


class Coverage(NamedTuple):
    """Letters or nodes of each occurrence: positions[starts[i] : starts[i + 1]] for the i-th."""

    starts: Codes  # shape: (occurrences + 1,)
    positions: Codes  # letters or nodes, numbered within their sample


class FeatureKernel(ObjectKernel):
    """A kernel that counts features: k(x, z) = sum of w_l c_u(x) c_u(z) over features u of levels l."""

    @abstractmethod
    def encode(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Any:
        """Checked samples as arrays of numbers, computed once for all levels."""

    @abstractmethod
    def occurrences(self, level: int, encoded: Any, vocabulary: Vocabulary) -> Occurrences:
        """All features of one level in samples that `encode` encoded."""

    @abstractmethod
    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """Names of features of one level, by their numbers."""

    def coverage(self, X: Any, level: int, encoded: Any, occurrences: Occurrences) -> Coverage:
        """The letters or nodes of each occurrence, at least one; by default its position alone."""
        return Coverage(np.arange(len(occurrences.rows) + 1), occurrences.positions)

    def counts(
        self, X: Any, vocabulary: Vocabulary, levels: Sequence[int] | None = None
    ) -> list[Any]:
        """How often each sample has each feature, one sparse matrix (n, features) for each level."""
        if levels is None:
            levels = [level for level, _ in self.levels]
        encoded = self.encode(X, vocabulary, levels)
        return [
            count_occurrences(self.occurrences(level, encoded, vocabulary), len(X))
            for level in levels
        ]

    def concatenate_levels(self, counts: list[Any]) -> Any:
        """The counts of all levels as one sparse matrix, weighted so that its products are the kernel."""
        weighted = [
            part if weight == 1 else part * np.sqrt(weight)
            for part, (_, weight) in zip(counts, self.levels, strict=True)
        ]
        return weighted[0] if len(weighted) == 1 else hstack(weighted, format="csr")

    def features(self, X: Any, *others: Any) -> tuple[Any, ...]:
        """Sparse vectors of checked samples over the union of their features."""
        samples = self.require_one_type(np.concatenate([X, *others]) if others else X)
        F = self.concatenate_levels(self.counts(samples, Vocabulary()))
        cuts = np.cumsum([0, len(X), *(len(other) for other in others)])
        return tuple(F[start:stop] for start, stop in pairwise(cuts))

    def require_one_type(self, X: Any) -> Any:
        """Checked samples of two sets; raises DataError if their types differ."""
        return X

    def prepared(self, X: Any, *others: Any) -> tuple[Vectors, ...]:
        return tuple(_prepare_vectors(F, np.dtype(np.float64)) for F in self.features(X, *others))

    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        products: list[tuple[Matrix, Vector]] = []
        for counts in self.counts(X, Vocabulary(), levels):
            exact = squared_norms(counts).max(initial=0.0) < 2**24  # integers of float32
            vectors = _prepare_vectors(counts, dtype if exact else np.dtype(np.float64))
            products.append((vectors.own_products(threads), vectors.squares.astype(np.float64)))
        return products


def as_vectors(kernel: Kernel, *sets: Any) -> tuple[Any, ...]:
    """Sets of objects as feature vectors if the kernel counts features; otherwise unchanged."""
    base = kernel.base
    return base.features(*sets) if isinstance(base, FeatureKernel) else sets


def first_base(kernel: Kernel) -> Any:
    """The first kernel on objects inside a composed kernel; None for a kernel on vectors.

    One on sequences or graphs goes before one on objects of any type.
    """
    if kernel.takes == "vectors":
        return None
    if not isinstance(kernel, ComposedKernel):
        return kernel
    return next(first_base(part) for part in kernel.parts if part.takes == kernel.takes)


def as_objects(owner: str, X: Any, accepted: str) -> Any:
    """The items of a list as an array (n,) of objects; `accepted` is the expected type, for the error."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        return X
    one = isinstance(X, str | bytes | Mapping | Set | Graph) or not hasattr(X, "__len__")
    if one or is_networkx(X) or issparse(X) or len(getattr(X, "shape", (0,))) != 1:
        raise DataError(f"{owner} takes {accepted}; got {_describe(X)}")
    objects = np.empty(len(X), dtype=object)
    for row, item in enumerate(X):  # one by one: NumPy would make a matrix of nested lists
        objects[row] = item
    return objects


def _describe(X: Any) -> str:
    if isinstance(X, str | bytes | Graph) or is_networkx(X):
        return f"a single {type(X).__name__}: put it into a list"
    shape = getattr(X, "shape", None)
    column = ": pass its one column alone" if shape is not None and shape[1:] == (1,) else ""
    return type(X).__name__ + (f" of shape {shape}" if shape is not None else "") + column


def count_occurrences(occurrences: Occurrences, n: int) -> Any:
    """How often each of n samples has each feature, (n, features), sparse."""
    rows, features = occurrences.rows, occurrences.features
    known = features >= 0
    if not known.all():
        rows, features = rows[known], features[known]
    starts = np.searchsorted(rows, np.arange(n + 1))
    counts = csr_array(
        (np.ones(len(features)), features, starts), shape=(n, max(1, occurrences.width))
    )
    counts.sum_duplicates()
    return counts


def _prepare_vectors(F: Any, dtype: np.dtype[Any]) -> Vectors:
    F = F.tocsr().astype(dtype)
    return Vectors(F, squared_norms(F).astype(dtype), None, None)
