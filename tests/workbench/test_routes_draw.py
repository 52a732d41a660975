"""The requests of Draw, and the commands it shows."""

import shlex

import pytest
from tests.cli.command import run
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.route_client import Client, LocalBackend

from separatrix.workbench.drawing.service import Drawing
from separatrix.workbench.routes_draw import STARTING, router
from separatrix.workbench.settings import Settings


@pytest.fixture
def backend(tmp_path):
    return LocalBackend("draw", Drawing(Settings(folder=tmp_path)))


@pytest.fixture
def client(backend):
    return Client(router(backend))


def test_a_drawing_is_answered_corrected_and_forgotten(client, backend):
    assert client.get("/api/draw/state").json() == STARTING
    while not backend.service.state()["models"]:
        backend.service.work()
    strokes = HANDWRITING["5"][0]
    answer = client.post("/api/draw/answer", json={"strokes": strokes, "count": 4}).json()
    assert answer["answers"][0]["label"] == "5"
    assert len(answer["neighbours"]) == 4
    learned = client.post("/api/draw/learn", json={"strokes": strokes, "label": "3"}).json()
    assert learned["answer"]["answers"][0]["label"] == "3"
    assert client.get("/api/draw/state").json()["corrections"] == 1
    assert client.post("/api/draw/forget", json={}).json()["corrections"] == 0
    assert client.post("/api/draw/data", json={"data": "digits"}).json()["current"] == "digits"
    assert backend.chosen == "digits"


def test_before_the_worker_speaks_the_state_has_all_its_fields(backend):
    assert set(STARTING) == set(backend.service.state())


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


def test_the_commands_run_and_predict_the_same(backend, monkeypatch, tmp_path):
    while not backend.service.state()["models"]:
        backend.service.work()
    answer = backend.service.answer(strokes=HANDWRITING["5"][0])
    fit, echo, predict = answer["command"].splitlines()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.csv").write_text(shlex.split(echo)[1] + "\n")
    run(*shlex.split(fit)[1:])
    predicted = run(*shlex.split(predict)[1:]).stdout
    assert predicted.splitlines()[-1] == f"0,{answer['answers'][0]['label']}"
