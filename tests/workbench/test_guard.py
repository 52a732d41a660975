"""Access control by real requests on real sockets: tokens, Host, Origin, and headers of every answer."""

from __future__ import annotations

import asyncio
import secrets

import pytest
from tests.workbench.attacks import FOREIGN, HOSTS
from tests.workbench.live_server import LiveServer

from separatrix.web.headers import allowed_hosts
from separatrix.workbench.guard import HEADERS, Guard
from separatrix.workbench.tokens import Tokens

# Tokens and cookies


def test_a_token_works_once_and_a_new_link_is_reported():
    links: list[str] = []
    tokens = Tokens(1234, on_renewal=links.append)
    first = tokens.link().partition("token=")[2]

    assert [tokens.redeem(first), tokens.redeem(first)] == [True, False]
    assert links == [tokens.link()]
    assert tokens.redeem(links[0].partition("token=")[2])


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "\x00", "é", "\ud800", "None", "*"])
def test_other_tokens_are_refused(token):
    assert not Tokens(1234).redeem(token)


def test_the_cookie_names_the_port_and_stays_in_the_browser():
    tokens = Tokens(1234)
    value, *attributes = tokens.cookie().split("; ")

    assert value.startswith("separatrix-1234=")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert tokens.accepts(value)
    assert tokens.accepts(f"separatrix-1234=other; a=b; {value}")
    for wrong in (
        value[:-1],
        value + "x",
        value.upper(),
        value.replace("1234", "1235"),
        value.partition("=")[2],
        "separatrix-1234=",
        f'separatrix-1234="{value.partition("=")[2]}"',
        tokens.link().partition("token=")[2],
        "",
    ):
        assert not tokens.accepts(wrong)


def test_the_link_of_the_terminal_lets_a_browser_in_once(server: LiveServer):
    target = server.tokens.link().removeprefix(f"http://{server.host}")

    reply = server.send("GET", target, {})
    again = server.send("GET", target, {"Accept": "text/html"})

    assert (reply.status, reply.headers["location"]) == (303, "/")
    cookie = reply.headers["set-cookie"].partition(";")[0]
    assert server.send("GET", "/", {"Cookie": cookie}).status == 200
    assert (again.status, "set-cookie" in again.headers) == (401, False)
    assert b"has no access" in again.body


