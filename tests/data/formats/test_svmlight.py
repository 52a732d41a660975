import gzip
import os
import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from tests.data.formats import fuzz
from tests.data.formats.samples import SVMLIGHT, from_path

from separatrix.data.formats import pairs, svmlight
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource, open_
from separatrix.errors import DataFileError, ParameterError

read_svmlight = from_path(svmlight.read_svmlight)


def svmlight_blocks(path, limits=None, **options):
    with open_(path, limits) as source:
        yield from svmlight.svmlight_blocks(source, **options)


PLAIN, ZEROS, QUERIES = SVMLIGHT


def same_as_sklearn(path, **options):
    ours = read_svmlight(path, **options)
    X, y = load_svmlight_file(path, **options)
    assert ours.X.shape == X.shape
    np.testing.assert_array_equal(ours.X.indptr, X.indptr)
    np.testing.assert_array_equal(ours.X.indices, X.indices)
    np.testing.assert_array_equal(ours.X.data.view(np.uint64), X.data.view(np.uint64))
    np.testing.assert_array_equal(ours.y, y)
    return ours


@pytest.mark.parametrize(
    "content", [PLAIN, ZEROS, QUERIES, b"", b"\n\n", b"# only this", b"1\n2\n"]
)
@pytest.mark.parametrize("zero_based", ["auto", True])
def test_the_same_bits_as_scikit_learn(write, content, zero_based):
    same_as_sklearn(write(content), zero_based=zero_based, n_features=20)


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_where_a_file_is_cut_into_blocks_makes_no_difference(write, monkeypatch, block):
    whole = ByteSource.read
    monkeypatch.setattr(ByteSource, "read", lambda self, size=block: whole(self, block))
    rows = "".join(f"{i % 3} {1 + i % 5}:{i / 7} {8 + i % 4}:{i}e-30\n" for i in range(200))
    same_as_sklearn(write(rows.encode()))


@pytest.mark.slow
def test_adult_is_what_scikit_learn_reads(tmp_path):
    packed = Path(os.environ.get("SEPARATRIX_DATA", "")) / "a9a.gz"
    if not packed.is_file():
        pytest.skip("a9a is not here")
    (tmp_path / "a9a").write_bytes(gzip.decompress(packed.read_bytes()))

    found = same_as_sklearn(tmp_path / "a9a", n_features=123)

    assert found.X.shape == (32561, 123)
    assert found.X.indices.dtype == found.X.indptr.dtype == np.int32
    assert found.y.dtype == np.intp
    assert (read_svmlight(packed, n_features=123).X != found.X).nnz == 0


