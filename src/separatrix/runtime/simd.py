"""SIMD operations on 64 rows at a time, three times as fast as automatic vectorisation.

Results are 64-bit masks: bit r is about the r-th of 64 values. For `hamming_mask` and
`abs_difference_mask` rows lie in blocks, (blocks, words, 64): word w of 64 rows side by side, 16 bits
each. Queries are (m, words) of 64-bit words, each repeating its 16 bits four times (times
`REPEAT_16_BITS`), which is the cheapest to broadcast to the lanes. All arrays are C-contiguous;
functions take arrays with an index, since a view would cost more than the work. Nothing is checked: the
caller guarantees 64 rows.
"""

# ruff: noqa: ARG001 - numba reads the names of arguments, and calls with all of them

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.types import Codes

LANES = 64  # the bits of a mask
SUMS = 16  # sums side by side
PIECE = 8  # words between two checks of the limit
REPEAT_16_BITS = np.uint64(0x0001_0001_0001_0001)

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(ir.IntType(16), LANES)
_SUMS = ir.VectorType(ir.DoubleType(), SUMS)
_AT = types.intp


@intrinsic
def hamming_mask(
    typing_context: Any, blocks: Any, b: Any, queries: Any, i: Any, counts: Any, limit: Any
) -> Any:
    """Count the bits in which rows of block b differ from query i; mask of counts below `limit`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        blocks, b, queries, i, counts, limit = _unpack(context, builder, signature, args)
        ones = _function(builder, "llvm.ctpop.v64i16", _LANES)
        words = builder.extract_value(queries.shape, 1)
        total = cgutils.alloca_once_value(builder, ir.Constant(_LANES, 0))
        with cgutils.for_range(builder, words) as loop:
            lanes = builder.load(_lanes(builder, blocks, b, words, loop.index), align=2)
            gap = builder.xor(lanes, _spread(builder, queries, i, words, loop.index))
            builder.store(builder.add(builder.load(total), builder.call(ones, [gap])), total)
        zero = ir.Constant(_INT64, 0)
        builder.store(builder.load(total), _lanes(builder, counts, zero, zero, zero), align=2)
        return _compare(builder, builder.load(total), "<", limit)

    return types.uint64(blocks, _AT, queries, _AT, counts, types.uint16), generate


@intrinsic
def abs_difference_mask(
    typing_context: Any,
    blocks: Any,
    b: Any,
    queries: Any,
    i: Any,
    first: Any,
    last: Any,
    sums: Any,
    position: Any,
    limit: Any,
) -> Any:
    """Sum |row - query| over words first..last-1 into `sums[position]`; mask of sums up to `limit`.

    Words are 0..32767, a multiple of `PIECE` of them; sums, (positions, 64), saturate at 65535. It stops
    early when all rows are beyond the limit, and then stores no sums.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        blocks, b, queries, i, first, last, sums, position, limit = _unpack(
            context, builder, signature, args
        )
        size = _function(builder, "llvm.abs.v64i16", _LANES, ir.IntType(1))
        plus = _function(builder, "llvm.uadd.sat.v64i16", _LANES, _LANES)
        words = builder.extract_value(queries.shape, 1)
        piece = ir.Constant(_INT64, PIECE)
        total = cgutils.alloca_once_value(builder, ir.Constant(_LANES, 0))
        mask = cgutils.alloca_once_value(builder, ir.Constant(_INT64, -1))
        pieces = builder.udiv(builder.sub(last, first), piece)
        with cgutils.for_range(builder, pieces) as outer:
            start = builder.add(first, builder.mul(outer.index, piece))
            for step in range(PIECE):
                word = builder.add(start, ir.Constant(_INT64, step))
                lanes = builder.load(_lanes(builder, blocks, b, words, word), align=2)
                gap = builder.sub(lanes, _spread(builder, queries, i, words, word))
                gap = builder.call(size, [gap, ir.Constant(ir.IntType(1), 0)])
                builder.store(builder.call(plus, [builder.load(total), gap]), total)
            inside = _compare(builder, builder.load(total), "<=", limit)
            builder.store(inside, mask)
            with builder.if_then(builder.icmp_unsigned("==", inside, ir.Constant(_INT64, 0))):
                outer.do_break()
        inside = builder.load(mask)
        with builder.if_then(builder.icmp_unsigned("!=", inside, ir.Constant(_INT64, 0))):
            target = _lanes(builder, sums, position, ir.Constant(_INT64, 1), ir.Constant(_INT64, 0))
            builder.store(builder.load(total), target, align=2)
        return inside

    return types.uint64(blocks, _AT, queries, _AT, _AT, _AT, sums, _AT, types.uint16), generate


