import math
import re

import numpy as np
import pytest
from tests.cli.command import run, run_json

from separatrix.app import run_estimate as module
from separatrix.app.run_estimate import estimate_run, estimate_study
from separatrix.data.dataset import Dataset
from separatrix.errors import DataError
from separatrix.experiments.spec import read_spec
from separatrix.experiments.steps import Experiment, Step, StepResult

FILE = """
data = "table.csv"
[split]
repeats = 6
[[model]]
type = "GaussianNB"
[[model]]
type = "SVC"
parameters = {kernel = {type = "Gaussian", gamma = 0.1}}
grid = {C = [1.0, 10.0]}
"""


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    rows = "".join(f"{x:.3f},{z:.3f},{int(x > 0)}\n" for x, z in rng.normal(size=(60, 2)))
    (tmp_path / "table.csv").write_text("x,z,label\n" + rows)
    (tmp_path / "small.toml").write_text(FILE)
    return tmp_path / "small.toml"


def made_up(n):
    rng = np.random.default_rng(1)
    return Dataset("made up", rng.normal(size=(n, 2)), np.arange(n) % 2)


def test_a_dry_run_of_a_file_shows_the_time_of_each_model(file, tmp_path):
    found = run_json("run", file, "--dry-run")
    assert set(found["seconds"]) == {"GaussianNB", "SVC"}
    assert all(seconds > 0 for seconds in found["seconds"].values())
    shown = run("run", file, "--dry-run", "--out", tmp_path / "out").stdout
    assert re.search(r"^GaussianNB: about [\d.]+ s$", shown, re.M)
    assert re.search(r"^all models: about [\d.]+ s$", shown, re.M)
    assert not (tmp_path / "out").exists()


def test_times_of_subsets_and_of_two_repeats_are_extrapolated(file, monkeypatch):
    timed = []

    def time_steps(spec, _data, size, _device):
        timed.append((size, spec.split.repeats))
        return {"GaussianNB": size / 1000, "SVC": (size / 1000) ** 2}

    monkeypatch.setattr(module, "_time_steps", time_steps)

    found = estimate_run(read_spec(file), lambda _name: made_up(32_000))

    assert timed[:3] == [(250, 2), (250, 2), (500, 2)]
    assert timed[-1][0] < 32_000
    assert found["GaussianNB"] == pytest.approx(3 * 32)
    assert found["SVC"] == pytest.approx(3 * 32**2)


def test_a_model_that_fits_no_subset_has_no_estimate(file, monkeypatch):
    def refuse(*_arguments):
        raise DataError("too few rows")

    monkeypatch.setattr(module, "plan", refuse)
    found = estimate_run(read_spec(file), lambda _name: made_up(300))
    assert all(math.isnan(seconds) for seconds in found.values())


def study(*works, n=6400):
    """A study of steps that take, on some rows, as many seconds as `works` say."""
    clock = [0.0]

    def step(work):
        def run(context):
            clock[0] += work(len(context.data("made up").y))
            return StepResult([])

        return run

    steps = [Step(str(number), step(work)) for number, work in enumerate(works)]
    found = Experiment("a", "a", {"seed": 0}, ("made up",), steps, lambda _name: made_up(n))
    return found, lambda: clock[0]


def test_the_steps_of_a_study_are_extrapolated_each_by_its_own_growth(monkeypatch):
    found, clock = study(lambda n: (n / 1000) ** 2, lambda n: n / 1000, lambda _n: 0.5)
    monkeypatch.setattr(module.time, "perf_counter", clock)
    seconds = estimate_study(found)["all steps"]
    assert seconds == pytest.approx(6.4**2 + 6.4 + 0.5)


def test_a_study_whose_steps_all_fail_on_subsets_has_no_estimate():
    def refuse(_rows):
        raise DataError("too few rows")

    found, _ = study(refuse)
    assert math.isnan(estimate_study(found)["all steps"])


def test_a_dry_run_of_a_named_study_shows_its_time():
    found = run_json("run", "knn-and-perceptron", "--quick", "--dry-run")
    assert found["seconds"]["all steps"] > 0
