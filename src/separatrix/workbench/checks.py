"""Checks of the headers and the size of a request, before any route sees it; each raises a `RequestError`.

All comparisons are with fixed strings; nothing is normalised first.
"""

from __future__ import annotations

import re

from starlette.types import Receive, Scope

from separatrix.web import MEGABYTE
from separatrix.web.headers import header_values, read_body, single_header
from separatrix.web.request_error import RequestError, shorten

MAX_BODY = MEGABYTE
MAX_UPLOAD = 64 * MEGABYTE
UPLOADS = "/api/uploads"
BODY_SECONDS = 60.0
METHODS = ("GET", "HEAD", "POST")
PATHS = re.compile(rb"/|(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+")  # all characters of our own paths
TYPES = {"application/json", "application/json; charset=utf-8", "application/json;charset=utf-8"}


def check_origin(scope: Scope, host: str) -> None:
    """Refuse requests of other sites, except a link to the front page."""
    origin, site, mode, kind = (
        single_header(scope, name)
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
    found = single_header(scope, b"content-type")
    if found is None or found.lower() not in TYPES:
        value = "none" if found is None else shorten(repr(found))
        raise RequestError(415, "type", f"Content-Type: found {value}, expected 'application/json'")
    if header_values(scope, b"content-encoding"):
        raise RequestError(415, "type", "found a Content-Encoding, expected none")


async def read_limited(scope: Scope, receive: Receive) -> bytes:
    """The body of a request; that of an upload may be larger."""
    limit = MAX_UPLOAD if scope["path"] == UPLOADS else MAX_BODY
    return await read_body(scope, receive, limit=limit, seconds=BODY_SECONDS)
