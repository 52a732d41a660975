from functools import partial

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from tests.studies.synthetic_dna import sequences

from separatrix import SVC, KernelFeatures, KNeighborsClassifier, MultinomialNB
from separatrix.data.dataset import Dataset
from separatrix.data.splits import Split
from separatrix.errors import ExperimentError
from separatrix.experiments.run import run
from separatrix.experiments.steps import ALL_SPLITS, Experiment, RunContext
from separatrix.kernels import Normalized, Spectrum, Subsequence, WeightedDegree
from separatrix.studies.sequence_study import (
    CandidateResult,
    KernelMatrices,
    NeighborsCandidate,
    NestedSplits,
    PipelineCandidate,
    SequenceStudy,
    SvmCandidate,
    group_identical,
    group_related,
    grouped_scheme,
    leave_group_out_scheme,
    leave_one_out_scheme,
    stratified_scheme,
    to_sequences,
)

KERNELS = [Normalized(WeightedDegree(k)) for k in (1, 3)]
CANDIDATES = {
    "machine": SvmCandidate(KERNELS[1], (0.1, 1.0, 10.0), KERNELS),
    "neighbours": NeighborsCandidate(KERNELS[1], 7),
    "model": PipelineCandidate(
        {}, make_pipeline(KernelFeatures(WeightedDegree(2)), MultinomialNB())
    ),
}
WAYS = {
    "stratified": partial(stratified_scheme, folds=4, inner=3, seed=0),
    "grouped": partial(grouped_scheme, folds=4, inner=3, seed=0),
    "one out": partial(leave_one_out_scheme, inner=3, seed=0),
    "group out": partial(leave_group_out_scheme, inner=3, seed=0),
}


@pytest.fixture
def data():
    X, y = sequences(60)
    return to_sequences(Dataset("made up", X, np.array(y), kind="sequences"), group_identical)


@pytest.fixture
def context():
    return RunContext(None)


@pytest.mark.parametrize("way", WAYS)
def test_every_row_is_held_out_once_and_inside_its_training_part_too(way, data):
    splits, inner = WAYS[way](data)
    tested = np.concatenate([split.test for split in splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(60))
    for (train, test), folds in zip(splits, inner, strict=True):
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(60))
        held_out = np.sort(np.concatenate([fold.test for fold in folds]))
        np.testing.assert_array_equal(held_out, np.arange(len(train)))


@pytest.mark.parametrize("way", ["grouped", "group out"])
def test_no_group_is_on_both_sides(way, data):
    assert len(np.unique(data.groups)) < 60
    for (train, test), folds in zip(*WAYS[way](data), strict=True):
        assert not set(data.groups[train]) & set(data.groups[test])
        inside = data.groups[train]
        for fold in folds:
            assert not set(inside[fold.train]) & set(inside[fold.test])


@pytest.mark.parametrize("name", CANDIDATES)
def test_labels_of_the_rows_held_out_change_nothing(name, data, context):
    (split, *_), (folds, *_) = stratified_scheme(data, folds=4, inner=3, seed=0)
    other = data.y.copy()
    other[split.test] = np.roll(other[split.test], 1)
    assert (other != data.y).any()

    found = CANDIDATES[name].fit_predict(context, data, split, folds)
    again = CANDIDATES[name].fit_predict(context, data._replace(y=other), split, folds)

    np.testing.assert_array_equal(found.guess, again.guess)
    assert found[:2] == again[:2]


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_is_what_a_fit_by_hand_gives(name, data, context):
    (split, *_), (folds, *_) = stratified_scheme(data, folds=4, inner=3, seed=0)
    X, y, X_test = data.X[split.train], data.y[split.train], data.X[split.test]

    found = CANDIDATES[name].fit_predict(context, data, split, folds)

    by_hand = {
        "machine": lambda: SVC(kernel=KERNELS[1], **found.settings),
        "neighbours": lambda: KNeighborsClassifier(
            kernel=KERNELS[1], ties="nearest", **found.settings
        ),
        "model": lambda: CANDIDATES["model"].model,
    }[name]
    np.testing.assert_array_equal(found.guess, by_hand().fit(X, y).predict(X_test))
    accuracy = np.mean([np.mean(by_hand().fit(X[a], y[a]).predict(X[b]) == y[b]) for a, b in folds])
    assert found.fold_accuracy == pytest.approx(accuracy, abs=1e-12)


