"""Virtual support vectors: identities on small parts of digits; the published numbers need a GPU."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.studies.quick_runs import OPTIONS, quick_run

from separatrix import SVC
from separatrix.data.images import deskewed, jittered, unit_norm
from separatrix.errors import ParameterError
from separatrix.experiments.steps import RunContext
from separatrix.studies.mnist_virtual_sv import steps
from separatrix.studies.mnist_virtual_sv.steps import DATA, experiment
from separatrix.studies.mnist_virtual_sv.training import power_kernel, run_virtual_sv, stage_name


@pytest.fixture(scope="module")
def results():
    return quick_run("mnist-virtual-sv").results


@pytest.fixture(scope="module")
def digits():
    made = experiment(quick=True, **OPTIONS["mnist-virtual-sv"])
    return made.steps[0].run.__self__.digits(RunContext(made))


@pytest.mark.slow
def test_every_stage_is_a_fit_by_hand(results, digits):
    kernel = power_kernel(9)
    for upright in (False, True):
        images, test = digits.images, digits.test
        if upright:
            images, test = deskewed(images), deskewed(test)
        first = SVC(C=2.0, kernel=kernel, multi_class="ovr").fit(unit_norm(images), digits.labels)
        rows = first.support_
        copies = unit_norm(jittered(images[rows], 1))
        labels = np.tile(digits.labels[rows], 9)
        second = SVC(C=2.0, kernel=kernel, multi_class="ovr").fit(copies, labels)
        for pixels, model, learned in ((0, first, len(images)), (1, second, len(copies))):
            what = stage_name(upright, pixels)
            wrong = np.mean(model.predict(unit_norm(test)) != digits.test_labels)
            assert results.values(part=what, metric="test_error").tolist() == [wrong]
            assert results.values(part=what, metric="rows").tolist() == [learned]
            support = results.values(part=what, metric="support_vectors")
            assert support.tolist() == [len(model.support_)]
        np.testing.assert_array_equal(results.arrays[stage_name(upright, 0)]["support"], rows)


@pytest.mark.slow
def test_each_class_can_have_copies_of_its_own_support_vectors(digits):
    train, test = (digits.images, digits.labels), (digits.test, digits.test_labels)
    first, second = run_virtual_sv(train, test, jitters=[1], deskew=[False])
    X, X_test = unit_norm(digits.images), unit_norm(digits.test)
    whole = SVC(C=2.0, kernel=power_kernel(9), multi_class="ovr").fit(X, digits.labels)
    scores, used = [], set()
    for label, coef in enumerate(whole.dual_coef_):
        rows = whole.support_[coef != 0]
        model = SVC(C=2.0, kernel=power_kernel(9))
        labels = np.tile(digits.labels[rows] == label, 9)
        model.fit(unit_norm(jittered(digits.images[rows], 1)), labels)
        scores.append(model.decision_function(X_test))
        used |= {(i // len(rows), rows[i % len(rows)]) for i in model.support_}
    wrong = np.mean(np.argmax(scores, axis=0) != digits.test_labels)
    assert second.error == pytest.approx(100 * wrong)
    assert second.error < first.error
    assert second.rows == 9 * first.support_vectors
    assert second.support_vectors == len(used)


def test_pairs_of_classes_share_their_copies(digits):
    train, test = (digits.images, digits.labels), (digits.test, digits.test_labels)
    options = {"jitters": [1], "deskew": [True], "multi_class": "ovo"}
    own, shared = (
        run_virtual_sv(train, test, copies=copies, **options) for copies in ("own", "all")
    )
    assert [stage.error for stage in own] == [stage.error for stage in shared]


def test_copies_of_another_kind_are_refused(digits):
    train, test = (digits.images, digits.labels), (digits.test, digits.test_labels)
    with pytest.raises(ParameterError, match="`copies` of run_virtual_sv must be one of"):
        run_virtual_sv(train, test, copies="some")


def test_copies_make_fewer_mistakes(results):
    for upright in (False, True):
        before, after = (
            results.values(part=stage_name(upright, pixels), metric="test_error")[0]
            for pixels in (0, 1)
        )
        assert after < before


def test_moves_of_support_vectors_add_up_to_all_of_them(results):
    what = stage_name(True, 1)
    moves = results.where(part=what, metric="support_vectors_of_move")
    assert len(moves) == 9
    total = results.values(part=what, metric="support_vectors")[0]
    assert sum(row.value for row in moves) == total
    assert [json.loads(moves[0].parameters)[key] for key in ("down", "right")] == [0, 0]


def test_what_is_wrong_is_kept_with_its_row_and_labels(results, digits):
    what = stage_name(False, 0)
    found = results.arrays[what]
    error = results.values(part=what, metric="test_error")[0]
    assert len(found["wrong"]) == round(error * len(digits.test))
    assert (found["is"] != found["taken_for"]).all()
    X, y = load_digits(return_X_y=True)
    np.testing.assert_array_equal(y[found["wrong"]], found["is"])
    pictures = np.round(X[found["wrong"]] * (255 / 16)).reshape(-1, 8, 8)
    np.testing.assert_array_equal(found["pictures"], pictures)


def test_the_plain_function_finds_what_the_experiment_does(results, digits):
    stages = run_virtual_sv(
        (digits.images, digits.labels),
        (digits.test, digits.test_labels),
        jitters=[1],
        copies="all",
    )
    assert [stage.what for stage in stages] == [step for step in results.arrays if step != DATA]
    for stage in stages:
        error = results.values(part=stage.what, metric="test_error")[0]
        assert stage.error == pytest.approx(100 * error)
        assert stage.rows == results.values(part=stage.what, metric="rows")[0]
        assert stage.fit_seconds > 0


@pytest.mark.slow
def test_mnist_in_a_small_part(mnist):
    made = experiment(subsample=500, test_size=0.03, jitters=[1], deskew="yes")
    context = RunContext(made)
    errors = []
    for step in made.steps:
        finding = step.run(context)
        context.store(step.name, finding)
        errors += [row.value for row in finding.rows if row.metric == "test_error"]
    assert errors[1] < errors[0] < 0.12
    [before] = [row.value for row in context.result(DATA).rows if row.metric == "rows"]
    assert before == 500


@pytest.mark.long
def test_all_of_mnist_deskewed_has_one_per_cent_wrong_without_copies(mnist):
    train, test = (mnist.X, mnist.y), (mnist.X_test, mnist.y_test)
    [stage] = run_virtual_sv(train, test, jitters=[], deskew=[True])
    assert stage.rows == 60_000
    assert stage.error == pytest.approx(1.01, abs=0.03)
    assert stage.support_vectors == pytest.approx(11_736, rel=0.002)


def test_the_kernel_is_one_at_equal_samples_whatever_the_degree():
    X = unit_norm(np.random.default_rng(0).random((5, 4, 4)))
    for degree in (1, 5, 9):
        np.testing.assert_allclose(power_kernel(degree).diagonal(X), 1.0, rtol=1e-6)
        block = power_kernel(degree).block(X, X)
        np.testing.assert_allclose(block, ((X @ X.T + 1) / 2) ** degree, rtol=1e-5)


def test_without_a_gpu_fewer_rows_are_taken(monkeypatch):
    assert experiment(device="cpu").options["subsample"] == steps.CPU_ROWS
    assert experiment(device="cpu", subsample=60_000).options["subsample"] == 60_000
    monkeypatch.setattr(steps, "choose_device", lambda *_: "a GPU")
    assert experiment().options["subsample"] == 60_000


def test_the_device_reaches_the_machine():
    model = experiment(device="cpu").steps[1].run.func.__self__.model
    assert model.device == "cpu"
    assert (model.C, model.multi_class) == (2.0, "ovr")


def test_steps_are_those_that_were_asked_for():
    made = experiment(jitters=[2], deskew="yes", device="cpu")
    names = [step.name for step in made.steps]
    assert names == [DATA, "deskewed, every picture", "deskewed, 2 pixels"]
