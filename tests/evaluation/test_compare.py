import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.pipeline import make_pipeline

from separatrix import (
    SVC,
    GaussianNB,
    KernelPerceptron,
    LinearDiscriminantAnalysis,
    Perceptron,
    compare,
    evaluate,
)
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.comparison import COLUMNS
from separatrix.evaluation.statistics import corrected_t, holm
from separatrix.evaluation.suite import suite
from separatrix.kernels import Gaussian

X, Y = load_iris(return_X_y=True)
FEW = ["knn", "lda", "gaussian-nb", "perceptron"]
SENSIBLE = {"lda": LinearDiscriminantAnalysis(), "bayes": GaussianNB()}


class Always(ClassifierMixin, BaseEstimator):
    """Says the first class it met; raises, warns or is interrupted when told to."""

    def __init__(self, trouble=None):
        self.trouble = trouble

    def fit(self, X, y):
        if isinstance(self.trouble, BaseException | type):
            raise self.trouble
        if self.trouble == "warn":
            warnings.warn("not yet", ConvergenceWarning, stacklevel=2)
            warnings.warn("by the way", UserWarning, stacklevel=2)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_folds_test_every_row_once_a_repeat_in_the_same_way_for_all():
    found = compare(SENSIBLE, X, Y, cv=5, repeats=2)
    one, two = found.evaluations.values()
    assert len(one.splits) == 10
    for repeat in (one.splits[:5], one.splits[5:]):
        tested = np.concatenate([split.test for split in repeat])
        np.testing.assert_array_equal(np.sort(tested), np.arange(150))
    for (train, test), (_, same) in zip(one.splits, two.splits, strict=True):
        np.testing.assert_array_equal(test, same)
        np.testing.assert_array_equal(np.bincount(Y[test]), [10, 10, 10])
        assert set(train) == set(range(150)) - set(test)
    assert str(found).startswith("5 folds, 2 times, 120 rows to train and 30 to test, seed 0")


def test_errors_are_those_of_fitting_every_fold_by_itself():
    models = {"kernel": SVC(gamma=0.5), **SENSIBLE}
    found = compare(models, X, Y, cv=3, repeats=1)
    for name, model in models.items():
        evaluation = found.evaluations[name]
        for number, (train, test) in enumerate(evaluation.splits):
            alone = clone(model).fit(X[train], Y[train])
            assert evaluation.test_error[0, number] == pytest.approx(
                1 - alone.score(X[test], Y[test])
            )
            assert evaluation.train_error[0, number] == pytest.approx(
                1 - alone.score(X[train], Y[train])
            )


def test_the_table_has_the_corrected_test_and_holm_over_all_pairs():
    models = {**SENSIBLE, "first": Always(), "kernel": SVC()}
    found = compare(models, X, Y, cv=5, repeats=2)
    errors = {name: e.test_error[0] for name, e in found.evaluations.items()}
    names = list(models)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    p = [corrected_t(errors[a] - errors[b], 1 / 4, rows=30).p for a, b in pairs]
    adjusted = dict(zip(map(frozenset, pairs), holm(p), strict=True))
    rows = found.rows()
    assert rows[0]["p_value"] is None
    assert rows[0]["p_holm"] is None
    for row in rows[1:]:
        pair = frozenset((row["model"], found.best))
        assert row["p_holm"] == pytest.approx(adjusted[pair])
        assert row["p_value"] == pytest.approx(p[[frozenset(q) for q in pairs].index(pair)])
        assert row["low"] <= row["test_error"] <= row["high"]
    assert rows[-1]["model"] == "first"
    assert rows[0]["model"] == found.best
    assert rows[0]["behind"] == 0
    assert [row["test_error"] for row in rows] == sorted(row["test_error"] for row in rows)
    assert rows[-1]["p_holm"] < 1e-5
    assert [set(pair["models"]) for pair in found.pairs()] == [set(pair) for pair in pairs]


@pytest.mark.slow
def test_the_leaderboard_can_be_read():
    found = compare(FEW, X, Y, cv=5, repeats=1)
    text = str(found)
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert "nearest neighbours: n_neighbors=" in text
    rows = {row["model"]: row for row in found.rows()}
    assert set(rows) == {
        "nearest neighbours",
        "linear discriminant",
        "naive Bayes, Gaussian",
        "perceptron, averaged",
    }
    assert [list(c) for c in rows["nearest neighbours"]["chosen"]] == [["n_neighbors"]] * 5
    assert {c["shrinkage"] for c in rows["linear discriminant"]["chosen"]} <= {"auto", 0.001}
    assert rows["perceptron, averaged"]["chosen"] == []
    for row in rows.values():
        assert row["fit_seconds"] > 0
        assert row["predict_seconds"] > 0
        assert row["seconds"] >= 5 * row["fit_seconds"]


