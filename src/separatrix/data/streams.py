"""Bytes from a file, plain, gz, bz2 or xz, in blocks, never more of them than the limits allow.

What a file is packed with is seen from its first bytes, not from its name.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from separatrix.data.limits import Limits
from separatrix.errors import DataFileError, MissingDataError

BLOCK = 1 << 20
XZ_MEMORY = 100 << 20  # what `xz -9` needs to be unpacked is 65 MiB
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz"}
PACKED = frozenset({".gz", ".bz2", ".xz"})


class Source:
    """A file that is being read; `name` is what errors call it."""

    def __init__(self, name: str, raw: BinaryIO, stream: BinaryIO, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self._raw, self._stream = raw, stream
        self._inflated = 0

    def read(self, size: int = BLOCK) -> bytes:
        """Up to `size` more bytes, at least one unless the file has ended."""
        try:
            found = self._stream.read(size)
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
            raise DataFileError(
                self.name,
                found=f"a packed file that breaks off or is damaged ({error})",
                expected="a whole one",
                hint="fetch it again",
            ) from None
        self._inflated += len(found)
        self._count()
        return found

    def read_all(self) -> bytes:
        """All that is left."""
        parts = []
        while part := self.read():
            parts.append(part)
        return b"".join(parts)

    def blocks(self) -> Iterator[bytes]:
        """All that is left as blocks of whole lines, the last one with or without its newline."""
        rest = b""
        line = 1
        while part := self.read():
            end = part.rfind(b"\n") + 1
            if not end:
                rest += part
                self._require_line(rest, line)
                continue
            block, rest = rest + part[:end], part[end:]
            self._require_line(block, line)
            line += newlines(block)
            yield block
        if rest:
            self._require_line(rest, line)
            yield rest

    def _require_line(self, block: bytes, line: int) -> None:
        """Refuse a block that begins with a line too long; only its first can be, bar tiny limits."""
        most = self.limits.line_bytes
        if len(block) <= most:
            return
        start = 0
        while start < len(block):
            end = block.find(b"\n", start)
            end = len(block) if end < 0 else end
            if end - start > most:
                raise DataFileError(
                    self.name,
                    line,
                    found=f"a line of more than {most:,} bytes",
                    expected="shorter lines",
                    hint="raise `line_bytes` of Limits if this is right",
                )
            start, line = end + 1, line + 1

    def _count(self) -> None:
        limits = self.limits
        if self._inflated > limits.inflated_bytes:
            raise self._over(f"{limits.inflated_bytes:,} bytes", "inflated_bytes")
        packed = self._raw is not self._stream
        if packed and self._inflated > limits.inflation_free:
            ratio = self._inflated / max(self._raw.tell(), 1)
            if ratio > limits.inflation:
                raise self._over(f"{limits.inflation} bytes for each packed one", "inflation")

    def _over(self, what: str, name: str) -> DataFileError:
        return DataFileError(
            self.name,
            found=f"more than {what}",
            expected="less",
            hint=f"raise `{name}` of Limits if this is right",
        )


@contextmanager
def open_(path: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[Source]:
    """Open a file for reading, unpacking it on the way.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "three.txt.gz")
    >>> with gzip.open(name, "wb") as file:
    ...     _ = file.write(b"1\\n2\\n3\\n")
    >>> with open_(name) as source:
    ...     source.read_all()
    b'1\\n2\\n3\\n'
    """
    limits = limits or Limits()
    name = os.fspath(path)
    try:
        found = os.stat(name)
        plain = stat.S_ISREG(found.st_mode)  # a pipe would wait
        raw = open(name, "rb") if plain else None  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        raise MissingDataError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:
        raise DataFileError(
            name, found=f"a file that cannot be read ({error})", expected="one that can"
        ) from None
    if raw is None:
        raise DataFileError(name, found="something that is no plain file", expected="a file")
    with raw:
        if found.st_size > limits.bytes:
            raise DataFileError(
                name,
                found=f"{found.st_size:,} bytes",
                expected=f"at most {limits.bytes:,}",
                hint="raise `bytes` of Limits if this is right",
            )
        head = raw.read(6)
        raw.seek(0)
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
        stream = cast(BinaryIO, _unpacking(kind, raw))
        yield Source(name, raw, stream, limits)


def newlines(block: bytes) -> int:
    """How many lines end in a block; faster than `bytes.count` where lines are short.

    >>> newlines(b"one\\ntwo\\nthree")
    2
    """
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 10))


def unpacked_suffix(path: str | os.PathLike[str]) -> str:
    """The ending that says what a file holds: ".csv" of "a.csv.gz", in lower case.

    >>> unpacked_suffix("A.CSV.gz"), unpacked_suffix("a9a.t"), unpacked_suffix("a9a")
    ('.csv', '.t', '')
    """
    path = Path(path)
    while path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def _unpacking(kind: str, raw: BinaryIO) -> object:
    if kind == "gz":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if kind == "bz2":
        return bz2.BZ2File(raw, "rb")
    return _Xz(raw) if kind == "xz" else raw


class _Xz:
    """Bytes of an xz file; its header may ask for some memory, and with `lzma.LZMAFile` for all."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self._left = raw, b""
        self._unpacker = self._begun()

    def read(self, size: int) -> bytes:
        """Up to `size` more bytes; several streams one after the other are one."""
        while True:
            if self._unpacker.eof:
                self._left = (self._unpacker.unused_data or self._raw.read(BLOCK)).lstrip(b"\0")
                if not self._left:
                    return b""
                self._unpacker = self._begun()
            elif self._unpacker.needs_input and not self._left:
                self._left = self._raw.read(BLOCK)
                if not self._left:
                    raise EOFError("it ends before its end-of-stream mark")
            given, self._left = self._left, b""
            found = self._unpacker.decompress(given, size)
            if found:
                return found

    def _begun(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
