"""Named arrays and one JSON document in one file that does not load once a single bit has changed.

The container is that of safetensors, which other programs can read: eight bytes that say how long the
header is, the header as JSON, the bytes of the arrays. The document is one string in its metadata. It
begins with the SHA-256 of the whole file, taken with 64 zeros in that place, so that no byte is left
out: not the header, not the padding.

Reading trusts nothing. All sizes are compared with that of the file before anything is allocated, and
the header is small enough that no JSON in it can take much memory or time.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from separatrix.errors import ModelFileError
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.blocks import MEBIBYTE, in_words, memory_of_this_machine
from separatrix.runtime.strict_json import LARGEST_INTEGER, parsed_json

Tensors = dict[str, npt.NDArray[Any]]

LARGEST_HEADER = MEBIBYTE  # JSON takes up to 40 times its size once it is parsed
MOST_TENSORS = 1024
MOST_AXES = 8
LONGEST_AXIS = 2**48
LONGEST_NAME = 200
PIECE = 16 * MEBIBYTE  # bytes that are hashed before anybody may interrupt

BEGIN = b'{"__metadata__":{"separatrix":"{\\"sha256\\":\\"'  # the digest follows
NO_DIGEST = "0" * 64
DIGEST = slice(8 + len(BEGIN), 8 + len(BEGIN) + len(NO_DIGEST))
DTYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


class TensorEntry(NamedTuple):
    """Where an array lies in a file, and what it is."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int


