"""Regular files opened to read: a pipe would block until somebody writes, and a device never ends.

Files of the kernel, as /proc/kmsg, say that they are regular; some of them block, or never end.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

_KERNEL_FILES = ("/proc", "/sys", "/sys/kernel/debug", "/sys/kernel/tracing")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file; an `OSError` with its name for anything else.

    >>> open_regular(os.devnull)
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] a device, not a regular file: '/dev/null'
    """
    name = os.fspath(path)
    # not blocking: opening a pipe would wait for a writer
    handle = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(22, f"{_kind(status.st_mode)}, not a regular file", name)
        if status.st_dev in _kernel_devices():
            raise OSError(22, "a file of the kernel, not a regular file", name)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _kernel_devices() -> set[int]:
    """The file systems of the kernel, where they are mounted."""
    return {os.stat(path).st_dev for path in _KERNEL_FILES if os.path.ismount(path)}


def _kind(mode: int) -> str:
    kinds = {"a folder": stat.S_ISDIR, "a pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((kind for kind, test in kinds.items() if test(mode)), "a device")


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file; every `OSError` has its name."""
    with open_regular(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
