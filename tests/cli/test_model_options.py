"""Options around a model on one's own file: costs, rejection, thresholds, scaling, maps, held-out rows."""

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from tests.cli.command import run, run_json

from separatrix import BayesDecision, FisherDiscriminant, LogisticRegression, SubgradientSVC, load
from separatrix.data.catalogue import load as read_by_name
from separatrix.data.splits import stratified_folds, stratified_splits
from separatrix.data.targets import indicator

LOSS = [[0, 1], [10, 0]]  # harmless, tumour


@pytest.fixture(scope="module")
def cancer():
    """Features of two halves, and their labels as words."""
    X, y = load_breast_cancer(return_X_y=True)
    X, words = X[:, :6], np.array(["tumour", "harmless"])[y]
    return X[::2], words[::2], X[1::2], words[1::2]


@pytest.fixture(scope="module")
def files(cancer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cancer")
    for name, X, y in (("train", *cancer[:2]), ("test", *cancer[2:])):
        lines = [",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True)]
        (folder / f"{name}.csv").write_text("a,b,c,d,e,f,kind\n" + "\n".join(lines) + "\n")
    (folder / "costs.csv").write_text("true,tumour,harmless\nharmless,1,0\ntumour,0,10\n")
    return folder


def scaled(cancer):
    X, y, X_test, y_test = cancer
    mean, sd = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / sd, y, (X_test - mean) / sd, y_test


@pytest.mark.parametrize("given", [["--cost", "tumour,harmless=10"], ["--costs", "costs.csv"]])
def test_costs_from_words_or_a_file_decide_like_the_formula(cancer, files, given, tmp_path):
    words = [files / word if word.endswith(".csv") else word for word in given]
    path = tmp_path / "m"
    fit = ["fit", files / "train.csv", "--model", "logistic", "--quiet", "--out", path]
    run(*fit, *words, "--reject-cost", 0.3)
    X, y, X_test, y_test = scaled(cancer)
    P = LogisticRegression().fit(X, y).predict_proba(X_test)
    E = P @ np.array(LOSS, dtype=float)
    wanted = np.where(E.min(axis=1) > 0.3, "reject", np.array(["harmless", "tumour"])[E.argmin(1)])
    found = run_json("predict", path, files / "test.csv")["predictions"]
    assert np.mean(np.array(found) == wanted) > 0.995  # rounding at the boundary
    assert isinstance(load(path), BayesDecision)

    scores = run_json("evaluate", path, files / "test.csv")
    true = np.array(["harmless", "tumour"]).searchsorted(y_test)
    cost = np.where(wanted == "reject", 0.3, np.array(LOSS)[true, E.argmin(axis=1)])
    assert scores["mean_cost"] == pytest.approx(cost.mean(), abs=0.05)
    assert scores["rejected"] == pytest.approx((wanted == "reject").sum(), abs=2)
    assert np.sum(scores["confusion"]) == scores["samples"] - scores["rejected"]

    # the same costs given to a model without them
    run(*fit)
    again = run_json("predict", path, files / "test.csv", *words, "--reject-cost", 0.3)
    assert again["predictions"] == found
    other = run_json("evaluate", path, files / "test.csv", *words, "--reject-cost", 0.3)
    assert other["mean_cost"] == pytest.approx(scores["mean_cost"])


def test_a_threshold_is_given_or_tuned(cancer, files, tmp_path):
    path = tmp_path / "m"
    run("fit", files / "train.csv", "--model", "lda", "--threshold", 0.9, "--out", path, "--quiet")
    shown = list(
        csv.DictReader(io.StringIO(run("predict", path, files / "test.csv", "--proba").stdout))
    )
    for row in shown:
        assert (row["prediction"] == "tumour") == (float(row["p(tumour)"]) >= 0.9)
    low = run_json("predict", path, files / "test.csv", "--threshold", 0.01)["predictions"]
    assert low.count("tumour") > [row["prediction"] for row in shown].count("tumour")
    words = ["--threshold", "tune", "--cost", "tumour,harmless=10", "--out", path, "--quiet"]
    run("fit", files / "train.csv", "--model", "lda", *words)
    assert load(path).held_out_curve_.best_threshold == load(path).threshold_ < 0.5


def test_fishers_discriminant_is_an_embedding_unless_it_has_a_threshold(cancer, files, tmp_path):
    path = tmp_path / "m"
    done = run("fit", files / "train.csv", "--model", "fisher", "--scale", "none", "--out", path)
    X, y, X_test, _ = cancer
    model = FisherDiscriminant().fit(X, y)
    assert f"scatter ratio of each axis {model.scatter_ratio_[0]:.4g}" in done.stdout
    assert "error" not in done.stdout
    found = run_json("predict", path, files / "test.csv")
    np.testing.assert_allclose(found["coordinates"], model.transform(X_test), rtol=1e-9)
    table = run("predict", path, files / "test.csv").stdout.splitlines()
    assert table[0] == "row,axis 1"
    assert len(table) == 1 + len(X_test)
    refusal = run("evaluate", path, files / "test.csv", code=1).stderr
    assert "is an embedding, not a classifier" in refusal
    assert "has no error on held-out rows" in run(
        "fit", files / "train.csv", "--model", "fisher", "--folds", 3, code=1
    ).stderr  # fmt: skip
    words = ["--set", "threshold=midpoint", "--out", path, "--quiet"]
    run("fit", files / "train.csv", "--model", "FisherDiscriminant", *words)
    labels = run_json("predict", path, files / "test.csv")["predictions"]
    classes = FisherDiscriminant(threshold="midpoint").fit(X, y).predict(X_test)
    assert labels == classes.tolist()


def test_a_subgradient_machine_with_constants_and_labels(tmp_path):
    path = tmp_path / "m"
    constants = {"alpha": 1e-3, "eps": 1e-3, "mu": 1e-2}
    words = [word for name, value in constants.items() for word in ("--set", f"{name}={value}")]
    fit = ["fit", "digits", "--model", "SubgradientSVC", *words, "--positive", "1,3,5,7,9"]
    done = run(*fit, "--no-scale", "--out", path)
    digits = read_by_name("digits")
    y = indicator(digits.y, {1, 3, 5, 7, 9})
    model = SubgradientSVC(**constants).fit(digits.X, y)
    np.testing.assert_allclose(load(path)[-1].coef_, model.coef_, rtol=1e-12)
    assert "906 of 1797 rows are positive" in done.stderr
    assert "preprocessing: none" in done.stderr
    found = run_json("evaluate", path, "digits", "--positive", "1,3,5,7,9")
    assert found["metrics"]["error"] == pytest.approx(1 - model.score(digits.X, y))
    without = run("evaluate", path, "digits")
    assert "906 of 1797 rows are positive; the model was fitted with them" in without.stderr
    assert run_json("evaluate", path, "digits")["metrics"] == found["metrics"]


def test_labels_are_marked_as_for_the_fit_also_where_some_are_missing(tmp_path):
    rng = np.random.default_rng(0)
    for name, kinds in (("train", "abcd"), ("test", "abd")):
        rows = [(*rng.normal(size=2) + (word in "ac"), word) for word in kinds * 20]
        (tmp_path / f"{name}.csv").write_text(
            "u,v,kind\n" + "".join(f"{x},{y},{word}\n" for x, y, word in rows)
        )
    path = tmp_path / "m"
    run("fit", tmp_path / "train.csv", "--positive", "a,c", "--model", "lda", "--out", path)
    found = run_json("evaluate", path, tmp_path / "test.csv")
    assert found["classes"] == [-1, 1]
    assert np.sum(found["confusion"], axis=1).tolist() == [40, 20]
    given = run("evaluate", path, tmp_path / "test.csv", "--positive", "a,c", code=1).stderr
    assert "some, but not all, of the labels a, b, d" in given


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ([], "StandardScaler()"),
        (["--scale", "minmax"], "MinMaxScaler()"),
        (["--scale", "standard", "--features", "polynomial:2"], "PolynomialMap(degree=2)"),
        (["--features", "nystroem:20"], "Nystroem(n_components=20)"),
        (["--features", "fourier:30", "--no-scale"], "RandomFourier(n_components=30)"),
    ],
)
def test_preprocessing_is_printed_saved_and_used(files, words, step, tmp_path):
    path = tmp_path / "m"
    done = run("fit", files / "train.csv", "--model", "lda", *words, "--out", path)
    assert step in done.stderr
    kept = load(path)
    scale = dict(kept.steps).get("scale")
    assert (scale is None) == ("--no-scale" in words)
    assert type(kept[-2]).__name__ == step.split("(")[0]
    assert len(run_json("predict", path, files / "test.csv")["predictions"]) == 284
    if "polynomial:2" in words:
        assert kept[-1].n_features_in_ == 6 + 6 * 7 // 2
        assert "a^2" in run("explain", path, "--count", 27).stdout


