"""What the process of a job runs: the experiment, and its progress to the server.

All output is in the folder of the job. The finished steps of a named experiment survive a kill at any
moment, and the next process resumes after them; a comparison starts over.
"""

from __future__ import annotations

import csv
import json
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.progress import busy, listen
from separatrix.workbench.local_data import require_local
from separatrix.workbench.worker import Channel, describe_error

if TYPE_CHECKING:
    from separatrix.evaluation.comparison import Comparison
    from separatrix.evaluation.result import Evaluation
    from separatrix.experiments.steps import Row

INTERVAL = 0.1  # seconds between two messages
MOST_CLASSES, LONGEST_LABEL = 12, 40  # of a confusion table that the page shows
TESTED = ("chosen_error", "test_error", "test_accuracy")  # a leaderboard shows the first there is
MOST_STANDINGS, LONGEST_NAME = 20, 120
NICE = 5  # Draw and Playground go first
INTERNAL = "something went wrong inside the job; the terminal of the workbench shows the error"


def main(channel: Channel, task: dict[str, Any]) -> None:
    """Run a job: `request`, `folder`, and for a file `path`, `file_name` and `column`."""
    with suppress(AttributeError, OSError):
        os.nice(NICE)
    os.environ["MPLBACKEND"] = "Agg"
    warnings.simplefilter("ignore")  # the report counts those that matter
    study = task["request"]["kind"] == "named"
    reporter = ProgressReporter(channel, after=1 if study else 2)
    try:
        with listen(reporter):
            outcome = (_run_study if study else _compare_file)(task, reporter)
    except Exception as error:
        found = describe_error(error)
        message = found["message"].replace(task.get("path") or "\0", task.get("file_name") or "")
        reporter.send({"kind": "failed", "message": message or INTERNAL, "hint": found["hint"]})
    else:
        reporter.send({"kind": "done", **outcome})


class ProgressReporter:
    """Listens to progress bars and sends the outermost one to the server, at most ten times a second.

    `after` is the number of steps that follow that bar; each counts as one step of the total.
    """

    def __init__(self, channel: Channel, after: int) -> None:
        self._channel, self._after = channel, after
        self._total: int | None = None
        self._done = self._later = 0
        self._inner, self._counting = "", False
        self._latest: dict[str, Any] = {}
        self._changed = Event()
        Thread(target=self._send_changes, daemon=True).start()

    def __call__(self, label: str, done: int, total: int | None, depth: int) -> None:
        """A bar begins or advances: see `listen`."""
        message = self._inner
        if depth == 0:
            self._outermost(label, done, total)
            message = self._inner
        elif self._counting and depth == 1:
            message = self._inner = label
        elif self._counting and label == self._inner:
            message = f"{label} ({done} of {total})"
        else:
            return
        steps = 1 if self._total is None else self._total + self._after
        self._latest = {"message": message, "done": min(self._done, steps), "total": steps}
        self._changed.set()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message unless the server is gone."""
        with suppress(OSError):
            self._channel.send(message)

    def _send_changes(self) -> None:
        while self._changed.wait():
            self._changed.clear()
            self.send({"kind": "progress", **self._latest})
            time.sleep(INTERVAL)

    def _outermost(self, label: str, done: int, total: int | None) -> None:
        self._counting = total is not None
        if total is not None:
            self._done, self._total = done, total
            return
        self._inner = label
        if self._total is not None:
            self._done = self._total + self._later
            self._later += 1


def _run_study(task: dict[str, Any], reporter: ProgressReporter) -> dict[str, Any]:
    from separatrix.app.runs import prepare
    from separatrix.errors import ExperimentError

    request = task["request"]
    quick = {"quick": True} if request["quick"] else {}
    job = prepare(request["name"], {"seed": request["seed"], **quick})
    for name in job.experiment.data:
        require_local(name)
    try:
        standings = StudyStandings(reporter.send)
        _, _, words = job.run(Path(task["folder"]), progress=False, found=standings)
    except ExperimentError as error:
        if "--fresh" in error.hint:  # an option that the page does not have
            error.hint = "it cannot be resumed: start the experiment again"
        raise
    return {"summary": list(words), "model": None}


def _compare_file(task: dict[str, Any], reporter: ProgressReporter) -> dict[str, Any]:
    """Compare the models and write the report; then tune the best one and fit it to all rows."""
    from separatrix.app.compare_file import compare_data
    from separatrix.app.read_data import read_labelled
    from separatrix.app.train_from_file import fit_file
    from separatrix.workbench.records import columns_by_role, key_of

    request, folder = task["request"], Path(task["folder"])
    file = {"called": task["file_name"], "target": task["column"], "progress": False}
    file |= columns_by_role(request["roles"])
    models, cv, seed = request["models"] or None, request["folds"], request["seed"]
    standings = Standings(reporter.send)
    how = {"models": models, "cv": cv, "seed": seed, "out": folder, "done": standings}
    comparison, _, notes = compare_data(task["path"], **how, **file)
    _write_leaderboard(comparison, folder / "results.csv")
    best = comparison.best
    with busy(f"tuning and fitting the best to all rows: {best}", show=False):
        data = read_labelled(task["path"], **file)
        fitted = fit_file(data, folder / "best.model", key=key_of(best), tune=True, seed=seed)
    first = comparison.rows()[0]
    chosen = ", ".join(f"{name} = {value}" for name, value in fitted.chosen.items())
    title = f"{best[:1].upper()}{best[1:]}"
    words = [
        f"{title} makes the fewest mistakes: {first['test_error']:.2f} % of the test rows, over "
        f"{comparison.splits_in_words}; 95 % interval {first['low']:.1f} to {first['high']:.1f} %.",
        f"The model is tuned and fitted to all {fitted.samples} rows{chosen and ': '}{chosen}.",
        *(f"{name} failed, and is not compared: {why}" for name, why in comparison.failed.items()),
    ]
    error = float(comparison.evaluations[best].test_error.mean()) * 100
    return {"summary": [*words, *notes], "model": {"title": best, "error": error}}


class Standings:
    """Sends the table of the models that are finished, and what the best one confuses."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._evaluations: dict[str, Evaluation] = {}

    def __call__(self, name: str, evaluation: Evaluation) -> None:
        """One more model is finished."""
        from separatrix.evaluation.comparison import Comparison

        self._evaluations[name] = evaluation
        comparison = Comparison(self._evaluations)
        rows = [
            {
                "model": row["model"],
                "error": round(row["test_error"], 3),
                "low": round(row["low"], 3),
                "high": round(row["high"], 3),
                "seconds": round(row["seconds"], 3),
            }
            for row in comparison.rows()
        ]
        best = self._evaluations[comparison.best]
        confusion = None
        if len(best.classes) <= MOST_CLASSES:
            labels = [str(label)[:LONGEST_LABEL] for label in best.classes.tolist()]
            confusion = {"classes": labels, "counts": best.counts().tolist()}
            confusion |= {"model": comparison.best}
        self._send({"kind": "standings", "leaderboard": rows, "confusion": confusion})


