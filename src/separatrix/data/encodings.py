"""Encodings of text files: detected from the first bytes, converted to UTF-8 while a file is read."""

from __future__ import annotations

import codecs
import re
from typing import IO

from separatrix.errors import ParameterError

FALLBACK = "cp1252"
"""Encoding of bytes that are not UTF-8: Windows in Western Europe, a superset of Latin-1."""

MIXED = "utf-8 and cp1252"
"""Lines of both, as where files were put one after the other: each line that is not UTF-8 is cp1252."""

NOTES = {
    FALLBACK: "the bytes are not UTF-8 and were read as Windows-1252; --encoding names another",
    MIXED: "lines that are not UTF-8 were read as Windows-1252, the others as UTF-8; --encoding names "
    "one encoding for all",
}
"""What is said about an encoding that was detected and not named."""

_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PLAIN_SHARE = 0.7  # of characters below 256, in UTF-16 text without a byte order mark
_ALPHABET_SHARE = 0.2  # of the same (digits, separators) among letters of another alphabet
_LETTERS_PER_PAGE = 8  # of another alphabet, for each high byte
_FEWEST = 4  # such characters: a shorter text with a NUL may as well be UTF-8
_CONTROL = re.compile("[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_MIXED_SHARE = 0.1  # of the lines that are not ASCII, in UTF-8: in Windows-1252, few are by chance
_BLOCK, _LONGEST_LINE = 1 << 20, 1 << 24


def detect_encoding(head: bytes) -> str:
    """The encoding of a text that begins with these bytes.

    >>> detect_encoding("Zürich".encode()), detect_encoding("Zürich".encode("latin-1"))
    ('utf-8', 'cp1252')
    >>> detect_encoding("a;b".encode("utf-16")), detect_encoding("a;b;c".encode("utf-16-be"))
    ('utf-16', 'utf-16-be')
    """
    for bom, encoding in _BOMS.items():
        if head.startswith(bom):
            return encoding
    for encoding in ("utf-16-le", "utf-16-be") if b"\0" in head else ():
        if _reads_as_utf16(head, encoding):
            return encoding
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut off
    except UnicodeDecodeError:
        return MIXED if _holds_both(head) else FALLBACK
    return "utf-8"


def _reads_as_utf16(head: bytes, encoding: str) -> bool:
    """Whether bytes without a byte order mark can hardly be anything but text in UTF-16.

    A NUL or two in another text are not enough: the high byte of most characters must be zero, or the
    other characters share a few high bytes, as those of one alphabet do; none may be a control
    character other than white space.

    >>> _reads_as_utf16(b"ha\\0\\ts=", "utf-16-be"), _reads_as_utf16(b"\\0a\\0,\\0b\\0c", "utf-16-be")
    (False, True)
    """
    start = 1 if encoding == "utf-16-le" else 0
    high = head[start : len(head) // 2 * 2 : 2]
    plain, others = high.count(0), high.replace(b"\0", b"")
    if plain < max(_FEWEST, _PLAIN_SHARE * len(high)):
        alphabet = len(others) >= _LETTERS_PER_PAGE * len(set(others))
        if plain < max(_FEWEST, _ALPHABET_SHARE * len(high)) or not alphabet:
            return False
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)  # the last may be cut off
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text)


def _holds_both(head: bytes) -> bool:
    """Whether some lines are UTF-8 beyond ASCII, and others are not UTF-8.

    >>> _holds_both("Zürich\\n".encode() + "Zürich\\n".encode("latin-1")), _holds_both(b"Z\\xfcrich\\n")
    (True, False)
    """
    special = [line for line in head.split(b"\n") if not line.isascii()]
    return sum(map(_is_utf8, special)) >= _MIXED_SHARE * len(special)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def note_encoding(found: str, given: str | None) -> list[str]:
    """What to say about the encoding of a file that was detected, if it is unusual."""
    return [NOTES[found]] if given is None and found in NOTES else []


def require_encoding(owner: str, encoding: str | None) -> None:
    """Refuse a name that is not an encoding of text."""
    if encoding is None:
        return
    try:
        known = codecs.lookup(encoding)._is_text_encoding
    except (LookupError, TypeError, ValueError):
        known = False
    if not known:
        must_be = "an encoding of text, such as utf-8, latin-1 or utf-16"
        raise ParameterError(owner, "encoding", must_be, encoding)


def _keep_control(error: UnicodeError) -> tuple[str, int]:
    """Bytes that a code page leaves undefined are control characters, as in Latin-1."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("separatrix-control", _keep_control)


class Transcoder:
    """A stream of bytes in some encoding, read as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._mixed = encoding == MIXED
        errors = "separatrix-control" if encoding in NOTES else "strict"
        self._decoder = codecs.getincrementaldecoder(FALLBACK if self._mixed else encoding)(errors)
        self._stream, self._text, self._ended = stream, b"", False
        self._line = b""  # the beginning of one, of mixed lines

    def read(self, size: int) -> bytes:
        """Up to `size` more bytes of UTF-8; none only at the end."""
        while not self._text and not self._ended:
            part = self._stream.read(min(max(size, 2), _BLOCK))
            self._ended = not part
            self._text = self._convert_lines(part) if self._mixed else self._convert(part)
        found, self._text = self._text[:size], self._text[size:]
        return found

    def _convert(self, part: bytes) -> bytes:
        decoded = self._decoder.decode(part, final=self._ended)
        return decoded.encode("utf-8", errors="replace")  # a lone surrogate becomes ?

    def _convert_lines(self, part: bytes) -> bytes:
        """The complete lines so far; the last one is kept until it ends."""
        part = self._line + part
        end = part.rfind(b"\n") + 1
        if self._ended or len(part) - end > _LONGEST_LINE:
            end = len(part)
        self._line = part[end:]
        lines = part[:end].splitlines(keepends=True)
        return b"".join(line if _is_utf8(line) else self._convert(line) for line in lines)
