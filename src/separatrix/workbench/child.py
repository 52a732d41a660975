"""A spawned process at the other end of a pipe. Bytes cross it both ways; nothing is pickled.

Two threads wait so that the server's loop never does: one reads what the process says, one writes what is
sent to it. All that is heard reaches the loop in order; the end of the process is the last of it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread

# glibc keeps a heap for each thread and what was freed in it; two heaps, given back early, are enough.
_SMALL = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "131072"}
Main = Callable[[Connection, str], None]


class Child:
    """A process that runs `main(connection, text)`; made and used on the loop's thread.

    `heard` gets each message, `ended` the exit code (below 0: the signal that ended it), both on the loop.
    """

    def __init__(
        self,
        main: Main,
        text: str,
        *,
        heard: Callable[[bytes], None],
        ended: Callable[[int], None],
    ) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=main, args=(theirs, text), daemon=True)
        with _in_environment(_SMALL):
            self._process.start()
        theirs.close()
        self._heard, self._ended = heard, ended
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1)
        self._reader = Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its number in the system."""
        return self._process.pid or 0

    def send(self, message: bytes) -> None:
        """Have a message written; one that comes too late is lost, and `ended` is told why."""
        with suppress(RuntimeError):  # the writer is gone, as the process is
            self._writer.submit(self._write, message)

    def kill(self) -> None:
        """End it at once. `ended` is told as for any other end."""
        self._process.kill()

    async def gone(self) -> None:
        """Wait until nothing of it is left."""
        await asyncio.to_thread(self._reader.join)

    def _write(self, message: bytes) -> None:
        with suppress(OSError):
            self._pipe.send_bytes(message)

    def _listen(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._tell(self._heard, self._pipe.recv_bytes())
        self._process.kill()  # it closed its end: there is no talking to it any more
        self._process.join()
        self._writer.shutdown(wait=True)
        self._pipe.close()
        self._tell(self._ended, self._process.exitcode or 0)

    def _tell(self, listener: Callable[..., None], what: bytes | int) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(listener, what)


@contextmanager
def _in_environment(more: dict[str, str]) -> Iterator[None]:
    """Variables that a process started meanwhile inherits; those that are set already stay."""
    added = {name: value for name, value in more.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