def test_the_printed_error_is_of_rows_that_were_held_out(cancer, files, tmp_path):
    path = tmp_path / "m"
    X, y = cancer[:2]

    def wrong(splits):
        errors = [
            (LogisticRegression().fit((X[a] - X[a].mean(0)) / X[a].std(0), y[a])
             .predict((X[b] - X[a].mean(0)) / X[a].std(0)) != y[b])
            for a, b in splits
        ]  # fmt: skip
        return float(np.mean(np.concatenate(errors)))

    fit = ["fit", files / "train.csv", "--model", "logistic", "--out", path]
    folds = run_json(*fit, "--folds", 4)["held_out"]
    assert folds["rows"] == len(y)
    assert folds["error"] == pytest.approx(wrong(stratified_folds(y, folds=4, seed=0)))
    share = run_json(*fit, "--test-share", 0.25, "--seed", 3)
    once = stratified_splits(y, repeats=1, test_size=0.25, seed=3)
    assert share["held_out"]["error"] == pytest.approx(wrong(once))
    assert share["samples"] == len(y)  # the saved model is fitted to all rows
    error = 100 * share["held_out"]["error"]
    assert f"held-out error {error:.2f} %" in run("info", path).stdout
    line = run(*fit, "--test-share", 0.25, "--seed", 3).stdout
    assert f"held-out error {error:.2f} % (71 rows, a share of 0.25)" in line


