import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from tests.cli.command import run, run_json

from separatrix import SVC, load
from separatrix.app.predict_from_file import predict_rows
from separatrix.app.train_from_file import build
from separatrix.data.catalogue import find
from separatrix.data.catalogue import load as read_by_name
from separatrix.data.read_table import read_table

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


@pytest.fixture
def people(tmp_path):
    (tmp_path / "people.csv").write_text(TABLE)
    return tmp_path / "people.csv"


@pytest.fixture
def model(people):
    path = people.with_suffix(".model")
    run("fit", people, "--model", "logistic", "--set", "C=0.5", "--out", path, "--quiet")
    return path


def test_a_model_fitted_to_a_table_predicts_like_a_fit_in_python(people, model):
    kept, data = load(model), read_table(people)
    assert kept[-1].C == 0.5
    assert kept.feature_names_in_.tolist() == ["age", "job"]
    assert [spec.role for spec in kept[0].columns_] == ["number", "category"]
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


def test_evaluate_prints_the_confusion_matrix(people, model):
    found = run_json("evaluate", model, people)
    predicted = run_json("predict", model, people)["predictions"]
    true = [line.split(",")[2] for line in TABLE.split()[1:]]
    wrong = np.mean([a != b for a, b in zip(true, predicted, strict=True)])
    assert found["metrics"]["error"] == pytest.approx(wrong)
    assert np.sum(found["confusion"]) == 10
    assert {"log_loss", "brier", "f1_macro", "balanced_error"} <= set(found["metrics"])
    assert "true, predicted" in run("evaluate", model, people).stdout


def test_explain_names_the_features(people, model):
    assert "job=clerk" in run("explain", model).stdout
    told = run_json("explain", model, people, "--row", 1)
    assert "'high'" in told["caption"]
    terms = {row["feature"]: row["term"] for row in told["rows"]}
    assert terms["job=boss"] > 0
    assert refused("explain", model, people, "--row", 99)[0].startswith(
        "Error: people.csv has rows"
    )


def test_explain_finds_neighbours_and_support_vectors(tmp_path):
    for key, column in (("knn", "distance"), ("svm", "similarity")):
        path = tmp_path / f"{key}.model"
        run("fit", "iris", "--model", key, "--out", path, "--quiet")
        rows = run_json("explain", path, "iris", "--row", 3)["rows"]
        assert rows
        assert column in rows[0]
        assert rows[0]["training row"] == 3 or key == "svm"
    lost = run_json("explain", path, "iris")["rows"]
    assert max(row["loss"] for row in lost) > 0.1


@pytest.mark.parametrize(
    "key", ["svm", "knn", "logistic", "gaussian-nb", "least-squares", "perceptron"]
)
def test_tuned_models_are_saved_and_predict_the_same(tmp_path, key):
    found = run_json("tune", "iris", "--model", key, "--folds", 3, "--out", tmp_path / "m")
    assert found["train_error"] < 0.2
    iris = read_by_name("iris")
    labels, _ = predict_rows(load(tmp_path / "m"), iris)
    assert np.mean(labels != iris.y) == pytest.approx(found["train_error"])


def test_text_goes_from_a_file_to_a_model_and_back(tmp_path):
    mails = "spam\twin cash now\nham\tsee you soon\nspam\tcash prize win\nham\tlunch soon\n"
    (tmp_path / "mails.txt").write_text(mails * 5)
    run("fit", tmp_path / "mails.txt", "--model", "multinomial-nb", "--out", tmp_path / "m")
    (tmp_path / "new.txt").write_text("ham\tyou win cash\nham\tsee you at lunch\n")
    shown = run("predict", tmp_path / "m", tmp_path / "new.txt").stdout
    assert shown.splitlines()[1:] == ["0,spam", "1,ham"]
    assert "cash" in run("explain", tmp_path / "m").stdout


def test_a_dry_run_writes_nothing_and_estimates_time_and_memory(people):
    found = run_json("fit", "digits", "--dry-run", "--out", people.parent / "x")
    assert found["seconds"] > 0
    assert found["bytes"] > 1000
    assert not (people.parent / "x").exists()
    assert "SVC" in run("tune", "iris", "--dry-run").stdout


