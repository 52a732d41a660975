"""Inner loop of the subsequence kernel in SIMD registers: one pair of strings in each lane.

Written in LLVM IR, because LLVM's own vectoriser keeps the state of this loop in memory, which takes
twice as long. Nothing is bounds-checked: the caller allocates `LaneBuffers` that are large enough.
"""

# ruff: noqa: ARG001 - numba reads the names of arguments, and calls with all of them

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.jit import njit
from separatrix.kernels.strings.sequences import EncodedSequences
from separatrix.types import Codes, Matrix, Vector


def _shape() -> tuple[int, int]:
    """Lanes of one vector, and rows per sweep whose state fits into the registers of this CPU."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # unknown CPU
        features = {}
    if features.get("avx512f"):
        return 8, 2
    return (4, 1) if features.get("avx") else (2, 2)


LANES, ROWS = _shape()
LEVELS = 4  # per sweep at most: their state fills the registers

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(ir.DoubleType(), LANES)
_LETTERS = ir.VectorType(_INT64, LANES)
_AT = types.intp
_FUSED = ("contract",)  # allow fused multiply-add


class LaneBuffers(NamedTuple):
    """Input and state of a sweep over tiles of a rows and c columns; k - 1 levels of state."""

    S: Codes  # shape: (n, LANES); letters of the first strings, -1 after their end
    T: Codes  # shape: (m, LANES); letters of the second strings, -2 after their end
    P: Matrix  # shape: (c, k - 1, LANES); state of each column of the tile, after the last row
    carry: (
        Matrix  # shape: (n, k - 1, 2, LANES); state of each row at the previous tile's right edge
    )
    feeds: Matrix  # shape: (a + c + 2 ROWS (c + 1), LANES); level 0, then output of earlier sweeps
    down: Vector  # shape: (a + c,); powers of the decay
    sums: Matrix  # shape: (k, LANES); the kernel of each length


def aligned_zeros(*shape: int, dtype: npt.DTypeLike = np.float64) -> Any:
    """Zeros aligned to a cache line: a vector that straddles two lines costs twice."""
    size = int(np.prod(shape))
    raw = np.zeros(size + 8, dtype)
    start = -(raw.ctypes.data // 8) % 8
    return raw[start : start + size].reshape(shape)


def nonnegative_codes(*sides: EncodedSequences) -> tuple[EncodedSequences, ...]:
    """The same letters with codes from 0; negative codes are reserved for padding."""
    codes = [np.ascontiguousarray(side.codes, dtype=np.int64) for side in sides]
    if min(part.min(initial=0) for part in codes) < 0:
        together = np.unique(np.concatenate(codes), return_inverse=True)[1]
        codes = np.split(together.astype(np.int64), np.cumsum([len(part) for part in codes])[:-1])
    starts = [np.ascontiguousarray(side.starts, dtype=np.int64) for side in sides]
    return tuple(map(EncodedSequences, codes, starts))


def order_by_length(letters: EncodedSequences) -> Codes:
    """Indices of the strings, the shortest first."""
    return np.argsort(np.diff(letters.starts), kind="stable")


@njit(cache=True, nogil=True)
def fill_lanes(codes: Codes, starts: Codes, chosen: Codes, padding: int, out: Codes) -> int:
    """Copy one string into each lane, padded with `padding`; returns the longest length."""
    longest = 0
    for number in chosen:
        longest = max(longest, starts[number + 1] - starts[number])
    for position in range(min(longest + ROWS, len(out))):
        for lane in range(LANES):
            out[position, lane] = padding
    for lane, number in enumerate(chosen):
        start = starts[number]
        for position in range(starts[number + 1] - start):
            out[position, lane] = codes[start + position]
    return longest


@intrinsic(prefer_literal=True)
def sweep(
    typing_context: Any,
    levels: Any,
    every: Any,
    passes: Any,
    buffers: Any,
    i: Any,
    j: Any,
    width: Any,
    a: Any,
    low: Any,
    feed: Any,
    stride: Any,
    out: Any,
) -> Any:
    """Process rows i to i + ROWS - 1 of a tile over columns j to j + width - 1, for `levels` levels.

    `levels`, `every` and `passes` are compile-time constants. The levels are low + 1 to low + levels;
    the values of level `low` are read from `feeds` at `feed + row * stride`. Sums are stored for the
    top level, with every=1 for all; passes=1 writes the top level to `feeds` from `out` on. `a` is the
    index of the first row in the tile.
    """
    if not all(isinstance(kind, types.IntegerLiteral) for kind in (levels, every, passes)):
        return None
    count = levels.literal_value
    summed = [*range(count)] if every.literal_value and count else [count - 1]

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        buffers, i, j, width, a, low, feed, stride, out = args[3:]
        rows = _Rows(_Arrays(context, builder, signature.args[3], buffers), i, low, count, summed)
        if passes.literal_value:
            rows.pass_on(out, _number(0))
        with cgutils.for_range(builder, width) as loop:
            rows.match(builder.add(j, loop.index), feed, stride, a, loop.index)
            rows.advance(loop.index)
            if passes.literal_value:
                rows.pass_on(out, builder.add(loop.index, _number(1)))
        rows.store(width)
        return context.get_dummy_value()

    return types.none(levels, every, passes, buffers, *[_AT] * 8), generate


class _Arrays:
    """The arrays of `LaneBuffers` during code generation: addresses and lengths."""

    def __init__(self, context: Any, builder: Any, kind: Any, buffers: Any) -> None:
        self.builder = builder
        self.arrays = {
            name: context.make_array(part)(context, builder, builder.extract_value(buffers, number))
            for number, (name, part) in enumerate(zip(kind.fields, kind.types, strict=True))
        }

    def length(self, name: str, axis: int) -> Any:
        return self.builder.extract_value(self.arrays[name].shape, axis)

    def position(self, name: str, number: Any) -> Any:
        """Address of a vector, by its index over all axes but the lanes."""
        kind = _LETTERS if name in ("S", "T") else _LANES
        start = self.builder.bitcast(self.arrays[name].data, kind.as_pointer())
        return self.builder.gep(start, [number])

    def load(self, name: str, number: Any) -> Any:
        return self.builder.load(self.position(name, number), align=8)

    def store(self, value: Any, name: str, number: Any) -> None:
        self.builder.store(value, self.position(name, number), align=8)

    def power(self, number: Any) -> Any:
        """A power of the decay, broadcast to all lanes."""
        value = self.builder.load(self.builder.gep(self.arrays["down"].data, [number]))
        unset = ir.Constant(_LANES, ir.Undefined)
        first = self.builder.insert_element(unset, value, ir.Constant(_INT32, 0))
        all_lanes = ir.Constant(ir.VectorType(_INT32, LANES), 0)
        return self.builder.shuffle_vector(first, unset, all_lanes)


class _Rows:
    """The state of adjacent rows: one register for every row and level.

    `along` is Q, the row's own sum so far; `before` is P of the row above, one column to the left.
    """

    def __init__(self, arrays: _Arrays, i: Any, low: Any, count: int, summed: list[int]) -> None:
        self.arrays, self.builder = arrays, arrays.builder
        self.low, self.count, self.summed = low, count, summed
        self.height = arrays.length("P", 1)
        self.numbers = [self.builder.add(i, _number(row)) for row in range(ROWS)]
        self.letters = [arrays.load("S", number) for number in self.numbers]
        self.along, self.before = (
            [
                [self._register(arrays.load("carry", position)) for position in row]
                for row in self._edges(which)
            ]
            for which in (0, 1)
        )
        zero = ir.Constant(_LANES, [0.0] * LANES)
        self.totals = [[self._register(zero) for _ in summed] for _ in range(ROWS)]

    def match(self, column: Any, feed: Any, stride: Any, a: Any, b: Any) -> None:
        """Add to the sums in lanes with equal letters: column b of the tile."""
        builder, arrays = self.builder, self.arrays
        letters = arrays.load("T", column)
        for row in range(ROWS):
            same = builder.icmp_signed("==", self.letters[row], letters)
            position = builder.add(builder.add(feed, builder.mul(stride, _number(row))), b)
            below = [arrays.load("feeds", position), *map(builder.load, self.before[row])]
            weight = arrays.power(builder.add(builder.add(a, _number(row)), b))
            for total, level in zip(self.totals[row], self.summed, strict=True):
                self._add(total, builder.fmul(below[level + 1], weight, flags=_FUSED), same)
            for level in range(self.count):
                self._add(self.along[row][level], below[level], same)

    def advance(self, b: Any) -> None:
        """Add each row's sum to column b, one row after the other."""
        builder = self.builder
        for level in range(self.count):
            position = builder.add(builder.mul(b, self.height), self._level(level))
            value = self.arrays.load("P", position)
            for row in range(ROWS):
                builder.store(value, self.before[row][level])
                value = builder.fadd(value, builder.load(self.along[row][level]))
            self.arrays.store(value, "P", position)

    def pass_on(self, out: Any, number: Any) -> None:
        """Write the top level for the sweep of the next levels."""
        builder = self.builder
        stride = builder.add(self.arrays.length("P", 0), _number(1))
        for row in range(ROWS):
            position = builder.add(builder.add(out, builder.mul(stride, _number(row))), number)
            self.arrays.store(builder.load(self.before[row][-1]), "feeds", position)

    def store(self, width: Any) -> None:
        """Store the sums, and the state for the next tile to the right, in its scale."""
        builder, arrays = self.builder, self.arrays
        scale = arrays.power(width)
        for which, state in enumerate((self.along, self.before)):
            for positions, registers in zip(self._edges(which), state, strict=True):
                for position, register in zip(positions, registers, strict=True):
                    arrays.store(builder.fmul(builder.load(register), scale), "carry", position)
        for totals in self.totals:
            for total, level in zip(totals, self.summed, strict=True):
                position = self._level(level + 1)
                value = builder.fadd(arrays.load("sums", position), builder.load(total))
                arrays.store(value, "sums", position)

    def _edges(self, which: int) -> list[list[Any]]:
        """Index of the carried state of each row and level."""
        builder, two = self.builder, _number(2)
        return [
            [
                builder.add(
                    builder.mul(builder.add(builder.mul(n, self.height), self._level(level)), two),
                    _number(which),
                )
                for level in range(self.count)
            ]
            for n in self.numbers
        ]

    def _level(self, level: int) -> Any:
        return self.builder.add(self.low, _number(level))

    def _register(self, value: Any) -> Any:
        return cgutils.alloca_once_value(self.builder, value)

    def _add(self, register: Any, value: Any, same: Any) -> None:
        """Add to a register in the lanes selected by `same`."""
        old = self.builder.load(register)
        new = self.builder.fadd(old, value, flags=_FUSED)
        self.builder.store(self.builder.select(same, new, old), register)


def _number(value: int) -> Any:
    return ir.Constant(_INT64, value)
