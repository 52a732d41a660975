import ast
import asyncio
import base64
import csv
import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pandas
import pytest
from fastapi import FastAPI
from tests.workbench import fake_workers
from tests.workbench.hostile import NAMES

import separatrix
from separatrix import KNeighborsClassifier, Perceptron, compare
from separatrix.app.runs import prepare
from separatrix.app.train_from_file import name_or_position
from separatrix.cli.experiments import compare as compare_command
from separatrix.data.catalogue import load
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.evaluation.candidates import CANDIDATES
from separatrix.experiments.run import run
from separatrix.experiments.steps import Row, StepResult
from separatrix.runtime.progress import bar, busy, heard_by
from separatrix.workbench import job, job_store
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.preview import preview
from separatrix.workbench.records import (
    MODELS,
    BestModel,
    FileRequest,
    JobRecord,
    StudyRequest,
    Upload,
    command_of,
    python_of,
)
from separatrix.workbench.replies import RequestError, register_error_handlers
from separatrix.workbench.routes_jobs import router
from separatrix.workbench.settings import Settings

SECONDS = 120.0  # longer than anything here takes
QUICK = "knn-and-perceptron"
HOSTILE = '<script>window.pwned=1</script> \'; rm -rf /\n"x".csv'


@asynccontextmanager
async def started(folder, *, main=fake_workers.run_job, **settings):
    jobs = Jobs(Settings(folder=folder, **settings), main=main)
    jobs.start()
    try:
        yield jobs
    finally:
        await jobs.stop()


def named(seed=0):
    return StudyRequest(kind="named", name=QUICK, quick=True, seed=seed)


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def ended(jobs, number):
    await until(lambda: jobs.get(number)["status"] not in ("queued", "running"))
    return jobs.get(number)


def iris_csv(target="species"):
    """Iris with labels that are words, and a header that needs quoting."""
    data = load("iris")
    rows = [[*map(str, row), "abc"[label]] for row, label in zip(data.X, data.y, strict=True)]
    names = ["length, sepal", "width", "petal", "petal width", target]
    lines = [",".join(f'"{name}"' for name in names), *(",".join(row) for row in rows)]
    return "\n".join(lines).encode()


def test_jobs_run_one_after_another_in_the_order_they_came(tmp_path):
    async def scenario():
        async with started(tmp_path) as jobs:
            numbers = [
                jobs.submit(named(fake_workers.HANG))["id"],
                *(jobs.submit(named())["id"],) * 1,
            ]
            numbers.append(jobs.submit(named())["id"])
            await until(lambda: (jobs.get(numbers[0])["progress"] or {}).get("message") == "a step")
            before = [jobs.get(number)["status"] for number in numbers]
            jobs.cancel(numbers[0])
            after = [await ended(jobs, number) for number in numbers]
            return before, after, [one["id"] for one in jobs.list_all()], numbers

    before, after, listed, numbers = asyncio.run(scenario())

    assert before == ["running", "queued", "queued"]
    assert [one["status"] for one in after] == ["cancelled", "done", "done"]
    assert after[1]["finished"] <= after[2]["started"]
    assert after[1]["summary"] == ["it is so"]
    assert after[1]["files"] == ["report.html"]
    assert listed == numbers[::-1]


def test_what_became_of_a_job_is_there_after_a_new_start(tmp_path):
    async def first():
        async with started(tmp_path) as jobs:
            done = await ended(jobs, jobs.submit(named())["id"])
            failed = await ended(jobs, jobs.submit(named(fake_workers.FAIL))["id"])
            died = await ended(jobs, jobs.submit(named(fake_workers.DIE))["id"])
            running = jobs.submit(named(fake_workers.HANG))
            queued = jobs.submit(named())
            await until(lambda: jobs.get(running["id"])["progress"]["message"] == "a step")
            return [done, failed, died, jobs.get(running["id"]), queued]

    async def second(before):
        async with started(tmp_path) as jobs:
            now = [jobs.get(one["id"]) for one in before]
            jobs.resume(now[3]["id"])
            return now, await ended(jobs, now[3]["id"])

    before = asyncio.run(first())
    now, resumed = asyncio.run(second(before))

    assert [one["status"] for one in now] == [
        "done",
        "failed",
        "failed",
        "interrupted",
        "interrupted",
    ]
    assert now[:3] == before[:3]
    assert now[1]["error"] == {"message": "there is no such thing", "hint": "take another"}
    assert "memory" in now[2]["error"]["message"]
    assert resumed["status"] == "done"


