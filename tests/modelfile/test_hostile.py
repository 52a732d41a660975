"""Files made to do harm are refused, or are models like any other: no crash, no hang, no memory."""

import numpy as np
import pytest
from tests.modelfile.cases import CASES
from tests.modelfile.hostile import Maker, dumped, load_within_limits, refused_after, sign

from separatrix import describe, load, save
from separatrix.errors import ModelFileError
from separatrix.modelfile.container import LARGEST_HEADER, NO_DIGEST

MANY, VERY_MANY = 2_500, 200_000
PARTS = 5


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    paths = []
    for case in CASES:
        for slim in (False, True):
            paths.append(save(case.fitted(), folder / f"{case.name}-{slim}.model", slim=slim))
            load(paths[-1])  # compiled before the clock runs
    return paths


def many(sources, path, numbers):
    maker = Maker(sources)
    reasons = {}
    for number in numbers:
        path.write_bytes(maker.one(number))
        samples = CASES[number % len(sources) // 2].X
        try:
            reason = load_within_limits(path, samples)
        except BaseException as error:
            raise AssertionError(
                f"file {number} of {sources[number % len(sources)].name}"
            ) from error
        reasons[reason] = reasons.get(reason, 0) + 1
    return reasons


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_files_with_the_right_checksum_do_no_harm(sources, tmp_path, part):
    size = MANY // PARTS
    reasons = many(sources, tmp_path / "x.model", range(part * size, (part + 1) * size))
    assert reasons["schema"] + reasons["invariant"] > 0.6 * size
    assert reasons.get("checksum", 0) + reasons.get("format", 0) < 0.1 * size  # they were signed


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_very_many_files_with_the_right_checksum_do_no_harm(sources, tmp_path, part):
    size = VERY_MANY // 20
    begin = MANY + part * size
    many(sources, tmp_path / "x.model", range(begin, begin + size))


LARGE = {
    "tensors": {f"@x{i}": np.zeros(0) for i in range(100_000)},
    "many small tensors": {f"@x{i}": np.zeros(0) for i in range(8_000)},
    "lists": {"card.note": [[]] * (LARGEST_HEADER // 4)},
    "objects": {"card.note": [{"a": {}}] * (LARGEST_HEADER // 16)},
    "numbers": {"card.note": [0.5] * (LARGEST_HEADER // 5)},
    "words": {"card.note": [f"{i:x}" for i in range(LARGEST_HEADER // 12)]},
    "keys": {"card.versions": {f"{i:x}": "" for i in range(LARGEST_HEADER // 18)}},
    "quotes": {"card.note": '"' * (LARGEST_HEADER // 5)},
    "zeros": {"@.rows": np.zeros((30, 2**16))},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_file_that_asks_for_much_is_refused_quickly(name, path):
    assert refused_after(CASES[0].fitted(), LARGE[name], path)


def test_a_deep_header_is_refused_quickly(path):
    text = '{"sha256":"' + NO_DIGEST + '","format":1,"card":' + "[" * (LARGEST_HEADER // 2)
    path.write_bytes(sign(dumped({"__metadata__": {"separatrix": text}}).encode()))
    assert load_within_limits(path) == "schema"


@pytest.mark.slow
def test_a_file_of_holes_is_refused_before_it_is_read(sources, path):
    path.write_bytes(sources[0].read_bytes())
    with path.open("r+b") as file:
        file.truncate(2**41)
    assert load_within_limits(path) == "size"


@pytest.mark.slow
def test_describing_is_as_safe_as_loading(sources, tmp_path):
    maker, path = Maker(sources), tmp_path / "x.model"
    said = 0
    for number in range(500):
        path.write_bytes(maker.one(number))
        try:
            found = describe(path)
        except ModelFileError:
            continue
        said += 1
        for line in found.markdown().splitlines():
            assert line.isprintable()
        dumped(found.as_dict())
    assert said > 50
