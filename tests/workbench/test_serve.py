"""The server as a whole: what it is made of, how it starts, and that it ends without a trace."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner
from tests.workbench.attacks import bodies, targets
from tests.workbench.live_server import LiveServer, serve_app

from separatrix.cli import main
from separatrix.errors import ParameterError
from separatrix.workbench import pages, routes_draw, routes_jobs, routes_playground, serve
from separatrix.workbench.app import make_app
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.settings import Settings


class IdleBackend:
    """Answers like the backend, and does nothing."""

    def __init__(self) -> None:
        self.states: dict[str, bytes] = {}
        self.life: list[str] = []

    def start(self) -> None:
        self.life.append("start")

    async def stop(self) -> None:
        self.life.append("stop")

    async def call(self, name: str, arguments: dict[str, object], *, seconds: float) -> bytes:
        return b"{}"

    def cancel(self) -> bool:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = Settings(folder=tmp_path_factory.mktemp("workbench"))
    backend, jobs = IdleBackend(), Jobs(settings)
    with serve_app(
        lambda tokens: make_app(settings, backend=backend, jobs=jobs, tokens=tokens)
    ) as found:
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
    backend, jobs = IdleBackend(), IdleBackend()
    settings = Settings(folder=tmp_path)

    with serve_app(lambda tokens: make_app(settings, backend=backend, jobs=jobs, tokens=tokens)):
        assert (backend.life, jobs.life) == (["start"], ["start"])
    assert (backend.life, jobs.life) == (["start", "stop"], ["start", "stop"])


@pytest.mark.slow
def test_the_server_loads_nothing_that_computes(tmp_path):
    """NumPy is all: models are in the worker, and the server is to stay small."""
    source = (
        "import sys, pathlib\n"
        "from separatrix.workbench import serve, app, routes_playground, settings\n"
        "app.make_app(settings.Settings(folder=pathlib.Path(sys.argv[1])))\n"
        "routes_playground.catalogue()\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", source, str(tmp_path)], capture_output=True, text=True, check=True
    )
    heavy = {"sklearn", "scipy", "numba", "pandas", "matplotlib", "pyarrow", "torch", "polars"}
    assert "fastapi" in told.stdout
    assert not heavy & set(json.loads(told.stdout.replace("'", '"')))


def test_all_three_pages_have_their_routes(routes):
    assert {
        ("GET", "/"),
        ("GET", "/api/draw/state"),
        ("POST", "/api/draw/answer"),
        ("GET", "/api/playground/models"),
        ("POST", "/api/playground/fit"),
        ("POST", "/api/cancel"),
        ("GET", "/api/jobs"),
        ("POST", "/api/jobs"),
        ("POST", "/api/uploads"),
    } <= set(routes)


def test_no_route_answers_without_the_cookie(server: LiveServer, routes):
    for method, path in routes:
        reply = server.send(method, path, {"Content-Type": "application/json"})
        assert (reply.status, reply.error["code"]) == (401, "token"), path


def test_no_route_answers_another_host_or_page(server: LiveServer, routes):
    for method, path in routes:
        assert server.get(path, {"Origin": "http://evil.example"}, method).status == 403, path
        assert server.get(path, {"Host": "evil.example"}, method).status == 421, path


def test_no_route_changes_anything_for_a_form(server: LiveServer, posts):
    for path in posts:
        reply = server.post(path, b"a=b", {"Content-Type": "application/x-www-form-urlencoded"})
        assert reply.status == 415, path


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


def test_every_route_refuses_a_body_that_is_too_large(server: LiveServer, posts):
    for path in posts:
        reply = server.post(path, b"", {"Content-Length": str(64 * 1024**2 + 1)})
        assert (reply.status, reply.error["code"]) == (413, "size"), path


def test_five_hundred_ways_out_lead_nowhere(server: LiveServer):
    assert len(set(targets())) >= 500
    secret = re.compile(rb"root:|\[project\]|import|BEGIN|\[core\]")
    for target in targets():
        reply = server.get(target)
        assert 400 <= reply.status < 500, target
        assert reply.error["code"] in ("path", "missing", "method"), target
        assert not secret.search(reply.body), target


def test_no_job_has_such_a_name(server: LiveServer):
    for name in ("0123456789abcdef", "0", "job.json", "A" * 2000, "..", "-", "__init__.py"):
        for path in ("/api/jobs/{}", "/jobs/{}/report.html", "/jobs/{}/best.model", "/jobs/{}"):
            assert server.get(path.format(name)).status == 404


# How it starts


def test_a_port_that_was_named_and_is_taken_is_an_error():
    with serve.bind_socket(0) as other:
        port = other.getsockname()[1]
        other.listen()
        with pytest.raises(ParameterError, match=f"must be free to listen on; got {port}") as error:
            serve.bind_socket(port)
    assert "without --port" in error.value.hint


def test_without_a_name_another_port_is_taken(monkeypatch):
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
        serve._lock_folder(folder),
        pytest.raises(ParameterError, match="used by no other"),
        serve._lock_folder(folder),
    ):
        pass
    with serve._lock_folder(folder):
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


def test_the_command_refuses_what_is_not_there(tmp_path):
    invoke = CliRunner().invoke
    model = invoke(main, ["workbench", str(tmp_path / "no.model")])
    data = invoke(main, ["workbench", "--data", "nothing", "--folder", str(tmp_path / "w")])

    assert (model.exit_code, "does not exist" in model.output) == (2, True)
    assert (data.exit_code, "hint: data sets: iris" in data.output) == (3, True)
    assert not (tmp_path / "w").exists()


def test_without_its_packages_the_command_says_how_to_get_them(monkeypatch):
    monkeypatch.delitem(sys.modules, "separatrix.workbench.serve")
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    refused = CliRunner().invoke(main, ["workbench"])

    assert refused.exit_code == 3
    assert "hint: pip install 'separatrix[workbench]'" in refused.output


def test_the_command_says_that_a_port_is_taken(tmp_path):
    with serve.bind_socket(0) as other:
        other.listen()
        port = other.getsockname()[1]
        words = ["workbench", "--no-browser", "--port", str(port), "--folder", str(tmp_path)]
        refused = CliRunner().invoke(main, words)

    assert refused.exit_code == 1
    assert "without --port a free one is used" in refused.output


# Its life


def children(pid: int) -> set[int]:
    """Processes that this one started and that still live, and theirs."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | children(child)
    return found


