"""The server's life: a port of this machine only, a link, a browser, and an end that leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread

import uvicorn
from starlette.types import ASGIApp

from separatrix.errors import ParameterError
from separatrix.workbench.app import make_app
from separatrix.workbench.settings import PORT, Settings
from separatrix.workbench.tokens import ADDRESS, Tokens

Say = Callable[[str], None]


def serve(settings: Settings, *, port: int | None, say: Say, listening: Say) -> None:
    """Run the workbench until Ctrl-C or SIGTERM.

    Given
        port        exactly this one; None takes the usual one, or any that is free
        say         is told what a person should read
        listening   is told the link, once, when the server answers
    """
    with _stopped_politely(), _only_one(settings.folder), closing(bound(port)) as door:
        settings = replace(settings, port=door.getsockname()[1])
        tokens = Tokens(settings.port, renewed=lambda link: say(f"for another browser: {link}"))

        def begun() -> None:
            say(f"workbench at http://{ADDRESS}:{settings.port}/, its files in {settings.folder}")
            say(f"open {tokens.link()}\nstop with Ctrl-C")
            listening(tokens.link())
            if settings.open_browser:
                open_browser(tokens.link())

        Server(configured(make_app(settings, tokens=tokens)), begun).run(sockets=[door])


class Server(uvicorn.Server):
    """uvicorn's server, that says when it has begun to listen."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start everything, then say so."""
        await super().startup(sockets)
        self._begun()


def configured(app: ASGIApp) -> uvicorn.Config:
    """uvicorn as the workbench uses it: plain HTTP, no proxies believed, silent about itself."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=64,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
    )


def bound(port: int | None) -> socket.socket:
    """A socket of this machine alone; nobody else can take the port from then on."""
    try:
        return _bound(PORT if port is None else port)
    except OSError as error:
        if port is None:
            return _bound(0)
        refused = ParameterError("workbench", "port", "free to listen on", port)
        refused.hint = f"{error.strerror}; without --port a free one is taken"
        raise refused from error


def _bound(port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # Connections inherit this; else the second part of an answer waits 40 ms for the first's receipt.
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if os.name == "posix":  # elsewhere the option would share the port with others
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((ADDRESS, port))
    except OSError:
        door.close()
        raise
    return door


def open_browser(link: str) -> None:
    """Open the link if there is a browser with a window; one in the terminal would take it over."""
    if os.name == "posix" and sys.platform != "darwin" and not _has_screen():
        return
    Thread(target=_open, args=(link,), daemon=True).start()


def _open(link: str) -> None:
    with suppress(webbrowser.Error, OSError):  # the link is on the terminal as well
        webbrowser.open(link)


def _has_screen() -> bool:
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


@contextmanager
def _stopped_politely() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the server and are no error: uvicorn stops, then raises them again."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Keep other workbenches out of the folder; where the system has no such locks, do nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            taken = ParameterError("workbench", "folder", "used by no other", str(folder))
            taken.hint = "another workbench runs there: stop it, or name another with --folder"
            raise taken from error
        yield
