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
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from separatrix.jit import njit
from separatrix.types import Codes

LANES = 64  # the bits of a mask
SUMS = 16  # sums side by side
CHUNK = 128  # features between two checks of the limit of a sum; a multiple of SUMS
FLOATS = 16  # rows or boxes side by side, in float32
CHAINS = 4  # of additions that do not wait for each other
PIECE = 8  # words between two checks of the limit
REPEAT_16_BITS = np.uint64(0x0001_0001_0001_0001)

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_LANES = ir.VectorType(ir.IntType(16), LANES)
_SUMS = ir.VectorType(ir.DoubleType(), SUMS)
_FLOATS = ir.VectorType(ir.FloatType(), FLOATS)
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
def squared_distance(typing_context: Any, X: Any, row: Any, Q: Any, i: Any, limit: Any) -> Any:
    """Sum of the squared differences of X[row] and Q[i]; or some number above `limit` if the sum is.

    In float64, in the same order on every machine. Calls of it need no reference counts, which would
    cost more than rows of few features.
    """
    return _sum_terms(X, Q, lambda builder, gap: builder.fmul(gap, gap))


@intrinsic
def absolute_distance(typing_context: Any, X: Any, row: Any, Q: Any, i: Any, limit: Any) -> Any:
    """The same for absolute differences."""

    def size(builder: Any, gap: Any) -> Any:
        lanes = f"v{SUMS}f64" if gap.type == _SUMS else "f64"
        kind = ir.FunctionType(gap.type, [gap.type])
        fabs = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.{lanes}")
        return builder.call(fabs, [gap])

    return _sum_terms(X, Q, size)


@intrinsic
def rows_within_mask(
    typing_context: Any, blocks: Any, b: Any, queries: Any, i: Any, limit: Any, p: Any
) -> Any:
    """Mask of the 16 rows of block b within a distance of query i, by the 1-, 2- or (p = 0) maximum norm.

    blocks is (blocks, d, 16), queries (m, d), both float32: the values of 16 rows side by side.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        blocks, b, queries, i, limit, p = _unpack(context, builder, signature, args)
        start = builder.mul(b, builder.extract_value(queries.shape, 1))

        def gap(j: Any, query: Any) -> Any:
            return builder.fsub(_floats(builder, blocks, builder.add(start, j)), query)

        total = _norm(builder, queries, i, p, gap)
        reach = builder.select(_is(builder, p, 2), builder.fmul(limit, limit), limit)
        return _float_mask(
            builder, builder.fcmp_ordered("<=", total, _copies(builder, reach, FLOATS))
        )

    return types.uint64(blocks, _AT, queries, _AT, types.float32, types.intp), generate


@intrinsic
def boxes_within_mask(
    typing_context: Any, boxes: Any, b: Any, queries: Any, i: Any, limit: Any, p: Any, found: Any
) -> Any:
    """Distances of query i to 16 boxes, into `found`, (16,), and the mask of those up to the limit.

    boxes is (blocks, 2 d + 1, 16), queries (m, d), all float32: lower and upper ends of 16 boxes in turn,
    and their margins, which are taken off the distances.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        boxes, b, queries, i, limit, p, found = _unpack(context, builder, signature, args)
        d, one = builder.extract_value(queries.shape, 1), ir.Constant(_INT64, 1)
        ends = builder.add(d, d)
        start = builder.mul(b, builder.add(ends, one))
        zero = ir.Constant(_FLOATS, [0.0] * FLOATS)

        def gap(j: Any, query: Any) -> Any:
            at = builder.add(start, builder.add(j, j))
            below = builder.fsub(_floats(builder, boxes, at), query)
            above = builder.fsub(query, _floats(builder, boxes, builder.add(at, one)))
            return _larger(builder, _larger(builder, below, above), zero)

        total = _norm(builder, queries, i, p, gap)
        root = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.sqrt.v{FLOATS}f32"
        )
        total = builder.select(_is(builder, p, 2), builder.call(root, [total]), total)
        total = builder.fsub(total, _floats(builder, boxes, builder.add(start, ends)))
        builder.store(total, builder.bitcast(found.data, _FLOATS.as_pointer()), align=4)
        return _float_mask(
            builder, builder.fcmp_ordered("<=", total, _copies(builder, limit, FLOATS))
        )

    return types.uint64(boxes, _AT, queries, _AT, types.float32, types.intp, found), generate


