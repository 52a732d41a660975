"""Graphs as plain arrays: how many nodes and edges each has, and all edges and labels in a row.

What `Graph` checks one by one is checked here for all graphs at once: a file may hold very many.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.data.graph import Graph
from separatrix.errors import ModelFileError
from separatrix.modelfile.array_fields import Array
from separatrix.modelfile.fields import (
    Archive,
    Maybe,
    ShapeEnv,
    Text,
    mismatch_error,
    require_keys,
    schema_error,
)
from separatrix.modelfile.token_fields import get_tokens, put_tokens
from separatrix.runtime.blocks import MEBIBYTE
from separatrix.types import Codes

MOST_GRAPHS = 50_000  # each is a few Python objects
MOST_NODES = 2**31 - 1
MOST_ALONE = 2**20  # nodes without a label that no edge leads to: they take no room in a file
MOST_LETTERS = 8 * MEBIBYTE  # of labels that all have room for the longest in their graph
LABELS = Maybe(Text(("numbers", "strings")))


def put_graphs(graphs: Any, at: str, file: Archive) -> dict[str, Any]:
    """Keep graphs that are all labelled alike, or not at all; returns how."""
    nodes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
    sizes = np.array([len(graph.edges) for graph in graphs], dtype=np.int64)
    edges = np.concatenate([np.zeros((0, 2), dtype=np.intp), *(graph.edges for graph in graphs)])
    file.keep(f"{at}.nodes", nodes)
    file.keep(f"{at}.sizes", sizes)
    file.keep(f"{at}.edges", edges.astype(np.int32))
    return {
        name: _put_labels([getattr(graph, name) for graph in graphs], counts, f"{at}.{name}", file)
        for name, counts in (("node_labels", nodes), ("edge_labels", sizes))
    }


def get_graphs(document: dict[str, Any], at: str, file: Archive) -> list[Graph]:
    """The graphs."""
    require_keys(document, at, {"node_labels", "edge_labels"})
    nodes, sizes, edges = (file.take(f"{at}.{name}") for name in ("nodes", "sizes", "edges"))
    _check_counts(nodes, sizes, edges, at, file)
    edges = edges.astype(np.intp)
    _check_edges(nodes, sizes, edges, at)
    if document["node_labels"] is None:
        _check_unlabelled(nodes, edges, at)
    labels = (
        _labels(document[name], counts, f"{at}.{name}", file)
        for name, counts in (("node_labels", nodes), ("edge_labels", sizes))
    )
    parts = zip(nodes.tolist(), _cut(edges, sizes), *labels, strict=True)
    return [_graph(*part) for part in parts]


def _cut(values: Any, counts: Codes) -> list[Any]:
    """Values one after the other, in parts of so many."""
    return [values[start:end] for start, end in pairwise([0, *np.cumsum(counts).tolist()])]


def _check_counts(nodes: Codes, sizes: Codes, edges: Codes, at: str, file: Archive) -> None:
    """As many edges as are said, and not so many nodes that a number could not count them."""
    letters = ShapeEnv(c=2)
    Array("i8", "n", least=0).check(nodes, f"{at}.nodes", letters)
    Array("i8", "n", least=0).check(sizes, f"{at}.sizes", letters)
    Array("i4", "m c").check(edges, f"{at}.edges", letters)
    file.spend("graphs", len(nodes), MOST_GRAPHS, at)
    if nodes.max(initial=0) > MOST_NODES or int(nodes.sum()) > MOST_NODES:
        raise ModelFileError("limit", f"`{at}`: a file holds at most {MOST_NODES} nodes")
    if sizes.max(initial=0) > len(edges) or int(sizes.sum()) != len(edges):
        raise mismatch_error(f"{at}.sizes", f"{len(edges)} together, as there are edges", "others")


def _check_edges(nodes: Codes, sizes: Codes, edges: Codes, at: str) -> None:
    """Each edge joins two nodes of its own graph, and comes once."""
    at = f"{at}.edges"
    low, high = edges.min(axis=1, initial=MOST_NODES), edges.max(axis=1, initial=-1)
    if (low < 0).any() or (high >= np.repeat(nodes, sizes)).any():
        raise mismatch_error(at, "between nodes of their graph", "others")
    if (low == high).any():
        raise mismatch_error(at, "between different nodes", "a loop")
    first = np.repeat(np.cumsum(nodes) - nodes, sizes)  # numbers of nodes over all graphs
    keys = (first + low) * int(nodes.sum()) + first + high
    if len(np.unique(keys)) < len(keys):
        raise mismatch_error(at, "each of them once", "one of them twice")


def _check_unlabelled(nodes: Codes, edges: Codes, at: str) -> None:
    alone = int(nodes.sum()) - 2 * len(edges)
    if alone > MOST_ALONE:
        raise ModelFileError(
            "limit", f"`{at}`: a file holds at most {MOST_ALONE} nodes without labels and edges"
        )


def _put_labels(labels: list[Any], counts: Codes, at: str, file: Archive) -> str | None:
    """Labels of those graphs that have something to label; the others say nothing."""
    some = [part for part, count in zip(labels, counts.tolist(), strict=True) if count]
    kinds = {None if part is None else part.dtype.kind for part in some}
    if kinds <= {None}:
        return None
    if kinds == {"U"}:
        words, codes = np.unique(np.concatenate(some), return_inverse=True)
        put_tokens(words.tolist(), at, file)
        file.keep(at, codes.astype(np.int32))
        return "strings"
    if kinds != {"i"}:
        raise schema_error(at, "labels of one kind, in all graphs or none", kinds)
    file.keep(at, np.concatenate(some).astype(np.int64))
    return "numbers"


def _labels(document: Any, counts: Codes, at: str, file: Archive) -> list[Any]:
    """Labels of each graph."""
    how = LABELS.get(document, at, file, ShapeEnv())
    if how is None:
        return [None] * len(counts)
    found = file.take(at)
    total = int(counts.sum())
    if how == "numbers":
        Array("i8", "n").check(found, at, ShapeEnv(n=total))
        return _cut(found.astype(np.intp), counts)
    words = get_tokens(at, file)
    if not all(isinstance(word, str) for word in words):
        raise schema_error(at, "strings", "other tokens")
    Array("i4", "n", least=0, below="w").check(found, at, ShapeEnv(n=total, w=len(words)))
    return _strings(words, found, counts, at, file)


def _strings(words: list[str], codes: Codes, counts: Codes, at: str, file: Archive) -> list[Any]:
    """Labels of each graph as NumPy's words, which have room for the longest of that graph."""
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    file.spend("letters of labels", int(lengths.max(initial=0)) * len(words), MOST_LETTERS, at)
    table = np.array(words, dtype=np.str_)
    if table.tolist() != words:  # zeros at the end, which NumPy drops
        raise schema_error(at, "strings that NumPy can hold", "others")
    found = []
    for part in _cut(codes, counts):
        width = max(1, int(lengths[part].max(initial=0)))
        file.spend("letters of labels", width * len(part), MOST_LETTERS, at)
        found.append(table[part].astype(f"<U{width}"))
    return found


def _graph(n_nodes: int, edges: Codes, node_labels: Any, edge_labels: Any) -> Graph:
    """A graph whose parts were checked together with those of the others."""
    graph = object.__new__(Graph)
    vars(graph).update(
        n_nodes=n_nodes, edges=edges, node_labels=node_labels, edge_labels=edge_labels
    )
    return graph
