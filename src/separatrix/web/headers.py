"""Headers and the body of a request, checked before any route sees them; a refusal is a `RequestError`.

All comparisons are with fixed strings; nothing is normalised first.
"""

from __future__ import annotations

import asyncio
from typing import NoReturn

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from separatrix.web import MEGABYTE
from separatrix.web.request_error import RequestError, shorten


def allowed_hosts(port: int) -> frozenset[str]:
    """The allowed values of Host: browsers leave port 80 out.

    >>> sorted(allowed_hosts(8642))
    ['127.0.0.1:8642', '[::1]:8642', 'localhost:8642']
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return frozenset(f"{name}:{port}" for name in names) | frozenset(names if port == 80 else ())


def check_host(scope: Scope, allowed: frozenset[str], server: str) -> str:
    """Return the Host of the request, which must be an address of this server."""
    found = header_values(scope, b"host")
    if len(found) != 1 or found[0] not in allowed:
        value = shorten(repr(found[0])) if len(found) == 1 else f"{len(found)} of them"
        message = f"Host: found {value}, expected the address of {server}"
        raise RequestError(421, "host", message)
    return found[0]


async def read_body(scope: Scope, receive: Receive, *, limit: int, seconds: float) -> bytes:
    """The body, which must arrive within some seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await collect_body(scope, receive, limit)
    except TimeoutError:
        raise late_body(seconds) from None


def late_body(seconds: float) -> RequestError:
    """The error for a body that did not arrive in time."""
    return RequestError(408, "timeout", f"the body did not arrive within {seconds:g} seconds")


async def collect_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The body, counted as it arrives: the declared length may be wrong."""
    declared = single_header(scope, b"content-length") or "0"
    if not declared.isdecimal() or len(declared) > 15 or int(declared) > limit:
        _refuse_size(limit)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > limit:
            _refuse_size(limit)
        if not message.get("more_body", False):
            return bytes(body)


def _refuse_size(limit: int) -> NoReturn:
    message = f"the body is larger than the limit of {limit / MEGABYTE:g} MiB"
    raise RequestError(413, "size", message)


def header_values(scope: Scope, name: bytes) -> list[str]:
    """Every value of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def single_header(scope: Scope, name: bytes) -> str | None:
    """A header that may occur once, or None."""
    found = header_values(scope, name)
    if len(found) > 1:
        message = f"found {name.decode()} {len(found)} times, expected it once"
        raise RequestError(400, "type", message)
    return found[0] if found else None
