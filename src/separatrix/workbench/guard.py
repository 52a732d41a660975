"""Access control: only requests of our own pages, in a browser with our cookie, reach a route.

ASGI middleware around the whole application. It checks, in this order: Host (against DNS rebinding),
Origin and Sec-Fetch-Site, method, path, cookie, type and size of the body. Unexpected errors are answered
here too, without details.
"""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from separatrix.web.headers import allowed_hosts, check_host, header_values
from separatrix.web.request_error import RequestError
from separatrix.workbench import checks
from separatrix.workbench.replies import internal_error
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
ACCESS_HINT = "open the link in the terminal of the workbench, which shows a new one after each use"
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>separatrix workbench</title>{head}</head>
<body>{body}</body>
</html>
"""
ACCESS_PAGE = PAGE.format(
    head="", body=f"<h1>This browser has no access</h1><p>To get access, {ACCESS_HINT}.</p>"
)
REDIRECT_PAGE = PAGE.format(
    head='<meta http-equiv="refresh" content="0; url=/">',
    body='<p><a href="/">The workbench</a></p>',
)


class Guard:
    """ASGI middleware that refuses requests or passes them on, and adds headers to every response."""

    def __init__(self, app: ASGIApp, *, tokens: Tokens) -> None:
        self.app, self.tokens = app, tokens
        self.hosts = allowed_hosts(tokens.port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            own_send = HeaderSender(send)
            try:
                await self._handle(scope, receive, own_send)
            except ClientDisconnect:
                return
            except RequestError as error:
                await error.reply()(scope, receive, own_send)
            except Exception as error:
                if own_send.started:
                    raise  # a part is sent: the connection is closed
                await internal_error(error).reply()(scope, receive, own_send)

    async def _handle(self, scope: Scope, receive: Receive, send: HeaderSender) -> None:
        checks.check_origin(scope, check_host(scope, self.hosts, "the workbench"))
        checks.check_method(scope)
        checks.check_path(scope)
        if (reply := self._authenticate(scope)) is not None:
            await reply(scope, receive, send)
            return
        body = b""  # bodies of other methods are ignored
        if scope["method"] == "POST":
            checks.check_type(scope)
            body = await checks.read_limited(scope, receive)
        if scope["method"] == "HEAD":  # as GET; the server sends no body
            scope = {**scope, "method": "GET"}
        await self.app(scope, _replay(body, receive), send)

    def _authenticate(self, scope: Scope) -> Response | None:
        """The response to a token or a missing cookie; None if the cookie is right."""
        query, token = scope["query_string"], None
        # HEAD does not use a token up, because programs that preview links send HEAD
        if scope["method"] == "GET" and scope["path"] == "/" and query.startswith(b"token="):
            token = str(query.removeprefix(b"token="), "latin-1")
        if token is not None and self.tokens.redeem(token):
            return _admit(scope, {"Set-Cookie": self.tokens.cookie()})
        if not self.tokens.accepts("; ".join(header_values(scope, b"cookie"))):
            return _reject(scope)
        if token is not None:  # an old link, in a browser that has access
            return Response(status_code=303, headers={"Location": "/"})
        return None


class HeaderSender:
    """`send` with our headers, unless the route has set them."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": add_default_headers(list(message.get("headers", ())))}
        await self.send(message)


def add_default_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """`headers` and those of ours that are missing.

    A sandboxed page must not have an opener policy: by the HTML standard a browser refuses to open it in
    a tab.
    """
    present = {name.lower(): value for name, value in headers}
    skipped = set(present)
    if b"sandbox" in present.get(b"content-security-policy", b""):
        skipped.add(b"cross-origin-opener-policy")
    return headers + [(name, value) for name, value in HEADERS.items() if name not in skipped]


def _replay(body: bytes, receive: Receive) -> Receive:
    """`receive` for the application: the body, then later messages."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return first.pop() if first else await receive()

    return receive_again


def _admit(scope: Scope, cookie: dict[str, str]) -> Response:
    """Set the cookie and go to the front page.

    After a link on another site, browsers do not send a strict cookie along a redirect, but a page of
    ours that refreshes does.
    """
    if header_values(scope, b"sec-fetch-site") in ([], ["none"], ["same-origin"]):
        return Response(status_code=303, headers={"Location": "/", **cookie})
    return HTMLResponse(REDIRECT_PAGE, headers=cookie)


def _reject(scope: Scope) -> Response:
    """A page for people, JSON for programs."""
    accepted = ", ".join(header_values(scope, b"accept"))
    if "text/html" in accepted and not scope["path"].startswith("/api/"):
        return HTMLResponse(ACCESS_PAGE, status_code=401)
    return RequestError(401, "token", "this browser has no access", ACCESS_HINT).reply()
