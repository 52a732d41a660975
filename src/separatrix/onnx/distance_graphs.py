"""Distances between samples and constant rows as graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.onnx.onnx_graph import OnnxGraph, Tensor
from separatrix.runtime.simd import CHUNK, SUMS
from separatrix.types import Matrix, Vector

Term = Callable[[str], tuple[str, list[str]]]  # of a difference: an operator and its inputs


def squared_distances(x: Tensor, Z: Matrix) -> Tensor:
    """Squared Euclidean distances, (n, m), from products about the mean of Z."""
    centre: Vector = Z.mean(axis=0)
    return squares_from_products(x - centre, Z - centre)


def squares_from_products(x: Tensor, Z: Matrix) -> Tensor:
    """|x|^2 + |z|^2 - 2 <x, z>, at least 0, (n, m)."""
    norms: Vector = (Z**2).sum(axis=1)
    squares = x.reduce("SumSquare") + norms
    return (squares + x @ (-2.0 * Z.T)).op("Max", 0.0)


def absolute_distances(x: Tensor, Z: Matrix) -> Tensor:
    """Sums of absolute differences, (n, m)."""
    return _sum_differences(x, Z, lambda gap: ("Abs", [gap]))


def squares_of_differences(x: Tensor, Z: Matrix) -> Tensor:
    """Squared Euclidean distances, (n, m), to the last bits: slower than from products."""
    return _sum_differences(x, Z, lambda gap: ("Mul", [gap, gap]))


def sum_in_order(terms: Tensor, d: int) -> Tensor:
    """The sum of d columns, (n, 1), in the order of `runtime.simd`, so that no bit differs.

    In each chunk 16 sums side by side, whose halves are added until one is left, then the rest one by one.
    """
    parts = []
    for start in range(0, d, CHUNK):
        stop = min(d, start + CHUNK)
        pieces, size = (stop - start) // SUMS, SUMS
        rest = start + pieces * SUMS
        if pieces:
            sums = terms.between(start, rest).op("Reshape", np.array([0, pieces, SUMS]))
            sums = sums.op("CumSum", np.array(1)).op("Gather", np.array(pieces - 1), axis=1)
            while size > 1:
                size //= 2
                sums = sums.between(0, size) + sums.between(size, 2 * size)
            parts.append(sums)
        if rest < stop:
            parts.append(terms.between(rest, stop))
    return sum_one_by_one(terms.graph.concatenate(parts))


def sum_one_by_one(terms: Tensor) -> Tensor:
    """The sum of columns from the first to the last, (n, 1)."""
    return terms.op("CumSum", np.array(1)).op("Gather", np.array([-1]), axis=1)


def _sum_differences(x: Tensor, Z: Matrix, term: Term) -> Tensor:
    """Sums of a function of differences, one feature at a time: (n, m, d) numbers would not fit."""
    graph = x.graph
    shape = graph.node("Concat", x.op("Shape", start=0, end=1), np.array([len(Z)]), axis=0)
    start = graph.node("Expand", np.zeros((1, 1)), shape)
    sides = x.op("Transpose", perm=[1, 0]), np.ascontiguousarray(Z.T)
    return graph.node("Scan", start, *sides, body=_add_feature(graph, term), num_scan_inputs=2)


def _add_feature(graph: OnnxGraph, term: Term) -> object:
    """The body of the scan: the sum so far, (n, m), plus the function of x_j - z_j of one feature."""
    from onnx import TensorProto, helper

    names = ("sum", "x", "z", "one", "zero", "column", "row", "gap", "size", "total")
    total, x, z, one, zero, column, row, gap, size, result = map(graph.unique_name, names)
    kind, inputs = term(gap)
    nodes = [
        helper.make_node("Unsqueeze", [x, one], [column]),
        helper.make_node("Unsqueeze", [z, zero], [row]),
        helper.make_node("Sub", [column, row], [gap]),
        helper.make_node(kind, inputs, [size]),
        helper.make_node("Add", [total, size], [result]),
    ]
    axes = [helper.make_tensor(one, 7, [1], [1]), helper.make_tensor(zero, 7, [1], [0])]
    shapes = {total: ["rows", "others"], x: ["rows"], z: ["others"]}
    given = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape)
        for name, shape in shapes.items()
    ]
    output = helper.make_tensor_value_info(result, TensorProto.DOUBLE, ["rows", "others"])
    return helper.make_graph(nodes, "add_feature", given, [output], axes)
