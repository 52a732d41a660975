"""Several models and versions, and files that change while they are served."""

import asyncio
import os
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from tests.serving.asgi_client import AsgiClient

from separatrix import SVC, FisherDiscriminant, LogisticRegression, TableEncoder, save
from separatrix.errors import DataError, ModelFileError, ParameterError, UnsupportedError
from separatrix.kernels import Spectrum
from separatrix.serving.gateway import log_line

ROW = [[5.0, 3.0, 1.5, 0.2]]


def replace_file(path, source):
    """Replace a file as `save` does, with a time of its own."""
    part = path.with_suffix(".part")
    shutil.copy(source, part)
    later = path.stat().st_mtime_ns + 1_000_000_000
    os.utime(part, ns=(later, later))
    os.replace(part, path)


def reload(client):
    asyncio.run(client.endpoints.store.reload_changed(client.endpoints.loader))


@pytest.fixture
def changing(tmp_path, iris, linear):
    path = tmp_path / "changing.model"
    shutil.copy(iris[1], path)
    return path, AsgiClient([("changing", "1", path)], any_signature=True)


def test_a_changed_file_is_loaded_and_old_requests_keep_their_model(changing, linear):
    path, client = changing
    before = client.post("/predict", ROW).json()
    held = client.endpoints.store.find(None)

    replace_file(path, linear)
    reload(client)

    after = client.post("/predict", ROW).json()
    assert before["labels"] == ["setosa"]
    assert after["labels"] == [0]
    assert held.model is not client.endpoints.store.find(None).model
    assert client.logged[-1] == {"event": "reload", "model": "changing:1", "ok": True}
    assert b"separatrix_reloads_total 1" in client.get("/metrics").body


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_the_old_model_stays_when_the_new_file_is_damaged(changing, tmp_path, linear, damage):
    path, client = changing
    before = client.post("/predict", ROW).body
    raw = bytearray(linear.read_bytes())
    raw[len(raw) // 2] ^= 1
    broken = tmp_path / "broken.model"
    broken.write_bytes({"flip": raw, "cut": raw[:-9], "empty": b""}[damage])

    replace_file(path, broken)
    reload(client)
    reload(client)

    assert client.post("/predict", ROW).body == before
    assert [one["ok"] for one in client.logged] == [False]  # tried once, not at each look
    replace_file(path, linear)
    reload(client)
    assert client.post("/predict", ROW).json()["labels"] == [0]


def test_a_file_of_other_columns_or_classes_is_refused_and_said(tmp_path, iris, linear):
    path = tmp_path / "strict.model"
    shutil.copy(iris[1], path)
    client = AsgiClient([("strict", "1", path)])
    before = client.post("/predict", ROW).body
    assert client.get("/v2/models").json()[0]["reason"] == ""

    replace_file(path, linear)
    reload(client)
    reload(client)

    reason = (
        "the file has another signature: column 0 is 'x1' (number), not 'sepal length' (number)"
    )
    assert client.post("/predict", ROW).body == before
    assert [one["error"] for one in client.logged] == [reason]
    assert client.get("/v2/models").json()[0]["reason"] == f"the old model serves: {reason}"
    assert b"separatrix_refused_reloads_total 1" in client.get("/metrics").body
    replace_file(path, iris[1])
    reload(client)
    assert client.get("/v2/models").json()[0]["reason"] == ""


def test_classes_in_another_order_are_another_signature(tmp_path, iris):
    path = tmp_path / "order.model"
    shutil.copy(iris[1], path)
    client = AsgiClient([("order", "1", path)])
    held = client.endpoints.store.find(None).model.signature
    other = held._replace(classes=held.classes[::-1])
    assert "the classes are ['virginica', " in held.difference(other)
    assert held.difference(client.endpoints.store.signatures()["order:1"]) == ""
    with pytest.raises(DataError, match="another signature"):
        AsgiClient([("order", "1", path)], expected={"order:1": other})


FORMS = {
    "plain": lambda i: f"{i}.5",
    "comma": lambda i: f"{i},5",
    "percent": lambda i: f"{i}.5 %",
    "cm": lambda i: f"{i}.5 cm",
    "kg": lambda i: f"{i}.5 kg",
    "day": lambda i: f"2020-01-{1 + i % 28:02d}",
    "day before month": lambda i: f"{1 + i % 28:02d}.01.2020",
    "yes": lambda i: ["no", "yes"][i % 2],
    "true": lambda i: ["false", "true"][i % 2],
    "words": lambda i: "abcd"[i % 4],
    "codes": lambda i: ["10", "x", "y", "z"][i % 4],
}


def model_of(folder, name, classes="ab", **options):
    """A model of one column in some form, and one of numbers."""
    frame = pd.DataFrame({"x": [FORMS[name](i) for i in range(40)], "z": np.arange(40.0)})
    y = [classes[i % len(classes)] for i in range(40)]
    model = make_pipeline(TableEncoder(), SVC(**options) if options else LogisticRegression())
    return save(model.fit(frame, y), folder / "other.model")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        *(("plain", name) for name in ("comma", "percent", "cm", "day", "words")),
        *(("percent", "plain"), ("comma", "plain"), ("cm", "kg"), ("day", "day before month")),
        *(("yes", "true"), ("words", "codes")),
    ],
)
def test_another_form_of_a_column_is_another_signature(tmp_path, before, after):
    path = tmp_path / "forms.model"
    shutil.copy(model_of(tmp_path, before), path)
    client = AsgiClient([("forms", "1", path)])
    held = client.endpoints.store.find(None).model

    replace_file(path, model_of(tmp_path, after))
    reload(client)

    assert client.endpoints.store.find(None).model is held
    assert client.logged[-1]["error"].startswith("the file has another signature: column ")
    assert "'x'" in client.logged[-1]["error"]
    replace_file(path, model_of(tmp_path, before))
    reload(client)
    assert client.endpoints.store.find(None).model is not held


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classes": "abc"}, "the classes are ['a', 'b', 'c'], not ['a', 'b']"),
        ({"classes": "ac"}, "the classes are ['a', 'c'], not ['a', 'b']"),
        ({"classes": [0, 1]}, "the classes are [0, 1], not ['a', 'b']"),
        ({"C": 1.0}, "the outputs are labels, not labels and probabilities"),
    ],
)
def test_other_outputs_are_another_signature(tmp_path, change, words):
    path = tmp_path / "outputs.model"
    shutil.copy(model_of(tmp_path, "plain"), path)
    client = AsgiClient([("outputs", "1", path)])

    replace_file(path, model_of(tmp_path, "plain", **change))
    reload(client)

    assert client.logged[-1]["error"] == f"the file has another signature: {words}"


