from time import monotonic
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.command import run, run_json

from separatrix import LinearDiscriminantAnalysis
from separatrix.app import compare_file
from separatrix.app import comparison_plan as module
from separatrix.app.estimate import Estimate
from separatrix.cli import experiments
from separatrix.data.splits import Split
from separatrix.errors import ParameterError
from separatrix.evaluation.samples import CheckedSamples
from separatrix.evaluation.shared_preprocessing import SharedPreprocessing


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    x, job = rng.normal(size=60), rng.choice(["cook", "smith"], 60)
    rows = [f"{a:.3f},{b},{int(a > 0)}" for a, b in zip(x, job, strict=True)]
    path.write_text("\n".join(["x,job,label", *rows]) + "\n")
    return path


def test_a_dry_run_of_compare_estimates_and_fits_nothing_to_all_rows(table, monkeypatch):
    fitted = []

    def estimate(model, data, **_options):
        fitted.append(len(data.y))
        return Estimate(2.0, 1000, rows=len(data.y))

    monkeypatch.setattr(module, "estimate", estimate)
    monkeypatch.setattr(experiments, "process_time", lambda: 0.0)  # that of all tests so far
    words = ("compare", table, "--models", "lda,knn", "--dry-run")

    found = run_json(*words, "--out", table.parent / "page")

    assert fitted == [48, 48]  # rows of a training part
    assert found["seconds"] == {"nearest neighbours": 20.0, "linear discriminant": 20.0}
    assert found["total"] == pytest.approx(40 + found["preprocessing"] + found["start"])
    assert (found["rows"], found["splits"], found["bytes"]) == (60, 10, 1000)
    assert not (table.parent / "page").exists()

    assert "within the budget of 120 s" in run(*words).stdout
    shown = run(*words, "--budget", "30s", "--baselines").stdout
    assert "would compare 5 models on 60 rows of table.csv, 10 splits (5 folds, 2 times):" in shown
    assert "beyond the budget of 30 s: models race" in shown
    assert "no budget: all of it" in run(*words, "--budget", "none").stdout


def test_preprocessing_that_models_share_is_counted_once():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    split, shared = Split(np.arange(50), np.arange(50, 60)), SharedPreprocessing()

    spent = [
        module._estimate(model, "a", CheckedSamples(X, y), split, shared, 0)[1] for _ in range(2)
    ]

    assert spent[0] > 0 == spent[1]


def test_the_time_to_start_and_to_read_is_part_of_a_plan_and_of_a_budget(table, monkeypatch):
    monkeypatch.setattr(module, "estimate", lambda *_args, **_options: Estimate(2.0, 1000))
    budgets = []

    def stop(*_args, budget, **_options):
        budgets.append(budget)
        raise ParameterError("compare", "budget", "noted", budget)

    monkeypatch.setattr(compare_file, "compare", stop)
    options = {
        **{"models": ["lda"], "subsample": None, "device": "cpu", "class_weight": None},
        "progress": False,
    }
    an_hour_ago = monotonic() - 3600

    plan = module.plan_comparison(str(table), begun=an_hour_ago, **options)
    for begun, more in ((an_hour_ago, {}), (None, {}), (None, {"save_best": table})):
        with pytest.raises(ParameterError, match="noted"):
            compare_file.compare_data(str(table), budget=7200, begun=begun, **more, **options)

    assert plan.start > 3600
    assert plan.total > 3600 + 20
    late, whole, refitted = budgets
    assert late < 3600 < 7000 < whole < 7200
    assert refitted < 0.71 * 7200  # the best model is then fitted to all rows


def test_a_comparison_of_which_only_baselines_finished_says_so(table, tmp_path, monkeypatch):
    late = {"linear discriminant": "out of time"}
    found = SimpleNamespace(best="baseline", baselines=("baseline",), not_tried=late)
    monkeypatch.setattr(compare_file, "compare", lambda *_, **__: found)
    words = ("--models", "lda", "--baselines", "--budget", "none", "--out", tmp_path / "out")
    shown = run("compare", table, *words, code=1).stderr
    assert "no classifier finished, only baselines did (linear discriminant: out of time)" in shown
    assert "raise --budget" in shown
