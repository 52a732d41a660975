"""What the lessons of Playground show, held against the library."""

import numpy as np
import pytest
from tests.workbench.playground.scenes import (
    WINDOW,
    as_arrays,
    decode_codes,
    decode_crossings,
    fact,
    fit,
    make_scene,
)

from separatrix import SVC, KNeighborsClassifier, LogisticRegression
from separatrix.errors import DataError, ParameterError
from separatrix.workbench.playground.fit import compute_regions, fit_picture, solved_codes
from separatrix.workbench.playground.generators import generate_points
from separatrix.workbench.playground.scene import Scene


def first_scene(**parameters):
    """The points that the page starts with."""
    points = generate_points("moons", n=200, noise=0.2, seed=0)
    return {"points": points, "model": "svm", "parameters": parameters}


# ---- fits that are no answers ------------------------------------------------------------------


def test_the_hard_margin_of_the_first_scene_is_an_answer_without_errors(playground):
    answer = fit(playground, **first_scene(hard=True))

    assert answer["unfinished"] is None
    assert answer["wrong"] == []
    assert fact(answer, "training error") == "0.0 % (0 of 200)"


def test_a_fit_that_time_ends_is_not_shown_as_an_answer(playground, monkeypatch):
    monkeypatch.setattr("separatrix.solvers.svm.takeover.LARGEST_HARD", 0)
    monkeypatch.setattr("separatrix.solvers.svm.takeover.NEWTON_STEPS", 1e12)
    scene = first_scene(hard=True)

    answer = fit(playground, **scene, seconds=0.05)

    assert answer["unfinished"] == "stopped by the limit on time"
    assert answer["wrong"] == answer["support"] == []
    assert [one["title"] for one in answer["facts"]] == ["not finished"]


def test_a_perceptron_that_has_made_its_passes_is_finished(playground):
    scene = make_scene(model="perceptron", parameters={"max_iter": 2})

    assert fit(playground, **scene)["unfinished"] is None


@pytest.mark.parametrize("model", ["perceptron", "kernel-perceptron", "subgradient"])
def test_a_fit_that_its_limit_ended_offers_twice_the_passes_or_steps(playground, model):
    scene = make_scene(model=model, parameters={"max_iter": 2})

    more = fit(playground, **scene)["more"]

    assert (more["name"], more["value"], more["words"][:2]) == ("max_iter", 4, "4 ")
    again = {**scene, "parameters": {"max_iter": more["value"]}}
    assert fact(fit(playground, **again), "stopped by") == "the limit on passes or steps"


def test_a_fit_that_ended_by_itself_offers_no_more(playground):
    apart = [[x, 0.0, "a" if x < 0 else "b"] for x in (-3.0, -2.0, 2.0, 3.0)]

    assert fit(playground, points=apart, model="perceptron", parameters={})["more"] is None
    assert fit(playground, **first_scene())["more"] is None


# ---- training and test -------------------------------------------------------------------------


def test_test_points_are_not_learned_from_and_both_errors_are_the_library_s(playground):
    scene = make_scene(model="knn", parameters={"n_neighbors": 3})
    X, y = as_arrays(scene["points"])
    test, out = list(range(0, 80, 4)), [1, 5]
    train = np.setdiff1d(np.arange(80), [*test, *out])

    answer = fit(playground, **scene, test=test, out=out)

    model = KNeighborsClassifier(3).fit(X[train], y[train])
    wrong = np.flatnonzero(model.predict(X) != y)
    learned, tested = np.intersect1d(wrong, train), np.intersect1d(wrong, test)
    assert len(tested) > 0
    assert answer["errors"] == {"train": [len(learned), 58], "test": [len(tested), 20]}
    assert answer["wrong"] == sorted([*learned, *tested])
    assert fact(answer, "test error").endswith(f"({len(tested)} of 20)")


def test_support_vectors_and_steps_keep_the_rows_of_the_page(playground):
    test = list(range(0, 40))
    svm = fit(playground, **make_scene(), test=test)
    steps = playground.steps(**make_scene(model="perceptron"), test=test)["steps"]

    assert min(svm["support"]) >= 40
    assert min(step["row"] for step in steps[1:]) >= 40


def test_a_row_that_is_no_point_is_refused(playground):
    with pytest.raises(DataError, match="test row"):
        fit(playground, **make_scene(), test=[80])


