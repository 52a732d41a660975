import base64
import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.workbench.playground.scenes import WINDOW, decode_codes, decode_fields, make_scene

from separatrix.errors import DataError, ParameterError
from separatrix.workbench.playground.scene import Scene, final_estimator


def scene_of(shape, model, standardise=False, **parameters):
    more = {"standardise": standardise, "parameters": parameters}
    return make_scene(shape, model, n=70, seed=1, **more)


def fitted(scene):
    made = Scene.of(**scene)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.estimator().fit(made.X, made.y), made


@pytest.mark.parametrize("shape", ["separable", "moons", "blobs3", "blobs5"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_last_step_of_a_perceptron_is_the_fitted_model(playground, shape, shuffle):
    scene = scene_of(shape, "perceptron", shuffle=shuffle, max_iter=5)

    answer = playground.steps(**scene)

    model, _ = fitted(scene)
    steps = answer["steps"]
    assert len(steps) - 1 == model.mistakes_.sum()
    np.testing.assert_array_equal(steps[-1]["W"], model.coef_)
    np.testing.assert_array_equal(steps[-1]["b"], model.intercept_)
    by_pass = np.bincount([step["pass"] for step in steps[1:]], minlength=model.n_iter_ + 1)[1:]
    np.testing.assert_array_equal(by_pass, model.mistakes_)
    assert answer["stop"] == model.stop_
    assert not answer["more"]
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("shape", ["moons", "blobs3"])
def test_every_step_of_a_perceptron_corrects_a_point_that_the_step_before_mistakes(
    playground, shape
):
    scene = scene_of(shape, "perceptron", max_iter=3)
    answer = playground.steps(**scene)
    labels = answer["labels"]

    for before, step in zip(answer["steps"], answer["steps"][1:], strict=False):
        *place, own = scene["points"][step["row"]]
        scores = np.array(before["W"]) @ place + before["b"]
        if len(labels) == 2:
            side = 1 if own == labels[1] else -1
            assert side * scores[0] <= 0
            assert (step["guess"] is None) == (scores[0] == 0)
        else:
            assert labels[scores.argmax()] == step["guess"] != own


@pytest.mark.parametrize("key", ["perceptron", "subgradient"])
@pytest.mark.parametrize("shape", ["moons", "blobs3"])
def test_weights_of_standardised_points_are_for_the_points_as_they_are(playground, key, shape):
    scene = scene_of(shape, key, standardise=True, max_iter=20)

    last = playground.steps(**scene)["steps"][-1]

    model, made = fitted(scene)
    scores = made.X @ np.array(last["W"]).T + last["b"]
    expected = model.decision_function(made.X).reshape(len(made.X), -1)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


def test_the_mean_weights_are_sent_if_the_model_predicts_with_them(playground):
    scene = scene_of("moons", "perceptron", predictor="average", max_iter=4)

    answer = playground.steps(**scene)

    model, _ = fitted(scene)
    np.testing.assert_array_equal(answer["average"]["W"], model.coef_)
    assert playground.steps(**scene_of("moons", "perceptron", max_iter=4))["average"] is None


@pytest.mark.parametrize("shape", ["moons", "blobs3"])
@pytest.mark.parametrize("standardise", [False, True])
def test_the_last_picture_of_a_kernel_perceptron_is_that_of_the_fit(playground, shape, standardise):
    scene = scene_of(shape, "kernel-perceptron", standardise, max_iter=3)
    answer = playground.steps(**scene)
    model, _ = fitted(scene)
    last = len(answer["steps"]) - 1

    picture = playground.step(**scene, window=WINDOW, grid=30, step=last)

    whole = playground.fit(**scene, window=WINDOW, grid=30)
    assert last == final_estimator(model).mistakes_.sum()
    assert answer["kernel"] is True
    assert answer["steps"][1]["W"] is None
    assert [picture[part] for part in ("codes", "fields", "support")] == [
        whole[part] for part in ("codes", "fields", "support")
    ]


def test_a_kernel_perceptron_after_t_mistakes_would_make_the_next_one(playground):
    scene = scene_of("moons", "kernel-perceptron", max_iter=3)
    steps = playground.steps(**scene)["steps"]

    for t in (1, 5, len(steps) - 2):
        row = steps[t + 1]["row"]
        x, y, own = scene["points"][row]
        around = [x - 1e-6, x + 1e-6, y - 1e-6, y + 1e-6]
        picture = playground.step(**scene, window=around, grid=20, step=t)
        field = np.frombuffer(base64.b64decode(picture["fields"]), "<f4")
        assert (field > 0).all() == (own == "a")


@pytest.mark.parametrize("shape", ["moons", "blobs3"])
def test_the_descent_is_the_librarys_own(playground, shape):
    scene = scene_of(shape, "subgradient", max_iter=50, eps=1e-8)

    answer = playground.steps(**scene)

    model, _ = fitted(scene)
    assert len(answer["steps"]) == model.n_iter_ + 1
    np.testing.assert_array_equal(answer["steps"][-1]["W"], model.coef_)
    curve = model.loss_curve_.reshape(len(model.loss_curve_), -1).sum(axis=1)
    np.testing.assert_array_equal([step["objective"] for step in answer["steps"]], curve)
    assert np.array_equal(answer["steps"][0]["W"], np.zeros_like(model.coef_))


def test_a_step_that_is_too_large_ends_where_numbers_do(playground):
    scene = scene_of(
        "moons", "subgradient", alpha=10.0, mu=10.0, loss="squared_hinge", max_iter=2000
    )

    answer = playground.steps(**scene)

    assert answer["stop"] == "diverged"
    json.dumps(answer, allow_nan=False)
    assert answer["warnings"]


def test_more_than_two_thousand_steps_are_cut_with_a_flag(playground):
    scene = scene_of("moons", "perceptron", max_iter=1000)

    answer = playground.steps(**scene)

    assert len(answer["steps"]) == 2001
    assert answer["more"] is True


def test_models_without_steps_have_none(playground):
    with pytest.raises(ParameterError, match="perceptron, kernel-perceptron, subgradient or svm"):
        playground.steps(**scene_of("moons", "lda"))
    with pytest.raises(ParameterError, match="must be kernel-perceptron"):
        playground.step(**scene_of("moons", "perceptron"), window=WINDOW, step=1)
    with pytest.raises(DataError, match="step 2000 is not one of the"):
        playground.step(**scene_of("separable", "kernel-perceptron"), window=WINDOW, step=2000)


def test_before_its_first_mistake_the_kernel_perceptron_has_no_regions_and_says_so(playground):
    scene = scene_of("circles", "kernel-perceptron")
    steps = playground.steps(**scene)["steps"]

    start = playground.step(**scene, step=0, window=WINDOW, grid=20)

    assert steps[0]["message"] == "the start: no point is in the sum yet, every score is 0"
    assert np.all(decode_codes(start) == -3)
    assert start["boundaries"] == 0
    assert start["support"] == []
    assert steps[1]["guess"] is None
    assert "its score is 0" in steps[1]["message"]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("cost", [1.0, 3.0])
def test_smo_in_slow_motion_ends_at_the_boundary_of_the_fitted_svm(playground, kernel, cost):
    scene = scene_of("moons", "svm", kernel=kernel, C=2.0, cost=cost)

    steps = playground.steps(**scene)["steps"]
    picture = playground.step(**scene, window=WINDOW, grid=20, step=len(steps) - 1)

    fit = playground.fit(**scene, window=WINDOW, grid=20)
    np.testing.assert_allclose(decode_fields(picture), decode_fields(fit), atol=0.01)
    assert steps[-1]["support"] == picture["support"]
    assert [step["objective"] for step in steps] == sorted(step["objective"] for step in steps)
    assert all(step["violation"] > 1e-3 for step in steps)
    if kernel == "linear" and cost == 1.0:
        model, _ = fitted(scene)
        np.testing.assert_allclose(steps[-1]["W"], final_estimator(model).coef_, atol=0.01)


def test_smo_is_shown_for_two_classes_and_a_soft_margin_only(playground):
    with pytest.raises(DataError, match="two classes; got 3"):
        playground.steps(**scene_of("blobs3", "svm"))
    with pytest.raises(DataError, match="switch the hard margin off"):
        playground.steps(**scene_of("separable", "svm", hard=True))


def test_a_perceptron_makes_no_more_mistakes_than_the_bound_that_is_shown(playground):
    answer = playground.steps(**scene_of("separable", "perceptron"))

    assert len(answer["steps"]) - 1 <= answer["bound"]
    assert playground.steps(**scene_of("moons", "perceptron", max_iter=5))["bound"] is None
