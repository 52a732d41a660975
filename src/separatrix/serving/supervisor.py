"""Worker processes that share a socket: started, watched, replaced when they die, and stopped."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from separatrix.errors import SeparatrixError
from separatrix.serving.gateway import log_line
from separatrix.serving.prometheus import COUNT, Metrics
from separatrix.serving.served_model import Signature
from separatrix.serving.serving_options import ServingOptions

RESTART_SECONDS = (0.5, 30.0)  # until a worker that never answered is started again, least and most
MOST_STARTS = 3  # of a worker, while none has answered yet
Signatures = dict[str, Signature]
RunWorker = Callable[..., None]


@dataclass
class _Worker:
    """A process, and the end of the pipe on which it says that it answers, or why it cannot."""

    process: Any
    messages: Connection
    ready: bool = False
    reason: SeparatrixError | None = None


class Supervisor:
    """Worker processes that share a socket; one that dies is replaced.

    A replacement takes up the model files only if they have the columns and classes that are served.
    """

    def __init__(
        self, options: ServingOptions, listener: socket.socket, run_worker: RunWorker
    ) -> None:
        self.options, self.listener, self.run_worker = options, listener, run_worker
        self.context = multiprocessing.get_context("spawn")
        self.numbers = self.context.RawArray("d", options.workers * COUNT)
        shared = np.frombuffer(self.numbers).reshape(options.workers, COUNT)
        self.metrics = [Metrics(shared, number) for number in range(options.workers)]
        self.signatures: Signatures = {}
        self.stopping = self.announced = False
        self.workers: dict[int, _Worker] = {}
        self.failed = [0] * options.workers  # starts one after the other that came to nothing
        self.start_at = [0.0] * options.workers

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start the workers, replace those that die, stop with them."""
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._stop)
        try:
            while not self.stopping:
                self._start_missing()
                self._wait()
                if not self.announced and self._count_ready() == self.options.workers:
                    self.announced = True
                    on_ready()
        finally:
            self._stop()
            for worker in self.workers.values():
                worker.process.join(self.options.drain + self.options.timeout + 5)
                if worker.process.is_alive():
                    worker.process.kill()

    def _count_ready(self) -> int:
        return sum(worker.ready for worker in self.workers.values())

    def _start_missing(self) -> None:
        now = time.monotonic()
        for number in range(self.options.workers):
            if number not in self.workers and now >= self.start_at[number] and not self.stopping:
                self._start(number)

    def _start(self, number: int) -> None:
        messages, theirs = self.context.Pipe(duplex=False)
        arguments = (self.run_worker, self.options, self.listener, self.numbers, number)
        process = self.context.Process(
            target=_work, args=(*arguments, self.signatures, theirs), daemon=True
        )
        process.start()
        theirs.close()
        self.workers[number] = _Worker(process, messages)

    def _wait(self) -> None:
        """Wait for a message or an end, at most until a worker is to be started."""
        quiet = [w.messages for w in self.workers.values() if not w.ready and not w.messages.closed]
        wait([w.process.sentinel for w in self.workers.values()] + quiet, timeout=0.2)
        for number, worker in list(self.workers.items()):
            over = worker.process.exitcode is not None  # before its messages are read
            self._read(worker)
            if over and not self.stopping:
                self._bury(number, worker)

    def _read(self, worker: _Worker) -> None:
        """Take what a worker said: the signatures of its models, or why it cannot serve them."""
        with suppress(EOFError, OSError):
            while not worker.messages.closed and worker.messages.poll():
                message = worker.messages.recv()
                if isinstance(message, SeparatrixError):
                    worker.reason = message
                elif repr(self.signatures or message) != repr(message):
                    worker.process.terminate()  # its files changed while it started
                else:
                    self.signatures = {} if self.options.any_signature else message
                    worker.ready = True
            return
        worker.messages.close()

    def _bury(self, number: int, worker: _Worker) -> None:
        """Note the end of a worker, and when to start another; raise if none can be started."""
        process = worker.process
        del self.workers[number]
        worker.messages.close()
        self.metrics[number].clear_gauges()
        self.metrics[number].add("separatrix_worker_restarts_total")
        reason = None if worker.reason is None else str(worker.reason)
        ended = {"number": number, "pid": process.pid, "exitcode": process.exitcode}
        log_line("worker", **ended, ready=worker.ready, reason=reason)
        process.close()
        self.failed[number] = 0 if worker.ready else self.failed[number] + 1
        if not self.announced:
            if worker.reason is not None:
                raise worker.reason
            if self.failed[number] == MOST_STARTS:
                code = ended["exitcode"]
                raise SeparatrixError(
                    f"worker {number} was lost {MOST_STARTS} times before it answered (exit code {code})"
                )
        least, most = RESTART_SECONDS
        delay = min(least * 2.0 ** min(self.failed[number] - 1, 10), most)
        self.start_at[number] = time.monotonic() + (delay if self.failed[number] else 0.0)

    def _stop(self, *_signal: Any) -> None:
        """Tell the workers to stop, once."""
        if not self.stopping:
            self.stopping = True
            for worker in self.workers.values():
                if worker.process.is_alive():
                    worker.process.terminate()


def _work(
    run_worker: RunWorker,
    options: ServingOptions,
    listener: socket.socket,
    numbers: Any,
    number: int,
    expected: Signatures,
    messages: Connection,
) -> None:
    """The main function of a worker process."""
    if os.name == "posix":
        os.setpgid(0, 0)  # Ctrl-C reaches the supervisor, which tells the workers once
    shared = np.frombuffer(numbers).reshape(options.workers, COUNT)
    try:
        run_worker(options, listener, Metrics(shared, number), messages.send, expected)
    except SeparatrixError as error:
        plain = SeparatrixError(str(error))  # others may not survive the pipe
        plain.hint = error.hint
        messages.send(plain)
        raise SystemExit(1) from None
