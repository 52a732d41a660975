"""IDX, the format of MNIST: two zero bytes, a type, the number of axes, their sizes, the values.

Numbers are big-endian. A size is only believed when as many bytes follow.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.streams import PACKED, Source, open_
from separatrix.errors import DataFileError

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 8


def read_idx(path: str | os.PathLike[str], limits: Limits | None = None) -> npt.NDArray[Any]:
    """The array of an IDX file, in the machine's own byte order.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "three-idx1-ubyte")
    >>> with open(name, "wb") as file:
    ...     _ = file.write(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> read_idx(name)
    array([7, 8, 9], dtype=uint8)
    """
    with open_(path, limits) as source:
        dtype, shape = _header(source)
        wanted = math.prod(shape) * dtype.itemsize
        values = _at_most(source, wanted + 1)
    if len(values) != wanted:
        more = "more" if len(values) > wanted else f"{len(values):,}"
        raise DataFileError(
            source.name,
            found=f"{more} bytes of values",
            expected=f"{wanted:,} for an array of {_by(shape)}",
            hint="the file is cut off or damaged: fetch it again",
        )
    found = np.frombuffer(values, dtype).reshape(shape)
    return found if dtype.isnative else found.astype(dtype.newbyteorder("="))


def read_images(path: str | os.PathLike[str], limits: Limits | None = None) -> Dataset:
    """Samples of an IDX file, one row each, with the labels of the file beside it.

    The labels of `train-images-idx3-ubyte` are in `train-labels-idx1-ubyte`, packed or not; without
    that file y is None.
    """
    values = read_idx(path, limits)
    labels = _labels_beside(os.fspath(path))
    y = None if labels is None else read_idx(labels, limits)
    if y is not None and (y.ndim != 1 or len(y) != len(values)):
        raise DataFileError(
            labels, found=f"an array of {_by(y.shape)}", expected=f"{len(values):,} labels"
        )
    image = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    X = values.reshape(len(values), math.prod(values.shape[1:]))
    return Dataset(os.path.basename(path), X, y, image=image)


def _header(source: Source) -> tuple[np.dtype[Any], tuple[int, ...]]:
    head = _at_most(source, 4)
    if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES:
        raise DataFileError(
            source.name,
            found=f"a file that begins with {bytes(head[:4])!r}",
            expected="two zero bytes, then a type from 8 to 14: the IDX format",
        )
    axes = head[3]
    if not 1 <= axes <= MOST_AXES:
        raise DataFileError(source.name, found=f"{axes} axes", expected=f"1 to {MOST_AXES}")
    sizes = _at_most(source, 4 * axes)
    if len(sizes) < 4 * axes:
        raise DataFileError(
            source.name, found="a header that breaks off", expected=f"the sizes of {axes} axes"
        )
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    _require_size(source, shape)
    return np.dtype(TYPES[head[2]]), shape


def _require_size(source: Source, shape: tuple[int, ...]) -> None:
    limits = source.limits
    for name, size in (
        ("rows", shape[0]),
        ("columns", math.prod(shape[1:])),
        ("values", math.prod(shape)),
    ):
        most = getattr(limits, name)
        if size > most:
            raise DataFileError(
                source.name,
                found=f"an array of {_by(shape)}: {size:,} {name}",
                expected=f"at most {most:,}",
                hint=f"raise `{name}` of Limits if this is right",
            )


def _at_most(source: Source, size: int) -> bytearray:
    """The next bytes, `size` or as many as there are; memory grows with what is there."""
    found = bytearray()
    while len(found) < size and (part := source.read(min(size - len(found), 1 << 20))):
        found += part
    return found


def _labels_beside(path: str) -> str | None:
    folder, name = os.path.split(path)
    other = name.replace("-images-idx3-", "-labels-idx1-").replace("-images.idx3-", "-labels.idx1-")
    if other == name:
        return None
    stem, suffix = os.path.splitext(other)
    plain = stem if suffix.lower() in PACKED else other
    names = [other, plain, *(plain + suffix for suffix in sorted(PACKED))]
    paths = (os.path.join(folder, name) for name in names)
    return next((path for path in paths if os.path.isfile(path)), None)


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in shape)
