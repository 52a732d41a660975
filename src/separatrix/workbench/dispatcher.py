"""What the bench's process runs: requests first, then a step of background work, then waiting.

A room is a class made from `Settings`. It has `requests`, the names of the methods that may be
called, with plain values as keyword arguments and a plain dict as answer; `work()`, one step of
background work, False when nothing is left to do; and `state()`, a plain dict that the server keeps and
shows without asking again. Rooms are made one after another as the first steps of work, or when a
request comes for them.

A message to the server is one line of JSON that says what it is, then its body. Before an answer comes the
state of its room, if it has changed: who asks for the state afterwards finds the new one.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.abc import MetaPathFinder
from multiprocessing.connection import Connection
from typing import Any, Protocol

from separatrix.errors import SeparatrixError
from separatrix.workbench.limits import (
    die_with_parent,
    give_memory_back,
    limit_memory,
    own_bytes,
)
from separatrix.workbench.settings import MEGABYTE, Settings

ROOMS = {
    "draw": "separatrix.workbench.drawing.service:Drawing",
    "playground": "separatrix.workbench.playground.service:Playground",
}
_FOR_NOTHING = ("pandas",)  # scikit-learn would import it
LIBRARIES = 384 * MEGABYTE  # of data, that imports and the stacks of threads take by themselves


_LISTENERS: list[Any] = []  # numba's, one at most


class Service(Protocol):
    """What the bench asks of a room."""

    requests: frozenset[str]

    def work(self) -> bool:
        """Do one step of background work; False: there is nothing left."""

    def state(self) -> dict[str, Any]:
        """What the server shows of it."""


def main(connection: Connection, text: str, services: Mapping[str, str] | None = None) -> None:
    """The process of the bench: serve until the server hangs up."""
    die_with_parent()
    sys.meta_path.insert(0, _NotHere())
    settings = Settings.from_json(text)
    limit_memory(settings.memory + LIBRARIES)
    Dispatcher(settings, connection.send_bytes, services or ROOMS).serve(connection)


class _NotHere(MetaPathFinder):
    """Says of some packages that they are not installed.

    An entry None in `sys.modules` would say so too, but scikit-learn looks there for loaded ones.
    """

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Refuse the packages; leave all others to those who are asked next."""
        if fullname in _FOR_NOTHING:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class Dispatcher:
    """The rooms, and what goes on in them. `say` sends a message to the server."""

    def __init__(
        self,
        settings: Settings,
        say: Callable[[bytes], None],
        services: Mapping[str, str],
    ) -> None:
        self._settings, self._say = settings, say
        self._homes = services
        self._rooms: dict[str, Service | None] = {}  # None: it could not be made
        self._told: dict[str, bytes] = {}
        self._settled = False

    def serve(self, connection: Connection) -> None:
        """Answer, work, or wait, until the other end is closed."""
        try:
            while True:
                if not connection.poll() and self.work():
                    continue
                if not connection.poll():
                    self._settle()
                self.answer(json.loads(connection.recv_bytes()))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return

    def answer(self, request: dict[str, Any]) -> None:
        """Do what is asked and say the answer, whatever happens.

        It has begun when the room is there: what is loaded for it is not on the request's clock.
        """
        number = request["number"]
        name, _, method = request["name"].partition(".")
        try:
            asked = self._method(name, method)
            self._send({"kind": "begun", "number": number})
            body = _as_json(asked(**request["arguments"]))
        except Exception as error:
            self._tell_state(name)
            self._send({"kind": "refused", "number": number}, _as_json(refusal_of(error)))
        else:
            self._tell_state(name)
            self._send({"kind": "answer", "number": number}, body)

    def work(self) -> bool:
        """One step of what is left to do: a room to be made, or work of one that is there."""
        for name in self._homes:
            if name not in self._rooms:
                self._make(name)
                return True
            room = self._rooms[name]
            if room is not None and self._step(name, room):
                self._settled = False
                return True
        return False

    def _step(self, name: str, room: Service) -> bool:
        """A step of a room's work; a room whose work fails is left alone from then on."""
        try:
            more = room.work()
        except Exception as error:
            _on_stderr(error)
            self._rooms[name] = None
            return True
        self._tell_state(name)
        return more

    def _make(self, name: str) -> Service | None:
        module, _, attribute = self._homes[name].partition(":")
        try:
            kind = getattr(import_module(module), attribute)
            _listen_to_numba()
            self._rooms[name] = kind(self._settings)
        except Exception as error:
            _on_stderr(error)
            self._rooms[name] = None
        self._tell_state(name)
        return self._rooms[name]

    def _method(self, name: str, method: str) -> Callable[..., Any]:
        """A method that may be called from outside."""
        if name not in self._homes:
            raise LookupError(f"there is no room {name!r}")
        room = self._rooms[name] if name in self._rooms else self._make(name)
        if room is None:
            raise LookupError(f"the room {name!r} could not be made, or failed at its work")
        if method not in room.requests:
            raise LookupError(f"{name!r} has no request {method!r}")
        found: Callable[..., Any] = getattr(room, method)
        return found

    def _tell_state(self, name: str) -> None:
        """Send the state of a room, if it is another than the server knows."""
        room = self._rooms.get(name)
        if room is None:
            return
        try:
            state = _as_json(room.state())
        except Exception as error:
            _on_stderr(error)
            return
        if state != self._told.get(name):
            self._told[name] = state
            self._send({"kind": "state", "room": name}, state)

    def _settle(self) -> None:
        """Once after all work: give back what loading left, and say what is still in use."""
        if not self._settled:
            self._settled = True
            give_memory_back()
            self._send({"kind": "settled", "memory": own_bytes(), "compiled": has_compiled()})

    def _send(self, header: dict[str, Any], body: bytes = b"") -> None:
        self._say(json.dumps(header).encode() + b"\n" + body)


def has_compiled() -> bool:
    """Whether numba compiled anything in this process; what it keeps of that is never given back."""
    return any(listener.buffer for listener in _LISTENERS)


def _listen_to_numba() -> None:
    """Take note of what numba compiles from now on. What is in its cache on disk does not count."""
    if "numba" not in sys.modules or _LISTENERS:
        return
    event = import_module("numba.core.event")
    _LISTENERS.append(event.RecordingListener())
    event.register("numba:compile", _LISTENERS[0])


def refusal_of(error: Exception) -> dict[str, str]:
    """An error as a code, a sentence and a hint; one that nobody foresaw goes to stderr.

    >>> refusal_of(ValueError("k must be at most 5"))
    {'code': 'refused', 'message': 'k must be at most 5', 'hint': ''}
    """
    if isinstance(error, MemoryError) or "can't start new thread" in str(error):
        said = str(error) if isinstance(error, MemoryError) else ""
        hint = getattr(error, "hint", "") or "take fewer rows, or start with a larger --memory"
        return {"code": "memory", "message": said or "there is not enough memory", "hint": hint}
    if isinstance(error, SeparatrixError | ValueError):
        return {"code": "refused", "message": str(error), "hint": getattr(error, "hint", "")}
    if isinstance(error, OSError):
        message = (
            f"the system refuses to read or write a file: {error.strerror or 'no reason given'}"
        )
        return {"code": "refused", "message": message, "hint": ""}
    _on_stderr(error)
    return {"code": "internal", "message": "", "hint": ""}


def _as_json(value: Any) -> bytes:
    """Plain values as JSON; a NaN among them is a mistake of the room's."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise TypeError(f"a room's answer is not JSON: {error}") from error


def _on_stderr(error: BaseException) -> None:
    sys.stderr.writelines(traceback.format_exception(error))
