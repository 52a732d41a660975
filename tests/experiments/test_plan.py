import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from separatrix import SVC, KNeighborsClassifier, LogisticRegression, TableEncoder
from separatrix.data.catalogue import load
from separatrix.data.dataset import Dataset
from separatrix.data.read_table import read_table
from separatrix.data.splits import fold_splits, stratified_splits
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.experiments.outcome import comparison_of
from separatrix.experiments.plan import plan
from separatrix.experiments.run import run
from separatrix.experiments.spec import parse_spec
from separatrix.experiments.steps import RunContext
from separatrix.kernels import Gaussian, Normalized, Polynomial

GAUSSIAN = {"type": "Gaussian", "gamma": 0.5}
CUBIC = {"type": "Polynomial", "degree": 3, "gamma": 0.1}


def planned(load=load, **document):
    return plan(parse_spec({"data": "iris", **document}, "test"), load)


def halves():
    """30 training and 10 test rows of noise."""
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    return Dataset("halves", X[:30], y[:30], X[30:], y[30:])


def test_what_can_be_shared_is_found():
    machine = {"type": "SVC", "grid": {"kernel": [GAUSSIAN, CUBIC], "C": [1.0, 10.0]}}
    neighbors = {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [1, 3]}}
    scaled = {"name": "scaled", "type": "SVC", "scale": "standard", "parameters": {"gamma": 0.1}}
    by_data = {"name": "by data", "type": "SVC"}
    found = planned(model=[machine, neighbors, scaled, by_data])
    shares = [family.shares for _, family in found.protocols.values()]
    assert shares == ["gram", "neighbors", "", ""]
    assert "one Gram matrix" in found.words[0]
    assert "gamma='scale' depends on the training part" in found.words[3]


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["none", 2.0, "unit"])
def test_a_shared_machine_chooses_and_errs_as_one_that_is_fitted_alone(tmp_path, scale):
    model = {"type": "SVC", "scale": scale, "grid": {"kernel": [GAUSSIAN, CUBIC], "C": [0.1, 10.0]}}
    found = run(planned(model=[model], split={"repeats": 3}).experiment, tmp_path)
    iris = load("iris")
    X = normalize(iris.X) if scale == "unit" else iris.X / (1.0 if scale == "none" else scale)
    candidates = [
        SVC(C=C, kernel=kernel)
        for kernel in (Gaussian(0.5), Polynomial(3, gamma=0.1))
        for C in (0.1, 10.0)
    ]
    splits = stratified_splits(iris.y, repeats=3, test_size=0.2, seed=0)
    for number, (train, test) in enumerate(splits):
        held_out = [
            np.mean(
                [
                    np.mean(c.fit(X[f.train], iris.y[f.train]).predict(X[f.test]) != iris.y[f.test])
                    for f in fold_splits(train, folds=5, seed=number)
                ]
            )
            for c in candidates
        ]
        shared = [r.value for r in found.where(metric="fold_error", split=number)]
        assert shared == pytest.approx(held_out, abs=1e-12)
        chosen = candidates[int(np.argmin(held_out))].fit(X[train], iris.y[train])
        wrong = np.mean(chosen.predict(X[test]) != iris.y[test])
        assert found.values(metric="chosen_error", split=number) == pytest.approx([wrong])


def test_shared_neighbours_vote_as_those_of_a_classifier(tmp_path):
    model = {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [1, 4, 9]}}
    found = run(planned(model=[model], split={"repeats": 3}).experiment, tmp_path)
    iris = load("iris")
    for number, (train, test) in enumerate(
        stratified_splits(iris.y, repeats=3, test_size=0.2, seed=0)
    ):
        alone = [
            np.mean(
                KNeighborsClassifier(k).fit(iris.X[train], iris.y[train]).predict(iris.X[test])
                != iris.y[test]
            )
            for k in (1, 4, 9)
        ]
        assert found.values(metric="test_error", split=number).tolist() == pytest.approx(alone)


def test_neighbours_of_samples_on_two_scales_are_searched_for_twice(tmp_path):
    neighbors = {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [1, 3]}}
    models = [{**neighbors, "name": "as they are"}, {**neighbors, "name": "b", "scale": "unit"}]
    together = run(planned(model=models, split={"repeats": 2}).experiment, tmp_path / "a")
    alone = run(planned(model=models[1:], split={"repeats": 2}).experiment, tmp_path / "b")
    assert together.values(model="b").tolist() == alone.values(model="b").tolist()
    assert together.values(model="b").tolist() != together.values(model="as they are").tolist()


def test_sparse_samples_share_their_neighbours_too(tmp_path):
    iris = load("iris")
    sparse = Dataset("sparse", csr_array(iris.X), iris.y)
    model = {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [1, 4]}}
    found, dense = (
        run(planned(lambda _, d=d: d, model=[model]).experiment, tmp_path / d.name)
        for d in (sparse, iris)
    )
    assert found.values().tolist() == dense.values().tolist()


