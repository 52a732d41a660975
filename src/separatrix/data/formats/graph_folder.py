"""Graphs of the TU collection: a folder of text files that share a prefix.

`NAME_A.txt` has all edges of all graphs, both directions, as `from, to`; `NAME_graph_indicator.txt`
the graph of each node; `NAME_graph_labels.txt` the class of each graph; the optional
`NAME_node_labels.txt` and `NAME_edge_labels.txt` one label a line. Nodes and graphs count from 1.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from separatrix.data.dataset import Dataset
from separatrix.data.formats.numbers import number_rows, refuse_first
from separatrix.data.graph import Graph
from separatrix.data.limits import Limits
from separatrix.data.streams import open_
from separatrix.errors import DataFileError, MissingDataError
from separatrix.types import Codes, Flags

_LARGEST = 2**53
_NOT_READ = ("node_attributes", "edge_attributes", "graph_attributes")


def read_tu(folder: str | os.PathLike[str], limits: Limits | None = None) -> Dataset:
    """A folder of graphs as a list of `Graph`, and their classes.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, text in {
    ...     "A": "1, 2\\n2, 1\\n3, 4\\n4, 3\\n",
    ...     "graph_indicator": "1\\n1\\n2\\n2\\n2\\n",
    ...     "graph_labels": "1\\n-1\\n",
    ... }.items():
    ...     _ = (folder / f"TWO_{name}.txt").write_text(text)
    >>> read_tu(folder).X, read_tu(folder).y.tolist()
    ([Graph(2 nodes, 1 edges), Graph(3 nodes, 1 edges)], [1, -1])
    """
    files = _Folder(Path(folder), limits or Limits())
    y = files.column("graph_labels")
    owner = files.column("graph_indicator", 1, len(y), f"a graph, 1 to {len(y)}") - 1
    nodes = np.bincount(owner, minlength=len(y))
    if not nodes.all():
        raise DataFileError(
            files.path("graph_indicator"),
            found=f"no node of graph {int(np.argmin(nodes)) + 1}",
            expected="at least one of each graph",
        )
    order = np.argsort(owner, kind="stable")
    starts = np.append(0, np.cumsum(nodes))
    position = np.empty_like(order)
    position[order] = np.arange(len(order))  # where a node lies once nodes are sorted by graph
    node_labels = files.optional("node_labels", len(owner))
    edges, edge_labels = _edges(files, owner)
    edges = position[edges]
    whose = owner[order[edges[:, 0]]]
    by_graph = np.argsort(whose, kind="stable")
    cuts = np.searchsorted(whose[by_graph], np.arange(len(y) + 1))
    graphs = []
    for graph in range(len(y)):
        mine = by_graph[cuts[graph] : cuts[graph + 1]]
        own = order[starts[graph] : starts[graph + 1]]
        graphs.append(
            Graph(
                int(nodes[graph]),
                edges[mine] - starts[graph],
                None if node_labels is None else node_labels[own],
                None if edge_labels is None else edge_labels[mine],
            )
        )
    return Dataset(files.name, graphs, y, kind="graphs", notes=files.notes())


def _edges(files: _Folder, owner: Codes) -> tuple[Codes, Codes | None]:
    """Each edge once, (m, 2), and its label; both directions must be there and agree."""
    ends = files.numbers("A", 2, 1, len(owner), f"a node, 1 to {len(owner)}") - 1
    labels = files.optional("edge_labels", len(ends))
    path = files.path("A")
    first, second = ends.T
    key, reverse = first * len(owner) + second, second * len(owner) + first
    by_key = np.argsort(key, kind="stable")
    repeated = np.zeros(len(key), dtype=bool)
    repeated[by_key[1:]] = np.diff(key[by_key]) == 0
    partner = by_key[np.minimum(np.searchsorted(key[by_key], reverse), len(key) - 1)]
    _refuse(path, first == second, "an edge from a node to itself", "edges between different nodes")
    _refuse(
        path, owner[first] != owner[second], "an edge between two graphs", "edges within a graph"
    )
    _refuse(path, repeated, "an edge a second time", "each once")
    alone = key[partner] != reverse
    a, b = ends[np.argmax(alone)] + 1
    _refuse(path, alone, f"an edge {a}, {b} without {b}, {a}", "both directions of every edge")
    if labels is not None:
        other = labels[partner]
        row = np.argmax(labels != other)
        both = f"{labels[row]} one way and {other[row]} the other"
        _refuse(files.path("edge_labels"), labels != other, both, "one label for an edge")
    once = ends[:, 0] < ends[:, 1]
    return ends[once], None if labels is None else labels[once]


def _refuse(path: Path, wrong: Flags, found: str, expected: str) -> None:
    """Report the first edge that is wrong; its line is exact unless there are empty lines before."""
    if wrong.any():
        raise DataFileError(path, int(np.argmax(wrong)) + 1, 1, found=found, expected=expected)


class _Folder:
    """The files of one set."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.limits = limits
        try:
            found = sorted(path for path in folder.iterdir() if path.name.endswith("_A.txt"))
        except (OSError, ValueError):
            raise MissingDataError(f"there is no folder {folder}") from None
        if len(found) != 1:
            raise DataFileError(
                folder,
                found=f"{len(found)} files whose name ends with _A.txt",
                expected="one: a folder of the TU collection",
            )
        self.folder, self.name = folder, found[0].name.removesuffix("_A.txt")

    def path(self, part: str) -> Path:
        return self.folder / f"{self.name}_{part}.txt"

    def column(
        self,
        part: str,
        least: float = 1 - _LARGEST,
        most: float = _LARGEST - 1,
        expected: str = "an integer",
    ) -> Codes:
        return self.numbers(part, 1, least, most, expected)[:, 0]

    def optional(self, part: str, count: int) -> Codes | None:
        if not self.path(part).exists():
            return None
        found = self.column(part)
        if len(found) != count:
            raise DataFileError(
                self.path(part), found=f"{len(found):,} labels", expected=f"{count:,}"
            )
        return found

    def numbers(self, part: str, columns: int, least: float, most: float, expected: str) -> Codes:
        """Integers in range, (n, columns)."""
        with open_(self.path(part), self.limits) as source:
            values = number_rows(source, columns=columns, commas=columns > 1)
            wrong = (values != np.rint(values)) | (values < least) | (values > most)
            if wrong.any():
                refuse_first(source, _is_integer_between(least, most), expected)
        return values.astype(np.intp)

    def notes(self) -> tuple[str, ...]:
        left = [part for part in _NOT_READ if self.path(part).exists()]
        return tuple(f"{self.path(part).name} is not read" for part in left)


def _is_integer_between(least: float, most: float) -> Callable[[float], bool]:
    return lambda value: value == round(value) and least <= value <= most
