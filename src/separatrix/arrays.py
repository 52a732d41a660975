"""Array types with their shape letters, checks at the border, the Gram protocol, and graphs.

Shape letters, the same everywhere: n samples, m other samples, d features, k classes, p binary
problems. Matrices are capitals, as in the papers. Checks here run once, where values come in;
inside, code trusts its types.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from separatrix.errors import DataError, ParameterError

Matrix = npt.NDArray[np.floating[Any]]
Vector = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.intp]  # class codes 0..k-1, or row numbers
Signs = npt.NDArray[np.int8]  # +1, -1, or 0 where a sample takes no part
Flags = npt.NDArray[np.bool_]


class Block(NamedTuple):
    """Some samples of a training set, with their class codes and weights."""

    X: Any  # shape: (n, d); dense or CSR, of any number type
    y: Codes  # shape: (n,)
    weights: Vector  # shape: (n,)


MOST_NODES = 2**31  # so that two of their numbers fit into one


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph: nodes 0..n_nodes-1, each edge once, labels where there are some.

    Labels are whole numbers or strings.

    >>> path = Graph(3, np.array([[0, 1], [1, 2]]), node_labels=np.array([6, 8, 6]))
    >>> path
    Graph(3 nodes, 2 edges)
    """

    n_nodes: int
    edges: Codes  # shape: (m, 2); none twice, in either direction, and no loops
    node_labels: Any = None  # shape: (n_nodes,)
    edge_labels: Any = None  # shape: (m,)

    def __post_init__(self) -> None:
        require_integer("Graph", "n_nodes", self.n_nodes, least=0)
        if self.n_nodes > MOST_NODES:
            raise DataError(f"a Graph has at most {MOST_NODES:,} nodes; got {self.n_nodes:,}")
        edges = _whole("edges", self.edges)
        if not edges.size:
            edges = edges.reshape(0, 2)
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise DataError(f"`edges` of Graph must have two columns; got shape {edges.shape}")
        if edges.size and not self.n_nodes:
            raise DataError(f"a Graph without nodes has no edges; got {len(edges)}")
        if edges.size and (edges.min() < 0 or edges.max() >= self.n_nodes):
            raise DataError(
                f"`edges` of Graph must join nodes 0 to {self.n_nodes - 1}; got node "
                f"{edges.min() if edges.min() < 0 else edges.max()}"
            )
        if (edges[:, 0] == edges[:, 1]).any():
            node = edges[edges[:, 0] == edges[:, 1]][0, 0]
            raise DataError(f"`edges` of Graph must join different nodes; node {node} has a loop")
        keys = edges.min(axis=1, initial=self.n_nodes) * self.n_nodes + edges.max(axis=1, initial=0)
        if len(np.unique(keys)) != len(edges):
            raise DataError("`edges` of Graph must name each edge once, in one direction")
        object.__setattr__(self, "edges", edges)
        for name, count in (("node_labels", self.n_nodes), ("edge_labels", len(edges))):
            if getattr(self, name) is None:
                continue
            given = getattr(self, name)
            if isinstance(given, list | tuple) and len({isinstance(x, str) for x in given}) > 1:
                raise DataError(f"`{name}` of Graph must be all whole numbers or all strings")
            labels = np.asarray(given)
            if labels.dtype.kind == "U" or labels.dtype == object:
                _require_no_null_at_the_end(name, given)
            if labels.dtype == object and all(isinstance(label, str) for label in labels):
                labels = labels.astype(str)
            labels = labels if labels.dtype.kind == "U" else _whole(name, labels)
            if labels.shape != (count,):
                raise DataError(
                    f"`{name}` of Graph must be {count} whole numbers or strings; got shape {labels.shape}"
                )
            object.__setattr__(self, name, labels)

    def __repr__(self) -> str:
        return f"Graph({self.n_nodes} nodes, {len(self.edges)} edges)"


def _require_no_null_at_the_end(name: str, labels: Any) -> None:
    """NumPy drops it, and two labels would be one."""
    for label in np.ravel(np.asarray(labels, dtype=object)):
        if isinstance(label, str) and label.endswith("\0"):
            raise DataError(f"`{name}` of Graph must not end with the letter NUL; got {label!r}")


