"""A model file that lost a bit or an end is refused, whatever kind of model is in it."""

import numpy as np
import pytest
from tests.modelfile.cases import CASES

from separatrix import load, save
from separatrix.errors import ModelFileError

KINDS = {type(case.model).__name__: case for case in reversed(CASES)}
FLIPS, CUTS = 200, 100
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
def test_a_bit_that_flips_anywhere_is_noticed(case, tmp_path):
    path = save(case.fitted(), tmp_path / "x.model")
    raw = path.read_bytes()
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(raw), FLIPS, replace=False).tolist():
        refused(path, flipped(raw, bit))
    path.write_bytes(raw)
    load(path)


@pytest.mark.slow
@EVERY_KIND
def test_a_file_that_was_cut_short_or_grew_is_noticed(case, tmp_path):
    path = save(case.fitted(), tmp_path / "x.model")
    raw = path.read_bytes()
    rng = np.random.default_rng(1)
    for length in rng.choice(len(raw), CUTS, replace=False).tolist():
        assert refused(path, raw[:length]) in ("format", "size", "checksum", "schema")
    assert refused(path, raw + raw[-1:]) == "size"


@pytest.mark.slow
@EVERY_KIND
def test_bytes_that_change_places_are_noticed(case, tmp_path):
    path = save(case.fitted(), tmp_path / "x.model")
    raw = path.read_bytes()
    rng = np.random.default_rng(2)
    for _ in range(50):
        first, second = rng.integers(len(raw), size=2)
        changed = bytearray(raw)
        changed[first], changed[second] = raw[second], raw[first]
        if changed != raw:
            refused(path, changed)


@pytest.mark.long
@EVERY_KIND
def test_every_bit_and_every_length(case, tmp_path):
    path = save(case.fitted(), tmp_path / "x.model")
    raw = path.read_bytes()
    for bit in range(8 * len(raw)):
        refused(path, flipped(raw, bit))
    for length in range(len(raw)):
        refused(path, raw[:length])
