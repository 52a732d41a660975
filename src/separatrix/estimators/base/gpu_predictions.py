"""Rows of a Gram matrix classified on a GPU: class codes are copied back, decision values on demand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.estimators.base.multiclass import RowsClassified, decision_values, winners
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, like
from separatrix.types import Codes, Matrix

Tensor = Any
BLOCK_BYTES = 2**28  # of scores that are classified at a time


class GpuPredictions(RowsClassified):
    """Rows whose scores are on a GPU, and whose class codes are in memory."""

    all_codes: Codes  # shape: (n,)

    def values(self, rows: Codes) -> Matrix:
        """Confidence in each class for some rows, (rows, k), or in the second of two, (rows,)."""
        return super().values(like(rows, self.scores))

    def codes(self, rows: Codes) -> Codes:
        """The most confident class of some rows, (rows,)."""
        return self.all_codes[rows]


def gpu_predictions(
    S: Tensor,  # shape: (n, p)
    n_iter: int,
    n_classes: int,
    scheme: str,
    ties: str,
) -> GpuPredictions:
    """All rows, classified by one fit."""
    codes = as_numpy(winners(decision_values(S, n_classes, scheme, ties)))
    return _with_codes(codes, S, n_classes, scheme, ties, n_iter)


def gpu_predictions_of_fits(
    S: Tensor,  # shape: (f, p, n)
    n_iter: Codes,  # shape: (f,)
    n_classes: int,
    scheme: str,
    ties: str,
) -> Iterator[GpuPredictions]:
    """All rows, classified by each of many fits, many fits at a time."""
    fits, p, n = S.shape
    for part in row_blocks(fits, rows_that_fit(8 * p * n, BLOCK_BYTES)):
        flat = S[part].transpose(1, 2).reshape(-1, p)
        values = decision_values(flat, n_classes, scheme, ties)
        codes = as_numpy(winners(values)).reshape(-1, n)
        for fit, own in zip(range(part.start, part.stop), codes, strict=True):
            yield _with_codes(own, S[fit].T, n_classes, scheme, ties, int(n_iter[fit]))


def _with_codes(codes: Codes, *fields: Any) -> GpuPredictions:
    found = GpuPredictions(*fields)
    found.all_codes = codes
    return found
