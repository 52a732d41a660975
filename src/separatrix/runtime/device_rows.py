"""Rows of samples on a GPU, a block at a time: rows in main memory are copied while the GPU works.

Rows in main memory go through two pinned buffers and a stream of their own: while one block is being
copied, the next is put into the other buffer, and the GPU works on the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scipy.sparse import issparse

from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import as_tensor, is_tensor

BLOCK_BYTES = 64 * MEBIBYTE  # of rows that are copied at a time, in their own type
HELD_BYTES = 512 * MEBIBYTE  # of float64 values of rows on the GPU that are processed at a time


def device_rows(X: Any, device: Any) -> Iterator[tuple[slice, Any]]:
    """Blocks of the rows of an array or tensor, (n, d), as tensors on a device, in their own type.

    Sparse rows are copied as they are, and a block of them at a time is made dense there.
    """
    n, d = X.shape
    if issparse(X):
        from separatrix.runtime.device_sparse import DeviceCsr  # torch is optional

        sparse = DeviceCsr.of(X, device)
        for rows in row_blocks(n, rows_that_fit(8 * d, HELD_BYTES)):
            yield rows, sparse[rows].dense()
    elif is_tensor(X) and X.device == device:
        for rows in row_blocks(n, rows_that_fit(8 * d, HELD_BYTES)):
            yield rows, X[rows]
    elif device.type == "cuda":
        size = X.element_size() if is_tensor(X) else X.dtype.itemsize
        yield from _copy_blocks(X, device, rows_that_fit(size * d, BLOCK_BYTES))
    else:
        for rows in row_blocks(n, rows_that_fit(8 * d, BLOCK_BYTES)):
            yield rows, _in_memory(X[rows])


def to_device(X: Any, device: Any) -> Any:
    """All rows as one tensor of a device, in float64."""
    import torch

    if is_tensor(X) and X.device == device:
        return X.double().contiguous()
    held = torch.empty(tuple(X.shape), dtype=torch.float64, device=device)
    for rows, part in device_rows(X, device):
        held[rows] = part
    return held


def _in_memory(X: Any) -> Any:
    """Rows in main memory as a tensor there."""
    return X if is_tensor(X) else as_tensor(X, "cpu")


def _copy_blocks(X: Any, device: Any, size: int) -> Iterator[tuple[slice, Any]]:
    import torch

    blocks = list(row_blocks(X.shape[0], size))
    first = _in_memory(X[blocks[0]])
    buffers = [torch.empty_like(first, pin_memory=True) for _ in blocks[:2]]
    copies, work = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    left: list[Any] = [None, None]  # when the block in each buffer has left it

    def send(number: int) -> tuple[Any, Any]:
        slot, rows = number % 2, blocks[number]
        if left[slot] is not None:
            left[slot].synchronize()
        part = buffers[slot][: rows.stop - rows.start]
        part.copy_(first if number == 0 else _in_memory(X[rows]))
        with torch.cuda.stream(copies):
            sent = part.to(device, non_blocking=True)
            left[slot] = torch.cuda.Event()
            left[slot].record(copies)
        return sent, left[slot]

    ahead = send(0)
    for number, rows in enumerate(blocks):
        part, arrived = ahead
        if number + 1 < len(blocks):
            ahead = send(number + 1)
        work.wait_event(arrived)
        part.record_stream(work)  # its memory must not be used again before the work is done
        yield rows, part