def test_a_file_is_tried_again_when_memory_was_short(changing, linear, monkeypatch):
    path, client = changing
    store = client.endpoints.store
    with monkeypatch.context() as short:
        short.setattr(store, "_load", lambda _source: [][0])  # any error that is not of the file
        replace_file(path, linear)
        reload(client)
    assert client.post("/predict", ROW).json()["labels"] == ["setosa"]

    reload(client)

    assert client.post("/predict", ROW).json()["labels"] == [0]
    assert [one["ok"] for one in client.logged] == [False, True]


def test_a_log_that_nobody_reads_does_not_stop_the_server(tmp_path, monkeypatch):
    with open(tmp_path / "log", "w") as log:
        monkeypatch.setattr("sys.stderr", log)
        log_line("reload", ok=True)
    log_line("reload", ok=True)  # to a closed file

    assert (tmp_path / "log").read_text().count("reload") == 1


def test_a_file_that_is_gone_for_a_moment_changes_nothing(changing):
    path, client = changing
    path.unlink()
    reload(client)
    assert client.post("/predict", ROW).status == 200
    assert client.logged == []


def test_the_latest_version_answers_unless_one_is_named(iris, linear):
    client = AsgiClient([("m", "2", iris[1]), ("m", "10", linear), ("n", "1", iris[1])])
    assert client.post("/predict?model=m", ROW).json()["version"] == "10"
    assert client.post("/predict?model=m&version=2", ROW).json()["labels"] == ["setosa"]
    assert client.get("/v2/models/m").json()["versions"] == ["2", "10"]


def test_what_cannot_be_served_is_refused_at_the_start(tmp_path, iris):
    X, y = load_iris(return_X_y=True)
    words = save(SVC(kernel=Spectrum(2)).fit(["abab", "cdcd"], [0, 1]), tmp_path / "words.model")
    axes = save(FisherDiscriminant().fit(X, y), tmp_path / "axes.model")
    pickle = tmp_path / "pickle.model"
    pickle.write_bytes(b"\x80\x04\x95")
    for path, error, sentence in (
        (words, UnsupportedError, "takes texts"),
        (axes, UnsupportedError, "is an embedding"),
        (pickle, ModelFileError, "pickle.model"),
    ):
        with pytest.raises(error, match=sentence):
            AsgiClient([("m", "1", path)])
    with pytest.raises(ParameterError, match="given once"):
        AsgiClient([("m", "1", iris[1]), ("m", "1", iris[1])])


@pytest.mark.slow
def test_a_model_whose_rows_depend_on_each_other_is_not_batched(iris, monkeypatch):
    proba = LogisticRegression.predict_proba

    def depends_on_position(self, X):
        P = proba(self, X)
        return P + 1e-15 * (P[:1] - P)

    monkeypatch.setattr(LogisticRegression, "predict_proba", depends_on_position)
    assert AsgiClient([("iris", "1", iris[1])]).endpoints.store.find("iris").model.block == 1


def test_blocks_are_so_small_that_huge_values_do_not_change_the_precision_of_others(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("separatrix.estimators.base.support_scores.SMALL", 1200)
    X, y = load_iris(return_X_y=True)
    path = save(SVC(calibration="sigmoid").fit(X, y), tmp_path / "svc.model")
    model = AsgiClient([("svc", "1", path)], max_batch=64).endpoints.store.find(None).model
    vectors = len(model.model.support_)
    assert 1 < model.block < 64
    assert model.block * vectors <= 1200 or model.block == 1
