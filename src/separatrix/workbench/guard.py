"""The door: nothing reaches a route that did not come from our own page in a browser that was let in.

Pure ASGI around the whole application, so that it holds for every path and method. In this order: Host (a
name that somebody else's DNS points here is refused), Origin and Sec-Fetch-Site, method, path, cookie, type
and size of the body. What goes wrong behind it is answered here too, with nothing of its insides.
"""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from separatrix.workbench.checks import (
    check_host,
    check_method,
    check_origin,
    check_path,
    check_type,
    header_values,
    hosts,
    limit,
    read_bounded,
)
from separatrix.workbench.replies import RequestError, internal
from separatrix.workbench.tokens import Tokens

HEADERS = {
    b"content-security-policy": (
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        b"connect-src 'self'; frame-src 'self'; font-src 'none'; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'"
    ),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}
LINK = "open the link that the terminal of the workbench shows; it shows a fresh one after each use"
NOT_LET_IN = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>separatrix workbench</title></head>
<body><h1>This browser has not been let in</h1><p>To come in, {LINK}.</p></body>
</html>
"""
LET_IN = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=/">
<meta name="color-scheme" content="light dark"><title>separatrix workbench</title></head>
<body><p><a href="/">The workbench</a></p></body>
</html>
"""


class Guard:
    """ASGI middleware: refuses, or hands on what is in order, and puts headers on every answer."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens) -> None:
        self.app, self.tokens = app, tokens
        self.hosts = hosts(tokens.port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the application answer."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await self._answer(scope, receive, Sender(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Sender) -> None:
        try:
            await self._let_in(scope, receive, send)
        except ClientDisconnect:
            return
        except RequestError as refusal:
            await refusal.reply()(scope, receive, send)
        except Exception as error:
            if send.started:
                raise  # half of the answer is out: all that is left is to close the connection
            await internal(error).reply()(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Sender) -> None:
        check_origin(scope, check_host(scope, self.hosts))
        check_method(scope)
        check_path(scope)
        if (reply := self._at_the_door(scope)) is not None:
            await reply(scope, receive, send)
            return
        body = _replayed(await _read(scope, receive), receive)
        if scope["method"] == "HEAD":  # as GET; the server sends no body
            scope = {**scope, "method": "GET"}
        await self.app(scope, body, send)

    def _at_the_door(self, scope: Scope) -> Response | None:
        """What is said to who brings a token, or no cookie; None where there is nothing to say."""
        token = _token(scope)
        if token is not None and self.tokens.redeem(token):
            return _come_in(scope, {"Set-Cookie": self.tokens.cookie()})
        if not self.tokens.let_in("; ".join(header_values(scope, b"cookie"))):
            return _not_let_in(scope)
        if token is not None:  # an old link, in a browser that is in already
            return Response(status_code=303, headers={"Location": "/"})
        return None


class Sender:
    """`send` that adds our headers where the route has set none of its own."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": with_defaults(list(message.get("headers", ())))}
        await self.send(message)


def with_defaults(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """`headers` and those of ours that are not among them.

    A sandboxed page names no opener policy: by the HTML standard a browser refuses to open one that does
    in a tab of its own. (Chromium opens it all the same.)
    """
    there = {name.lower(): value for name, value in headers}
    skipped = set(there)
    if b"sandbox" in there.get(b"content-security-policy", b""):
        skipped.add(b"cross-origin-opener-policy")
    return headers + [(name, value) for name, value in HEADERS.items() if name not in skipped]


async def _read(scope: Scope, receive: Receive) -> bytes:
    """The body of a POST; nobody looks at any other."""
    if scope["method"] != "POST":
        return b""
    check_type(scope)
    return await read_bounded(scope, receive, limit(scope["path"]))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """`receive` for the application: the body that was read, then what comes after it."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again


def _token(scope: Scope) -> str | None:
    """The token of a link. Only a GET uses it up: programs that preview links ask with HEAD."""
    query = scope["query_string"]
    if scope["method"] == "GET" and scope["path"] == "/" and query.startswith(b"token="):
        return str(query.removeprefix(b"token="), "latin-1")
    return None


def _come_in(scope: Scope, cookie: dict[str, str]) -> Response:
    """On to the front page, without the token.

    After a link on another site's page a strict cookie is not sent along a redirect; it is when a page of
    ours leads on.
    """
    if header_values(scope, b"sec-fetch-site") in ([], ["none"], ["same-origin"]):
        return Response(status_code=303, headers={"Location": "/", **cookie})
    return HTMLResponse(LET_IN, headers=cookie)


def _not_let_in(scope: Scope) -> Response:
    """A page for a person, the usual JSON for programs."""
    accepted = ", ".join(header_values(scope, b"accept"))
    if "text/html" in accepted and not scope["path"].startswith("/api/"):
        return HTMLResponse(NOT_LET_IN, status_code=401)
    return RequestError(401, "token", "this browser has not been let in", LINK).reply()
