"""A process that has run a command once and forks a child for each trial, so that 500 kills are cheap."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

KILLED = -signal.SIGKILL


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str
    points: int  # calls that were counted, if it came to its end


class Nursery:
    """The process, seen from a trial. It has run the command of that name."""

    def __init__(self, name):
        self._name, self._process = name, None

    def run(self, task, log, *, disturb=None, kill_after=None):
        """Run a command in a child; its output goes into the folder `log`.

        `disturb` is what goes wrong, at which call, and under which folder: see `disturbances`.
        """
        asked = {"task": task, "log": str(log), "disturb": disturb, "kill_after": kill_after}
        Path(log).mkdir(parents=True, exist_ok=True)
        (Path(log) / "points").unlink(missing_ok=True)
        try:
            process = self._started()
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            status = int(process.stdout.readline())
        except BaseException:
            self.close()
            raise
        points = Path(log) / "points"
        texts = [(Path(log) / name).read_text() for name in ("out", "err")]
        return Ended(status, *texts, int(points.read_text()) if points.exists() else -1)

    def _started(self):
        if self._process is None:
            environment = {**os.environ, "MPLBACKEND": "Agg", "NO_COLOR": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.campaigns.nursery", self._name],
                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE},
                text=True,
                env=environment,
            )
        return self._process

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def main():
    """Fork a child for each line of standard input, and answer with its exit code."""
    from tests.campaigns import commands

    commands.warm(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _be_child(asked, commands.run)
        timer = None
        if asked["kill_after"] is not None:
            timer = threading.Timer(asked["kill_after"], os.kill, (child, signal.SIGKILL))
            timer.start()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if timer is not None:
            timer.cancel()
            timer.join()  # a process that forks has no other threads
        print(status, flush=True)


def _be_child(asked, run):
    from tests.campaigns.disturbances import MEMORY, Points, count_allocations, count_disk_calls

    log, status = Path(asked["log"]), 70
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(log / name, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o666)
        os.dup2(handle, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    plain_open = open
    points = None
    if asked["disturb"] is not None:
        what, at, root = asked["disturb"]
        points = Points(what, at)
        if what == MEMORY:
            count_allocations(points)
        else:
            count_disk_calls(points, root)
    try:
        status = run(asked["task"])
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if points is not None:
            with plain_open(log / "points", "w") as file:
                file.write(str(points.count))
        os._exit(status)


if __name__ == "__main__":
    main()
