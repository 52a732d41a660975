"""The server as a whole: what it is made of, how it starts, and that it ends without a trace."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import sys
import webbrowser
from pathlib import Path
from threading import Event

import pytest
from tests.cli.command import run
from tests.workbench.attacks import bodies, targets
from tests.workbench.live_server import LiveServer, serve_app
from tests.workbench.workbench_process import WorkbenchProcess

from separatrix.errors import ParameterError
from separatrix.workbench import launch, pages, routes_draw, routes_jobs, routes_playground, serve
from separatrix.workbench.app import make_app
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.settings import Settings


class IdleBackend:
    """Answers like the backend, and does nothing."""

    def __init__(self) -> None:
        self.states: dict[str, bytes] = {}
        self.former: dict[str, bytes] = {}
        self.life: list[str] = []

    def start(self) -> None:
        self.life.append("start")

    async def stop(self) -> None:
        self.life.append("stop")

    async def call(self, name: str, arguments: str, *, seconds: float) -> bytes:
        return b"{}"

    def cancel(self) -> bool:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = Settings(folder=tmp_path_factory.mktemp("workbench"))
    parts = {"backend": IdleBackend(), "jobs": Jobs(settings)}
    with serve_app(lambda tokens: make_app(settings, tokens=tokens, **parts)) as found:
        yield found


@pytest.fixture(scope="module")
def routes(tmp_path_factory) -> list[tuple[str, str]]:
    """Methods and paths, with a number where a name stands."""
    jobs = Jobs(Settings(folder=tmp_path_factory.mktemp("none")))
    routers = [one.router(IdleBackend()) for one in (routes_draw, routes_playground)]
    routers += [pages.router(), routes_jobs.router(jobs)]
    return [
        (method, re.sub(r"\{\w+\}", "0123456789abcdef", route.path))
        for router in routers
        for route in router.routes
        for method in route.methods
    ]


@pytest.fixture(scope="module")
def posts(routes) -> list[str]:
    return [path for method, path in routes if method == "POST"]


# What it is made of


def test_the_parts_are_started_and_stopped_with_the_server(tmp_path):
    settings, parts = Settings(folder=tmp_path), {"backend": IdleBackend(), "jobs": IdleBackend()}

    with serve_app(lambda tokens: make_app(settings, tokens=tokens, **parts)):
        assert [part.life for part in parts.values()] == [["start"]] * 2
    assert [part.life for part in parts.values()] == [["start", "stop"]] * 2


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Cookie": ""}, 401, "token"),
        ({"Origin": "http://evil.example"}, 403, "origin"),
        ({"Host": "evil.example"}, 421, "host"),
    ],
)
def test_no_route_answers_strangers(server: LiveServer, routes, headers, status, code):
    for method, path in routes:
        reply = server.get(path, headers, method)
        assert (reply.status, reply.error["code"]) == (status, code), path


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "type"),
        ({"Content-Length": str(64 * 1024**2 + 1)}, 413, "size"),
    ],
)
def test_no_route_reads_forms_or_large_bodies(server: LiveServer, posts, headers, status, code):
    for path in posts:
        reply = server.post(path, b"a=b", headers)
        assert (reply.status, reply.error["code"]) == (status, code), path


@pytest.mark.slow
def test_every_route_that_reads_a_body_refuses_what_is_no_json(server: LiveServer, posts):
    for path in posts:
        for body in bodies()[::10]:
            reply = server.post(path, body)
            assert (reply.status, reply.error["code"]) == (400, "json"), (path, body[:50])


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"nonsense": 1}', b'{"__proto__": {}}', b'"a"'])
def test_every_route_that_reads_a_body_refuses_what_it_does_not_know(
    server: LiveServer, posts, body
):
    for path in posts:
        reply = server.post(path, body)
        assert (reply.status, reply.error["code"]) == (422, "schema"), path


def test_five_hundred_ways_out_lead_nowhere(server: LiveServer):
    assert len(set(targets())) >= 500
    secret = re.compile(rb"root:|\[project\]|import|BEGIN|\[core\]")
    for target in targets():
        reply = server.get(target)
        assert 400 <= reply.status < 500, target
        assert reply.error["code"] in ("path", "missing", "method"), target
        assert not secret.search(reply.body), target


# How it starts


def test_a_chosen_port_that_is_in_use_is_an_error(tmp_path):
    with serve.bind_socket(0) as other:
        other.listen()
        port = other.getsockname()[1]
        words = ["workbench", "--no-browser", "--port", port, "--folder", tmp_path]
        refused = run(*words, code=1).stderr
    assert f"`port` of workbench must be free to listen on; got {port}" in refused
    assert "without --port a free one is used" in refused


def test_a_default_port_in_use_is_replaced_by_a_free_one(monkeypatch):
    with serve.bind_socket(0) as other:
        other.listen()
        monkeypatch.setattr(serve, "PORT", other.getsockname()[1])
        with serve.bind_socket(None) as door:
            assert door.getsockname()[1] != other.getsockname()[1]
    with serve.bind_socket(None) as door:
        assert door.getsockname() == ("127.0.0.1", serve.PORT)


def test_a_folder_is_for_one_workbench(tmp_path):
    folder = tmp_path / "a" / "b"
    with (
        launch.lock_folder(folder),
        pytest.raises(ParameterError, match="used by no other"),
        launch.lock_folder(folder),
    ):
        pass
    with launch.lock_folder(folder):
        assert folder.is_dir()


def test_the_browser_is_opened_where_there_is_a_screen(monkeypatch):
    opened, done = [], Event()

    def fails(link):
        opened.append(link)
        done.set()
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", fails)
    monkeypatch.setenv("DISPLAY", ":0")
    serve.open_browser("http://a")
    assert done.wait(10)

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    serve.open_browser("http://b")
    assert opened == ["http://a"]


def test_missing_models_and_data_are_errors(tmp_path):
    model = run("workbench", tmp_path / "no.model", code=2)
    data = run("workbench", "--data", "nothing", "--folder", tmp_path / "w", code=3)

    assert "does not exist" in model.output
    assert "hint: data sets: iris" in data.output
    assert not (tmp_path / "w").exists()


def test_a_missing_package_is_an_error_with_the_command_to_install_it(monkeypatch):
    for module in ("separatrix.workbench.serve", "separatrix.web.server"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    assert "hint: pip install 'separatrix[workbench]'" in run("workbench", code=3).output


# Its life


def ends(handle: int) -> bool:
    """Whether the process with this handle has ended, or does so soon."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    ended = bool(waiting.poll(10_000))
    os.close(handle)
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_the_command_serves_without_heavy_imports_and_ends_without_a_trace(tmp_path, how):
    with WorkbenchProcess(tmp_path) as bench:
        link = bench.link()
        bench.let_in(link)
        bench.get("/api/playground/models")
        family = [os.pidfd_open(pid) for pid in bench.children()]
        loaded = Path(f"/proc/{bench.process.pid}/maps").read_text()

        bench.process.send_signal(how)
        assert (bench.process.wait(30), bench.process.stdout.read()) == (0, "")

    assert "/numpy/" in loaded
    assert not re.search(r"/(sklearn|scipy|numba|llvmlite|pandas|pyarrow|torch)/", loaded)
    assert family
    assert [ends(handle) for handle in family] == [True] * len(family)
    front, lines = link.partition("?")[0], [line.rstrip() for line in bench.messages]
    assert lines[:3] == [
        f"workbench at {front}, its files in {tmp_path}",
        f"open {link}",
        "stop with Ctrl-C",
    ]
    assert [line.partition("?")[0] for line in lines[3:]] == [f"for another browser: {front}"]


def test_only_this_machine_is_listened_to():
    with serve.bind_socket(0) as door:
        assert (door.family, door.getsockname()[0]) == (socket.AF_INET, "127.0.0.1")


def test_no_part_of_an_answer_waits_for_another():
    """asyncio sends at once only where a socket says that it is of TCP, which the default does not."""
    with serve.bind_socket(0) as door:
        door.listen()
        with socket.create_connection(door.getsockname()), door.accept()[0] as accepted:
            assert accepted.proto == socket.IPPROTO_TCP
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