def test_evaluation_on_training_rows_says_so(files, tmp_path):
    path = tmp_path / "m"
    run("fit", files / "train.csv", "--model", "lda", "--out", path, "--quiet")
    words = "these are the rows that the model was fitted to"
    assert words in run("evaluate", path, files / "train.csv").stdout
    assert words not in run("evaluate", path, files / "test.csv").stdout
    assert run_json("evaluate", path, files / "train.csv")["on_training_rows"] is True
    assert run_json("evaluate", path, files / "test.csv")["on_training_rows"] is False


def test_a_tuned_model_has_a_held_out_error_too(files, tmp_path):
    words = ["--model", "knn", "--test-share", 0.3, "--scale", "minmax", "--out", tmp_path / "m"]
    found = run_json("tune", files / "train.csv", *words)
    assert found["held_out"]["rows"] == 86
    assert found["preprocessing"] == ["MinMaxScaler()"]


@pytest.mark.parametrize("key", ["knn", "logistic", "lda"])
def test_a_tuned_model_decides_by_costs(files, key, tmp_path):
    path = tmp_path / "m"
    words = ["--cost", "tumour,harmless=10", "--reject-cost", 0.4, "--test-share", 0.3]
    done = run_json("tune", files / "train.csv", "--model", key, *words, "--out", path)
    kept = load(path)
    assert isinstance(kept, BayesDecision)
    assert kept.loss_matrix_.tolist() == [[0, 1, 0.4], [10, 0, 0.4]]
    assert done["held_out"]["mean_cost"] is not None
    assert done["chosen"] or key == "lda"
    found = run_json("predict", path, files / "test.csv")["predictions"]
    assert set(found) <= {"harmless", "tumour", "reject"}
    P = np.array(run_json("predict", path, files / "test.csv", "--proba")["probabilities"])
    E = np.column_stack([P @ np.array(LOSS, dtype=float), np.full(len(P), 0.4)])
    assert found == np.array(["harmless", "tumour", "reject"])[E.argmin(axis=1)].tolist()


def test_minus_one_may_be_a_class_beside_a_rejection(tmp_path):
    path = tmp_path / "m"
    words = ["--positive", "0,1", "--reject-cost", 0.1, "--model", "lda", "--out", path]
    printed = run("fit", "iris", *words, "--quiet").stdout
    found = run_json("predict", path, "iris")["predictions"]
    assert f", {found.count('reject')} rejected" in printed
    assert set(map(str, found)) <= {"-1", "1", "reject"}
    assert "reject" in found
    assert run_json("evaluate", path, "iris", "--positive", "0,1")["rejected"] == found.count(
        "reject"
    )


