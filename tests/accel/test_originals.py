"""What a program overrides is scikit-learn's: in a subclass, in an object, or by assignment to a class."""

import functools
import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import accel
from separatrix.accel import counters

X, Y = load_iris(return_X_y=True)
X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)  # no ties
SERVED = {SVC: SVC(), KNeighborsClassifier: KNeighborsClassifier()}
METHODS = [
    (owner, name)
    for owner in SERVED
    for name, value in inspect.getmembers(owner, inspect.isfunction)
    if not name.startswith("__") and "repr" not in name and "doc" not in name
]
LABELS = [f"{owner.__name__}.{name}" for owner, name in METHODS]


def answers(model):
    """All that a program may ask of a model; every call must be scikit-learn's."""
    model.fit(X, Y)
    found = [model.predict(X).tolist(), cross_val_predict(model, X, Y, cv=3).tolist()]
    return [
        *found,
        GridSearchCV(model, {}, cv=3).fit(X, Y).cv_results_["split0_test_score"].tolist(),
    ]


def served():
    return {name: calls.served for name, calls in counters.CALLS.items() if calls.served}


@pytest.mark.parametrize("owner", SERVED)
def test_the_class_itself_is_served(owner):
    with accel.patched(smallest=0):
        answers(type(SERVED[owner])())
    assert len(served()) >= 2


def overriding(owner, name):
    original = getattr(owner, name)

    def method(self, *given, **named):
        return original(self, *given, **named)

    return method


@pytest.mark.parametrize(("owner", "name"), METHODS, ids=LABELS)
def test_subclasses_that_override_a_method_are_not_served(owner, name):
    Own = type("Own", (owner,), {name: overriding(owner, name)})
    Own.__init__ = owner.__init__
    with accel.patched(smallest=0):
        ours = answers(Own())
    assert served() == {}
    assert ours == answers(owner())


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "name"), METHODS, ids=LABELS)
@pytest.mark.parametrize("before", [True, False])
def test_methods_that_are_assigned_to_the_class_are_not_served(owner, name, before, monkeypatch):
    wanted = answers(owner())
    if not before:
        accel.patch(smallest=0)
    with monkeypatch.context() as changes:
        home = next(base for base in owner.__mro__ if name in vars(base))
        changes.setattr(home, name, overriding(home, name))
        accel.patch(smallest=0)
        ours = answers(owner())
        accel.unpatch()
    assert served() == {}
    assert ours == wanted


@pytest.mark.parametrize(("owner", "name"), METHODS, ids=LABELS)
def test_methods_of_an_object_are_not_served(owner, name):
    model = owner().fit(X, Y)
    wanted = model.predict(X).tolist()
    vars(model)[name] = lambda *given, **named: getattr(owner, name)(model, *given, **named)
    with accel.patched(smallest=0):
        assert model.predict(X).tolist() == wanted
    assert served() == {}


def test_a_subclass_that_leaves_out_the_sample_itself_is_heard():
    """Its `kneighbors` takes the next rows: what `predict` answers depends on it."""

    class WithoutItself(KNeighborsClassifier):
        def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
            rows = super().kneighbors(X, self.n_neighbors + 1)[1][:, 1:]
            return (np.ones(rows.shape), rows) if return_distance else rows

    model = WithoutItself(1).fit(X, Y)
    theirs = model.predict(X), model.predict_proba(X)
    with accel.patched(smallest=0):
        ours = model.predict(X), model.predict_proba(X)
    assert model.score(X, Y) < 1.0
    for found, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_pipelines_and_steps_of_the_program_are_not_served(monkeypatch):
    class Own(Pipeline):
        pass

    def fit_transform(self, X, y=None, **params):
        return self.fit(X).transform(X)

    steps = [("scale", StandardScaler()), ("svc", SVC())]
    with accel.patched(smallest=0):
        cross_val_predict(Own(steps), X, Y, cv=3)
        monkeypatch.setattr(StandardScaler, "fit_transform", fit_transform)
        cross_val_predict(make_pipeline(StandardScaler(), SVC()), X, Y, cv=3)
    assert "Pipeline in a search" not in served()


@pytest.mark.parametrize("name", ["_dense_predict", "_dense_decision_function", "_dense_fit"])
def test_methods_that_are_assigned_to_a_base_while_it_is_on_are_called(name, monkeypatch):
    calls = []
    with accel.patched(smallest=0):
        home = next(base for base in SVC.__mro__[1:] if name in vars(base))
        original = vars(home)[name]

        def own(*given, **named):
            calls.append(name)
            return original(*given, **named)

        monkeypatch.setattr(home, name, own)
        model = SVC().fit(X, Y)
        model.predict(X)
        model.decision_function(X)
    assert calls


def test_descriptors_that_are_assigned_to_the_class_are_not_served(monkeypatch):
    def farthest(self, shift, X=None, n_neighbors=None, return_distance=True):
        rows = np.argsort(-np.abs(X[:, None] - self._fit_X).sum(axis=2))[:, : self.n_neighbors]
        return (np.ones(rows.shape), rows) if return_distance else rows + shift

    monkeypatch.setattr(KNeighborsClassifier, "kneighbors", functools.partialmethod(farthest, 0))
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, Y)
    theirs = model.predict(X)
    with accel.patched(smallest=0):
        np.testing.assert_array_equal(model.predict(X), theirs)
    assert served() == {}


def test_the_switch_is_whole_again_after_a_program_has_put_its_method_back(monkeypatch):
    accel.patch(smallest=0)
    with monkeypatch.context() as changes:
        changes.setattr(SVC, "_dense_fit", lambda *given, **named: None)
        accel.unpatch()
    with accel.patched(smallest=0):
        SVC().fit(X, Y)
    accel.unpatch()
    assert {name: calls.served for name, calls in counters.CALLS.items()} == {"SVC.fit": 1}
    assert SVC._dense_fit.__wrapped__ is SVC.__base__._dense_fit


def test_a_changed_function_of_the_validation_is_called(monkeypatch):
    from sklearn.model_selection import _validation

    calls, original = [], _validation._fit_and_predict

    def own(*given):
        calls.append(1)
        return original(*given)

    monkeypatch.setattr(_validation, "_fit_and_predict", own)
    with accel.patched(smallest=0):
        cross_val_predict(SVC(), X, Y, cv=3)
    assert len(calls) == 3
