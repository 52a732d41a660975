import gzip

import numpy as np
import pytest
from tests.data.formats.samples import from_path, idx

from separatrix.data.formats import idx as idx_format
from separatrix.data.limits import Limits
from separatrix.errors import DataFileError

read_idx = from_path(idx_format.read_idx)
read_images = from_path(idx_format.read_images)

TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


@pytest.mark.parametrize("code", TYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (1, 1, 1, 5)])
def test_every_type_comes_back_in_the_order_of_the_machine(write, code, shape):
    values = np.arange(np.prod(shape)).reshape(shape).astype(TYPES[code])
    path = write(idx(values, code))

    found = read_idx(path)

    np.testing.assert_array_equal(found, values)
    assert found.dtype == values.dtype.newbyteorder("=")


def test_packed_files_are_unpacked(write):
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    path = write(gzip.compress(idx(values)))
    np.testing.assert_array_equal(read_idx(path), values)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "found a file that begins with b'', expected two zero bytes"),
        (b"\0\1\x08\1\0\0\0\1x", "begins with b'\\\\x00\\\\x01"),
        (b"\0\0\x0a\1\0\0\0\1x", "a type from 8 to 14"),
        (b"\0\0\x08\0", "found 0 axes, expected 1 to 8"),
        (b"\0\0\x08\xff", "found 255 axes"),
        (b"\0\0\x08\2\0\0\0\1", "found a truncated header, expected the sizes of 2 axes"),
        (b"\0\0\x08\1\0\0\0\3xy", "found 2 bytes of values, expected 3 for an array of 3"),
        (b"\0\0\x08\1\0\0\0\3xyzw", "found more bytes of values, expected 3"),
        (b"\0\0\x08\1\xff\xff\xff\xff", "4,294,967,295 rows, expected at most 100,000,000"),
        (b"\0\0\x08\2\0\0\0\1\xff\xff\xff\xff", "columns, expected at most 100,000"),
    ],
)
def test_what_is_no_idx_file_is_refused(write, content, sentence):
    path = write(content)
    with pytest.raises(DataFileError, match=sentence):
        read_idx(path)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_samples_without_values_are_refused(write, shape):
    with pytest.raises(DataFileError, match="at least one row and one column"):
        read_images(write(idx(np.zeros(shape, np.uint8))))


def test_a_size_without_bytes_allocates_nothing(write):
    path = write(b"\0\0\x0e\2\0\1\0\0\0\0\x40\0")  # 65536 x 16384 doubles
    with pytest.raises(DataFileError, match="found 0 bytes of values, expected 8,589,934,592"):
        read_idx(path)


def test_limits_can_be_lowered(write):
    path = write(idx(np.zeros((3, 2), np.uint8)))
    with pytest.raises(DataFileError, match="6 values, expected at most 5") as refusal:
        read_idx(path, Limits(values=5))
    assert refusal.value.hint == "raise `values` of Limits if this is intended"


def test_pictures_have_the_labels_of_the_file_beside_them(tmp_path):
    pictures = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(idx(pictures))
    assert read_images(path).y is None

    labels = tmp_path / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx(np.array([7, 1], np.uint8))))
    found = read_images(path)
    np.testing.assert_array_equal(found.X, pictures.reshape(2, 12))
    assert (found.image, found.y.tolist()) == ((3, 4), [7, 1])

    labels.write_bytes(gzip.compress(idx(np.array([7], np.uint8))))
    with pytest.raises(DataFileError, match="found an array of 1, expected 2 labels"):
        read_images(path)