def test_kernels_that_share_their_work_have_no_time_of_their_own():
    found = compare({"kernel": KernelPerceptron(Gaussian(0.5), max_iter=3)}, X, Y, repeats=2)
    assert found.rows()[0]["fit_seconds"] is None
    assert found.rows()[0]["seconds"] > 0
    assert " - " in str(found)


@pytest.mark.parametrize(
    "samples",
    [
        X,
        csr_array(X),
        pd.DataFrame(X, columns=list("abcd")),
        pl.DataFrame(X, schema=list("abcd")),
        X.tolist(),
    ],
)
def test_samples_come_in_any_form(samples):
    plain = compare(SENSIBLE, X, Y, cv=3, repeats=1)
    found = compare(SENSIBLE, samples, Y.tolist(), cv=3, repeats=1)
    for name, evaluation in plain.evaluations.items():
        np.testing.assert_allclose(found.evaluations[name].test_error, evaluation.test_error)


def test_texts_and_sequences_are_compared():
    texts = ["win cash now", "see you at noon", "cash prize win", "call me at home"] * 6
    labels = np.array(["spam", "ham"] * 12)
    found = compare(["multinomial-nb", "linear-svm"], texts, labels, cv=3, repeats=1)
    assert found.rows()[0]["test_error"] == 0
    assert found.rows()[0]["high"] > 5  # of 24 rows
    sites = ["acgtac", "ttgaca"] * 12
    found = compare(["bernoulli-nb", "lda"], sites, labels, cv=3, repeats=1, kind="sequences")
    assert found.rows()[0]["test_error"] == 0


def test_missing_values_are_filled_inside():
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    found = compare(FEW, holes, Y, cv=3, repeats=1)
    assert not found.failed
    assert found.rows()[0]["test_error"] < 10


def test_a_model_that_fails_is_listed_and_the_others_go_on():
    broken = Always(RuntimeError("lost\nits way"))
    seen = []
    found = compare(
        {"broken": broken, **SENSIBLE},
        X,
        Y,
        cv=3,
        repeats=1,
        done=lambda name, evaluation: seen.append((name, evaluation.name)),
    )
    assert seen == [("lda", "lda"), ("bayes", "bayes")]
    assert found.failed == {"broken": "RuntimeError: lost its way"}
    assert "failed:\n  broken: RuntimeError: lost its way" in str(found)
    with pytest.raises(RuntimeError, match="lost"):
        compare({"broken": broken}, X, Y, repeats=2)
    with pytest.raises(DataError, match="a: RuntimeError: lost its way; b: RuntimeError"):
        compare({"a": broken, "b": broken}, X, Y, repeats=2)


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        compare({"stop": Always(KeyboardInterrupt), **SENSIBLE}, X, Y, repeats=2)


def test_an_interrupt_keeps_what_is_finished():
    models = {**SENSIBLE, "stop": Always(KeyboardInterrupt), "never": GaussianNB()}
    found = compare(models, X, Y, cv=3, repeats=1)
    assert set(found.evaluations) == set(SENSIBLE)
    assert found.not_tried == {"stop": "interrupted", "never": "interrupted"}
    assert str(found).startswith("Interrupted: only what was finished is listed. Not tried: stop; ")


def test_what_is_too_slow_is_said_first_and_something_like_it_steps_in():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(10_200, 2))
    circle = (np.hypot(*many.T) < 1.2).astype(int)
    models = suite(many, circle)
    assert list(models.not_tried) == ["SVM, Gaussian", "SVM, polynomial", "kernel perceptron"]
    assert "linear SVM, Nystroem features" in models
    assert "linear SVM, Nystroem features" not in suite(X, Y)
    few = suite(many, circle, models=["nystroem-svm", "lda"])
    few.not_tried.update(models.not_tried)
    found = compare(few, many, circle, cv=2, repeats=1)
    assert found.best == "linear SVM, Nystroem features"
    assert found.rows()[0]["test_error"] < 2
    assert str(found).startswith(
        "Not tried: SVM, Gaussian; SVM, polynomial; kernel perceptron (slow above 10,000 rows; got 10,200)"
    )


def test_no_neighbour_of_a_class_does_not_make_it_impossible():
    found = compare(["knn"], X, Y, cv=5, repeats=1).rows()[0]
    assert 0 < found["log_loss"] < 0.3


