import pytest
from tests.workbench.route_client import Client, LocalBackend

from separatrix.workbench.playground.service import Playground
from separatrix.workbench.routes_playground import router
from separatrix.workbench.settings import Settings

SCENE = {"points": [[0, 0, "a"], [1, 1, "b"]], "model": "svm", "parameters": {}}
PICTURE = {**SCENE, "window": [0, 1, 0, 1], "grid": 20}


@pytest.fixture(scope="module")
def backend():
    return LocalBackend("playground", Playground(Settings()))


@pytest.fixture(scope="module")
def client(backend):
    return Client(router(backend))


def test_the_choices_are_listed(client):
    assert client.get("/api/playground/models").json()["models"][0]["key"] == "svm"


def test_a_scene_becomes_a_picture(client):
    answer = client.post("/api/playground/fit", json=PICTURE)

    assert answer.status_code == 200
    assert answer.json()["labels"] == ["a", "b"]


@pytest.mark.parametrize(
    "body",
    [
        {"generator": "xor", "n": 40, "noise": 0, "seed": 3},
        {"data": "iris", "columns": ["petal length (cm)", "sepal width (cm)"]},
        {"csv": {"name": "a.csv", "text": "p,q,kind\n1,2,a\n3,4,b\n", "x": None}},
    ],
)
def test_points_come_from_three_places(client, body):
    assert client.post("/api/playground/points", json=body).json()["points"]


def test_steps_and_files_are_answered(client):
    scene = {**SCENE, "model": "kernel-perceptron"}
    steps = client.post("/api/playground/steps", json=scene).json()["steps"]
    last = client.post(
        "/api/playground/step", json={**scene, "window": [0, 1, 0, 1], "step": len(steps) - 1}
    )
    files = client.post(
        "/api/playground/export", json={**SCENE, "name": "it", "source": {"generator": "moons"}}
    )

    assert last.status_code == 200
    assert set(files.json()) == {"python", "experiment", "points"}


def test_lessons_are_answered(client):
    more = {"points": [[0, 0, "a"], [1, 1, "b"], [0, 1, "a"], [1, 0, "b"]]}
    bodies = {
        "finish": {**PICTURE, **more},
        "explain": {**SCENE, **more, "at": [0.5, 0.5], "out": [3]},
        "sweep": {**SCENE, **more, "name": "C", "values": [0.1, 1.0], "test": [2]},
        "lift": {**SCENE, **more},
    }

    answers = {name: client.post(f"/api/playground/{name}", json=bodies[name]) for name in bodies}

    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(
        bodies, 200
    )
    assert [one["value"] for one in answers["sweep"].json()["errors"]] == [0.1, 1.0]


def test_cancelling_reaches_the_bench(client, backend):
    assert client.post("/api/cancel", json={}).json() == {}
    assert backend.cancelled == 1


INVALID_FIELDS = {
    "grid": [19, 201, 20.5],
    "window": [[1, 0, 0, 1], [0, 1, 0], [0, 1e300, 0, 1]],
    "points": [
        *([[0, 0, "a"]] * 5001, [[1e10, 0, "a"]], [[0, 0, "a" * 201]], [[0, 0, 1]]),
        *([[0, 0, "a\0"]], [[True, 0, "a"]], [["0", 0, "a"]], [[0, 0]]),
    ],
    "parameters": [{"C": [1]}, {"C" * 41: 1}],
    "standardise": [1],
    "colour": ["red"],
}
MOONS = {"generator": "moons"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(("fit", {**PICTURE, name: bad}) for name, all_ in INVALID_FIELDS.items() for bad in all_),
        ("fit", SCENE),
        *(("points", {**MOONS, **bad}) for bad in ({"n": 3}, {"noise": 3}, {"seed": 2**32})),
        ("points", {}),
        ("points", {**MOONS, "data": "iris"}),
        ("points", {"data": "iris", "columns": ["a"]}),
        ("points", {"csv": {"text": "a"}}),
        ("step", {**PICTURE, "step": -1}),
        ("export", {**SCENE, "name": "a" * 201}),
        *(("fit", {**PICTURE, "test": bad}) for bad in ([-1], [5000], [0.5], "all")),
        ("finish", {**PICTURE, "seconds": 1e9}),
        ("explain", {**SCENE, "at": [0, 1e10]}),
        *(("sweep", {**SCENE, "name": "C", "values": bad}) for bad in ([], [1.0] * 41, ["1"])),
        ("lift", {**SCENE, "window": [0, 1, 0, 1]}),
    ],
)
def test_requests_that_do_not_fit_the_schema_never_reach_the_service(client, backend, path, body):
    before = backend.calls

    answer = client.post(f"/api/playground/{path}", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "schema"
    assert backend.calls == before


def test_the_message_of_a_refusal_is_passed_on(client):
    answer = client.post("/api/playground/fit", json={**PICTURE, "rule": "vote"})

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "refused"
    assert "`rule` of Playground must be one of predict" in answer.json()["error"]["message"]