def _whole(name: str, values: Any) -> Codes:
    found = np.asarray(values)
    if found.dtype.kind not in "iu" and found.size:
        strings = "" if name == "edges" else " or strings"
        raise DataError(f"`{name}` of Graph must be whole numbers{strings}; got {found.dtype}")
    if found.dtype == np.uint64 and found.max(initial=0) >= 2**63:
        raise DataError(f"`{name}` of Graph must be below 2**63; got {found.max()}")
    return found.astype(np.intp)


class Samples(Protocol):
    """A training set in blocks that can be read again and again."""

    def __iter__(self) -> Iterator[Block]: ...

    @property
    def n_features(self) -> int:
        """d; of a stream, known once it has been read."""
        ...

    @property
    def n_classes(self) -> int:
        """k; of a stream, those met so far."""
        ...

    def in_class_order(self) -> tuple[Any, Codes]:
        """The labels, sorted, and the code of each; after a first reading."""
        ...

    def cut(self, rows: int, *, every: int = 1, dtype: Any = None) -> Samples | None:
        """The same in blocks of `rows`, one sample in `every`, in that precision; None: not here."""
        ...


class Gram(Protocol):
    """The (n, n) kernel matrix of a training set, held, cached or computed when asked.

    `segments` cuts the columns into the pieces rows are stored in (one for each class, or one for
    all), `batch` is how many rows may be asked for at a time, and `held` is the whole matrix where
    there is one.
    """

    @property
    def device(self) -> Any:
        """The torch device that its values are tensors on; None: they are NumPy arrays."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the values."""
        ...

    @property
    def error(self) -> float:
        """How far off a value can be, through rounding."""
        ...

    @property
    def segments(self) -> tuple[slice, ...]:
        """Column ranges that rows are stored by."""
        ...

    @property
    def batch(self) -> int:
        """Rows that may be asked for at a time."""
        ...

    @property
    def room(self) -> int:
        """Rows that may be fetched over one segment and be at hand together."""
        ...

    @property
    def held(self) -> Matrix | None:
        """The whole matrix, where there is one."""
        ...

    @property
    def keeps_rows(self) -> bool:
        """Whether a row that was asked for is likely to be at hand when asked for again."""
        ...

    def diagonal(self) -> Vector:
        """All k(x, x), (n,)."""
        ...

    def tile(self, rows: Codes, columns: Codes) -> Matrix:
        """Kernel values of these rows with these columns, (rows, columns); never stored."""
        ...

    def rows(self, index: Codes) -> Matrix:
        """Whole rows, (index, n)."""
        ...

    def fetch(self, index: Codes, segment: int) -> tuple[Matrix, Codes]:
        """Where rows lie over one segment: their storage, and the place of each row in it.

        The storage is only good until the next `fetch`.
        """
        ...

    def matmul(self, V: Matrix) -> Matrix:
        """K @ V, (n, columns of V), in float64."""
        ...


def require_real(
    owner: str,
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> None:
    """Refuse whatever is not a finite real number in range."""
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("above", above),
            ("at least", least),
            ("at most", most),
            ("below", below),
        )
        if bound is not None
    ]
    must_be = " and ".join(bounds) or "a finite number"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ParameterError(owner, name, must_be, value)
    number = float(value)
    if (
        not math.isfinite(number)
        or (above is not None and number <= above)
        or (least is not None and number < least)
        or (most is not None and number > most)
        or (below is not None and number >= below)
    ):
        raise ParameterError(owner, name, must_be, value)


def require_integer(owner: str, name: str, value: object, *, least: int) -> None:
    """Refuse whatever is not an integer of at least `least`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or int(value) < least:
        raise ParameterError(owner, name, f"an integer of at least {least}", value)


def require_choice(owner: str, name: str, value: object, choices: Collection[object]) -> None:
    """Refuse whatever is not one of the choices."""
    if not any(
        value is choice or (type(value) is type(choice) and value == choice) for choice in choices
    ):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(owner, name, f"one of {listed}", value)


def require_flag(owner: str, name: str, value: object) -> None:
    """Refuse whatever is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(owner, name, "True or False", value)


def require_threads(owner: str, n_jobs: object) -> None:
    """Refuse whatever is not a number of threads in scikit-learn's meaning."""
    if n_jobs is None:
        return
    if n_jobs == 0 or isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise ParameterError(owner, "n_jobs", "an integer other than 0, or None", n_jobs)