def test_the_strip_has_the_errors_of_single_fits(playground):
    scene = make_scene(parameters={"C": 5.0})
    X, y = as_arrays(scene["points"])
    test, train = np.arange(0, 80, 4), np.setdiff1d(np.arange(80), np.arange(0, 80, 4))

    found = playground.sweep(**scene, test=test.tolist(), name="gamma", values=[0.1, 90.0])

    for one in found["errors"]:
        model = SVC(C=5.0, gamma=one["value"]).fit(X[train], y[train])
        assert one["train"] == pytest.approx(1 - model.score(X[train], y[train]))
        assert one["test"] == pytest.approx(1 - model.score(X[test], y[test]))
    assert found["errors"][1]["train"] < found["errors"][1]["test"]


def test_only_sliders_that_apply_can_be_swept(playground):
    with pytest.raises(ParameterError, match="one of C, gamma, cost"):
        playground.sweep(**make_scene(), name="kernel", values=[1.0])
    with pytest.raises(ParameterError, match="from 0\\.01 to 100"):
        playground.sweep(**make_scene(), name="gamma", values=[1e9])


# ---- costs -------------------------------------------------------------------------------------


def test_a_cost_is_the_weight_of_the_last_class(playground):
    scene = make_scene("gaussians", model="logistic", parameters={"cost": 5.0})
    X, y = as_arrays(scene["points"])

    answer = fit(playground, **scene)

    model = LogisticRegression(class_weight={"b": 5.0}).fit(X, y)
    assert answer["wrong"] == np.flatnonzero(model.predict(X) != y).tolist()
    assert "class_weight={'b': 5.0}" in answer["python"]
    assert np.mean(decode_codes(answer)) > np.mean(
        decode_codes(fit(playground, **make_scene("gaussians", model="logistic")))
    )


def test_another_rule_ignores_costs_and_says_so(playground):
    scene = make_scene("blobs3", parameters={"cost": 5.0}, rule="pairs")

    assert "costs count for the model's own rule only" in fit(playground, **scene)["warnings"]


# ---- explanations ------------------------------------------------------------------------------


@pytest.mark.parametrize("standardise", [False, True])
def test_the_terms_of_an_svm_add_up_to_its_score(playground, standardise):
    scene = make_scene(parameters={"gamma": 0.5}, standardise=standardise)
    fitted = fit(playground, **scene)

    found = playground.explain(**scene, at=[0.3, 0.2])

    assert len(fitted["support"]) == found["term_count"]
    assert {term["row"] for term in found["terms"]} <= set(fitted["support"])
    score = found["sums"]["for"] + found["sums"]["against"]
    X, y = as_arrays(scene["points"])
    if not standardise:
        model = SVC(gamma=0.5).fit(X, y)
        assert score + model.intercept_[0] == pytest.approx(found["scores"][0], abs=1e-4)
    assert found["label"] == ("b" if found["scores"][0] > 0 else "a")


def test_the_neighbours_are_the_nearest_points(playground):
    scene = make_scene(model="knn", parameters={"n_neighbors": 5})
    X, _ = as_arrays(scene["points"])

    found = playground.explain(**scene, at=[0.3, 0.2], test=[0, 1])["neighbours"]

    distances = np.linalg.norm(X - [0.3, 0.2], axis=1)
    distances[:2] = np.inf
    assert {one["row"] for one in found} == set(np.argsort(distances)[:5].tolist())
    assert found[-1]["distance"] == pytest.approx(np.sort(distances)[4])


def test_the_distance_to_a_line_and_probabilities_are_told(playground):
    scene = make_scene("separable", model="logistic")
    X, y = as_arrays(scene["points"])
    model = LogisticRegression().fit(X, y)
    x = np.array([0.4, -0.1])

    found = playground.explain(**scene, at=x.tolist())

    score = model.decision_function([x])[0]
    assert found["distance"] == pytest.approx(score / np.linalg.norm(model.coef_))
    assert found["scores"] == pytest.approx(model.predict_proba([x])[0])
    assert found["kind"] == "probability"


def test_a_position_of_no_class_has_no_label(playground):
    scene = make_scene("blobs3", parameters={"kernel": "linear"}, rule="each")
    answer = fit(playground, grid=60, **scene)
    i, j = np.argwhere(decode_codes(answer) == -1)[0]
    x, y = (-3 + 6 * (k + 0.5) / 60 for k in (j, i))

    assert playground.explain(**scene, at=[x, y])["label"] is None


