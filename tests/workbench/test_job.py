import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.workbench.asynchronous import async_test, until
from tests.workbench.job_runs import QUICK, study_request

from separatrix import KNeighborsClassifier, LinearDiscriminantAnalysis, Perceptron, compare
from separatrix.app.runs import prepare
from separatrix.errors import ExperimentError
from separatrix.evaluation.statistics import interval
from separatrix.experiments.run import run
from separatrix.experiments.steps import Row, StepResult
from separatrix.runtime.progress import bar, busy, listen
from separatrix.workbench import job
from separatrix.workbench.job import Standings, StudyStandings
from separatrix.workbench.records import FileRequest


def test_a_run_that_cannot_be_resumed_is_refused_with_a_hint_for_the_page(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    task = {"request": study_request().model_dump(), "folder": str(tmp_path)}

    with pytest.raises(ExperimentError, match="holds a run that differs") as refused:
        job._run_study(task, job.ProgressReporter(MessageList(), after=1))

    assert refused.value.hint.endswith("start the experiment again")


@pytest.mark.slow
def test_a_model_that_fails_is_named_in_the_summary_of_a_comparison(tmp_path, monkeypatch):
    """The others are compared: who has asked for it would not miss it in the table else."""

    def fit(self, X, y, sample_weight=None):
        raise MemoryError("cannot allocate an array")

    monkeypatch.setattr(LinearDiscriminantAnalysis, "fit", fit)
    data = tmp_path / "flowers.csv"
    rows = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(40)]
    data.write_text("\n".join(["long,wide,kind", *rows]))
    request = FileRequest(
        kind="file", upload="1" * 16, target="kind", models=["knn", "lda"], folds=2
    )
    task = {"request": request.model_dump(), "folder": str(tmp_path / "run"), "path": str(data)}
    task |= {"file_name": data.name, "column": "kind"}

    found = job._compare_file(task, job.ProgressReporter(MessageList(), after=1))

    said = "linear discriminant failed, and is not compared: MemoryError: cannot allocate an array"
    assert said in found["summary"]


