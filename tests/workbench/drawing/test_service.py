"""Draw: answers are the models' own, corrections are learned, kept, replayed and forgotten."""

import base64
import json
import runpy
from threading import Event

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.workbench.handwriting import HANDWRITING, moved, shaky

import separatrix
from separatrix.data.catalogue.find import find
from separatrix.errors import DataError, MissingDataError
from separatrix.workbench.drawing import service as service_module
from separatrix.workbench.drawing.explanation import PreparedSupportRows, find_terms
from separatrix.workbench.drawing.models import _RECIPES
from separatrix.workbench.drawing.pictures import load_pictures
from separatrix.workbench.drawing.requests import AnswerRequest
from separatrix.workbench.drawing.service import Drawing
from separatrix.workbench.drawing.strokes import rasterize
from separatrix.workbench.settings import Settings

FIVE = HANDWRITING["5"][0]


def load(folder, **settings):
    """The service with all its models loaded, of the digits unless another data set is chosen."""
    if not settings:
        settings = {"data": "digits"}
    found = Drawing(Settings(folder=folder, **settings))
    while found.work():
        pass
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A service that no test changes."""
    return load(tmp_path_factory.mktemp("workbench"))


def labels(answer):
    return {found["key"]: found["label"] for found in answer["answers"]}


def confidences(answer):
    return {found["key"]: found["confidence"] for found in answer["answers"]}


def decode(text):
    """The bytes of a picture, as numbers."""
    return np.frombuffer(base64.b64decode(text), dtype=np.uint8).astype(int)


def run_script(folder, capsys, text):
    """What a script prints."""
    (folder / "script.py").write_text(text)
    runpy.run_path(str(folder / "script.py"))
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("digits", marks=pytest.mark.slow),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("usps", "mnist")),
    ],
)
def test_plain_digits_are_recognised(tmp_path, data, request):
    if data != "digits":
        request.getfixturevalue(data)
    drawing = load(tmp_path, data=data)
    for label, ways in HANDWRITING.items():
        found = labels(drawing.answer(strokes=ways[0]))
        right = [key for key, answer in found.items() if answer == label]
        assert 2 * len(right) > len(found), (label, found)
        assert {"neighbours", "svm"} <= set(right), (label, found)


@pytest.mark.slow
def test_digits_of_many_hands_are_mostly_recognised(shared):
    votes = []
    for label, ways in HANDWRITING.items():
        for number, way in enumerate(ways):
            said = labels(shared.answer(strokes=shaky(moved(way, slant=0.05), number)))
            votes += [answer == label for answer in said.values()]
    assert np.mean(votes) > 0.8


def test_answers_are_those_of_the_models(shared):
    for label, ways in HANDWRITING.items():
        answer = shared.answer(strokes=ways[1])
        picture = (np.round(decode(answer["image"])[None] / 255.0 * 16) / 16).astype(np.float32)
        for model, found in zip(shared._panel.models, answer["answers"], strict=True):
            assert found["label"] == str(model.model.predict(picture)[0]), (label, model.key)
            shares = {entry["label"]: entry["share"] for entry in found["confidence"]}
            assert max(shares, key=shares.get) == found["label"]
            assert sum(shares.values()) == pytest.approx(1.0, abs=1e-3)


def test_held_out_errors_are_sane_and_nothing_was_left_out(shared):
    state = shared.state()
    assert state["ready"]
    assert state["problem"] == ""
    assert len(state["models"]) == 9
    assert all(0 <= model["error"] < 6 for model in state["models"])


def test_every_row_that_is_named_has_its_picture(shared):
    answer = shared.answer(strokes=FIVE, count=3)
    X, y = load_digits(return_X_y=True)
    assert len(answer["neighbours"]) == 3
    named = [row for found in answer["answers"] for row in found["terms"] or ()]
    for row in [*named, *answer["neighbours"]]:
        ink = decode(answer["pictures"][str(row["row"])])
        np.testing.assert_array_equal(np.round(ink / 255.0 * 16), X[row["row"]])
        assert row["label"] == str(y[row["row"]])


def test_neighbours_are_the_nearest_rows(shared):
    answer = shared.answer(strokes=FIVE, count=5)
    picture = np.round(decode(answer["image"]) / 255.0 * 16) / 16
    rows = shared._panel.pictures.rows
    distances = np.linalg.norm(load_digits().data[rows] / 16 - picture, axis=1)
    found = [row["distance"] for row in answer["neighbours"]]
    np.testing.assert_allclose(found, np.sort(distances)[:5], atol=1e-4)


def test_terms_of_all_support_add_up_to_the_score(shared, monkeypatch):
    monkeypatch.setattr("separatrix.workbench.drawing.explanation.TERMS", 10**6)
    machine = next(model for model in shared._panel.models if model.key == "kernel-perceptron")
    answer = shared.answer(strokes=FIVE)
    found = next(one for one in answer["answers"] if one["key"] == machine.key)
    x = machine.to_row(np.round(decode(answer["image"]) / 255.0 * 16))
    score = machine.model.decision_function(x).max()
    assert sum(term["weight"] for term in found["terms"]) == pytest.approx(score, abs=1e-2)


def test_pixels_without_ink_are_no_evidence(shared):
    answer = shared.answer(strokes=FIVE)
    given = [one["evidence"] for one in answer["answers"] if one["evidence"] is not None]
    assert len(given) == 4
    for text in given:
        evidence = decode(text) - 128
        assert (evidence[decode(answer["image"]) == 0] == 0).all()
        assert np.abs(evidence).max() == 127


def test_nothing_drawn_is_no_question(shared):
    for strokes in ([], [[]]):
        answer = shared.answer(strokes=strokes)
        assert answer["empty"]
        assert answer["answers"] == []


def test_dots_and_scribbles_are_answered(shared):
    scribble = np.random.default_rng(0).random((200, 100, 2)).tolist()
    for strokes in ([[[0.5, 0.5]]], [[[0.1, 0.9]] * 50], [[[-0.4, 0.2], [1.4, 0.2]]], scribble):
        answer = shared.answer(strokes=strokes)
        json.dumps(answer, allow_nan=False)
        assert len(answer["answers"]) == 9


@pytest.mark.slow
def test_a_correction_is_learned_kept_replayed_and_forgotten(tmp_path):
    drawing = load(tmp_path)
    before = drawing.answer(strokes=FIVE)
    assert set(labels(before).values()) == {"5"}

    learned = drawing.learn(strokes=FIVE, label="3")
    drawing.learn(strokes=HANDWRITING["7"][0], label="1")
    for key in ("neighbours", "kernel-perceptron"):
        assert labels(learned["answer"])[key] == "3"
    taught = {one["key"]: one for one in learned["taught"]}
    assert set(taught) | set(learned["unchanged"]) == set(labels(before))
    for key, one in taught.items():
        assert (one["before"], one["after"]) == ("5", labels(learned["answer"])[key])
    first = learned["answer"]["neighbours"][0]
    assert (first["row"], first["label"], first["distance"]) == (1797, "3", 0.0)
    assert learned["answer"]["pictures"]["1797"] == learned["answer"]["image"]

    live = [drawing.answer(strokes=ways[0]) for ways in HANDWRITING.values()]
    again = load(tmp_path)
    assert again.state()["corrections"] == 2
    for answer, ways in zip(live, HANDWRITING.values(), strict=True):
        replayed = again.answer(strokes=ways[0])
        assert confidences(replayed) == confidences(answer)
        assert [a["terms"] for a in replayed["answers"]] == [a["terms"] for a in answer["answers"]]

    for each in (drawing, again):
        assert each.forget()["corrections"] == 0
        assert confidences(each.answer(strokes=FIVE)) == confidences(before)
    assert not list((tmp_path / "corrections").iterdir())


@pytest.mark.slow
def test_a_model_of_sums_learns_as_if_the_row_had_been_there(tmp_path):
    drawing = load(tmp_path)
    drawing.learn(strokes=FIVE, label="3")
    model = next(model for model in drawing._panel.models if model.key == "linear-discriminant")
    pictures = drawing._panel.pictures
    ink = rasterize(FIVE, pictures.canvas)
    x = model.to_row(pictures.canvas.values(ink.ravel()))
    whole = separatrix.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)
    whole.fit(np.concatenate([pictures.X, x]), np.append(pictures.y, 3))
    np.testing.assert_allclose(model.model.coef_, whole.coef_, rtol=1e-6, atol=1e-6)


def test_unknown_labels_and_blank_pages_teach_nothing(shared):
    with pytest.raises(DataError, match="not a label of digits"):
        shared.learn(strokes=FIVE, label="<script>")
    with pytest.raises(DataError, match="nothing is drawn"):
        shared.learn(strokes=[], label="5")
    assert shared.state()["corrections"] == 0


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"format": 2, "corrections": []}',
        '{"format": 1, "corrections": [{"label": 5, "strokes": []}]}',
        '{"format": 1, "corrections": [{"label": "5", "strokes": [[[1e3, 0]]]}]}',
        '{"format": 1, "corrections": [{"label": "5", "strokes": [[["0", 0]]]}]}',
        '{"format": 1, "corrections": 7}',
        '{"format": 1, "corrections": [{"label": "5", "strokes": [[]]}]}',
        '{"format": 1, "format": 1, "corrections": []}',
    ],
)
def test_a_damaged_file_is_renamed_and_reported(tmp_path, damage):
    file = tmp_path / "corrections" / "digits.json"
    file.parent.mkdir()
    file.write_text(damage)
    drawing = Drawing(Settings(folder=tmp_path, data="digits"))
    assert "digits.damaged-1.json" in drawing.state()["problem"]
    assert (file.parent / "digits.damaged-1.json").read_text() == damage
    assert drawing.state()["corrections"] == 0


@pytest.mark.slow
def test_corrections_with_unknown_labels_are_ignored(tmp_path):
    file = tmp_path / "corrections" / "digits.json"
    file.parent.mkdir()
    kept = {"format": 1, "corrections": [{"label": "x", "strokes": FIVE}]}
    file.write_text(json.dumps(kept))
    drawing = load(tmp_path)
    assert set(labels(drawing.answer(strokes=FIVE)).values()) == {"5"}


def test_answers_come_while_models_load(tmp_path):
    drawing = Drawing(Settings(folder=tmp_path, data="digits"))
    assert drawing.answer(strokes=FIVE)["answers"] == []
    while not drawing.state()["models"]:
        assert drawing.work()
    first = list(labels(drawing.answer(strokes=FIVE)))
    assert first == ["linear-discriminant"]  # no compiler is needed for it
    loading = drawing.state()["loading"]
    assert (loading["done"], loading["total"]) == (1, 9)
    while drawing.work():
        pass
    assert [model["key"] for model in drawing.state()["models"]] == [one.key for one in _RECIPES]


@pytest.mark.slow
def test_the_script_of_each_model_predicts_the_same(shared, tmp_path, capsys):
    strokes = HANDWRITING["8"][1]
    for key, label in labels(shared.answer(strokes=strokes)).items():
        script = shared.answer(strokes=strokes, model=key)["python"]
        assert run_script(tmp_path, capsys, script) == label, key


def test_the_script_of_the_state_prints_the_held_out_error(shared, tmp_path, capsys):
    state = shared.state()
    error = f"{state['models'][0]['error']:.2f} % wrong"
    assert run_script(tmp_path, capsys, state["python"]) == error


def test_saved_models_answer_first(tmp_path, capsys):
    X, y = load_digits(return_X_y=True)
    scaled = make_pipeline(StandardScaler(), separatrix.SVC(device="cpu")).fit(X, y)
    separatrix.save(scaled, tmp_path / "mine.model")
    iris = separatrix.LinearDiscriminantAnalysis().fit(X[:, :4], y)
    separatrix.save(iris, tmp_path / "other.model")
    (tmp_path / "broken.model").write_bytes(b"no model")

    paths = tuple(tmp_path / f"{name}.model" for name in ("mine", "other", "broken"))
    drawing = Drawing(Settings(folder=tmp_path, models=paths))
    drawing.work()
    state = drawing.state()
    assert [model["title"] for model in state["models"]] == ["mine.model"]
    assert "other.model is left out" in state["problem"]
    assert "broken.model is left out" in state["problem"]
    answer = drawing.answer(strokes=FIVE)
    assert answer["answers"][0]["label"] == "5"
    assert run_script(tmp_path, capsys, answer["python"]) == "5"


def test_a_saved_model_whose_data_is_not_here_has_a_canvas(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 100)), np.array(["yes", "no"] * 20)
    separatrix.save(separatrix.Perceptron(tol=None, max_iter=5).fit(X, y), tmp_path / "p.model")
    drawing = load(tmp_path, models=(tmp_path / "p.model",))
    assert drawing.state()["current"] == "blank 10 x 10"
    answer = drawing.answer(strokes=FIVE)
    assert answer["side"] == 10
    assert answer["answers"][0]["label"] in ("yes", "no")


def test_a_file_of_square_pictures_can_be_drawn_on(tmp_path):
    X, y = load_digits(return_X_y=True)
    names = np.array(["three", "eight"])
    rows = np.isin(y, (3, 8))
    np.savez(tmp_path / "own.npz", X=X[rows], y=names[(y[rows] == 8).astype(int)])
    drawing = load(tmp_path, data=str(tmp_path / "own.npz"))
    state = drawing.state()
    assert state["current"] == str(tmp_path / "own.npz"), state["problem"]
    assert state["classes"] == ["eight", "three"]
    said = labels(drawing.answer(strokes=HANDWRITING["3"][0]))
    assert list(said.values()).count("three") > len(said) / 2
    learned = drawing.learn(strokes=HANDWRITING["3"][0], label="eight")
    assert labels(learned["answer"])["kernel-perceptron"] == "eight"


def test_the_script_of_a_file_learns_from_the_very_same_numbers(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "own.npz", X=X[:60] / 3.7, y=y[:60])
    pictures = load_pictures(str(tmp_path / "own.npz"))

    names = {"np": np, "find": find}
    exec(pictures.code, names)

    np.testing.assert_array_equal(names["X"], pictures.X)
    np.testing.assert_array_equal(names["X_test"], pictures.X_test)


def test_a_file_without_pictures_is_reported_and_replaced_by_the_digits(tmp_path):
    (tmp_path / "own.csv").write_text("a,b,label\n1,2,x\n3,4,y\n")
    drawing = Drawing(Settings(folder=tmp_path, data=str(tmp_path / "own.csv")))
    drawing.work()
    assert "got 2 columns" in drawing.state()["problem"]
    assert drawing.state()["current"] == "digits"


def test_missing_sets_are_listed_and_refused_never_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    monkeypatch.setattr("separatrix.data.catalogue.cache_folder", lambda: tmp_path)
    drawing = Drawing(Settings(folder=tmp_path))
    states = {entry["name"]: entry["state"] for entry in drawing.state()["data"]}
    states.pop("own")
    assert states == {"digits": "available", "usps": "missing", "mnist": "missing"}
    assert drawing.state()["current"] == "digits"
    with pytest.raises(MissingDataError, match="mnist is not on this machine") as refused:
        drawing.data(data="mnist")
    assert refused.value.hint == "get it with: separatrix data get mnist"
    with pytest.raises(DataError, match="there is no data set"):
        drawing.data(data="../../etc/passwd")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"strokes": [[0.5, 0.5]]},
        {"strokes": [[[0.5]]]},
        {"strokes": [[[0.5, 0.5, 0.5]]]},
        {"strokes": [[["0.5", 0.5]]]},
        {"strokes": [[[1e300, 0.5]]]},
        {"strokes": [[[float("nan"), 0.5]]]},
        {"strokes": [[[float("inf"), 0.5]]]},
        {"strokes": [[[0.5, 0.5]]] * 201},
        {"strokes": [[[0.5, 0.5]] * 15_000] * 2},
        {"strokes": [], "count": 21},
        {"strokes": [], "count": 1.5},
        {"strokes": [], "more": 1},
    ],
)
def test_absurd_requests_are_refused_by_the_schema(body):
    with pytest.raises(ValidationError):
        AnswerRequest.model_validate(body)


def test_a_new_process_begins_with_the_data_set_that_was_chosen(tmp_path):
    X, y = load_digits(return_X_y=True)
    path = tmp_path / "mine.csv"
    np.savetxt(path, np.column_stack([X, y])[:300], delimiter=",", fmt="%d")

    again = Drawing(Settings(folder=tmp_path, data=str(path), chosen="digits"))

    state = again.state()
    assert state["current"] == "digits"
    assert {entry["title"] for entry in state["data"]} >= {"mine.csv"}


def test_the_reasons_are_those_that_the_model_itself_gives(shared):
    values = load_digits().data[7]
    for model in shared._panel.models:
        if not hasattr(model.model, "explain"):
            continue
        x = model.to_row(values)
        code, _ = model.predict(x)
        found = find_terms(model.model, x, code, model.support_rows)
        own = model.model.explain(x, n_terms=len(model.model.support_))
        of_row = dict(zip(own.rows[0].tolist(), own.terms[0].tolist(), strict=True))
        np.testing.assert_allclose(
            found.weights, [of_row[row] for row in found.rows.tolist()], rtol=1e-4
        )
        assert found.favour + found.against == pytest.approx(own.terms[0].sum(), rel=1e-4)


def test_reasons_follow_what_a_kernel_perceptron_learns():
    digits = load_digits()
    model = separatrix.KernelPerceptron(kernel="poly", degree=2, gamma=0.01).fit(
        digits.data[:200], digits.target[:200]
    )
    rows, x = PreparedSupportRows(), digits.data[500:501]
    before = find_terms(model, x, 3, rows)
    model.partial_fit(x, np.array([3]))

    after = find_terms(model, x, 3, rows)

    assert after.favour > before.favour
    assert after.number >= before.number


def test_no_model_is_fitted_before_the_imports_have_ended(tmp_path, monkeypatch):
    """Who imports a package that another thread has half imported fails."""
    ended, may_end = [], Event()

    def slow(name):
        may_end.wait(30)
        ended.append(name)

    monkeypatch.setattr(service_module, "import_module", slow)
    found = Drawing(Settings(folder=tmp_path, data="digits"))
    for _ in range(5):
        found.work()
    assert found.state()["models"] == []

    may_end.set()
    while found.work():
        pass
    assert ended
    assert len(found.state()["models"]) == 9
