"""Predictions of samples on a cluster: lazy, block by block, in the chunks of the samples."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from sklearn.utils.validation import check_is_fitted

from separatrix.cluster.engine import compute, fuse, map_blocks, reduce_tree
from separatrix.cluster.partitions import Partitions, partition
from separatrix.estimators.base import labelled_blocks as labelled


def apply_lazily(model: Any, method: str, X: Any) -> Any:
    """What a method of a fitted model gives for each block: a dask.array, or a list of delayed blocks."""
    check_is_fitted(model)
    parts = partition(X, lazy=True)
    name = f"{labelled.short_name(model)}-{method.replace('_', '-')}"
    found = map_blocks(name, labelled.call_method, parts.samples, model, method)
    return as_array(found, parts, labelled.result_for_a_row(model, method, X))


def as_array(blocks: list[Delayed], parts: Partitions, sample: Any) -> Any:
    """Tasks whose results are arrays of blocks of rows as one dask.array; `sample` is one of them.

    Those of delayed blocks stay a list.
    """
    if parts.kind == "delayed":
        return blocks
    name, rest = blocks[0].key.rpartition("-")[0], (0,) * (sample.ndim - 1)
    layer = {(name, i, *rest): block.key for i, block in enumerate(blocks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=blocks)
    chunks = (parts.rows, *((size,) for size in sample.shape[1:]))
    return da.Array(graph, name, chunks, meta=sample[:0])


def score_lazily(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of samples whose class is predicted, by weight."""
    check_is_fitted(model)
    name, blocks = labelled.short_name(model), partition(X, y, sample_weight).blocks
    index: Any = getattr(model, "index_", None)
    if hasattr(index, "vote"):  # on the cluster
        voted = index.vote(model, "predict", [block[1] for block in blocks])
        blocks = [(i, p, *rest) for p, (i, _, *rest) in zip(voted, blocks, strict=True)]
        counts = map_blocks(f"{name}-score", labelled.count_right, blocks)
    else:
        counts = fuse(map_blocks(f"{name}-score", labelled.score_block, blocks, model))
    (found,) = compute(
        reduce_tree(f"{name}-merge", partial(np.sum, axis=0), counts), counted=counts
    )
    return float(found[0] / found[1])
