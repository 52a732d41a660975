import time
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from numba.core import event
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

from separatrix import GaussianNB, LinearDiscriminantAnalysis, compare
from separatrix.data.splits import Split, random_splits
from separatrix.errors import DataError, ParameterError
from separatrix.evaluation import race
from separatrix.evaluation.baselines import make_baselines
from separatrix.evaluation.profile import profile
from separatrix.evaluation.race import FIRST_ROWS, Race, merge_splits
from separatrix.evaluation.samples import CheckedSamples
from separatrix.evaluation.study import evaluate
from separatrix.runtime.time_limit import OutOfTime, time_limit

X, Y = load_iris(return_X_y=True)
SENSIBLE = {"lda": LinearDiscriminantAnalysis(), "bayes": GaussianNB()}
RNG = np.random.default_rng(0)
MANY = RNG.normal(size=(6000, 3))
SIGN = (MANY[:, 0] + 0.3 * RNG.normal(size=6000) > 0).astype(int)


class Slow(ClassifierMixin, BaseEstimator):
    """As good as the sign of a feature, after a while that grows with the rows."""

    def __init__(self, feature=0, seconds=0.0, trouble=None):
        self.feature, self.seconds, self.trouble = feature, seconds, trouble

    def fit(self, X, y):
        if self.trouble is not None and len(y) > 60:
            raise self.trouble
        end = time.monotonic() + self.seconds * (len(y) / FIRST_ROWS) * (len(y) > 60)
        while time.monotonic() < end:
            time.sleep(0.001)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, self.feature] > 0).astype(int)


def test_with_time_for_all_a_race_changes_nothing():
    plain = compare(SENSIBLE, X, Y, cv=5, repeats=2)
    timed = compare(SENSIBLE, X, Y, cv=5, repeats=2, budget=600)
    assert timed.not_tried == timed.raced == {}
    assert timed.splits_in_words == plain.splits_in_words
    for name, found in plain.evaluations.items():
        np.testing.assert_array_equal(timed.evaluations[name].test_error, found.test_error)
        assert timed.evaluations[name].predicted.keys() == found.predicted.keys()
    assert [row["model"] for row in timed.rows()] == [row["model"] for row in plain.rows()]


def test_splits_one_by_one_are_the_splits_together():
    whole = evaluate(GaussianNB(), X, Y, repeats=4)
    parts = [evaluate(GaussianNB(), X, Y, splits=[split]) for split in whole.splits]
    merged = merge_splits(parts)
    np.testing.assert_array_equal(merged.test_error, whole.test_error)
    np.testing.assert_array_equal(merged.confusion(), whole.confusion())
    np.testing.assert_allclose(merged.log_loss, whole.log_loss)
    assert len(merged.fit_seconds) == 4


def test_the_worse_ones_are_dropped_on_few_rows_and_the_best_runs_on_all():
    models = {f"noise {i}": Slow(1 + i % 2) for i in range(6)}
    models["sign"] = Slow(0)
    seen = []
    race = Race(
        models,
        CheckedSamples(MANY, SIGN),
        random_splits(6000, repeats=1, test_size=0.2, seed=0),
        budget=60.0,
        random_state=0,
        on_progress=lambda e, words: seen.append((len(e), words)),
    )
    race._time_for_all = lambda *_: False
    found = race.run()
    assert "sign" in found.evaluations
    assert len(found.evaluations["sign"].splits[0].train) == 4800
    assert len(found.evaluations) < 7
    assert found.raced
    assert all("% on " in words for words in found.raced.values())
    assert seen[0] == (1, "500 rows")


def test_one_that_takes_too_long_is_stopped_and_named():
    models = {"sign": Slow(0), "snail": Slow(0, seconds=1000.0)}
    found = compare(models, MANY, SIGN, cv=5, repeats=1, budget=1.5)
    assert list(found.evaluations) == ["sign"]
    assert found.not_tried["snail"].startswith("stopped after ")
    assert str(found).startswith("Not tried: snail (stopped after ")


