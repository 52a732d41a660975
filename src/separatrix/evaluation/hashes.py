"""The SHA-256 of a data set of vectors, strings or graphs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.modelfile.model_card import data_hash


def hash_of(data: Dataset) -> str:
    """Hash samples and labels, including the test part.

    >>> hash_of(Dataset("a", [[1.0]], [0])) == hash_of(Dataset("b", [[1.0]], [0]))
    True
    """
    parts = [_part(data.kind, data.X, data.y)]
    if data.X_test is not None:
        parts.append(_part(data.kind, data.X_test, data.y_test))
    return parts[0] if len(parts) == 1 else _together(parts)


def _part(kind: str, X: Any, y: Any) -> str:
    if kind == "graphs":
        return _together([data_hash(np.asarray(y)), *(_graph(graph) for graph in X)])
    return data_hash(X, y)


def _graph(graph: Any) -> str:
    labels = [graph.node_labels, graph.edge_labels]
    arrays = [
        np.array([graph.n_nodes]),
        graph.edges,
        *(part for part in labels if part is not None),
    ]
    return _together([data_hash(array) for array in arrays])


def _together(parts: list[str]) -> str:
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()
