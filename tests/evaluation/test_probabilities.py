import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from separatrix import SVC, KernelPerceptron, Perceptron, compare, evaluate
from separatrix.errors import DataError, ParameterError
from separatrix.estimators.decision import BayesDecision
from separatrix.evaluation.result import Reliability
from separatrix.kernels import Gaussian

X, Y = load_iris(return_X_y=True)
TUMOURS, KINDS = load_breast_cancer(return_X_y=True)
MACHINE = SVC(kernel=Gaussian(0.1), calibration="sigmoid", random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(max_iter=500), MACHINE])
@pytest.mark.parametrize("labels", [Y, np.array(["setosa", "versicolor", "virginica"])[Y]])
def test_probabilities_are_those_of_fitting_every_split_by_itself(model, labels):
    found = evaluate(model, X, labels, repeats=3)
    for number, (train, test) in enumerate(found.splits):
        alone = clone(model).fit(X[train], labels[train])
        P = alone.predict_proba(X[test])
        np.testing.assert_allclose(found.probabilities[0, number], P)
        assert found.log_loss[0, number] == pytest.approx(log_loss(labels[test], P))
        assert found.brier[0, number] == pytest.approx(
            brier_score_loss(labels[test], P, scale_by_half=False)
        )
        assert found.test_error[0, number] == pytest.approx(1 - alone.score(X[test], labels[test]))


def test_brier_of_two_classes_is_twice_the_mean_square():
    found = evaluate(GaussianNB(), TUMOURS, KINDS, repeats=2)
    for number, (_, test) in enumerate(found.splits):
        off = found.probabilities[0, number][:, 1] - KINDS[test]
        assert found.brier[0, number] == pytest.approx(2 * np.mean(off**2))


def test_a_certain_mistake_costs_an_infinite_log_loss():
    found = evaluate(DecisionTreeClassifier(random_state=0), X, Y, repeats=4)
    wrong = found.test_error[0] > 0
    assert wrong.any()
    np.testing.assert_array_equal(np.isinf(found.log_loss[0]), wrong)  # leaves are pure
    np.testing.assert_allclose(found.brier, 2 * found.test_error)
    assert found.rows()[0]["log_loss"] == np.inf
    assert "inf" in str(found)


