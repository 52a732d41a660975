"""Byte sources: files, plain or compressed with gz, bz2, xz, zst or zip, read within limits.

The compression is detected from the first bytes, not from the name. A reader of `data/formats` takes a
`ByteSource`; so a format with a header can read its lines, then hand the rest to another reader.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast
from zipfile import BadZipFile, ZipFile

import numpy as np

from separatrix.data.encodings import Transcoder, detect_encoding
from separatrix.data.limits import Limits
from separatrix.data.regular_files import open_regular
from separatrix.errors import DataFileError, EncodingError, MissingDataError, SeparatrixError

BLOCK = 1 << 20
XZ_MEMORY = 100 << 20  # `xz -9` needs 65 MiB
MAX_LABEL_LENGTH = 256  # characters; an array of labels is as wide as its longest
PACKED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zip"})
UTF8_HINT = "name the encoding (--encoding latin-1), or save the file as UTF-8"
_MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
    b"PK\x03\x04": "zip",
}
_DAMAGED = (EOFError, OSError, RuntimeError, lzma.LZMAError, zlib.error, BadZipFile)
_NOT_ARCHIVES = ("[Content_Types].xml", "mimetype")  # members of office documents


class ByteSource:
    """An open file, decompressed while it is read.

    `name` is its path, for error messages; `line` is the number of the line that comes next, kept by
    `read_line`. `encoding` is that of the bytes on disk; text is always read as UTF-8.
    """

    def __init__(self, name: str, raw: IO[bytes], limits: Limits) -> None:
        self.name, self.raw, self.limits, self.encoding = name, raw, limits, "utf-8"
        head = raw.read(6)
        self._compression = next(
            (kind for magic, kind in _MAGIC.items() if head.startswith(magic)), ""
        )
        if self._compression == "zip":
            self._require_one_member()
        self.rewind()

    def _require_one_member(self) -> None:
        """Refuse an archive of several files; arrays of NumPy and office documents are none."""
        names = _members(self.raw)
        if not names or any(n.endswith(".npy") or n in _NOT_ARCHIVES for n in names):
            self._compression = ""
        elif len(names) > 1:
            raise self.error(
                found=f"an archive of {len(names)} files ({', '.join(names)[:80]})",
                expected="one file",
                hint="unpack it, and name one of them",
            )

    def rewind(self, position: int = 0, line: int = 1) -> None:
        """Go back to an earlier `position`, the start of that line."""
        self.raw.seek(0)
        try:
            self._stream: IO[bytes] = _decompress(self._compression, self.raw)
        except (*_DAMAGED, ValueError, LookupError, struct.error) as error:  # of an archive
            raise self._damaged(error) from None
        if self.encoding != "utf-8":
            self._stream = cast(IO[bytes], Transcoder(self._stream, self.encoding))
        self._inflated, self._unread, self.line = 0, b"", line
        while position > 0 and (skipped := self.read(min(position, BLOCK))):
            position -= len(skipped)

    def use_encoding(self, encoding: str | None = None) -> None:
        """Read the file from its beginning on in an encoding; None: detected from its first bytes."""
        self.encoding = "utf-8"
        self.rewind()
        self.encoding = encoding or detect_encoding(bytes(self.read_up_to(BLOCK)))
        self.rewind()

    def _damaged(self, error: Exception) -> DataFileError:
        return self.error(
            found=f"a compressed file that is truncated or damaged ({error})",
            expected="a complete one",
            hint="download it again",
        )

    @property
    def position(self) -> int:
        """Decompressed bytes delivered so far."""
        return self._inflated - len(self._unread)

    def read(self, size: int = BLOCK) -> bytes:
        """Up to `size` more bytes; none only at the end of the file."""
        if self._unread:
            found, self._unread = self._unread[:size], self._unread[size:]
            return found
        try:
            found = self._stream.read(size)
        except UnicodeDecodeError as error:
            raise self._encoding_error(error) from None
        except _DAMAGED as error:
            if isinstance(error, OSError) and not self._compression:
                raise  # of the system, and no damage
            raise self._damaged(error) from None
        self._inflated += len(found)
        packed = max(self.raw.tell(), 1) if self._compression else self._inflated
        self.require_inflation(self._inflated, packed)
        return found

    def read_all(self) -> bytes:
        """The rest of the file."""
        return b"".join(iter(self.read, b""))

    def read_up_to(self, size: int) -> bytearray:
        """The next `size` bytes, fewer at the end of the file; memory grows with what was read."""
        found = bytearray()
        while len(found) < size and (part := self.read(min(size - len(found), BLOCK))):
            found += part
        return found

    def read_line(self) -> bytes:
        """The next line with its newline; nothing at the end of the file."""
        parts, size = list[bytes](), 0
        while part := self.read():
            end = part.find(b"\n") + 1
            if end:
                self._unread = part[end:] + self._unread
                self.line += 1
                return b"".join([*parts, part[:end]])
            parts.append(part)
            size += len(part)
            self.require_limit("line_bytes", size)
        return b"".join(parts)

    def blocks(self, size: int = BLOCK) -> Iterator[bytes]:
        """The rest of the file in blocks of complete lines; the last may lack its newline."""
        rest, start, line = b"", self.position, self.line
        begin = (start, line)
        while part := self.read(size):
            end = part.rfind(b"\n") + 1
            if not end:
                rest += part
                self._require_line(rest, start, begin)
                continue
            block, rest = (rest + part[:end] if rest else part[:end]), part[end:]
            self._require_line(block, start, begin)
            start += len(block)
            yield block
        if rest:
            self._require_line(rest, start, begin)
            yield rest

    def line_at(self, position: int, begin: tuple[int, int] = (0, 1)) -> int:
        """The line of a position, counted from another one: only errors need it, so it is read again."""
        self.rewind(*begin)
        line, left = begin[1], position - begin[0]
        while left > 0 and (part := self.read(min(left, BLOCK))):
            line += newlines(part)
            left -= len(part)
        return line

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The rest of the file line by line, numbered, without newlines."""
        line = self.line
        for block in self.blocks():
            for text in block.removesuffix(b"\n").split(b"\n"):
                yield line, text.removesuffix(b"\r")
                line += 1

    def error(
        self, line: int = 0, column: int = 0, *, found: str, expected: str, hint: str = ""
    ) -> DataFileError:
        """An error about this file; line and column count from 1, 0 for none."""
        return DataFileError(self.name, line, column, found=found, expected=expected, hint=hint)

    def decode(self, text: bytes, line: int, column: int = 1) -> str:
        """UTF-8 text that begins at a line and column."""
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            raise self._encoding_error(error, line, column + error.start) from None

    def _encoding_error(
        self, error: UnicodeDecodeError, line: int = 0, column: int = 0
    ) -> EncodingError:
        found = f"the byte {error.object[error.start]:#04x}"
        expected = f"{self.encoding.upper()} text"
        return EncodingError(
            self.name, line, column, found=found, expected=expected, hint=UTF8_HINT
        )

    def require_limit(self, name: str, size: int, *, line: int = 0, found: str = "") -> None:
        """Refuse a `size` above the limit of that name; `found` describes it."""
        most = getattr(self.limits, name)
        if size > most:
            raise self.error(
                line,
                found=found or f"more than {most:,} {name.replace('_', ' ')}",
                expected=f"at most {most:,}",
                hint=f"raise `{name}` of Limits if this is intended",
            )

    def require_label(self, label: str, known: set[str], line: int) -> None:
        """Refuse a label that is too long, or one too many; adds it to `known`."""
        if len(label) > MAX_LABEL_LENGTH:
            raise self.error(
                line,
                1,
                found=f"a label of {len(label):,} characters",
                expected=f"at most {MAX_LABEL_LENGTH}",
            )
        known.add(label)
        many = f"more than {self.limits.categories:,} different labels"
        self.require_limit("categories", len(known), line=line, found=many)

    def _require_line(self, block: bytes, position: int, begin: tuple[int, int]) -> None:
        """Refuse a block at a position with a line that is too long."""
        most = self.limits.line_bytes
        if len(block) <= most:
            return
        for number, text in enumerate(block.split(b"\n")):
            if len(text) > most:
                line = self.line_at(position, begin) + number
                long = f"a line of more than {most:,} bytes"
                self.require_limit("line_bytes", len(text), line=line, found=long)

    def require_inflation(self, inflated: int, packed: int) -> None:
        """Refuse more decompressed bytes than the limits allow for that many compressed ones."""
        limits = self.limits
        many = f"more than {limits.inflated_bytes:,} bytes"
        self.require_limit("inflated_bytes", inflated, found=many)
        if inflated > max(limits.inflation_free, limits.inflation * packed):
            raise self.error(
                found=f"more than {limits.inflation} bytes for each compressed byte",
                expected="fewer",
                hint="raise `inflation` of Limits if this is intended",
            )


