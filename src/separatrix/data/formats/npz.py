"""NumPy's own files: `.npy`, one array, and `.npz`, a zip of them. Nothing is ever unpickled.

NumPy evaluates the header of an array as Python; here it must match exactly what NumPy writes. Sizes are
compared with the limits, and memory is allocated for bytes that were read.
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.dataset import Dataset
from separatrix.data.limits import Limits
from separatrix.data.streams import ByteSource
from separatrix.errors import DataFileError

Reader = Callable[[int], bytes]

MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[<>|=][a-zA-Z]\d{1,9})', 'fortran_order': (?P<fortran>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,15}(?:, ?\d{1,15})*,?)?)\),? *\}[ \n]*"
)
_LONGEST_HEADER = 10_000
_LONGEST_WORD = 1024  # characters of a label
BROKEN_ZIP = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError),
)
"""Everything zipfile raises on a damaged file; our own errors are ValueErrors too."""


def read_npz(
    source: ByteSource,
    *,
    X: str = "X",
    y: str = "y",
    X_test: str = "X_test",
    y_test: str = "y_test",
) -> Dataset:
    """The arrays of those names; all but X may be missing.

    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> name = os.path.join(tempfile.mkdtemp(), "small.npz")
    >>> np.savez(name, X=np.eye(2), y=np.array([0, 1]))
    >>> with open_(name) as source:
    ...     read_npz(source).y.tolist()
    [0, 1]
    """
    name = source.name
    try:
        with zipfile.ZipFile(source.raw) as archive:
            known = {info.filename: info for info in archive.infolist()}
            found = {
                key: _member(name, archive, known[f"{key}.npy"], source.limits)
                for key in dict.fromkeys((X, y, X_test, y_test))
                if f"{key}.npy" in known
            }
    except DataFileError:
        raise
    except BROKEN_ZIP as error:
        raise DataFileError(
            name, found=f"no zip file, or a damaged one ({error})", expected="an .npz file"
        ) from None
    if X not in found:
        raise DataFileError(
            name,
            found=f"the arrays {', '.join(_names(known)) or 'of nobody'}",
            expected=f"one called {X}",
            hint="name the samples X",
        )
    samples, image = _samples(name, X, found[X])
    others = _samples(name, X_test, found[X_test])[0] if X_test in found else None
    labels = _labels(name, y, found.get(y), samples)
    other_labels = _labels(name, y_test, found.get(y_test), others)
    if others is not None and others.shape[1] != samples.shape[1]:
        raise DataFileError(
            name,
            found=f"{others.shape[1]} columns in {X_test}",
            expected=f"the {samples.shape[1]} of {X}",
        )
    return Dataset(os.path.basename(name), samples, labels, others, other_labels, image)


def read_npy(source: ByteSource) -> Dataset:
    """Samples without labels: one array, (n, d)."""
    values = _array(source.name, source.read, source.limits)
    X, image = _samples(source.name, "the array", values)
    return Dataset(os.path.basename(source.name), X, None, image=image)


def _member(
    name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits
) -> npt.NDArray[Any]:
    where = f"{name}:{info.filename}"
    # Other methods may ask for a dictionary of gigabytes before the first byte.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise DataFileError(
            where, found="a method of packing that is not deflate", expected="what savez writes"
        )
    if info.file_size > limits.inflated_bytes:
        raise DataFileError(
            where,
            found=f"{info.file_size:,} bytes",
            expected=f"at most {limits.inflated_bytes:,}",
            hint="raise `inflated_bytes` of Limits if this is right",
        )
    ratio = info.file_size / max(info.compress_size, 1)
    if info.file_size > limits.inflation_free and ratio > limits.inflation:
        raise DataFileError(
            where,
            found=f"more than {limits.inflation} bytes for each compressed byte",
            expected="less",
            hint="raise `inflation` of Limits if this is right",
        )
    with archive.open(info) as stream:
        return _array(where, stream.read, limits)


def _array(where: str, read: Reader, limits: Limits) -> npt.NDArray[Any]:
    """One array, from a function that reads as many bytes as it is told, or fewer."""
    dtype, shape, fortran = _header(where, read)
    count = math.prod(shape)
    for what, size, most in (
        ("rows", shape[0] if shape else 1, limits.rows),
        ("columns", math.prod(shape[1:]), limits.columns),
        ("values", count, limits.values),
    ):
        if size > most:
            raise DataFileError(
                where,
                found=f"an array of shape {shape}: {size:,} {what}",
                expected=f"at most {most:,}",
                hint=f"raise `{what}` of Limits if this is right",
            )
    wanted = count * dtype.itemsize
    values = _at_most(read, wanted + 1)
    if len(values) != wanted:
        more = "more" if len(values) > wanted else f"{len(values):,}"
        raise DataFileError(
            where,
            found=f"{more} bytes of values",
            expected=f"{wanted:,} for an array of shape {shape}",
        )
    _require_letters(where, dtype, values)
    found = np.frombuffer(values, dtype) if count else np.empty(0, dtype)
    found = found.reshape(shape, order="F" if fortran else "C")
    return np.ascontiguousarray(found, dtype.newbyteorder("="))


def _header(where: str, read: Reader) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    head = bytes(_at_most(read, 8))
    if not head.startswith(MAGIC) or head[6:] not in (b"\x01\0", b"\x02\0", b"\x03\0"):
        raise DataFileError(
            where, found=f"a beginning of {head!r}", expected="NumPy's format 1, 2 or 3"
        )
    digits = 2 if head[6] == 1 else 4
    size = int.from_bytes(_at_most(read, digits), "little")
    if size > _LONGEST_HEADER:
        raise DataFileError(
            where, found=f"a header of {size:,} bytes", expected=f"at most {_LONGEST_HEADER:,}"
        )
    text = bytes(_at_most(read, size)).decode("latin1")
    match = _HEADER.fullmatch(text)
    if match is None:
        raise DataFileError(
            where,
            found=f"the header {text.strip()[:80]!r}",
            expected="one plain type, an order and a shape",
            hint="arrays of objects and of records are not read",
        )
    descr = match["descr"]
    kind, width = descr[1], int(descr[2:])
    if (kind in "biuf" and width > 8) or kind not in "biufU" or width > _LONGEST_WORD or not width:
        raise DataFileError(
            where,
            found=f"values of type {descr}",
            expected=f"numbers of at most 8 bytes, or words of at most {_LONGEST_WORD} letters",
            hint="objects are never read: they could run code",
        )
    try:
        dtype = np.dtype(descr)
    except TypeError:
        raise DataFileError(
            where, found=f"values of type {descr}", expected="a type that NumPy has"
        ) from None
    shape = tuple(int(size) for size in re.findall(r"\d+", match["shape"]))
    if len(shape) > 8:
        raise DataFileError(where, found=f"{len(shape)} axes", expected="at most 8")
    return dtype, shape, match["fortran"] == "True"


def _require_letters(where: str, dtype: np.dtype[Any], values: bytearray) -> None:
    """Refuse words with numbers in them that no letter has: they break only when looked at."""
    if dtype.kind != "U" or not values:
        return
    points = np.frombuffer(values, dtype.str[0] + "u4")
    if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise DataFileError(where, found="a letter that Unicode does not have", expected="words")


def _samples(
    name: str, key: str, values: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], tuple[int, int] | None]:
    if values.dtype.kind == "U" or values.ndim < 2 or not values.shape[0]:
        raise DataFileError(
            name,
            found=f"{key} of shape {values.shape} and type {values.dtype}",
            expected="numbers, (n, d), at least one row",
        )
    image = (values.shape[1], values.shape[2]) if values.ndim == 3 else None
    return values.reshape(len(values), math.prod(values.shape[1:])), image


def _labels(
    name: str, key: str, values: npt.NDArray[Any] | None, samples: npt.NDArray[Any] | None
) -> npt.NDArray[Any] | None:
    if values is None or samples is None:
        return None
    if values.shape not in ((len(samples),), (len(samples), 1)):
        raise DataFileError(
            name,
            found=f"{key} of shape {values.shape}",
            expected=f"one label for each of {len(samples):,} samples",
        )
    return values.reshape(len(samples))


def _names(known: dict[str, zipfile.ZipInfo]) -> list[str]:
    return [name.removesuffix(".npy")[:40] for name in list(known)[:10]]


def _at_most(read: Reader, size: int) -> bytearray:
    """The next bytes, `size` or as many as there are; memory grows with what is there."""
    found = bytearray()
    while len(found) < size and (part := read(min(size - len(found), 1 << 20))):
        found += part
    return found
