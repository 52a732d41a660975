"""The requests of Draw, and the commands it shows."""

import json
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
    return LocalBackend("draw", Drawing(Settings(folder=tmp_path, data="digits")))


@pytest.fixture
def client(backend):
    return Client(router(backend))


def test_a_drawing_is_answered_corrected_and_forgotten(client, backend):
    assert client.get("/api/draw/state").json() == STARTING
    while len(backend.service.state()["models"]) < 3:  # the discriminants, then the neighbours
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


def test_own_classes_are_named_drawn_and_exported(client, backend):
    named = client.post("/api/draw/classes", json={"names": ["hat", "dog"]}).json()
    assert [one["name"] for one in named["own"]] == ["hat", "dog"]
    assert backend.chosen == "own"
    for label, digit in (("hat", "0"), ("dog", "1")):
        body = {"strokes": HANDWRITING[digit][0], "label": label, "pen": 1.5}
        learned = client.post("/api/draw/learn", json=body).json()
    assert learned["answer"]["verdict"]["label"] == "dog"
    file = client.post("/api/draw/export", json={"model": "logistic"}).json()
    assert file["name"] == "own-logistic.model"
    refused = client.post("/api/draw/export", json={"model": "../x"})
    assert refused.status_code == 422
    assert client.post("/api/draw/undo", json={}).json()["own"][1]["count"] == 0


def test_while_another_worker_loads_the_same_data_the_state_is_that_of_the_last(client, backend):
    def state(ready, current):
        return json.dumps({"ready": ready, "current": current}).encode()

    backend.former["draw"] = state(True, "usps")
    assert client.get("/api/draw/state").json() == {"ready": True, "current": "usps"}
    backend.states["draw"] = state(False, "usps")
    assert client.get("/api/draw/state").json()["ready"]
    backend.states["draw"] = state(False, "digits")
    assert client.get("/api/draw/state").json() == {"ready": False, "current": "digits"}
    backend.states["draw"] = state(True, "usps")
    assert client.get("/api/draw/state").json()["ready"]


def test_before_the_worker_speaks_the_state_has_all_its_fields(backend):
    assert set(STARTING) == set(backend.service.state())


def test_what_does_not_fit_the_schema_is_refused(client):
    for path, body in (
        ("answer", {"strokes": [[[0.5, 7.0]]]}),
        ("answer", {"strokes": "all"}),
        ("learn", {"strokes": [[[0.5, 0.5]]]}),
        ("forget", {"all": True}),
        ("answer", {"strokes": [], "pen": 9.0}),
        ("classes", {"names": ["a", "a"]}),
        ("undo", {"number": 3}),
        ("data", {"data": 1}),
    ):
        refused = client.post(f"/api/draw/{path}", json=body)
        assert refused.status_code == 422
        assert refused.json()["error"]["code"] == "schema"


def test_the_commands_run_and_predict_the_same(backend, monkeypatch, tmp_path):
    while len(backend.service.state()["models"]) < 3:  # the discriminants, then the neighbours
        backend.service.work()
    answer = backend.service.answer(strokes=HANDWRITING["5"][0])
    fit, echo, predict = answer["command"].splitlines()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.csv").write_text(shlex.split(echo)[1] + "\n")
    run(*shlex.split(fit)[1:])
    predicted = run(*shlex.split(predict)[1:]).stdout
    assert predicted.splitlines()[-1] == f"0,{answer['answers'][0]['label']}"
