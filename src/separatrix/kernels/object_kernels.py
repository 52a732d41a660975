"""Kernels on anything but vectors: what they share.

Samples are an array (n,) of Python objects. Most such kernels count features: then a sample is a sparse
vector of counts, the kernel its inner product, and whatever holds for products of vectors (`gram.py`)
holds here. A kernel may have levels, as lengths of words or rounds of refinement: it is the weighted
sum of their products, and kernels of one family share them.
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
from separatrix.kernels.base import InnerProduct, Kernel
from separatrix.kernels.graphs.from_networkx import is_networkx
from separatrix.kernels.prepared import Prepared, Vectors
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.kernels.vocabulary import Vocabulary
from separatrix.types import Codes, Matrix, Vector


class ObjectKernel(InnerProduct):
    """A kernel on objects. Its values are inner products; what is made of it is a function of them."""

    @property
    def from_products(self) -> bool:
        """Always."""
        return True

    @property
    def base(self) -> ObjectKernel:
        """Itself."""
        return self

    @property
    @abstractmethod
    def family(self) -> Hashable:
        """The same for kernels that differ only in the weights of their levels."""

    @property
    @abstractmethod
    def levels(self) -> tuple[tuple[int, float], ...]:
        """Each level with its weight."""

    @abstractmethod
    def checked(self, X: Any) -> Any:
        """Samples as an array (n,) of objects of one kind, or an error that says what they are."""

    @abstractmethod
    def prepared(self, X: Any, *others: Any) -> tuple[Prepared, ...]:
        """Checked samples made ready for products with each other."""

    @abstractmethod
    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        """Products of checked samples at each level, (n, n), and of each with itself, (n,)."""

    def matrices_of(self, levels: Collection[int]) -> int:
        """How many matrices (n, n) the products of these levels take."""
        return len(levels)

    def notes(self, X: Any) -> list[str]:
        """What is worth saying about checked training samples."""
        return []

    def block(self, X: Any, Z: Any) -> Matrix:
        """Kernel values of every object of X with every object of Z, (n, m)."""
        same = X is Z
        X = self.checked(X)
        if same:
            return self.prepared(X)[0].own_products()
        first, second = self.prepared(X, self.checked(Z))
        return first.products(second)

    def diagonal(self, X: Any) -> Vector:
        """Kernel value of every object with itself, (n,)."""
        return self.prepared(self.checked(X))[0].squares.astype(np.float64)


class Occurrences(NamedTuple):
    """Features met in some samples, one entry each time."""

    rows: Codes  # sample; rising
    features: Codes  # number of the feature; -1 where it is new to a closed vocabulary
    positions: Codes  # where in the sample: first letter, or node
    width: int  # numbers that features can have


class Covered(NamedTuple):
    """What each occurrence takes: that of number i covers places[starts[i] : starts[i + 1]]."""

    starts: Codes  # shape: (occurrences + 1,)
    positions: Codes  # letters or nodes, numbered in their own sample


class FeatureKernel(ObjectKernel):
    """A kernel that counts features: k(x, z) = sum of w_l c_u(x) c_u(z) over features u of levels l."""

    @abstractmethod
    def occurrences(self, X: Any, level: int, found: Any, vocabulary: Vocabulary) -> Occurrences:
        """All features of one level in checked samples; `found` is what `looked_at` made of them."""

    @abstractmethod
    def found_features(self, X: Any, vocabulary: Vocabulary, levels: Sequence[int]) -> Any:
        """What the levels need of checked samples, once for all of them."""

    @abstractmethod
    def names(self, level: int, vocabulary: Vocabulary, numbers: Codes) -> list[str]:
        """What features of one level are called, by their numbers."""

    @abstractmethod
    def covers(self, X: Any, level: int, found: Any, occurrences: Occurrences) -> Covered:
        """The letters or nodes of each occurrence; it has at least one."""

    def counts(
        self, X: Any, vocabulary: Vocabulary, levels: Sequence[int] | None = None
    ) -> list[Any]:
        """How often each sample has each feature, one sparse matrix (n, features) for each level."""
        if levels is None:
            levels = [level for level, _ in self.levels]
        found = self.found_features(X, vocabulary, levels)
        return [counted(self.occurrences(X, level, found, vocabulary), len(X)) for level in levels]

    def vectors(self, X: Any, vocabulary: Vocabulary) -> Any:
        """Sparse vectors of checked samples, (n, features), whose inner products are the kernel."""
        return self.side_by_side(self.counts(X, vocabulary))

    def side_by_side(self, counts: list[Any]) -> Any:
        """The counts of all levels as one sparse matrix, weighed so that its products are the kernel."""
        weighted = [
            part if weight == 1 else part * np.sqrt(weight)
            for part, (_, weight) in zip(counts, self.levels, strict=True)
        ]
        return weighted[0] if len(weighted) == 1 else hstack(weighted, format="csr")

    def features(self, X: Any, *others: Any) -> tuple[Any, ...]:
        """Sparse vectors of checked samples over all features that any of them has."""
        together = np.concatenate([X, *others]) if others else X
        F = self.vectors(self.one_kind(together), Vocabulary())
        cuts = np.cumsum([0, len(X), *(len(other) for other in others)])
        return tuple(F[start:stop] for start, stop in pairwise(cuts))

    def one_kind(self, X: Any) -> Any:
        """Checked samples from two places, refused where they are of two kinds."""
        return X

    def prepared(self, X: Any, *others: Any) -> tuple[Vectors, ...]:
        """Vectors of counts."""
        return tuple(_ready(F, np.dtype(np.float64)) for F in self.features(X, *others))

    def level_products(
        self, X: Any, levels: Sequence[int], dtype: np.dtype[Any], threads: int
    ) -> list[tuple[Matrix, Vector]]:
        """Each from the counts of one level; all of them from one look at the samples."""
        found: list[tuple[Matrix, Vector]] = []
        for counts in self.counts(X, Vocabulary(), levels):
            exact = squared_norms(counts).max(initial=0.0) < 2**24  # whole numbers of float32
            ready = _ready(counts, dtype if exact else np.dtype(np.float64))
            found.append((ready.own_products(threads), ready.squares.astype(np.float64)))
        return found


def as_vectors(kernel: Kernel, *sets: Any) -> tuple[Any, ...]:
    """Sets of objects as vectors of features where the kernel has them; others as they are."""
    base = kernel.base
    return base.features(*sets) if isinstance(base, FeatureKernel) else sets


def first_base(kernel: Kernel) -> ObjectKernel | None:
    """The first kernel on objects that a kernel is made of; None where it takes vectors."""
    if kernel.takes == "vectors":
        return None
    if isinstance(kernel, ObjectKernel):
        return kernel
    inner = kernel.get_params(deep=False).values()
    return next(first_base(part) for part in inner if isinstance(part, Kernel))


def as_objects(owner: str, X: Any, meant: str) -> Any:
    """The items of any list as an array (n,) of objects."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        return X
    one = isinstance(X, str | bytes | Mapping | Set | Graph) or not hasattr(X, "__len__")
    if one or is_networkx(X) or issparse(X) or len(getattr(X, "shape", (0,))) != 1:
        raise DataError(f"{owner} takes {meant}; got {_in_words(X)}")
    objects = np.empty(len(X), dtype=object)
    for row, item in enumerate(X):  # one by one: NumPy would look into items that are lists
        objects[row] = item
    return objects


def _in_words(X: Any) -> str:
    if isinstance(X, str | bytes | Graph) or is_networkx(X):
        return f"a single {type(X).__name__}: put it into a list"
    shape = getattr(X, "shape", None)
    column = ": pass its one column alone" if shape is not None and shape[1:] == (1,) else ""
    return type(X).__name__ + (f" of shape {shape}" if shape is not None else "") + column


def counted(found: Occurrences, n: int) -> Any:
    """How often each of n samples has each feature, (n, features), sparse."""
    known = found.features >= 0
    rows, features = found.rows, found.features
    if not known.all():
        rows, features = rows[known], features[known]
    starts = np.searchsorted(rows, np.arange(n + 1))
    counts = csr_array((np.ones(len(features)), features, starts), shape=(n, max(1, found.width)))
    counts.sum_duplicates()
    return counts


def _ready(F: Any, dtype: np.dtype[Any]) -> Vectors:
    F = F.tocsr().astype(dtype)
    return Vectors(F, squared_norms(F).astype(dtype), None, None)
