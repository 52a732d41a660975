"""240 drawings of our own in many styles: what most models say of them, and of what is no digit."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.workbench.drawing.make_drawings import FILE, STYLES, as_text, make_drawings
from tests.workbench.handwriting import HANDWRITING, arc, line, moved

from separatrix.workbench.drawing.canvas import DIGITS, USPS
from separatrix.workbench.drawing.loaded_models import TrainedModel
from separatrix.workbench.drawing.models import list_recipes
from separatrix.workbench.drawing.panel import Panel
from separatrix.workbench.drawing.pictures import load_pictures
from separatrix.workbench.drawing.service import Drawing
from separatrix.workbench.drawing.strokes import rasterize
from separatrix.workbench.drawing.verdict import find_majority
from separatrix.workbench.settings import Settings

DRAWINGS = json.loads(FILE.read_text())
EYES = [[[0.36, 0.4], [0.36, 0.42]], [[0.64, 0.4], [0.64, 0.42]]]
NO_DIGITS = {
    "smiley": [arc(0.5, 0.5, 0.4, 0.4, -90, 270, 60), *EYES, arc(0.5, 0.5, 0.22, 0.22, 20, 160)],
    "M": [line((0.15, 0.9), (0.2, 0.1), (0.5, 0.6), (0.8, 0.1), (0.85, 0.9))],
    "W": [line((0.1, 0.1), (0.3, 0.9), (0.5, 0.3), (0.7, 0.9), (0.9, 0.1))],
    "star": [
        line((0.5, 0.05), (0.75, 0.95), (0.05, 0.35), (0.95, 0.35), (0.25, 0.95), (0.5, 0.05))
    ],
}


def load_until(drawing, key):
    """Load models until that one is there."""
    while key not in [model["key"] for model in drawing.state()["models"]]:
        drawing.work()


def load_models(name):
    """The pictures of a data set and its fitted models."""
    pictures = load_pictures(name)
    return pictures, [TrainedModel(recipe, pictures) for recipe in list_recipes(pictures)]


def share_right(pictures, models):
    """The share of the drawings whose label the verdict gives."""
    canvas = pictures.canvas
    images = [rasterize(one["strokes"], canvas, one["pen"]).ravel() for one in DRAWINGS]
    X = np.stack([canvas.values(ink) for ink in images])
    answers = [
        map(str, model.model.predict((X / model.unit).astype("float32"))) for model in models
    ]
    errors = [model.error for model in models]
    verdicts = [
        find_majority(list(zip(said, errors, strict=True))) for said in zip(*answers, strict=True)
    ]
    right = [one["label"] == found["label"] for one, found in zip(DRAWINGS, verdicts, strict=True)]
    return np.mean(right)


def test_the_file_is_what_the_script_writes():
    assert FILE.read_text() == as_text(make_drawings())
    assert len(DRAWINGS) >= 200
    assert {one["label"] for one in DRAWINGS} == set("0123456789")
    assert len({tuple(one[key] for key in ("slant", "width", "pen")) for one in DRAWINGS}) >= STYLES


@pytest.mark.parametrize(
    ("data", "least"),
    [
        ("digits", 0.90),
        pytest.param("usps", 0.90, marks=pytest.mark.slow),
        pytest.param("mnist", 0.96, marks=pytest.mark.slow),
    ],
)
def test_most_drawings_get_their_label(data, least, request):
    if data != "digits":
        request.getfixturevalue(data)
    assert share_right(*load_models(data)) >= least


def test_usps_drawings_do_not_depend_on_slant():
    for ways in HANDWRITING.values():
        upright = rasterize(ways[0], USPS)
        for slant in (-0.3, 0.2, 0.5):
            leaning = rasterize(moved(ways[0], slant=slant), USPS)
            assert np.abs(leaning - upright).mean() < 0.02


def test_ink_of_usps_drawings_is_upright_as_usps_is():
    places = np.arange(USPS.side) + 0.5
    for one in DRAWINGS[::5]:
        ink = rasterize(one["strokes"], USPS, one["pen"])
        x = places - ink.sum(axis=0) @ places / ink.sum()
        y = places - ink.sum(axis=1) @ places / ink.sum()
        assert (
            abs(y @ ink @ x / (ink.sum(axis=1) @ y**2)) < 0.1
        )  # where strokes cross there is less ink than stroke


def test_corners_of_drawings_for_the_digits_are_above_each_other():
    def offsets(canvas):
        for one in DRAWINGS:
            ink = rasterize(one["strokes"], canvas) > 0.25
            rows = np.flatnonzero(ink.any(axis=1))
            yield int(ink[rows[0]].argmax()) - int(ink[rows[-1]].argmax())

    assert np.mean(np.abs(list(offsets(DIGITS)))) < 0.5  # in the data set 0.1
    assert np.mean(np.abs(list(offsets(replace(DIGITS, upright=""))))) > 1


def test_a_smiley_and_letters_are_none_of_these_but_digits_are(tmp_path):
    drawing = Drawing(Settings(folder=tmp_path, data="digits"))
    load_until(drawing, "neighbours")
    for name, strokes in NO_DIGITS.items():
        assert drawing.answer(strokes=strokes)["distance"]["far"], name
    for label, ways in HANDWRITING.items():
        found = drawing.answer(strokes=ways[0])["distance"]
        assert not found["far"], (label, found)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["usps", "mnist"])
def test_a_smiley_is_none_of_these_on_larger_pictures(data, request, tmp_path):
    request.getfixturevalue(data)
    drawing = Drawing(Settings(folder=tmp_path, data=data))
    load_until(drawing, "neighbours")
    for name, strokes in NO_DIGITS.items():
        assert drawing.answer(strokes=strokes)["distance"]["far"], name
    far = [drawing.answer(strokes=ways[0])["distance"]["far"] for ways in HANDWRITING.values()]
    assert not any(far)
    assert isinstance(drawing._panel, Panel)


def test_equal_votes_are_decided_by_the_lower_error_and_the_tie_is_told():
    found = find_majority([("3", 5.0), ("8", 1.0), ("8", 2.0), ("3", 0.5), ("1", 0.1)])
    assert found == {"label": "8", "votes": 2, "of": 5, "tied": ["3"]}
    assert find_majority([]) == {"label": "", "votes": 0, "of": 0, "tied": []}
