"""IDX, the format of MNIST: two zero bytes, a type, the number of axes, their sizes, the values.

Numbers are big-endian.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.dataset import Dataset
from separatrix.data.formats.arrays import as_samples, by, read_array
from separatrix.data.streams import PACKED, ByteSource, open_
from separatrix.errors import DataFileError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MAX_AXES = 8


def read_idx(source: ByteSource) -> npt.NDArray[Any]:
    """The array of an IDX file, in native byte order.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "three-idx1-ubyte")
    >>> with open(name, "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> with open_(name) as source:
    ...     read_idx(source)
    array([7, 8, 9], dtype=uint8)
    """
    head = source.read_up_to(4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES:
        raise source.error(
            found=f"a file that begins with {bytes(head[:4])!r}",
            expected="two zero bytes, then a type from 8 to 14: the IDX format",
        )
    axes = head[3]
    if not 1 <= axes <= MAX_AXES:
        raise source.error(found=f"{axes} axes", expected=f"1 to {MAX_AXES}")
    sizes = source.read_up_to(4 * axes)
    if len(sizes) < 4 * axes:
        raise source.error(found="a truncated header", expected=f"the sizes of {axes} axes")
    shape = tuple(np.frombuffer(sizes, ">u4").tolist())
    return read_array(source, np.dtype(TYPES[head[2]]), shape)


def read_images(source: ByteSource) -> Dataset:
    """Samples of an IDX file, one row each, with the labels of the file beside it.

    The labels of `train-images-idx3-ubyte` are in `train-labels-idx1-ubyte`, compressed or not;
    without that file y is None.
    """
    values = read_idx(source)
    if not values.size:
        raise source.error(
            found=f"an array of {by(values.shape)}", expected="at least one row and one column"
        )
    X, image = as_samples(values)
    y, labels = None, _find_labels(source.name)
    if labels is not None:
        with open_(labels, source.limits) as label_source:
            y = read_idx(label_source)
    if y is not None and (y.ndim != 1 or len(y) != len(X)):
        raise DataFileError(
            labels, found=f"an array of {by(y.shape)}", expected=f"{len(X):,} labels"
        )
    return Dataset(os.path.basename(source.name), X, y, image=image)


def _find_labels(path: str) -> str | None:
    folder, name = os.path.split(path)
    other = name.replace("-images-idx3-", "-labels-idx1-").replace("-images.idx3-", "-labels.idx1-")
    if other == name:
        return None
    stem, suffix = os.path.splitext(other)
    plain = stem if suffix.lower() in PACKED else other
    names = [other, plain, *(plain + suffix for suffix in sorted(PACKED))]
    paths = (os.path.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(path)), None)