@pytest.mark.parametrize(
    ("words", "code", "caption"),
    [
        (["fit", "nowhere.csv"], 3, "there is no file nowhere.csv"),
        (["fit", "iris", "--model", "oracle"], 1, "must be one of svm"),
        (["fit", "iris", "--set", "C"], 2, "--set needs NAME=VALUE"),
        (["fit", "iris", "--set", "c=1"], 1, "one of its parameters"),
        (["fit", "iris", "--set", "C=-1"], 1, "`C` of SVC"),
        (["fit", "iris", "--target", "label"], 3, "takes no target"),
        (["fit", "iris", "--model", "svm-graph"], 1, "WeisfeilerLehman takes a list of Graph"),
        (["tune", "iris", "--model", "SVC"], 1, "`model` of tune"),
    ],
)
def test_what_cannot_be_done_is_one_line(words, code, caption, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words, code=code)
    assert caption in done.stderr
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


def refused(*words):
    """The lines of a refusal, without those on how a file was read."""
    lines = run(*words, code=1).stderr.strip().split("\n")
    return [line for line in lines if not line.startswith(("read ", "note: "))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,z,class\n" + "1,2,a\n3,4,a\n" * 9, "a.csv has only one class, 'a'"),
        ("x,y\n" + "1,0.25\n2,1.5\n" * 9, "a.csv has labels that are not classes, such as 0.25"),
    ],
)
def test_values_that_cannot_be_fitted_are_one_line_and_a_hint(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    found = refused("fit", tmp_path / "a.csv", "--out", tmp_path / "a.model")
    assert found[0].startswith("Error: ")
    assert message in found[0]
    assert [line[:6] for line in found[1:]] == ["hint: "]
    assert not (tmp_path / "a.model").exists()


@pytest.mark.parametrize("target", ["--5", "²", "1-2"])
def test_a_target_that_is_nearly_a_number_is_a_name(people, target):
    line = refused("fit", people, f"--target={target}")[0]
    assert f"no column named {target!r}" in line


def test_a_warning_is_one_line_without_a_path_and_none_with_quiet(people, tmp_path):
    words = ("fit", people, "--model", "Perceptron", "--set", "max_iter=1")
    said = run(*words, "--out", tmp_path / "a.model").stderr
    (line,) = (line for line in said.split("\n") if line.startswith("warning: "))
    assert "max_iter" in line
    assert ".py" not in said
    assert run(*words, "--out", tmp_path / "b.model", "--quiet").stderr == ""


def test_a_model_of_one_kind_refuses_samples_of_another(people, model, tmp_path):
    (tmp_path / "mails.txt").write_text("ham\tsee you\nspam\tyou won\n" * 5)
    (tmp_path / "four.svm").write_text("1 1:2 4:1\n0 1:1 2:3\n" * 5)
    run("fit", tmp_path / "mails.txt", "--out", tmp_path / "mails.model", "--quiet")
    run("fit", tmp_path / "four.svm", "--out", tmp_path / "four.model", "--quiet")
    for first, *more in (("predict",), ("explain", "--row", 0)):
        texts = refused(first, model, tmp_path / "mails.txt", *more)
        table = refused(first, tmp_path / "mails.model", people, *more)
        width = refused(first, tmp_path / "four.model", people, *more)
        assert texts == ["Error: mails.txt holds text, but the model was fitted to 2 features"]
        assert table == ["Error: people.csv holds a table, but the model was fitted to texts"]
        assert "but the model was fitted to 4" in width[0]
        assert "--target" in width[-1]


def test_missing_values_that_training_had_none_of_are_imputed_beside_categories(model, tmp_path):
    (tmp_path / "new.csv").write_text("age,job\n50,boss\n,clerk\n")
    assert len(run_json("predict", model, tmp_path / "new.csv")["predictions"]) == 2


def test_missing_values_that_training_had_none_of_are_refused_by_name(tmp_path):
    (tmp_path / "old.csv").write_text("age,size,class\n" + "1,2,a\n3,5,b\n4,1,a\n" * 5)
    model = tmp_path / "old.model"
    run("fit", tmp_path / "old.csv", "--model", "lda", "--out", model, "--quiet")
    (tmp_path / "new.csv").write_text("age,size\n50,1\n,2\n")
    line, hint = refused("predict", model, tmp_path / "new.csv")
    assert line.startswith(
        "Error: new.csv has missing values, but the model was fitted to data without"
    )
    assert hint.startswith("hint: impute them")


def test_probabilities_that_a_model_has_none_of_are_refused_with_a_way_to_have_them(people):
    path = people.with_suffix(".svm.model")
    run("fit", people, "--out", path, "--quiet")
    line, hint = refused("predict", path, people, "--proba")
    assert line == "Error: this SVC was fitted without probabilities"
    assert "--set calibration=sigmoid" in hint


def test_a_held_out_file_of_one_class_with_an_unknown_category_is_evaluated(model, tmp_path):
    held = tmp_path / "held.csv"
    held.write_text("age,job,income\n20,clown,low\n22,clerk,low\n")
    found = run_json("evaluate", model, held)
    assert found["samples"] == 2
    assert found["metrics"]["accuracy"] == 1.0
    for words in (("evaluate", model, held), ("explain", model, held, "--row", 0)):
        assert "note: job: 1 row has values" in run(*words).stderr


def test_classes_with_long_names_are_evaluated(tmp_path):
    long = "a class with a name of more letters than are kept in an array of fixed width by far"
    (tmp_path / "long.csv").write_text("x,class\n" + f"1,{long}\n0,short\n" * 10)
    path = tmp_path / "long.model"
    run("fit", tmp_path / "long.csv", "--out", path, "--quiet")
    found = run_json("evaluate", path, tmp_path / "long.csv")
    assert found["classes"] == [long, "short"]
    assert found["metrics"]["error"] == 0.0


def test_a_row_is_explained_by_naive_bayes_without_a_warning(tmp_path):
    (tmp_path / "counts.csv").write_text("x,z,class\n1,0,a\n0,2,b\n3,1,a\n0,1,b\n")
    path = tmp_path / "counts.model"
    run("fit", tmp_path / "counts.csv", "--model", "multinomial-nb", "--out", path, "--quiet")
    (line,) = run("explain", path, tmp_path / "counts.csv", "--row", 0).stderr.splitlines()
    assert line.startswith("read counts.csv: csv")


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_fitted(people, model, monkeypatch):
    out = people.parent / "nowhere" / "out"
    (line,) = refused("predict", model, people, "--out", out)
    assert line == f"Error: {out}: cannot write: No such file or directory"

    monkeypatch.setattr(SVC, "fit", lambda *_: pytest.fail("it was fitted"))
    (line,) = refused("fit", people, "--out", out)
    assert line == f"Error: cannot write {out}: the folder does not exist"


def test_the_small_fits_of_a_dry_run_do_not_warn(people):
    planned = run("fit", people, "--model", "qda", "--dry-run")
    assert [line[:5] for line in planned.stderr.splitlines()] == ["read "]
    assert "would fit to 10 samples" in planned.stdout


def test_the_layout_of_a_table_can_be_given(tmp_path):
    rows = "".join(f"{i};{i % 3};{'ab'[i % 2]}\n" for i in range(20))
    (tmp_path / "odd.data").write_text("0;1;2\n" + rows)
    words = ["--format", "csv", "--delimiter", ";", "--header", "--target", "2", "--model", "lda"]
    found = run_json("fit", tmp_path / "odd.data", *words, "--out", tmp_path / "m")
    assert found["classes"] == ["a", "b"]
    assert found["samples"] == 20
    refused = run("fit", tmp_path / "odd.data", "--format", "magic", code=1)
    assert "csv" in refused.stderr


def test_a_set_with_a_test_part_is_measured_on_it(tmp_path, monkeypatch):
    digits = read_by_name("digits")
    halves = replace(
        digits, X=digits.X[:900], y=digits.y[:900], X_test=digits.X[900:], y_test=digits.y[900:]
    )
    monkeypatch.setattr(find.catalogue, "load", lambda _name: halves)
    run("fit", "digits", "--model", "knn", "--out", tmp_path / "m", "--quiet")
    assert run_json("evaluate", tmp_path / "m", "digits")["samples"] == 897
