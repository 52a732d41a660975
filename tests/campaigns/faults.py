"""R10: the i-th call that touches the disk, or the i-th allocation, fails, for all i of small commands."""

import json
from pathlib import Path

from tests.campaigns.campaign import Campaign
from tests.campaigns.commands import tasks, workplace
from tests.campaigns.disturbances import ERRORS, MEMORY

FAILED = " failed, and is not compared: "  # in the summary of a job of the workbench


def disk(name):
    """Trial i fails at call i, first with ENOSPC and in the next round with EIO."""

    def trial(number):
        calls = workplace(name).points
        _disturb(name, list(ERRORS)[number // calls % len(ERRORS)], number % calls)

    return trial


def memory(name):
    """Trial i fails at allocation i."""

    def trial(number):
        _disturb(name, MEMORY, number % workplace(name).allocations)

    return trial


def _disturb(name, what, at):
    """The command says what failed in one line and leaves whole files; run again, it comes to its end."""
    place = workplace(name)
    out, task = place.begin()
    ended = place.run(task, disturb=[what, at, str(out)])
    if ended.status == 0:  # what failed was optional, or one of the models that are compared
        if failed := models_without_memory(out, ended.out):
            assert what == MEMORY, failed
            ended = place.run(task)
        place.require_result(out, ended)
        return
    said = [line for line in ended.err.splitlines() if line.startswith("Error: ")]
    assert ended.status == 1, f"exit code {ended.status}: {ended.err[-300:]}"
    assert len(said) == 1, ended.err[-300:]
    assert "Traceback" not in ended.err, ended.err[-300:]
    place.require_whole(out)
    assert not list(out.rglob("*.part")), "a partial file is left"
    place.require_result(out, place.run(task))


def models_without_memory(out, printed):
    """The models that a comparison says it could not fit, and why: it goes on with the others."""
    failed = json.loads(printed).get("failed", {}) if printed.startswith("{") else {}
    for record in out.rglob("job.json"):
        lines = [line.split(FAILED) for line in json.loads(record.read_text())["summary"]]
        failed |= {line[0]: line[1] for line in lines if len(line) == 2}
    assert all(reason.startswith("MemoryError: ") for reason in failed.values()), failed
    return failed


def parts():
    """Every command, by what fails."""
    names = [name for name in tasks(Path(), Path()) if name != "cluster run"]  # the files of run
    return {
        **{f"{name}, disk": disk(name) for name in names},
        **{f"{name}, memory": memory(name) for name in names},
    }


CAMPAIGN = Campaign(
    "R10 ENOSPC, EIO and MemoryError at the i-th write, fsync, rename or allocation of the same commands",
    parts,
    middle=1,
    seconds=300.0,
    quick=("fit, disk",),
    thorough=("tune, disk", "predict, memory"),
)