@contextmanager
def open_(path: str | os.PathLike[str], limits: Limits | None = None) -> Iterator[ByteSource]:
    """Open a regular file, or standard input for "-", as a byte source.

    >>> import tempfile
    >>> name = os.path.join(tempfile.mkdtemp(), "three.txt.gz")
    >>> with gzip.open(name, "wb") as file:
    ...     _ = file.write(b"1\\n2\\n3\\n")
    >>> with open_(name) as source:
    ...     source.read_line(), source.read_all()
    (b'1\\n', b'2\\n3\\n')
    """
    limits = limits or Limits()
    name = os.fspath(path)
    try:
        if name == "-":
            yield ByteSource(name, BytesIO(_read_stdin(limits)), limits)
            return
        with open_regular(name) as raw:
            size = os.fstat(raw.fileno()).st_size
            source = ByteSource(name, raw, limits)
            source.require_limit("bytes", size, found=f"{size:,} bytes")
            yield source
    except FileNotFoundError as error:
        raise MissingDataError(f"there is no file {error.filename or name}") from None
    except (OSError, ValueError) as error:
        if isinstance(error, SeparatrixError) or not _is_of(name, error):
            raise
        pipe = "a pipe" in str(error)
        raise DataFileError(
            name,
            found=f"an unreadable file ({getattr(error, 'strerror', None) or error})",
            expected="a regular file that can be read",
            hint="pipe it into the command, and name - for standard input" if pipe else "",
        ) from None


