import base64
import csv
import shlex

import numpy as np
import pandas
import pytest
from tests.workbench.asynchronous import async_test
from tests.workbench.job_runs import start_jobs, wait_until_ended
from tests.workbench.route_client import make_client

import separatrix
from separatrix.data.catalogue import load
from separatrix.studies.catalogue import make
from separatrix.workbench import job
from separatrix.workbench.routes_jobs import router

HOSTILE = '<script>window.pwned=1</script> \'; rm -rf /\n"x".csv'


def iris_csv(target="species"):
    """Iris with labels that are words, and a header that needs quoting."""
    data = load("iris")
    rows = [[*map(str, row), "abc"[label]] for row, label in zip(data.X, data.y, strict=True)]
    names = ["length, sepal", "width", "petal", "petal width", target]
    lines = [",".join(f'"{name}"' for name in names), *(",".join(row) for row in rows)]
    return "\n".join(lines).encode()


def uploaded(name, content):
    return {"name": name, "base64": base64.b64encode(content).decode()}


@pytest.mark.slow
@async_test
async def test_an_upload_becomes_a_report_and_a_model_that_predicts(tmp_path):
    target = "-3"  # could be a position, and is a name

    async with start_jobs(tmp_path, main=job.main) as jobs, make_client(router(jobs)) as client:
        kept = (await client.post("/api/uploads", json=uploaded(HOSTILE, iris_csv(target)))).json()
        request = {"kind": "file", "upload": kept["id"], "target": target, "folds": 2}
        request["models"] = ["lda", "knn"]
        request["roles"] = {"width": "drop"}
        number = (await client.post("/api/jobs", json=request)).json()["id"]
        found = await wait_until_ended(jobs, number)
        parts = {"Range": "bytes=nonsense"}
        files = {
            name: await client.get(f"/jobs/{number}/{name}", headers=parts)
            for name in found["files"]
        }
        await client.post(f"/api/jobs/{number}/delete", json={})

    assert (kept["rows"], kept["target"], kept["name"]) == (150, target, HOSTILE)
    assert [column["kind"] for column in kept["columns"]] == ["number"] * 4 + ["category"]
    assert kept["columns"][0]["name"] == "length, sepal"
    assert kept["preview"][0] == ["5.1", "3.5", "1.4", "0.2", "a"]
    assert (found["status"], found["error"]) == ("done", None)
    assert found["model"]["title"] == "linear discriminant"
    standings = {row["model"]: row for row in found["leaderboard"]}
    assert len(standings) == 2
    best = standings["linear discriminant"]
    assert best["error"] == pytest.approx(found["model"]["error"], abs=1e-3)
    assert best["low"] <= best["error"] <= best["high"]
    assert found["confusion"]["classes"] == ["a", "b", "c"]
    assert "--drop width" in found["command"]
    assert "drop=['width']" in found["python"]
    assert list(files) == ["report.html", "results.csv", "best.model"]
    report = files["report.html"]
    assert "sandbox" in report.headers["content-security-policy"]
    assert "<script>" not in report.text
    assert "&lt;script&gt;window.pwned=1" in report.text
    assert str(tmp_path) not in report.text
    for name in ("results.csv", "best.model"):
        assert files[name].headers["content-disposition"] == f'attachment; filename="{name}"'
    board = list(csv.DictReader(files["results.csv"].text.splitlines()))
    assert board[0]["model"] == found["model"]["title"]
    assert float(board[0]["test_error"]) == pytest.approx(found["model"]["error"])
    path = tmp_path / "mine.model"
    path.write_bytes(files["best.model"].content)
    data = load("iris")
    X = pandas.DataFrame(data.X, columns=[column["name"] for column in kept["columns"][:4]])
    X = X.drop(columns="width")
    assert np.mean(separatrix.load(path).predict(X) != np.array(list("abc"))[data.y]) < 0.05
    assert list((tmp_path / "uploads").iterdir()) == []
    assert shlex.split(found["command"].split("\nseparatrix tune")[0])[2] == HOSTILE
    assert "--target 4" in found["command"]
    compile(found["python"], "job", "exec")


