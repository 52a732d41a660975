"""Checks of the headers and the size of a request, before any route sees it; each raises a `RequestError`.

All comparisons are with fixed strings; nothing is normalised first.
"""

from __future__ import annotations

import asyncio
import re
from typing import NoReturn

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from separatrix.workbench.replies import RequestError, shorten
from separatrix.workbench.settings import MEGABYTE

MAX_BODY = MEGABYTE
MAX_UPLOAD = 64 * MEGABYTE
UPLOADS = "/api/uploads"
BODY_SECONDS = 60.0
METHODS = ("GET", "HEAD", "POST")
PATHS = re.compile(rb"/|(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")  # all characters of our own paths
TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}


def allowed_hosts(port: int) -> frozenset[str]:
    """The allowed values of Host: browsers leave port 80 out.

    >>> sorted(allowed_hosts(8642))
    ['127.0.0.1:8642', '[::1]:8642', 'localhost:8642']
    """
    names = ("127.0.0.1", "localhost", "[::1]")
    return frozenset(f"{name}:{port}" for name in names) | frozenset(names if port == 80 else ())


def check_host(scope: Scope, allowed: frozenset[str]) -> str:
    """Return the Host of the request, which must be one of ours."""
    found = header_values(scope, b"host")
    if len(found) != 1 or found[0] not in allowed:
        value = shorten(repr(found[0])) if len(found) == 1 else f"{len(found)} of them"
        message = f"Host: found {value}, expected the address of the workbench"
        raise RequestError(421, "host", message)
    return found[0]


def check_origin(scope: Scope, host: str) -> None:
    """Refuse requests of other sites, except a link to the front page."""
    origin, site, mode, kind = (
        _single_header(scope, name)
        for name in (b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest")
    )
    front = scope["method"] == "GET" and scope["path"] == "/"
    followed = front and (mode, kind) == ("navigate", "document")
    for name, found, good in (
        ("Origin", origin, origin in (None, f"http://{host}")),
        ("Sec-Fetch-Site", site, site in (None, "same-origin", "none") or followed),
    ):
        if not good:
            expected = "expected a page of the workbench itself"
            raise RequestError(403, "origin", f"{name}: found {shorten(repr(found))}, {expected}")


def check_method(scope: Scope) -> None:
    """Allow GET, HEAD and POST."""
    if scope["method"] not in METHODS:
        message = f"found the method {shorten(scope['method'])}, expected {', '.join(METHODS)}"
        raise RequestError(405, "method", message)
    if "websocket" in ", ".join(header_values(scope, b"upgrade")).lower():
        raise RequestError(400, "method", "found a request for a websocket, expected plain HTTP")


def check_path(scope: Scope) -> None:
    """Refuse paths with escapes, leading dots or hosts."""
    path = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    if not PATHS.fullmatch(path):
        raise RequestError(404, "path", f"nothing at {shorten(ascii(scope['path']))}")


def check_type(scope: Scope) -> None:
    """Require JSON: a form of another site cannot send it without a preflight request."""
    found = _single_header(scope, b"content-type")
    if found is None or found.lower() not in TYPES:
        value = "none" if found is None else shorten(repr(found))
        raise RequestError(415, "type", f"Content-Type: found {value}, expected 'application/json'")
    if header_values(scope, b"content-encoding"):
        raise RequestError(415, "type", "found a Content-Encoding, expected none")


async def read_limited(scope: Scope, receive: Receive) -> bytes:
    """The body, counted as it arrives: the declared length may be wrong."""
    limit = MAX_UPLOAD if scope["path"] == UPLOADS else MAX_BODY
    declared = _single_header(scope, b"content-length") or "0"
    if not declared.isdecimal() or len(declared) > 15 or int(declared) > limit:
        _refuse_size(limit)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _collect(receive, limit)
    except TimeoutError:
        message = f"the body did not arrive within {BODY_SECONDS:g} seconds"
        raise RequestError(408, "timeout", message) from None


async def _collect(receive: Receive, limit: int) -> bytes:
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


def _single_header(scope: Scope, name: bytes) -> str | None:
    """A header that may occur once, or None."""
    found = header_values(scope, name)
    if len(found) > 1:
        message = f"found {name.decode()} {len(found)} times, expected it once"
        raise RequestError(400, "type", message)
    return found[0] if found else None
