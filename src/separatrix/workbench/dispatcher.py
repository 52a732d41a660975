"""What the process of Draw and Playground runs: requests first, then background work, then waiting.

A service is a class made from `Settings`. Services are made one after another as the first steps of
background work, or when a request needs them. A message to the server has a `kind`: "begun" and "answer"
or "refused" for each request, "state" when the state of a service changed. The state precedes the answer,
so that a reader after the answer sees the new one.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from separatrix.workbench.settings import Settings
from separatrix.workbench.worker import Channel, describe_error, print_traceback

SERVICES = {
    "draw": "separatrix.workbench.drawing.service:Drawing",
    "playground": "separatrix.workbench.playground.service:Playground",
}


class Service(Protocol):
    """The part of the process that serves one page."""

    requests: frozenset[str]
    """Methods that requests may call: keyword arguments and a dict of plain values as the answer."""

    def work(self) -> bool:
        """Do one step of background work; False if nothing is left."""

    def state(self) -> dict[str, Any]:
        """Plain values that the server keeps and shows without a request."""


def main(channel: Channel, settings: Settings, services: Mapping[str, str] = SERVICES) -> None:
    """Serve until the server closes the pipe."""
    Dispatcher(settings, channel.send, services).serve(channel)


class Dispatcher:
    """The services by name, and their messages to the server."""

    def __init__(
        self, settings: Settings, send: Callable[..., None], locations: Mapping[str, str]
    ) -> None:
        self._settings, self._send = settings, send
        self._locations = locations  # "module:class" by name
        self._services: dict[str, Service | None] = {}  # None: it failed
        self._states: dict[str, bytes] = {}

    def serve(self, channel: Channel) -> None:
        """Answer, work, or wait, until the other end is closed."""
        frozen = False
        try:
            while True:
                waits = channel.pending()
                if not waits and self.work():
                    continue
                if not waits and not frozen:  # all is loaded: a full collection would take 0.1 s
                    gc.collect()
                    gc.freeze()
                    frozen = True
                self.answer(channel.receive())
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return

    def answer(self, request: dict[str, Any]) -> None:
        """Send the answer to a request, or why it is refused.

        "begun" is sent once the service is loaded: loading does not count against the request's deadline.
        """
        name, _, method = request["name"].partition(".")
        try:
            function = self._method(name, method)
            self._send({"kind": "begun"})
            kind, body = "answer", _to_json(function(**request["arguments"]))
        except Exception as error:
            kind, body = "refused", _to_json(describe_error(error))
        self._send_state(name)
        self._send({"kind": kind}, body)

    def work(self) -> bool:
        """Make a service or do one step of the work of one; False if nothing is left."""
        for name in self._locations:
            if name not in self._services:
                self._make(name)
                return True
            service = self._services[name]
            if service is not None and self._step(name, service):
                return True
        return False

    def _step(self, name: str, service: Service) -> bool:
        try:
            more = service.work()
        except Exception as error:
            print_traceback(error)
            self._services[name] = None
            return True
        self._send_state(name)
        return more

    def _make(self, name: str) -> Service | None:
        module, _, attribute = self._locations[name].partition(":")
        try:
            self._services[name] = getattr(import_module(module), attribute)(self._settings)
        except Exception as error:
            print_traceback(error)
            self._services[name] = None
        self._send_state(name)
        return self._services[name]

    def _method(self, name: str, method: str) -> Callable[..., Any]:
        service = self._services[name] if name in self._services else self._make(name)
        if service is None or method not in service.requests:
            raise LookupError(f"the service {name!r} has failed, or has no request {method!r}")
        function: Callable[..., Any] = getattr(service, method)
        return function

    def _send_state(self, name: str) -> None:
        """Send the state of a service if it has changed."""
        service = self._services.get(name)
        if service is None:
            return
        try:
            state = _to_json(service.state())
        except Exception as error:
            print_traceback(error)
            return
        if state != self._states.get(name):
            self._states[name] = state
            self._send({"kind": "state", "service": name}, state)


def _to_json(value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise TypeError(f"the answer of a service is not JSON: {error}") from error