@pytest.mark.parametrize(
    "parameters",
    [{"class_weight": "balanced"}, {"kernel": GAUSSIAN}, {"weights": "distance"}, {"p": 1}],
)
def test_neighbours_that_vote_or_are_found_in_another_way_are_not_shared(parameters):
    model = {
        "type": "KNeighborsClassifier",
        "parameters": parameters,
        "grid": {"n_neighbors": [1, 3]},
    }
    ((_, family),) = planned(model=[model]).protocols.values()
    assert family.shares == ""


@pytest.mark.parametrize("metrics", [[], ["accuracy"], ["log_loss"]])
def test_the_error_of_what_was_chosen_is_measured_whatever_else_is(tmp_path, metrics):
    made = planned(model=[{"type": "GaussianNB"}], split={"repeats": 2}, metrics=metrics)
    found = run(made.experiment, tmp_path)
    (row,) = comparison_of(made, found).rows()
    assert row["test_error"] == pytest.approx(100 * found.values(metric="chosen_error").mean())


def test_no_second_is_counted_twice(tmp_path):
    model = {"type": "GaussianNB", "grid": {"var_smoothing": [1e-9, 0.1]}}
    made = planned(model=[model], split={"repeats": 2})
    found = run(made.experiment, tmp_path)
    (row,) = comparison_of(made, found).rows()
    steps = {r.seconds for r in found.where(metric="fold_error")}
    assert len(steps) == 2
    assert row["seconds"] == pytest.approx(sum(steps))


def test_words_count_the_samples_that_are_split_and_all_fits():
    data = halves()
    model = {"type": "SVC", "parameters": {"kernel": "linear"}, "grid": {"C": [1.0, 2.0]}}
    for split, n, fits in (({"method": "given"}, 40, 12), ({"repeats": 3}, 30, 36)):
        (words,) = planned(lambda _: data, model=[model], split=split).words
        assert f"({n} x {n})" in words
        assert f" {fits} fits" in words


@pytest.mark.parametrize(
    ("data", "caption"),
    [
        (Dataset("d", np.eye(4), None), "d has no labels"),
        (Dataset("d", np.eye(4), np.zeros(4, int)), "only one class"),
    ],
)
def test_data_that_no_model_of_a_file_takes_is_refused_before_anything_runs(data, caption):
    with pytest.raises(SeparatrixError, match=caption):
        planned(lambda _: data, model=[{"type": "GaussianNB"}])


def test_a_kernel_may_hold_another():
    kernel = {"type": "Normalized", "kernel": GAUSSIAN}
    made = planned(model=[{"type": "SVC", "parameters": {"kernel": kernel}}])
    ((_, family),) = made.protocols.values()
    candidate = family.candidates[0](RunContext(made.experiment))
    assert candidate.model.kernel == Normalized(Gaussian(0.5))


def test_only_what_the_folds_chose_is_told_of_the_test_part(tmp_path):
    model = {"type": "LogisticRegression", "scale": "standard", "grid": {"C": [1e-6, 1.0]}}
    made = planned(model=[model], split={"repeats": 2}, metrics=["error", "log_loss"])
    found = run(made.experiment, tmp_path)
    assert {r.metric for r in found.rows} == {
        "fold_error",
        "train_error",
        "chosen_error",
        "chosen_log_loss",
    }
    assert {json.loads(r.parameters)["C"] for r in found.where(metric="chosen_error")} == {1.0}
    comparison = comparison_of(made, found)
    (row,) = comparison.rows()
    assert row["test_error"] == pytest.approx(100 * found.values(metric="chosen_error").mean())
    assert row["log_loss"] == pytest.approx(found.values(metric="chosen_log_loss").mean())


def test_a_given_test_part_is_the_only_split(tmp_path):
    data = halves()
    made = planned(lambda _: data, model=[{"type": "GaussianNB"}], split={"method": "given"})
    ((protocol, family),) = made.protocols.values()
    assert protocol.repeats == 1
    found = run(made.experiment, tmp_path)
    assert len(found.arrays[family.step("split", 0)]["predicted"]) == 10
    assert str(comparison_of(made, found)).startswith("1 split, 30 rows to train and 10 to test;")
    with pytest.raises(ExperimentError, match="has no test part"):
        planned(model=[{"type": "GaussianNB"}], split={"method": "given"})


@pytest.mark.parametrize(
    ("model", "caption"),
    [
        ({"type": "Oracle"}, "unknown classifier 'Oracle'; one of SVC"),
        ({"type": "Nystroem"}, "unknown classifier"),
        ({"type": "SVC", "parameters": {"c": 1}}, "unexpected keyword argument 'c'"),
        (
            {"type": "SVC", "parameters": {"kernel": {"type": "Magic"}}},
            "unknown kernel 'Magic'",
        ),
        ({"type": "SVC", "parameters": {"kernel": {"type": "Gaussian", "gamma": -1}}}, "gamma"),
        ({"type": "SVC", "parameters": {"kernel": {"type": "Kernel"}}}, "unknown kernel"),
        ({"type": "SVC", "parameters": {"C": -1}}, "`C` of SVC must be above 0; got -1"),
        (
            {"type": "KNeighborsClassifier", "grid": {"n_neighbors": [0, True]}},
            "`n_neighbors` of KNeighborsClassifier must be an integer of at least 1; got 0",
        ),
    ],
)
def test_a_model_that_is_not_there_is_refused_before_anything_runs(model, caption):
    with pytest.raises(ExperimentError, match=caption):
        planned(model=[model])