class MessageList:
    """Stands in for a channel: keeps the messages of a job."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        self.messages.append(message)


async def wait_for(channel, **progress):
    await until(lambda: {"kind": "progress", **progress} in channel.messages)


@async_test
async def test_progress_is_the_outermost_bar_with_the_label_of_the_inner_one():
    channel = MessageList()
    with listen(job.ProgressReporter(channel, after=2)):
        with busy("reading"):
            await wait_for(channel, message="reading", done=0, total=1)
        with bar("compare", 2) as advance:
            with busy("first"), bar("first", 10) as fits:
                fits()
                with bar("steps of a solver", 1000) as steps:
                    steps()
                await wait_for(channel, message="first (1 of 10)", done=0, total=4)
            advance()
            with busy("second"):
                await wait_for(channel, message="second", done=1, total=4)
            advance()
        with busy("a closer look"), bar("steps of a solver", 1000):
            await wait_for(channel, message="a closer look", done=2, total=4)
        with busy("tuning"), busy("reading"):
            await wait_for(channel, message="tuning", done=3, total=4)

    assert all("solver" not in message["message"] for message in channel.messages)


def test_comparisons_and_experiments_report_the_names_of_their_parts(tmp_path):
    heard = []
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
    experiment = prepare(QUICK, {"quick": True}).experiment
    finding = StepResult([Row("", "", "", "{}", 0, "", 0.0)])
    steps = [replace(step, run=lambda workshop: finding) for step in experiment.steps]

    with listen(lambda *said: heard.append(said)):
        compare({"near": KNeighborsClassifier(), "line": Perceptron()}, X, y, cv=2, repeats=1)
        run(replace(experiment, steps=steps), tmp_path, progress=False)

    outermost = [said[:3] for said in heard if said[3] == 0]
    assert outermost[:3] == [("compare", 0, 2), ("compare", 1, 2), ("compare", 2, 2)]
    assert outermost[3:] == [(QUICK, done, len(steps)) for done in range(len(steps) + 1)]
    inside = [said[0] for said in heard if said[3] == 1]
    assert inside == ["near", "line", *(step.name for step in steps)]


def test_models_that_are_finished_stand_in_a_table_with_what_the_best_confuses():
    sent = []
    X, y = np.arange(40.0)[:, None] % 13, np.repeat([0, 1], 20)
    models = {"near": KNeighborsClassifier(), "line": Perceptron(tol=None, max_iter=3)}

    whole = compare(models, X, y, cv=2, repeats=1, done=Standings(sent.append))

    assert [len(message["leaderboard"]) for message in sent] == [1, 2]
    last = sent[-1]
    assert [row["model"] for row in last["leaderboard"]] == [row["model"] for row in whole.rows()]
    for row, full in zip(last["leaderboard"], whole.rows(), strict=True):
        assert row["error"] == pytest.approx(full["test_error"], abs=1e-3)
        assert (row["low"], row["high"]) == pytest.approx((full["low"], full["high"]), abs=1e-3)
    best = whole.evaluations[whole.best]
    assert last["confusion"]["model"] == whole.best
    assert last["confusion"]["counts"] == best.counts().tolist()
    assert json.loads(json.dumps(last)) == last


def row(model, metric, value, split=0, parameters="{}", seconds=0.5, sizes=(80, 20)):
    return Row("", "digits", model, parameters, split, metric, value, seconds, math.nan, *sizes)


def test_a_study_fills_a_leaderboard_with_the_interval_of_its_splits():
    channel = MessageList()
    standings = StudyStandings(channel.send)

    standings([row("svm", "fold_error", 0.5)])
    standings(
        [row("svm", "test_error", 0.04, parameters='{"C": 1}'), row("knn", "test_error", 0.02)]
    )
    standings([row("svm", "chosen_error", 0.01), row("svm", "chosen_error", 0.03, split=1)])

    # both splits are of one step of half a second
    first, last = ([*message["leaderboard"]] for message in channel.messages)
    assert [one["model"] for one in first] == ["knn", "svm, C = 1"]
    low, high = (100 * end for end in interval([0.01, 0.03], ratio=0.25, rows=20, tested=40))
    assert low < 1
    assert high > 3
    assert last == [
        {"model": "svm", "error": 2.0, "low": round(low, 3), "high": round(high, 3), "seconds": 0.5}
    ]


def test_the_interval_of_a_study_is_that_of_a_comparison_of_the_same_splits():
    X, y = np.arange(40.0)[:, None] % 13, np.repeat([0, 1], 20)
    whole = compare({"near": KNeighborsClassifier()}, X, y, cv=4, repeats=1)
    (evaluation,) = whole.evaluations.values()
    rows = [
        row("knn", "test_error", error, number, sizes=(len(part.train), len(part.test)))
        for number, (error, part) in enumerate(
            zip(evaluation.test_error[0], evaluation.splits, strict=True)
        )
    ]
    channel = MessageList()

    StudyStandings(channel.send)(rows)

    (found,) = channel.messages[0]["leaderboard"]
    (expected,) = whole.rows()
    assert (found["low"], found["high"]) == pytest.approx(
        (expected["low"], expected["high"]), abs=1e-3
    )


def test_rows_without_sizes_have_no_interval():
    channel = MessageList()
    StudyStandings(channel.send)([row("a curve", "test_error", 0.5, sizes=(0, 0))])

    (found,) = channel.messages[0]["leaderboard"]
    assert (found["error"], found["low"], found["high"]) == (50.0, None, None)


def test_a_study_that_measures_accuracy_has_a_leaderboard_of_errors():
    channel = MessageList()
    StudyStandings(channel.send)([row("k-NN", "test_accuracy", 0.75, parameters='{"k": 3}')])

    (found,) = channel.messages[0]["leaderboard"]
    assert found == {
        "model": "k-NN, k = 3",
        "error": 25.0,
        "low": 11.186,  # Wilson, 5 of 20
        "high": 46.87,
        "seconds": 0.5,
    }
