"""Processes and services that stand in for the real ones."""

import os
import signal
import time
from pathlib import Path

from separatrix.errors import DataError
from separatrix.workbench import dispatcher

SERVICES = {
    "slow": "tests.workbench.fake_workers:Slow",
    "echo": "tests.workbench.fake_workers:Echo",
}
HANG, DIE, FAIL = 1, 2, 3  # seeds of `run_job`


def main(channel, settings):
    """As `dispatcher.main`, with these services."""
    dispatcher.main(channel, settings, SERVICES)


def die_at_once(channel, settings):
    """A process that dies before it does anything; it leaves a file each time."""
    (settings.folder / f"{os.getpid()}.born").touch()
    os._exit(7)


class Slow:
    """Three steps of background work."""

    requests = frozenset({"state"})

    def __init__(self, settings):
        self._done = 0

    def work(self):
        self._done = min(self._done + 1, 3)
        return self._done < 3

    def state(self):
        return {"done": self._done, "process": os.getpid()}


class Echo:
    """Answers, and everything that can go wrong."""

    requests = frozenset({"echo", "keep", "hang", "die", "refuse", "take", "fail", "nan", "value"})

    def __init__(self, settings):
        self._folder, self._chosen = Path(settings.folder), settings.chosen
        self._kept = None

    def work(self):
        return False

    def state(self):
        return {"kept": self._kept}

    def echo(self, **values):
        return {**values, "process": os.getpid(), "chosen": self._chosen}

    def keep(self, what):
        self._kept = what
        return {}

    def hang(self, mark):
        (self._folder / mark).touch()
        while True:
            time.sleep(60)

    def die(self, number):
        os.kill(os.getpid(), getattr(signal, number))

    def refuse(self):
        error = DataError("this cannot be used")
        error.hint = "use that"
        raise error

    def value(self):
        raise ValueError("k is too large")

    def take(self, megabytes):
        return {"bytes": len(bytearray(megabytes * 2**20))}

    def fail(self):
        raise KeyError("a mistake of ours")

    def nan(self):
        return {"x": float("nan")}

    def secret(self):
        return {"secret": True}


def run_job(channel, task):
    """Stands in for `job.main`: does what the seed of a named experiment says."""
    folder = Path(task["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    channel.send({"kind": "progress", "message": "a step", "done": 1, "total": 3})
    seed = task["request"]["seed"]
    if seed == HANG and len((folder / "starts").read_text().split()) == 1:
        while True:
            time.sleep(60)
    if seed == DIE:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == FAIL:
        channel.send(
            {"kind": "failed", "message": "there is no such thing", "hint": "take another"}
        )
        return
    (folder / "report.html").write_text("<p>done</p>")
    channel.send({"kind": "done", "summary": ["it is so"], "model": None})
