"""Arrays and one JSON document in a file that is refused once a single bit has changed.

The layout is that of safetensors, so other programs can read the arrays: the length of the header in eight
bytes, the header as JSON, the bytes of the arrays. The document is a string in the header's metadata. It
begins with the SHA-256 of the whole file, computed with 64 zeros in its place. The library `safetensors`
is not used to read: it copies every array once more, which takes twice the memory and half again the time.

Reading trusts nothing. Sizes are compared with that of the file before memory is allocated, and the header
is so small that no JSON in it takes much memory or time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from separatrix.data.regular_files import open_regular
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
PIECE = MEBIBYTE  # bytes that are read and hashed at a time: they stay in cache

BEGIN = b'{"__metadata__":{"separatrix":"{\\"sha256\\":\\"'  # the digest follows
NO_DIGEST = "0" * 64
DIGEST = slice(8 + len(BEGIN), 8 + len(BEGIN) + len(NO_DIGEST))
DTYPES = {
    **{"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2"},
    **{"U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8"},
}
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


class Contents(NamedTuple):
    """What a file holds."""

    document: dict[str, Any]
    tensors: Tensors
    nbytes: int


def write_container(path: Path, document: dict[str, Any], tensors: Tensors) -> None:
    """Write a document and arrays into a file, atomically."""
    arrays = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)
        for name, array in sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    }
    header = _make_header(document, arrays)
    digest = hashlib.sha256(header)
    for piece in _pieces(*arrays.values()):
        digest.update(piece)
    header[DIGEST] = digest.hexdigest().encode()
    try:
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            file.write(header)
            for piece in _pieces(*arrays.values()):
                file.write(piece)
    except OSError as error:
        raise unwritable(path, error) from error


def _make_header(document: dict[str, Any], arrays: Tensors) -> bytearray:
    """Length and header, with zeros for the digest."""
    if len(arrays) > MOST_TENSORS:
        why = f"the model has {len(arrays)} arrays; a file holds at most {MOST_TENSORS}"
        raise ModelFileError("limit", why)
    long = next((name for name in arrays if len(name) > LONGEST_NAME), None)
    if long is not None:
        raise ModelFileError("limit", f"`{long:.60}...` is too long for the name of an array")
    metadata = {"separatrix": _dump({"sha256": NO_DIGEST, **document})}
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        dtype, shape = NAMES[array.dtype], list(array.shape)
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    header = _dump(table).encode("ascii")
    header += b" " * (-len(header) % 8)
    if len(header) > LARGEST_HEADER:
        size, most = in_words(len(header)), in_words(LARGEST_HEADER)
        raise ModelFileError("limit", f"the JSON header is {size}; the limit is {most}")
    return bytearray(len(header).to_bytes(8, "little") + header)


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def round_trip(document: dict[str, Any]) -> dict[str, Any]:
    """The document as it will be read, refused if it cannot be."""
    try:
        found: dict[str, Any] = parsed_json(_dump(document))
    except (ValueError, RecursionError) as error:
        raise ModelFileError("limit", f"the document cannot be written as JSON: {error}") from None
    return found


def unwritable(path: Path, error: OSError) -> ModelFileError:
    """The error for a file that cannot be written."""
    why = f"cannot be written: {error.strerror or error}; nothing was changed there"
    return ModelFileError("unwritable", f"{one_line(path)} {why}")


def one_line(found: object) -> str:
    """The beginning of a text, without line breaks and unprintable characters."""
    text = f"{found!s:.200}"
    return text if text.isprintable() else ascii(text)


def read_container(
    path: Path,
    *,
    versions: Callable[[object], str | None],
    keep: Callable[[str], bool] | None = None,
) -> Contents:
    """Read a file after every byte of it was found unchanged.

    `versions` maps the document's "format" to the reason why it cannot be read, or None. Arrays whose
    name `keep` does not accept are verified too, but hold 0 everywhere and take no memory.
    """
    name = one_line(path)
    with open_container(path) as file:
        size = os.fstat(file.fileno()).st_size
        header, digest = _read_header(name, file, size)
        hashed = hashlib.sha256(header)
        try:
            document, table = _parse_header(name, header[8:])
            refusal = versions(document.get("format"))
            if refusal is not None:
                raise ModelFileError("version", f"{name}: {refusal}")
            _check_table(name, table, size - len(header))
            kept = {key: item for key, item in table.items() if keep is None or keep(key)}
            needed = sum(_nbytes(item) for item in kept.values())
            if needed > memory_of_this_machine():
                why = f"{name} needs {in_words(needed)}, more than this machine's memory"
                raise ModelFileError("limit", why)
            data = {key: np.empty(_nbytes(item), np.uint8) for key, item in kept.items()}
            scratch = np.empty(PIECE if len(kept) < len(table) else 0, np.uint8)
            for key, item in table.items():
                for piece in _pieces(data[key]) if key in data else _fill(scratch, _nbytes(item)):
                    if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                        raise ModelFileError("size", f"{name} became shorter while it was read")
                    hashed.update(piece)
            _require_digest(name, hashed.hexdigest(), digest)
            tensors = {key: _view(name, key, item, data.get(key)) for key, item in table.items()}
            return Contents(document, tensors, size)
        except ModelFileError as error:
            if error.reason not in ("size", "limit", "checksum"):  # the file may have no end
                while rest := file.read(MEBIBYTE):
                    hashed.update(rest)
                _require_digest(name, hashed.hexdigest(), digest)  # a changed bit is the reason
            raise


def _read_header(name: str, file: BinaryIO, size: int) -> tuple[bytes, str]:
    """Length and header with zeros for the digest, and the digest."""
    raw = bytearray(file.read(DIGEST.start))
    length = int.from_bytes(raw[:8], "little")
    if raw[8:] != BEGIN or length < DIGEST.stop - 8:
        raise ModelFileError(
            "format",
            f"{name} is not a model file of separatrix, or its first bytes are damaged; `save` writes "
            "such files",
        )
    if length > LARGEST_HEADER:
        found, most = in_words(length), in_words(LARGEST_HEADER)
        raise ModelFileError("limit", f"the header of {name} is {found}; the limit is {most}")
    if length > size - 8:
        raise ModelFileError("size", f"{name} is truncated within its header")
    raw += file.read(8 + length - len(raw))
    digest = raw[DIGEST].decode("latin-1")
    raw[DIGEST] = NO_DIGEST.encode()
    return bytes(raw), digest


def _require_digest(name: str, found: str, digest: str) -> None:
    if found != digest:
        raise ModelFileError(
            "checksum",
            f"{name} is damaged: its SHA-256 is not the one it was written with. Fetch it again, or "
            "save the model again",
        )


def _unusable(name: str, part: str, why: object) -> ModelFileError:
    return ModelFileError("schema", f"{part} of {name} cannot be used: {one_line(why)}")


def _parse_header(name: str, header: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document, and the table of arrays; both are objects, since the header starts with `BEGIN`."""
    try:
        table = parsed_json(header.decode("latin-1"))
        metadata = table.pop("__metadata__")
        document = parsed_json(metadata["separatrix"])
    except (ValueError, RecursionError) as error:
        raise _unusable(name, "the header", error) from None
    if not header.isascii() or list(metadata) != ["separatrix"]:
        raise _unusable(name, "the metadata", "it has other keys than 'separatrix'")
    document.pop("sha256")
    return document, table


