"""A model file that lost a bit or an end is refused, whatever kind of model is in it."""

import numpy as np
import pytest
from tests.modelfile.cases import CASES

from separatrix import load, save
from separatrix.errors import ModelFileError

KINDS = {type(case.model).__name__: case for case in reversed(CASES)}
FLIPS, CUTS, SWAPS = 200, 100, 50
EVERY_KIND = pytest.mark.parametrize("case", KINDS.values(), ids=KINDS)


def refused(path, raw):
    path.write_bytes(raw)
    with pytest.raises(ModelFileError) as raised:
        load(path)
    return raised.value.reason


def flipped(raw, bit):
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return changed


@pytest.mark.slow
@EVERY_KIND
def test_flipped_bits_other_lengths_and_swapped_bytes_are_noticed(case, path):
    raw = save(case.fitted(), path).read_bytes()
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(raw), FLIPS, replace=False).tolist():
        refused(path, flipped(raw, bit))
    for length in rng.choice(len(raw), CUTS, replace=False).tolist():
        assert refused(path, raw[:length]) in ("format", "size", "checksum", "schema")
    assert refused(path, raw + raw[-1:]) == "size"
    for first, second in rng.integers(len(raw), size=(SWAPS, 2)).tolist():
        changed = bytearray(raw)
        changed[first], changed[second] = raw[second], raw[first]
        if changed != raw:
            refused(path, changed)
    path.write_bytes(raw)
    load(path)


@pytest.mark.long
@EVERY_KIND
def test_every_bit_and_every_length(case, path):
    raw = save(case.fitted(), path).read_bytes()
    for bit in range(8 * len(raw)):
        refused(path, flipped(raw, bit))
    for length in range(len(raw)):
        refused(path, raw[:length])
