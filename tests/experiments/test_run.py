import csv
import json
import os
import shutil
import subprocess
import time
from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.kills import (
    SMALL,
    killed_once_begun,
    killed_until_done,
    read_results,
    run_command,
    table,
)

from separatrix.data.dataset import Dataset
from separatrix.errors import ExperimentError, ParameterError
from separatrix.experiments.run import run
from separatrix.experiments.steps import ALL_SPLITS, Experiment, Row, Step, StepResult, params_json
from separatrix.report.page import render
from separatrix.studies import usps
from separatrix.studies.catalogue import page_of


def row(name, value, **parameters):
    return Row("part", "toy", name, params_json(**parameters), ALL_SPLITS, "metric", value)


def toy(steps, options=None):
    def load(_name):
        return Dataset("toy", np.eye(2), np.array([0, 1]))

    return Experiment("toy", "A toy", options or {"seed": 0}, ("toy",), steps, load)


ONLY = Step("only", lambda _: StepResult([row("a", 1.0)]))


def test_steps_run_in_order_and_see_what_was_found_before(tmp_path):
    def second(context):
        assert context.result("first").rows[0].value == 1.5
        return StepResult([row("b", context.result("first").arrays["a"].sum())])

    first = Step("first", lambda _: StepResult([row("a", 1.5)], {"a": np.arange(4.0)}))
    results = run(toy([first, Step("second", second)]), tmp_path)
    assert results.values(model="b").tolist() == [6.0]
    assert results.arrays["first"]["a"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_what_is_done_is_not_done_again(tmp_path):
    count = []

    def step(_context):
        count.append(1)
        return StepResult([row("a", float("nan")), row("b", float("inf"))], {"a": np.arange(3)})

    experiment = toy([Step("only", step)])
    first, again = run(experiment, tmp_path), run(experiment, tmp_path)
    assert len(count) == 1
    assert str(first.rows) == str(again.rows)  # times too: they are those of the first run
    assert again.arrays["only"]["a"].dtype == np.arange(3).dtype


def test_a_step_that_failed_is_done_again_and_those_before_are_not(tmp_path):
    done, broken = [], [True]

    def fails(_context):
        if broken:
            raise RuntimeError("no")
        return StepResult([row("b", 2.0)])

    def works(_context):
        done.append(1)
        return StepResult([row("a", 1.0)])

    experiment = toy([Step("works", works), Step("fails", fails)])
    with pytest.raises(RuntimeError):
        run(experiment, tmp_path)
    assert not (tmp_path / "results.csv").exists()
    broken.clear()
    assert [r.value for r in run(experiment, tmp_path).rows] == [1.0, 2.0]
    assert done == [1]


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_answer_is_found_out_and_made_again(tmp_path, damage):
    experiment = toy([ONLY])
    run(experiment, tmp_path)
    kept = next((tmp_path / "steps").iterdir())
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    assert run(experiment, tmp_path).values().tolist() == [1.0]
    assert len(kept.read_bytes()) > 100


def test_a_folder_of_another_experiment_is_refused_and_left_alone(tmp_path):
    run(toy([ONLY], {"seed": 0}), tmp_path)
    before = (tmp_path / "results.csv").read_bytes()
    with pytest.raises(ExperimentError, match="differs in its options") as caught:
        run(toy([ONLY], {"seed": 1}), tmp_path)
    assert "--fresh" in caught.value.hint
    assert (tmp_path / "results.csv").read_bytes() == before
    assert run(toy([ONLY], {"seed": 1}), tmp_path, fresh=True).options["seed"] == 1


@pytest.mark.parametrize("text", ["{", "[]", "3", "[" * 100_000])
def test_a_run_file_that_cannot_be_read_is_refused(tmp_path, text):
    run(toy([ONLY]), tmp_path)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(ExperimentError, match="holds a run that differs"):
        run(toy([ONLY]), tmp_path)


def test_an_answer_of_another_run_or_step_is_not_taken_for_this_one(tmp_path):
    def steps(value):
        return [Step(name, lambda _: StepResult([row("a", value)])) for name in ("one", "two")]

    run(toy(steps(1.0), {"seed": 0}), tmp_path / "a")
    run(toy(steps(2.0), {"seed": 1}), tmp_path / "b")
    first, second = sorted((tmp_path / "a" / "steps").iterdir())
    shutil.copy(first, tmp_path / "b" / "steps")  # of the same name, in another run
    shutil.copy(first, second)
    again = run(toy(steps(2.0), {"seed": 1}), tmp_path / "b")
    assert again.values().tolist() == [2.0, 2.0]
    made = []
    run(toy(steps(1.0), {"seed": 0}), tmp_path / "a", done=lambda *told: made.append(told))
    assert made == [("one", True), ("two", False)]


def test_a_run_whose_folder_was_taken_over_writes_no_table(tmp_path):
    def other(_context):
        run(toy([Step("only", lambda _: StepResult([row("b", 2.0)]))]), tmp_path, fresh=True)
        return StepResult([row("a", 1.0)])

    with pytest.raises(ExperimentError, match="another run took"):
        run(toy([Step("slow", other)], {"seed": 1}), tmp_path)
    assert [one["value"] for one in read_results(tmp_path)] == [2.0]


def test_a_fresh_start_leaves_no_old_table_behind(tmp_path):
    def fails(_context):
        raise RuntimeError("no")

    run(toy([ONLY]), tmp_path)
    with pytest.raises(RuntimeError):
        run(toy([Step("only", fails)], {"seed": 1}), tmp_path, fresh=True)
    assert not list(tmp_path.glob("results.*"))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_table_holds_is_refused_before_anything_runs(seed):
    with pytest.raises(ParameterError, match=f"`seed` of toy must be .*; got {seed}"):
        toy([Step("only", lambda _: StepResult([]))], {"seed": seed})


def test_two_steps_of_one_name_are_refused():
    step = Step("only", lambda _: StepResult([]))
    with pytest.raises(ExperimentError, match="one name each"):
        toy([step, step])


def test_the_table_has_what_is_needed_to_run_it_again(tmp_path):
    run(toy([Step("only", lambda _: StepResult([row("a", 0.25, C=1)]))]), tmp_path)
    (found,) = read_results(tmp_path)
    assert found["seed"] == 0
    assert found["threads"] >= 1
    assert len(found["data_sha256"]) == 64
    assert {"python", "numpy", "scikit_learn", "separatrix", "seconds", "memory"} <= set(found)
    with open(tmp_path / "results.csv", newline="") as file:
        (in_words,) = csv.DictReader(file)
    assert set(in_words) == set(found)
    assert float(in_words["value"]) == found["value"] == 0.25
    assert json.loads(in_words["parameters"]) == {"C": 1}


@pytest.mark.slow
def test_killed_at_random_moments_it_resumes_to_the_same_table(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    begun = time.perf_counter()
    subprocess.run(run_command(tmp_path / "small.toml", tmp_path / "whole"), check=True)
    took = time.perf_counter() - begun
    killed_once_begun(tmp_path / "small.toml", tmp_path / "killed")
    assert not (tmp_path / "killed" / "results.csv").exists()
    rng = np.random.default_rng(3)  # whose first moments are early ones
    killed_until_done(
        tmp_path / "small.toml", tmp_path / "killed", rng, 1.3 * took, earliest=0.5 * took
    )
    assert table(tmp_path / "whole") == table(tmp_path / "killed")
    assert not list((tmp_path / "killed").glob("*.part"))


@pytest.mark.long
def test_thirty_kills_give_thirty_tables_that_are_the_same(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    begun = time.perf_counter()
    subprocess.run(run_command(tmp_path / "small.toml", tmp_path / "whole"), check=True)
    took = time.perf_counter() - begun
    whole = table(tmp_path / "whole")
    rng = np.random.default_rng(1)
    kills, tables = 0, 0
    while kills < 30 or tables < 30:
        out = tmp_path / f"killed-{tables}"
        kills += killed_until_done(tmp_path / "small.toml", out, rng, 1.2 * took)
        assert table(out) == whole
        tables += 1


def test_what_a_killed_run_left_half_written_is_swept_up(tmp_path):
    experiment = toy([ONLY])
    run(experiment, tmp_path)
    old, new = tmp_path / "steps" / ".0a.part", tmp_path / ".0b.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    os.utime(new, (2**32, 2**32))
    run(experiment, tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.slow
def test_labels_of_words_are_kept_too(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["one", "two"], 30)
    data = Dataset("words", rng.normal(size=(60, 4)) + 2 * (y == "two")[:, None], y)
    made = replace(usps.experiment(quick=True, data="words", repeats=2), load=lambda _name: data)
    found = run(made, tmp_path)
    assert "two" in render(page_of(found))
