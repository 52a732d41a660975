"""Triton programs of the kernel perceptron: scan a block of examples, add the rows of its mistakes.

A scan keeps the block's scores in registers. It finds the first mistake by a reduction, adds the
kernel row of that example to the scores of those that follow, and continues from it, so the mistakes
are those of the sequential algorithm. At its end it appends its mistakes to the log of the pass.

All programs share their tables, F fits over E examples with P scores each on n rows:
    S (F, P, n), met (F, width) examples in order, rows and codes (E,), sides (kinds, P), rates (2, E),
    live: the active fits, lengths (F,), wrong (F, width), scores_met (F, P, BLOCK) if KEEP: the scores
    that the block's examples had when they were met, for the problems that they take no part in as well,
    log: keys, columns, log_rows, deltas, filled up to `cursor`; first and counts: each list's part of it.
Kernel values come from rows of length `stride` in `slots`, or, TILED, from one tile for each live fit.
"""

from __future__ import annotations

import triton
import triton.language as tl

SIZES = ["start", "n", "width", "n_problems", "n_examples", "stride", "alone"]


@triton.jit
def _kernel_values(  # type: ignore[no-untyped-def]
    K, slots, row, at, turn, part, BLOCK: tl.constexpr, TILED: tl.constexpr
):
    """Start of a block's kernel values, and the row and column of each example in them."""
    values = K
    position = at.to(tl.int64)
    column = position
    if TILED:
        values = K + turn * BLOCK * BLOCK
    else:
        position = tl.load(slots + row, mask=part, other=0).to(tl.int64)
        column = row
    return values, position, column