class StudyStandings:
    """Sends what a study has tested so far: mean errors with the interval that reports give them.

    If folds choose parameters, the errors of those chosen are shown, else those of every model tested.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._tested: dict[str, dict[str, list[Row]]] = {metric: {} for metric in TESTED}
        self._seconds: dict[str, float] = {}  # of the steps that tested it, each once

    def __call__(self, rows: list[Row]) -> None:
        """The rows of one more step."""
        tested = [row for row in rows if row.metric in TESTED]
        for row in tested:
            self._tested[row.metric].setdefault(_name(row), []).append(row)
        for name in {_name(row) for row in tested}:
            took = [row.seconds for row in tested if _name(row) == name and row.seconds > 0]
            self._seconds[name] = self._seconds.get(name, 0.0) + max(took, default=0.0)
        if tested:
            table = next(self._tested[metric] for metric in TESTED if self._tested[metric])
            lines = [_leaderboard_row(name, table[name], self._seconds[name]) for name in table]
            best = sorted(lines, key=lambda row: row["error"])
            shown = {"leaderboard": best[:MOST_STANDINGS], "confusion": None}
            self._send({"kind": "standings", **shown})


def _name(row: Row) -> str:
    """What was tested, with its parameters unless folds chose them."""
    known = {} if row.metric == "chosen_error" else json.loads(row.parameters)
    words = [row.part, row.model, *(f"{name} = {value}" for name, value in known.items())]
    return ", ".join(dict.fromkeys(filter(None, words)))


def _leaderboard_row(name: str, rows: list[Row], seconds: float) -> dict[str, Any]:
    """A line of the leaderboard, in per cent; without an interval if the sizes are not known."""
    from separatrix.evaluation.statistics import interval

    errors = [1.0 - row.value if row.metric == "test_accuracy" else row.value for row in rows]
    low, high = None, None
    if all(row.train_rows and row.test_rows for row in rows):
        ratio = sum(row.test_rows / row.train_rows for row in rows) / len(rows)
        total = sum(row.test_rows for row in rows)
        different = min(total, max(row.train_rows + row.test_rows for row in rows))
        ends = interval(errors, ratio, round(total / len(rows)), different)
        low, high = (round(100.0 * end, 3) for end in ends)
    return {
        "model": name[:LONGEST_NAME],
        "error": round(100.0 * sum(errors) / len(errors), 3),
        "low": low,
        "high": high,
        "seconds": round(seconds, 3),
    }


def _write_leaderboard(comparison: Comparison, path: Path) -> None:
    """Write the table as CSV; the parameters chosen in each split are a JSON cell."""
    rows = [{**row, "chosen": json.dumps(row["chosen"])} for row in comparison.rows()]
    with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