def test_the_same_seed_gives_the_same_table_and_another_one_does_not(tmp_path):
    model = {"type": "SVC", "parameters": {"kernel": {"type": "Linear"}}}
    first, again, other = (
        run(planned(model=[model], seed=seed).experiment, tmp_path / str(position)).values(
            metric="test_error"
        )
        for position, seed in enumerate((0, 0, 1))
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()


def test_texts_and_missing_values_are_prepared_inside_each_training_part(tmp_path):
    mails = Dataset(
        "mails", ["win cash", "see you"] * 20, np.array(["spam", "ham"] * 20), kind="text"
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 3 * (np.arange(40) % 2)[:, None]
    X[::5, 1] = np.nan
    gaps = Dataset("gaps", X, np.arange(40) % 2)
    for position, (data, kind) in enumerate(
        ((mails, "MultinomialNB"), (gaps, "LogisticRegression"))
    ):
        made = planned(lambda _, data=data: data, model=[{"type": kind}], split={"repeats": 2})
        assert made.words[0].endswith("each fitted separately")
        found = run(made.experiment, tmp_path / str(position))
        assert found.values(metric="chosen_error").max() < 0.2
        comparison_of(made, found)


@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_groups_stay_together_and_their_column_is_no_feature(storage):
    people = np.repeat(np.arange(12), 5)
    X = np.column_stack([np.random.default_rng(0).normal(size=60), people])
    y = np.repeat(np.arange(12) % 2, 5)
    data = Dataset("people", storage(X), y, features=("height", "person"))
    split = {"method": "grouped", "group": "person", "repeats": 3}
    made = planned(lambda _: data, model=[{"type": "KNeighborsClassifier"}], split=split)
    found = made.protocols["KNeighborsClassifier"][0].samples(RunContext(made.experiment))
    np.testing.assert_array_equal(csr_array(found.X).toarray(), X[:, :1])
    for train, test in found.splits:
        assert not set(people[train]) & set(people[test])


@pytest.fixture
def visits(tmp_path):
    """A table with a category, a date, gaps, ids, and patients of several rows."""
    rng = np.random.default_rng(0)
    rows = ["visit_id,town,day,weight,patient,class"]
    for i in range(90):
        town = rng.choice(["Ulm", "Bonn", "Kiel"])
        weight = "" if i % 9 == 0 else f"{rng.normal(70, 9):.1f}"
        label = "ill" if (town == "Ulm") ^ (rng.random() < 0.1) else "well"
        rows.append(f"v-{i:04d},{town},2024-0{i % 9 + 1}-11,{weight},p{i // 3},{label}")
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(rows) + "\n")
    return read_table(path)


def test_a_table_is_encoded_in_each_training_part_as_for_a_fit(tmp_path, visits):
    model = {"type": "LogisticRegression", "parameters": {"max_iter": 1000}}
    made = planned(lambda _: visits, model=[model], split={"repeats": 3})
    found = run(made.experiment, tmp_path / "run").values(metric="chosen_error")
    errors = []
    for train, test in stratified_splits(visits.y, repeats=3, test_size=0.2, seed=0):
        alone = make_pipeline(
            TableEncoder(), LogisticRegression(**model["parameters"], random_state=0)
        )
        alone.fit(visits.X[train], visits.y[train])
        errors.append(np.mean(alone.predict(visits.X[test]) != visits.y[test]))
    np.testing.assert_array_equal(found, errors)
    assert made.words[0].endswith("each fitted separately")


def test_kernels_on_a_table_are_fitted_separately_after_its_encoder(tmp_path, visits):
    models = [
        {"name": scale, "type": "SVC", "scale": scale, "parameters": {"kernel": GAUSSIAN}}
        for scale in ("none", "unit", "standard", "range")
    ]
    made = planned(lambda _: visits, model=models, split={"repeats": 1})
    found = run(made.experiment, tmp_path / "run").values(metric="chosen_error")
    assert found.max() < 0.4
    with pytest.raises(ExperimentError, match=r"SVC: `scale` is the number 16, .* use \"none\""):
        planned(lambda _: visits, model=[{"type": "SVC", "scale": 16}])


def test_groups_of_a_table_may_be_texts(visits):
    split = {"method": "grouped", "group": "patient", "repeats": 3}
    made = planned(lambda _: visits, model=[{"type": "GaussianNB"}], split=split)
    found = made.protocols["GaussianNB"][0].samples(RunContext(made.experiment))
    assert found.X.columns == ("town", "day", "weight")
    patients = np.repeat(np.arange(30), 3)
    for train, test in found.splits:
        assert not set(patients[train]) & set(patients[test])