@pytest.mark.parametrize(
    ("words", "code", "caption"),
    [
        (["--cost", "tumour=10"], 1, "TRUE,PREDICTED=COST, such as tumour,harmless=10"),
        (["--cost", "0,7=2"], 1, "of the classes 0, 1, 2; got '7'"),
        (["--cost", "0,1=many"], 1, "TRUE,PREDICTED=COST"),
        (["--cost", "0,1=2", "--model", "svm"], 1, "need probabilities; SVC has none"),
        (["--threshold", "0.5"], 1, "there must be 2 classes; got 3"),
        (["--threshold", "half"], 1, "a probability or tune; got 'half'"),
        (["--reject-cost", "-1"], 2, "Invalid value"),
        (["--costs", "none.csv"], 2, "does not exist"),
        (["--features", "cubic"], 1, "polynomial:DEGREE, nystroem:FEATURES or fourier:FEATURES"),
        (["--features", "polynomial:0"], 1, "polynomial:DEGREE"),
        (["--positive", "9"], 1, "some, but not all, of the labels 0, 1, 2; got '9'"),
        (["--positive", "0,1,2"], 1, "some, but not all"),
        (["--no-scale", "--scale", "minmax"], 2, "exclude each other"),
        (["--test-share", "1.5"], 2, "Invalid value"),
        (["--test-share", "0.2", "--folds", "3"], 1, "`test_share` of fit"),
        (["--folds", "1"], 2, "Invalid value"),
    ],
)
def test_options_that_cannot_be_are_one_line(words, code, caption, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = [] if "--model" in words else ["--model", "logistic"]
    done = run("fit", "iris", *model, *words, code=code)
    assert caption in done.stderr
    assert "Traceback" not in done.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("1,2\n3,4\n", "found 2 lines of 2 values, expected 3 lines of 3 costs, or 4 of 4"),
        ("0,1,1\n1,0,x\n1,1,0\n", ":2:3: found 'x', expected a finite cost"),
        (",0,1,3\n0,0,1,1\n1,1,0,1\n3,1,1,0\n", "found 0, 1, 3, expected classes 0, 1, 2"),
        ("", "found 0 lines of no values"),
    ],
)
def test_a_broken_file_of_costs_is_named(text, caption, tmp_path):
    (tmp_path / "costs.csv").write_text(text)
    words = ["--model", "lda", "--costs", tmp_path / "costs.csv", "--out", tmp_path / "m"]
    assert caption in run("fit", "iris", *words, code=1).stderr


def test_texts_have_no_scale_and_sparse_rows_no_minmax(tmp_path):
    (tmp_path / "mails.txt").write_text("ham\tsee you\nspam\tyou won\n" * 5)
    (tmp_path / "four.svm").write_text("1 1:2 4:1\n0 1:1 2:3\n" * 5)
    text = run("fit", tmp_path / "mails.txt", "--scale", "minmax", code=1).stderr
    assert "needs a table of numbers, but mails.txt holds text" in text
    sparse = run("fit", tmp_path / "four.svm", "--scale", "minmax", code=1).stderr
    assert "would make the sparse four.svm dense" in sparse


def test_a_fit_prints_the_error_of_rows_it_has_not_seen_beside_the_others(files, tmp_path):
    path = tmp_path / "m"
    found = run_json("fit", files / "train.csv", "--model", "lda", "--out", path)
    assert found["held_out"]["rows"] == found["samples"]
    assert (
        0 < found["train_error"] < found["held_out"]["error"] < found["held_out"]["majority_error"]
    )
    line = run("fit", files / "train.csv", "--model", "lda", "--out", path).stdout
    for words in ("held-out error", "training error", "always "):
        assert words in line
    none = run_json("fit", files / "train.csv", "--model", "lda", "--no-held-out", "--out", path)
    assert none["held_out"] is None
    refused = ["fit", files / "train.csv", "--no-held-out", "--test-share", 0.2]
    assert "excludes --test-share" in run(*refused, code=2).stderr


def test_groups_times_and_weights_of_classes_on_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["x,z,patient,day,label"]
    for i in range(120):
        label = "ill" if i % 6 == 0 else "well"
        x = rng.normal() + 2 * (label == "ill")
        lines.append(f"{x:.3f},{rng.normal():.3f},{i // 4},{2020 + i // 10},{label}")
    table, path = tmp_path / "a.csv", tmp_path / "m"
    table.write_text("\n".join(lines))
    fit = ["fit", table, "--target", "label", "--model", "logistic", "--out", path]
    grouped = run_json(*fit, "--group", "patient")
    assert grouped["held_out"]["how"] == "5 folds of whole groups"
    assert grouped["features"] == 3
    later = run_json(*fit, "--time", "day", "--class-weight", "balanced")
    assert later["held_out"]["how"] == "5 later periods"
    assert later["held_out"]["balanced_accuracy"] > grouped["held_out"]["balanced_accuracy"]
    assert len(run_json("predict", path, table)["predictions"]) == 120
    both = run(*fit, "--group", "patient", "--time", "day", code=2)
    assert "--group and --time exclude each other" in both.stderr
    no_weights = ["fit", table, "--model", "gaussian-nb", "--class-weight", "balanced"]
    assert "takes no weights of classes" in run(*no_weights, "--target", "label", code=1).stderr


def test_a_model_that_did_not_converge_is_saved_with_that_mark(files, tmp_path):
    path = tmp_path / "m"
    words = ["--model", "linear-svm", "--set", "max_iter=1", "--set", "C=1000", "--out", path]
    found = run_json("fit", files / "train.csv", *words)
    assert found["converged"] is False
    assert "not converged" in run("info", path).stdout
    assert "the model card says so" in run("fit", files / "train.csv", *words).stderr


def test_a_mistyped_model_is_guessed(files):
    assert (
        "did you mean logistic?"
        in run("fit", files / "train.csv", "--model", "logistik", code=1).stderr
    )
