"""Start and stop of the server: a socket, one or more worker processes, signals."""

from __future__ import annotations

import gc
import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import uvicorn

from separatrix.errors import ParameterError
from separatrix.serving.endpoints import Endpoints
from separatrix.serving.gateway import Gateway, log_line
from separatrix.serving.prometheus import COUNT, Metrics
from separatrix.serving.serving_options import ServingOptions
from separatrix.serving.slow_clients import make_protocol
from separatrix.serving.supervisor import Signatures, Supervisor
from separatrix.web.listen import listen_on
from separatrix.web.server import Server, server_config

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
            metrics = Metrics(np.zeros((1, COUNT)))
            run_worker(options, listener, metrics, lambda _signatures: on_ready(address))
        else:
            Supervisor(options, listener, run_worker).run(lambda: on_ready(address))


def run_worker(
    options: ServingOptions,
    listener: socket.socket,
    metrics: Metrics,
    on_startup: Callable[[Signatures], None],
    expected: Signatures | None = None,
) -> None:
    """Serve in this process; models must have the signatures that are expected."""
    sys.setswitchinterval(SWITCH_SECONDS)
    server = make_server(options, metrics, on_startup, expected)
    gc.collect()
    gc.freeze()  # models are never collected: no pause for looking at them
    server.run(sockets=[listener])


def make_server(
    options: ServingOptions,
    metrics: Metrics,
    on_startup: Callable[[Signatures], None],
    expected: Signatures | None = None,
) -> DrainingServer:
    """Load the models and make their server; `on_startup` gets their signatures."""
    endpoints = Endpoints(options, metrics, log_line, expected)
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

    def announce() -> None:
        metrics.add("separatrix_workers_ready")
        on_startup(endpoints.store.signatures())

    return DrainingServer(config, endpoints, announce)


class DrainingServer(Server):
    """A server that reports for a while that it is not ready before it stops."""

    def __init__(
        self, config: uvicorn.Config, endpoints: Endpoints, on_startup: Callable[[], None]
    ) -> None:
        super().__init__(config, on_startup)
        self._endpoints = endpoints
        self._stop_at = float("inf")
        supervisor = multiprocessing.parent_process()
        self._parent = None if supervisor is None else supervisor.pid

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
