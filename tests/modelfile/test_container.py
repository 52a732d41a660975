"""The container: read back exactly, by us and by safetensors, and refused once it has changed."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from safetensors.numpy import load_file
from tests.modelfile.hostile import sign

from separatrix.errors import ModelFileError
from separatrix.modelfile.container import BEGIN, LARGEST_HEADER, read_container, write_container
from separatrix.runtime.strict_json import parsed_json

TENSORS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "flags": np.array([True, False, True]),
    "nobody": np.empty((0, 4), dtype=np.float32),
    "number": np.array(7, dtype=np.int16),
    "a.b[0]": np.arange(5, dtype=np.uint8),
}
DOCUMENT = {"format": 1, "words": ["naïve", 'a "quoted" one', "\\"], "number": 0.1}


def any_version(_):
    return None


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.model"
    write_container(path, DOCUMENT, TENSORS)
    return path


def header_of(document='{"sha256":"' + "0" * 64 + '","format":1}', **table):
    whole = {"__metadata__": {"separatrix": document}, **table}
    return json.dumps(whole, separators=(",", ":")).encode()


def refused(path, raw):
    path.write_bytes(raw)
    with pytest.raises(ModelFileError) as raised:
        read_container(path, versions=any_version)
    assert "\n" not in str(raised.value)
    assert raised.value.reason in ModelFileError.REASONS
    return raised.value.reason


def test_what_was_written_is_read(path):
    contents = read_container(path, versions=any_version)
    assert contents.document == DOCUMENT
    assert contents.nbytes == path.stat().st_size
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(contents.tensors[name], array, strict=True)
        assert contents.tensors[name].flags.writeable


def test_safetensors_reads_it_too(path):
    found = load_file(path)
    assert found.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


def test_the_same_model_gives_the_same_bytes(path, tmp_path):
    other = tmp_path / "other.model"
    write_container(other, DOCUMENT, dict(reversed(TENSORS.items())))
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("kind", ["f8", "i4", "u2", "f4"])
def test_bytes_are_little_endian_whatever_the_array_was(tmp_path, kind):
    values = np.arange(5).astype(f">{kind}")
    write_container(tmp_path / "a", {"format": 1}, {"values": values})
    write_container(tmp_path / "b", {"format": 1}, {"values": values.astype(f"<{kind}")})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    found = read_container(tmp_path / "a", versions=any_version).tensors["values"]
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, values)


@pytest.mark.slow
def test_every_flipped_bit_and_every_missing_byte_is_noticed(path):
    raw = path.read_bytes()
    for bit in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        refused(path, changed)
    for length in range(len(raw)):
        refused(path, raw[:length])
    assert refused(path, raw + b"\0") == "size"


def test_a_version_that_is_not_known_is_said_first(tmp_path):
    path = tmp_path / "later.model"
    text = '{"sha256":"' + "0" * 64 + '","format":7}'
    entry = {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}  # what we do not read yet
    path.write_bytes(sign(header_of(text, x=entry), b"ab"))
    with pytest.raises(ModelFileError, match="seven") as raised:
        read_container(path, versions=lambda found: "seven" if found == 7 else None)
    assert raised.value.reason == "version"


def entry(dtype="F64", shape=(1,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


EIGHT = b"12345678"


@pytest.mark.parametrize(
    ("table", "data", "reason"),
    [
        ({"x": entry("F128")}, EIGHT, "schema"),
        ({"x": entry(["F64"])}, EIGHT, "schema"),
        ({"x": entry(shape=[2])}, EIGHT, "schema"),
        ({"x": entry(shape=[-1])}, EIGHT, "schema"),
        ({"x": entry(shape=[True])}, EIGHT, "schema"),
        ({"x": entry(shape=[1.0])}, EIGHT, "schema"),
        ({"x": entry(shape=[1] * 9)}, EIGHT, "schema"),
        ({"x": entry(shape=[2**62, 2**62], offsets=[0, 8])}, EIGHT, "schema"),
        ({"x": entry(shape=[0, 2**48, 2**48], offsets=[0, 0])}, b"", "schema"),
        ({"x": entry("BOOL", [8], [0, 8])}, EIGHT, "schema"),
        ({"x": entry(offsets=[8, 16])}, EIGHT * 2, "schema"),
        ({"x": entry(), "y": entry()}, EIGHT, "schema"),  # one over the other
        ({"x": entry(), "y": entry(offsets=[16, 24])}, EIGHT * 3, "schema"),  # a gap
        ({"x": entry(more=1)}, EIGHT, "schema"),
        ({"x": {"dtype": "F64"}}, EIGHT, "schema"),
        ({"x": 3}, EIGHT, "schema"),
        ({"x" * 201: entry()}, EIGHT, "schema"),
        ({"x": entry()}, EIGHT * 2, "size"),
        ({"x": entry()}, b"", "size"),
        ({"x": entry(shape=[2**40], offsets=[0, 2**43])}, EIGHT, "size"),
        ({f"x{i}": entry(shape=[0], offsets=[0, 0]) for i in range(1025)}, b"", "limit"),
    ],
)
def test_a_table_with_the_right_checksum_is_not_believed(tmp_path, table, data, reason):
    assert refused(tmp_path / "x.model", sign(header_of(**table), data)) == reason


def test_arrays_at_odd_addresses_are_aligned(tmp_path):
    table = {"x": entry("U8", [1], [0, 1]), "y": entry(offsets=[1, 9])}
    (tmp_path / "x.model").write_bytes(sign(header_of(**table), b"\7" + np.float64(0.1).tobytes()))
    found = read_container(tmp_path / "x.model", versions=any_version).tensors
    assert (found["x"], found["y"]) == (7, 0.1)
    assert found["y"].flags.aligned


INSIDE = '{"sha256":"' + "0" * 64 + '",'


@pytest.mark.parametrize(
    "text",
    [
        INSIDE + '"format":1,"format":1}',
        INSIDE + '"format":1,"sha256":"a"}',
        INSIDE + '"format":NaN}',
        INSIDE + '"format":Infinity}',
        INSIDE + '"format":1e999}',
        INSIDE + '"format":' + "9" * 30 + "}",
        INSIDE + '"format":' + "9" * 5000 + "}",
        INSIDE + '"format":1.' + "0" * 100 + "}",
        INSIDE + '"format":' + "[" * 100_000 + "}",
        INSIDE + '"format":' + "[" * 70 + "]" * 70 + "}",
        INSIDE + '"format":1',
        INSIDE + '"format":1}]',
        INSIDE + "}",
        INSIDE,
    ],
)
def test_a_document_that_is_ambiguous_or_too_much_is_refused(tmp_path, text):
    assert refused(tmp_path / "x.model", sign(header_of(text))) == "schema"


def test_a_header_with_other_metadata_is_refused(tmp_path):
    header = header_of().replace(b'"}}', b'","more":""}}')
    assert header.startswith(BEGIN)
    assert refused(tmp_path / "x.model", sign(header)) == "schema"
    twice = header_of().replace(b'"}}', b'"},"__metadata__":{}}')
    assert refused(tmp_path / "x.model", sign(twice)) == "schema"
    assert refused(tmp_path / "x.model", sign(header_of() + b"\xff")) == "schema"


def test_a_header_is_no_longer_than_the_limit(tmp_path):
    path = tmp_path / "x.model"
    raw = bytearray(sign(header_of()))
    raw[:8] = (LARGEST_HEADER + 8).to_bytes(8, "little")
    assert refused(path, raw) == "limit"
    raw[:8] = (2**63).to_bytes(8, "little")
    assert refused(path, raw) == "limit"
    raw[:8] = (LARGEST_HEADER - 8).to_bytes(8, "little")
    assert refused(path, raw) == "size"
    with pytest.raises(
        ModelFileError, match=r"the JSON header is 1\.0 MiB; the limit is 1\.0 MiB"
    ) as raised:
        write_container(path, {"format": 1, "words": "x" * LARGEST_HEADER}, {})
    assert raised.value.reason == "limit"
    with pytest.raises(ModelFileError, match="1025 arrays"):
        write_container(path, {}, {str(i): np.zeros(0) for i in range(1025)})


@pytest.mark.parametrize("raw", [b"", b"\0" * 200, b"\x80\x04N.", b"PK\x03\x04" * 50, b'{"a": 1}'])
def test_files_of_others_are_refused(tmp_path, raw):
    assert refused(tmp_path / "x.model", raw) == "format"


def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    with pytest.raises(ModelFileError, match="no file") as raised:
        read_container(tmp_path / "nothing.model", versions=any_version)
    assert raised.value.reason == "missing"
    with pytest.raises(ModelFileError, match="not a regular file") as raised:
        read_container(tmp_path, versions=any_version)
    assert raised.value.reason == "unreadable"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_container(tmp_path / "pipe", versions=any_version)


def test_a_file_that_shrinks_while_it_is_read_is_refused(path, monkeypatch):
    class Shorter:
        def __init__(self, file):
            self.file = file

        def __getattr__(self, name):
            return getattr(self.file, name)

        def readinto(self, piece):
            return self.file.readinto(piece) - 1

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

    opened = os.fdopen
    monkeypatch.setattr(os, "fdopen", lambda *args: Shorter(opened(*args)))
    with pytest.raises(ModelFileError):
        read_container(path, versions=any_version)


def test_two_threads_may_write_the_same_file(tmp_path):
    path = tmp_path / "both.model"
    tensors = {"x": np.zeros(100_000)}
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: write_container(path, {"format": 1}, tensors), range(20)))
    read_container(path, versions=any_version)
    assert os.listdir(tmp_path) == ["both.model"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, -2.5e3, "[[[{{{", true, null]}', {"a": [1, -2500.0, "[[[{{{", True, None]}),
        ('"' + "[" * 1000 + '"', "[" * 1000),
        ('"\\"[\\\\"', '"[\\'),
        ("-9223372036854775808", -(2**63)),
        ("0.1", 0.1),
    ],
)
def test_plain_json_is_read(text, value):
    assert parsed_json(text) == value
