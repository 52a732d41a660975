"""Positions for the nodes of a graph in the plane, as chemists draw molecules.

A component is laid out by stress majorisation: its distances come as near as they can to what hops
ask for, where chains ask for zigzags and rings for regular polygons, bonds being 1 long. The same
graph gives the same positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist

from separatrix.data.graph import Graph
from separatrix.errors import DataError
from separatrix.types import Codes, Matrix

MOST_NODES = 500  # above, nothing could be seen
LARGEST_RING = 8  # longer cycles take the shape their hops ask for
LOOSE = 0.05  # weight of pairs that are neither near nor in one ring, once the shape is there
STARTS, FEW = 6, 60  # shapes that are tried, of graphs of so few nodes; of others one
STEPS, SETTLED = 300, 1e-7  # of each, and the gain at which it is left
CLEAR, PUSHES = 0.85, 8  # bonds between nodes that are not joined, and how often this is asked for
ROOM = 0.55  # around a graph, in bonds


def graph_layout(graph: Graph) -> Matrix:
    """Places of the nodes, (n_nodes, 2), bonds about 1 long, components side by side.

    >>> graph_layout(Graph(2, np.array([[0, 1]]))).round(6).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    if graph.n_nodes > MOST_NODES:
        raise DataError(f"a graph of at most {MOST_NODES} nodes can be drawn; got {graph.n_nodes}")
    positions = np.zeros((graph.n_nodes, 2))
    if not graph.n_nodes:
        return positions
    _, component = connected_components(_adjacency(graph), directed=False)
    parts = [np.flatnonzero(component == one) for one in range(component.max() + 1)]
    parts.sort(key=lambda part: (-len(part), int(part[0])))
    rings = list(rings_of(graph))
    hops = shortest_path(_adjacency(graph), directed=False, unweighted=True)
    for part in parts:
        inside = [np.searchsorted(part, ring) for ring in rings if ring[0] in part]
        edges = graph.edges[np.isin(graph.edges[:, 0], part)]
        shape = _shape(hops[np.ix_(part, part)], inside)
        positions[part] = _turn(shape, np.searchsorted(part, edges))
    _put_side_by_side(positions, parts)
    return positions.round(9) + 0.0  # no -0.0


def require_graph(graph: object) -> None:
    """Refuse anything but a `Graph`."""
    if not isinstance(graph, Graph):
        raise DataError(f"what is drawn must be a separatrix Graph; got {type(graph).__name__}")


def _adjacency(graph: Graph) -> Any:
    ones = np.ones(len(graph.edges), dtype=np.int8)
    shape = (graph.n_nodes, graph.n_nodes)
    half = coo_array((ones, (graph.edges[:, 0], graph.edges[:, 1])), shape=shape)
    return (half + half.T).tocsr()


def neighbours(graph: Graph) -> list[Codes]:
    """The nodes that each node is joined to."""
    adjacency = _adjacency(graph)
    return [adjacency.indices[start:end] for start, end in pairwise(adjacency.indptr)]


def rings_of(graph: Graph) -> Iterator[Codes]:
    """For every edge a shortest ring through it, in order around; each ring once, no long ones."""
    if len(graph.edges) > 2 * graph.n_nodes:
        return  # no molecule: rings_of would be everywhere
    around = [sorted(others.tolist()) for others in neighbours(graph)]
    found = set()
    for a, b in graph.edges.tolist():
        ring = _way_around(around, a, b)
        if ring and frozenset(ring) not in found:
            found.add(frozenset(ring))
            yield np.array(ring)


def _way_around(around: list[list[int]], a: int, b: int) -> list[int]:
    """The shortest way from b to a that is not their edge; none if it makes too long a ring."""
    before = {a: a}
    front = [a]
    for _ in range(LARGEST_RING - 1):
        steps = ((u, v) for u in front for v in around[u] if (u, v) != (a, b))
        front = [v for u, v in steps if before.setdefault(v, u) == u and v != a]
        if b in before:
            way = [b]
            while way[-1] != a:
                way.append(before[way[-1]])
            return way
    return []