def ends(handle: int) -> bool:
    """Whether the process with this handle has ended, or does so soon."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    ended = bool(waiting.poll(10_000))
    os.close(handle)
    return ended


@contextmanager
def command(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which does not outlive the block."""
    words = ["workbench", "--no-browser", "--json", "--folder", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "separatrix", *words], **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def opened(link: str) -> tuple[HTTPResponse, HTTPResponse]:
    """What a browser gets that opens the link, and the page that it is led to."""
    host, _, target = link.removeprefix("http://").partition("/")
    with closing(HTTPConnection(host, timeout=20)) as connection:
        connection.request("GET", f"/{target}")
        let_in = connection.getresponse()
        let_in.read()
        cookie = let_in.headers["Set-Cookie"].partition(";")[0]
        connection.request("GET", let_in.headers["Location"], headers={"Cookie": cookie})
        return let_in, connection.getresponse()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_the_command_serves_and_ends_without_a_trace(tmp_path, how):
    with command(tmp_path) as process:
        link = json.loads(process.stdout.readline())["url"]
        let_in, page = opened(link)
        family = [os.pidfd_open(pid) for pid in children(process.pid)]
        loaded = Path(f"/proc/{process.pid}/maps").read_text()

        process.send_signal(how)
        rest, said = process.communicate(timeout=30)

    assert (let_in.status, page.status) == (303, 200)
    assert "/numpy/" in loaded
    assert not re.search(r"/(sklearn|scipy|numba|llvmlite)/", loaded)
    assert (process.returncode, rest) == (0, "")
    assert family
    assert [ends(handle) for handle in family] == [True] * len(family)
    front = link.partition("?")[0]
    assert said.splitlines()[:3] == [
        f"workbench at {front}, its files in {tmp_path}",
        f"open {link}",
        "stop with Ctrl-C",
    ]
    assert [line.partition("?")[0] for line in said.splitlines()[3:]] == [
        f"for another browser: {front}"
    ]


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
