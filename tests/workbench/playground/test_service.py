import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.workbench.playground.scenes import (
    WINDOW,
    as_arrays,
    decode_codes,
    decode_fields,
    fact,
    fit,
    make_scene,
)

from separatrix import SVC, KNeighborsClassifier, LinearSVC, decision_regions
from separatrix.errors import DataError, ParameterError, SeparatrixError
from separatrix.evaluation import regions
from separatrix.workbench.playground.generators import GENERATORS
from separatrix.workbench.playground.scene import RULES, Scene
from separatrix.workbench.playground.service import Playground
from separatrix.workbench.playground.sliders import MODELS
from separatrix.workbench.routes_playground import catalogue
from separatrix.workbench.settings import Settings


def fit_or_refuse(playground, **request):
    """The picture, or the message of a refusal; any other error is a bug."""
    try:
        return fit(playground, **request), ""
    except (SeparatrixError, ValueError) as error:
        return None, str(error)


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize("shape", ["moons", "blobs3"])
@pytest.mark.parametrize("standardise", [False, True])
def test_every_model_with_its_defaults_gives_the_regions_that_the_library_gives(
    playground, key, shape, standardise
):
    scene = make_scene(shape, model=key, standardise=standardise)
    X, y = as_arrays(scene["points"])

    answer = fit(playground, **scene)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(Scene.of(**scene).estimator()).fit(X, y)
    found = decision_regions(model, X, y, grid=25, window=tuple(WINDOW))
    assert answer["labels"] == found.labels.tolist()
    np.testing.assert_array_equal(decode_codes(answer), found.codes_with_undecided)
    np.testing.assert_allclose(decode_fields(answer), found.fields, rtol=1e-6, atol=1e-29)
    wrong = np.flatnonzero(model.predict(X) != y).tolist()
    assert answer["wrong"] == wrong
    assert answer["facts"][0]["value"].endswith(f"({len(wrong)} of {len(y)})")


def test_support_vectors_are_rows_and_margins_are_where_the_score_is_one(playground):
    scene = make_scene(parameters={"kernel": "rbf", "C": 3.0, "gamma": 0.7})
    X, y = as_arrays(scene["points"])

    answer = fit(playground, **scene)

    model = SVC(C=3.0, gamma=0.7).fit(X, y)
    assert answer["support"] == sorted(model.support_.tolist())
    assert answer["margins"] is True
    assert fact(answer, "margin width") == f"{model.margin_width_[0]:.3g}"
    assert fact(answer, "support vectors") == f"{len(model.support_)} of 80"


@pytest.mark.parametrize("rule", ["rest", "each", "pairs"])
def test_other_rules_leave_the_same_cells_indeterminate_as_the_library(playground, rule):
    scene = make_scene("blobs4", model="linear-svm", rule=rule)
    X, y = as_arrays(scene["points"])

    answer = fit(playground, grid=40, **scene)

    model = LinearSVC(C=1.0, loss="squared_hinge", random_state=0)
    found = decision_regions(model, X, y, rule=rule, grid=40, window=tuple(WINDOW))
    np.testing.assert_array_equal(decode_codes(answer), found.codes)
    assert answer["boundaries"] == len(found.fields)
    assert answer["margins"] is True
    assert fact(answer, "indeterminate").startswith(f"{100 * found.indeterminate:.1f} %")


def test_support_vectors_of_pairs_are_those_of_any_boundary(playground):
    scene = make_scene("blobs3", rule="pairs")
    X, y = as_arrays(scene["points"])

    support = fit(playground, **scene)["support"]

    expected = set()
    for left_out in "abc":
        rows = np.flatnonzero(y != left_out)
        expected |= set(rows[SVC(gamma=1.0).fit(X[rows], y[rows]).support_].tolist())
    assert support == sorted(expected)


def test_of_very_many_pairs_the_least_score_is_sent(playground):
    rng = np.random.default_rng(0)
    labels = [chr(ord("a") + code) for code in range(12)]
    codes = list(range(12)) * 3
    points = [[*rng.normal(code / 4, 0.1, 2).tolist(), labels[code]] for code in codes]

    answer = fit(playground, points=points, model="lda", parameters={}, rule="pairs")

    assert answer["boundaries"] == 1
    assert (decode_fields(answer) > 0).all()


def test_neighbours_left_out_are_counted_as_the_library_counts_them(playground):
    scene = make_scene(model="knn", parameters={"n_neighbors": 7})
    X, y = as_arrays(scene["points"])

    error = fact(fit(playground, **scene), "leave-one-out error")

    wrong = int(np.sum(KNeighborsClassifier(7).fit(X, y).predict(None) != y))
    assert error.endswith(f"({wrong} of 80)")