def test_fits_off_their_tolerance_are_counted_and_other_warnings_given_once():
    with pytest.warns(UserWarning, match="by the way") as caught:
        found = compare({"slow": Always("warn"), **SENSIBLE}, X, Y, cv=3, repeats=2)
    assert len(caught) == 1
    assert found.unfinished == {"slow": 6}
    assert "not converged:\n  *slow: 6 fits" in str(found)
    assert "\n*slow " in str(found)
    assert {row["model"]: row["converged"] for row in found.rows()}["slow"] is False


def test_groups_stay_together():
    groups = np.arange(150) // 5
    for cv in (None, 5):
        found = compare({"bayes": GaussianNB()}, X, Y, cv=cv, repeats=2, groups=groups)
        for train, test in found.evaluations["bayes"].splits:
            assert not set(groups[train]) & set(groups[test])
        assert "of whole groups" in str(found)
    with pytest.raises(DataError, match="X has 150 samples, but groups has 3 values"):
        compare(SENSIBLE, X, Y, groups=[1, 2, 3])


def test_the_same_seed_gives_the_same_table():
    one, two = (compare(FEW, X, Y, cv=3, repeats=1, random_state=7) for _ in range(2))
    for name, evaluation in one.evaluations.items():
        np.testing.assert_array_equal(
            evaluation.predicted[0, 1], two.evaluations[name].predicted[0, 1]
        )
    other = compare(FEW, X, Y, cv=3, repeats=1, random_state=8)
    first = next(iter(one.evaluations.values())).splits[0].test
    assert first.tolist() != next(iter(other.evaluations.values())).splits[0].test.tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"models": {}}, "a dict with at least one classifier"),
        ({"models": [Perceptron()]}, "a dict with at least one classifier"),
        ({"models": 3}, "a dict with at least one classifier"),
        ({"models": ["svm", "trees"]}, "`models` of suite must be keys among svm"),
        ({"cv": 1}, "`cv` of compare must be an integer of at least 2"),
        ({"repeats": 0}, "`repeats` of compare must be an integer of at least 1"),
        ({"random_state": -1}, "`random_state` of compare"),
    ],
)
def test_what_cannot_be_compared_is_said(arguments, sentence):
    call = {"models": SENSIBLE, **arguments}
    with pytest.raises(ParameterError, match=sentence):
        compare(call.pop("models"), X, Y, **call)


def test_labels_that_are_missing_are_named():
    for arguments in ((X, Y), (SENSIBLE, X)):
        with pytest.raises(DataError, match="y is missing: pass samples X and their labels y"):
            compare(*arguments)
    with pytest.raises(DataError, match="y is missing"):
        evaluate(Perceptron(), X, None)


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [(np.linspace(0, 1, 150), "Unknown label type"), (["a"] * 150, "at least 2 classes; got one")],
)
def test_labels_that_are_no_classes_are_refused_before_anything_is_trained(labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare("all", X, labels, cv=5)


def test_a_feature_chosen_with_the_test_rows_leaks_and_one_chosen_inside_does_not():
    """Labels are coins and features noise: the true error is 50 per cent."""
    rng = np.random.default_rng(0)
    noise, coins = rng.normal(size=(80, 3000)), np.arange(80) % 2
    best = SelectKBest(f_classif, k=10)
    inside = {"inside": make_pipeline(best, LinearDiscriminantAnalysis())}
    honest = compare(inside, noise, coins, cv=5, repeats=2).rows()[0]
    seen = best.fit_transform(noise, coins)  # with the rows that will be tested
    leaking = compare({"outside": LinearDiscriminantAnalysis()}, seen, coins, cv=5, repeats=2)
    assert honest["low"] < 50 < honest["high"]
    assert leaking.rows()[0]["high"] < 25


def test_tuning_on_noise_finds_nothing():
    """Every classifier of the suite is tuned, and on coins none is better than a coin."""
    rng = np.random.default_rng(1)
    noise, coins = rng.normal(size=(90, 30)), np.arange(90) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the evidence says that the features say nothing
        found = compare(["svm", "knn", "logistic", "gaussian-nb"], noise, coins, cv=5, repeats=2)
    for row in found.rows():
        assert row["high"] > 45, row["model"]


def test_a_column_that_is_the_target_is_seen_for_what_it_is():
    rng = np.random.default_rng(0)
    noise, coins = rng.normal(size=(100, 5)), np.arange(100) % 2
    leak = np.column_stack([noise, coins])
    assert compare(["lda"], leak, coins, cv=5, repeats=1).rows()[0]["test_error"] < 5
    assert compare(["lda"], noise, coins, cv=5, repeats=1).rows()[0]["test_error"] > 30


def test_what_is_left_out_is_listed():
    found = compare("all", X[::3], Y[::3], cv=2, repeats=1)
    assert found.left_out == suite(X[::3], Y[::3]).left_out
    assert "left out:\n  naive Bayes, multinomial: needs counts" in str(found)