def test_a_job_over_its_time_is_ended_and_can_go_on(tmp_path):
    async def scenario():
        async with started(tmp_path, time_limit=1.0) as jobs:
            number = jobs.submit(named(fake_workers.HANG))["id"]
            process = await born(jobs, tmp_path, number)
            failed = await ended(jobs, number)
            await until(lambda: not alive(process))
            return failed

    failed = asyncio.run(scenario())

    assert failed["status"] == "failed"
    assert "longer than" in failed["error"]["message"]
    assert "resume" in failed["error"]["hint"]


async def born(jobs, folder, number):
    """The number of a job's process, once that has started."""
    starts = folder / "jobs" / number / "run" / "starts"
    await until(lambda: starts.exists() and starts.read_text().endswith("\n"))
    return int(starts.read_text().split()[-1])


def alive(process):
    """Whether a process still runs; what waits to be collected does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_only_what_has_ended_is_deleted_and_its_folder_with_it(tmp_path):
    async def scenario():
        async with started(tmp_path) as jobs:
            number = jobs.submit(named(fake_workers.HANG))["id"]
            await born(jobs, tmp_path, number)
            with pytest.raises(RequestError) as busy:
                await jobs.delete(number)
            jobs.cancel(number)
            await until(lambda: jobs._run is None)
            await jobs.delete(number)
            with pytest.raises(RequestError) as missing:
                jobs.get(number)
            return busy.value, missing.value

    busy, missing = asyncio.run(scenario())

    assert (busy.status, busy.code) == (409, "busy")
    assert (missing.status, missing.code) == (404, "missing")
    assert list((tmp_path / "jobs").iterdir()) == []


def test_garbage_in_the_folder_is_shown_nowhere_and_left_alone(tmp_path):
    garbage = {
        "a" * 16: b"{",
        "b" * 16: b"[]",
        "c" * 16: b"\xff\xfe",
        "d" * 16: b'{"id": "dddddddddddddddd", "status": "running"}',
        "e" * 16: json.dumps({"id": "0" * 16}).encode(),
        "other": b"",
    }
    for name, content in garbage.items():
        (tmp_path / "jobs" / name).mkdir(parents=True)
        (tmp_path / "jobs" / name / "job.json").write_bytes(content)
    (tmp_path / "jobs" / ("f" * 16) / "job.json").mkdir(parents=True)
    (tmp_path / "jobs" / "file").write_bytes(b"")

    async def scenario():
        async with started(tmp_path) as jobs:
            return jobs.list_all()

    assert asyncio.run(scenario()) == []
    for name, content in garbage.items():
        assert (tmp_path / "jobs" / name / "job.json").read_bytes() == content


def rows(folder):
    """The table of a run without what no two runs agree on."""
    with (folder / "results.csv").open(newline="") as file:
        return [
            {name: cell for name, cell in row.items() if name not in ("seconds", "memory")}
            for row in csv.DictReader(file)
        ]


def test_a_job_that_was_cancelled_midway_ends_with_the_table_of_one_that_was_not(tmp_path):
    whole = tmp_path / "whole"
    run(prepare(QUICK, {"quick": True, "seed": 0}).experiment, whole, progress=False)

    async def scenario():
        async with started(tmp_path, main=job.main) as jobs:
            number = jobs.submit(named())["id"]
            step = tmp_path / "jobs" / number / "run" / "steps" / "000.step"
            await until(step.exists)
            written = step.stat().st_mtime_ns
            cancelled = jobs.cancel(number)
            await until(lambda: jobs._run is None)
            jobs.resume(number)
            return cancelled, await ended(jobs, number), step.stat().st_mtime_ns == written

    cancelled, done, kept = asyncio.run(scenario())

    assert (cancelled["status"], cancelled["files"]) == ("cancelled", [])
    assert (done["status"], done["files"]) == ("done", ["report.html", "results.csv"])
    assert kept
    assert rows(tmp_path / "jobs" / done["id"] / "run") == rows(whole)


def test_a_run_that_cannot_be_gone_on_with_is_refused_in_words_of_the_page(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    task = {"request": named().model_dump(), "folder": str(tmp_path)}

    with pytest.raises(ExperimentError, match="holds a run that differs") as refused:
        job._run_study(task)

    assert refused.value.hint.endswith("start the experiment again")


SERVER = """
import asyncio, sys
from pathlib import Path
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.records import StudyRequest
from separatrix.workbench.settings import Settings
from tests.workbench import fake_workers
from tests.workbench.hostile import NAMES