class Contents(NamedTuple):
    """What a file held."""

    document: dict[str, Any]
    tensors: Tensors  # those that were wanted
    entries: tuple[TensorEntry, ...]  # all of them
    nbytes: int


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type have a place in a container."""
    return dtype.newbyteorder("<") in NAMES


def write_container(path: Path, document: dict[str, Any], tensors: Tensors) -> None:
    """Put a document and arrays into a file, which is there whole or not at all."""
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    ready = [_little_endian(tensors[name]) for name in names]
    header = _header(document, dict(zip(names, ready, strict=True)))
    digest = hashlib.sha256(header)
    for piece in _pieces(ready):
        digest.update(piece)
    signed = bytearray(header)
    signed[DIGEST] = digest.hexdigest().encode()
    try:
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            file.write(signed)
            for piece in _pieces(ready):
                file.write(piece)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> ModelFileError:
    """The error for a file that the system does not let be written."""
    why = f"cannot be written: {error.strerror or error}; nothing was changed there"
    return ModelFileError("unwritable", f"{one_line(path)} {why}")


def read_container(
    path: Path,
    *,
    versions: Callable[[object], str | None],
    wanted: Callable[[str], bool] | None = None,
) -> Contents:
    """What a file holds, once every byte of it was found to be as it was written.

    `versions` says of the document's "format" why it cannot be read, or None. Of arrays that are not
    `wanted` only the bytes are looked at.
    """
    with open_container(path) as file:
        return _Reading(path, file).contents(versions, wanted)


class _Reading:
    """One pass over a file, hashed as it goes."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = one_line(path), file
        self.size = os.fstat(file.fileno()).st_size
        self.hash = hashlib.sha256()
        self.left = self.size

    def contents(
        self, versions: Callable[[object], str | None], wanted: Callable[[str], bool] | None
    ) -> Contents:
        header, said = self._read_header()
        try:
            document, table = self._parsed(header)
            refusal = versions(document.get("format"))
            if refusal is not None:
                raise ModelFileError("version", f"{self.path}: {refusal}")
            entries = self._entries(table)
            tensors = {
                entry.name: self._read(entry, code)
                for entry, code in entries
                if wanted is None or wanted(entry.name) or self._skip(entry.nbytes)
            }
        except ModelFileError as error:
            if error.reason not in ("size", "limit"):  # of which there may be no end
                self._skip(self.left)
                self._require_digest(said)  # if a bit has changed, that is the reason
            raise
        self._require_digest(said)
        return Contents(document, tensors, tuple(entry for entry, _ in entries), self.size)

    def _read_header(self) -> tuple[bytes, str]:
        """The header with 64 zeros for the digest, and the digest."""
        begin = self._take(min(self.size, DIGEST.start))
        length = int.from_bytes(begin[:8], "little")
        if begin[8:] != BEGIN or length < DIGEST.stop - 8:
            raise ModelFileError(
                "format",
                f"{self.path} is not a model file of separatrix, or its first bytes are damaged; "
                "`save` writes such files",
            )
        if length > min(LARGEST_HEADER, self.size - 8):
            if length > LARGEST_HEADER:
                raise ModelFileError(
                    "limit",
                    f"the header of {self.path} would be {in_words(length)}; at most "
                    f"{in_words(LARGEST_HEADER)} are read",
                )
            raise ModelFileError("size", f"{self.path} ends within its header: it was cut short")
        rest = self._take(length - len(BEGIN))
        said, rest = rest[: len(NO_DIGEST)], rest[len(NO_DIGEST) :]
        self.hash.update(begin + NO_DIGEST.encode() + rest)
        return begin[8:] + NO_DIGEST.encode() + rest, said.decode("latin-1")

    def _parsed(self, header: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
        """The document, and the table of arrays."""
        try:
            whole = parsed_json(header.decode("ascii"))
        except (ValueError, RecursionError) as error:
            raise self._wrong("the header", error) from None
        metadata = whole.pop("__metadata__")
        if list(metadata) != ["separatrix"]:
            raise self._wrong("the metadata", "it has other keys than 'separatrix'")
        try:
            document = parsed_json(metadata["separatrix"])
        except (ValueError, RecursionError) as error:
            raise self._wrong("the document", error) from None
        if not isinstance(document, dict):
            raise self._wrong("the document", "it is no object")
        document.pop("sha256")
        return document, whole

    def _entries(self, table: dict[str, Any]) -> list[tuple[TensorEntry, str]]:
        """What the table speaks of, checked to lie one after the other and to fill the file."""
        if len(table) > MOST_TENSORS:
            raise ModelFileError(
                "limit",
                f"{self.path} speaks of {len(table)} arrays; at most {MOST_TENSORS} are read",
            )
        entries, end = [], 0
        for name, entry in table.items():
            if not 0 < len(name) <= LONGEST_NAME:
                raise self._wrong("the table", "the name of an array is empty or too long")
            if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
                raise self._wrong(f"array {name!r}", "it needs dtype, shape and data_offsets")
            dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
            if not isinstance(dtype, str) or dtype not in DTYPES:
                raise self._wrong(f"array {name!r}", f"its type is {dtype!r:.40}")
            if not _are_sizes(shape, MOST_AXES) or not _are_sizes(offsets, 2):
                raise self._wrong(f"array {name!r}", "its shape or its place is no list of sizes")
            itemsize = np.dtype(DTYPES[dtype]).itemsize
            nbytes = prod(shape) * itemsize
            if prod(filter(None, shape)) * itemsize > LARGEST_INTEGER:
                raise self._wrong(f"array {name!r}", f"no array has shape {shape}")
            if offsets != [end, end + nbytes]:
                raise self._wrong(
                    f"array {name!r}", f"bytes {offsets} are not {[end, end + nbytes]}"
                )
            end += nbytes
            entries.append((TensorEntry(name, dtype, tuple(shape), nbytes), DTYPES[dtype]))
        if end != self.left:
            word = "short" if end > self.left else "long"
            raise ModelFileError(
                "size", f"{self.path} is {abs(end - self.left)} bytes too {word} for its arrays"
            )
        if self.size > memory_of_this_machine():
            raise ModelFileError(
                "limit", f"{self.path} has {in_words(self.size)}, more than this machine's memory"
            )
        return entries

    def _read(self, entry: TensorEntry, code: str) -> npt.NDArray[Any]:
        array = np.empty(entry.shape, dtype=code)
        for piece in _pieces([array]):
            if self.file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise ModelFileError("size", f"{self.path} became shorter while it was read")
            self.left -= len(piece)
            self.hash.update(piece)
        if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
            raise self._wrong(f"array {entry.name!r}", "a flag is neither 0 nor 1")
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def _skip(self, nbytes: int) -> bool:
        """Look at bytes that nobody wants; always False."""
        while nbytes > 0 and (piece := self._take(min(nbytes, MEBIBYTE))):
            self.hash.update(piece)
            nbytes -= len(piece)
        return False

    def _take(self, nbytes: int) -> bytes:
        piece = self.file.read(nbytes)
        self.left -= len(piece)
        return piece

    def _require_digest(self, said: str) -> None:
        if self.hash.hexdigest() != said:
            raise ModelFileError(
                "checksum",
                f"{self.path} is damaged: its SHA-256 is not the one it was written with. Fetch it "
                "again, or save the model again",
            )

    def _wrong(self, part: str, why: object) -> ModelFileError:
        return ModelFileError("schema", f"{part} of {self.path} cannot be used: {why}")


def one_line(found: object) -> str:
    """The beginning of what was found, without line breaks and other letters that do not print."""
    text = f"{found!s:.200}"
    return text if text.isprintable() else ascii(text)


def _are_sizes(values: object, most: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= most
        and all(type(value) is int and 0 <= value <= LONGEST_AXIS for value in values)
    )


@contextmanager
def open_container(path: Path) -> Iterator[BinaryIO]:
    """A plain file to read; what the system says against that is a `ModelFileError`."""
    name = one_line(path)
    try:
        with _plain_file(path) as file:
            yield file
    except FileNotFoundError as error:
        raise ModelFileError("missing", f"there is no file {name}") from error
    except OSError as error:
        why = error.strerror or error
        raise ModelFileError("unreadable", f"{name} cannot be read: {why}") from error
    except MemoryError as error:
        raise ModelFileError("limit", f"{name} does not fit the memory there is") from error


def _plain_file(path: Path) -> BinaryIO:
    """Opened, if it is one: opening a pipe would wait for somebody to write into it."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, "it is no plain file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _little_endian(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def round_trip(document: dict[str, Any]) -> dict[str, Any]:
    """The document as it would be read again, refused where it would not be."""
    try:
        found: dict[str, Any] = parsed_json(_json(document))
    except (ValueError, RecursionError) as error:
        raise ModelFileError("limit", f"what is no array cannot be written: {error}") from None
    return found


def _header(document: dict[str, Any], tensors: Tensors) -> bytes:
    """The eight bytes of its length, and the header, without a digest yet."""
    if len(tensors) > MOST_TENSORS:
        raise ModelFileError(
            "limit", f"the model has {len(tensors)} arrays; a file holds at most {MOST_TENSORS}"
        )
    long = next((name for name in tensors if len(name) > LONGEST_NAME), None)
    if long is not None:
        raise ModelFileError("limit", f"`{long:.60}...` is too long for the name of an array")
    text = _json({"sha256": NO_DIGEST, **document})
    table: dict[str, Any] = {"__metadata__": {"separatrix": text}}
    end = 0
    for name, array in tensors.items():
        table[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    header = _json(table).encode("ascii")
    header += b" " * (-len(header) % 8)
    if len(header) > LARGEST_HEADER:
        raise ModelFileError(
            "limit",
            f"all that is no array takes {in_words(len(header))}; a file holds at most "
            f"{in_words(LARGEST_HEADER)} of it",
        )
    return len(header).to_bytes(8, "little") + header


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _pieces(arrays: list[npt.NDArray[Any]]) -> Iterator[memoryview]:
    """The bytes of contiguous arrays, as they lie, in pieces."""
    for array in arrays:
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, flat.size, PIECE):
            yield flat[start : start + PIECE].data
