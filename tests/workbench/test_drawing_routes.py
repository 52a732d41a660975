"""The requests of Draw, and the commands it shows."""

import json
import shlex

import pytest
from click.testing import CliRunner
from tests.workbench.asking import Client
from tests.workbench.written import WRITTEN

from separatrix.cli import main
from separatrix.workbench.drawing.service import Drawing
from separatrix.workbench.routes_draw import STARTING, router
from separatrix.workbench.settings import Settings


class Dispatcher:
    """Stands in for the worker, with the room in this process."""

    def __init__(self, folder):
        self.told, self.chosen = {}, ""
        self.room = Drawing(Settings(folder=folder))

    async def call(self, name, arguments, *, seconds):
        room, _, method = name.partition(".")
        assert room == "draw"
        assert method in self.room.requests
        answer = getattr(self.room, method)(**arguments)
        self.told["draw"] = json.dumps(self.room.state(), allow_nan=False).encode()
        return json.dumps(answer, allow_nan=False).encode()

    def choose(self, data):
        self.chosen = data


@pytest.fixture
def bench(tmp_path):
    return Dispatcher(tmp_path)


@pytest.fixture
def client(bench):
    return Client(router(bench))


def test_a_drawing_is_answered_corrected_and_forgotten(client, bench):
    assert client.get("/api/draw/state").json() == STARTING
    while not bench.room.state()["models"]:
        bench.room.work()
    strokes = WRITTEN["5"][0]
    answer = client.post("/api/draw/answer", json={"strokes": strokes, "count": 4}).json()
    assert answer["answers"][0]["label"] == "5"
    assert len(answer["neighbours"]) == 4
    learned = client.post("/api/draw/learn", json={"strokes": strokes, "label": "3"}).json()
    assert learned["answer"]["answers"][0]["label"] == "3"
    assert client.get("/api/draw/state").json()["corrections"] == 1
    assert client.post("/api/draw/forget", json={}).json()["corrections"] == 0
    assert client.post("/api/draw/data", json={"data": "digits"}).json()["current"] == "digits"
    assert bench.chosen == "digits"


def test_before_the_worker_speaks_the_state_has_all_its_fields(bench):
    assert set(STARTING) == set(bench.room.state())


def test_what_does_not_fit_the_schema_is_refused(client):
    for path, body in (
        ("answer", {"strokes": [[[0.5, 7.0]]]}),
        ("answer", {"strokes": "all"}),
        ("learn", {"strokes": [[[0.5, 0.5]]]}),
        ("forget", {"all": True}),
        ("data", {"data": 1}),
    ):
        refused = client.post(f"/api/draw/{path}", json=body)
        assert refused.status_code == 422
        assert refused.json()["error"]["code"] == "schema"


def test_the_commands_run_and_say_the_same(bench, monkeypatch, tmp_path):
    while not bench.room.state()["models"]:
        bench.room.work()
    answer = bench.room.answer(strokes=WRITTEN["5"][0])
    fit, echo, predict = answer["command"].splitlines()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.csv").write_text(shlex.split(echo)[1] + "\n")
    for line in (fit, predict):
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == f"0,{answer['answers'][0]['label']}"