async def main():
    jobs = Jobs(Settings(folder=Path(sys.argv[1])), main=fake_workers.run_job)
    jobs.start()
    jobs.submit(StudyRequest(kind="named", name="splice", seed=fake_workers.HANG))
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_server_takes_its_job_along_and_the_next_one_goes_on_with_it(tmp_path):
    async def killed():
        words = [sys.executable, "-c", SERVER, str(tmp_path)]
        with subprocess.Popen(words, cwd=Path(__file__).parents[2]) as server:
            await until(lambda: any(tmp_path.glob("jobs/*/run/starts")))
            (starts,) = tmp_path.glob("jobs/*/run/starts")
            await until(lambda: starts.read_text().endswith("\n"))
            server.kill()
        await until(lambda: not alive(int(starts.read_text())))

    async def resumed():
        async with started(tmp_path) as jobs:
            (found,) = jobs.list_all()
            jobs.resume(found["id"])
            return found, await ended(jobs, found["id"])

    asyncio.run(killed())
    found, done = asyncio.run(resumed())

    assert (found["status"], done["status"]) == ("interrupted", "done")


@asynccontextmanager
async def client_of(jobs):
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register_error_handlers(app)
    app.include_router(router(jobs))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
        yield client


def uploaded(name, content):
    return {"name": name, "base64": base64.b64encode(content).decode()}


def test_an_upload_becomes_a_report_and_a_model_that_predicts(tmp_path):
    target = "-3"  # could be a position, and is a name

    async def scenario():
        async with started(tmp_path, main=job.main) as jobs, client_of(jobs) as client:
            kept = (
                await client.post("/api/uploads", json=uploaded(HOSTILE, iris_csv(target)))
            ).json()
            asked = {
                "kind": "file",
                "upload": kept["id"],
                "target": target,
                "models": ["lda", "knn"],
                "folds": 2,
            }
            number = (await client.post("/api/jobs", json=asked)).json()["id"]
            found = await ended(jobs, number)
            parts = {"Range": "bytes=nonsense"}
            files = {
                name: await client.get(f"/jobs/{number}/{name}", headers=parts)
                for name in found["files"]
            }
            await client.post(f"/api/jobs/{number}/delete", json={})
            return kept, found, files

    kept, found, files = asyncio.run(scenario())

    assert (kept["rows"], kept["target"], kept["name"]) == (150, target, HOSTILE)
    assert [column["kind"] for column in kept["columns"]] == ["number"] * 4 + ["category"]
    assert kept["columns"][0]["name"] == "length, sepal"
    assert kept["preview"][0] == ["5.1", "3.5", "1.4", "0.2", "a"]
    assert (found["status"], found["error"]) == ("done", None)
    assert found["model"]["title"] == "linear discriminant"
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
    assert np.mean(separatrix.load(path).predict(X) != np.array(list("abc"))[data.y]) < 0.05
    assert list((tmp_path / "uploads").iterdir()) == []
    assert shlex.split(found["command"].split("\nseparatrix tune")[0])[2] == HOSTILE
    assert "--target 4" in found["command"]
    compile(found["python"], "job", "exec")


def test_a_file_that_cannot_be_read_is_refused_with_the_readers_sentence_and_not_kept(tmp_path):
    content = b"a,b\n1,x\n2,y,z\n"

    async def scenario():
        async with started(tmp_path) as jobs, client_of(jobs) as client:
            return await client.post("/api/uploads", json=uploaded("../evil.csv", content))

    answer = asyncio.run(scenario())

    assert answer.status_code == 422
    message = "../evil.csv:3:5: found more than 2 cells, expected 2 as in the first row"
    assert answer.json()["error"]["message"] == message
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"a,b\n", b'"a', b"\xff\xff\xff\xff"])
def test_whatever_is_no_table_is_an_error_of_the_library(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)

    with pytest.raises(SeparatrixError):
        preview(str(path))