def test_ctrl_c_ends_with_the_best_so_far():
    models = {**SENSIBLE, "stop": Slow(trouble=KeyboardInterrupt())}
    splits = [Split(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    found = Race(models, CheckedSamples(X, Y), splits, budget=60, random_state=0).run()
    assert found.interrupted
    assert set(found.evaluations) == set(SENSIBLE)
    assert found.not_tried == {"stop": "interrupted"}
    assert found.rows is None
    splits = [Split(np.arange(3000), np.arange(3000, 6000))]
    found = Race(models, CheckedSamples(MANY, SIGN), splits, budget=60, random_state=0).run()
    assert found.interrupted
    assert "bayes" in found.evaluations
    assert found.rows == FIRST_ROWS


def test_what_is_finished_on_few_rows_is_better_than_nothing():
    models = {"snail": Slow(0, seconds=3.0), "slug": Slow(1, seconds=3.0)}
    splits = random_splits(6000, repeats=1, test_size=0.2, seed=0)
    found = Race(models, CheckedSamples(MANY, SIGN), splits, budget=14.0, random_state=0).run()
    assert found.rows == FIRST_ROWS
    assert set(found.evaluations) == {"snail", "slug"}
    assert found.not_tried == {}


def test_a_budget_that_is_too_short_for_anything_is_said():
    with pytest.raises(DataError, match="snail: stopped after"):
        compare({"snail": Slow(0, seconds=1000.0)}, MANY, SIGN, cv=2, budget=0.2)
    with pytest.raises(ParameterError, match="`budget` of compare must be"):
        compare(SENSIBLE, X, Y, budget=0)


def test_a_busy_machine_gets_more_time_for_a_late_answer(monkeypatch):
    monkeypatch.setattr(race, "LATE", 0.05)
    monkeypatch.setattr(race, "expected_slowdown", lambda: 400.0)
    found = compare({"snail": Slow(0, seconds=0.5)}, MANY, SIGN, cv=2, budget=0.05)
    assert found.subset == FIRST_ROWS


def wait_for_ever():
    while True:
        with suppress(Exception):
            time.sleep(0.01)


def test_a_limit_stops_what_catches_every_exception():
    with pytest.raises(OutOfTime), time_limit(0.05):
        wait_for_ever()
    with time_limit(None):
        pass


def test_later_rows_test_and_baselines_are_said_in_words():
    found = compare(["lda"], X, Y, cv=4, times=np.arange(150) % 50, baselines=True)
    assert found.splits_in_words == "4 later periods"
    assert found.best == "linear discriminant"
    assert len(found.evaluations) == 4
    assert "the most frequent class is behind by " in found.verdict
    assert found.verdict in " ".join(str(found).split("\n"))
    with pytest.raises(ParameterError, match="`groups` of compare must be None with times"):
        compare(SENSIBLE, X, Y, times=Y, groups=Y)


def test_a_tree_that_is_better_is_recommended():
    corners = RNG.uniform(-1, 1, size=(600, 2))
    inside = (np.sign(corners[:, 0]) * np.sign(corners[:, 1]) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(["lda"], corners, inside, cv=5, baselines=True)
    assert "gradient boosting of scikit-learn is better by" in found.verdict
    assert "it would serve you better" in found.verdict


def test_an_alarm_during_a_compilation_leaves_numba_intact():
    from numba import njit

    def double(values):
        total = 0.0
        for i in range(values.shape[0]):
            total += 2.0 * values[i]
        return total

    for seconds in (0.002, 0.01, 0.03, 0.1):  # a compilation takes longer
        with suppress(OutOfTime), time_limit(seconds):
            njit(double)(np.ones(3))
            wait_for_ever()
        assert njit(double)(np.ones(3)) == 6.0


COMPILER = """
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
"""


class Cold(Slow):
    """Works for a second before its first fit, in a function of the compiler."""

    warm = False

    def fit(self, X, y):
        if not Cold.warm:
            compiler = {"__name__": "numba.pretended", "time": time}
            exec(COMPILER, compiler)
            with event.trigger_event("numba:compile"):
                compiler["work"](1.0)
            Cold.warm = True
        return super().fit(X, y)


def test_the_first_fit_on_a_small_table_is_not_part_of_the_budget():
    few = slice(0, 300)
    found = compare(
        {"cold": Cold(), "slow": Slow()}, MANY[few], SIGN[few], cv=3, repeats=1, budget=0.9
    )
    assert set(found.evaluations) == {"cold", "slow"}
    assert found.not_tried == {}


class Loading(Slow):
    """Works for a second before its first fit, but not to compile: as if it loaded from a cache."""

    warm = False

    def fit(self, X, y):
        if not Loading.warm:
            Loading.warm = True
            end = time.process_time() + 0.6
            while time.process_time() < end:
                pass
        return super().fit(X, y)


def test_loading_is_part_of_the_budget():
    few = slice(0, 300)
    samples = CheckedSamples(MANY[few], SIGN[few])
    one = [Split(np.arange(200), np.arange(200, 300))]
    timed = Race({"loading": Loading()}, samples, one, budget=30.0, random_state=0)
    timed.run()
    assert Loading.warm
    assert timed.budget == 30.0


class Waiting(Slow):
    """Waits in every fit, as on a busy machine, and does not work."""

    def fit(self, X, y):
        time.sleep(0.3)
        return super().fit(X, y)


def test_waiting_for_a_busy_machine_is_part_of_the_budget():
    few = slice(0, 300)
    models = {str(i): Waiting() for i in range(4)}
    race = Race(
        models,
        CheckedSamples(MANY[few], SIGN[few]),
        random_splits(300, repeats=2, test_size=0.2, seed=0),
        budget=2.0,
        random_state=0,
    )
    found = race.run()
    assert race.budget == 2.0  # not longer for fits that only waited
    assert 0 < len(found.evaluations) < 4
    assert set(found.not_tried) | set(found.evaluations) == set(models)


def test_a_budget_too_short_for_all_still_gives_an_answer():
    found = compare({"slow": Slow(0, seconds=0.5)}, MANY, SIGN, cv=2, budget=0.05)
    assert list(found.evaluations) == ["slow"]


def test_a_single_split_is_judged_by_its_rows():
    rows = slice(0, 300)
    models = {"good": Slow(0), "slower": Slow(0, 0.5)}
    found = compare(models, MANY[rows], SIGN[rows], cv=3, repeats=1, budget=600, baselines=True)
    one = {name: merge_splits([evaluation]) for name, evaluation in found.evaluations.items()}
    del one["slower"]
    for name, whole in list(one.items()):
        splits = [whole.splits[0]]
        model = models.get(name) or make_baselines(profile(MANY[rows], SIGN[rows]), 0)[name]
        one[name] = evaluate(model, MANY[rows], SIGN[rows], splits=splits, name=name)
    single = replace(found, evaluations=one)
    majority = next(p for p in single.verdict.split("; ") if "most frequent" in p)
    assert "behind by" in majority
    assert "within chance" not in majority


def test_a_long_reason_of_a_failure_is_cut():
    found = compare({"good": Slow(), "bad": Slow(trouble=ValueError("no " * 500))}, X, Y > 0, cv=3)
    assert len(found.failed["bad"]) < 250