def _is_of(name: str, error: Exception) -> bool:
    """Whether the system, which does not always say so, or a path with a NUL means this file."""
    if isinstance(error, OSError):
        return error.filename in (None, name)
    return "\0" in name


_held: list[Any] = [None, b""]  # standard input and its content: it is read several times


def _read_stdin(limits: Limits) -> bytes:
    if _held[0] is not sys.stdin:
        content = sys.stdin.buffer.read(limits.bytes + 1)
        if len(content) > limits.bytes:
            found = f"more than {limits.bytes:,} bytes"
            raise DataFileError("-", found=found, expected=f"at most {limits.bytes:,}")
        _held[:] = [sys.stdin, content]
    return bytes(_held[1])


def newlines(block: bytes) -> int:
    """Number of newlines; faster than `bytes.count` for short lines.

    >>> newlines(b"one\\ntwo\\nthree")
    2
    """
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 10))


def locate(block: bytes, line: int, offset: int) -> tuple[int, int]:
    """Line and column of a byte in a block that begins with `line`.

    >>> locate(b"one\\ntwo", 5, 6)
    (6, 3)
    """
    return line + block.count(b"\n", 0, offset), offset - block.rfind(b"\n", 0, offset)


def unpacked_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a name without those of compression, in lower case.

    >>> unpacked_suffix("A.CSV.gz"), unpacked_suffix("a9a.t"), unpacked_suffix("a9a")
    ('.csv', '.t', '')
    """
    path = Path(path)
    while path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def split_table(path: str) -> tuple[str, str]:
    """The file and the table of a path such as file.db:table.

    >>> split_table("houses.db:sold"), split_table("houses.db")
    (('houses.db', 'sold'), ('houses.db', ''))
    """
    if os.path.exists(path):
        return path, ""
    file, _, table = path.rpartition(":")
    return (file, table) if file and os.path.sep not in table else (path, "")


def _decompress(compression: str, raw: IO[bytes]) -> IO[bytes]:
    if compression == "xz":
        limited = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
        return cast(IO[bytes], _Streams(raw, limited, padding=4))
    if compression == "bz2":
        return cast(IO[bytes], _Streams(raw, bz2.BZ2Decompressor, padding=0))
    if compression == "gz":
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw, mode="rb"))
    if compression == "zip":
        return ZipFile(raw).open(_members(raw)[0])
    if compression == "zst":
        import pyarrow as pa  # loaded with the first table

        return cast(IO[bytes], pa.CompressedInputStream(pa.PythonFile(_Unclosed(raw), "r"), "zstd"))
    return raw


def _members(raw: IO[bytes]) -> list[str]:
    """Names of the files in an archive but those that macOS adds; none if it is damaged."""
    try:
        names = ZipFile(raw).namelist()
    except (BadZipFile, ValueError, OSError, NotImplementedError):
        return []
    return [name for name in names if not name.endswith("/") and not name.startswith("__MACOSX/")]


class _Unclosed:
    """A file that stays open when a stream over it is closed."""

    closed = False

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw

    def read(self, size: int = -1) -> bytes:
        """Up to `size` more bytes."""
        return self._raw.read(size)

    def close(self) -> None:
        """Leave the file open."""


class _Streams:
    """Compressed streams, one after the other, read as one; other bytes after the last are refused.

    `lzma.LZMAFile` offers no memory limit, and `bz2.BZ2File` drops what follows a damaged stream.
    """

    def __init__(self, raw: IO[bytes], start: Callable[[], Any], padding: int) -> None:
        self._raw, self._start, self._input = raw, start, b""
        self._decompressor = start()
        self._padding = padding  # zeros may follow a stream, this many or a multiple

    def read(self, size: int) -> bytes:
        """Up to `size` more bytes."""
        while True:
            if self._decompressor.eof:
                self._input = self._skip_zeros(self._decompressor.unused_data)
                if not self._input:
                    return b""
                self._decompressor = self._start()
            elif self._decompressor.needs_input and not self._input:
                self._input = self._raw.read(BLOCK)
                if not self._input:
                    raise EOFError("the end-of-stream mark is missing")
            given, self._input = self._input, b""
            found: bytes = self._decompressor.decompress(given, size)
            if found:
                return found

    def _skip_zeros(self, found: bytes) -> bytes:
        """The bytes after a stream and its padding."""
        zeros = 0
        while found := found or self._raw.read(BLOCK):
            rest = found.lstrip(b"\0")
            zeros += len(found) - len(rest)
            found = rest
            if rest:
                break
        if zeros and (not self._padding or zeros % self._padding):
            raise EOFError(f"{zeros} zeros follow the end of a stream")
        return found
