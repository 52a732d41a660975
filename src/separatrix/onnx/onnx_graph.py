"""A small language for ONNX graphs: tensors with Python's operators, which add nodes.

Numbers and arrays that meet a tensor become constants: float64, int64, bool or strings. Matrices have a row
for each sample; what has one value for each sample, except labels and codes, is a column, (n, 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.errors import UnsupportedError
from separatrix.types import Matrix

OPSET = 18  # of the reductions with axes as an input
LARGE = 1024  # numbers from which constants are stored in fewer bytes if no bit is lost


class Prediction(NamedTuple):
    """What a classifier answers, as tensors."""

    codes: Tensor  # shape: (n,); int64
    labels: Any  # shape: (k,); the label of each code, an array
    scores: Tensor | None = None  # shape: (n, k), or (n, 1) of two classes
    probabilities: Tensor | None = None  # shape: (n, k)


class Tensor:
    """A value of a graph that is being written."""

    __array_ufunc__ = None  # an array on the left leaves its operators to this class

    def __init__(self, graph: OnnxGraph, name: str) -> None:
        self.graph, self.name = graph, name

    def op(self, kind: str, *others: Any, **attributes: Any) -> Tensor:
        """The output of an operator whose first input this is."""
        return self.graph.node(kind, self, *others, **attributes)

    def __add__(self, other: Any) -> Tensor:
        return self.op("Add", other)

    def __sub__(self, other: Any) -> Tensor:
        return self.op("Sub", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self.graph.node("Sub", other, self)

    def __mul__(self, other: Any) -> Tensor:
        return self.op("Mul", other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Any) -> Tensor:
        return self.op("Div", other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self.graph.node("Div", other, self)

    def __matmul__(self, other: Any) -> Tensor:
        return self.op("MatMul", other)

    def __neg__(self) -> Tensor:
        return self.op("Neg")

    def __gt__(self, other: Any) -> Tensor:
        return self.op("Greater", other)

    def __ge__(self, other: Any) -> Tensor:
        return self.op("GreaterOrEqual", other)

    def __lt__(self, other: Any) -> Tensor:
        return self.op("Less", other)

    def __le__(self, other: Any) -> Tensor:
        return self.op("LessOrEqual", other)

    def equals(self, other: Any) -> Tensor:
        """Where both are equal, as flags."""
        return self.op("Equal", other)

    def choose(self, where_true: Any, where_false: Any) -> Tensor:
        """One of two values, by flags."""
        return self.op("Where", where_true, where_false)

    def reduce(self, kind: str, axis: int = 1, keep: bool = True) -> Tensor:
        """The "Sum", "Max", "Min" or "SumSquare" along an axis."""
        return self.op(f"Reduce{kind}", np.array([axis]), keepdims=int(keep))

    def arg(self, kind: str) -> Tensor:
        """The first index of the "Max" or "Min" of each row, (n,)."""
        return self.op(f"Arg{kind}", axis=1, keepdims=0)

    def columns(self, *index: int) -> Tensor:
        """Some columns, (n, columns)."""
        return self.op("Gather", np.array(index), axis=1)

    def between(self, start: int, stop: int) -> Tensor:
        """The columns from one to before another."""
        return self.op("Slice", np.array([start]), np.array([stop]), np.array([1]))

    def column(self) -> Tensor:
        """A vector as a column, (n,) -> (n, 1)."""
        return self.op("Unsqueeze", np.array([1]))

    def vector(self) -> Tensor:
        """A column as a vector, (n, 1) -> (n,)."""
        return self.op("Squeeze", np.array([1]))

    def numbers(self) -> Tensor:
        """Flags or integers as float64."""
        return self.op("Cast", to=self.graph.DOUBLE)

    def integers(self) -> Tensor:
        """Flags or whole numbers as int64."""
        return self.op("Cast", to=self.graph.INT64)

    def one_hot(self, k: int) -> Tensor:
        """Codes, (n,), as flags, (n, k)."""
        return self.column().equals(np.arange(k))


class OnnxGraph:
    """The graph of one estimator inside a model that skl2onnx converts."""

    DOUBLE, INT64 = 11, 7  # of onnx.TensorProto

    def __init__(self, scope: Any, container: Any, *, single: bool) -> None:
        if container.target_opset < OPSET:
            raise UnsupportedError(
                f"separatrix writes ONNX graphs of opset {OPSET} or later; got {container.target_opset}"
            )
        self.scope, self.container = scope, container
        self.single = single  # whether samples come as float32

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> Tensor:
        """The output of a new node."""
        return self.nodes(1, kind, *inputs, **attributes)[0]

    def nodes(self, outputs: int, kind: str, *inputs: Any, **attributes: Any) -> list[Tensor]:
        """The outputs of a new node."""
        names = [self._named(value).name for value in inputs]
        made = [self.unique_name(kind.lower()) for _ in range(outputs)]
        self.container.add_node(kind, names, made, name=self.unique_name(kind), **attributes)
        return [Tensor(self, name) for name in made]

    def unique_name(self, stem: str) -> str:
        """A name that no other value of the model has."""
        return str(self.scope.get_unique_variable_name(stem))

    def concatenate(self, parts: list[Tensor]) -> Tensor:
        """Columns side by side."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def constant(self, values: Any) -> Tensor:
        """An array as float64, int64, bool or strings."""
        from onnx import numpy_helper

        array = np.asarray(values)
        kinds = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
        array = array.astype(kinds.get(array.dtype.kind, object))
        name = self.unique_name("constant")
        if array.dtype == object:
            texts = [str(text).encode() for text in array.ravel()]
            self.container.add_initializer(name, 8, list(array.shape), texts)
            return Tensor(self, name)
        stored = _shortest(array) if array.dtype == np.float64 and array.size >= LARGE else array
        tensor = numpy_helper.from_array(np.asarray(stored, order="C"), name)
        self.container.add_initializer(name, tensor.data_type, list(array.shape), tensor)
        made = Tensor(self, name)
        return made if stored is array else made.numbers()

    def _named(self, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = np.float64(value)
        return self.constant(value)


def _shortest(values: Matrix) -> Any:
    """The same values as integers of one byte or as float32 if they are all that; else unchanged."""
    for kind in (np.uint8, np.int8, np.float32):
        with np.errstate(over="ignore", invalid="ignore"):
            short = values.astype(kind)
        if np.array_equal(short, values):
            return short
    return values


def refuse(model: Any, why: str) -> UnsupportedError:
    """The error for a model that has no graph."""
    return UnsupportedError(f"this {type(model).__name__} has no ONNX graph: {why}")
