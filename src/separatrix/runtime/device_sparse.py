"""Sparse rows on a device: what products need of them, a block of rows at a time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_tensor

Tensor = Any
DENSE_BYTES = 2**29  # of rows that are dense at a time


@dataclass(frozen=True)
class DeviceCsr:
    """Compressed sparse rows as tensors on one device; rows can be taken, cast and multiplied."""

    starts: Tensor  # shape: (n + 1,); int64: where each row begins
    columns: Tensor  # shape: (stored,); int64
    values: Tensor  # shape: (stored,)
    width: int

    @classmethod
    def of(cls, X: Any, device: Any) -> DeviceCsr:
        """A scipy array on a device; integers and bools become float64."""
        X = X.tocsr()
        X.sum_duplicates()
        known = X.data.dtype in (np.float32, np.float64)
        values = X.data if known else X.data.astype(np.float64)
        starts, columns = (part.astype(np.int64) for part in (X.indptr, X.indices))
        return cls(
            torch.as_tensor(starts, device=device),
            torch.as_tensor(columns, device=device),
            as_tensor(values, device),
            int(X.shape[1]),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self.width

    @property
    def dtype(self) -> Any:
        """torch's type of the values."""
        return self.values.dtype

    @property
    def device(self) -> Any:
        """Where the values are."""
        return self.values.device

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> DeviceCsr:
        """Some of the rows: a slice, or their numbers as a tensor."""
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(len(self))
            cuts = self.starts[first : max(first, stop) + 1]
            kept = slice(int(cuts[0]), int(cuts[-1]))
            return replace(
                self, starts=cuts - cuts[0], columns=self.columns[kept], values=self.values[kept]
            )
        first, sizes = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        starts = torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
        shift = torch.repeat_interleave(first - starts[:-1], sizes)
        at = torch.arange(len(shift), device=self.device) + shift
        return replace(self, starts=starts, columns=self.columns[at], values=self.values[at])

    def to(self, dtype: Any) -> DeviceCsr:
        """The same rows in another type."""
        return replace(self, values=self.values.to(dtype))

    def squared_norms(self) -> Tensor:
        """Squared norm of each row, (n,), in float64."""
        sums = torch.zeros(len(self), dtype=torch.float64, device=self.device)
        return sums.index_add_(0, self._row_of_each(), self.values.double().square())

    def dense(self) -> Tensor:
        """All rows as one tensor, (n, d)."""
        X = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
        X[self._row_of_each(), self.columns] = self.values
        return X

    def products(self, Z: Tensor) -> Tensor:
        """x . z for all pairs with dense rows, (n, m)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch calls its sparse tensors a beta
            matrix = torch.sparse_csr_tensor(
                self.starts, self.columns, self.values, self.shape, check_invariants=False
            )
        return matrix @ Z.T.contiguous()

    def _row_of_each(self) -> Tensor:
        rows = torch.arange(len(self), device=self.device)
        return torch.repeat_interleave(rows, self.starts.diff())


def pair_products(A: Any, B: Any) -> Tensor:
    """x . z for all pairs of rows, (n, m), of which at least one side is sparse: dense in blocks."""
    if not isinstance(B, DeviceCsr):
        return A.products(B)
    P = torch.empty((len(A), len(B)), dtype=B.dtype, device=B.device)
    size = rows_that_fit(B.values.element_size() * max(1, B.width), DENSE_BYTES)
    for rows in row_blocks(len(A), size):
        block = A[rows].dense() if isinstance(A, DeviceCsr) else A[rows]
        P[rows] = B.products(block).T
    return P
