"""Model files that are damaged, and files with the right checksum that were made to do harm."""

import copy
import os
import time
from contextlib import suppress
from functools import cache

import numpy as np
from tests.campaigns.campaign import Campaign, NoMore, chosen, folder
from tests.modelfile.cases import CASES
from tests.modelfile.hostile import (
    MEMORY,
    PARSES,
    Maker,
    begin_anew,
    load_within_limits,
    longest_parse,
    processor_time,
    resident,
    signed,
    use,
    usual_parse,
    walked,
)

from separatrix import load, save
from separatrix.errors import ModelFileError

LARGE = (10**3, 10**4, 10**5, 10**6, 10**7, 2**31 - 1, 2**40, 2**53)
PRECISE = 150  # what a first use may take, which may compile, in times to parse the longest header


@cache
def source(number):
    """The file of a case, whole or slim, and its samples; used once, so that its loops are compiled."""
    case, slim = CASES[number // 2 % len(CASES)], bool(number % 2)
    path = save(case.fitted(), folder() / f"{case.name}-{slim}.model", slim=slim)
    use(load(path), case.X)
    return path, case.X


@cache
def content(number):
    return source(number)[0].read_bytes()


@cache
def wholes():
    return {content(number) for number in range(2 * len(CASES))}


@cache
def maker():
    return Maker([source(number)[0] for number in range(2 * len(CASES))])


def damage(number):
    """A file with other bytes is refused as damaged, whatever and wherever they are."""
    rng = np.random.default_rng([1, number])
    own = number % (2 * len(CASES))
    whole = content(own)
    raw = DAMAGES[int(rng.integers(len(DAMAGES)))](bytearray(whole), rng)
    if bytes(raw) in wholes():  # unchanged, or spliced into the other file as it was
        return
    path = folder() / "damaged.model"
    path.write_bytes(raw)
    began = time.process_time()
    try:
        load(path)
    except ModelFileError as error:
        assert error.__cause__ is None or isinstance(error.__cause__, OSError), error
    else:
        raise AssertionError(f"loaded silently, from {source(own)[0].name}")
    assert time.process_time() - began < PARSES * usual_parse(), "slow refusal"


def _flip(raw, rng):
    for _ in range(int(chosen(rng, (1, 1, 1, 2, 8)))):
        raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    return raw


def _burst(raw, rng):
    start = int(rng.integers(len(raw)))
    raw[start : start + int(rng.integers(1, 64))] = rng.bytes(int(rng.integers(1, 64)))
    return raw


def _truncate(raw, rng):
    return raw[: int(rng.integers(len(raw)))]


def _append(raw, rng):
    return raw + rng.bytes(int(rng.integers(1, 64)))


def _splice(raw, rng):
    other = content(int(rng.integers(2 * len(CASES))))
    cut = int(rng.integers(min(len(raw), len(other))))
    return raw[:cut] + other[cut:]


def _swap_blocks(raw, rng):
    size = int(chosen(rng, (8, 64, 512)))
    first, second = (int(rng.integers(max(len(raw) - size, 1))) for _ in range(2))
    a, b = raw[first : first + size], raw[second : second + size]
    raw[first : first + size], raw[second : second + size] = b, a
    return raw


DAMAGES = (_flip, _flip, _burst, _truncate, _append, _splice, _swap_blocks)


@cache
def smallest():
    """The smallest file of every kind of model."""
    by_kind = {}
    for own in range(2 * len(CASES)):
        kind = str(maker().sources[own][0]["model"].get("kind"))
        by_kind[kind] = min(by_kind.get(kind, content(own)), content(own), key=len)
    return list(by_kind.values())


def every_bit(number):
    """Each bit of one byte is flipped, and the file cut there, for all bytes of a file of each kind."""
    for whole in smallest():
        if number < len(whole):
            break
        number -= len(whole)
    else:
        raise NoMore
    path = folder() / "bit.model"
    for bit in range(9):
        raw = bytearray(whole)
        raw[number] ^= 1 << bit & 255
        path.write_bytes(raw if bit < 8 else whole[:number])
        with suppress(ModelFileError):
            load(path)
            raise AssertionError(f"loaded silently: byte {number}, bit {bit} of {len(whole)}")


def hostile(number):
    """A file changed by somebody who can sign it is refused, or is a model like any other."""
    _load_and_use(maker().one(number), source(number % (2 * len(CASES)))[1])


def costly(number):
    """One number of a file becomes large: no small file makes a model that is slow to use."""
    rng = np.random.default_rng([2, number])
    own = number % (2 * len(CASES))
    document, tensors = maker().sources[own]
    document = copy.deepcopy(document)
    spots = [
        (holder, key)
        for holder, key in walked(document["model"])
        if isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
    ]
    for _ in range(int(rng.integers(1, 3))):
        holder, key = chosen(rng, spots) if spots else (document, "format")
        holder[key] = chosen(rng, LARGE)
    _load_and_use(signed(document, tensors), source(own)[1])


def _load_and_use(raw, samples):
    path = folder() / "hostile.model"
    path.write_bytes(raw)
    if load_within_limits(path, samples) is not None:
        return
    model, measured = load(path), begin_anew()
    before = resident()[0] if measured else 0
    for parses in (PRECISE, PARSES):
        took = processor_time(use, model, samples)
        if took < PARSES * usual_parse():
            break
        assert took < parses * longest_parse(), f"use takes {took:.1f} s"
    if measured:
        grown = resident()[1] - before
        assert grown < MEMORY + 2 * os.path.getsize(path), f"use takes {grown >> 20} MB"


CAMPAIGN = Campaign(
    "model files: damaged, cut, spliced; signed by an attacker (load and one use in some 2 s of "
    "processor time and 64 MB + 2 x the file)",
    lambda: {"damage": damage, "every bit": every_bit, "hostile": hostile, "costly": costly},
    short=40,
    middle=15,
    prepare=maker,
    seconds=20.0,
)
