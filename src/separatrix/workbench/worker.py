"""A child process of the server: JSON over a pipe, a memory limit, a deadline, ended with the server.

A message is one line of JSON, the header, then an optional body of bytes that is not parsed on the way.
Two threads keep the event loop from blocking: one reads, one writes. Messages reach the loop in order;
the exit of the process comes last.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import connection as connections
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from separatrix.errors import SeparatrixError
from separatrix.web import MEGABYTE

LIBRARIES = 384 * MEGABYTE  # data that imports and thread stacks take, on top of the memory limit
_SIGNAL_AT_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
Header = dict[str, Any]


class Channel:
    """The child's end of the pipe. Threads may share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._lock = connection, Lock()

    def send(self, header: Header, body: bytes = b"") -> None:
        """Send a message; raises BrokenPipeError once the server is gone."""
        with self._lock:
            self._connection.send_bytes(json.dumps(header, allow_nan=False).encode() + b"\n" + body)

    def receive(self) -> Header:
        """Wait for the next message; raises EOFError once the server is gone."""
        header: Header = json.loads(self._connection.recv_bytes())
        return header

    def pending(self) -> bool:
        """Whether a message is waiting."""
        return self._connection.poll()


Main = Callable[[Channel, Any], None]


class Spawned(NamedTuple):
    """A process that has begun, and the server's end of its pipe."""

    pipe: Connection
    process: Any


def spawn(main: Main, task: Any, memory: int) -> Spawned:
    """Start a process that runs `main(channel, task)`."""
    context = get_context("spawn")
    pipe, child_end = context.Pipe()
    process = context.Process(target=_run, args=(main, child_end, task, memory), daemon=True)
    process.start()
    child_end.close()
    return Spawned(pipe, process)


class Worker:
    """A spawned process that runs `main(channel, task)`; all methods are for the thread of the event loop.

    `on_message` gets the header and the body of each message, `on_exit` the exit code, below 0 for a
    signal. Nothing is delivered after `kill` but the exit. `spawned` is the process
    if it has begun already.
    """

    def __init__(
        self,
        main: Main,
        task: Any,
        *,
        memory: int,
        on_message: Callable[[Header, bytes], None],
        on_exit: Callable[[int], None],
        spawned: Spawned | None = None,
    ) -> None:
        self._pipe, self._process = spawned or spawn(main, task, memory)
        self._on_message, self._on_exit = on_message, on_exit
        self._killed = False
        self._deadline: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1)
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, message: bytes) -> None:
        """Have a message, a line of JSON, written; it is lost if the process has ended."""
        with suppress(RuntimeError):  # the writer is shut down after the exit
            self._writer.submit(self._write, message)

    def set_deadline(self, seconds: float, on_expiry: Callable[[], None]) -> None:
        """Kill the process after `seconds`, then call `on_expiry`; replaces an earlier deadline."""

        def expire() -> None:
            self.kill()
            on_expiry()

        self.clear_deadline()
        self._deadline = self._loop.call_later(seconds, expire)

    def clear_deadline(self) -> None:
        """Let the process run."""
        if self._deadline is not None:
            self._deadline.cancel()

    def kill(self) -> None:
        """End the process at once."""
        self._killed = True
        self.clear_deadline()
        self._process.kill()

    async def join(self) -> None:
        """Wait until the process and its threads are gone."""
        await asyncio.to_thread(self._reader.join)

    def _write(self, message: bytes) -> None:
        with suppress(OSError):
            self._pipe.send_bytes(message)

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._schedule(self._deliver, self._pipe.recv_bytes())
        self._process.kill()  # it closed its end of the pipe
        self._process.join()
        self._writer.shutdown(wait=True)
        self._pipe.close()
        self._schedule(self._finish, self._process.exitcode or 0)

    def _schedule(self, callback: Callable[..., None], argument: bytes | int) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(callback, argument)

    def _deliver(self, message: bytes) -> None:
        if not self._killed:
            header, _, body = message.partition(b"\n")
            self._on_message(json.loads(header), body)

    def _finish(self, code: int) -> None:
        self.clear_deadline()
        self._on_exit(code)


def _run(main: Main, connection: Connection, task: Any, memory: int) -> None:
    """What the child runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    _end_with_parent()
    _limit_memory(memory + LIBRARIES)
    main(Channel(connection), task)


def _end_with_parent() -> None:
    """End this process when the server ends, however it ends."""
    parent = parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SIGNAL_AT_PARENT_DEATH, signal.SIGKILL)
        if os.getppid() != parent.pid:  # it died before the call
            os._exit(1)

    def exit_with_parent() -> None:
        connections.wait([parent.sentinel])
        os._exit(1)

    Thread(target=exit_with_parent, daemon=True).start()


def _limit_memory(memory: int) -> None:
    """Let this process allocate `memory` bytes more; beyond that is a MemoryError. Linux only.

    The limit is on data, not on address space: compiled libraries map far more than they use.
    """
    if sys.platform != "linux":
        return
    import resource

    status = Path("/proc/self/status").read_text(encoding="ascii")
    used = int(status.partition("VmData:")[2].split()[0]) * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = used + memory if hard == resource.RLIM_INFINITY else min(used + memory, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


class PointsNotKeptError(SeparatrixError):
    """A request names points that this process does not keep: it is a new one, or had too many others."""


def describe_error(error: Exception) -> dict[str, str]:
    """An error as a code, a message and a hint; the traceback of an unexpected one goes to stderr.

    >>> describe_error(ValueError("k must be at most 5"))
    {'code': 'refused', 'message': 'k must be at most 5', 'hint': ''}
    """
    code, message, hint = "refused", str(error), getattr(error, "hint", "")
    if isinstance(error, MemoryError) or "can't start new thread" in message:
        code = "memory"
        message = (isinstance(error, MemoryError) and message) or "not enough memory"
        hint = hint or "use fewer rows, or start with a larger --memory"
    elif isinstance(error, PointsNotKeptError):
        code = "points"
    elif isinstance(error, OSError) and not isinstance(error, SeparatrixError):
        message = f"cannot read or write a file: {error.strerror or 'no reason given'}"
    elif not isinstance(error, SeparatrixError | ValueError):
        print_traceback(error)
        code, message, hint = "internal", "", ""
    return {"code": code, "message": message, "hint": hint}


def print_traceback(error: BaseException) -> None:
    """Show an unexpected error in the terminal of the workbench."""
    sys.stderr.writelines(traceback.format_exception(error))
