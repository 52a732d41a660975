"""From a messy file to a model, its error and its predictions, with one command each."""

import csv

import numpy as np
import pandas as pd
import pytest
from tests.cli.command import run, run_json

from separatrix import load


def make_people(rows, seed=0):
    """A table with an id, two conventions of numbers, dates, texts and gaps; only three columns tell."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(18, 80, rows), rng.choice(["clerk", "boss", "nurse", "cook"], rows)
    x = rng.normal(size=rows)
    score = (age - 45) / 15 + 1.5 * (job == "boss") + x + 0.5 * rng.logistic(size=rows)
    words = rng.choice(["likes", "hates", "ignores"], rows)
    frame = pd.DataFrame(
        {
            "id": [f"C{i:05d}" for i in rng.permutation(rows)],
            "age": age.astype(object),
            "job": job,
            "x": [f"{value:.2f}".replace(".", ",") for value in x],
            "salary": [f"{value:,}" for value in rng.integers(20_000, 90_000, rows)],
            "signup": pd.date_range("2020-01-01", periods=rows, freq="31h").strftime("%d.%m.%Y"),
            "note": [f"customer {w} ticket {rng.integers(1e6)} a lot" for w in words],
            "bought": np.where(score > 0, "ja", "nein"),
        }
    )
    frame.loc[5, "age"], frame.loc[7, "age"], frame.loc[3, "job"] = "unknown", "old", None
    frame.loc[9, "bought"] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    people = make_people(600)
    people.head(400).to_csv(folder / "people.csv", sep=";", encoding="latin-1")
    people.tail(200).to_csv(folder / "held.txt", sep="|", index=False, encoding="utf-16")
    run("fit", folder / "people.csv", "--model", "logistic", "--out", folder / "m", "--quiet")
    return folder


def test_the_error_of_held_out_rows_is_near_the_truth_and_no_id_is_learned(folder):
    found = run_json(
        *("fit", folder / "people.csv", "--model", "logistic", "--folds", 4),
        *("--out", folder / "other"),
    )
    truth = run_json("evaluate", folder / "m", folder / "held.txt", "--target", "bought")
    assert found["samples"] == 399
    assert found["features"] == 6
    assert abs(found["held_out"]["error"] - truth["metrics"]["error"]) < 0.06
    assert truth["metrics"]["error"] < 0.25  # the majority class errs in 41 %


def test_the_line_on_how_a_file_was_read_is_printed_by_every_command(folder):
    line = (
        "read people.csv: csv, UTF-8, semicolons, header; 399 rows; target bought, the last column"
    )
    words = ("--model", "lda", "--dry-run")
    assert run("fit", folder / "people.csv", *words).stderr.startswith(line)
    assert run("tune", folder / "people.csv", *words).stderr.startswith(line)
    assert run("look", folder / "people.csv").stdout.startswith(line)
    for command in ("predict", "explain"):
        more = ("--row", 0) if command == "explain" else ()
        found = run(command, folder / "m", folder / "held.txt", *more).stderr
        assert found.startswith("read held.txt: csv, UTF-16, pipes, header; 200 rows; no target")
    assert run("fit", folder / "people.csv", *words, "--quiet").stderr == ""
    said = run("compare", folder / "people.csv", "--models", "gaussian-nb", "--repeats", 1).stderr
    assert line in said


def test_predictions_include_rows_without_a_label(folder):
    rows = list(csv.reader(run("predict", folder / "m", folder / "people.csv").stdout.splitlines()))
    assert len(rows) == 401


def test_the_roles_are_saved_and_can_be_replaced(folder):
    encoder = load(folder / "m")[0]
    found = {spec.name: spec.role for spec in encoder.columns_}
    assert found == {
        **{"x1": "index", "id": "id", "age": "number", "job": "category", "x": "number"},
        **{"salary": "number", "signup": "date", "note": "text"},
    }
    words = ("--drop", "note", "--drop", "signup", "--category", "age", "--model", "logistic")
    run("fit", folder / "people.csv", *words, "--out", folder / "n", "--quiet")
    found = {spec.name: spec.role for spec in load(folder / "n")[0].columns_}
    assert (found["note"], found["signup"], found["age"]) == ("dropped", "dropped", "codes")


def test_look_lists_columns_classes_and_leaks(folder):
    found = run_json("look", folder / "people.csv")
    assert found["classes"].keys() == {"ja", "nein"}
    assert [c["name"] for c in found["columns"] if c["role"] == "id"] == ["id"]
    assert all(not column["remark"] for column in found["columns"])
    leak = pd.read_csv(folder / "people.csv", sep=";", encoding="latin-1").dropna()
    leak["code"] = (leak["bought"] == "ja").astype(int) * 10
    leak["refund"] = np.where(leak["bought"] == "ja", 5.0, 1.0) + np.linspace(0, 1, len(leak))
    leak.to_csv(folder / "leak.csv", index=False)
    shown = run("look", folder / "leak.csv", "--target", "bought").stdout
    assert "careful: code: predicts 100.0 % of the rows alone" in shown
    assert "careful: refund: predicts" in shown
    assert "careful: age" not in shown


def test_many_numbers_in_a_target_that_nobody_named_are_a_question(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(1, 4)} {i} {rng.integers(1000)}" for i in range(200)]
    path = tmp_path / "wine.txt"
    path.write_text("\n".join(rows))
    done = run("fit", path, "--out", tmp_path / "m", code=1)
    assert "which column of wine.txt holds the classes? x3 (the last column) has" in done.stderr
    assert "hint: name it with --target; few different values have x1" in done.stderr
    assert len(run_json("fit", path, "--target", "x1", "--out", tmp_path / "m")["classes"]) == 3
    assert len(run_json("fit", path, "--target", "0", "--out", tmp_path / "m")["classes"]) == 3
    assert "which column" in run("look", path).stdout


def test_texts_that_all_differ_are_no_classes(tmp_path):
    rows = [f"{i % 7},{'ab'[i % 2]},2021-01-01 10:{i % 60:02d}:{i // 60:02d}" for i in range(90)]
    (tmp_path / "log.csv").write_text("\n".join(["a,kind,when", *rows]))
    refused = run("fit", tmp_path / "log.csv", code=1)
    assert "when (the last column) has 90 different texts in 90 rows" in refused.stderr
    assert "few different values have kind" in refused.stderr
    looked = run("look", tmp_path / "log.csv").stdout
    assert "90 different values, each in one row" in looked


def test_one_class_is_no_leak(tmp_path):
    rows = [f"{i % 7},x" for i in range(40)]
    (tmp_path / "one.csv").write_text("\n".join(["a,class", *rows]))
    looked = run("look", tmp_path / "one.csv").stdout
    assert "there is only one class" in looked
    assert "alone" not in looked


def test_missing_labels_can_be_an_error(folder):
    words = ("fit", folder / "people.csv", "--missing-label", "error", "--out", folder / "x")
    assert "found no label in 'bought'" in run(*words, code=1).stderr


def test_several_files_are_one_training_set(folder, tmp_path):
    people = make_people(200, seed=1)
    for i in range(2):
        people[i::2].to_csv(tmp_path / f"part-{i}.csv", index=False)
    parts = sorted(tmp_path.glob("part-*"))
    words = ("--target", "bought", "--model", "lda", "--out", tmp_path / "m")
    assert run_json("fit", *parts, *words)["samples"] == 199
    assert run_json("fit", tmp_path / "part-*.csv", *words)["samples"] == 199
    words = ("--target", "bought", "--models", "lda", "--cv", 2, "--repeats", 1, "--budget", "none")
    pattern = run_json("compare", tmp_path / "part-*.csv", *words)
    together = run_json("compare", *parts, *words)
    assert together["rows"][0]["test_error"] == pattern["rows"][0]["test_error"]


def test_infinite_cells_give_a_note_and_no_numpy_warning(tmp_path):
    (tmp_path / "a.csv").write_text("x,z,class\n" + "1,2,a\n3,inf,b\n4,1,a\n" * 9)
    done = run("fit", tmp_path / "a.csv", "--model", "logistic", "--out", tmp_path / "m")
    assert "note: z: 9 of 27 cells are infinite and count as missing" in done.stderr
    assert "warning" not in done.stderr


@pytest.mark.slow
def test_a_mixed_table_is_compared_with_baselines_saved_and_reported(folder, tmp_path):
    path, out = tmp_path / "best.model", tmp_path / "out"
    words = (
        "--models",
        "logistic,lda",
        "--cv",
        3,
        "--repeats",
        1,
        "--budget",
        "24h",
        "--baselines",
    )
    found = run_json(
        *("compare", folder / "people.csv", *words),
        *("--save-best", path, "--out", out, "--drop", "note"),
    )
    names = {row["model"] for row in found["rows"]}
    assert {"logistic regression", "baseline: boosted trees", "baseline: random forest"} <= names
    assert found["rows"][0]["test_error"] < 25
    page = (out / "report.html").read_text()
    assert "--drop note" in page
    assert "--missing-label" not in page
    assert "Which columns matter" in page
    scores = run_json("evaluate", path, folder / "people.csv", "--target", "bought")
    assert scores["on_training_rows"]
    assert not run_json("evaluate", path, folder / "held.txt", "--target", "bought")[
        "on_training_rows"
    ]


@pytest.mark.slow
def test_a_race_within_a_budget_takes_mixed_tables(tmp_path):
    make_people(1500).to_csv(tmp_path / "a.csv", index=False)
    words = ("--models", "logistic,lda,gaussian-nb,knn", "--drop", "note,signup", "--budget", "20s")
    found = run_json("compare", tmp_path / "a.csv", *words, "--cv", 3)
    assert found["rows"][0]["test_error"] < 25
    assert not found["failed"]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--group", "--time"])
def test_a_column_that_splits_rows_is_no_feature_of_a_table(option, tmp_path):
    people = make_people(200)
    people["visit"] = [f"2024-{i // 20 + 1:02d}-03" for i in range(200)]
    people.to_csv(tmp_path / "a.csv", index=False)
    words = (tmp_path / "a.csv", "--target", "bought", option, "visit", "--drop", "note")
    found = run_json("fit", *words, "--model", "lda", "--out", tmp_path / "m")
    how = {"--group": "5 folds of whole groups", "--time": "5 later periods"}[option]
    assert found["held_out"]["how"] == how
    roles = {spec.name: spec.role for spec in load(tmp_path / "m")[0].columns_}
    assert roles["visit"] == "dropped"
    people.drop(columns="visit").to_csv(tmp_path / "b.csv", index=False)
    assert len(run_json("predict", tmp_path / "m", tmp_path / "b.csv")["predictions"]) == 200
    compared = run("compare", *words, "--models", "lda,gaussian-nb", "--cv", 3, "--repeats", 1)
    assert {"--group": "of whole groups", "--time": "later periods"}[option] in compared.stdout


def test_any_column_is_kept_beside_the_predictions_of_a_mixed_table(folder):
    kept = ("--keep", "id", "--keep", "bought")
    found = run("predict", folder / "m", folder / "people.csv", *kept).stdout
    rows = list(csv.DictReader(found.splitlines()))
    people = pd.read_csv(folder / "people.csv", sep=";", encoding="latin-1", dtype=str)
    assert [row["id"] for row in rows] == people["id"].tolist()
    assert [row["bought"] for row in rows] == people["bought"].fillna("").tolist()
    wrong = run("predict", folder / "m", folder / "people.csv", "--keep", "nobody", code=1)
    assert "no column named 'nobody'" in wrong.stderr


def test_novelty_is_found_in_a_mixed_table(tmp_path):
    people = make_people(150).drop(columns=["bought", "note", "signup"])
    people["town"] = [f"town {i % 60}" for i in range(150)]
    people.to_csv(tmp_path / "a.csv", index=False)
    done = run("fit", tmp_path / "a.csv", "--model", "one-class", "--out", tmp_path / "m")
    assert "150 samples, 5 features" in done.stdout
    assert "alone gives the class" not in done.stderr
    found = run_json("predict", tmp_path / "m", tmp_path / "a.csv")
    assert set(found["predictions"]) == {-1, 1}


def test_a_row_alone_keeps_its_columns_for_a_model_without_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("fit", "digits", "--model", "knn", "--out", "m.model")
    (tmp_path / "one.csv").write_text(",".join(["0", "5"] * 32) + "\n")
    assert run("predict", "m.model", "one.csv", "--no-header").stdout.count("\n") == 2
