"""Files written completely or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` to write into; it replaces `path` if no error is raised.

    The permissions of an existing file are kept; a symbolic link stays, and its target is replaced.
    """
    path = Path(os.path.realpath(path))
    if not path.name or (path.exists() and not path.is_file()):
        raise OSError(None, "not a regular file")
    temporary = _create_beside(path)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _create_beside(path: Path) -> Path:
    """A new empty file with default permissions."""
    while True:
        temporary = path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            continue
        return temporary


def _sync_folder(folder: Path) -> None:
    """Flush the new name of a file to disk too, if the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