@triton.jit(do_not_specialize=SIZES)
def scan_signs(  # type: ignore[no-untyped-def]
    K, slots, S, met, rows, codes, sides, rates, live, lengths, wrong, keys, columns, log_rows, deltas,
    cursor, first, counts, scores_met, start, n, width, n_problems, n_examples, stride,
    BLOCK: tl.constexpr, TILED: tl.constexpr, KEEP: tl.constexpr,
):  # fmt: skip
    """One problem of one fit: if target times score is not above 0, the row is added."""
    fits = tl.num_programs(0) // n_problems
    turn = (tl.program_id(0) % fits).to(tl.int64)
    fit = tl.load(live + turn).to(tl.int64)
    problem = (tl.program_id(0) // fits).to(tl.int64)
    begin = fit * width + start
    at = tl.arange(0, BLOCK)
    inside = start + at < tl.load(lengths + fit)
    example = tl.load(met + begin + at, mask=inside, other=0).to(tl.int64)
    row = tl.load(rows + example, mask=inside, other=0).to(tl.int64)
    code = tl.load(codes + example, mask=inside, other=0).to(tl.int64)
    target = tl.load(sides + code * n_problems + problem, mask=inside, other=0).to(tl.float64)
    part = target != 0
    scored = part
    if KEEP:
        scored = inside
    score = tl.load(S + (fit * n_problems + problem) * n + row, mask=scored, other=0.0)
    values, position, column = _kernel_values(K, slots, row, at, turn, scored, BLOCK, TILED)
    # one reduction finds both the next mistake and its kernel row
    key = (at.to(tl.int64) << 32) | position
    nothing = tl.full([], BLOCK, tl.int64) << 32
    mistaken = tl.zeros([BLOCK], tl.int32)
    found = tl.min(tl.where(part & (target * score <= 0), key, nothing), axis=0)
    while found < nothing:
        now = (found >> 32).to(tl.int32)
        later = scored & (at > now)
        k = tl.load(values + (found & 0xFFFFFFFF) * stride + column, mask=later, other=0.0)
        own = tl.load(met + begin + now).to(tl.int64)
        side = tl.load(sides + tl.load(codes + own).to(tl.int64) * n_problems + problem)
        added = tl.load(rates + own)
        taken = tl.load(rates + n_examples + own)
        score += tl.where(side > 0, added, -taken) * k.to(tl.float64)
        mistaken = tl.where(at == now, 1, mistaken)
        found = tl.min(tl.where(part & later & (target * score <= 0), key, nothing), axis=0)
    if KEEP:
        tl.store(scores_met + (turn * n_problems + problem) * BLOCK + at, score, mask=inside)
    count = tl.sum(mistaken, axis=0)
    entry = tl.atomic_add(cursor, count.to(tl.int64))
    tl.store(first + fit * n_problems + problem, entry)
    tl.store(counts + fit * n_problems + problem, count)
    if count > 0:
        ours = mistaken > 0
        slot = entry + tl.cumsum(mistaken, axis=0) - 1
        added = tl.load(rates + example, mask=ours, other=0.0)
        taken = tl.load(rates + n_examples + example, mask=ours, other=0.0)
        tl.store(keys + slot, (begin + at) * n_problems + problem, mask=ours)
        tl.store(columns + slot, tl.zeros([BLOCK], tl.int32) + problem.to(tl.int32), mask=ours)
        tl.store(log_rows + slot, row.to(tl.int32), mask=ours)
        tl.store(deltas + slot, tl.where(target > 0, added, -taken), mask=ours)
        tl.store(wrong + begin + at, tl.full([BLOCK], 1, tl.int8), mask=ours)


@triton.jit(do_not_specialize=SIZES)
def scan_argmax(  # type: ignore[no-untyped-def]
    K, slots, S, met, rows, codes, rates, live, lengths, wrong, keys, columns, log_rows, deltas,
    cursor, first, counts, start, n, width, n_problems, n_examples, stride,
    CLASSES: tl.constexpr, BLOCK: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """All classes of one fit: if another class scores highest, it loses the row to the example's own."""
    turn = tl.program_id(0).to(tl.int64)
    fit = tl.load(live + turn).to(tl.int64)
    begin = fit * width + start
    at = tl.arange(0, BLOCK)
    c = tl.arange(0, CLASSES)
    inside = start + at < tl.load(lengths + fit)
    example = tl.load(met + begin + at, mask=inside, other=0).to(tl.int64)
    row = tl.load(rows + example, mask=inside, other=0).to(tl.int64)
    own = tl.load(codes + example, mask=inside, other=0)
    part = inside
    score = tl.load(
        S + (fit * n_problems + c.to(tl.int64)[:, None]) * n + row[None, :],
        mask=(c < n_problems)[:, None] & part[None, :],
        other=float("-inf"),
    )
    values, position, column = _kernel_values(K, slots, row, at, turn, part, BLOCK, TILED)
    key = (at.to(tl.int64) << 47) | position
    nothing = tl.full([], BLOCK, tl.int64) << 47
    mistaken = tl.zeros([BLOCK], tl.int32)
    guessed = tl.zeros([BLOCK], tl.int32)
    best = tl.max(score, axis=0)
    guess = tl.min(tl.where(score == best[None, :], c[:, None], CLASSES), axis=0)
    found = tl.min(
        tl.where(part & (guess != own), key | (guess.to(tl.int64) << 32), nothing), axis=0
    )
    while found < nothing:
        now = (found >> 47).to(tl.int32)
        rival = ((found >> 32) & 0x7FFF).to(tl.int32)
        later = part & (at > now)
        k = tl.load(values + (found & 0xFFFFFFFF) * stride + column, mask=later, other=0.0)
        this = tl.load(met + begin + now).to(tl.int64)
        owner = tl.load(codes + this)
        added = tl.load(rates + this)
        taken = tl.load(rates + n_examples + this)
        step = tl.where(c == owner, added, 0.0) - tl.where(c == rival, taken, 0.0)
        score += step[:, None] * k.to(tl.float64)[None, :]
        mistaken = tl.where(at == now, 1, mistaken)
        guessed = tl.where(at == now, rival, guessed)
        best = tl.max(score, axis=0)
        guess = tl.min(tl.where(score == best[None, :], c[:, None], CLASSES), axis=0)
        wanted = later & (guess != own)
        found = tl.min(tl.where(wanted, key | (guess.to(tl.int64) << 32), nothing), axis=0)
    count = 2 * tl.sum(mistaken, axis=0)
    entry = tl.atomic_add(cursor, count.to(tl.int64))
    tl.store(first + fit, entry)
    tl.store(counts + fit, count)
    if count > 0:
        ours = mistaken > 0
        slot = entry + 2 * (tl.cumsum(mistaken, axis=0) - 1)
        added = tl.load(rates + example, mask=ours, other=0.0)
        taken = tl.load(rates + n_examples + example, mask=ours, other=0.0)
        tl.store(keys + slot, (begin + at) * 2, mask=ours)
        tl.store(keys + slot + 1, (begin + at) * 2 + 1, mask=ours)
        tl.store(columns + slot, own, mask=ours)
        tl.store(columns + slot + 1, guessed, mask=ours)
        tl.store(log_rows + slot, row.to(tl.int32), mask=ours)
        tl.store(log_rows + slot + 1, row.to(tl.int32), mask=ours)
        tl.store(deltas + slot, added, mask=ours)
        tl.store(deltas + slot + 1, -taken, mask=ours)
        tl.store(wrong + begin + at, tl.full([BLOCK], 1, tl.int8), mask=ours)


@triton.jit(do_not_specialize=SIZES)
def add_rows(  # type: ignore[no-untyped-def]
    K, slots, S, live, columns, log_rows, deltas, first, counts, n, n_problems, stride, alone,
    EVENTS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Add the rows of the block's mistakes to the scores of all n, for one problem of one fit.

    If `alone` is 1 a problem has its own list; otherwise a fit has one list for all problems.
    """
    fit = tl.load(live + tl.program_id(1)).to(tl.int64)
    parts = tl.cdiv(n, WIDTH)
    problem = tl.program_id(0) // parts
    own = fit * n_problems + problem
    ours = tl.where(alone == 1, own, fit)
    count = tl.load(counts + ours)
    if count > 0:
        begin = tl.load(first + ours)
        column = (tl.program_id(0) % parts).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
        inside = column < n
        total = tl.zeros([EVENTS, WIDTH], tl.float64)
        done = count * 0
        while done < count:
            event = done + tl.arange(0, EVENTS)
            used = event < count
            used = used & (tl.load(columns + begin + event, mask=used, other=-1) == problem)
            row = tl.load(log_rows + begin + event, mask=used, other=0).to(tl.int64)
            position = tl.load(slots + row, mask=used, other=-1).to(tl.int64)
            used = used & (position >= 0)
            delta = tl.load(deltas + begin + event, mask=used, other=0.0)
            k = tl.load(
                K + position[:, None] * stride + column[None, :],
                mask=used[:, None] & inside[None, :],
                other=0.0,
            )
            total += delta[:, None] * k.to(tl.float64)
            done += EVENTS
        target = S + own * n + column
        score = tl.load(target, mask=inside, other=0.0)
        tl.store(target, score + tl.sum(total, axis=0), mask=inside)