@pytest.mark.parametrize(
    ("ending", "content", "row"),
    [
        (".csv", b"a;b;class\n1,5;x;yes\n2;y;no\n", ["1,5", "x", "yes"]),
        (".csv", b"a,class\n" + b"9" * 200_000 + b",x\n1,y\n", ["9" * 200, "x"]),
        (".txt", b"ham\tsee you\nspam\tyou won\n", ["ham", "see you"]),
        (".svm", b"1 1:0.5 3:2\n-1 2:1\n", ["0.5", "0", "2", "1"]),
    ],
)
def test_a_preview_shows_the_first_rows_of_any_format(tmp_path, ending, content, row):
    path = tmp_path / f"data{ending}"
    path.write_bytes(content)

    found = preview(str(path))

    assert found["rows"] == 2
    assert found["preview"][0] == row
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_requests_that_make_no_sense_are_refused_with_a_sentence(tmp_path):
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

    async def scenario():
        async with started(tmp_path) as jobs, client_of(jobs) as client:
            return {
                asked: await client.request(asked[0], asked[1], content=asked[2])
                for asked in wanted
            }

    answers = asyncio.run(scenario())

    found = {
        asked: (answer.status_code, answer.json()["error"]["code"])
        for asked, answer in answers.items()
    }
    assert found == wanted