@intrinsic
def at_least_mask(typing_context: Any, array: Any, row: Any, start: Any, least: Any) -> Any:
    """Mask of the 64 float32 values array[row, start : start + 64] that are at least `least`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, row, start, least = _unpack(context, builder, signature, args)
        width = builder.extract_value(array.shape, 1)
        where = builder.gep(array.data, [builder.add(builder.mul(row, width), start)])
        lanes = ir.VectorType(ir.FloatType(), LANES)
        values = builder.load(builder.bitcast(where, lanes.as_pointer()), align=4)
        inside = builder.fcmp_ordered(">=", values, _copies(builder, least, LANES))
        return builder.bitcast(inside, _INT64)

    return types.uint64(array, _AT, _AT, types.float32), generate


@intrinsic
def squares_apart(
    typing_context: Any, X: Any, row: Any, Q: Any, i: Any, start: Any, pieces: Any
) -> Any:
    """Sum of the squared differences of X[row] and Q[i] over 16 * pieces columns from `start` on.

    In float64, in the same order on every machine.
    """
    return _sum_terms(X, Q, lambda builder, gap: builder.fmul(gap, gap))


@intrinsic
def sizes_apart(
    typing_context: Any, X: Any, row: Any, Q: Any, i: Any, start: Any, pieces: Any
) -> Any:
    """The same for absolute differences."""

    def size(builder: Any, gap: Any) -> Any:
        kind = ir.FunctionType(_SUMS, [_SUMS])
        fabs = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{SUMS}f64")
        return builder.call(fabs, [gap])

    return _sum_terms(X, Q, size)


@intrinsic
def first_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the lowest set bit; the mask must not be 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), generate


def _sum_terms(X: Any, Q: Any, term: Any) -> Any:
    """Signature and code generator of a sum of terms of the differences."""
    if X.layout != "C" or Q.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0].dtype
        X, row, Q, i, start, pieces = _unpack(context, builder, signature, args)
        width = builder.extract_value(Q.shape, 1)
        stored = ir.VectorType(context.get_data_type(kind), SUMS)
        total = cgutils.alloca_once_value(builder, ir.Constant(_SUMS, [0.0] * SUMS))
        with cgutils.for_range(builder, pieces) as loop:
            column = builder.add(start, builder.mul(loop.index, ir.Constant(_INT64, SUMS)))
            x, q = (
                builder.bitcast(
                    builder.gep(array.data, [builder.add(builder.mul(at, width), column)]),
                    lanes.as_pointer(),
                )
                for array, at, lanes in ((X, row, stored), (Q, i, _SUMS))
            )
            x, q = builder.load(x, align=kind.bitwidth // 8), builder.load(q, align=8)
            if kind == types.uint8:
                x = builder.uitofp(x, _SUMS)
            elif kind == types.float32:
                x = builder.fpext(x, _SUMS)
            part = term(builder, builder.fsub(x, q))
            builder.store(builder.fadd(builder.load(total), part), total)
        sums, size = builder.load(total), SUMS
        while size > 1:  # add the halves until one number is left
            size //= 2
            lower, upper = (
                builder.shuffle_vector(
                    sums, sums, ir.Constant(ir.VectorType(_INT32, size), [*range(at, at + size)])
                )
                for at in (0, size)
            )
            sums = builder.fadd(lower, upper)
        return builder.extract_element(sums, ir.Constant(_INT32, 0))

    return types.float64(X, _AT, Q, _AT, _AT, _AT), generate


def blocks_of(words: Any, order: Any = None) -> Any:
    """Words of rows, (n, words), in blocks, in the given order, padded with zeros."""
    n, count = words.shape
    blocks = np.zeros((-(-n // LANES), count, LANES), np.uint16)
    _lay(words, np.arange(n) if order is None else order, blocks)
    return blocks


@njit(cache=True, nogil=True)
def _lay(words: Any, order: Codes, blocks: Any) -> None:
    for i in range(words.shape[0]):
        for w in range(words.shape[1]):
            blocks[i // LANES, w, i % LANES] = words[order[i], w]


def _unpack(context: Any, builder: Any, signature: Any, args: Any) -> list[Any]:
    """Arguments, with arrays as structs."""
    return [
        context.make_array(kind)(context, builder, value)
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, args, strict=True)
    ]


def _function(builder: Any, name: str, *of: Any) -> Any:
    """An LLVM intrinsic that takes these types and returns lanes."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(_LANES, of), name)


def _lanes(builder: Any, array: Any, b: Any, words: Any, word: Any) -> Any:
    """Address of a word of all rows of block b."""
    start = builder.bitcast(array.data, _LANES.as_pointer())
    return builder.gep(start, [builder.add(builder.mul(b, words), word)])


def _spread(builder: Any, queries: Any, i: Any, words: Any, word: Any) -> Any:
    """One word of query i, in all lanes."""
    where = builder.gep(queries.data, [builder.add(builder.mul(i, words), word)])
    return builder.bitcast(_copies(builder, builder.load(where), LANES // 4), _LANES)


def _copies(builder: Any, value: Any, count: int) -> Any:
    """A vector of equal values."""
    unset = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    first = builder.insert_element(unset, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, unset, ir.Constant(ir.VectorType(_INT32, count), 0))


def _compare(builder: Any, lanes: Any, relation: str, limit: Any) -> Any:
    """Mask of the lanes in this relation to the limit."""
    inside = builder.icmp_unsigned(relation, lanes, _copies(builder, limit, LANES))
    return builder.bitcast(inside, _INT64)


@intrinsic
def bits_of(typing_context: Any, value: Any) -> Any:
    """The bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _INT64)

    return types.int64(types.float64), generate


@intrinsic
def float_of(typing_context: Any, bits: Any) -> Any:
    """The float64 of the bits in an int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate
