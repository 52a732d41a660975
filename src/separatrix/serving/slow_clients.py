"""HTTP connections that are cut when the client is too slow, and refused beyond a number.

uvicorn has no limit on the time that a request takes to arrive, or an answer to be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 5.0
LARGEST_HEAD = 64 * 1024  # bytes of the request line and all headers
_SENTENCE = b'{"error": "the server has no room for connections"}'
BUSY = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_SENTENCE)
) + _SENTENCE


class LimitedProtocol(HttpToolsProtocol):
    """A connection of a client; `make_protocol` sets the limits."""

    most_connections: int
    seconds: float
    on_cut: Callable[[], None]
    on_refusal: Callable[[], None]
    timer: asyncio.TimerHandle | None = None
    write_timer: asyncio.TimerHandle | None = None
    head_bytes, in_head = 0, True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self.on_refusal()
            transport.write(BUSY)
            transport.close()
            return
        self._arm(HEADER_SECONDS)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.in_head:
            self.head_bytes += len(data)
            if self.head_bytes > LARGEST_HEAD:
                self._cut()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.head_bytes, self.in_head = 0, True
        self._arm(HEADER_SECONDS)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.in_head = False
        self._arm(self.seconds)

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self.write_timer = self.loop.call_later(self.seconds, self._cut)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self.write_timer is not None:
            self.write_timer.cancel()
        super().resume_writing()

    def _arm(self, limit: float) -> None:
        self._disarm()
        self.timer = self.loop.call_later(limit, self._cut)

    def _disarm(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _cut(self) -> None:
        self.on_cut()
        self.transport.abort()


def make_protocol(
    *, connections: int, seconds: float, on_cut: Callable[[], None], on_refusal: Callable[[], None]
) -> type[HttpToolsProtocol]:
    """The protocol of uvicorn with limits.

    Given
        connections   that may be open
        seconds       in which a request must have arrived, and in which a client must read something
        on_cut        is called when a client is cut
        on_refusal    is called when a connection is refused
    """
    limits = {
        "most_connections": connections,
        "seconds": seconds,
        "on_cut": staticmethod(on_cut),
        "on_refusal": staticmethod(on_refusal),
    }
    return type("ServedProtocol", (LimitedProtocol,), limits)