# ---- pictures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("key", ["lda", "qda", "gaussian-nb"])
def test_the_ellipses_are_the_moments_of_the_classes(playground, key, standardise):
    scene = make_scene("unlike", model=key, standardise=standardise)
    X, y = as_arrays(scene["points"])

    found = fit(playground, **scene)["ellipses"]

    for one in found:
        own = X[y == one["label"]]
        covariance = np.cov(own.T, bias=True)
        if key == "gaussian-nb":
            covariance = np.diag(np.diag(covariance))
        if key == "lda":
            covariance = sum(np.cov(X[y == c].T, bias=True) for c in "ab") / 2
        np.testing.assert_allclose(one["mean"], own.mean(axis=0))
        np.testing.assert_allclose(one["covariance"], covariance, rtol=1e-6, atol=1e-6)


def test_a_circle_is_separated_by_a_plane_over_the_squares(playground):
    points = generate_points("circles", n=60, noise=0.05, seed=0)
    found = playground.lift(points=points, model="svm", parameters={})
    lifted, w = np.array(found["points"]), np.array(found["w"])

    sides = lifted @ w + found["b"] > 0
    assert found["wrong"] == 0
    assert [("a", "b")[int(side)] for side in sides] == [point[2] for point in points]
    with pytest.raises(DataError, match="two classes"):
        playground.lift(**make_scene("blobs3"))


def test_lines_of_a_model_without_scores_run_between_cells_where_its_class_changes(playground):
    scene = make_scene("blobs3", model="knn", parameters={"n_neighbors": 1})
    X, y = as_arrays(scene["points"])
    model = KNeighborsClassifier(1).fit(X, y)

    crossings = decode_crossings(fit(playground, **scene))[0]

    i, j = np.nonzero(crossings)
    step, low = (WINDOW[1] - WINDOW[0]) / 25, WINDOW[0] + (WINDOW[1] - WINDOW[0]) / 50
    before, after = (low + step * (j + crossings[i, j] + off) for off in (-0.02, 0.02))
    one, other = (model.predict(np.column_stack([x, low + step * i])) for x in (before, after))
    assert len(i) > 10
    assert (one != other).all()


# ---- from the fit before -----------------------------------------------------------------------


def test_a_dragged_slider_of_many_points_starts_from_the_last_fit_and_finds_the_same(playground):
    scene = {**make_scene(n=600), "parameters": {"C": 20.0}}
    playground.fit(window=[-3, 3, -3, 3], grid=25, **{**scene, "parameters": {"C": 5.0}})

    dragged = fit(playground, **scene, quick=True)
    alone = fit(playground, **scene)

    assert (dragged["quick"], alone["quick"]) == (True, False)
    assert np.mean(decode_codes(dragged) == decode_codes(alone)) > 0.995
    assert abs(len(dragged["support"]) - len(alone["support"])) <= 3
    assert len(set(dragged["wrong"]) ^ set(alone["wrong"])) <= 3


def test_the_classes_that_a_solver_ended_with_are_those_of_predict():
    points = generate_points("moons", n=300, noise=0.4, seed=1)
    scene = Scene.of(points[::-1], "svm", {"C": 3.0, "gamma": 2.0})
    model = scene.estimator().fit(scene.X, scene.targets)
    regions = compute_regions(scene, model, [-2.0, 3.0, -1.5, 2.0], 20)

    found = solved_codes(scene, regions)

    np.testing.assert_array_equal(found, regions.codes_at(scene.X))
    assert 0 < np.mean(found != scene.y) < 0.3


def test_other_points_or_few_of_them_are_fitted_from_scratch(playground):
    fit(playground, **make_scene(n=600))

    assert not fit(playground, **make_scene(n=600, seed=4), quick=True)["quick"]
    assert not fit(playground, **make_scene(n=80), quick=True)["quick"]


def test_an_unfinished_fit_goes_on_from_where_it_stopped(playground, monkeypatch):
    scene = first_scene(C=1e3, gamma=5.0)
    fit(playground, **scene)
    iterations = []

    def fit_and_count(*scene, **how):
        found = fit_picture(*scene, **how)
        iterations.append(int(found[1].machines[0].fitted.n_iter_.sum()))
        return found

    monkeypatch.setattr("separatrix.workbench.playground.service.fit_picture", fit_and_count)
    fit(playground, **scene)
    answer = playground.finish(window=[-3, 3, -3, 3], grid=25, **scene)

    from_scratch, more = iterations
    assert more < 0.1 * from_scratch
    assert answer["unfinished"] is None
    assert playground.explain(**scene, at=[0.0, 0.0])["label"] in "ab"
