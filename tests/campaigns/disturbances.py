"""Calls that touch the disk or allocate arrays are counted; at one of them something goes wrong.

Installed in a process that is forked for one trial, so nothing is ever put back.
"""

import builtins
import errno
import io
import os
import signal
from pathlib import Path

import numpy as np

ALLOCATIONS = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like")
KILL, MEMORY = "kill", "memory"
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}


class Points:
    """Counts calls; at call number `at` the process dies, or an error is raised."""

    def __init__(self, what, at):
        self.what, self.at, self.count = what, at, 0

    def reach(self, half=None):
        """One more call; `half` does a part of its work before the failure."""
        self.count += 1
        if self.count - 1 != self.at:
            return
        if half is not None:
            half()
        if self.what == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == MEMORY:
            raise MemoryError("cannot allocate an array")
        number = ERRORS[self.what]
        raise OSError(number, os.strerror(number))


class Torn:
    """A file that is written through `Points`: a failing write leaves its first half on disk."""

    def __init__(self, file, points):
        self._file, self._points = file, points

    def write(self, data):
        def half():
            raw = data if isinstance(data, str) else memoryview(data).cast("B")
            self._file.write(raw[: len(raw) // 2])
            self._file.flush()

        self._points.reach(half)
        return self._file.write(data)

    def close(self):
        closed = self._file.closed
        self._file.close()
        if not closed:
            self._points.reach()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


def count_allocations(points):
    """Count what Python code asks NumPy for."""
    for name in ALLOCATIONS:
        setattr(np, name, _counted(getattr(np, name), points))


def _counted(call, points):
    def counted(*args, **kwargs):
        points.reach()
        return call(*args, **kwargs)

    return counted


def count_disk_calls(points, root):
    """Count the calls that change files under `root`."""
    root = os.path.realpath(root)
    _count_opens(points, root)

    def guard(name, path_of):
        call = getattr(os, name)

        def guarded(first, *args, **kwargs):
            if _inside(path_of(first), root):
                points.reach()
            return call(first, *args, **kwargs)

        setattr(os, name, guarded)

    guard("fsync", lambda handle: os.readlink(f"/proc/self/fd/{handle}"))
    for name in ("replace", "rename", "chmod", "mkdir"):
        guard(name, os.fspath)


def _count_opens(points, root):
    plain_open, os_open = io.open, os.open

    def torn_open(file, mode="r", *args, **kwargs):
        writes = not isinstance(file, int) and set(mode) & set("wax+") and _inside(file, root)
        if writes:
            points.reach()
        opened = plain_open(file, mode, *args, **kwargs)
        return Torn(opened, points) if writes else opened

    def guarded_open(path, flags, *args, **kwargs):
        if flags & (os.O_WRONLY | os.O_RDWR) and _inside(path, root):
            points.reach()
        return os_open(path, flags, *args, **kwargs)

    io.open = builtins.open = torn_open
    os.open = guarded_open
    import pyarrow.parquet as parquet

    def torn_table(table, where, **kwargs):  # written by compiled code: half of the whole file
        write_table(table, where, **kwargs)
        content = Path(where).read_bytes()
        points.reach(lambda: os.truncate(where, len(content) // 2))

    write_table, parquet.write_table = parquet.write_table, torn_table


def _inside(path, root):
    return os.path.realpath(os.fspath(path)).startswith(root)