class Kept:
    """Stands in for a pipe: keeps the messages of a job."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        self.messages.append(message)


async def said(teller, connection, **progress):
    await until(lambda: {"kind": "progress", **progress} in connection.messages)


def test_progress_is_the_outermost_bar_and_says_what_is_going_on():
    async def scenario():
        connection = Kept()
        teller = job.ProgressReporter(connection, after=2)
        with heard_by(teller):
            with busy("reading"):
                await said(teller, connection, message="reading", done=0, total=1)
            with bar("compare", 2) as advance:
                with busy("first"), bar("first", 10) as fits:
                    fits()
                    with bar("steps of a solver", 1000) as steps:
                        steps()
                    await said(teller, connection, message="first (1 of 10)", done=0, total=4)
                advance()
                with busy("second"):
                    await said(teller, connection, message="second", done=1, total=4)
                advance()
            with busy("a closer look"), bar("steps of a solver", 1000):
                await said(teller, connection, message="a closer look", done=2, total=4)
            with busy("tuning"), busy("reading"):
                await said(teller, connection, message="tuning", done=3, total=4)
        return connection.messages

    messages = asyncio.run(scenario())

    assert all("solver" not in message["message"] for message in messages)


def test_comparisons_and_experiments_are_heard_of_by_the_names_of_their_parts(tmp_path):
    heard = []
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    experiment = prepare(QUICK, {"quick": True}).experiment
    finding = StepResult([Row("", "", "", "{}", 0, "", 0.0)])
    steps = [replace(step, run=lambda workshop: finding) for step in experiment.steps]

    with heard_by(lambda *said: heard.append(said)):
        compare({"near": KNeighborsClassifier(), "line": Perceptron()}, X, y, cv=2, repeats=1)
        run(replace(experiment, steps=steps), tmp_path, progress=False)

    outermost = [said[:3] for said in heard if said[3] == 0]
    assert outermost[:3] == [("compare", 0, 2), ("compare", 1, 2), ("compare", 2, 2)]
    assert outermost[3:] == [(QUICK, done, len(steps)) for done in range(len(steps) + 1)]
    inside = [said[0] for said in heard if said[3] == 1]
    assert inside == ["near", "line", *(step.name for step in steps)]


def test_the_experiments_say_whether_their_data_are_here(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    monkeypatch.setattr("separatrix.data.catalogue.cache_folder", lambda: tmp_path)

    async def scenario():
        async with started(tmp_path) as jobs, client_of(jobs) as client:
            return (await client.get("/api/experiments")).json()

    found = asyncio.run(scenario())

    named = {one["name"]: one for one in found["named"]}
    assert named["linear-classifiers"]["available"]
    assert named["linear-classifiers"]["hint"] == ""
    assert not named["mnist-all"]["available"]
    assert "separatrix data get mnist" in named["mnist-all"]["hint"]
    assert "promoters and mutag" in named["kernel-methods"]["hint"]
    assert found["models"][0] == {"key": "svm", "title": "SVM, Gaussian"}


def test_the_models_on_offer_are_those_of_a_comparison():
    assert {candidate.key: candidate.name for candidate in CANDIDATES} == MODELS


@pytest.mark.parametrize("name", [*NAMES, "-", "--help", "7", "-1", "auto", "iris"])
def test_names_of_files_and_columns_come_back_as_they_are_from_what_does_the_same(name):
    asked = FileRequest(kind="file", upload="0" * 16, target=name, models=["lda", "svm"])
    columns = [{"name": "other", "kind": "number"}, {"name": name, "kind": "category"}]
    upload = Upload(
        **{"id": asked.upload, "name": name, "ending": ".csv", "bytes": 1, "rows": 1},
        **{"columns": columns, "target": name, "notes": [], "preview": []},
    )
    where = {"file_name": upload.file_name, "column": upload.column(name)}
    best = BestModel(title="linear SVM", error=1.0)
    record = JobRecord(id=asked.upload, title="", request=asked, created=0.0, model=best, **where)

    words = shlex.split(command_of(record))
    given = compare_command.make_context("compare", words[2 : words.index("tune") - 1]).params
    calls = [node for node in ast.walk(ast.parse(python_of(record))) if isinstance(node, ast.Call)]
    (call,) = (call for call in calls if getattr(call.func, "id", "") == "compare_data")
    target = next(word.value for word in call.keywords if word.arg == "target")

    assert words[:2] == ["separatrix", "compare"]
    assert given["data"] == ast.literal_eval(call.args[0])
    assert given["data"].removeprefix("./") == name.removeprefix("./")
    assert given["target"] == ast.literal_eval(target)
    assert name_or_position(given["target"]) in (name, 1)
    assert given["models"] == "lda,svm"
    assert JobRecord.model_validate_json(record.model_dump_json()) == record


@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
def test_the_process_of_a_job_is_gone_after_the_jobs_were_stopped(tmp_path):
    async def scenario():
        async with started(tmp_path) as jobs:
            number = jobs.submit(named(fake_workers.HANG))["id"]
            process = await born(jobs, tmp_path, number)
            os.kill(process, signal.SIGINT)  # Ctrl-C reaches the whole group: the server decides
            await jobs.stop()
            return process

    assert not alive(asyncio.run(scenario()))


def test_a_job_can_be_ended_where_nothing_can_be_written(tmp_path, monkeypatch):
    async def scenario():
        async with started(tmp_path) as jobs:
            runs, waits = (jobs.submit(named(seed))["id"] for seed in (fake_workers.HANG, 0))
            await until(lambda: (jobs.get(runs)["progress"] or {}).get("message") == "a step")
            monkeypatch.setattr(job_store, "atomic_write", _full_disk)
            cancelled = jobs.cancel(runs)
            return cancelled, await ended(jobs, runs), await ended(jobs, waits)

    cancelled, *ends = asyncio.run(scenario())

    assert cancelled["status"] == "cancelled"
    assert [one["status"] for one in ends] == ["cancelled", "failed"]
    assert all("No space left" in one["error"]["message"] for one in ends)
    process = int((tmp_path / "jobs" / cancelled["id"] / "run" / "starts").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_jobs_stop_and_start_where_nothing_can_be_written(tmp_path, monkeypatch):
    async def scenario():
        jobs = Jobs(Settings(folder=tmp_path), main=fake_workers.run_job)
        jobs.start()
        number = jobs.submit(named(fake_workers.HANG))["id"]
        monkeypatch.setattr(job_store, "atomic_write", _full_disk)
        await jobs.stop()
        stopped = jobs.get(number)["status"]
        async with started(tmp_path) as again:
            return stopped, again.get(number)["status"]

    assert asyncio.run(scenario()) == ("interrupted", "interrupted")


def _full_disk(path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
