"""Novelty detection from the command line: a table without labels."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from tests.cli.command import run, run_json

from separatrix import OneClassSVM, load


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("novelty"), np.random.default_rng(0)
    usual, odd = rng.normal(size=(120, 3)), rng.normal(size=(30, 3)) + 5.0
    head = "a,b,c"

    def write(name, head, rows):
        (folder / name).write_text(
            "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"
        )

    write("usual.csv", head, usual.tolist())
    mixed = [[*row, "odd"] for row in odd.tolist()] + [[*row, "fine"] for row in usual.tolist()]
    write("mixed.csv", head + ",kind", mixed)
    return folder, usual, odd


@pytest.mark.parametrize("key", ["OneClassSVM", "one-class"])
def test_a_table_without_labels_is_learned_and_new_rows_are_judged(tables, key, tmp_path):
    folder, usual, odd = tables
    path = tmp_path / "m"
    words = ["--model", key, "--set", "nu=0.05", "--set", "gamma=0.2"]
    done = run("fit", folder / "usual.csv", *words, "--scale", "standard", "--out", path)
    scaler = StandardScaler().fit(usual)
    model = OneClassSVM(nu=0.05, gamma=0.2).fit(scaler.transform(usual))
    outside = np.mean(model.predict(scaler.transform(usual)) == -1)
    assert f"120 samples, 3 features, {100 * outside:.2f} % of the rows outside" in done.stdout
    assert "classes" not in done.stdout
    found = run_json("predict", path, folder / "mixed.csv")
    rows = scaler.transform(np.r_[odd, usual])
    assert found["predictions"] == model.predict(rows).tolist()
    assert found["classes"] == [-1, 1]
    table = run("predict", path, folder / "mixed.csv").stdout.splitlines()
    assert table[:2] == ["row,prediction", "0,-1"]
    scores = run_json("evaluate", path, folder / "mixed.csv", "--positive", "fine")
    assert scores["metrics"]["error"] == pytest.approx(
        np.mean(model.predict(rows) != np.repeat([-1, 1], [30, 120]))
    )
    assert isinstance(load(path)[-1], OneClassSVM)


def test_a_label_column_is_named_and_dropped(tables, tmp_path):
    folder, *_ = tables
    path = tmp_path / "m"
    fit = ["fit", folder / "mixed.csv", "--model", "one-class", "--out", path]
    assert "150 samples, 3 features" in run(*fit, "--target", "kind").stdout
    assert load(path).feature_names_in_.tolist() == ["a", "b", "c"]
    assert "150 samples, 4 features" in run(*fit).stdout  # kind is one of them
    assert run_json("fit", "iris", "--model", "one-class", "--out", path)["features"] == 4


@pytest.mark.parametrize(
    ("words", "caption"),
    [
        (["--positive", "fine"], "--positive needs labels, and one-class learns from rows without"),
        (["--folds", "3"], "--folds needs labels, and OneClassSVM learns from rows without labels"),
        (["--test-share", "0.3"], "--test-share needs labels"),
        (["--cost", "1,-1=3"], "need probabilities; OneClassSVM has none"),
        (["--set", "nu=2"], "`nu` of OneClassSVM must be above 0 and at most 1; got 2"),
        (["--set", "C=1"], "one of its parameters"),
    ],
)
def test_what_needs_labels_is_refused_in_one_sentence(tables, words, caption, tmp_path):
    fit = ["fit", tables[0] / "usual.csv", "--model", "one-class", "--out", tmp_path / "m"]
    done = run(*fit, *words, code=1)
    assert caption in done.stderr
    lines = done.stderr.splitlines()
    assert len([line for line in lines if not line.startswith("read ")]) <= 2


def test_other_uses_are_refused_in_one_sentence(tables, tmp_path):
    folder, path = tables[0], tmp_path / "m"
    run("fit", folder / "usual.csv", "--model", "one-class", "--out", path, "--quiet")
    labels = run("evaluate", path, folder / "mixed.csv", code=1).stderr
    assert "but mixed.csv has the labels fine, odd" in labels
    assert "hint: --positive LABELS names the labels of rows like the training rows" in labels
    assert (
        "has no probabilities"
        in run("predict", path, folder / "usual.csv", "--proba", code=1).stderr
    )
    assert (
        "`model` of tune"
        in run("tune", folder / "usual.csv", "--model", "one-class", code=1).stderr
    )
