"""S1 as an experiment: the published numbers, and that two runs agree."""

import json

import numpy as np
import pytest
import sklearn.neighbors
from tests.studies.quick_runs import OPTIONS, quick_run

from separatrix import KNeighborsClassifier, Perceptron
from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.errors import ParameterError
from separatrix.experiments.run import run
from separatrix.experiments.steps import params_json
from separatrix.studies.catalogue import make, page_of
from separatrix.studies.knn_and_perceptron.steps import (
    DATA,
    FEATURES,
    NAME,
    NEIGHBOURS,
    PERCEPTRON,
    SHUFFLED,
    TEST_SIZE,
    experiment,
    train_by_pass,
)


@pytest.fixture(scope="module")
def iris():
    return quick_run(NAME).results


def number(results, part, metric):
    (value,) = results.values(part=part, metric=metric)
    return value


@pytest.mark.slow
def test_another_seed_draws_other_splits(iris, tmp_path):
    other = run(make(NAME, quick=True, seed=1, **OPTIONS[NAME]), tmp_path, progress=False)
    assert not np.array_equal(other.arrays[NEIGHBOURS]["test"], iris.arrays[NEIGHBOURS]["test"])


@pytest.mark.slow
def test_iris_reaches_what_the_document_reports(tmp_path):
    results = run(experiment(max_iter=20), tmp_path, progress=False)
    accuracy = results.values(part=NEIGHBOURS, metric="chosen_test_accuracy")
    assert len(accuracy) == 20
    assert number(results, DATA, "test_rows") == round(TEST_SIZE * 150)
    assert 0.93 <= accuracy.mean() <= 0.98
    after = results.where(
        part=PERCEPTRON, metric="test_accuracy_after_pass", parameters=params_json(**{"pass": 20})
    )
    assert np.mean([row.value for row in after]) == pytest.approx(0.86, abs=0.05)


def test_errors_on_adult_are_the_published_ones(a4a, tmp_path):
    results = run(experiment(data="a4a", max_iter=3), tmp_path, progress=False)
    errors = {
        json.loads(row.parameters)["k"]: row.value
        for row in results.where(part=NEIGHBOURS, metric="test_errors")
    }
    assert (errors[1], errors[41]) == (5937, 4626)
    assert number(results, DATA, "test_rows") == 27780
    assert number(results, DATA, "given_test_part") == 1
    assert {row.model for row in results.where(part=FEATURES)} == {"binary perceptron"}


def test_every_k_is_as_if_it_had_been_fitted_alone(iris):
    X, y = load("iris").X, load("iris").y
    study = make(NAME, quick=True, **OPTIONS[NAME]).steps[1].run.__self__
    first = study.split(load("iris"))[0]
    assert len(first.X) + len(first.X_test) == len(X) == len(y)
    for k in (1, 4, 12):
        alone = KNeighborsClassifier(k).fit(first.X, first.y).score(first.X_test, first.y_test)
        assert iris.arrays[NEIGHBOURS]["test"][0, k - 1] == pytest.approx(alone, abs=1e-15)


def test_passes_one_by_one_are_one_fit():
    X, y = load("iris").X, load("iris").y
    order = np.random.default_rng(0).permutation(150)
    part = Dataset("iris", X[order[:100]], y[order[:100]], X[order[100:]], y[order[100:]])
    found = train_by_pass(part, 30)
    whole = Perceptron(multi_class="auto", shuffle=False, tol=None, max_iter=30).fit(part.X, part.y)
    np.testing.assert_array_equal(found.model.coef_, whole.coef_)
    np.testing.assert_array_equal(found.mistakes[: whole.n_iter_], whole.mistakes_)
    assert found.accuracy[-1] == whole.score(part.X_test, part.y_test)


def test_columns_matter_to_nearest_neighbours_as_far_as_the_error_rises_without_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 3))
    np.savetxt(
        tmp_path / "rows.csv", np.c_[X, X[:, 1] > 0], delimiter=",", header="a,b,c,y", comments=""
    )
    made = experiment(data=str(tmp_path / "rows.csv"), classifier="knn", k=5, repeats=2)
    results = run(made, tmp_path / "run", progress=False)
    rise = {
        json.loads(row.parameters)["feature"]: row.value
        for row in results.where(part=SHUFFLED, metric="error_rise")
    }
    assert set(rise) == {"a", "b", "c"}
    assert rise["b"] > 0.2 > 0.1 > max(rise["a"], rise["c"])
    titles = [section.title for section in page_of(results).sections]
    assert "Which columns matter" in titles


def test_a_score_of_0_predicts_the_first_of_two_classes_and_is_corrected_only_if_that_is_wrong():
    X, y = np.eye(2), np.array([-1, 1])
    found = train_by_pass(Dataset("two rows", X, y, X, y), 3)
    assert found.mistakes.tolist() == [1, 1, 0]


def test_a_clean_pass_ends_it_and_what_follows_is_as_it_was():
    X, y = load("iris").X, load("iris").y == 0
    found = train_by_pass(Dataset("iris", X, y, X, y), 50)
    assert found.passes < 50
    assert not found.mistakes[found.passes - 1 :].any()
    assert (found.accuracy[found.passes - 1 :] == 1.0).all()


