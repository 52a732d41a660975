"""Files of pipelines and decisions."""

import numpy as np
import pytest
from sklearn.compose import make_column_selector
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import WORDS, X, Y
from tests.modelfile.hostile import DELETED, change, signed, split_file

from separatrix import (
    SVC,
    BayesDecision,
    CalibratedClassifier,
    GaussianNB,
    LinearSVC,
    LogisticRegression,
    load,
    save,
)
from separatrix.errors import ModelFileError


def test_steps_whose_names_look_like_places_are_kept_apart(path):
    inner = Pipeline([("b", StandardScaler())])
    model = Pipeline([("a", inner), ("a.steps.b", StandardScaler()), ("x" * 300, SVC())])
    model.fit(100 * X, Y)
    again = load(save(model, path))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]


def test_the_cache_of_a_pipeline_is_not_kept(path, tmp_path):
    model = make_pipeline(StandardScaler(), SVC(), memory=str(tmp_path / "cache")).fit(X, Y)
    again = load(save(model, path))
    assert again.memory is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_functions_in_other_places_are_refused(path):
    model = BayesDecision(LogisticRegression()).fit(X, Y)
    model.set_params(loss_matrix=make_column_selector())
    with pytest.raises(ModelFileError, match="cannot be stored in a file"):
        save(model, path)


def test_labels_of_numpys_own_types_are_labels(path):
    for label in (np.str_("?"), np.int64(-7)):
        model = BayesDecision(GaussianNB(), reject_cost=0.1, reject_label=label)
        model.fit(X, Y if isinstance(label, str) else WORDS)
        assert load(save(model, path)).actions_.tolist() == model.actions_.tolist()


IDLE = ["idle", "passthrough"]
TEMPLATE = {"kind": "StandardScaler", "params": {"copy": True, "with_mean": True, "with_std": True}}
STEPS = {
    "a list of steps; found": lambda steps: [],
    "a list of steps; found an object|a list of steps; found {": lambda steps: dict(steps),
    "pairs of a name and a model; found": lambda steps: [IDLE[:1], *steps],
    "pairs of a name and a model; found passthrough": lambda steps: ["passthrough", *steps],
    "a transformer; found SVC": lambda steps: [*steps, IDLE],
    "steps of different names": lambda steps: [["svc", "passthrough"], *steps],
    "steps.template` must be fitted; found a template": lambda steps: [["template", TEMPLATE]],
}


@pytest.mark.parametrize("said", STEPS)
def test_steps_that_are_no_pipeline_are_refused(said, path):
    document, tensors = split_file(Pipeline([("svc", SVC())]).fit(X, Y), path)
    change(document, tensors, "params.steps", STEPS[said])
    if "names" in said:
        tensors = {name.replace("steps[0]", "steps[1]"): array for name, array in tensors.items()}
    path.write_bytes(signed(document, {} if "template" in said else tensors))
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_steps_without_work_are_kept(path):
    model = Pipeline([("scale", StandardScaler()), ("idle", "passthrough"), ("none", None)])
    again = load(save(model.fit(X), path))
    assert [(name, step) for name, step in again.steps[1:]] == [
        ("idle", "passthrough"),
        ("none", None),
    ]
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


WRAPPED = {
    "decision": BayesDecision(LogisticRegression(), reject_cost=0.2),
    "threshold": BayesDecision(LogisticRegression(), threshold=0.3),
    "curves": CalibratedClassifier(LinearSVC(), cv=2),
}
CHANGES = {
    "actions_` must be 3 or 4; found 5": (
        "decision",
        {"@.actions_": lambda a: np.append(a, 9), "@.loss_matrix_": lambda a: np.eye(3, 5)},
    ),
    "classes_` must be those of estimator_; found": ("decision", {"@.classes_": lambda a: a + 1}),
    "threshold_` must be there, for 2 classes": ("decision", {"state._by_threshold": True}),
    "threshold_` must be there, for 2 classes; found 2": (
        "threshold",
        {"state.threshold_": DELETED},
    ),
    "curves_` must be one for each class, or for two; found 2": (
        "curves",
        {"state.curves_": lambda curves: curves[:2]},
    ),
    "classes_` must be those of estimator_": ("curves", {"@.classes_": lambda a: a + 1}),
}


@pytest.mark.parametrize("said", CHANGES)
def test_wrappers_belong_to_what_they_hold(said, path):
    name, changes = CHANGES[said]
    samples = Y < 2 if name == "threshold" else Y < 3
    document, tensors = split_file(WRAPPED[name].fit(X[samples], Y[samples]), path)
    for where, new in changes.items():
        change(document, tensors, where, new)
    path.write_bytes(signed(document, tensors))
    with pytest.raises(ModelFileError, match=said):
        load(path)


def test_a_decision_needs_probabilities(path):
    document, tensors = split_file(WRAPPED["decision"].fit(X, Y), path)
    other, arrays = split_file(LinearSVC().fit(X, Y), path)
    document["model"]["state"]["estimator_"] = other["model"]
    own = {name: array for name, array in tensors.items() if "estimator_" not in name}
    inner = {name.replace("model", "model.estimator_", 1): arrays[name] for name in arrays}
    path.write_bytes(signed(document, own | inner))
    with pytest.raises(
        ModelFileError, match="estimator_` must be with probabilities; found Linear"
    ):
        load(path)