def test_too_many_neighbours_are_limited_with_a_note(playground):
    answer = fit(playground, **make_scene(n=4, model="knn", parameters={"n_neighbors": 50}))

    assert answer["warnings"][0].startswith("k is 4:")


def test_warnings_of_a_fit_are_sentences(playground):
    scene = make_scene(n=200, model="kernel-perceptron", parameters={"max_iter": 1})

    (said,) = fit(playground, **scene)["warnings"]

    assert "still made" in said
    assert "\n" not in said


def test_the_facts_of_a_separable_perceptron_have_novikoffs_bound(playground):
    answer = fit(playground, **make_scene("separable", model="perceptron"))

    mistakes, bound = (
        int(fact(answer, title).replace(",", ""))
        for title in ("mistakes while learning", "Novikoff's bound on mistakes")
    )
    assert mistakes <= bound
    assert fact(answer, "stopped by") == "a pass without a mistake"


def test_an_impossible_hard_margin_is_refused_in_a_sentence(playground):
    scene = make_scene("outliers", parameters={"kernel": "linear", "hard": True})

    with pytest.raises(DataError, match="hard margin"):
        fit(playground, **scene)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([], "1 to 5,000 points; got 0"),
        ([[0, 0, "a"]] * 5001, "got 5,001"),
        ([[0, 0, "a"], [1, 1, "a"]], "all points have one class, 'a'"),
        ([[0, 0, f"{code}"] for code in range(21)], "at most 20 classes; got 21"),
    ],
)
def test_points_that_make_no_picture_are_refused_in_a_sentence(playground, points, sentence):
    with pytest.raises(DataError, match=sentence):
        fit(playground, points=points, model="svm", parameters={})


@pytest.mark.slow
@pytest.mark.parametrize("key", MODELS)
@pytest.mark.parametrize(
    "points",
    [
        [[0, 0, "a"], [1, 1, "b"]],
        [[2.0, 2.0, "a"], [2.0, 2.0, "b"], [2.0, 2.0, "b"]],
        [[0.0, 1.0, "a"], [0.0, 2.0, "b"], [0.0, 3.0, "a"], [0.0, 4.0, "c"]],
        [[1e9, -1e9, "a"], [-1e9, 1e9, "b"], [0, 0, "b"]],
    ],
    ids=["two", "all equal", "on a line", "far apart"],
)
def test_odd_points_are_a_picture_or_a_sentence(playground, key, points):
    for standardise in (False, True):
        scene = {"points": points, "model": key, "parameters": {}, "standardise": standardise}
        answer, sentence = fit_or_refuse(playground, **scene)
        assert sentence if answer is None else np.isfinite(decode_fields(answer)).all()


@pytest.mark.parametrize(
    ("key", "parameters", "sentence"),
    [
        ("magic", {}, "`model` of Playground must be one of svm"),
        ("svm", {"c": 1.0}, "`c` of Support vector machine must be one of kernel, hard, C"),
        ("svm", {"C": 0.0}, "a number from 0.01 to 1000; got 0.0"),
        ("svm", {"C": float("nan")}, "from 0.01 to 1000; got nan"),
        ("svm", {"C": True}, "from 0.01 to 1000; got True"),
        ("svm", {"C": "1"}, "got '1'"),
        ("svm", {"C": [1] * 100}, r"got '\[1, 1, 1"),
        ("svm", {"kernel": "spectrum"}, "one of rbf, linear, poly"),
        ("svm", {"kernel": ["rbf"]}, "one of rbf, linear, poly"),
        ("svm", {"hard": 1}, "`hard` .* true or false; got 1"),
        ("svm", {"degree": 2.5}, "a whole number from 1 to 8; got 2.5"),
    ],
)
def test_every_wrong_parameter_is_refused_with_what_was_expected(
    playground, key, parameters, sentence
):
    with pytest.raises(ParameterError, match=sentence):
        fit(playground, **{**make_scene(model=key), "parameters": parameters})


def test_the_table_of_models_is_what_the_library_takes():
    points = make_scene()["points"]
    for model in MODELS.values():
        for parameter in model.sliders:
            ends = [parameter.least, parameter.most] if parameter.least is not None else []
            values = [value for value, _ in parameter.choices] or ends or [True, False]
            for value in values:
                others = {name: wanted[0] for name, wanted in parameter.when}
                Scene.of(points, model.key, {**others, parameter.name: value}).estimator()


def test_the_catalogue_is_json_with_valid_defaults():
    told = json.loads(json.dumps(catalogue()))

    assert [model["key"] for model in told["models"]] == list(MODELS)
    assert [rule["value"] for rule in told["rules"]] == list(RULES) == list(regions.RULES)
    assert {one["key"] for one in told["generators"]} == set(GENERATORS)
    for model in told["models"]:
        MODELS[model["key"]].check({one["name"]: one["default"] for one in model["parameters"]})


