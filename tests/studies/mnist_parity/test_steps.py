"""S4 as an experiment: its numbers on MNIST where that is at hand, identities on small digits."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.studies.quick_runs import quick_run

from separatrix import SubgradientSVC, indicator
from separatrix.data.dataset import Dataset
from separatrix.errors import ParameterError
from separatrix.experiments.steps import RunContext
from separatrix.studies.mnist_parity import steps as mnist_parity
from separatrix.studies.mnist_parity.steps import (
    CUBIC,
    DATA,
    EVEN,
    GAUSSIAN,
    HONEST,
    LINEAR,
    PARITY,
    PUBLISHED,
    accuracies,
    experiment,
)


@pytest.fixture(scope="module")
def small():
    return experiment(quick=True, data="digits")


@pytest.fixture(scope="module")
def results():
    return quick_run("mnist-parity").results


def values(results, part):
    return {row.metric: row.value for row in results.where(part=part)}


def found_by(experiment, *names):
    """Only some steps of an experiment."""
    context = RunContext(experiment)
    steps = {step.name: step for step in experiment.steps}
    rows = [{row.metric: row.value for row in steps[name].run(context).rows} for name in names]
    return rows[0] if len(rows) == 1 else rows


@pytest.mark.slow
def test_the_documents_constants_meet_its_numbers_on_disjoint_parts(mnist):
    published, parity = found_by(experiment(data="mnist"), PUBLISHED, PARITY)
    assert published["steps"] == 7
    assert published["train_accuracy"] == pytest.approx(0.929, abs=0.007)
    assert published["held_out_accuracy"] == pytest.approx(0.927, abs=0.007)
    assert parity["steps"] == 12
    assert parity["train_accuracy"] == pytest.approx(0.80, abs=0.007)
    assert parity["held_out_accuracy"] == pytest.approx(0.80, abs=0.007)


@pytest.mark.long
def test_better_machines_meet_the_published_numbers(mnist):
    honest, linear, gaussian, cubic = found_by(
        experiment(data="mnist"), HONEST, LINEAR, GAUSSIAN, CUBIC
    )
    assert honest["held_out_accuracy"] > 0.89
    assert linear["test_accuracy"] == pytest.approx(0.904, abs=0.002)
    assert gaussian["test_accuracy"] == pytest.approx(0.987, abs=0.001)
    assert cubic["test_accuracy"] == pytest.approx(0.987, abs=0.001)


def test_a_descent_is_that_of_the_estimator_and_every_iterate_is_kept(small, results):
    images = small.steps[0].run.__self__.images(RunContext(small))
    y = indicator(images.learn_labels, EVEN)
    model = SubgradientSVC().fit(images.learn, y)
    found = results.arrays[PARITY]
    np.testing.assert_array_equal(found["iterates"], model.iterates_)
    np.testing.assert_array_equal(found["loss"], model.loss_curve_)
    np.testing.assert_array_equal(found["w"], model.coef_[0])
    assert values(results, PARITY)["train_accuracy"] == model.score(images.learn, y)
    steps = [
        json.loads(row.parameters)["step"]
        for row in results.where(part=PARITY, metric="objective_at_step")
    ]
    assert steps == list(range(model.n_iter_ + 1))


def test_the_honest_descent_ends_lower_than_it_began_and_never_rises(results):
    loss = results.arrays[HONEST]["loss"]
    assert len(loss) - 1 == values(results, HONEST)["steps"] < mnist_parity.HONEST_STEPS
    assert (np.diff(loss) <= 1e-12).mean() > 0.99
    assert (
        values(results, HONEST)["held_out_accuracy"] > values(results, PARITY)["held_out_accuracy"]
    )


def test_kernels_do_better_than_lines(results):
    line = values(results, LINEAR)["test_accuracy"]
    for part in (GAUSSIAN, CUBIC):
        assert values(results, part)["test_accuracy"] > line + 0.02


def test_parts_do_not_overlap_and_leave_nothing_out(small):
    images = small.steps[0].run.__self__.images(RunContext(small))
    assert len(images.learn) + len(images.held) == 1797
    assert images.learn.dtype == np.uint8
    assert images.learn.max() == 255
    rows = np.vstack([images.learn, images.held])
    every = np.round(load_digits().data * (255 / 16)).astype(np.uint8)
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(every, axis=0))


def test_any_digits_can_be_the_target(tmp_path):
    made = experiment(quick=True, data="digits", v="1,0")
    assert made.options["v"] == [0, 1]
    assert PUBLISHED not in [step.name for step in made.steps]  # it would be the same
    found = found_by(made, DATA)
    assert found["positive_share"] == pytest.approx(0.2, abs=0.03)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_given_constants_and_share_are_those_of_the_descent():
    options = {"alpha": 2e-5, "eps": 1e-3, "mu": 0.01, "max_iter": 30, "test_size": 0.5}
    made = experiment(quick=True, data="digits", v="1,3,5,7,9", **options)
    assert {name: made.options[name] for name in options} == options
    context = RunContext(made)
    images = made.steps[0].run.__self__.images(context)
    assert len(images.held) in (898, 899)
    y = indicator(images.learn_labels, {1, 3, 5, 7, 9})
    constants = {name: value for name, value in options.items() if name != "test_size"}
    model = SubgradientSVC(**constants).fit(images.learn, y)
    step = {step.name: step for step in made.steps}[PARITY]
    found = step.run(context)
    np.testing.assert_array_equal(found.arrays["loss"], model.loss_curve_)
    params = json.loads(found.rows[0].parameters)
    assert (params["alpha"], params["eps"], params["mu"]) == (2e-5, 1e-3, 0.01)


def test_a_given_share_is_held_out_from_all_models_also_where_there_is_a_test_part():
    X, y = load_digits(return_X_y=True)
    data = Dataset("both", X[:1000], y[:1000], X[1000:], y[1000:])
    whole, half = (
        mnist_parity._ParityStudy("both", [0], quick=False, seed=0, device="cpu", held_out=share)
        for share in (None, 0.5)
    )
    images = whole._split_images(data)
    assert (len(images.learn), len(images.train), len(images.test)) == (700, 1000, 797)
    images = half._split_images(data)
    assert (len(images.learn), len(images.train), len(images.test)) == (500, 500, 500)
    np.testing.assert_array_equal(images.test, images.held)


def test_a_kaggle_file_is_taken_as_it_comes(tmp_path):
    digits = load_digits()
    side = np.zeros((300, 28, 28), dtype=int)
    side[:, 2:26, 2:26] = np.kron(digits.images[:300], np.ones((3, 3))) * 15
    names = ["label", *(f"pixel{j}" for j in range(784))]
    table = np.column_stack([digits.target[:300], side.reshape(300, -1)])
    path = tmp_path / "train.csv"
    lines = [",".join(names), *(",".join(map(str, line)) for line in table)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    made = experiment(data=str(path))
    looked, parity, gaussian = found_by(made, DATA, PARITY, GAUSSIAN)

    assert (looked["learn_rows"], looked["held_out_rows"]) == (210, 90)
    assert parity["train_accuracy"] > 0.7
    assert gaussian["test_accuracy"] > 0.9
    assert made.steps[0].run.__self__.images(RunContext(made)).shape == (28, 28)


def test_a_score_of_zero_is_plus():
    X = np.array([[0], [3]], dtype=np.uint8)
    assert accuracies(X, np.array([1, 1]), np.zeros((1, 2))).tolist() == [1.0]


def test_a_target_that_takes_all_is_refused():
    with pytest.raises(
        ParameterError, match=r"some, but not all, of the labels 0, 1, 2.*; got \[0, 1"
    ):
        found_by(experiment(quick=True, data="digits", v=range(10)), DATA)
