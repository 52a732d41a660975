import bz2
import gzip
import lzma
import os
import stat
import zlib

import pytest

from separatrix.app.decisions import read_costs
from separatrix.data.limits import Limits
from separatrix.data.read import FORMATS, read
from separatrix.data.regular_files import read_regular
from separatrix.data.streams import open_
from separatrix.errors import DataFileError, MissingDataError
from separatrix.experiments.spec import read_spec
from separatrix.serving.serving_options import read_tokens

PACKERS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
WORDS = b"".join(b"%d some words\n" % number for number in range(20_000))


@pytest.mark.parametrize("kind", PACKERS)
def test_whatever_a_file_is_packed_with_its_bytes_come_out(tmp_path, kind):
    (tmp_path / "a").write_bytes(PACKERS[kind](WORDS))
    with open_(tmp_path / "a") as source:
        assert source.read_all() == WORDS


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_several_streams_are_one_and_nothing_is_one_too(tmp_path, kind):
    (tmp_path / "a").write_bytes(PACKERS[kind](b"one\n") + PACKERS[kind](b"two\n"))
    (tmp_path / "b").write_bytes(PACKERS[kind](b""))
    with open_(tmp_path / "a") as source:
        assert source.read_all() == b"one\ntwo\n"
    with open_(tmp_path / "b") as source:
        assert source.read_all() == b""


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_packed_file_that_is_damaged_is_refused(tmp_path, kind, damage):
    packed = bytearray(PACKERS[kind](os.urandom(1000)))
    if damage == "cut":
        del packed[-20:]
    else:
        packed[len(packed) // 2] ^= 255
    (tmp_path / "a").write_bytes(packed)
    with (
        open_(tmp_path / "a") as source,
        pytest.raises(DataFileError, match="truncated or damaged"),
    ):
        source.read_all()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("rest", [b"garbage", b"BZg", b"\0\0\0x"])
def test_what_follows_a_packed_file_is_not_dropped(tmp_path, kind, rest):
    """bzip2 would drop it, and with it all after a damaged beginning of a second stream."""
    (tmp_path / "a").write_bytes(PACKERS[kind](WORDS) + rest)
    with (
        open_(tmp_path / "a") as source,
        pytest.raises(DataFileError, match="truncated or damaged"),
    ):
        source.read_all()


@pytest.mark.parametrize(("zeros", "complete"), [(4, True), (2 << 20, True), (3, False)])
def test_zeros_after_an_xz_file_come_in_fours(tmp_path, zeros, complete):
    (tmp_path / "a").write_bytes(lzma.compress(WORDS) + bytes(zeros))
    with open_(tmp_path / "a") as source:
        if complete:
            assert source.read_all() == WORDS
            return
        with pytest.raises(DataFileError, match="3 zeros"):
            source.read_all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, kind):
    (tmp_path / "a").write_bytes(PACKERS[kind](bytes(64 << 20)))
    with open_(tmp_path / "a") as source, pytest.raises(DataFileError, match="200 bytes for each"):
        source.read_all()


def test_an_xz_file_that_wants_a_gigabyte_is_refused(tmp_path):
    packed = bytearray(lzma.compress(b"a"))
    end = 12 + (packed[12] + 1) * 4 - 4  # of the header of the first block, then its CRC
    assert packed[14:16] == b"\x21\x01"  # LZMA2, one byte about it
    packed[16] = 40  # a dictionary of four gigabytes
    packed[end : end + 4] = zlib.crc32(bytes(packed[12:end])).to_bytes(4, "little")
    (tmp_path / "a").write_bytes(packed)
    with open_(tmp_path / "a") as source, pytest.raises(DataFileError, match="emory"):
        source.read_all()


def test_blocks_are_whole_lines_and_all_of_them(tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(WORDS + b"last"))
    with open_(tmp_path / "a") as source:
        blocks = list(source.blocks())
    assert b"".join(blocks) == WORDS + b"last"
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize("text", [b"a\n" + b"b" * 11 + b"\nc\n", b"a\n" + b"b" * 11])
def test_a_line_too_long_is_refused_with_its_number(tmp_path, text):
    (tmp_path / "a").write_bytes(text)
    with (
        open_(tmp_path / "a", Limits(line_bytes=10)) as source,
        pytest.raises(DataFileError) as caught,
    ):
        list(source.blocks())
    assert (caught.value.line, "line_bytes" in caught.value.hint) == (2, True)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(DataFileError, match="not a regular file"), open_(tmp_path / name):
            pass
    with pytest.raises(MissingDataError, match="there is no file"), open_(tmp_path / "nothing"):
        pass
    (tmp_path / "large").write_bytes(b"12345")
    few = Limits(bytes=4)
    with pytest.raises(DataFileError, match="at most 4"), open_(tmp_path / "large", few):
        pass


def test_what_the_system_cannot_read_is_refused_by_its_name():
    for name in ("/dev/zero", "/proc/self/mem"):
        with pytest.raises(DataFileError, match=f"{name}: found an unreadable file"):
            read(name, format="csv")
        with pytest.raises(DataFileError, match=name):
            read(name)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_every_reader_refuses_a_pipe_at_once(tmp_path, format):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("pipe", "folder/folder_A.txt"):
        os.mkfifo(tmp_path / name)
    path = folder if format == "tu" else tmp_path / "pipe"
    with pytest.raises((DataFileError, MissingDataError), match=str(path)):
        read(path, format=format)


def test_files_of_options_are_no_pipes(tmp_path):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for function in (
        read_spec,
        read_tokens,
        lambda path: read_costs(path, ["a", "b"]),
        read_regular,
    ):
        with pytest.raises(OSError, match="a pipe, not a regular file") as raised:
            function(pipe)
        assert raised.value.filename == str(pipe)


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="no files of the kernel")
@pytest.mark.parametrize("name", ["kmsg", "self/mem", "self/environ", "kcore", "cpuinfo"])
def test_files_of_the_kernel_are_refused_before_they_are_read(name, tmp_path):
    path = f"/proc/{name}"
    if not os.access(path, os.R_OK) or not stat.S_ISREG(os.stat(path).st_mode):
        pytest.skip(f"{path} is masked here")
    link = tmp_path / "table.csv"
    link.symlink_to(path)
    for file in (path, link):
        with (
            pytest.raises(DataFileError, match="a file of the kernel, not a regular file") as one,
            open_(file),
        ):
            pass
        assert str(file) in str(one.value)
