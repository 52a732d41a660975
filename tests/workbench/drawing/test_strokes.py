"""A drawing as a picture: the same wherever and however large it was drawn, and like the data's."""

import numpy as np
import pytest
from tests.workbench.handwriting import HANDWRITING, moved

from separatrix.data.catalogue import load
from separatrix.errors import DataError
from separatrix.workbench.drawing.canvas import (
    DIGITS,
    KNOWN,
    MNIST,
    measure_canvas,
    stroke_widths,
)
from separatrix.workbench.drawing.strokes import rasterize

CANVASES = pytest.mark.parametrize("canvas", KNOWN.values(), ids=KNOWN)


@pytest.mark.slow
@CANVASES
@pytest.mark.parametrize("label", HANDWRITING)
def test_where_and_how_large_it_is_drawn_changes_nothing(canvas, label):
    for strokes in HANDWRITING[label]:
        picture = rasterize(strokes, canvas)
        for scale, right, down in ((0.5, 0.1, 0.3), (0.125, 0.7, 0.0), (1.0, -0.2, 0.15)):
            other = rasterize(moved(strokes, scale=scale, right=right, down=down), canvas)
            np.testing.assert_allclose(other, picture, atol=1e-5)


@CANVASES
def test_the_order_and_the_direction_of_strokes_change_nothing(canvas):
    for ways in HANDWRITING.values():
        for strokes in ways:
            other = rasterize([stroke[::-1] for stroke in strokes[::-1]], canvas)
            assert np.abs(other - rasterize(strokes, canvas)).mean() < 0.02


@CANVASES
def test_ink_fills_the_box_in_one_direction_and_is_centred(canvas):
    for ways in HANDWRITING.values():
        ink = rasterize(ways[0], canvas)
        places = np.arange(canvas.side) + 0.5
        if canvas.by_mass:
            for axis in (0, 1):
                centre = ink.sum(axis=axis) @ places / ink.sum()
                assert abs(centre - canvas.side / 2 - canvas.middle) < 0.75
        some = [np.flatnonzero((ink > 0.25).any(axis=axis)) for axis in (0, 1)]
        assert max(np.ptp(places[rows]) + 1 for rows in some) == pytest.approx(canvas.box, abs=1)


@CANVASES
def test_a_line_is_as_thin_as_the_pen_in_every_direction(canvas):
    upright = rasterize([[[0.5, 0.1], [0.5, 0.9]]], canvas)
    lying = rasterize([[[0.1, 0.5], [0.9, 0.5]]], canvas)
    np.testing.assert_allclose(lying, upright.T, atol=1e-6)
    assert upright[canvas.side // 2].sum() <= canvas.widest + 0.5


@CANVASES
def test_a_dot_is_a_dot_and_nothing_is_nothing(canvas):
    dot = rasterize([[[0.3, 0.8]]], canvas)
    assert 0 < dot.sum() <= (canvas.widest + 1.5) ** 2
    np.testing.assert_array_equal(rasterize([[[0.3, 0.8]] * 5, []], canvas), dot)
    assert rasterize([], canvas) is None
    assert rasterize([[], []], canvas) is None


@CANVASES
def test_values_and_ink_are_each_others_inverse(canvas):
    ink = rasterize(HANDWRITING["8"][0], canvas)
    np.testing.assert_allclose(canvas.ink_of(canvas.values(ink)), ink, atol=0.5 / 255)


def test_digits_are_counts_of_a_bitmap():
    counts = DIGITS.values(rasterize(HANDWRITING["6"][0], DIGITS))
    assert set(counts.ravel()) <= set(range(17))


@pytest.mark.parametrize("name", ["digits", pytest.param("usps", marks=pytest.mark.slow), "mnist"])
def test_drawings_have_the_ink_and_the_pen_of_the_data(name, request):
    data = load("digits") if name == "digits" else request.getfixturevalue(name)
    canvas = KNOWN[name]
    images = canvas.ink_of(np.asarray(data.X)[:5000]).reshape(-1, canvas.side, canvas.side)
    drawings = np.array([rasterize(way, canvas) for ways in HANDWRITING.values() for way in ways])
    assert drawings.mean() == pytest.approx(images.mean(), rel=0.1)
    width = np.median(stroke_widths(images))
    assert np.median(stroke_widths(drawings)) == pytest.approx(width, rel=0.1)


def test_a_canvas_is_measured_from_pictures_alone():
    pictures = np.array([rasterize(way, MNIST) for ways in HANDWRITING.values() for way in ways])
    found = measure_canvas(255.0 - np.round(pictures.reshape(-1, 784) * 255))
    assert (found.side, found.paper, found.full, found.decimals) == (28, 255.0, 0.0, 0)
    assert found.box == pytest.approx(20, abs=1)
    assert found.by_mass
    assert found.middle == pytest.approx(MNIST.middle, abs=0.3)


def test_pictures_that_are_alike_or_not_square_are_refused():
    with pytest.raises(DataError, match="equal"):
        measure_canvas(np.ones((5, 64)))
    with pytest.raises(DataError, match="65 columns"):
        measure_canvas(np.ones((5, 65)))
