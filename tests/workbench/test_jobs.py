import csv
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workbench import fake_workers
from tests.workbench.asynchronous import async_test, until
from tests.workbench.job_runs import QUICK, start_jobs, study_request, wait_until_ended

from separatrix.app.runs import prepare
from separatrix.experiments.run import run
from separatrix.web.request_error import RequestError
from separatrix.workbench import job, job_store
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.settings import Settings


async def wait_for_step(jobs, number):
    await until(lambda: (jobs.get(number)["progress"] or {}).get("message") == "a step")


@pytest.mark.slow
@async_test
async def test_jobs_run_one_after_another_in_order(tmp_path):
    async with start_jobs(tmp_path) as jobs:
        numbers = [jobs.submit(study_request(seed))["id"] for seed in (fake_workers.HANG, 0, 0)]
        await wait_for_step(jobs, numbers[0])
        before = [jobs.get(number)["status"] for number in numbers]
        await jobs.cancel(numbers[0])
        after = [await wait_until_ended(jobs, number) for number in numbers]
        listed = [one["id"] for one in jobs.list_all()]

    assert before == ["running", "queued", "queued"]
    assert [one["status"] for one in after] == ["cancelled", "done", "done"]
    assert after[1]["finished"] <= after[2]["started"]
    assert after[1]["summary"] == ["it is so"]
    assert after[1]["files"] == ["report.html"]
    assert listed == numbers[::-1]


@pytest.mark.slow
@async_test
async def test_the_outcome_of_a_job_survives_a_restart(tmp_path):
    async with start_jobs(tmp_path) as jobs:
        before = [
            await wait_until_ended(jobs, jobs.submit(study_request(seed))["id"])
            for seed in (0, fake_workers.FAIL, fake_workers.DIE)
        ]
        before += [jobs.submit(study_request(seed)) for seed in (fake_workers.HANG, 0)]
        await wait_for_step(jobs, before[3]["id"])

    async with start_jobs(tmp_path) as jobs:
        now = [jobs.get(one["id"]) for one in before]
        await jobs.resume(now[3]["id"])
        resumed = await wait_until_ended(jobs, now[3]["id"])

    statuses = [one["status"] for one in now]
    assert statuses == ["done", "failed", "failed", "interrupted", "interrupted"]
    assert now[:3] == before[:3]
    assert now[1]["error"] == {"message": "there is no such thing", "hint": "take another"}
    assert "memory" in now[2]["error"]["message"]
    assert resumed["status"] == "done"


@async_test
async def test_a_job_that_exceeds_its_time_limit_is_ended_and_can_be_resumed(tmp_path):
    async with start_jobs(tmp_path, time_limit=0.2) as jobs:
        number = jobs.submit(study_request(fake_workers.HANG))["id"]
        failed = await wait_until_ended(jobs, number)
        await until(lambda: jobs._run is None)

    assert failed["status"] == "failed"
    assert "longer than" in failed["error"]["message"]
    assert "resume" in failed["error"]["hint"]


async def started_process(folder, number="*"):
    """The identifier of a job's process, once that has started."""
    pattern = f"jobs/{number}/run/starts"
    await until(lambda: any(path.read_text().endswith("\n") for path in folder.glob(pattern)))
    return int(next(folder.glob(pattern)).read_text().split()[-1])


