"""NumPy's own files: `.npy`, one array, and `.npz`, a zip of them. Nothing is ever unpickled.

NumPy evaluates the header of an array as Python; here it must match exactly what NumPy writes.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from separatrix.data.dataset import Dataset
from separatrix.data.formats.arrays import as_samples, read_array
from separatrix.data.streams import ByteSource
from separatrix.errors import DataFileError

MAGIC = b"\x93NUMPY"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive, of an empty one
_SIZE = r"(?:0|[1-9]\d{0,14})"  # Python refuses 03
_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[<>|=][a-zA-Z]\d{1,9})', 'fortran_order': (?P<fortran>True|False), "
    rf"'shape': \((?P<shape>(?:{_SIZE},(?: ?{_SIZE},)*(?: ?{_SIZE})?)?)\),? *\}}[ \n]*"
)
_LONGEST_HEADER = 10_000
_LONGEST_WORD = 1024  # characters of a label
BROKEN_ZIP = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, LookupError, OverflowError),
)
"""Everything zipfile raises on a damaged file; our own errors are ValueErrors too."""


def read_npz(source: ByteSource) -> Dataset:
    """The arrays X, y, X_test and y_test; all but X may be missing.

    >>> import tempfile
    >>> from separatrix.data.streams import open_
    >>> name = os.path.join(tempfile.mkdtemp(), "small.npz")
    >>> np.savez(name, X=np.eye(2), y=np.array([0, 1]))
    >>> with open_(name) as source:
    ...     read_npz(source).y.tolist()
    [0, 1]
    """
    source.raw.seek(0)
    if not source.raw.read(4).startswith(ZIP_MAGIC):  # zipfile skips what comes before an archive
        raise source.error(found="no zip file at its beginning", expected="an .npz file")
    try:
        with zipfile.ZipFile(source.raw) as archive:
            members = archive.namelist()
            _require_plain_names(source, archive)
            found = {
                name: _read_member(source, archive, archive.getinfo(f"{name}.npy"))
                for name in ("X", "y", "X_test", "y_test")
                if f"{name}.npy" in members
            }
    except DataFileError:
        raise
    except BROKEN_ZIP as error:
        raise source.error(
            found=f"no zip file, or a damaged one ({error})", expected="an .npz file"
        ) from None
    if "X" not in found:
        listed = ", ".join(name.removesuffix(".npy")[:40] for name in members[:10])
        raise source.error(
            found=f"the arrays {listed}" if members else "no arrays",
            expected="one called X",
            hint="name the samples X",
        )
    X, image = _samples(source, "X", found["X"])
    X_test = _samples(source, "X_test", found["X_test"])[0] if "X_test" in found else None
    y = _labels(source, "y", found.get("y"), X)
    y_test = _labels(source, "y_test", found.get("y_test"), X_test)
    if X_test is not None and X_test.shape[1] != X.shape[1]:
        raise source.error(
            found=f"{X_test.shape[1]} columns in X_test", expected=f"the {X.shape[1]} of X"
        )
    return Dataset(os.path.basename(source.name), X, y, X_test, y_test, image)


def read_npy(source: ByteSource) -> Dataset:
    """Samples without labels: one array, (n, d)."""
    X, image = _samples(source, "the array", _read_npy(source))
    return Dataset(os.path.basename(source.name), X, None, image=image)


def _require_plain_names(source: ByteSource, archive: zipfile.ZipFile) -> None:
    """Refuse what another reader of zip files may take for another member."""
    for info in archive.infolist():
        name, plain = info.orig_filename, info.filename
        twice = archive.getinfo(plain) is not info
        bare = f"{plain}.npy" in archive.NameToInfo  # NumPy reads "X" before "X.npy"
        if twice or bare or "\0" in name:
            raise source.error(
                found=f"an archive with an ambiguous member {name[:40]!r}",
                expected="one member of each name, as numpy.savez writes them",
            )


def _read_member(
    source: ByteSource, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> npt.NDArray[Any]:
    name = f"{source.name}:{info.filename}"
    # Other methods may ask for a dictionary of gigabytes before the first byte.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise DataFileError(
            name,
            found="a compression method other than deflate",
            expected="one that savez writes",
        )
    with archive.open(info) as stream:
        member = ByteSource(name, stream, source.limits)
        member.require_inflation(info.file_size, info.compress_size)
        return _read_npy(member)


def _read_npy(source: ByteSource) -> npt.NDArray[Any]:
    """One array; its header must be complete and plain."""
    head = bytes(source.read_up_to(8))
    if not head.startswith(MAGIC) or head[6:] not in (b"\x01\0", b"\x02\0", b"\x03\0"):
        raise source.error(found=f"a beginning of {head!r}", expected="NumPy's format 1, 2 or 3")
    size = int.from_bytes(source.read_up_to(2 if head[6] == 1 else 4), "little")
    if size > _LONGEST_HEADER:
        raise source.error(
            found=f"a header of {size:,} bytes", expected=f"at most {_LONGEST_HEADER:,}"
        )
    text = source.read_up_to(size).decode("latin1")
    match = _HEADER.fullmatch(text)
    if match is None:
        raise source.error(
            found=f"the header {text.strip()[:80]!r}",
            expected="one plain type, an order and a shape",
            hint="arrays of objects and of records are not read",
        )
    shape = tuple(int(size) for size in re.findall(r"\d+", match["shape"]))
    if len(shape) > 8:
        raise source.error(found=f"{len(shape)} axes", expected="at most 8")
    dtype = _plain_type(source, match["descr"])
    values = read_array(source, dtype, shape, "F" if match["fortran"] == "True" else "C")
    if dtype.kind == "U":
        _require_unicode(source, values)
    if dtype.kind == "b" and values.view(np.uint8).max(initial=0) > 1:
        raise source.error(found="a flag that is neither 0 nor 1", expected="True or False")
    return values


def _plain_type(source: ByteSource, descr: str) -> np.dtype[Any]:
    kind, width = descr[1], int(descr[2:])
    if (kind in "biuf" and width > 8) or kind not in "biufU" or width > _LONGEST_WORD or not width:
        raise source.error(
            found=f"values of type {descr}",
            expected=f"numbers of at most 8 bytes, or words of at most {_LONGEST_WORD} letters",
            hint="objects are never read: they could run code",
        )
    try:
        return np.dtype(descr)
    except TypeError:
        raise source.error(
            found=f"values of type {descr}", expected="a type that NumPy has"
        ) from None


def _require_unicode(source: ByteSource, words: npt.NDArray[Any]) -> None:
    """Refuse code points that Unicode does not have: NumPy fails only when they are used."""
    points = words.reshape(-1).view(np.uint32)
    if ((points > 0x10FFFF) | ((points >= 0xD800) & (points < 0xE000))).any():
        raise source.error(found="a letter that Unicode does not have", expected="words")


def _samples(
    source: ByteSource, name: str, values: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], tuple[int, int] | None]:
    if values.dtype.kind == "U" or values.ndim < 2 or not values.size:
        raise source.error(
            found=f"{name} of shape {values.shape} and type {values.dtype}",
            expected="numbers, (n, d), at least one row and one column",
        )
    return as_samples(values)


def _labels(
    source: ByteSource, name: str, values: npt.NDArray[Any] | None, X: npt.NDArray[Any] | None
) -> npt.NDArray[Any] | None:
    if values is None or X is None:
        return None
    if values.shape not in ((len(X),), (len(X), 1)):
        raise source.error(
            found=f"{name} of shape {values.shape}",
            expected=f"one label for each of {len(X):,} samples",
        )
    return values.reshape(len(X))