def test_warming_up_ends_and_changes_nothing():
    playground = Playground(Settings())
    before = fit(playground, **make_scene(n=20))["codes"]

    steps = 1
    while playground.work():
        steps += 1

    assert steps == len(MODELS)
    assert fit(playground, **make_scene(n=20))["codes"] == before
    assert playground.state() == {}


def test_five_thousand_points_are_a_picture(playground):
    rng = np.random.default_rng(0)
    points = [[*place, "ab"[place[0] > 0]] for place in rng.normal(size=(5000, 2)).tolist()]

    answer = fit(playground, points=points, model="svm", parameters={}, seconds=100.0)

    assert answer["facts"][0]["title"] == "training error"


number = st.one_of(
    st.floats(-3, 3), st.sampled_from([0.0, 1.0, 1e9, -1e9, 1e-300]), st.integers(-5, 5)
)
point = st.tuples(number, number, st.sampled_from(["a", "b", "ç", ""])).map(list)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    points=st.lists(point, max_size=25),
    key=st.sampled_from(sorted(MODELS)),
    rule=st.sampled_from(sorted(RULES)),
    standardise=st.booleans(),
    data=st.data(),
)
def test_any_scene_is_a_picture_or_a_refusal(points, key, rule, standardise, data):
    parameters = {}
    for parameter in MODELS[key].sliders:
        if parameter.kind == "choice":
            values = st.sampled_from([value for value, _ in parameter.choices])
        elif parameter.kind == "switch":
            values = st.booleans()
        elif parameter.kind == "integer":
            values = st.integers(int(parameter.least), min(20, int(parameter.most)))
        else:
            values = st.floats(parameter.least, parameter.most)
        parameters[parameter.name] = data.draw(values)
    playground = Playground(Settings())
    scene = {"points": points, "model": key, "parameters": parameters, "rule": rule}
    answer, sentence = fit_or_refuse(playground, grid=20, standardise=standardise, **scene)
    if answer is None:
        assert sentence
        return
    assert decode_codes(answer).shape == (20, 20)
    assert np.isfinite(decode_fields(answer)).all()


def test_python_beside_a_picture_gives_the_same_error(playground, tmp_path, monkeypatch, capsys):
    scene = make_scene("moons", model="logistic", standardise=True)
    answer = fit(playground, **scene)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text(playground.export(**scene)["points"]["text"])

    exec(compile(answer["python"], "page", "exec"), {})

    X, y = as_arrays(scene["points"])
    fitted = make_pipeline(StandardScaler(), Scene.of(**scene).estimator()[-1]).fit(X, y)
    assert capsys.readouterr().out.startswith(f"{1 - fitted.score(X, y):.1%} of the training")


@pytest.mark.parametrize(
    ("labels", "names"),
    [(["", "NA"], None), ([" a", "a"], None), (["1", "1.0"], None), (["1", "2"], ["target", "x"])],
)
def test_python_beside_a_picture_takes_any_labels_and_columns(
    playground, tmp_path, monkeypatch, capsys, labels, names
):
    points = [[x, y, labels[label == "b"]] for x, y, label in make_scene("moons")["points"]]
    scene = {"points": points, "model": "lda", "parameters": {}}
    answer = fit(playground, **scene)
    monkeypatch.chdir(tmp_path)
    for file in playground.export(**scene, names=names).values():
        (tmp_path / file["name"]).write_text(file["text"])

    exec(compile(answer["python"], "page", "exec"), {})

    wrong = 1 - (len(points) - len(answer["wrong"])) / len(points)
    assert capsys.readouterr().out.startswith(f"{wrong:.1%} of the training")


def test_no_fact_is_below_0_by_rounding_or_infinite(playground):
    tiny = [[1e-7 * (i % 7), 1e-7 * (i % 3) + 2e-7 * (i % 2), "uv"[i % 2]] for i in range(40)]
    assert not fact(
        fit(playground, points=tiny, model="svm", parameters={}), "duality gap"
    ).startswith("-")

    same = [[1.0, 1.0, "ab"[i % 2]] for i in range(10)]
    flat = fit(playground, points=same, model="svm", parameters={})
    assert "margin width" not in [one["title"] for one in flat["facts"]]


def test_warnings_that_differ_in_a_number_only_are_one_message(playground):
    far = [[*map(float, np.random.default_rng(i).normal(size=2)), "ab"[i % 2]] for i in range(40)]
    found = fit(playground, points=[*far, [1e6, 1e6, "a"]], model="svm", parameters={})

    assert len([one for one in found["warnings"] if "squared norm" in one]) == 1


def test_a_hard_margin_between_points_in_one_place_is_refused(playground):
    same = [[1.0, 1.0, "ab"[i % 2]] for i in range(10)]

    with pytest.raises(DataError, match="classes cannot be separated"):
        fit(playground, points=same, model="svm", parameters={"hard": True})