def test_a_class_that_was_not_trained_on_has_probability_zero():
    y = Y.copy()
    y[0] = 9
    found = evaluate(GaussianNB(), X, y, repeats=6)
    unseen = [number for number, split in enumerate(found.splits) if 0 in split.test]
    assert unseen
    assert unseen != list(range(6))
    for number in unseen:
        P = found.probabilities[0, number]
        assert P.shape == (30, 4)
        assert (P[:, 3] == 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert found.log_loss[0, number] == np.inf


@pytest.mark.slow
def test_models_without_probabilities_look_as_before():
    found = evaluate(Perceptron(predictor="average"), X, Y, repeats=2)
    assert found.probabilities == {}
    assert np.isnan(found.log_loss).all()
    assert np.isnan(found.brier).all()
    assert set(found.rows()[0]) == {
        *("kernel", "train_error", "train_sd", "test_error", "test_sd", "splits")
    }
    assert str(found).splitlines()[1].endswith("test error %")
    with pytest.raises(DataError, match="of Perceptron has no probabilities; use a model with"):
        found.reliability()


def test_a_calibrated_machine_is_fitted_by_itself_unless_kernels_are_asked_for():
    alone = evaluate(MACHINE, X, Y, repeats=3)
    shared = evaluate(MACHINE, X, Y, kernels=[Gaussian(0.1)], repeats=3)
    folded = evaluate(MACHINE, X, Y, repeats=3, folds=2)
    assert len(alone.probabilities) == 3
    assert shared.probabilities == folded.probabilities == {}
    for number in range(3):
        one, two = alone.splits[number], shared.splits[number]
        assert set(one.test) == set(two.test)
    np.testing.assert_allclose(alone.test_error, shared.test_error)
    assert evaluate(SVC(), X, Y, repeats=2).kernels[0].startswith("Gaussian")


def test_a_kernel_matrix_gives_the_probabilities_of_its_samples():
    K = Gaussian(0.1).block(X, X)
    matrix = clone(MACHINE).set_params(kernel="precomputed")
    one, two = evaluate(MACHINE, X, Y, repeats=2), evaluate(matrix, K, Y, repeats=2)
    np.testing.assert_allclose(one.probabilities[0, 1], two.probabilities[0, 1], atol=1e-4)


@pytest.mark.parametrize("bins", [1, 5, 10])
def test_reliability_of_two_classes_is_that_of_the_second(bins):
    found = evaluate(GaussianNB(), TUMOURS, KINDS, repeats=5)
    table = found.reliability(bins)
    p = np.concatenate([found.probabilities[0, number][:, 1] for number in range(5)])
    y = np.concatenate([KINDS[split.test] for split in found.splits])
    share, confidence = calibration_curve(y, p, n_bins=bins)
    filled = table.count > 0
    np.testing.assert_allclose(table.share[filled], share)
    np.testing.assert_allclose(table.confidence[filled], confidence)
    weights = table.count[filled] / len(y)
    assert table.expected_calibration_error == pytest.approx(weights @ np.abs(share - confidence))
    assert table.count.sum() == len(y) == sum(row["count"] for row in table.rows())


def test_reliability_of_several_classes_is_that_of_the_likeliest():
    found = evaluate(GaussianNB(), X, Y, repeats=4)
    table = found.reliability(bins=4)
    P = np.concatenate(list(found.probabilities.values()))
    y = np.concatenate([Y[split.test] for split in found.splits])
    for b, row in enumerate(table.rows()):
        inside = (P.max(axis=1) >= b / 4) & (P.max(axis=1) < (b + 1) / 4 if b < 3 else True)
        assert row["count"] == inside.sum()
        if row["count"]:
            assert row["share"] == pytest.approx(np.mean(P[inside].argmax(axis=1) == y[inside]))
            assert row["confidence"] == pytest.approx(P[inside].max(axis=1).mean())
        else:
            assert row["share"] is None
            assert row["confidence"] is None
    assert f"{len(y)} predictions, expected calibration error" in str(table)
    assert len(str(table).splitlines()) == 6
    with pytest.raises(
        ParameterError, match="`bins` of reliability must be an integer of at least 1"
    ):
        found.reliability(0)


def test_a_probability_on_an_edge_belongs_to_the_bin_above():
    table = Reliability.of(np.array([0.0, 0.3, 0.29999, 0.7, 1.0]), np.ones(5), bins=10)
    assert np.flatnonzero(table.count).tolist() == [0, 2, 3, 7, 9]


def test_comparisons_show_losses_where_a_model_has_probabilities():
    models = {"bayes": GaussianNB(), "perceptron": Perceptron(predictor="average")}
    found = compare(models, X, Y, repeats=3)
    rows = {row["model"]: row for row in found.rows()}
    assert rows["bayes"]["log_loss"] == found.evaluations["bayes"].log_loss.mean()
    assert rows["bayes"]["brier"] == found.evaluations["bayes"].brier.mean()
    assert rows["perceptron"]["log_loss"] is None
    header, *lines = str(found).splitlines()[1:]
    assert header.split()[-3:] == ["log", "loss", "Brier"]
    (line,) = (line for line in lines if line.startswith("perceptron"))
    assert line.split()[-2:] == ["-", "-"]
    assert len({len(line) for line in (header, *lines)}) == 1
    plain = compare({"kernel": KernelPerceptron(min_gain=0.001)}, X, Y, repeats=2)
    assert "brier" not in plain.rows()[0]
    assert str(plain).splitlines()[1].endswith("predict s")


@pytest.mark.parametrize("reject_label", [None, 7, "ask"])
def test_rejected_rows_are_wrong_and_taken_for_no_class(reject_label):
    model = BayesDecision(GaussianNB(), reject_cost=0.01, reject_label=reject_label)
    found = evaluate(model, X, Y, repeats=5)
    plain = evaluate(GaussianNB(), X, Y, repeats=5)
    rejected = 0
    for number, (train, test) in enumerate(found.splits):
        alone = clone(model).fit(X[train], Y[train])
        assert found.test_error[0, number] == pytest.approx(1 - alone.score(X[test], Y[test]))
        rejected += (found.predicted[0, number] == -1).sum()
    assert rejected > 0
    np.testing.assert_array_equal(found.log_loss, plain.log_loss)
    assert found.confusion()[0].sum() < plain.confusion()[0].sum()
    assert any(guess is None for _, _, guess in found.hardest(20))
