"""Corrections harm little and can be undone; one's own classes are learned; fitted models are kept."""

import base64

import numpy as np
import pytest
from pydantic import ValidationError
from tests.workbench.drawing.test_service import FIVE, confidences, labels, load
from tests.workbench.handwriting import HANDWRITING

import separatrix
from separatrix.errors import DataError
from separatrix.workbench.drawing.explanation import choose_terms
from separatrix.workbench.drawing.loaded_models import MAX_REPEATS, TrainedModel
from separatrix.workbench.drawing.requests import ClassesRequest
from separatrix.workbench.drawing.strokes import rasterize


def errors(drawing):
    return {model["key"]: model["error"] for model in drawing.state()["models"]}


def test_corrections_are_shown_a_few_times_measured_and_undone(tmp_path):
    drawing = load(tmp_path)
    before, first = drawing.answer(strokes=FIVE), errors(drawing)

    reply = drawing.learn(strokes=FIVE, label="3")
    after = drawing.answer(strokes=FIVE)

    taught = {one["key"]: one for one in reply["taught"]}
    assert taught["perceptron"]["times"] <= MAX_REPEATS <= 100
    for key, one in taught.items():
        assert one["after"] == labels(after)[key]
        assert one["errors"] == [first[key], errors(drawing)[key]]
        assert one["errors"][1] < one["errors"][0] + 1.0  # a single drawing spoils nothing
        model = next(model for model in drawing._panel.models if model.key == key)
        assert model.error == model.measure_error()
    assert taught["kernel-perceptron"]["after"] == "3"
    assert any(one["errors"][0] != one["errors"][1] for one in taught.values())

    drawing.learn(strokes=HANDWRITING["7"][0], label="1")
    assert drawing.undo()["corrections"] == 1
    assert confidences(drawing.answer(strokes=FIVE)) == confidences(after)
    assert drawing.undo()["corrections"] == 0
    assert confidences(drawing.answer(strokes=FIVE)) == confidences(before)
    assert errors(drawing) == first
    with pytest.raises(DataError, match="no correction to undo"):
        drawing.undo()


def test_a_warm_start_fits_nothing_and_answers_the_same(tmp_path, monkeypatch):
    cold = load(tmp_path)
    fitted = []
    monkeypatch.setattr(TrainedModel, "_measure", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(TrainedModel, "_fit", note_fits(fitted, TrainedModel._fit))

    warm = load(tmp_path)

    assert fitted == ["neighbours"]  # the pictures themselves
    for drawing in (cold, warm):
        drawing.learn(strokes=FIVE, label="3")
    for ways in HANDWRITING.values():
        one, other = (drawing.answer(strokes=ways[1]) for drawing in (cold, warm))
        assert confidences(one) == confidences(other)
        assert [a["terms"] for a in one["answers"]] == [a["terms"] for a in other["answers"]]
    assert [model.error for model in warm._panel.models] == [m.error for m in cold._panel.models]


def note_fits(fitted, fit):
    def noted(model):
        fitted.append(model.key)
        return fit(model)

    return noted


def test_a_damaged_or_foreign_file_of_a_fitted_model_is_fitted_again(tmp_path, monkeypatch):
    load(tmp_path)
    (svm,) = (tmp_path / "fitted" / "digits").glob("svm.*.model")
    svm.write_bytes(svm.read_bytes()[:-100])
    (facts,) = (tmp_path / "fitted" / "digits").glob("logistic.*.json")
    facts.write_text("[]")
    fitted = []
    monkeypatch.setattr(TrainedModel, "_fit", note_fits(fitted, TrainedModel._fit))

    drawing = load(tmp_path)

    assert fitted == ["neighbours", "svm", "logistic"]
    assert drawing.state()["problem"] == ""
    assert set(labels(drawing.answer(strokes=FIVE)).values()) == {"5"}


def test_own_classes_are_learned_live_kept_and_exported(tmp_path):
    drawing = load(tmp_path)
    assert drawing.classes(names=["hat", "dog"])["own"] == [
        {"name": "hat", "count": 0},
        {"name": "dog", "count": 0},
    ]
    for name, digit in (("hat", "3"), ("dog", "7")):
        for strokes in (*HANDWRITING[digit], HANDWRITING[digit][0], HANDWRITING[digit][1]):
            reply = drawing.learn(strokes=strokes, label=name)
    assert reply["own"] == [{"name": "hat", "count": 5}, {"name": "dog", "count": 5}]
    assert len(reply["answer"]["answers"]) == 9
    assert drawing.state()["problem"] == ""
    assert drawing.state()["models"][0]["caption"].startswith("the 3 most similar")
    for name, digit in (("hat", "3"), ("dog", "7")):
        verdict = drawing.answer(strokes=HANDWRITING[digit][2])["verdict"]
        assert verdict["label"] == name
        assert verdict["votes"] >= 7

    again = load(tmp_path, data="own")
    assert labels(again.answer(strokes=FIVE)) == labels(drawing.answer(strokes=FIVE))
    file = again.export(model="svm")
    (tmp_path / "svm.model").write_bytes(base64.b64decode(file["base64"]))
    model = separatrix.load(tmp_path / "svm.model")
    canvas = again._panel.pictures.canvas
    x = canvas.values(rasterize(HANDWRITING["3"][0], canvas).ravel())[None]
    assert model.predict(x.astype(np.float32)).tolist() == ["hat"]

    assert again.undo()["own"][1]["count"] == 4
    assert again.classes(names=["hat", "cat"])["own"][1] == {"name": "cat", "count": 0}
    assert again.forget()["own"] == [{"name": "hat", "count": 0}, {"name": "cat", "count": 0}]


@pytest.mark.parametrize(
    "names",
    [["a"], ["a", "a"], ["a", " a "], ["a", " "], ["a", ""], [*"abcdefghijk"], ["a", "b" * 31]],
)
def test_names_of_own_classes_are_two_to_ten_and_differ(names):
    with pytest.raises(ValidationError):
        ClassesRequest(names=names)


def test_of_many_terms_the_strongest_against_is_shown_and_all_are_summed():
    found = choose_terms(np.arange(10), np.array([9.0, 8, 7, 6, 5, 4, 3, -1, -2, 0]))
    assert found.rows.tolist() == [0, 1, 2, 3, 4, 8]
    assert (found.favour, found.against, found.number) == (42.0, -3.0, 10)


def test_sums_of_terms_are_those_of_all_support(tmp_path):
    drawing = load(tmp_path)
    answer = drawing.answer(strokes=FIVE)
    for found in answer["answers"]:
        if found["totals"] is None:
            continue
        model = next(m.model for m in drawing._panel.models if m.key == found["key"])
        assert found["totals"]["count"] == len(model.support_)
        assert min(term["weight"] for term in found["terms"]) < 0
        assert len(found["terms"]) == 6
