"""Files of pipelines and decisions."""

import numpy as np
import pytest
from sklearn.compose import make_column_selector
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import WORDS, X, Y

from separatrix import SVC, BayesDecision, GaussianNB, LogisticRegression, load, save
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
