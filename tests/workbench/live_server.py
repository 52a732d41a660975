"""A real server in a thread, and plain sockets to speak with it: polite clients tidy what they send."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from separatrix.workbench import pages
from separatrix.workbench.guard import Guard
from separatrix.workbench.replies import json_reply, read_body, register_error_handlers
from separatrix.workbench.serve import bind_socket, make_server
from separatrix.workbench.strict_model import StrictModel
from separatrix.workbench.tokens import Tokens


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, str]:
        """The error, after checking that it has the one shape."""
        found = json.loads(self.body)
        assert list(found) == ["error"]
        assert list(found["error"]) == ["code", "message", "hint"]
        return found["error"]


class LiveServer:
    """A server that listens."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.host = f"127.0.0.1:{tokens.port}"
        self.cookie = tokens.cookie().partition(";")[0]

    def get(self, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> Reply:
        return self.send(method, target, {"Cookie": self.cookie, **(headers or {})})

    def post(self, target: str, body: bytes, headers: dict[str, str] | None = None) -> Reply:
        usual = {
            "Cookie": self.cookie,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        return self.send("POST", target, {**usual, **(headers or {})}, body)

    def send(self, method: str, target: str, headers: dict[str, str], body: bytes = b"") -> Reply:
        lines = {"Host": self.host, "Connection": "close", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return self.raw(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)

    def raw(self, request: bytes) -> Reply:
        """The answer to these very bytes."""
        with socket.create_connection(("127.0.0.1", self.tokens.port), timeout=20) as line:
            line.sendall(request)
            return parsed(line)


def parsed(line: socket.socket) -> Reply:
    with line.makefile("rb") as answer:
        status = int(answer.readline().split()[1])
        headers = {}
        while (read := answer.readline().strip()) != b"":
            name, _, value = read.decode("latin-1").partition(": ")
            headers[name.lower()] = value
        length = headers.get("content-length")
        return Reply(status, headers, answer.read(None if length is None else int(length)))


@contextmanager
def serve_app(make: Callable[[Tokens], FastAPI]) -> Iterator[LiveServer]:
    """The server of an application, until the end of the block."""
    with bind_socket(0) as door:
        tokens, begun = Tokens(door.getsockname()[1]), Event()
        server = make_server(make(tokens), begun.set)
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        assert begun.wait(20)
        yield LiveServer(tokens)
        server.should_exit = True
        thread.join()


class Text(StrictModel):
    text: str


def guarded_app(tokens: Tokens) -> FastAPI:
    """Routes of each kind, with the guard before them."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    register_error_handlers(app)
    app.include_router(pages.router())

    @app.post("/api/echo")
    async def echo(request: Request) -> Response:
        return json_reply({"text": (await read_body(request, Text)).text})

    @app.post("/api/uploads")
    async def uploads(request: Request) -> Response:
        return json_reply({"bytes": len(await request.body())})

    @app.get("/api/fault")
    async def fault() -> Response:
        raise RuntimeError("the insides")

    @app.get("/report.html")
    async def report() -> Response:
        own = {"Content-Security-Policy": "default-src 'none'; sandbox allow-popups"}
        return Response(b"<p>", headers=own, media_type="text/html")

    app.add_middleware(Guard, tokens=tokens)
    return app