@pytest.mark.slow
@async_test
async def test_an_unreadable_file_is_refused_with_the_message_of_the_reader_and_not_kept(tmp_path):
    content = b"a,b\n1,x\n2,y,z\n"

    async with start_jobs(tmp_path) as jobs, make_client(router(jobs)) as client:
        answer = await client.post("/api/uploads", json=uploaded("../evil.csv", content))

    assert answer.status_code == 422
    message = "../evil.csv:3:5: found more than 2 cells, expected 2 as in the first row"
    assert answer.json()["error"]["message"] == message
    assert list((tmp_path / "uploads").iterdir()) == []


@async_test
async def test_invalid_requests_are_refused(tmp_path):
    number = "0" * 16
    wanted = {
        ("POST", "/api/jobs", '{"kind": "named", "name": "no-such"}'): (422, "refused"),
        ("POST", "/api/jobs", '{"kind": "named", "name": "splice", "data": "x"}'): (422, "schema"),
        ("POST", "/api/jobs", '{"kind": "named", "name": "splice", "seed": -1}'): (422, "schema"),
        ("POST", "/api/jobs", '{"kind": "named", "name": "splice", "quick": 1}'): (422, "schema"),
        ("POST", "/api/jobs", '{"kind": "other"}'): (422, "schema"),
        ("POST", "/api/jobs", "[]"): (422, "schema"),
        ("POST", "/api/jobs", '{"kind": "file", "upload": "../../x"}'): (422, "schema"),
        ("POST", "/api/jobs", f'{{"kind": "file", "upload": "{number}"}}'): (404, "missing"),
        ("POST", "/api/uploads", '{"name": "x.csv", "base64": "***"}'): (422, "schema"),
        ("POST", "/api/uploads", '{"name": "", "base64": ""}'): (422, "schema"),
        ("POST", f"/api/jobs/{number}/cancel", "{}"): (404, "missing"),
        ("POST", f"/api/jobs/{number}/resume", "{}"): (404, "missing"),
        ("POST", f"/api/jobs/{number}/delete", "{}"): (404, "missing"),
        ("POST", f"/api/jobs/{number}/delete", '{"x": 1}'): (422, "schema"),
        ("GET", f"/jobs/{number}/report.html", ""): (404, "missing"),
        ("GET", f"/jobs/{number}/job.json", ""): (404, "path"),
        ("GET", "/jobs/%2e%2e/best.model", ""): (404, "missing"),
        ("GET", "/api/jobs/..", ""): (404, "path"),
    }

    async with start_jobs(tmp_path) as jobs, make_client(router(jobs)) as client:
        for (method, path, body), expected in wanted.items():
            answer = await client.request(method, path, content=body)
            found = (answer.status_code, answer.json()["error"]["code"])
            assert found == expected, (path, body)


@async_test
async def test_experiments_are_listed_with_the_availability_of_their_data(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    monkeypatch.setattr("separatrix.data.catalogue.cache_folder", lambda: tmp_path)

    async with start_jobs(tmp_path) as jobs, make_client(router(jobs)) as client:
        found = (await client.get("/api/experiments")).json()

    named = {one["name"]: one for one in found["named"]}
    assert named["linear-classifiers"]["available"]
    assert named["linear-classifiers"]["hint"] == ""
    assert named["usps-kernel-perceptron"]["data"] == "usps"
    for name, one in named.items():
        used = make(name, quick=True).options.get("data", one["data"])
        digits_without_mnist = name in ("mnist-parity", "mnist-virtual-sv", "mnist8m")
        if not digits_without_mnist and "built in" not in one["quick_data"]:
            assert one["quick_data"] == used, name
    assert not named["mnist-all"]["available"]
    assert "separatrix data get mnist" in named["mnist-all"]["hint"]
    assert "promoters and mutag" in named["kernel-methods"]["hint"]
    assert found["models"][0] == {"key": "svm", "title": "SVM, Gaussian"}
