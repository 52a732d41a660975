"""What a file says about itself, without a model being built."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import CASES, NAMES, WORDS, X, Y

from separatrix import (
    SVC,
    SVCCV,
    BayesDecision,
    GaussianNB,
    KNeighborsClassifier,
    LinearSVC,
    Perceptron,
    describe,
    load,
    save,
)
from separatrix.errors import ModelFileError
from separatrix.kernels import Gaussian, Normalized, Polynomial
from separatrix.modelfile import files
from separatrix.modelfile.describe import escaped
from separatrix.modelfile.model_card import data_hash


def described(model, tmp_path, **more):
    return describe(save(model, tmp_path / "x.model", **more))


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_file_has_a_card(case, tmp_path):
    model = case.fitted()
    found = described(model, tmp_path, slim=True)
    assert found.kind == type(model).__name__
    if hasattr(model, "classes_") and not isinstance(model.classes_, list):
        assert found.classes == model.classes_.tolist()
    assert json.loads(json.dumps(found.as_dict()))["kind"] == found.kind
    assert f"# {found.kind}" in str(found)


def test_no_model_is_built(tmp_path, monkeypatch):
    path = save(SVC().fit(X, Y), tmp_path / "x.model")
    monkeypatch.setattr(files, "_Reader", None)
    assert describe(path).kind == "SVC"
    with pytest.raises(ModelFileError, match="not callable"):
        load(path)


def test_the_card_says_what_the_model_was_trained_on(tmp_path):
    model = SVC(C=10, kernel=Normalized(Polynomial(2)) + Gaussian(0.1), random_state=7).fit(
        X, WORDS
    )
    found = described(model, tmp_path, data=(X, WORDS), note="for the greenhouse")
    card = found.card
    assert (card.data.samples, card.data.features) == (30, 4)
    assert card.data.sha256 == data_hash(X, WORDS)
    assert card.seed == 7
    assert card.versions["numpy"] == np.__version__
    assert card.certificate["violation"] == model.violation_.max() <= card.certificate["tol"]
    text = str(found)
    for part in (
        "for the greenhouse",
        "| classes | 3: setosa, versicolor, virginica |",
        "| trained on | 30 samples of 4 features |",
        f"`{card.data.sha256}`",
        "`Sum(left=Normalized(kernel=Polynomial(degree=2, gamma=1.0, coef0=0.0)), "
        "right=Gaussian(gamma=0.1))`",
        "| C | `10` |",
        "| seed | 7 |",
        "| dual_gap |",
    ):
        assert part in text


def test_models_inside_are_told_with_their_place(tmp_path):
    inner = make_pipeline(
        StandardScaler(), SVCCV([1.0], estimator=SVC(calibration="sigmoid"), cv=2)
    )
    found = described(BayesDecision(inner, reject_cost=0.1).fit(X, Y), tmp_path)
    kinds = {part.position: part.kind for part in found.parts}
    assert kinds == {
        "model": "BayesDecision",
        "model.estimator_": "Pipeline",
        "model.estimator_.steps[0]": "StandardScaler",
        "model.estimator_.steps[1]": "SVCCV",
        "model.estimator_.steps[1].best_estimator_": "SVC",
    }
    assert found.classes == [0, 1, 2]
    assert "violation" in found.card.certificate


def test_names_of_features_are_there(tmp_path):
    names = ["a|b", "<script>", "c\nd", "`e`"]
    found = described(LinearSVC().fit(pd.DataFrame(X, columns=names), Y), tmp_path)
    assert found.feature_names == names
    assert "4: a\\|b, &lt;script&gt;, c\\\\nd, \\`e\\`" in str(found)
    assert "<script>" not in str(found)
    assert escaped("\x1b[31m") == "\\\\x1b\\[31m"


def test_a_slim_file_says_so(tmp_path):
    model = Perceptron().fit(X, Y)
    assert "slim: it predicts, and cannot go on learning" in str(
        described(model, tmp_path, slim=True)
    )
    assert "it predicts, and cannot" not in str(described(model, tmp_path))


def test_a_damaged_file_is_not_described(tmp_path):
    path = save(GaussianNB().fit(X, Y), tmp_path / "x.model")
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match="damaged"):
        describe(path)
    with pytest.raises(ModelFileError, match="no file"):
        describe(tmp_path / "nothing")


def test_the_certificate_of_each_kind_is_a_number(tmp_path):
    for model, name in (
        (Perceptron(), "mistakes in the last pass"),
        (LinearSVC(), "dual_gap"),
        (SVC(), "violation"),
    ):
        card = described(model.fit(X, Y), tmp_path).card
        assert np.isfinite(card.certificate[name])
    assert described(KNeighborsClassifier().fit(X, Y), tmp_path).card.certificate == {}


def test_the_hash_is_of_the_values_and_not_of_how_they_lie():
    assert data_hash(X, Y) == data_hash(np.asfortranarray(X), Y.copy())
    assert data_hash(X, Y) == data_hash(X.astype(">f8"), Y)
    assert data_hash(X, Y) == data_hash(pd.DataFrame(X), pd.Series(Y))
    assert data_hash(csr_array(X), Y) == data_hash(csc_array(X), Y)
    assert data_hash(X, WORDS) == data_hash(X, list(WORDS))


def test_the_hash_is_another_for_other_values():
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], 9)
    hashes = {
        data_hash(X),
        data_hash(X, Y),
        data_hash(changed, Y),
        data_hash(X[:, ::-1], Y),
        data_hash(X.T),
        data_hash(X.astype(np.float32), Y),
        data_hash(X, Y.astype(str)),
        data_hash(X, ["a", "bc"]),
        data_hash(X, ["ab", "c"]),
        data_hash(csr_array(X), Y),
    }
    assert len(hashes) == 10
