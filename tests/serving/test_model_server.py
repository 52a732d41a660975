"""A server that listens: Triton's client, slow clients, draining, the command, several workers."""

import http.client
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from tests.serving.live_model_server import LiveModelServer

from separatrix.errors import SeparatrixError
from separatrix.serving import slow_clients, supervisor
from separatrix.serving.serving_options import ModelSource, ServingOptions

ROW = [[5.0, 3.0, 1.5, 0.2]]
HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"


@pytest.fixture
def server(iris, digits):
    with LiveModelServer(("iris", "1", iris[1]), ("digits", "3", digits[1])) as live:
        yield live


def test_tritons_client_is_understood(server, iris, digits):
    triton = pytest.importorskip("tritonclient.http", reason="pip install 'tritonclient[http]'")
    model, _, X = digits
    client = triton.InferenceServerClient(server.address)
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("digits", "3")
    assert not client.is_model_ready("none")
    assert client.get_model_metadata("iris")["platform"] == "separatrix"
    assert len(client.get_model_repository_index()) == 2
    for binary in (True, False):
        tensor = triton.InferInput("input", [6, 64], "FP64")
        tensor.set_data_from_numpy(X[:6], binary_data=binary)
        wanted = [triton.InferRequestedOutput("predict", binary_data=binary)]
        answer = client.infer("digits", [tensor], model_version="3", outputs=wanted)
        np.testing.assert_array_equal(answer.as_numpy("predict"), model.predict(X[:6]))
    tensor = triton.InferInput("input", [1, 4], "FP32")
    tensor.set_data_from_numpy(np.array(ROW, dtype=np.float32))
    assert client.infer("iris", [tensor]).as_numpy("predict").tolist() == [b"setosa"]
    wrong = triton.InferInput("input", [1, 3], "FP32")
    wrong.set_data_from_numpy(np.zeros((1, 3), dtype=np.float32))
    with pytest.raises(triton.InferenceServerException, match="expected numbers of"):
        client.infer("iris", [wrong])


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", HEAD, HEAD + b"Content-Length: 50\r\n\r\n[["])
def test_a_client_that_trickles_headers_or_body_is_cut(iris, monkeypatch, sent):
    monkeypatch.setattr(slow_clients, "HEADER_SECONDS", 0.2)
    with LiveModelServer(("iris", "1", iris[1]), timeout=0.2) as live, live.connect() as link:
        link.sendall(sent % live.port if b"%d" in sent else sent)
        received = link.recv(10_000)  # nothing, or 408
        assert received == b"" or b" 408 " in received.partition(b"\r\n")[0]
        assert live.request("POST", "/predict", ROW)[0] == 200
    assert received or live.metrics.own[live.metrics.at["separatrix_cut_connections_total"]] == 1


def test_a_client_with_endless_headers_is_cut(iris):
    with LiveModelServer(("iris", "1", iris[1])) as live, live.connect() as link:
        _send_until_cut(link, HEAD % live.port + b"X: " + b"y" * 10_000_000)
        cut = live.metrics.at["separatrix_cut_connections_total"]
        while not live.metrics.own[cut]:
            time.sleep(0.01)


def test_a_client_that_does_not_read_is_cut(iris):
    with LiveModelServer(("iris", "1", iris[1]), timeout=0.5) as live, live.connect() as link:
        body = json.dumps(ROW * 5000).encode()
        head = HEAD % live.port + b"Content-Length: %d\r\n\r\n" % len(body)
        link.settimeout(10)
        sender = threading.Thread(target=_send_until_cut, args=(link, (head + body) * 40))
        sender.start()
        sender.join(20)
        assert not sender.is_alive()  # the connection was reset
        assert live.request("POST", "/predict", ROW)[0] == 200


def _send_until_cut(link, data):
    try:
        link.sendall(data)
    except OSError:
        return


def test_connections_beyond_the_limit_are_refused(iris):
    with LiveModelServer(("iris", "1", iris[1]), connections=3) as live:
        held = [live.connect() for _ in range(3)]
        for link in held:
            link.sendall(b"GET /v2 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % live.port)
            assert b" 200 " in link.recv(10_000)
        with live.connect() as link:
            refused = link.recv(10_000)
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert refused.endswith(b'{"error": "the server has no room for connections"}')
        for link in held:
            link.close()


@pytest.mark.slow
def test_requests_in_progress_are_answered_when_the_server_stops(iris):
    live = LiveModelServer(("iris", "1", iris[1]))
    answers = []
    with live:
        live.server._endpoints.scorer.submit(time.sleep, 1.0)
        asked = threading.Thread(
            target=lambda: answers.append(live.request("POST", "/predict", ROW))
        )
        asked.start()
        while not live.server._endpoints.in_progress:
            time.sleep(0.005)
        live.stop()
        asked.join(30)
    assert answers[0][0] == 200


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.long)])
def test_reloads_under_load_give_no_wrong_answer(tmp_path, iris, linear, count):
    path = tmp_path / "both.model"
    path.write_bytes(iris[1].read_bytes())
    answers, done = [], threading.Event()

    def ask(live):
        while not done.is_set():
            answers.append(live.request("POST", "/predict?probabilities=0", ROW))

    with LiveModelServer(("both", "1", path), poll=0.005, any_signature=True) as live:
        threads = [threading.Thread(target=ask, args=(live,)) for _ in range(3)]
        for one in threads:
            one.start()
        own, at = live.metrics.own, live.metrics.at["separatrix_reloads_total"]
        for number in range(count):
            part = tmp_path / "part"
            part.write_bytes((linear, iris[1])[number % 2].read_bytes())
            os.replace(part, path)
            while own[at] <= number:
                time.sleep(0.002)
        done.set()
        for one in threads:
            one.join()
    right = {b'{"model":"both","version":"1","labels":%s}' % w for w in (b'["setosa"]', b"[0]")}
    assert {status for status, _ in answers} == {200}
    assert {body for _, body in answers} == right