def test_three_classes_have_three_panels_of_named_features(iris):
    panels = [json.loads(row.parameters) for row in iris.where(part=FEATURES)]
    assert sorted({params_json["class"] for params_json in panels}) == [0, 1, 2]
    assert {params_json["feature"] for params_json in panels} == set(load("iris").features)
    values = iris.values(part=FEATURES).reshape(3, 4)
    assert (np.diff(values, axis=1) <= 0).all()
    importance = iris.arrays[FEATURES]["importance"]
    np.testing.assert_array_equal(np.sort(values, axis=1), np.sort(importance, axis=1))
    assert importance.shape == (3, 4)  # no bias


def test_two_classes_are_learned_by_the_binary_perceptron(tmp_path):
    results = run(
        experiment(quick=True, data="breast_cancer", classifier="perceptron", max_iter=5),
        tmp_path,
        progress=False,
    )
    assert not results.where(part=NEIGHBOURS)
    assert {row.model for row in results.where(part=PERCEPTRON)} == {
        "binary perceptron",
        "averaged binary perceptron",
    }
    assert results.arrays[FEATURES]["importance"].shape == (1, 30)


def test_options_choose_classifier_sub_sample_test_size_and_distance(tmp_path):
    made = experiment(
        quick=True,
        classifier="knn",
        data="digits",
        subsample=200,
        test_size=0.25,
        distance="manhattan",
        k_max=7,
        repeats=2,
    )
    results = run(made, tmp_path, progress=False)
    assert number(results, DATA, "train_rows") == 150
    assert number(results, DATA, "test_rows") == 50
    assert results.arrays[NEIGHBOURS]["test"].shape == (2, 7)
    assert not results.where(part=PERCEPTRON)
    assert json.loads(results.where(part=NEIGHBOURS)[0].parameters)["distance"] == "manhattan"
    assert set(made.options) == {
        *("quick", "seed", "classifier", "data", "subsample", "test_size", "distance"),
        *("k", "k_max", "max_iter", "repeats"),
    }


def test_one_k_on_one_hold_out_is_a_fit_to_the_other_rows(tmp_path):
    made = experiment(
        data="iris", k=7, distance="manhattan", test_size=0.4, subsample=100, max_iter=2
    )
    results = run(made, tmp_path, progress=False)
    (part,) = made.steps[1].run.__self__.split(load("iris"))
    assert (len(part.y), len(part.y_test)) == (60, 40)
    theirs = sklearn.neighbors.KNeighborsClassifier(7, p=1).fit(part.X, part.y)
    right = theirs.predict(part.X_test) == part.y_test
    assert number(results, NEIGHBOURS, "test_accuracy") == pytest.approx(right.mean(), abs=0.026)
    ours = KNeighborsClassifier(7, p=1).fit(part.X, part.y)
    assert number(results, NEIGHBOURS, "test_accuracy") == ours.score(part.X_test, part.y_test)
    assert number(results, NEIGHBOURS, "train_accuracy") == ours.score(part.X, part.y)
    alone = [
        ours.fit(np.delete(part.X, i, 0), np.delete(part.y, i)).predict(part.X[[i]])[0] == part.y[i]
        for i in range(60)
    ]
    assert number(results, NEIGHBOURS, "left_out_accuracy") == pytest.approx(np.mean(alone))
    page = page_of(results)
    assert "k-NN with k = 7 and the manhattan distance" in page.summary[0]
    assert "--metric manhattan --k 7" in page.command
    assert json.loads(results.table()[0]["options"])["test_size"] == 0.4


def test_more_neighbours_than_training_rows_are_refused(tmp_path):
    made = experiment(data="iris", k=100, subsample=60, classifier="knn")
    with pytest.raises(ParameterError, match="`k` of knn-and-perceptron must be at most 41"):
        run(made, tmp_path, progress=False)


def test_panels_of_features_have_the_names_of_the_classes(iris):
    features = page_of(iris).sections[-2].shows[0]
    titles = [axes.get_title() for axes in features.figure.axes]
    assert titles == ["setosa", "versicolor", "virginica"]
    assert {row[0] for row in features.table.rows} == set(titles)


def test_data_may_be_a_file(tmp_path):
    X, y = load("iris").X, load("iris").y
    lines = [",".join([*map(str, x), "abc"[label]]) for x, label in zip(X, y, strict=True)]
    path = tmp_path / "flowers.csv"
    path.write_text("a,b,c,d,class\n" + "\n".join(lines) + "\n", encoding="utf-8")
    options = {"k_max": 200, "max_iter": 10, "repeats": 2}
    made = make(NAME, quick=True, data=str(path), **options)
    results = run(made, tmp_path / "run", progress=False)
    assert results.arrays[NEIGHBOURS]["test"].shape == (2, 104)  # neighbours: all others
    features = {json.loads(row.parameters)["feature"] for row in results.where(part=FEATURES)}
    assert features == {"a", "b", "c", "d"}
