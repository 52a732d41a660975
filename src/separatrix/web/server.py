"""What both servers ask of uvicorn: plain HTTP, no trust in proxies, no log of requests."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp


def server_config(app: ASGIApp, **more: Any) -> uvicorn.Config:
    """Settings of uvicorn; `more` has those that the two servers choose differently."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        **more,
    )


class Server(uvicorn.Server):
    """uvicorn's server with a callback when it listens."""

    def __init__(self, config: uvicorn.Config, on_startup: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_startup = on_startup

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call back."""
        await super().startup(sockets)
        self._on_startup()