FOLLOWED_LINK = {
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


def test_after_a_link_on_another_site_a_page_of_ours_redirects(server: LiveServer):
    reply = server.send("GET", f"/?{server.tokens.link().partition('?')[2]}", FOLLOWED_LINK)

    assert (reply.status, reply.headers["set-cookie"]) == (200, server.tokens.cookie())
    assert b'content="0; url=/"' in reply.body


def test_a_preview_by_head_does_not_use_the_token_up(server: LiveServer):
    target = server.tokens.link().removeprefix(f"http://{server.host}")

    assert server.send("HEAD", target, {}).status == 401
    assert server.send("GET", target, {}).status == 303


def test_an_old_link_in_a_browser_that_is_in_leads_to_the_page(server: LiveServer):
    assert server.get("/?token=old").headers["location"] == "/"


@pytest.mark.parametrize(
    "target", ["/?token=wrong", "/?token=", "/?token", "/?a=b&token=", "/", "/static/main.js"]
)
def test_without_cookie_nothing_is_shown(server: LiveServer, target):
    reply = server.send("GET", target, {})
    assert (reply.status, reply.error["code"]) == (401, "token")
    assert "terminal" in reply.error["hint"]


def test_a_token_is_for_the_front_page_alone(server: LiveServer):
    query = server.tokens.link().partition("?")[2]
    for target in (f"/api/fault?{query}", f"/static/main.js?{query}", f"/?a=b&{query}"):
        assert server.send("GET", target, {}).status == 401


def test_programs_are_refused_in_json_and_people_with_a_page(server: LiveServer):
    page = server.send("GET", "/", {"Accept": "text/html"})
    program = server.send("GET", "/api/fault", {"Accept": "text/html"})

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert program.error["code"] == "token"


@pytest.mark.parametrize(
    "wrong", ["", "separatrix-1=x", "separatrix-{port}=x", "; ; =", "\xff=\xff"]
)
def test_a_wrong_cookie_is_refused(server: LiveServer, wrong):
    assert server.get("/", {"Cookie": wrong.format(port=server.tokens.port)}).status == 401


# Host, Origin, Sec-Fetch-Site


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_is_refused(server: LiveServer, host):
    reply = server.get("/", {"Host": host.format(port=server.tokens.port)})
    assert (reply.status, reply.error["code"]) == (421, "host")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_our_own_hosts_are_answered(server: LiveServer, name):
    host = f"{name}:{server.tokens.port}"
    assert server.get("/", {"Host": host, "Origin": f"http://{host}"}).status == 200


@pytest.mark.parametrize("hosts", [b"", b"Host: 127.0.0.1\r\n", b"Host: %b\r\nHost: %b\r\n"])
def test_a_host_that_is_missing_or_there_twice_is_refused(server: LiveServer, hosts):
    ours = server.host.encode()
    lines = hosts.replace(b"%b", ours) + b"Cookie: " + server.cookie.encode()
    for version in (b"1.0", b"1.1"):
        request = b"GET / HTTP/" + version + b"\r\n" + lines + b"\r\n\r\n"
        assert server.raw(request).status in (400, 421)


def test_port_80_may_be_left_out():
    assert {"127.0.0.1", "localhost:80"} < allowed_hosts(80)


@pytest.mark.parametrize("headers", FOREIGN)
def test_what_another_page_sends_is_refused(server: LiveServer, headers):
    port = server.tokens.port
    given = {name: value.format(host=server.host, port=port) for name, value in headers.items()}

    for reply in (server.post("/api/echo", b'{"text": ""}', given), server.get("/", given)):
        assert (reply.status, reply.error["code"]) == (403, "origin")


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_page_may_post(server: LiveServer, site):
    given = {"Origin": f"http://{server.host}", "Sec-Fetch-Site": site}
    assert server.post("/api/echo", b'{"text": "a"}', given).body == b'{"text": "a"}'


def test_a_link_of_another_site_reaches_the_front_page_and_nothing_else(server: LiveServer):
    assert server.get("/", FOLLOWED_LINK).status == 200
    assert server.get("/", {**FOLLOWED_LINK, "Sec-Fetch-Dest": "iframe"}).status == 403
    assert server.get("/report.html", FOLLOWED_LINK).status == 403
    assert server.post("/api/echo", b'{"text": ""}', FOLLOWED_LINK).status == 403


# Answers


def test_every_answer_has_the_headers(server: LiveServer):
    replies = [
        server.get("/"),
        server.get("/api/nothing"),
        server.get("/..%2f"),
        server.get("/api/fault"),
        server.send("GET", "/", {}),
        server.get("/", {"Host": "evil.example"}),
        server.post("/api/echo", b"["),
        server.post("/api/echo", b'{"text": ""}'),
        server.get("/?token=old"),
    ]
    for reply in replies:
        for name, value in HEADERS.items():
            of_a_file = name == b"cache-control" and "etag" in reply.headers
            expected = "no-cache" if of_a_file else value.decode()
            assert reply.headers[name.decode()] == expected
        assert "server" not in reply.headers
    assert [reply.status for reply in replies] == [200, 404, 404, 500, 401, 421, 400, 200, 303]
    assert b"unsafe" not in HEADERS[b"content-security-policy"]


def test_a_sandboxed_page_keeps_its_own_policy_and_can_be_opened_alone(server: LiveServer):
    headers = server.get("/report.html").headers

    assert headers["content-security-policy"] == "default-src 'none'; sandbox allow-popups"
    assert "cross-origin-opener-policy" not in headers
    assert headers["x-content-type-options"] == "nosniff"


def test_an_internal_error_is_answered_without_details(server: LiveServer, capfd):
    reply = server.get("/api/fault")

    assert (reply.status, reply.error["code"]) == (500, "internal")
    assert b"insides" not in reply.body
    assert "RuntimeError: the insides" in capfd.readouterr().err


def test_nothing_is_there_under_a_random_name(server: LiveServer):
    for base in ("/", "/static/", "/api/", "/docs/", "/openapi.json/"):
        reply = server.get(base + secrets.token_hex(4))
        assert (reply.status, reply.error["code"]) == (404, "path")
    for page in ("/docs", "/redoc", "/openapi.json"):
        assert server.get(page).status == 404


def test_websockets_are_refused_by_the_guard_itself():
    sent = []

    async def send(message):
        sent.append(message)

    async def never(*_):
        raise AssertionError

    asyncio.run(Guard(never, tokens=Tokens(1))({"type": "websocket"}, never, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]
