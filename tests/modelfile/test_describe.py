"""What a file says about itself, without a model being built."""

import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.modelfile.cases import CASES, NAMES, X, Y
from tests.modelfile.hostile import signed, split_file

import separatrix as sx
from separatrix.errors import ModelFileError
from separatrix.modelfile import files
from separatrix.modelfile.describe import escape_markdown, was_trained_on


def described(model, path, **more):
    return sx.describe(sx.save(model, path, **more))


def test_a_description_takes_no_more_models_and_keys_than_there_can_be(path):
    document, tensors = split_file(sx.LogisticRegression().fit(X, Y), path)
    params = {"norm": "l2", "copy": True}
    small = {"kind": "Normalizer", "params": params, "state": {}, "slim": False}
    document["model"]["params"]["k" * 100_000] = {str(i): small for i in range(3000)}
    path.write_bytes(signed(document, tensors))
    with pytest.raises(ModelFileError, match="must be an object with"):
        sx.describe(path)


def test_a_card_has_no_links_and_pictures_in_it(path):
    note = "[click](javascript:alert(1)) ![x](http://evil/x.png) **b** <img src=x> \\"
    labels = np.array(["[x](y)", "a\\|b", "![i](http://e/x)"])[Y]
    found = str(sx.describe(sx.save(sx.LogisticRegression().fit(X, labels), path, note=note)))
    for bad in ("[click](", "![x](", "**b**", "<img", "[x](y)", "![i]("):
        assert bad not in found.replace("\\[", "<").replace("\\*", "-")
    for row in found.splitlines():
        assert not row.startswith("| classes") or row.replace("\\|", "").count("|") == 3


def test_a_description_shows_the_labels_that_the_document_speaks_of(path):
    document, tensors = split_file(sx.LogisticRegression().fit(X, Y), path)
    for said in (5, {"mixed": 5}, {"mixed": [[[]], {"a": 1}]}, "words"):
        document["model"]["state"]["classes_"] = said
        path.write_bytes(signed(document, tensors))
        with pytest.raises(ModelFileError):
            sx.describe(path)


@pytest.mark.parametrize("note", ["~~~", "# Verified", "    code", "---", "1. x", "von 👩‍🔬"])
def test_a_note_stays_in_its_cell(note, path):
    found = described(sx.LogisticRegression().fit(X, Y), path, note=note)
    assert f"| note | {note} |" in str(found).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_file_has_a_card(case, path):
    model = case.fitted()
    found = described(model, path, slim=True)
    assert found.kind == type(model).__name__
    if isinstance(getattr(model, "classes_", None), np.ndarray):
        assert found.classes == model.classes_.tolist()
    assert json.loads(json.dumps(found.as_dict()))["kind"] == found.kind
    assert f"# {found.kind}" in str(found)


def test_no_model_is_built(path, monkeypatch):
    path = sx.save(sx.SVC().fit(X, Y), path)
    monkeypatch.setattr(files, "_Reader", None)
    assert sx.describe(path).kind == "SVC"
    with pytest.raises(ModelFileError, match="not callable"):
        sx.load(path)


def test_models_inside_are_told_with_their_place(path):
    inner = make_pipeline(
        StandardScaler(), sx.SVCCV([1.0], estimator=sx.SVC(calibration="sigmoid"), cv=2)
    )
    found = described(sx.BayesDecision(inner, reject_cost=0.1).fit(X, Y), path)
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


def test_names_of_features_are_there(path):
    names = ["a|b", "<script>", "c\nd", "`e`"]
    found = described(sx.LinearSVC().fit(pd.DataFrame(X, columns=names), Y), path)
    assert found.feature_names == names
    assert "4: a\\|b, &lt;script&gt;, c\\\\nd, \\`e\\`" in str(found)
    assert "<script>" not in str(found)
    assert escape_markdown("\x1b[31m") == "\\\\x1b\\[31m"


@pytest.mark.parametrize("model", [5, {}, {"model": {"kind": "SVC", "params": {}}}])
def test_what_holds_no_fitted_model_is_not_described(model, path):
    document, _ = split_file(StandardScaler().fit(X), path)
    path.write_bytes(signed({**document, "model": model}, {}))
    with pytest.raises(ModelFileError, match="`model` must be a fitted model"):
        sx.describe(path)


def test_a_table_of_markdown_has_its_rule_below_the_heading(path):
    lines = sx.describe(sx.save(sx.GaussianNB().fit(X, Y), path)).markdown().splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("|---")]
    assert rules
    for at in rules:
        assert lines[at - 1].startswith("|")
        assert not lines[at - 2].startswith("|")


def test_the_data_of_a_file_are_known_by_their_hash(path):
    model = sx.GaussianNB().fit(X, Y)
    sx.save(model, path, data=(X, Y))
    assert was_trained_on(path, model, X, Y)
    assert not was_trained_on(path, model, X, Y[::-1])
    assert not was_trained_on(path, model, X + 1e-9, Y)
    assert not was_trained_on(sx.save(model, path), model, X, Y)


def test_a_slim_file_says_so(path):
    model = sx.Perceptron().fit(X, Y)
    assert "slim: it predicts, and cannot be trained further" in str(
        described(model, path, slim=True)
    )
    assert "it predicts, and cannot" not in str(described(model, path))


def test_a_damaged_file_is_not_described(path):
    path = sx.save(sx.GaussianNB().fit(X, Y), path)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelFileError, match="damaged"):
        sx.describe(path)
    with pytest.raises(ModelFileError, match="no file"):
        sx.describe(path.parent / "nothing")


def test_a_description_verifies_large_arrays_without_holding_them(path):
    rows = np.random.default_rng(0).normal(size=(40_000, 30))
    sx.save(sx.KNeighborsClassifier().fit(rows, rows[:, 0] > 0), path)
    tracemalloc.start()
    try:
        found = sx.describe(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert max(array["nbytes"] for array in found.arrays) == rows.nbytes
    assert peak < rows.nbytes / 2
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError, match="SHA-256"):
        sx.describe(path)
