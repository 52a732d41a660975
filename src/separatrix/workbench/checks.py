"""Checks of the headers and the size of a request, before any route sees it; each raises a `RequestError`.

All comparisons are with fixed strings; nothing is normalised first, so nothing can be smuggled.
"""

from __future__ import annotations

import asyncio
import re
from typing import NoReturn

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from separatrix.workbench.replies import RequestError, shortened
from separatrix.workbench.settings import MEGABYTE

LARGEST_BODY = MEGABYTE
LARGEST_UPLOAD = 64 * MEGABYTE
UPLOADS = "/api/uploads"
BODY_SECONDS = 60.0
METHODS = ("GET", "HEAD", "POST")
PATHS = re.compile(rb"/|(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")  # all that our own paths are made of
TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}


def hosts(port: int) -> frozenset[str]:
    """What Host may be: browsers leave port 80 out.

    >>> sorted(hosts(8642))
    ['127.0.0.1:8642', '[::1]:8642', 'localhost:8642']
    """
    ours = ("127.0.0.1", "localhost", "[::1]")
    return frozenset(f"{name}:{port}" for name in ours) | frozenset(ours if port == 80 else ())


def check_host(scope: Scope, allowed: frozenset[str]) -> str:
    """The one Host of the request, one of ours."""
    found = header_values(scope, b"host")
    if len(found) != 1 or found[0] not in allowed:
        said = shortened(repr(found[0])) if len(found) == 1 else f"{len(found)} of them"
        raise RequestError(
            421, "host", f"Host: found {said}, expected the address of the workbench"
        )
    return found[0]


def check_origin(scope: Scope, host: str) -> None:
    """Refuse what another page sends. Only a link to the front page may come from elsewhere."""
    if (origin := _one(scope, b"origin")) not in (None, f"http://{host}"):
        _foreign("Origin", origin)
    site = _one(scope, b"sec-fetch-site")
    if site not in (None, "same-origin", "none") and not _follows_a_link(scope):
        _foreign("Sec-Fetch-Site", site)


def _follows_a_link(scope: Scope) -> bool:
    navigation = ("navigate", "document")
    fetch = (_one(scope, b"sec-fetch-mode"), _one(scope, b"sec-fetch-dest"))
    return scope["method"] == "GET" and scope["path"] == "/" and fetch == navigation


def _foreign(name: str, found: str | None) -> NoReturn:
    message = f"{name}: found {shortened(repr(found))}, expected a page of the workbench itself"
    raise RequestError(403, "origin", message)


def check_method(scope: Scope) -> None:
    """GET reads, HEAD is a GET without its body, POST changes. Nothing else is spoken."""
    if scope["method"] not in METHODS:
        message = f"found the method {shortened(scope['method'])}, expected {', '.join(METHODS)}"
        raise RequestError(405, "method", message)
    if "websocket" in ", ".join(header_values(scope, b"upgrade")).lower():
        raise RequestError(400, "method", "found a request for a websocket, expected plain HTTP")


def check_path(scope: Scope) -> None:
    """Refuse paths with anything but plain letters: no escapes, no dots at a beginning, no hosts."""
    path = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    if not PATHS.fullmatch(path):
        raise RequestError(404, "path", f"there is nothing at {shortened(ascii(scope['path']))}")


def check_type(scope: Scope) -> None:
    """Only JSON: a form of another site cannot send that without asking first."""
    found = _one(scope, b"content-type")
    if found is None or found.lower() not in TYPES:
        said = "none" if found is None else shortened(repr(found))
        raise RequestError(415, "type", f"Content-Type: found {said}, expected 'application/json'")
    if header_values(scope, b"content-encoding"):
        raise RequestError(
            415, "type", "found a packed body, expected one without Content-Encoding"
        )


def limit(path: str) -> int:
    """Bytes that a body for this path may have."""
    return LARGEST_UPLOAD if path == UPLOADS else LARGEST_BODY


async def read_bounded(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body, counted as it arrives: what was declared of its length may be a lie."""
    declared = _one(scope, b"content-length") or "0"
    if not declared.isdecimal() or len(declared) > 15 or int(declared) > most:
        _too_large(most)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _gathered(receive, most)
    except TimeoutError:
        message = f"the body did not arrive within {BODY_SECONDS:g} seconds"
        raise RequestError(408, "timeout", message) from None


async def _gathered(receive: Receive, most: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            _too_large(most)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(most: int) -> NoReturn:
    raise RequestError(
        413, "size", f"the body is larger than {most / MEGABYTE:g} MiB, the most here"
    )


def header_values(scope: Scope, name: bytes) -> list[str]:
    """Every value of a header, in order."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _one(scope: Scope, name: bytes) -> str | None:
    """A header that may come once."""
    found = header_values(scope, name)
    if len(found) > 1:
        raise RequestError(
            400, "type", f"found {name.decode()} {len(found)} times, expected it once"
        )
    return found[0] if found else None
