"""Methods, types, sizes and paths, by real requests on real sockets."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.workbench.attacks import GARBAGE
from tests.workbench.live_server import LiveServer, parsed

from separatrix.web import MEGABYTE
from separatrix.web.request_error import RequestError
from separatrix.web.static_files import load_files
from separatrix.workbench import checks

# Methods, types, sizes


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "X"]
)
@pytest.mark.parametrize("target", ["/", "/api/echo", "/nothing"])
def test_no_other_method_is_spoken(server: LiveServer, method, target):
    reply = server.get(target, method=method)
    assert (reply.status, reply.error["code"]) == (405, "method")


def test_a_path_has_its_own_method(server: LiveServer):
    assert server.get("/api/echo").error["code"] == "method"
    assert server.post("/", b"{}").error["code"] == "method"


def test_head_is_get_without_a_body(server: LiveServer):
    whole, head = server.get("/static/main.js"), server.get("/static/main.js", method="HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers


def test_a_body_of_get_is_ignored(server: LiveServer):
    headers = {"Cookie": server.cookie, "Content-Length": "5"}
    reply = server.send("GET", "/static/main.js", headers, b"[NaN]")
    assert reply.body == server.get("/static/main.js").body


FOREIGN_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/json; charset=latin-1",
    "application/json, text/plain",
    "text/plain; application/json",
    "application/jsonp",
    "application/json+x",
    "application/*",
    "",
]


@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": kind} for kind in FOREIGN_TYPES]
    + [{"Content-Encoding": packing} for packing in ("gzip", "deflate", "br", "identity", "")],
)
def test_a_body_that_is_not_plain_json_by_its_headers_is_refused(server: LiveServer, headers):
    reply = server.post("/api/echo", b'{"text": ""}', headers)
    assert (reply.status, reply.error["code"]) == (415, "type")


def test_json_is_accepted_and_a_missing_type_is_refused(server: LiveServer):
    for kind in ("application/json", "application/json; charset=utf-8"):
        assert server.post("/api/echo", b'{"text": ""}', {"Content-Type": kind}).status == 200
    reply = server.send("POST", "/api/echo", {"Cookie": server.cookie, "Content-Length": "0"})
    assert reply.status == 415


def text_of(size: int) -> bytes:
    """A body of so many bytes."""
    return b'{"text": "' + b"x" * (size - 12) + b'"}'


def chunks(body: bytes) -> bytes:
    parts = [body[start : start + 65536] for start in range(0, len(body), 65536)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


CHUNKED = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}


def test_the_limit_is_met_to_the_byte_declared_or_not(server: LiveServer):
    for size, status in ((MEGABYTE, 200), (MEGABYTE + 1, 413)):
        body = text_of(size)
        assert server.post("/api/echo", body).status == status
        given = {"Cookie": server.cookie, **CHUNKED}
        assert server.send("POST", "/api/echo", given, chunks(body)).status == status


@pytest.mark.parametrize("declared", [MEGABYTE + 1, 10**12, 10**18])
def test_a_declared_size_is_refused_before_it_is_sent(server: LiveServer, declared):
    reply = server.post("/api/echo", b"", {"Content-Length": str(declared)})
    assert (reply.status, reply.error["code"]) == (413, "size")


def test_an_endless_body_is_refused_while_it_arrives(server: LiveServer):
    head = {"Host": server.host, "Cookie": server.cookie, **CHUNKED}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    with socket.create_connection(("127.0.0.1", server.tokens.port), timeout=20) as line:
        line.sendall(f"POST /api/echo HTTP/1.1\r\n{lines}\r\n".encode())
        for _ in range(17):  # no last chunk ever comes
            line.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        assert parsed(line).status == 413


def test_uploads_may_be_larger_and_are_limited_too(server: LiveServer):
    assert server.post("/api/uploads", text_of(3 * MEGABYTE)).status == 200
    given = {"Content-Length": str(64 * MEGABYTE + 1)}
    assert server.post("/api/uploads", b"", given).status == 413


@pytest.mark.parametrize("length", ["-1", "1x", "0x10", "1e3", "1, 2", "9" * 30, "+5", " "])
def test_a_length_that_is_no_number_is_refused(server: LiveServer, length):
    reply = server.post("/api/echo", b'{"text": ""}', {"Content-Length": length})
    assert 400 <= reply.status < 500


def test_a_body_that_differs_from_its_declaration_is_refused(server: LiveServer):
    reply = server.post("/api/echo", b'{"text": ""}', {"Content-Length": "5"})
    assert (reply.status, reply.error["code"]) == (400, "json")
    given = {"Cookie": server.cookie, **CHUNKED}
    assert server.send("POST", "/api/echo", given, b"zz\r\n{}\r\n0\r\n\r\n").status == 400


def test_a_body_that_never_comes_is_given_up(monkeypatch):
    monkeypatch.setattr(checks, "BODY_SECONDS", 0.0)
    scope = {"type": "http", "path": "/", "headers": []}

    async def never():
        await asyncio.Event().wait()

    with pytest.raises(RequestError, match="did not arrive") as refused:
        asyncio.run(checks.read_limited(scope, never))
    assert refused.value.code == "timeout"


@pytest.mark.parametrize("name", ["Origin", "Content-Type", "Content-Length", "Sec-Fetch-Site"])
def test_a_header_that_comes_twice_is_refused(server: LiveServer, name):
    value = {"Origin": f"http://{server.host}", "Content-Type": "application/json"}.get(name, "2")
    twice = f"{value}\r\n{name}: {value}" if name != "Content-Length" else "2\r\nContent-Length: 3"
    assert 400 <= server.post("/api/echo", b"{}", {name: twice}).status < 500


# What is not HTTP at all


@pytest.mark.parametrize("request_bytes", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_refused(server: LiveServer, request_bytes):
    assert 400 <= server.raw(request_bytes).status < 500


def test_websockets_are_refused(server: LiveServer):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert server.get("/", upgrade).status == 400


# Paths


@pytest.mark.parametrize(
    "target", ["http://evil.example/", "http://{host}/", "*", "//evil.example/", "evil", "https:/"]
)
def test_targets_that_are_no_plain_path_are_refused(server: LiveServer, target):
    assert 400 <= server.get(target.format(host=server.host)).status < 500


@pytest.mark.parametrize("name", ["%6dain.js", "main%2ejs", "main.j%73", "%6d%61%69%6e.js"])
def test_a_path_is_written_one_way_only(server: LiveServer, name):
    """Nothing of ours needs an escape, so that there is nothing to unescape once too often."""
    assert server.get(f"/static/{name}").error["code"] == "path"


def test_every_file_of_the_page_is_served_as_it_is(server: LiveServer):
    table = load_files("separatrix.workbench")
    assert {"index.html", "main.js", "workbench.css"} <= set(table)
    for name, page in table.items():
        reply = server.get(f"/static/{name}")
        assert (reply.status, reply.body) == (200, page.content)
        assert reply.headers["content-type"] == page.type
    assert server.get("/").body == table["index.html"].content


def test_a_file_that_the_browser_has_is_not_sent_again(server: LiveServer):
    tag = server.get("/static/main.js").headers["etag"]

    same = server.get("/static/main.js", {"If-None-Match": tag})
    other = server.get("/static/main.js", {"If-None-Match": '"x"'})

    assert (same.status, same.body, other.status) == (304, b"", 200)