@intrinsic
def first_bit(typing_context: Any, mask: Any) -> Any:
    """Number of the lowest set bit; the mask must not be 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.intp(types.uint64), generate


def _sum_terms(X: Any, Q: Any, term: Any) -> Any:
    """Signature and code generator of a sum of terms of the differences, chunk after chunk."""
    if X.layout != "C" or Q.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0].dtype
        X, row, Q, i, limit = _unpack(context, builder, signature, args)
        d = builder.extract_value(Q.shape, 1)
        rows = [(X, builder.mul(row, d), kind), (Q, builder.mul(i, d), types.float64)]
        total = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))

        def add(value: Any) -> None:
            builder.store(builder.fadd(builder.load(total), value), total)

        def gap(column: Any, size: int) -> Any:
            """Differences from a column on: one, or 16 side by side."""
            x, q = (
                _doubles(context, builder, array, builder.add(start, column), of, size)
                for array, start, of in rows
            )
            return term(builder, builder.fsub(x, q))

        chunk, piece = ir.Constant(_INT64, CHUNK), ir.Constant(_INT64, SUMS)
        chunks = builder.udiv(builder.add(d, ir.Constant(_INT64, CHUNK - 1)), chunk)
        with cgutils.for_range(builder, chunks) as outer:
            start = builder.mul(outer.index, chunk)
            stop = builder.add(start, chunk)
            stop = builder.select(builder.icmp_signed("<", d, stop), d, stop)
            pieces = builder.udiv(builder.sub(stop, start), piece)
            with builder.if_then(builder.icmp_signed(">", pieces, ir.Constant(_INT64, 0))):
                sums = cgutils.alloca_once(builder, _SUMS)
                builder.store(ir.Constant(_SUMS, [0.0] * SUMS), sums)
                with cgutils.for_range(builder, pieces) as loop:
                    part = gap(builder.add(start, builder.mul(loop.index, piece)), SUMS)
                    builder.store(builder.fadd(builder.load(sums), part), sums)
                add(_add_halves(builder, builder.load(sums)))
            rest = builder.add(start, builder.mul(pieces, piece))
            with cgutils.for_range(builder, stop, start=rest) as loop:
                add(gap(loop.index, 1))
            with builder.if_then(builder.fcmp_ordered(">", builder.load(total), limit)):
                outer.do_break()
        return builder.load(total)

    return types.float64(X, _AT, Q, _AT, types.float64), generate


def _doubles(context: Any, builder: Any, array: Any, at: Any, kind: Any, size: int) -> Any:
    """One or several values of an array of numbers, as float64."""
    stored, wanted = context.get_data_type(kind), ir.DoubleType()
    where = builder.gep(array.data, [at])
    if size > 1:
        stored, wanted = ir.VectorType(stored, size), ir.VectorType(wanted, size)
        where = builder.bitcast(where, stored.as_pointer())
    values = builder.load(where, align=kind.bitwidth // 8)
    if kind == types.uint8:
        return builder.uitofp(values, wanted)
    return builder.fpext(values, wanted) if kind == types.float32 else values


def _add_halves(builder: Any, sums: Any) -> Any:
    """The sum of 16 numbers: halves are added until one is left."""
    size = SUMS
    while size > 1:
        size //= 2
        lower, upper = (
            builder.shuffle_vector(
                sums, sums, ir.Constant(ir.VectorType(_INT32, size), [*range(at, at + size)])
            )
            for at in (0, size)
        )
        sums = builder.fadd(lower, upper)
    return builder.extract_element(sums, ir.Constant(_INT32, 0))


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


def _norm(builder: Any, queries: Any, i: Any, p: Any, gap: Any) -> Any:
    """Sums of squares (p = 2), of absolute values (1), or maxima (0) of 16 gaps of every feature."""
    d, four = builder.extract_value(queries.shape, 1), ir.Constant(_INT64, CHAINS)
    zero = ir.Constant(_FLOATS, [0.0] * FLOATS)
    totals = [cgutils.alloca_once_value(builder, zero) for _ in range(CHAINS)]
    fours = builder.udiv(d, four)
    for code in range(3):
        with builder.if_then(_is(builder, p, code)):

            def add(total: Any, j: Any, code: int = code) -> None:
                at = builder.add(builder.mul(i, d), j)
                query = _copies(builder, builder.load(builder.gep(queries.data, [at])), FLOATS)
                value = _combine(builder, code, builder.load(total), gap(j, query))
                builder.store(value, total)

            with cgutils.for_range(builder, fours) as loop:
                for number, total in enumerate(totals):
                    at = builder.mul(loop.index, four)
                    add(total, builder.add(at, ir.Constant(_INT64, number)))
            with cgutils.for_range(builder, d, start=builder.mul(fours, four)) as loop:
                add(totals[0], loop.index)
    a, b, c, e = (builder.load(total) for total in totals)
    largest = _larger(builder, _larger(builder, a, b), _larger(builder, c, e))
    added = builder.fadd(builder.fadd(a, b), builder.fadd(c, e))
    return builder.select(_is(builder, p, 0), largest, added)


def _combine(builder: Any, code: int, total: Any, gap: Any) -> Any:
    """The sum or maximum so far with one more gap."""
    if code == 2:
        square = builder.fmul(gap, gap, flags=("contract",))
        return builder.fadd(total, square, flags=("contract",))
    kind = ir.FunctionType(_FLOATS, [_FLOATS])
    fabs = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{FLOATS}f32")
    gap = builder.call(fabs, [gap])
    return builder.fadd(total, gap) if code else _larger(builder, total, gap)


def _floats(builder: Any, array: Any, at: Any) -> Any:
    """The 16 float32 values number `at` of a contiguous array."""
    start = builder.bitcast(array.data, _FLOATS.as_pointer())
    return builder.load(builder.gep(start, [at]), align=4)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _is(builder: Any, value: Any, code: int) -> Any:
    return builder.icmp_signed("==", value, ir.Constant(_INT64, code))


def _float_mask(builder: Any, inside: Any) -> Any:
    return builder.zext(builder.bitcast(inside, ir.IntType(FLOATS)), _INT64)


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
