"""What the process of a job runs: the experiment itself, and a word now and then about how far it is.

All that it makes is in the job's folder. Killed at any moment, the finished steps of a named experiment
are there, and the next process goes on after them; a comparison starts over.
"""

from __future__ import annotations

import csv
import json
import os
import time
import warnings
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.progress import busy, listen
from separatrix.workbench.dispatcher import refusal_of
from separatrix.workbench.limits import die_with_parent, limit_memory

if TYPE_CHECKING:
    from separatrix.evaluation.compare import Comparison

OFTEN = 0.1  # seconds between two messages
NICE = 5  # whoever draws meanwhile goes first
INTERNAL = "something went wrong inside the job; the terminal that runs the workbench shows it"


def main(connection: Connection, text: str) -> None:
    """The process of a job; `text` is JSON: `asked`, `folder`, `memory`, and of a file `path`,
    `called` and `column`.
    """
    die_with_parent()
    with suppress(AttributeError, OSError):
        os.nice(NICE)
    os.environ["MPLBACKEND"] = "Agg"
    warnings.simplefilter("ignore")  # what matters of them is counted in the report
    work = json.loads(text)
    teller = ProgressReporter(connection, after=1 if work["asked"]["kind"] == "named" else 2)
    try:
        import separatrix.app.runs  # noqa: F401  (imported before memory is counted)

        limit_memory(work["memory"])
        with listen(teller):
            found = (_named if work["asked"]["kind"] == "named" else _compared)(work)
    except Exception as error:
        said = refusal_of(error)
        message = said["message"].replace(work.get("path") or "\0", work.get("called") or "")
        teller.end({"kind": "failed", "message": message or INTERNAL, "hint": said["hint"]})
    else:
        teller.end({"kind": "done", **found})


class ProgressReporter:
    """Hears of bars, and tells the server of the outermost one, at most ten times a second.

    `after` is how many more things are done after that bar: each counts as a step too.
    """

    def __init__(self, connection: Connection, after: int) -> None:
        self._connection, self._after = connection, after
        self._total: int | None = None
        self._done = self._later = 0
        self._inner, self._counting = "", False
        self._latest: dict[str, Any] = {}
        self._changed, self._lock = Event(), Lock()
        Thread(target=self._tell, daemon=True).start()

    def __call__(self, label: str, done: int, total: int | None, depth: int) -> None:
        """A bar begins or goes on: see `listen`."""
        says = self._inner
        if depth == 0:
            self._outermost(label, done, total)
            says = self._inner
        elif self._counting and depth == 1:
            says = self._inner = label
        elif self._counting and label == self._inner:  # how far the one that is named there is
            says = f"{label} ({done} of {total})"
        else:
            return
        whole = 1 if self._total is None else self._total + self._after
        self._latest = {"says": says, "done": min(self._done, whole), "total": whole}
        self._changed.set()

    def _outermost(self, label: str, done: int, total: int | None) -> None:
        self._counting = total is not None
        if total is not None:
            self._done, self._total = done, total
            return
        self._inner = label
        if self._total is not None:
            self._done = self._total + self._later
            self._later += 1

    def end(self, message: dict[str, Any]) -> None:
        """The last message."""
        self._send(message)

    def _tell(self) -> None:
        while self._changed.wait():
            self._changed.clear()
            self._send({"kind": "progress", **self._latest})
            time.sleep(OFTEN)

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock, suppress(OSError):
            self._connection.send_bytes(json.dumps(message, allow_nan=False).encode())


def _named(work: dict[str, Any]) -> dict[str, Any]:
    from separatrix.app.runs import prepare
    from separatrix.errors import ExperimentError

    asked = work["asked"]
    quick = {"quick": True} if asked["quick"] else {}
    job = prepare(asked["name"], {"seed": asked["seed"], **quick})
    for name in job.experiment.data:
        _require_at_hand(name)
    try:
        _, _, words = job.run(Path(work["folder"]), progress=False)
    except ExperimentError as error:
        if "--fresh" in error.hint:  # of another version or a damaged file; no such option here
            error.hint = "what is there cannot be gone on with: start the experiment anew"
        raise
    return {"words": list(words), "model": None}


def _require_at_hand(name: str) -> None:
    """The workbench never downloads: that is for a person to decide."""
    from separatrix.data import catalogue
    from separatrix.errors import MissingDataError

    if name in catalogue.names() and catalogue.state(name) == catalogue.TO_DOWNLOAD:
        error = MissingDataError(f"the data set {name} is not on this machine")
        error.hint = f"get it with: separatrix data get {name}"
        raise error


def _compared(work: dict[str, Any]) -> dict[str, Any]:
    """The comparison and its page; then the best of it, tuned and fitted to all rows."""
    from separatrix.app.read_data import read_labelled
    from separatrix.app.runs import compare_data
    from separatrix.app.train_from_file import fit_file
    from separatrix.workbench.records import key_of

    asked, folder = work["asked"], Path(work["folder"])
    file = {"called": work["called"], "target": work["column"], "progress": False}
    seed = asked["seed"]
    comparison, _, notes = compare_data(
        work["path"],
        models=asked["models"] or None,
        cv=asked["folds"],
        seed=seed,
        out=folder,
        **file,
    )
    _write_leaderboard(comparison, folder / "results.csv")
    best = comparison.best
    key = key_of(best)
    with busy(f"tuning and fitting the best to all rows: {best}", show=False):
        data = read_labelled(work["path"], **file)
        fitted = fit_file(data, folder / "best.model", key=key, tune=True, seed=seed)
    first = comparison.rows()[0]
    chosen = ", ".join(f"{name} = {value}" for name, value in fitted.as_dict()["chosen"].items())
    title = f"{best[:1].upper()}{best[1:]}"
    words = [
        f"{title} makes the fewest mistakes: {first['test_error']:.2f} % of the test rows, over "
        f"{comparison.splits_in_words}; 95 % interval {first['low']:.1f} to {first['high']:.1f} %.",
        f"The model is tuned and fitted to all {fitted.samples} rows{chosen and ': '}{chosen}.",
    ]
    return {
        "words": [*words, *notes],
        "model": {
            "title": best,
            "error": float(comparison.evaluations[best].test_error.mean()) * 100,
        },
    }


def _write_leaderboard(comparison: Comparison, path: Path) -> None:
    """The table as CSV; what was chosen in each split as JSON in its cell."""
    rows = [{**row, "chosen": json.dumps(row["chosen"])} for row in comparison.rows()]
    with (
        atomic_write(path) as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
