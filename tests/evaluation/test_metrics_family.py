"""Metrics, curves and rankings against scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics as peer
from sklearn.datasets import load_breast_cancer, load_iris

from separatrix import GaussianNB, LinearSVC, Perceptron, compare, evaluate
from separatrix.errors import DataError, ExperimentError
from separatrix.evaluation.curves import mean_precision, mean_roc
from separatrix.evaluation.metrics import compute_metrics

X, Y = load_breast_cancer(return_X_y=True)
FLOWERS, NAMES = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return evaluate(GaussianNB(), X, Y, repeats=3, progress=False)


def test_metrics_of_two_classes_are_scikit_learns(cancer):
    for number, split in enumerate(cancer.splits):
        true, guess = Y[split.test], cancer.predicted[0, number]
        P = cancer.probabilities[0, number]
        expected = {
            "f1": peer.f1_score(true, guess),
            "mcc": peer.matthews_corrcoef(true, guess),
            "balanced_accuracy": peer.balanced_accuracy_score(true, guess),
            "roc_auc": peer.roc_auc_score(true, P[:, 1]),
            "average_precision": peer.average_precision_score(true, P[:, 1]),
        }
        for name, value in expected.items():
            assert cancer.metric(name)[0, number] == pytest.approx(value, abs=1e-12), name


def test_areas_of_several_classes_are_means_of_each_against_the_others():
    found = evaluate(GaussianNB(), FLOWERS, NAMES, repeats=2, progress=False)
    P, true = found.probabilities[0, 0], NAMES[found.splits[0].test]
    auc = peer.roc_auc_score(true, P, multi_class="ovr", average="macro")
    assert found.metric("roc_auc")[0, 0] == pytest.approx(auc)
    precision = peer.average_precision_score(np.eye(3)[true], P, average="macro")
    assert found.metric("average_precision")[0, 0] == pytest.approx(precision)


def test_scores_rank_where_there_are_no_probabilities():
    found = evaluate(LinearSVC(), FLOWERS, NAMES == 1, repeats=2, progress=False)
    assert np.isnan(found.metric("log_loss")).all()
    assert np.isfinite(found.metric("roc_auc")).all()


def test_the_area_of_one_class_alone_is_unknown():
    P = np.array([[0.2, 0.8], [0.4, 0.6]])
    found = compute_metrics(["roc_auc"], np.array([1, 1]), np.array([1, 1]), P)
    assert np.isnan(found["roc_auc"])


def test_precision_and_recall_of_each_class_are_scikit_learns():
    found = evaluate(GaussianNB(), FLOWERS, NAMES, repeats=1, progress=False)
    true, guess = NAMES[found.splits[0].test], found.predicted[0, 0]
    precision, recall, f1, rows = peer.precision_recall_fscore_support(true, guess)
    for k, row in enumerate(found.per_class()):
        values = [row["precision"], row["recall"], row["f1"], row["rows"]]
        assert values == pytest.approx([precision[k], recall[k], f1[k], rows[k]])


def test_mean_curves_rise_and_fall_and_their_areas_are_those_of_the_metric(cancer):
    roc, precision = mean_roc(cancer), mean_precision(cancer)
    assert (np.diff(roc.y) >= 0).all()
    assert (np.diff(precision.y) <= 1e-12).all()
    assert roc.area == pytest.approx(cancer.metric("roc_auc").mean())
    assert np.trapezoid(roc.y, roc.x) == pytest.approx(roc.area, abs=0.01)


def test_a_comparison_is_ranked_by_its_metric():
    models = {"bayes": GaussianNB(), "machine": LinearSVC()}
    for metric in ("roc_auc", "log_loss"):
        found = compare(models, X, Y, repeats=3, metric=metric, progress=False)
        means = {name: one.metric(metric).mean() for name, one in found.evaluations.items()}
        best = max(means, key=means.get) if metric == "roc_auc" else "bayes"
        assert found.best == found.rows()[0]["model"] == best
        assert f"best by {metric}" in str(found)
    with pytest.raises(ExperimentError, match="unknown metric 'gini'; one of error"):
        compare(models, X, Y, metric="gini")
    with pytest.raises(DataError, match="log_loss needs probabilities or scores"):
        compare({"perceptron": Perceptron()}, X, Y, repeats=2, metric="log_loss", progress=False)


def test_the_column_of_a_short_metric_is_apart_from_its_neighbours():
    X, y = load_iris(return_X_y=True)
    shown = str(compare({"a": GaussianNB(), "b": GaussianNB(var_smoothing=1.0)}, X, y, metric="f1"))
    head, first, second = shown.splitlines()[1:4]
    assert head.split()[-2:] == ["Brier", "f1"]
    for line in (first, second):
        assert all(0 <= float(word) <= 1 for word in line.split()[-2:])
