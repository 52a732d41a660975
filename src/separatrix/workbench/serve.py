"""The server: a local port, a link, a browser."""

from __future__ import annotations

import gc
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from threading import Thread

from starlette.types import ASGIApp

from separatrix.errors import ParameterError
from separatrix.web.listen import listen_on
from separatrix.web.server import Server, server_config
from separatrix.workbench.app import make_app
from separatrix.workbench.backend import Backend
from separatrix.workbench.settings import PORT, Settings
from separatrix.workbench.tokens import ADDRESS, Tokens
from separatrix.workbench.worker import Spawned

Show = Callable[[str], None]


def serve(
    settings: Settings, *, port: int | None, show: Show, on_ready: Show, first: Spawned
) -> None:
    """Run the server until Ctrl-C or SIGTERM.

    Given
        port       None for the default one, or any free one if it is in use
        show       prints a message
        on_ready   gets the link once the server answers
        first      the process of Draw and Playground, which loads already
    """
    with closing(bind_socket(port)) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        tokens = Tokens(settings.port, on_renewal=lambda link: show(f"for another browser: {link}"))

        def announce() -> None:
            gc.freeze()  # what is imported stays: collections need not look at it
            show(f"workbench at http://{ADDRESS}:{settings.port}/, its files in {settings.folder}")
            show(f"open {tokens.link()}\nstop with Ctrl-C")
            on_ready(tokens.link())
            if settings.open_browser:
                open_browser(tokens.link())

        app = make_app(settings, tokens=tokens, backend=Backend(settings, first=first))
        make_server(app, announce).run(sockets=[listener])


def make_server(app: ASGIApp, on_startup: Callable[[], None]) -> Server:
    """The server of the application."""
    config = server_config(
        app,
        loop="asyncio",
        http="h11",
        log_level="warning",
        limit_concurrency=64,
        timeout_graceful_shutdown=2,
    )
    return Server(config, on_startup)


def bind_socket(port: int | None) -> socket.socket:
    """Bind a port of this machine only."""
    try:
        return listen_on(ADDRESS, PORT if port is None else port)
    except OSError as error:
        if port is None:
            return listen_on(ADDRESS, 0)
        in_use = ParameterError("workbench", "port", "free to listen on", port)
        in_use.hint = f"{error.strerror}; without --port a free one is used"
        raise in_use from error


def open_browser(link: str) -> None:
    """Open the link unless the browser would run in the terminal."""

    def open_link() -> None:
        with suppress(webbrowser.Error, OSError):  # the terminal shows the link as well
            webbrowser.open(link)

    display = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if display or os.name != "posix" or sys.platform == "darwin":
        Thread(target=open_link, daemon=True).start()
