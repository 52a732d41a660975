"""Start and stop of the server: a socket, one or more worker processes, signals."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

import numpy as np
import uvicorn

from separatrix.errors import ParameterError
from separatrix.serving.endpoints import Endpoints
from separatrix.serving.gateway import Gateway, log_line
from separatrix.serving.prometheus import COUNT, Metrics
from separatrix.serving.serving_options import ServingOptions
from separatrix.serving.slow_clients import make_protocol
from separatrix.web.listen import listen_on
from separatrix.web.server import Server, server_config

RESTART_SECONDS = 0.5  # between two starts of a worker that died
SWITCH_SECONDS = 0.0005  # the thread that scores must not wait 5 ms for the one that reads


def serve_models(options: ServingOptions, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `on_ready` gets the address once models are loaded."""
    try:
        listener = listen_on(options.host, options.port)
    except OSError as error:
        refusal = ParameterError("serve", "port", "free to listen on", options.port)
        refusal.hint = f"{error.strerror}; --port 0 takes any free port"
        raise refusal from error
    with closing(listener):
        options = replace(options, port=listener.getsockname()[1])
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"http://{host}:{options.port}"
        if options.workers == 1:
            shared = np.zeros((1, COUNT))
            run_worker(options, listener, shared, 0, lambda: on_ready(address))
        else:
            Supervisor(options, listener).run(lambda: on_ready(address))


def run_worker(
    options: ServingOptions,
    listener: socket.socket,
    shared: Any,
    number: int,
    on_startup: Callable[[], None],
) -> None:
    """Serve in this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
    server = make_server(options, Metrics(shared, number), on_startup)
    gc.collect()
    gc.freeze()  # models are never collected: no pause for looking at them
    server.run(sockets=[listener])


def make_server(
    options: ServingOptions, metrics: Metrics, on_startup: Callable[[], None]
) -> DrainingServer:
    """Load the models and make their server."""
    endpoints = Endpoints(options, metrics, log_line)
    protocol = make_protocol(
        connections=options.connections,
        seconds=options.timeout,
        on_cut=lambda: metrics.add("separatrix_cut_connections_total"),
        on_refusal=lambda: metrics.add("separatrix_rejected_total"),
    )
    config = server_config(
        Gateway(endpoints),
        http=protocol,
        log_level="error",
        backlog=2048,
        timeout_graceful_shutdown=int(options.timeout) + 1,
    )
    return DrainingServer(config, endpoints, on_startup)


class DrainingServer(Server):
    """A server that reports for a while that it is not ready before it stops."""

    def __init__(
        self, config: uvicorn.Config, endpoints: Endpoints, on_startup: Callable[[], None]
    ) -> None:
        super().__init__(config, on_startup)
        self._endpoints = endpoints
        self._stop_at = float("inf")
        supervised = endpoints.options.workers > 1
        self._parent = os.getppid() if supervised else None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to drain; a second signal stops at once."""
        if self._endpoints.draining:
            self.should_exit = True
        self._drain()

    def _drain(self) -> None:
        if not self._endpoints.draining:
            self._endpoints.draining = True
            self._stop_at = time.monotonic() + self._endpoints.options.drain

    async def on_tick(self, counter: int) -> bool:
        """Look at the clock, ten times a second."""
        if self._parent is not None and os.getppid() != self._parent:
            self._drain()  # the supervisor is gone
        if time.monotonic() >= self._stop_at:
            self.should_exit = True
        return await super().on_tick(counter)


class Supervisor:
    """Worker processes that share a socket; one that dies is replaced."""

    def __init__(self, options: ServingOptions, listener: socket.socket) -> None:
        self.options, self.listener = options, listener
        self.context = multiprocessing.get_context("spawn")
        self.numbers = self.context.RawArray("d", options.workers * COUNT)
        self.stopping = False
        self.workers: dict[int, Any] = {}

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start the workers, replace those that die, stop with them."""
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self._stop)
        ready = [self._start(number) for number in range(self.options.workers)]
        while not self.stopping and not all(one.is_set() for one in ready):
            if any(process.exitcode for process in self.workers.values()):
                self._stop()  # a model that cannot be loaded: the worker has printed the reason
                break
            time.sleep(0.02)
        else:
            on_ready()
        while not self.stopping:
            self._replace_dead()
            wait([process.sentinel for process in self.workers.values()], timeout=0.2)
        for process in self.workers.values():
            process.join(self.options.drain + self.options.timeout + 5)
            if process.is_alive():
                process.kill()

    def _start(self, number: int) -> Any:
        ready = self.context.Event()
        arguments = (self.options, self.listener, self.numbers, number, ready)
        process = self.context.Process(target=_work, args=arguments, daemon=True)
        process.start()
        self.workers[number] = process
        return ready

    def _replace_dead(self) -> None:
        for number, process in self.workers.items():
            if process.exitcode is not None and not self.stopping:
                log_line("worker", number=number, pid=process.pid, exitcode=process.exitcode)
                time.sleep(RESTART_SECONDS)
                self._start(number)

    def _stop(self, *_signal: Any) -> None:
        self.stopping = True
        for process in self.workers.values():
            if process.is_alive():
                process.terminate()


def _work(
    options: ServingOptions, listener: socket.socket, numbers: Any, number: int, ready: Any
) -> None:
    """The main function of a worker process."""
    if os.name == "posix":
        os.setpgid(0, 0)  # Ctrl-C reaches the supervisor, which tells the workers once
    shared = np.frombuffer(numbers).reshape(options.workers, COUNT)
    run_worker(options, listener, shared, number, ready.set)
