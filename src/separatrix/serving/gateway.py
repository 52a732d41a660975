"""The ASGI application: access, limits, request ids, the log and errors, around the endpoints.

Refusals are `{"error": SENTENCE}`, as the Open Inference Protocol has them. A bug in the server is answered
500 without details; its traceback goes to the log.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import re
import secrets
import sys
import time
import traceback
from contextlib import suppress
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from separatrix.serving.endpoints import Endpoints, Reply, ServedRequest, json_reply
from separatrix.serving.serving_options import LOOPBACK
from separatrix.web.headers import (
    allowed_hosts,
    check_host,
    collect_body,
    header_values,
    late_body,
)
from separatrix.web.request_error import RequestError, shorten

OPEN_PATHS = re.compile(r"/|/docs|/openapi\.json|/static/[^/]+|/v2/health/(live|ready)")
"""Paths that need no token: nothing of a model is in them."""

REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]
RETRY_SECONDS = 1


class Gateway:
    """ASGI application of a model server."""

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints, self.options = endpoints, endpoints.options
        self.tokens = [token.encode() for token in self.options.tokens]
        open_port = self.options.host in LOOPBACK and not self.tokens
        self.hosts = allowed_hosts(self.options.port) if open_port else None
        self.numbers, self.prefix = itertools.count(1), secrets.token_hex(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        identity = self._identify(scope)
        request = ServedRequest(scope)
        try:
            reply = await self._answer(request, receive)
        except ClientDisconnect:
            self._count(request, identity, 499, begun)
            return
        except RequestError as error:
            reply = _refusal(error)
        except Exception as error:
            log_line("error", id=identity, error="".join(traceback.format_exception(error)))
            message = f"something went wrong inside the server; its log has request {identity}"
            reply = json_reply({"error": message}, 500)
        headers = [(name.encode(), value.encode()) for name, value in reply.headers.items()]
        headers += [(b"x-request-id", identity.encode()), *HEADERS]
        headers.append((b"content-length", b"%d" % len(reply.body)))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else reply.body
        await send({"type": "http.response.body", "body": body})
        self._count(request, identity, reply.status, begun)

    async def _answer(self, request: ServedRequest, receive: Receive) -> Reply:
        scope = request.scope
        self._check_access(scope)
        if scope["method"] == "HEAD":
            request.scope = {**scope, "method": "GET"}
        if scope["method"] != "POST":
            return await self.endpoints.answer(request)
        if self.endpoints.in_progress >= self.options.queue:
            self.endpoints.metrics.add("separatrix_rejected_total")
            await asyncio.sleep(self.options.reject_delay)
            message = f"the server has {self.options.queue} requests in progress, its limit"
            raise RequestError(429, "busy", message)
        self.endpoints.change_in_progress(1)
        try:
            return await self._limit_time(request, receive)
        finally:
            self.endpoints.change_in_progress(-1)

    async def _limit_time(self, request: ServedRequest, receive: Receive) -> Reply:
        seconds, limit = self.options.timeout, self.options.max_body
        arrived = False
        try:
            async with asyncio.timeout(seconds):
                request.body = await collect_body(request.scope, receive, limit)
                arrived = True
                return await self.endpoints.answer(request)
        except TimeoutError:
            message = f"the answer took longer than the limit of {seconds:g} seconds"
            late = RequestError(503, "timeout", message)
            raise late if arrived else late_body(seconds) from None

    def _check_access(self, scope: Scope) -> None:
        if self.hosts is not None:
            check_host(scope, self.hosts, "this server")
        site = header_values(scope, b"sec-fetch-site")
        if site not in ([], ["same-origin"], ["none"]):
            raise RequestError(403, "origin", "found a request of another site")
        if not self.tokens or OPEN_PATHS.fullmatch(scope["path"]):
            return
        found = header_values(scope, b"authorization")
        word, _, token = found[0].partition(" ") if len(found) == 1 else ("", "", "")
        given = token.strip().encode("utf-8", "replace")
        # every token is compared, so that the time does not tell which one is close
        fits = [hmac.compare_digest(given, known) for known in self.tokens]
        if word.lower() != "bearer" or not any(fits):
            message = "found no valid token, expected the header Authorization: Bearer TOKEN"
            raise RequestError(401, "token", message)

    def _identify(self, scope: Scope) -> str:
        given = header_values(scope, b"x-request-id")
        if len(given) == 1 and REQUEST_ID.fullmatch(given[0]):
            return given[0]
        return f"{self.prefix}-{next(self.numbers):x}"

    def _count(self, request: ServedRequest, identity: str, status: int, begun: float) -> None:
        spent = time.perf_counter() - begun
        self.endpoints.metrics.add_request(status, spent)
        if self.options.access_log:
            client = request.scope.get("client")
            log_line(
                "request",
                id=identity,
                method=shorten(request.scope["method"]),
                path=shorten(request.path, 200),
                status=status,
                ms=round(1000 * spent, 3),
                client=client[0] if client else None,
                **request.note,
            )

    async def _live(self, receive: Receive, send: Send) -> None:
        """Look after the model files until the server stops."""
        await receive()
        watcher = asyncio.create_task(self.endpoints.store.watch(self.endpoints.loader))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watcher.cancel()
        self.endpoints.close()
        await send({"type": "lifespan.shutdown.complete"})


def _refusal(error: RequestError) -> Reply:
    headers: dict[str, str] = {"Content-Type": "application/json"}
    if error.status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    if error.status in (429, 503):
        headers["Retry-After"] = str(RETRY_SECONDS)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Reply(error.status, orjson.dumps({"error": error.message}), headers)


def log_line(event: str, **fields: Any) -> None:
    """Write a line of JSON to stderr; a server whose log is closed goes on."""
    line = {"time": round(time.time(), 3), "event": event, **fields}
    with suppress(OSError, ValueError):
        sys.stderr.write(orjson.dumps(line, default=str).decode("utf-8", "replace") + "\n")
        sys.stderr.flush()
