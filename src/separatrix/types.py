"""Array types with their shape letters, and the Gram protocol.

Shape letters, the same everywhere: n samples, m other samples, d features, k classes, p binary
problems. Matrices are capitals, as in the papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.floating[Any]]
Vector = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.intp]  # class codes 0..k-1, or row numbers
Signs = npt.NDArray[np.int8]  # +1, -1, or 0 where a sample takes no part
Flags = npt.NDArray[np.bool_]


class Block(NamedTuple):
    """Some samples of a training set, with their class codes and weights."""

    X: Any  # shape: (n, d); dense or CSR, of any number type
    y: Codes  # shape: (n,)
    weights: Vector  # shape: (n,)


class Samples(Protocol):
    """A training set in blocks that can be read again and again."""

    def __iter__(self) -> Iterator[Block]: ...

    @property
    def n_features(self) -> int:
        """d; of a stream, known once it has been read."""
        ...

    @property
    def n_classes(self) -> int:
        """k; of a stream, those seen so far."""
        ...

    def in_class_order(self) -> tuple[Any, Codes]:
        """The sorted labels, and the code of each; after a first pass."""
        ...

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> Samples | None:
        """The same in blocks of `rows`, every `every`-th sample, as `dtype`; None if not supported."""
        ...


class Gram(Protocol):
    """The (n, n) kernel matrix of a training set."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]  # of the values
    error: float  # upper bound of a value's rounding error
    # column ranges that rows are stored by: one per class, or one for all
    segments: tuple[slice, ...]

    def diagonal(self) -> Vector:
        """All k(x, x), (n,)."""
        ...

    def tile(self, rows: Codes | slice, columns: Codes | slice) -> Matrix:
        """Kernel values of these rows with these columns, (rows, columns); never stored."""
        ...

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """Storage of some rows over one segment, and the slot of each row in it.

        The storage is only valid until the next `fetch`.
        """
        ...


@runtime_checkable
class HeldMatrix(Gram, Protocol):
    """A Gram whose values are all in memory."""

    matrix: Matrix  # shape: (n, n)


@runtime_checkable
class RowMatrix(Gram, Protocol):
    """A Gram that computes its rows when they are fetched."""

    batch: int  # rows that one fetch may ask for
    capacity: int  # rows over one segment that can be in memory together
    keeps_rows: bool  # whether a row that was fetched is likely to be in memory at the next fetch

    def fetch_many(self, wanted: dict[int, Codes]) -> dict[int, tuple[Matrix, Codes]]:
        """`fetch` of the rows wanted of several segments."""
        ...


@runtime_checkable
class DeviceMatrix(Gram, Protocol):
    """A Gram whose values are torch tensors."""

    device: Any  # a torch device
