"""Rooms that stand in for the real ones, and the process that they are in."""

import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from separatrix.errors import DataError
from separatrix.workbench import dispatcher as bench
from separatrix.workbench import limits
from separatrix.workbench.settings import Settings

HOMES = {"slow": "tests.workbench.rooms:Slow", "echo": "tests.workbench.rooms:Echo"}


def main(connection, text):
    """As `bench.main`, with these rooms."""
    bench.main(connection, text, HOMES)


def stillborn(connection, text):
    """A process that dies before it does anything; it leaves a mark each time."""
    folder = Settings.from_json(text).folder
    (folder / f"{os.getpid()}.born").touch()
    os._exit(7)


def swollen(connection, text):
    """A process that says it has compiled, and says so again after it was replaced."""
    bench.own_bytes, bench.has_compiled = lambda: 1 << 40, lambda: True
    main(connection, text)


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

    requests = frozenset(
        {"say", "keep", "hang", "die", "refuse", "take", "fail", "nan", "value", "packages"}
    )

    def __init__(self, settings):
        self._folder, self._chosen = Path(settings.folder), settings.chosen
        self._kept = None

    def work(self):
        return False

    def state(self):
        return {"kept": self._kept}

    def say(self, **words):
        return {**words, "process": os.getpid(), "chosen": self._chosen}

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

    def packages(self):
        found = {"loaded": "pandas" in sys.modules}
        try:
            importlib.import_module("pandas")
        except ImportError as error:
            found["said"] = str(error)
        return found

    def secret(self):
        return {"secret": True}


def job(connection, text):
    """Stands in for `job.main`: does what the seed of a named experiment says."""
    limits.die_with_parent()
    work = json.loads(text)
    folder = Path(work["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")

    def say(**said):
        connection.send_bytes(json.dumps(said).encode())

    say(kind="progress", says="a step", done=1, total=3)
    seed = work["asked"]["seed"]
    if seed == HANG and len((folder / "starts").read_text().split()) == 1:
        while True:
            time.sleep(60)
    if seed == DIE:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == FAIL:
        say(kind="failed", message="there is no such thing", hint="take another")
        return
    (folder / "report.html").write_text("<p>done</p>")
    say(kind="done", words=["it is so"], model=None)


HANG, DIE, FAIL = 1, 2, 3