def random_decimals(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        number = struct.unpack("d", rng.randbytes(8))[0]
        digits, exponent = rng.randrange(10 ** rng.randrange(1, 24)), rng.randrange(-360, 310)
        yield repr(number)
        yield f"{number:.{rng.randrange(25)}e}"
        yield f"{rng.choice('+-')}{digits}e{exponent}"
        yield f"{rng.randrange(10**9)}.{digits}"
        yield f"{digits}"
        yield repr(struct.unpack("d", struct.pack("Q", rng.getrandbits(52)))[0])  # subnormal
        yield f"{(rng.getrandbits(53) | 1 << 52) * 2 + 1}e0"  # halfway between two


def test_decimals_are_read_to_the_last_bit_of_what_float_gives(write):
    texts = [text for text in random_decimals(3000, seed=0) if np.isfinite(float(text))]
    texts += [f"{i / 64}" for i in range(-1000, 1000)] + [f"{i}." for i in range(50)]
    expected = np.array([float(text) for text in texts])
    lines = "".join(f"{text} 1:{text}\n" for text in texts)

    found = read_svmlight(write(lines))

    np.testing.assert_array_equal(found.y.view(np.uint64), expected.view(np.uint64))
    np.testing.assert_array_equal(found.X.data.view(np.uint64), expected.view(np.uint64))


def test_numbers_may_have_any_number_of_digits(write):
    long = "0.1000000000000000055511151231257827021181583404541015625"
    path = write(f"{long} 1:{long} 2:-{long}1 3:1{'0' * 300} 4:0.{'0' * 400}1e401\n".encode())

    found = read_svmlight(path)

    assert found.y.tolist() == [0.1]
    assert found.X.data.tolist() == [0.1, -0.1, 1e300, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "line", "column", "found"),
    [
        (b"1 1:1\nspam 1:1\n", 2, 1, "'spam'"),
        (b"1,2 1:1\n", 1, 1, "'1,2'"),
        (b"nan 1:1\n", 1, 1, "'nan'"),
        (b"1 1:1\n1 1:1 x:2\n", 2, 7, "'x:2'"),
        (b"1 -1:2\n", 1, 3, "'-1:2'"),
        (b"1 3\n", 1, 3, "'3'"),
        (b"1 3:\n", 1, 5, "nothing"),
        (b"1 3: 4\n", 1, 5, "'4'"),
        (b"1 3:inf\n", 1, 5, "'inf'"),
        (b"1 3:1_0\n", 1, 5, "'1_0'"),
        (b"1 3:0x1\n", 1, 5, "'0x1'"),
        (b"1 3:1e999\n", 1, 5, "'1e999'"),
        (b"1e999 3:1\n", 1, 1, "'1e999'"),
        (b"1 3:" + b"9" * 400 + b"\n", 1, 5, "'" + "9" * 56),
        (b"\n\n1 3:1 2:1", 3, 7, "'2:1'"),
        (b"1 3:1 3:1", 1, 7, "'3:1'"),
        (b"1 2147483647:1\n", 1, 3, "'2147483647:1'"),
        (b"1 99999999999999999999999:1\n", 1, 3, "'99999999999999999999999:1'"),
        (b"\xff\xfe 1:1\n", 1, 1, r"'\\xff\\xfe'"),
    ],
)
def test_a_refusal_names_the_place(write, content, line, column, found):
    with pytest.raises(DataFileError) as refusal:
        read_svmlight(write(content))

    assert (refusal.value.line, refusal.value.column) == (line, column)
    assert refusal.value.found.startswith(found)


def test_an_index_beyond_a_fixed_width_is_refused(write):
    path = write(b"1 1:1\n1 4:1\n")

    assert read_svmlight(path, n_features=4).X.shape == (2, 4)
    with pytest.raises(
        DataFileError, match=r"data:2:3: found '4:1', expected an index of at most 3"
    ):
        read_svmlight(path, n_features=3)
    with pytest.raises(DataFileError, match=r"data:2:3: .*at most 3"):
        read_svmlight(path, n_features=4, zero_based=True)
    with pytest.raises(DataFileError, match=r"data:1:3: .*from 1 on"):
        read_svmlight(write(b"1 0:1\n"), zero_based=False)


def test_an_index_at_the_width_of_a_file_that_begins_at_zero_is_refused(write):
    with pytest.raises(DataFileError, match=r":2:3: found '4:1', expected an index of at most 3"):
        read_svmlight(write(b"1 0:1\n1 4:1\n"), n_features=4)


def test_a_small_file_with_a_huge_index_takes_no_memory(write):
    path = write(b"1 2147483647:1\n")
    read_svmlight(write(b"1 1:1\n", "small"))
    tracemalloc.start()
    with pytest.raises(DataFileError, match="at most 10,000,000"):
        read_svmlight(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 4 << 20


@pytest.mark.slow
def test_indices_need_64_bits_only_beyond_32(write):
    wide = read_svmlight(write(b"1 3000000000:1\n"), limits=Limits(features=2**40))
    narrow = read_svmlight(write(b"1 3:1\n"), limits=Limits(features=2**40))

    assert wide.X.indices.dtype == np.int64
    assert wide.X.shape == (1, 3_000_000_000)
    assert narrow.X.indices.dtype == np.int32


def test_too_many_rows_and_too_long_a_line_are_refused(write):
    with pytest.raises(DataFileError, match="more than 2 rows"):
        read_svmlight(write(b"1\n1\n1\n"), limits=Limits(rows=2))
    with pytest.raises(DataFileError, match=":2: found a line of more than 20 bytes"):
        read_svmlight(write(b"1\n1 1:1 2:1 3:1 4:1 5:1"), limits=Limits(line_bytes=20))


def test_labels_are_integers_where_all_are_whole(write):
    assert read_svmlight(write(b"1.0\n-1e1\n")).y.dtype == np.intp
    assert read_svmlight(write(b"1\n0.5\n")).y.tolist() == [1.0, 0.5]


def test_query_pairs_are_passed_over_and_said(write):
    assert read_svmlight(write(QUERIES)).notes == ("qid pairs were ignored",)
    assert read_svmlight(write(PLAIN)).notes == ()


@pytest.mark.parametrize("rows", [1, 3, 50, 1000])
def test_blocks_put_together_are_the_whole(write, rows):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 12), density=0.3, random_state=rng, format="csr")
    X = scipy.sparse.csr_array(
        X.toarray()
    )  # scikit-learn 1.9.0 writes column numbers of 32 bits only
    path = write(b"")
    dump_svmlight_file(X, rng.integers(0, 5, 300), str(path), zero_based=False)
    whole = read_svmlight(path, n_features=12)

    blocks = list(svmlight_blocks(path, n_features=12, rows=rows))

    assert [len(y) for _, y in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert (scipy.sparse.vstack([X for X, _ in blocks]) != whole.X).nnz == 0
    np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), whole.y)


