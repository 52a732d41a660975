"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` to write into; it takes the place of `path` when all went well.

    A file that is replaced leaves its permissions to the new one. Of a link, the file that it points
    to is replaced.
    """
    path = Path(os.path.realpath(path))
    if not path.name or (path.exists() and not path.is_file()):
        raise OSError(None, "there is something that is no plain file")
    temporary = _made_beside(path)
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
    _settle(path.parent)


def _made_beside(path: Path) -> Path:
    """An empty file that was not there before, with the permissions that new files get."""
    while True:
        temporary = path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            continue
        return temporary


def _settle(folder: Path) -> None:
    """Have the new name of a file on the disk too, not only its bytes, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
