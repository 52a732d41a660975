"""Rows of a Gram matrix on a card, classified there: only the classes come back, and values when asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.estimators.base.multiclass import RowsClassified, decision_values, winners
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, like
from separatrix.types import Codes, Matrix

Tensor = Any
BYTES = 2**28  # of scores that are turned into classes at a time


class GpuPredictions(RowsClassified):
    """Rows whose scores are on a card, and whose classes are here."""

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
    """The rows as one fit sees them."""
    codes = as_numpy(winners(decision_values(S, n_classes, scheme, ties)))
    return _with_codes(codes, S, n_classes, scheme, ties, n_iter)


def rows_of_fits(
    S: Tensor,  # shape: (f, p, n)
    n_iter: Codes,  # shape: (f,)
    n_classes: int,
    scheme: str,
    ties: str,
) -> Iterator[GpuPredictions]:
    """The rows as each of many fits sees them, many fits at a time."""
    fits, p, n = S.shape
    for part in row_blocks(fits, rows_that_fit(8 * p * n, BYTES)):
        flat = S[part].transpose(1, 2).reshape(-1, p)
        values = decision_values(flat, n_classes, scheme, ties)
        codes = as_numpy(winners(values)).reshape(-1, n)
        for fit, own in zip(range(part.start, part.stop), codes, strict=True):
            yield _with_codes(own, S[fit].T, n_classes, scheme, ties, int(n_iter[fit]))


def _with_codes(codes: Codes, *fields: Any) -> GpuPredictions:
    found = GpuPredictions(*fields)
    found.all_codes = codes
    return found