def is_alive(process):
    """Whether a process still runs; one that waits to be collected does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@async_test
async def test_only_ended_jobs_are_deleted_with_their_folders(tmp_path):
    async with start_jobs(tmp_path) as jobs:
        number = jobs.submit(study_request(fake_workers.HANG))["id"]
        await started_process(tmp_path, number)
        with pytest.raises(RequestError) as busy:
            await jobs.delete(number)
        await jobs.cancel(number)
        await until(lambda: jobs._run is None)
        await jobs.delete(number)
        with pytest.raises(RequestError) as missing:
            jobs.get(number)

    assert (busy.value.status, busy.value.code) == (409, "busy")
    assert (missing.value.status, missing.value.code) == (404, "missing")
    assert list((tmp_path / "jobs").iterdir()) == []


@async_test
async def test_other_files_in_the_folder_are_ignored_and_left_alone(tmp_path):
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

    async with start_jobs(tmp_path) as jobs:
        assert jobs.list_all() == []
    for name, content in garbage.items():
        assert (tmp_path / "jobs" / name / "job.json").read_bytes() == content


def rows(folder):
    """The table of a run without what no two runs agree on."""
    with (folder / "results.csv").open(newline="") as file:
        return [
            {name: cell for name, cell in row.items() if name not in ("seconds", "memory")}
            for row in csv.DictReader(file)
        ]


@pytest.mark.slow
@async_test
async def test_a_cancelled_and_resumed_job_ends_with_the_same_table(tmp_path):
    whole = tmp_path / "whole"
    run(prepare(QUICK, {"quick": True, "seed": 0}).experiment, whole, progress=False)

    async with start_jobs(tmp_path, main=job.main) as jobs:
        number = jobs.submit(study_request())["id"]
        step = tmp_path / "jobs" / number / "run" / "steps" / "000.step"
        await until(step.exists)
        written = step.stat().st_mtime_ns
        cancelled = await jobs.cancel(number)
        await until(lambda: jobs._run is None)
        await jobs.resume(number)
        done = await wait_until_ended(jobs, number)

    assert (cancelled["status"], cancelled["files"]) == ("cancelled", [])
    assert (done["status"], done["files"]) == ("done", ["report.html", "results.csv"])
    assert step.stat().st_mtime_ns == written
    assert rows(tmp_path / "jobs" / done["id"] / "run") == rows(whole)


SERVER = """
import asyncio, sys
from pathlib import Path
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.records import StudyRequest
from separatrix.workbench.settings import Settings
from tests.workbench import fake_workers

async def main():
    jobs = Jobs(Settings(folder=Path(sys.argv[1])), main=fake_workers.run_job)
    jobs.start()
    jobs.submit(StudyRequest(kind="named", name="splice", seed=fake_workers.HANG))
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@async_test
async def test_a_killed_server_ends_its_job_and_the_next_server_resumes_it(tmp_path):
    words = [sys.executable, "-c", SERVER, str(tmp_path)]
    with subprocess.Popen(words, cwd=Path(__file__).parents[2]) as server:
        process = await started_process(tmp_path)
        server.kill()
    await until(lambda: not is_alive(process))

    async with start_jobs(tmp_path) as jobs:
        (found,) = jobs.list_all()
        await jobs.resume(found["id"])
        done = await wait_until_ended(jobs, found["id"])

    assert (found["status"], done["status"]) == ("interrupted", "done")


@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
@async_test
async def test_stopping_ends_the_process_of_a_job(tmp_path):
    async with start_jobs(tmp_path) as jobs:
        jobs.submit(study_request(fake_workers.HANG))
        process = await started_process(tmp_path)
        os.kill(process, signal.SIGINT)  # Ctrl-C reaches the whole group: the server decides
        await jobs.stop()
        assert not is_alive(process)


@async_test
async def test_a_job_can_be_ended_on_a_full_disk(tmp_path, monkeypatch):
    async with start_jobs(tmp_path) as jobs:
        first, second = (jobs.submit(study_request(seed))["id"] for seed in (fake_workers.HANG, 0))
        await wait_for_step(jobs, first)
        process = await started_process(tmp_path, first)
        monkeypatch.setattr(job_store, "atomic_write", _full_disk)
        assert (await jobs.cancel(first))["status"] == "cancelled"
        ends = [await wait_until_ended(jobs, number) for number in (first, second)]

    assert [one["status"] for one in ends] == ["cancelled", "failed"]
    assert all("No space left" in one["error"]["message"] for one in ends)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@async_test
async def test_jobs_stop_and_start_on_a_full_disk(tmp_path, monkeypatch):
    jobs = Jobs(Settings(folder=tmp_path), main=fake_workers.run_job)
    jobs.start()
    number = jobs.submit(study_request(fake_workers.HANG))["id"]
    monkeypatch.setattr(job_store, "atomic_write", _full_disk)
    await jobs.stop()
    assert jobs.get(number)["status"] == "interrupted"
    async with start_jobs(tmp_path) as again:
        assert again.get(number)["status"] == "interrupted"


def _full_disk(path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
