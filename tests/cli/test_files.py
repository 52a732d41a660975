import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

from separatrix import load
from separatrix.cli import main
from separatrix.data.catalogue import load as read_by_name
from separatrix.data.read import read
from separatrix.evaluation.own_files import build, predict_rows

TABLE = """age,job,income
20,clerk,low
30,boss,high
25,clerk,low
55,boss,high
41,clerk,low
33,nurse,high
29,nurse,low
61,boss,high
22,clerk,low
45,nurse,high
"""


def run(*words, code=0):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(TABLE)
    return tmp_path / "people.csv"


@pytest.fixture
def model(people):
    path = people.with_suffix(".model")
    run("fit", people, "--model", "logistic", "--set", "C=0.5", "--out", path, "--quiet")
    return path


def test_a_table_is_fitted_and_the_model_says_what_a_fit_in_python_says(people, model):
    kept, data = load(model), read(people)
    assert kept[-1].C == 0.5
    assert kept.feature_names_in_.tolist() == list(data.features)
    again = build("logistic", data, {"C": 0.5}).fit(data.X, data.y)
    _, P = predict_rows(kept, data, probabilities=True)
    assert (again.predict_proba(data.X) == P).all()


def test_columns_are_known_by_name_whatever_their_order(people, model, tmp_path):
    (tmp_path / "new.csv").write_text("job,extra,age\nboss,x,50\nclown,y,20\n")
    (tmp_path / "same.csv").write_text("age,job\n50,boss\n20,\n")
    one, other = (
        run("predict", model, tmp_path / name, "--proba").stdout for name in ("new.csv", "same.csv")
    )
    assert one == other
    rows = list(csv.DictReader(io.StringIO(one)))
    assert [row["prediction"] for row in rows] == ["high", "low"]
    assert float(rows[0]["p(high)"]) + float(rows[0]["p(low)"]) == pytest.approx(1)


def test_a_column_that_is_missing_is_named(model, tmp_path):
    (tmp_path / "new.csv").write_text("age,height\n50,1\n")
    done = run("predict", model, tmp_path / "new.csv", code=1)
    assert "job" in done.stderr
    assert done.stdout == ""


def test_predictions_go_to_a_file_and_not_to_half_of_one(people, model, tmp_path):
    run("predict", model, people, "--out", tmp_path / "out.csv")
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows[0] == ["row", "prediction"]
    assert len(rows) == 11
    run("predict", tmp_path / "no.model", people, "--out", tmp_path / "other.csv", code=1)
    assert not (tmp_path / "other.csv").exists()


def test_evaluate_counts_what_is_taken_for_what(people, model):
    found = json.loads(run("evaluate", model, people, "--json").stdout)
    predicted = json.loads(run("predict", model, people, "--json").stdout)["predictions"]
    true = [line.split(",")[2] for line in TABLE.split()[1:]]
    wrong = np.mean([a != b for a, b in zip(true, predicted, strict=True)])
    assert found["metrics"]["error"] == pytest.approx(wrong)
    assert np.sum(found["confusion"]) == 10
    assert {"log_loss", "brier", "f1_macro", "balanced_error"} <= set(found["metrics"])
    assert "is, taken for" in run("evaluate", model, people).stdout


def test_explain_names_the_features(people, model):
    assert "job=clerk" in run("explain", model).stdout
    told = json.loads(run("explain", model, people, "--row", 1, "--json").stdout)
    assert "'high'" in told["says"]
    terms = {row["feature"]: row["term"] for row in told["rows"]}
    assert terms["job=boss"] > 0
    assert run("explain", model, people, "--row", 99, code=1).stderr.startswith(
        "Error: people.csv has rows"
    )


def test_explain_finds_neighbours_and_support_vectors(tmp_path):
    for key, column in (("knn", "distance"), ("svm", "similarity")):
        path = tmp_path / f"{key}.model"
        run("fit", "iris", "--model", key, "--out", path, "--quiet")
        rows = json.loads(run("explain", path, "iris", "--row", 3, "--json").stdout)["rows"]
        assert rows
        assert column in rows[0]
        assert rows[0]["training row"] == 3 or key == "svm"
    lost = json.loads(run("explain", path, "iris", "--json").stdout)["rows"]
    assert max(row["loss"] for row in lost) > 0.1


@pytest.mark.parametrize(
    "key", ["svm", "knn", "logistic", "gaussian-nb", "least-squares", "perceptron"]
)
def test_tuned_models_are_saved_and_predict_the_same(tmp_path, key):
    found = json.loads(
        run("tune", "iris", "--model", key, "--folds", 3, "--out", tmp_path / "m", "--json").stdout
    )
    assert found["train_error"] < 0.2
    iris = read_by_name("iris")
    labels, _ = predict_rows(load(tmp_path / "m"), iris)
    assert np.mean(labels != iris.y) == pytest.approx(found["train_error"])


def test_text_goes_from_a_file_to_a_model_and_back(tmp_path):
    lines = [
        "spam\twin cash now",
        "ham\tsee you soon",
        "spam\tcash prize win",
        "ham\tlunch soon",
    ] * 5
    (tmp_path / "mails.txt").write_text("\n".join(lines))
    run("fit", tmp_path / "mails.txt", "--model", "multinomial-nb", "--out", tmp_path / "m")
    (tmp_path / "new.txt").write_text("ham\tyou win cash\nham\tsee you at lunch\n")
    shown = run("predict", tmp_path / "m", tmp_path / "new.txt").stdout
    assert shown.splitlines()[1:] == ["0,spam", "1,ham"]
    assert "cash" in run("explain", tmp_path / "m").stdout


def test_a_dry_run_writes_nothing_and_says_what_it_would_take(people):
    found = json.loads(
        run("fit", "digits", "--dry-run", "--json", "--out", people.parent / "x").stdout
    )
    assert found["seconds"] > 0
    assert found["bytes"] > 1000
    assert not (people.parent / "x").exists()
    assert "SVC" in run("tune", "iris", "--dry-run").stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["fit", "nowhere.csv"], 3, "there is no file nowhere.csv"),
        (["fit", "iris", "--model", "oracle"], 1, "must be one of svm"),
        (["fit", "iris", "--set", "C"], 2, "--set needs NAME=VALUE"),
        (["fit", "iris", "--set", "c=1"], 1, "one of its parameters"),
        (["fit", "iris", "--set", "C=-1"], 1, "`C` of SVC"),
        (["fit", "iris", "--target", "label"], 3, "takes no target"),
        (["fit", "mutag"], None, ""),
        (["tune", "iris", "--model", "SVC"], 1, "`model` of tune"),
    ],
)
def test_what_cannot_be_done_is_one_line(words, code, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code or (code is None and done.exit_code in (1, 3))
    assert says in done.stderr
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())
