"""Samples on a cluster as blocks of rows: arrays, frames and delayed blocks in one form."""

from __future__ import annotations

from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from separatrix.errors import DataError
from separatrix.estimators.base.handover import is_on_cluster
from separatrix.runtime.warnings import warn_user


class Partitions(NamedTuple):
    """Keys of the blocks, (X, y, weights) or (X,) each, and the collections that have them."""

    blocks: list[tuple[Any, ...]]
    reads: tuple[Any, ...]
    kind: str  # "array", "frame" or "delayed"
    rows: tuple[float, ...]  # of each block; NaN where they are not known


class _Keys(NamedTuple):
    keys: list[Any]
    reads: tuple[Any, ...]
    kind: str
    rows: tuple[float, ...]


def partition(X: Any, y: Any = None, weights: Any = None, *, name: str = "X") -> Partitions:
    """The blocks of samples with their labels and weights, which may be in memory."""
    samples = _keys_of(name, X)
    parts = [samples]
    for other, values in (("y", y), ("sample_weight", weights)):
        if values is None:
            parts.append(samples._replace(keys=[None] * len(samples.keys), reads=()))
            continue
        part = _keys_of(other, values, samples.rows)
        if len(part.keys) != len(samples.keys):
            raise DataError(
                f"X has {len(samples.keys)} blocks, but {other} has {len(part.keys)}; give both the same "
                "chunks or partitions"
            )
        parts.append(part)
    reads = tuple(collection for part in parts for collection in part.reads)
    blocks = list(zip(*(part.keys for part in parts), strict=True))
    return Partitions(blocks, reads, samples.kind, samples.rows)


def _keys_of(name: str, values: Any, rows: tuple[float, ...] = ()) -> _Keys:
    if not is_on_cluster(values):
        if not rows or np.isnan(rows).any():
            raise DataError(
                f"{name} is in memory, but the rows of the blocks of X are not known; call "
                "X.compute_chunk_sizes(), or pass a dask.array"
            )
        values = np.asarray(values)
        if len(values) != sum(rows):
            raise DataError(f"X has {int(sum(rows))} samples, but {name} has {len(values)}")
        values = da.from_array(values, chunks=(tuple(map(int, rows)), *values.shape[1:]))
    if isinstance(values, Delayed):
        values = [values]
    if not isinstance(values, list | da.Array):  # a frame or a series
        values = list(values.to_delayed())
        return _delayed_keys(values, "frame")
    if isinstance(values, list):
        return _delayed_keys(values, "delayed")
    return _array_keys(name, values, rows)


def _delayed_keys(values: list[Any], kind: str) -> _Keys:
    return _Keys([one.key for one in values], tuple(values), kind, (np.nan,) * len(values))


def _array_keys(name: str, values: Any, rows: tuple[float, ...]) -> _Keys:
    if name == "X" and values.ndim != 2:
        raise DataError(f"Expected 2D array, got {values.ndim}D array instead: a dask.array")
    if values.ndim == 2 and values.numblocks[1] > 1:
        warn_user(
            f"{name} is cut along its features, into {values.numblocks[1]} pieces; they are joined, which "
            "moves data: rechunk({1: -1}) before, or read whole rows"
        )
        values = values.rechunk({1: -1})
    known = not np.isnan(values.chunks[0]).any()
    if rows and known and not np.isnan(rows).any() and values.chunks[0] != rows:
        if sum(values.chunks[0]) != sum(rows):
            count = f"{name} has {sum(values.chunks[0])}"
            raise DataError(f"X has {int(sum(rows))} samples, but {count}")
        values = values.rechunk({0: tuple(map(int, rows))})
    rest = (0,) * (values.ndim - 1)
    keys = [(values.name, i, *rest) for i in range(values.numblocks[0])]
    return _Keys(keys, (values,), "array", values.chunks[0])