class ServeProcess:
    """`separatrix serve` as a process."""

    def __init__(self, *words, before=lambda _served: None):
        command = [sys.executable, "-m", "separatrix", "serve", "--json", "--port", "0", *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **pipes)
        self.before = before

    def __enter__(self):
        self.before(self)
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        self.url = json.loads(line)["url"]
        return self

    def __exit__(self, *_error):
        if self.process.returncode is None:
            self.stop()

    def ask(self, path, value):
        request = urllib.request.Request(self.url + path, json.dumps(value).encode())
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.loads(answer.read())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@pytest.mark.slow
def test_the_command_serves_logs_and_stops(iris):
    with ServeProcess(f"flowers:2={iris[1]}", "--drain", "0.1") as served:
        assert served.ask("/predict", ROW)["labels"] == ["setosa"]
        code, errors = served.stop()
    assert code == 0
    assert json.loads(errors.splitlines()[0])["model"] == "flowers:2"
    assert "Traceback" not in errors


def worker_pids(served):
    """The worker processes that run now, the oldest first."""
    pid = served.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    lines = {int(one): Path(f"/proc/{one}/cmdline") for one in children}
    return sorted(one for one, line in lines.items() if "spawn_main" in line.read_text())


class Load:
    """Threads that ask all the time; `lost` has the begin and the end of requests that failed."""

    def __init__(self, served, threads=2):
        self.served, self.answered, self.lost = served, 0, []
        self.done = threading.Event()
        self.threads = [threading.Thread(target=self._ask) for _ in range(threads)]

    def __enter__(self):
        for one in self.threads:
            one.start()
        return self

    def __exit__(self, *_error):
        self.done.set()
        for one in self.threads:
            one.join()

    def _ask(self):
        while not self.done.wait(0.02):
            begin = time.monotonic()
            try:
                assert self.served.ask("/predict", ROW)["labels"] == ["setosa"]
                self.answered += 1
            except (OSError, http.client.HTTPException) as error:
                self.lost.append((begin, time.monotonic(), repr(error)))


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.long)])
def test_each_worker_that_is_killed_under_load_is_replaced(iris, count):
    options = ("--workers", "2", "--drain", "0", "--no-access-log")
    with ServeProcess(str(iris[1]), *options) as served, Load(served) as load:
        kills, seen = [], set()
        for _ in range(count):
            oldest = worker_pids(served)[0]
            seen.add(oldest)
            kills.append(time.monotonic())
            os.kill(oldest, signal.SIGKILL)
            while served.get("/v2/health/ready")["workers_ready"] != 1:
                time.sleep(0.01)
            while served.get("/v2/health/ready")["workers_ready"] < 2:
                time.sleep(0.05)
        answered = load.answered
        assert set(worker_pids(served)).isdisjoint(seen)
        while load.answered == answered:
            time.sleep(0.01)
        load.__exit__()
        code, errors = served.stop()
    in_flight = [any(begin <= at <= end for at in kills) for begin, end, _ in load.lost]
    assert all(in_flight), load.lost
    assert len(load.lost) <= len(load.threads) * count
    assert code == 0
    events = [json.loads(line) for line in errors.splitlines()]
    assert [(one["event"], one["exitcode"]) for one in events] == [("worker", -9)] * count


@pytest.mark.slow
def test_a_worker_that_is_killed_before_it_answers_is_replaced(iris):
    options = ("--workers", "2", "--drain", "0", "--no-access-log")

    def kill_first(served):
        while not (pids := worker_pids(served)):
            time.sleep(0.01)
        os.kill(pids[0], signal.SIGKILL)

    with ServeProcess(str(iris[1]), *options, before=kill_first) as served:
        assert served.get("/v2/health/ready") == {"ready": True, "workers": 2, "workers_ready": 2}
        code, errors = served.stop()
    assert code == 0
    assert json.loads(errors.splitlines()[0])["exitcode"] == -9


@pytest.mark.slow
def test_workers_that_cannot_load_a_model_end_the_command_with_one_sentence(tmp_path):
    (tmp_path / "broken.model").write_bytes(b"nothing")
    command = [sys.executable, "-m", "separatrix", "serve", "--port", "0", "--workers", "2"]
    ended = subprocess.run(
        [*command, str(tmp_path / "broken.model")], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("Error: ")
    assert "broken.model" in ended.stderr.splitlines()[-1]


def test_a_supervisor_gives_up_workers_that_are_lost_before_they_answer(iris, capsys, monkeypatch):
    monkeypatch.setattr(supervisor, "RESTART_SECONDS", (0.0, 0.0))
    options = ServingOptions((ModelSource("iris", "1", iris[1]),), workers=2)
    monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
    watch = supervisor.Supervisor(options, None, None)
    monkeypatch.setattr(watch, "context", LostProcesses())
    with pytest.raises(SeparatrixError, match="lost 3 times before it answered"):
        watch.run(lambda: None)
    assert capsys.readouterr().err.count('"event":"worker"') >= 3


class LostProcesses:
    """A context of multiprocessing whose processes end at once."""

    def __init__(self):
        self.real = multiprocessing.get_context("fork")

    def Pipe(self, duplex):
        return self.real.Pipe(duplex)

    def Process(self, target, args, daemon):
        return self.real.Process(target=os._exit, args=(9,), daemon=daemon)