def test_folds_choose_the_first_of_the_best_candidates_of_each_part(data, tmp_path):
    splits = [Split(np.arange(30, 60), np.arange(30)), Split(np.arange(30), np.arange(30, 60))]
    always = {"EI": (0.5, 0.9), "IE": (0.7, 0.9), "N": (0.7, 0.1)}
    study = SequenceStudy(
        data="made up",
        sequences=lambda _context: data,
        schemes={"halves": lambda _data: NestedSplits(splits, [[], []])},
        families={
            "two": [_Always("EI", always), _Always("IE", always)],
            "N": [_Always("N", always)],
        },
        unions={"all": ("two", "N")},
    )
    made = Experiment("choice", "", {}, (), study.steps())

    results = run(made, tmp_path, progress=False)

    classes = ["EI", "IE", "N"]
    for family, expected in (("two", "IE EI"), ("N", "N N"), ("all", "IE EI")):
        predicted = results.arrays[f"halves: {family}"]["predicted"].reshape(2, 30)
        assert [classes[one[0]] for one in predicted] == expected.split()
        assert (predicted == predicted[:, :1]).all()
        wrong = np.asarray(classes)[predicted.ravel()] != data.y
        assert results.values(model=family, metric="errors").tolist() == [wrong.sum()]
        chosen = results.values(model=family, metric="chosen_error")
        np.testing.assert_allclose(chosen, wrong.reshape(2, 30).mean(axis=1))
        by_class = results.values(model=family, metric="class_error", split=ALL_SPLITS)
        np.testing.assert_allclose(by_class, [wrong[data.y == label].mean() for label in classes])


class _Always:
    """Guesses one class; its accuracies on the folds of two parts are given."""

    def __init__(self, label, accuracies):
        self.label, self.accuracies = label, accuracies[label]
        self.parameters = {"label": label}

    def fit_predict(self, context, data, split, inner):
        accuracy = self.accuracies[0 if split.test[0] == 0 else 1]
        return CandidateResult(accuracy, {}, np.full(len(split.test), self.label))


def test_matrices_are_those_of_the_kernels_whatever_was_asked_before(data):
    some = [*KERNELS, *(Normalized(Subsequence(k, decay)) for decay in (0.5, 0.8) for k in (2, 3))]
    matrices = KernelMatrices()
    for kernel in (*some, *some[::-1]):
        K = matrices.compute(data.X, kernel, some)
        np.testing.assert_allclose(K, kernel.block(data.X, data.X), rtol=1e-12, atol=1e-12)


def test_relatives_share_a_run_of_letters_or_are_linked_by_others(data):
    groups = group_related(data.X, 7)
    shares = Spectrum(7).block(data.X, data.X) > 0
    assert 1 < len(np.unique(groups)) < 60
    assert (groups[:, None] == groups)[shares].all()
    # every group holds together: from any of its rows all others are reached
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        reached = {rows[0]}
        for _ in rows:
            reached |= {other for row in reached for other in np.flatnonzero(shares[row])}
        assert reached == set(rows)


def test_what_is_no_sequence_is_refused():
    with pytest.raises(ExperimentError, match="needs sequences with labels; a holds vectors"):
        to_sequences(Dataset("a", np.eye(2), np.array([0, 1])), group_identical)
    with pytest.raises(ExperimentError, match="a holds no labels"):
        to_sequences(Dataset("a", ["A"], None, kind="sequences"), group_identical)


def test_a_class_that_would_be_left_out_at_once_is_refused(data, context):
    one = data._replace(groups=np.where(data.y == "EI", 60, np.arange(60)))
    study = SequenceStudy("made up", lambda _context: one, {"group out": WAYS["group out"]}, {})
    with pytest.raises(ExperimentError, match="all sequences of class EI would be left out"):
        study.splits(context, "group out")
