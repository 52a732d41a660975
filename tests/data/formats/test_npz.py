import gzip
import io
import warnings
import zipfile

import numpy as np
import pytest
from tests.data.formats.samples import from_path, npy, npz, zipped

from separatrix.data.formats import npz as npz_format
from separatrix.data.formats.rows import ByteSource, memory_source
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError

read_npy = from_path(npz_format.read_npy)
read_npz = from_path(npz_format.read_npz)

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<f2", "<i8", ">i2", "u1", "i1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_as_numpy_wrote_them(write, packed, dtype, order):
    values = np.asarray(X.astype(dtype), order=order)
    found = read_npz(write(npz(packed, X=values, y=np.array([2, 0, 1]))))
    np.testing.assert_array_equal(found.X, values)
    assert found.X.dtype == values.dtype.newbyteorder("=")
    assert found.y.tolist() == [2, 0, 1]


def test_labels_may_be_words_and_a_test_part_is_optional(write):
    words = np.array(["a", "bcd", "é"])
    found = read_npz(write(npz(X=X, y=words, X_test=X[:1], y_test=words[:1])))
    assert found.y.tolist() == ["a", "bcd", "é"]
    assert found.y_test.tolist() == ["a"]
    with pytest.raises(DataFileError, match="found the arrays data, y, expected one called X"):
        read_npz(write(npz(data=X, y=words)))


def test_pictures_become_rows(write):
    pictures = np.arange(24).reshape(2, 3, 4)
    found = read_npz(write(npz(X=pictures)))
    assert (found.X.shape, found.image, found.y) == ((2, 12), (3, 4), None)


def test_one_array_alone_is_samples_without_labels(write):
    path = write(gzip.compress(npy(X)), "x.npy.gz")
    np.testing.assert_array_equal(read_npy(path).X, X)
    assert read_npy(path).y is None


class Trap:
    def __reduce__(self):
        return eval, ("[][0]",)


def test_objects_are_never_unpickled(write):
    file = io.BytesIO()
    np.save(file, np.array([[Trap()]], dtype=object), allow_pickle=True)
    with pytest.raises(DataFileError, match=r"\|O"):
        read_npz(write(zipped(**{"X.npy": file.getvalue()})))


def header(text, values=b""):
    raw = text.encode("latin1")
    return b"\x93NUMPY\x01\0" + len(raw).to_bytes(2, "little") + raw + values


PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a beginning of b''"),
        (b"\x93NUMPY\x09\0", "NumPy's format 1, 2 or 3"),
        (header(PLAIN % "3, 2", b"\0" * 47), "found 47 bytes of values, expected 48"),
        (header(PLAIN % "3, 2", b"\0" * 49), "found more bytes of values, expected 48"),
        (header(PLAIN % "99999999, 10"), "expected at most|found 0 bytes"),
        (header(PLAIN % "999999999999999, 10"), "rows, expected at most 100,000,000"),
        (header(PLAIN % "1, 100001"), "100,001 columns, expected at most 100,000"),
        (header(PLAIN % "1,1,1,1,1,1,1,1,1"), "found 9 axes"),
        (header(PLAIN % "__import__('os')"), "expected one plain type, an order and a shape"),
        (header(PLAIN.replace("<f8", "<c16") % "1, 1"), "found values of type <c16"),
        (header(PLAIN.replace("<f8", "<f3") % "1, 1"), "expected a type that NumPy has"),
        (header(PLAIN.replace("<f8", "|V8") % "1, 1"), "objects are never read|type .V8"),
        (header(PLAIN.replace("<f8", "<U9999") % "1,"), "words of at most 1024 letters"),
        (header(PLAIN.replace("<f8", "<U1") % "1,", b"\xff" * 4), "Unicode does not have"),
        (header(PLAIN % "0, 2"), "at least one row"),
        (header(PLAIN % "2, 0"), "at least one row and one column"),
        (header(PLAIN % "03, 2", b"\0" * 48), "expected one plain type, an order and a shape"),
        (header(PLAIN % "3", b"\0" * 24), "expected one plain type, an order and a shape"),
        (header(PLAIN.replace("<f8", "|b1") % "1, 2", b"\1\2"), "a flag that is neither 0 nor 1"),
        (header(PLAIN % "2,", b"\0" * 16), "expected numbers, .n, d."),
    ],
)
def test_a_header_is_believed_only_when_the_bytes_are_there(write, content, sentence):
    with pytest.raises(DataFileError, match=sentence):
        read_npz(write(zipped(**{"X.npy": content})))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": X, "y": np.zeros(2)}, "one label for each of 3 samples"),
        ({"X": X, "y": np.zeros((3, 2))}, "found y of shape"),
        ({"X": X, "X_test": np.zeros((1, 3))}, "found 3 columns in X_test, expected the 2 of X"),
        ({"X": np.array([["a"]])}, "expected numbers"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(write, arrays, sentence):
    with pytest.raises(DataFileError, match=sentence):
        read_npz(write(npz(**arrays)))


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_goes_off(write):
    path = write(npz(packed=True, X=np.zeros((200, 50_000))))
    with pytest.raises(DataFileError, match="more than 200 bytes for each compressed byte"):
        read_npz(path)
    with pytest.raises(DataFileError, match="more than 1,000 bytes, expected at most 1,000"):
        read_npz(path, limits=Limits(inflated_bytes=1000))


def test_what_is_no_zip_file_is_refused(write):
    with pytest.raises(DataFileError, match="found no zip file, or a damaged one"):
        read_npz(write(b"PK\x03\x04 and nothing more"))


def test_bytes_before_an_archive_are_not_skipped(write):
    """NumPy takes such a file for a pickle, and refuses it."""
    with pytest.raises(DataFileError, match="no zip file at its beginning"):
        read_npz(write(b"x" + npz(X=X)))


def test_a_name_in_no_alphabet_is_refused(write):
    content = bytearray(npz(X=X))
    content[7] |= 0x08  # the name of the first member is UTF-8, says this bit
    content[30] = 0xB0  # and this byte begins no letter of it
    with pytest.raises(DataFileError, match=r"a damaged one .'utf-8' codec can't decode byte"):
        read_npz(write(bytes(content)))


@pytest.mark.parametrize(
    "names", [("X.npy", "X"), ("X.npy", "X.npy"), ("X.npy", "X\0test.npy"), ("X.npy\0", "y.npy")]
)
def test_members_that_another_reader_may_take_for_others_are_refused(write, names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name twice
        for name in names:
            member = zipfile.ZipInfo("x")
            member.filename = name  # the constructor cuts at a zero
            archive.writestr(member, npy(X))
    with pytest.raises(DataFileError, match="ambiguous member"):
        read_npz(write(file.getvalue()))


@pytest.mark.parametrize(("descr", "is_plain"), [("<f8", 1), ("<U20", 1), ("<f16", 0), ("|O8", 0)])
def test_numbers_are_of_at_most_eight_bytes_and_words_of_more(descr, is_plain):
    source = memory_source("x.npy")
    if is_plain:
        assert npz_format._plain_type(source, descr) == np.dtype(descr)
    else:
        with pytest.raises(DataFileError, match="numbers of at most 8 bytes, or words"):
            npz_format._plain_type(source, descr)


@pytest.mark.parametrize(("flag", "read"), [(0, True), (2, True), (4, True), (1, False)])
def test_an_encrypted_member_is_refused_and_a_level_of_compression_is_not(flag, read):
    content = bytearray(npz(X=np.eye(2), y=np.arange(2)))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.find(magic)
        while at >= 0:
            content[at + offset] |= flag
            at = content.find(magic, at + 1)
    source = ByteSource("a.npz", io.BytesIO(content), Limits())
    if read:
        np.testing.assert_array_equal(npz_format.read_npz(source).X, np.eye(2))
    else:
        with pytest.raises(DataFileError, match="compression method other than deflate"):
            npz_format.read_npz(source)
