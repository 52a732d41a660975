"""Samples on a cluster as blocks of rows: arrays, frames and delayed blocks in one form."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import uuid4

import dask.array as da
import numpy as np
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof
from dask.task_spec import DataNode, GraphNode
from dask.utils import key_split
from distributed import futures_of

from separatrix.cluster import engine
from separatrix.errors import DataError
from separatrix.estimators.base.handover import is_on_cluster
from separatrix.runtime.warnings import warn_user

Samples = tuple[Any, Any, Any]  # X, y and the weights; None where they are not given


class Partitions(NamedTuple):
    """Delayed blocks, (number, X, y, weights) each; None where y or the weights are not given."""

    blocks: list[tuple[Any, ...]]
    kind: str  # "array", "frame" or "delayed"
    rows: tuple[float, ...]  # of each block; NaN where they are not known

    @property
    def samples(self) -> list[tuple[Any, ...]]:
        """X of each block, after its number."""
        return [block[:2] for block in self.blocks]


def partition(X: Any, y: Any = None, weights: Any = None, *, lazy: bool = False) -> Partitions:
    """The blocks of samples with their labels and weights, which may be in memory.

    Unless the result is `lazy`, values inside the graph, as of `from_array`, are sent to workers first.
    """
    X = _as_blocks("X", X)
    rows = X.chunks[0] if isinstance(X, da.Array) else ()
    kind = "array" if rows else "delayed" if isinstance(X, list) else "frame"
    given = [X, _as_blocks("y", y, rows), _as_blocks("sample_weight", weights, rows)]
    columns = _delayed_columns(given, engine.results_in if lazy else _send_values)
    n = len(columns[0])
    for other, column in zip(("y", "sample_weight"), columns[1:], strict=True):
        if column and len(column) != n:
            raise DataError(
                f"X has {n} blocks, but {other} has {len(column)}; give both the same chunks or partitions"
            )
    blocks = list(zip(range(n), *(column or [None] * n for column in columns), strict=True))
    return Partitions(blocks, kind, rows or (np.nan,) * n)


def _as_blocks(name: str, values: Any, rows: tuple[float, ...] = ()) -> Any:
    """A collection cut into blocks of rows: an array, a frame, or a list of delayed blocks."""
    if values is None:
        return None
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
        return [values]
    return _cut_rows(name, values, rows) if isinstance(values, da.Array) else values


def _send_values(graph: dict[Any, Any], keys: list[Any]) -> list[Delayed]:
    """Results of a graph that has futures in place of arrays and frames in it, if they are large.

    Its tasks get new names: a name must not mean other futures than in an earlier fit.
    """
    tasks = {key: node for key, node in graph.items() if isinstance(node, GraphNode)}
    held = {key: node.value for key, node in tasks.items() if isinstance(node, DataNode)}
    held = {key: value for key, value in held.items() if hasattr(value, "shape")}
    small = sum(map(sizeof, held.values())) <= engine.LARGE_VALUE
    if small or any(type(node) is tuple for node in graph.values()) or not engine.workers_in_use():
        return engine.results_in(graph, keys)
    sent = engine.client_in_use().scatter(list(held.values()), hash=False)
    names = {key: f"{key_split(key)}-{uuid4().hex}" for key in tasks}
    names |= {key: future.key for key, future in zip(held, sent, strict=True)}
    fresh = {key: node for key, node in graph.items() if key not in tasks}
    fresh |= {future.key: future for future in sent}
    for key in tasks.keys() - held.keys():
        fresh[names[key]] = tasks[key].substitute(names, key=names[key])
    return engine.results_in(fresh, [names.get(key, key) for key in keys])


def _delayed_columns(given: list[Any], results: Any) -> list[list[Delayed]]:
    """The blocks of each collection; arrays are optimised together, so that what they share is one task."""
    if hasattr(given[0], "assign") and (joined := _columns_of_frame(*given, results=results)):
        return joined
    arrays = [values for values in given if isinstance(values, da.Array)]
    keys = [list(flatten(values.__dask_keys__())) for values in arrays]
    merged = HighLevelGraph.merge(*(values.__dask_graph__() for values in arrays))
    tasks = da.Array.__dask_optimize__(merged, list(flatten(keys)))
    futures = {one.key: one for one in futures_of(arrays)}  # which the optimisation leaves out
    blocks = iter(results({**tasks, **futures}, list(flatten(keys))))
    found = iter([[next(blocks) for _ in own] for own in keys])
    return [
        next(found)
        if isinstance(values, da.Array)
        else _blocks(values.to_delayed() if hasattr(values, "to_delayed") else values, results)
        for values in given
    ]


def _blocks(found: Sequence[Delayed] | None, results: Any) -> list[Delayed]:
    graph = HighLevelGraph.merge(*(one.dask for one in found or ()))
    return list(results(dict(graph), [one.key for one in found or ()]))


def _columns_of_frame(X: Any, *others: Any, results: Any) -> list[list[Delayed]]:
    """X, y and the weights from one frame: Dask, which may join small files, then cuts all of them alike.

    Empty if they do not have the same partitions.
    """
    named = {f"separatrix-{i}": one for i, one in enumerate(others) if one is not None}
    if any(getattr(one, "divisions", None) != X.divisions for one in named.values()):
        return []
    try:
        blocks = _blocks(X.assign(**named).to_delayed(), results)
    except (ValueError, TypeError, NotImplementedError):  # frames of different origin
        return []
    wanted = [list(X.columns), *(f"separatrix-{i}" for i in range(len(others)))]
    calls = [(one,) for one in blocks]
    return [
        engine.call_each("frame-columns", itemgetter(own), calls) if not i or own in named else []
        for i, own in enumerate(wanted)
    ]


def _cut_rows(name: str, values: Any, rows: tuple[float, ...]) -> Any:
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
    return values