def _shape(hops: Matrix, rings: list[Codes]) -> Matrix:
    """The best of some shapes of a connected graph.

    Reference: Gansner, Koren and North, Graph Drawing by Stress Majorization, GD 2004.
    """
    n = len(hops)
    if n == 1:
        return np.zeros((1, 2))
    wanted = np.sqrt(0.75 * hops**2 + 0.25 * (hops % 2))  # of a zigzag at 120 degrees
    near = hops <= 2
    for ring in rings:
        around = np.abs(np.arange(len(ring))[:, None] - np.arange(len(ring)))
        chords = np.sin(np.pi * around / len(ring)) / np.sin(np.pi / len(ring))
        wanted[np.ix_(ring, ring)] = chords
        near[np.ix_(ring, ring)] = True
    weights = 1.0 / (wanted + np.eye(n)) ** 2 - np.eye(n)
    kept = np.where(near, weights, LOOSE * weights)
    first = _classical(wanted)
    rng = np.random.default_rng(0)
    # never quite symmetric: a saddle would hold it
    starts = (
        first + (0.01 + 0.3 * start) * rng.normal(size=(n, 2))
        for start in range(STARTS if n <= FEW else 1)
    )
    shapes = [_minimize_stress(start, wanted, weights) for start in starts]
    best, _ = min(shapes, key=lambda shape: round(shape[1], 6))
    positions, _ = _minimize_stress(best, wanted, kept)
    return _clear_overlaps(positions, hops, wanted, kept)


def _clear_overlaps(positions: Matrix, hops: Matrix, wanted: Matrix, weights: Matrix) -> Matrix:
    """The shape once circles that lay on each other have been pushed apart."""
    for _ in range(PUSHES):
        close = (cdist(positions, positions) < CLEAR) & (hops > 1)
        if not close.any():
            break
        wanted, weights = np.where(close, 1.25 * CLEAR, wanted), np.where(close, 1.0, weights)
        positions, _ = _minimize_stress(positions, wanted, weights)
    return positions


def _classical(wanted: Matrix) -> Matrix:
    """Classical scaling: the two axes on which the wanted distances show most."""
    squares = wanted**2
    inner = squares.mean(axis=0) + squares.mean(axis=1)[:, None] - squares - squares.mean()
    values, vectors = np.linalg.eigh(inner / 2)
    positions: Matrix = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    return positions


def _minimize_stress(positions: Matrix, wanted: Matrix, weights: Matrix) -> tuple[Matrix, float]:
    """Positions at which the stress, a weighted sum of squares, no longer falls, and the stress."""
    n = len(positions)
    inverse = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + 1 / n) - 1 / n
    before = np.inf
    for _ in range(STEPS):
        apart = cdist(positions, positions)
        stress = float((weights * (apart - wanted) ** 2).sum()) / 2
        if before - stress <= SETTLED * stress:
            break
        before = stress
        pull = weights * wanted / np.maximum(apart, 1e-9)
        positions = inverse @ (pull.sum(axis=1)[:, None] * positions - pull @ positions)
    return positions, stress


def _turn(positions: Matrix, edges: Codes) -> Matrix:
    """The shape as wide as it can be with most bonds at multiples of 30 degrees; the first node left."""
    z = (positions - positions.mean(axis=0)) @ np.array([1, 1j])
    along = z[edges[:, 1]] - z[edges[:, 0]]
    lean = np.angle((along**6).sum()) / 6 if len(edges) else 0.0
    turns = z[:, None] * np.exp(1j * (np.arange(6) * np.pi / 6 - lean))
    extent = np.ptp(turns.real, axis=0) - np.ptp(turns.imag, axis=0)
    z = turns[:, int(np.argmax(extent.round(3)))]
    order = np.linspace(-1, 1, len(z))
    right, up = (-1.0 if (order * part).sum() < -1e-9 else 1.0 for part in (z.real, z.imag))
    return np.column_stack([right * z.real, up * z.imag])


def _put_side_by_side(positions: Matrix, parts: list[Codes]) -> None:
    """Move components into rows, as wide together as a page."""
    sizes = [np.ptp(positions[part], axis=0) + 1.0 for part in parts]
    broad = max(np.sqrt(1.6 * sum(size.prod() for size in sizes)), *(size[0] for size in sizes))
    x = y = high = 0.0
    for part, (width, height) in zip(parts, sizes, strict=True):
        if x > 0 and x + width > broad + 1e-9:
            x, y, high = 0.0, y - high, 0.0
        corner = positions[part].min(axis=0) + np.array([0.0, height - 1.0])
        positions[part] += np.array([x, y]) - corner
        x, high = x + width, max(high, float(height))
