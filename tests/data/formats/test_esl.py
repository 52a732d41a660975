import gzip

import numpy as np
import pytest
from tests.data.formats.samples import ESL, from_path

from separatrix.data.formats import esl, numbers
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource
from separatrix.errors import DataFileError

read_esl = from_path(esl.read_esl)


def test_the_label_comes_first(write):
    found = read_esl(write(ESL))
    assert found.y.tolist() == [6, 5, 0]
    assert found.X.tolist() == [[-1, -0.5, 1e-3], [0.25, 0.5, 1], [1, 2, 3]]
    assert found.y.dtype == np.intp


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
def test_blocks_of_any_size_give_what_numpy_gives(tmp_path, monkeypatch, block):
    rng = np.random.default_rng(0)
    table = np.c_[rng.integers(0, 10, 50), rng.normal(size=(50, 9))]
    path = tmp_path / "zip.test.gz"
    np.savetxt(path, table, fmt="%.17g")
    reading = ByteSource.read
    monkeypatch.setattr(ByteSource, "read", lambda self, size=block: reading(self, block))

    found = read_esl(path)

    np.testing.assert_array_equal(np.c_[found.y, found.X], np.loadtxt(path))
    assert found.image == (3, 3)


def test_the_slow_pass_reads_what_the_fast_one_does(write, monkeypatch):
    path = write(ESL)
    fast = read_esl(path)
    monkeypatch.setattr(numbers, "_parse_numbers", lambda *_: None)
    slow = read_esl(path)
    np.testing.assert_array_equal(slow.X, fast.X)
    np.testing.assert_array_equal(slow.y, fast.y)


@pytest.mark.parametrize(
    ("content", "where", "sentence"),
    [
        (b"", (0, 0), "found no numbers, expected at least one line of them"),
        (b"\n \n", (0, 0), "found no numbers"),
        (b"1 2 3\n4 5\n", (2, 0), "found 2 numbers, expected 3"),
        (b"1 2 3\n4 5 6 7\n", (2, 0), "found 4 numbers, expected 3"),
        (b"1 2 3\n4 x 6\n", (2, 3), "found 'x', expected a finite number"),
        (b"1 2 3\n\n4 5 1e999\n", (3, 5), "found '1e999', expected a finite number"),
        (b"1 nan 3\n", (1, 3), "found 'nan'"),
        (b"1 1_0 3\n", (1, 3), "found '1_0'"),
        (b"1 0x1 3\n", (1, 3), "found '0x1'"),
        (b"1 2-3 3\n", (1, 3), "found '2-3'"),
        (b"1 2\0 3\n", (1, 3), r"found '2\\x00'"),
        (b"1 2\x1f3 4\n", (1, 3), r"found '2\\x1f3', expected a finite number"),
        (b"\x1f.5 2\n", (1, 1), r"found '\\x1f.5', expected a finite number"),
        (b"1 2\n1.5 2\n", (2, 1), "found '1.5', expected an integer, the class"),
        (b"1 2\n1e300 2\n", (2, 1), "found '1e300', expected an integer, the class"),
        (b"1\n2\n", (1, 0), "expected a class and at least one value"),
        ("1 ２\n".encode(), (1, 3), "expected a finite number"),
    ],
)
def test_an_error_says_where(write, content, where, sentence):
    with pytest.raises(DataFileError, match=sentence) as refusal:
        read_esl(write(content))
    assert (refusal.value.line, refusal.value.column) == where


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(rows=2), "more than 2 rows"),
        (Limits(columns=3), "more than 3 columns"),
        (Limits(values=11), "more than 11 values"),
        (Limits(line_bytes=20), "a line of more than 20 bytes"),
    ],
)
def test_limits_hold(write, limits, sentence):
    with pytest.raises(DataFileError, match=sentence):
        read_esl(write(ESL), limits)


@pytest.mark.slow
def test_a_bomb_is_refused(write):
    path = write(gzip.compress(b"1 2\n" * 5_000_000), "bomb.gz")
    with pytest.raises(DataFileError, match="more than 200 bytes for each compressed byte"):
        read_esl(path)