def test_blocks_of_an_empty_file_are_none(write):
    assert list(svmlight_blocks(write(b"\n"), n_features=2)) == []


def test_parameters_are_checked(write):
    path = write(PLAIN)
    for wrong in ({"n_features": 0}, {"n_features": 2**60}, {"zero_based": "yes"}):
        with pytest.raises(ParameterError):
            read_svmlight(path, **wrong)
    for wrong in ({"rows": 0}, {"zero_based": "auto"}):
        with pytest.raises(ParameterError):
            list(svmlight_blocks(path, **{"n_features": 9, **wrong}))


@pytest.mark.slow
def test_bombs_are_refused(write):
    with pytest.raises(DataFileError, match="bytes for each compressed byte"):
        read_svmlight(write(gzip.compress(b"1 1:1\n" * 5_000_000), "bomb.gz"))
    with pytest.raises(DataFileError, match=":1: found a line of more than"):
        read_svmlight(write(b"1 1:1" + b" " * 100_000_000))


@pytest.mark.slow
def test_a_mutated_file_that_scikit_learn_takes_is_the_same_here_or_refused(write):
    agreed = 0
    for run in range(400):
        path = write(fuzz.mutated([PLAIN, ZEROS], 2, run))
        try:
            ours = read_svmlight(path)
        except DataFileError:
            continue
        X, y = load_svmlight_file(path)
        np.testing.assert_array_equal(ours.X.toarray(), X.toarray())
        np.testing.assert_array_equal(ours.y, y)
        agreed += 1
    assert agreed > 50


def parse(text):
    """The outcome of a text without anything behind it, and the rows that were read."""
    raw = np.frombuffer(text.encode(), np.uint8).copy()
    labels, values = np.zeros(9), np.zeros(9)
    ends, indices, long = np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros((9, 3), np.int64)
    found = pairs.parse_pairs(raw, 1, 99, labels, ends, indices, values, long)
    outcome, at, rows, count, _, _ = found
    return outcome, at, labels[:rows].tolist(), indices[:count].tolist(), values[:count].tolist()


@pytest.mark.parametrize(
    "line", ["1 2:3", "-1 2:3 4:.5", "1", "+2 1:1 # note", "3 qid:7 1:2", "1 2:-7"]
)
def test_the_last_line_needs_no_newline(line):
    outcome, at, *rows = parse(line)
    assert outcome == pairs.COMPLETE
    assert rows == list(parse(line + "\n")[2:])
    assert rows[0]
    assert at >= len(line)


@pytest.mark.parametrize(
    ("line", "outcome", "at"),
    [
        ("1 2:", pairs.VALUE, 4),
        ("1 2", pairs.INDEX, 2),
        ("1 2:3x", pairs.VALUE, 4),
        ("x", pairs.LABEL, 0),
        ("-", pairs.LABEL, 0),
        ("1 0:1", pairs.BASE, 2),
        ("1 100:1", pairs.WIDTH, 2),
        ("1 2:1 2:1", pairs.ORDER, 6),
    ],
)
def test_what_is_wrong_at_the_end_is_found_where_it_is(line, outcome, at):
    assert parse(line)[:2] == (outcome, at)
    assert parse(line + "\n")[:2] == (outcome, at)


def test_rows_without_a_feature_have_one_column(write):
    found = from_path(svmlight.read_svmlight)(write("1\n-1\n"))
    assert found.X.shape == (2, 1)
    assert found.X.nnz == 0
