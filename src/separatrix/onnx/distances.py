"""Distances between samples and constant rows as graphs."""

from __future__ import annotations

import numpy as np

from separatrix.onnx.graph import Graph, Tensor
from separatrix.types import Matrix, Vector


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
    """Sums of absolute differences, (n, m), one feature at a time: (n, m, d) numbers would not fit."""
    graph = x.graph
    rows = x.op("Shape", start=0, end=1)
    shape = graph.node("Concat", rows, np.array([len(Z)]), axis=0)
    start = graph.node("Expand", np.zeros((1, 1)), shape)
    sides = x.op("Transpose", perm=[1, 0]), np.ascontiguousarray(Z.T)
    return graph.node("Scan", start, *sides, body=_add_feature(graph), num_scan_inputs=2)


def _add_feature(graph: Graph) -> object:
    """The body of the scan: the sum so far, (n, m), plus |x_j - z_j| of one feature."""
    from onnx import TensorProto, helper

    names = ("sum", "x", "z", "one", "zero", "column", "row", "gap", "size", "total")
    total, x, z, one, zero, column, row, gap, size, result = map(graph.unique_name, names)
    nodes = [
        helper.make_node("Unsqueeze", [x, one], [column]),
        helper.make_node("Unsqueeze", [z, zero], [row]),
        helper.make_node("Sub", [column, row], [gap]),
        helper.make_node("Abs", [gap], [size]),
        helper.make_node("Add", [total, size], [result]),
    ]
    axes = [helper.make_tensor(one, 7, [1], [1]), helper.make_tensor(zero, 7, [1], [0])]
    kind = TensorProto.DOUBLE
    inputs = [
        helper.make_tensor_value_info(total, kind, ["rows", "others"]),
        helper.make_tensor_value_info(x, kind, ["rows"]),
        helper.make_tensor_value_info(z, kind, ["others"]),
    ]
    output = helper.make_tensor_value_info(result, kind, ["rows", "others"])
    return helper.make_graph(nodes, "add_feature", inputs, [output], axes)
