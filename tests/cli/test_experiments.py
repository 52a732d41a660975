from itertools import pairwise

import pytest
from tests.cli.command import run, run_json

from separatrix.cli.experiments import compare as compare_command
from separatrix.studies.catalogue import NAMED

SMALL = """
data = "iris"
[split]
repeats = 2
[[model]]
type = "GaussianNB"
[[model]]
type = "LinearDiscriminantAnalysis"
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def test_the_names_are_listed():
    assert {row["name"] for row in run_json("experiments")} == set(NAMED)
    assert "usps-kernel-perceptron" in run("experiments").stdout


@pytest.mark.slow
def test_a_file_is_run_and_leaves_a_table_and_a_page(small, tmp_path):
    done = run("run", small, "--out", tmp_path / "out")
    assert "GaussianNB" in done.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "report.html",
        "results.csv",
        "results.parquet",
        "run.json",
        "steps",
    }
    found = run_json("run", small, "--out", tmp_path / "out")
    assert {row["model"] for row in found["rows"]} == {"GaussianNB", "LinearDiscriminantAnalysis"}


def test_a_dry_run_names_the_steps_and_writes_nothing(small, tmp_path):
    shown = run("run", small, "--dry-run", "--out", tmp_path / "out").stdout
    assert "GaussianNB: split 2" in shown
    assert not (tmp_path / "out").exists()
    assert len(run_json("run", small, "--dry-run")["steps"]) == 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "usps-kernel-perceptron",
            "--quick --test-share 0.3 --rows 500 --max-iter 5 --degrees 1,3",
        ),
        (
            "knn-and-perceptron",
            "--data digits --rows 300 --test-share 0.2 --metric manhattan --k 7",
        ),
        ("mnist-parity", "--v 1,3 --alpha 0.001 --eps 0.01 --mu 0.2 --test-share 0.25"),
    ],
)
def test_a_dry_run_shows_the_parameters_of_a_study(name, words):
    shown = run("run", name, *words.split(), "--dry-run").stdout
    given = words.split()
    pairs = {f"{a} {b}" for a, b in pairwise(given) if a.startswith("--") and b[0] != "-"}
    assert [pair for pair in pairs if pair not in shown] == []
    options = run_json("run", name, *given, "--dry-run")["options"]
    assert options["test_size"] == float(given[given.index("--test-share") + 1])


def test_columns_of_a_table_get_the_roles_that_fit_and_compare_give_them(tmp_path):
    rows = "\n".join(f"id{i:03d};{i},5;{'xy'[i % 2]};n{i % 7};{'ab'[i % 2]}" for i in range(40))
    (tmp_path / "mine.csv").write_text("key;size;shape;note;kind\n" + rows + "\n")
    roles = '[roles]\ndrop = ["note"]\n[[model]]'
    text = SMALL.replace('"iris"', '"mine.csv"\ntarget = -1').replace("[[model]]", roles, 1)
    (tmp_path / "mine.toml").write_text(text)
    shown = run("run", tmp_path / "mine.toml", "--dry-run")
    assert "1 number, 1 category, 1 id (dropped), 1 column (dropped)" in shown.stderr
    assert "numbers written as 1.234,5" in shown.stderr
    (tmp_path / "mine.toml").write_text(text.replace("drop", "dorp"))
    refused = run("run", tmp_path / "mine.toml", "--dry-run", code=1)
    assert "unknown key `dorp`, expected one of drop, text" in refused.stderr


@pytest.mark.slow
def test_a_file_of_data_beside_the_experiment_is_found(tmp_path):
    rows = "\n".join(f"{i % 7},{i % 5},{'ab'[i % 2]}" for i in range(40))
    (tmp_path / "mine.csv").write_text("x,z,kind\n" + rows + "\n")
    (tmp_path / "mine.toml").write_text(SMALL.replace('"iris"', '"mine.csv"\ntarget = "kind"'))
    assert (
        "LinearDiscriminant" in run("run", tmp_path / "mine.toml", "--out", tmp_path / "o").stdout
    )


@pytest.mark.parametrize(
    ("words", "code", "caption"),
    [
        (["run", "no-such"], 1, "unknown experiment 'no-such'"),
        (["run", "nowhere.toml"], 1, "there is no file nowhere.toml"),
        (["run", "linear-classifiers", "--classifier", "knn"], 1, "has no option --classifier"),
        (["run", "usps-kernel-perceptron", "--repeats", "0"], 2, "Invalid value"),
        (["run", "usps-kernel-perceptron", "--degrees", "0"], 1, "degrees from 1 to 50"),
        (["run", "mnist-parity", "--alpha", "0"], 1, "`alpha` of mnist-parity must be"),
        (["run", "knn-and-perceptron", "--test-share", "2"], 2, "Invalid value for '--test-share'"),
        (["run", "knn-and-perceptron", "--alpha", "1"], 1, "has no option --alpha"),
        (["compare", "nowhere.csv"], 3, "there is no file nowhere.csv"),
        (["compare", "iris", "--models", "oracle"], 1, "oracle"),
    ],
)
def test_what_cannot_be_run_is_one_line_with_a_hint(words, code, caption, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*words, code=code)
    assert caption in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_compare_prints_a_leaderboard_and_writes_a_page(tmp_path):
    words = ["compare", "iris", "--models", "lda,gaussian-nb", "--cv", 3, "--out", tmp_path]
    done = run(*words)
    assert "linear discriminant" in done.stdout
    assert "naive Bayes, Gaussian" in (tmp_path / "report.html").read_text()
    rows = run_json(*words)["rows"]
    assert {"p_holm", "fit_seconds", "behind"} <= set(rows[0])


def test_ctrl_c_ends_with_130_and_keeps_what_is_done(small, tmp_path, monkeypatch):
    from separatrix.experiments import protocol

    one = protocol.StudyProtocol.run_split

    def interrupted(self, context, f, number):
        if number == 1:
            raise KeyboardInterrupt
        return one(self, context, f, number)

    monkeypatch.setattr(protocol.StudyProtocol, "run_split", interrupted)
    done = run("run", small, "--out", tmp_path / "out", code=130)
    assert "interrupted" in done.stderr
    assert len(list((tmp_path / "out" / "steps").iterdir())) == 1


def test_the_best_of_a_comparison_is_saved_with_its_test_error(tmp_path):
    path = tmp_path / "best.model"
    words = ["--models", "lda,gaussian-nb", "--cv", 3, "--repeats", 1, "--save-best", path]
    found = run_json("compare", "iris", *words, "--baselines", "--budget", "1h")
    assert found["files"] == [str(path)]
    assert len(found["rows"]) == 5
    card = run("info", path).stdout
    assert "best of 5 compared" in card
    assert f"test error {found['rows'][0]['test_error']:.2f} %" in card
    assert len(run_json("predict", path, "iris")["predictions"]) == 150
    nowhere = run("compare", "iris", "--save-best", tmp_path / "no" / "m", code=1)
    assert "the folder does not exist" in nowhere.stderr


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60), ("2m", 120), ("1.5h", 5400), ("90", 90), ("none", None)]
)
def test_a_budget_is_a_time(text, seconds):
    assert (
        compare_command.make_context("compare", ["a", "--budget", text]).params["budget"] == seconds
    )


def test_a_budget_that_is_no_time_is_refused():
    for text in ("soon", "0", "-3s"):
        assert "60s, 2m or 1h" in run("compare", "iris", "--budget", text, code=2).stderr


def test_groups_and_times_split_a_comparison(tmp_path):
    rows = [f"{i % 7 + (i % 2)},{i // 5},{'ab'[i % 2]}" for i in range(60)]
    table = tmp_path / "a.csv"
    table.write_text("\n".join(["x,who,label", *rows]))
    words = ["compare", table, "--models", "lda,perceptron", "--cv", 3, "--repeats", 1]
    assert "3 folds of whole groups, once" in run(*words, "--group", "who").stdout
    assert "3 later periods" in run(*words, "--time", "who").stdout
    weighted = run(*words, "--class-weight", "balanced")
    assert "without weights of classes: linear discriminant" in weighted.stderr
    missing = run(*words, "--group", "nobody", code=1)
    assert "has no column 'nobody'" in missing.stderr


def test_the_keys_of_models_are_listed_and_a_mistyped_one_is_guessed():
    shown = run("models").stdout
    assert "key      svm-poly (SVM, polynomial)" in shown
    wrong = run("compare", "iris", "--models", "kernel-percepton", code=1).stderr
    assert "did you mean 'kernel-perceptron'?" in wrong


def test_a_column_is_kept_beside_the_predictions(tmp_path):
    table, path = tmp_path / "a.csv", tmp_path / "m"
    rows = [f"p{i},{i % 2 + i / 100},{'ab'[i % 2]}" for i in range(30)]
    table.write_text("\n".join(["name,x,label", *rows]))
    bare = tmp_path / "b.csv"
    bare.write_text("\n".join(line.partition(",")[2] for line in ["name,x,label", *rows]))
    run("fit", bare, "--model", "lda", "--out", path, "--quiet")
    lines = run("predict", path, table, "--keep", "name").stdout.splitlines()
    assert lines[0] == "row,name,prediction"
    assert lines[1] == "0,p0,a"
    assert run_json("predict", path, table, "--keep", "name")["kept"]["name"][2] == "p2"
