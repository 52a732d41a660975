"""Array types with their shape letters, and the Gram protocol.

Shape letters, the same everywhere: n samples, m other samples, d features, k classes, p binary
problems. Matrices are capitals, as in the papers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

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
        """k; of a stream, those met so far."""
        ...

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each; after a first reading."""
        ...

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> Samples | None:
        """The same in blocks of `rows`, one sample in `every`, in that precision; None: not here."""
        ...


class Gram(Protocol):
    """The (n, n) kernel matrix of a training set, held, cached or computed when asked.

    `segments` cuts the columns into the pieces rows are stored in (one for each class, or one for
    all), `batch` is how many rows may be asked for at a time, and `held` is the whole matrix where
    there is one.
    """

    @property
    def device(self) -> Any:
        """The torch device that its values are tensors on; None: they are NumPy arrays."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        ...

    @property
    def error(self) -> float:
        """How far off a value can be, through rounding."""
        ...

    @property
    def segments(self) -> tuple[slice, ...]:
        """Column ranges that rows are stored by."""
        ...

    @property
    def batch(self) -> int:
        """Rows that may be asked for at a time."""
        ...

    @property
    def room(self) -> int:
        """Rows that may be fetched over one segment and be at hand together."""
        ...

    @property
    def held(self) -> Matrix | None:
        """The whole matrix, where there is one."""
        ...

    @property
    def keeps_rows(self) -> bool:
        """Whether a row that was asked for is likely to be at hand when asked for again."""
        ...

    def diagonal(self) -> Vector:
        """All k(x, x), (n,)."""
        ...

    def tile(self, rows: Codes, columns: Codes) -> Matrix:
        """Kernel values of these rows with these columns, (rows, columns); never stored."""
        ...

    def rows(self, index: Codes) -> Matrix:
        """Whole rows, (index, n)."""
        ...

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """Where rows lie over one segment: their storage, and the place of each row in it.

        The storage is only good until the next `fetch`.
        """
        ...

    def matmul(self, V: Matrix) -> Matrix:
        """K @ V, (n, columns of V), in float64."""
        ...
