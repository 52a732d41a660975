import asyncio
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
from tests.workbench.job_runs import QUICK, start_jobs, study_request, until, wait_until_ended

from separatrix.app.runs import prepare
from separatrix.experiments.run import run
from separatrix.workbench import job, job_store
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.replies import RequestError
from separatrix.workbench.settings import Settings


@pytest.mark.slow
def test_jobs_run_one_after_another_in_order(tmp_path):
    async def scenario():
        async with start_jobs(tmp_path) as jobs:
            numbers = [jobs.submit(study_request(seed))["id"] for seed in (fake_workers.HANG, 0, 0)]
            await until(lambda: (jobs.get(numbers[0])["progress"] or {}).get("message") == "a step")
            before = [jobs.get(number)["status"] for number in numbers]
            await jobs.cancel(numbers[0])
            after = [await wait_until_ended(jobs, number) for number in numbers]
            return before, after, [one["id"] for one in jobs.list_all()], numbers

    before, after, listed, numbers = asyncio.run(scenario())

    assert before == ["running", "queued", "queued"]
    assert [one["status"] for one in after] == ["cancelled", "done", "done"]
    assert after[1]["finished"] <= after[2]["started"]
    assert after[1]["summary"] == ["it is so"]
    assert after[1]["files"] == ["report.html"]
    assert listed == numbers[::-1]


@pytest.mark.slow
def test_the_outcome_of_a_job_survives_a_restart(tmp_path):
    async def first():
        async with start_jobs(tmp_path) as jobs:
            done = await wait_until_ended(jobs, jobs.submit(study_request())["id"])
            failed = await wait_until_ended(
                jobs, jobs.submit(study_request(fake_workers.FAIL))["id"]
            )
            died = await wait_until_ended(jobs, jobs.submit(study_request(fake_workers.DIE))["id"])
            running = jobs.submit(study_request(fake_workers.HANG))
            queued = jobs.submit(study_request())
            await until(lambda: jobs.get(running["id"])["progress"]["message"] == "a step")
            return [done, failed, died, jobs.get(running["id"]), queued]

    async def second(before):
        async with start_jobs(tmp_path) as jobs:
            now = [jobs.get(one["id"]) for one in before]
            await jobs.resume(now[3]["id"])
            return now, await wait_until_ended(jobs, now[3]["id"])

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


def test_a_job_that_exceeds_its_time_limit_is_ended_and_can_be_resumed(tmp_path):
    async def scenario():
        async with start_jobs(tmp_path, time_limit=0.2) as jobs:
            number = jobs.submit(study_request(fake_workers.HANG))["id"]
            failed = await wait_until_ended(jobs, number)
            await until(lambda: jobs._run is None)
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


def test_only_ended_jobs_are_deleted_with_their_folders(tmp_path):
    async def scenario():
        async with start_jobs(tmp_path) as jobs:
            number = jobs.submit(study_request(fake_workers.HANG))["id"]
            await born(jobs, tmp_path, number)
            with pytest.raises(RequestError) as busy:
                await jobs.delete(number)
            await jobs.cancel(number)
            await until(lambda: jobs._run is None)
            await jobs.delete(number)
            with pytest.raises(RequestError) as missing:
                jobs.get(number)
            return busy.value, missing.value

    busy, missing = asyncio.run(scenario())

    assert (busy.status, busy.code) == (409, "busy")
    assert (missing.status, missing.code) == (404, "missing")
    assert list((tmp_path / "jobs").iterdir()) == []


def test_other_files_in_the_folder_are_ignored_and_left_alone(tmp_path):
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
        async with start_jobs(tmp_path) as jobs:
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


@pytest.mark.slow
def test_a_cancelled_and_resumed_job_ends_with_the_same_table(tmp_path):
    whole = tmp_path / "whole"
    run(prepare(QUICK, {"quick": True, "seed": 0}).experiment, whole, progress=False)

    async def scenario():
        async with start_jobs(tmp_path, main=job.main) as jobs:
            number = jobs.submit(study_request())["id"]
            step = tmp_path / "jobs" / number / "run" / "steps" / "000.step"
            await until(step.exists)
            written = step.stat().st_mtime_ns
            cancelled = await jobs.cancel(number)
            await until(lambda: jobs._run is None)
            await jobs.resume(number)
            return (
                cancelled,
                await wait_until_ended(jobs, number),
                step.stat().st_mtime_ns == written,
            )

    cancelled, done, kept = asyncio.run(scenario())

    assert (cancelled["status"], cancelled["files"]) == ("cancelled", [])
    assert (done["status"], done["files"]) == ("done", ["report.html", "results.csv"])
    assert kept
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
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_killed_server_ends_its_job_and_the_next_server_resumes_it(tmp_path):
    async def killed():
        words = [sys.executable, "-c", SERVER, str(tmp_path)]
        with subprocess.Popen(words, cwd=Path(__file__).parents[2]) as server:
            await until(lambda: any(tmp_path.glob("jobs/*/run/starts")))
            (starts,) = tmp_path.glob("jobs/*/run/starts")
            await until(lambda: starts.read_text().endswith("\n"))
            server.kill()
        await until(lambda: not alive(int(starts.read_text())))

    async def resumed():
        async with start_jobs(tmp_path) as jobs:
            (found,) = jobs.list_all()
            await jobs.resume(found["id"])
            return found, await wait_until_ended(jobs, found["id"])

    asyncio.run(killed())
    found, done = asyncio.run(resumed())

    assert (found["status"], done["status"]) == ("interrupted", "done")


@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
def test_stopping_ends_the_process_of_a_job(tmp_path):
    async def scenario():
        async with start_jobs(tmp_path) as jobs:
            number = jobs.submit(study_request(fake_workers.HANG))["id"]
            process = await born(jobs, tmp_path, number)
            os.kill(process, signal.SIGINT)  # Ctrl-C reaches the whole group: the server decides
            await jobs.stop()
            return process

    assert not alive(asyncio.run(scenario()))


def test_a_job_can_be_ended_on_a_full_disk(tmp_path, monkeypatch):
    async def scenario():
        async with start_jobs(tmp_path) as jobs:
            runs, waits = (
                jobs.submit(study_request(seed))["id"] for seed in (fake_workers.HANG, 0)
            )
            await until(lambda: (jobs.get(runs)["progress"] or {}).get("message") == "a step")
            monkeypatch.setattr(job_store, "atomic_write", _full_disk)
            cancelled = await jobs.cancel(runs)
            return (
                cancelled,
                await wait_until_ended(jobs, runs),
                await wait_until_ended(jobs, waits),
            )

    cancelled, *ends = asyncio.run(scenario())

    assert cancelled["status"] == "cancelled"
    assert [one["status"] for one in ends] == ["cancelled", "failed"]
    assert all("No space left" in one["error"]["message"] for one in ends)
    process = int((tmp_path / "jobs" / cancelled["id"] / "run" / "starts").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_jobs_stop_and_start_on_a_full_disk(tmp_path, monkeypatch):
    async def scenario():
        jobs = Jobs(Settings(folder=tmp_path), main=fake_workers.run_job)
        jobs.start()
        number = jobs.submit(study_request(fake_workers.HANG))["id"]
        monkeypatch.setattr(job_store, "atomic_write", _full_disk)
        await jobs.stop()
        stopped = jobs.get(number)["status"]
        async with start_jobs(tmp_path) as again:
            return stopped, again.get(number)["status"]

    assert asyncio.run(scenario()) == ("interrupted", "interrupted")


def _full_disk(path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
