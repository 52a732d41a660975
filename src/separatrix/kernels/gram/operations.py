"""What estimators compute from a Gram matrix of any type."""

from __future__ import annotations

import sys
from typing import Any

from separatrix.kernels.gram.cached import LazyGram
from separatrix.kernels.gram.held import HeldGram
from separatrix.runtime.blocks import row_blocks, rows_that_fit
from separatrix.runtime.device import as_double, is_tensor, like, zeros
from separatrix.runtime.device_queue import BoundedQueue
from separatrix.types import Codes, Gram, Matrix

TILE_BYTES, DEVICE_TILE_BYTES = 2**27, 2**31  # of kernel values that are read at a time


def tile_rows(gram: Gram, columns: int) -> int:
    """Rows of a tile with so many columns that fit in memory."""
    limit = DEVICE_TILE_BYTES if is_tensor(gram.diagonal()) else TILE_BYTES
    return rows_that_fit(8 * max(1, columns), limit)


def cheapest_columns(gram: Gram, wanted: Codes, *, all_rows: bool) -> Codes | slice:
    """The columns to read if some are wanted: all of them if they are stored and cost no more."""
    n = gram.shape[0]
    stored = isinstance(gram, HeldGram) and all_rows
    if not isinstance(gram, LazyGram) and (stored or 2 * len(wanted) > n):
        return slice(0, n)
    return wanted


def scores_of_rows(gram: Gram, support: Codes, coef: Matrix) -> Any:
    """K[:, support] @ coef in float64, (n, p); a tensor if the Gram's values are."""
    example = gram.diagonal()
    S, coef = zeros((gram.shape[0], coef.shape[1]), example), like(coef, example)
    batch = gram.batch if isinstance(gram, LazyGram) else tile_rows(gram, gram.shape[0])
    queue = BoundedQueue(S.device if is_tensor(S) else None)
    for part in row_blocks(len(support), batch):
        for number, segment in enumerate(gram.segments):
            storage, slots = gram.fetch(support[part], number)
            S[segment] += as_double(storage[slots]).T @ coef[part]
            queue.wait()
    return S


def concurrent_fits(gram: Gram, threads: int) -> int:
    """Fits that can train on the matrix at the same time.

    On a device any number trains in one batch; a held matrix serves one fit per thread; a cache of
    rows serves one fit, which then uses all threads.
    """
    if isinstance(gram, HeldGram):
        return threads
    return 1 if isinstance(gram, LazyGram) else sys.maxsize