def _check_table(name: str, table: dict[str, Any], nbytes: int) -> None:
    """Refuse arrays that do not lie one after the other and fill the file."""
    if len(table) > MOST_TENSORS:
        why = f"{name} has {len(table)} arrays; at most {MOST_TENSORS} are read"
        raise ModelFileError("limit", why)
    end = 0
    for key, item in table.items():
        what = f"array {key!r:.60}"
        if not 0 < len(key) <= LONGEST_NAME:
            raise _unusable(name, "the table", "the name of an array is empty or too long")
        if not isinstance(item, dict) or set(item) != {"dtype", "shape", "data_offsets"}:
            raise _unusable(name, what, "it needs dtype, shape and data_offsets")
        dtype, shape, offsets = item["dtype"], item["shape"], item["data_offsets"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise _unusable(name, what, f"its type is {dtype!r:.40}")
        if not _are_sizes(shape, MOST_AXES) or not _are_sizes(offsets, 2):
            raise _unusable(name, what, "its shape or its offsets are not a list of sizes")
        itemsize = np.dtype(DTYPES[dtype]).itemsize
        begin, end = end, end + prod(shape) * itemsize
        if prod(filter(None, shape)) * itemsize > LARGEST_INTEGER:
            raise _unusable(name, what, f"no array has shape {shape}")
        if offsets != [begin, end]:
            raise _unusable(name, what, f"bytes {offsets} are not {[begin, end]}")
    if end != nbytes:
        word = "short" if end > nbytes else "long"
        why = f"{name} is {abs(end - nbytes)} bytes too {word} for its arrays"
        raise ModelFileError("size", why)


def _nbytes(item: dict[str, Any]) -> int:
    begin, end = item["data_offsets"]
    return int(end - begin)


def _view(
    name: str, key: str, item: dict[str, Any], raw: npt.NDArray[Any] | None
) -> npt.NDArray[Any]:
    """An array from its bytes; of zeros, without memory, if its bytes were not kept."""
    dtype, shape = np.dtype(DTYPES[item["dtype"]]), tuple(item["shape"])
    if raw is None:
        return np.broadcast_to(np.zeros((), dtype), shape)
    if item["dtype"] == "BOOL" and raw.max(initial=0) > 1:
        raise _unusable(name, f"array {key!r}", "a flag is neither 0 nor 1")
    return raw.view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _are_sizes(values: object, most: int) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= most
        and all(type(value) is int and 0 <= value <= LONGEST_AXIS for value in values)
    )


def _fill(scratch: npt.NDArray[Any], nbytes: int) -> Iterator[memoryview]:
    """Pieces of the same memory, until there were so many bytes."""
    for start in range(0, nbytes, PIECE):
        yield scratch[: min(PIECE, nbytes - start)].data


def _pieces(*arrays: npt.NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of contiguous arrays, in pieces."""
    for array in arrays:
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, flat.size, PIECE):
            yield flat[start : start + PIECE].data


@contextmanager
def open_container(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file to read; errors of the system become a `ModelFileError`."""
    name = one_line(path)
    try:
        with open_regular(path) as file:
            yield file
    except FileNotFoundError as error:
        raise ModelFileError("missing", f"there is no file {name}") from error
    except OSError as error:
        why = error.strerror or error
        raise ModelFileError("unreadable", f"{name} cannot be read: {why}") from error
    except MemoryError as error:
        raise ModelFileError("limit", f"{name} does not fit into memory") from error
