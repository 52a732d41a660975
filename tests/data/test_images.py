import numpy as np
import pytest

from separatrix.data.images import as_bytes, deskewed, jittered, shifts_within, slants, unit_norm
from separatrix.errors import DataError, ParameterError


@pytest.fixture
def framed():
    """Random pictures with two empty pixels around, so that nothing falls off when they are moved."""
    images = np.zeros((7, 12, 10), dtype=np.uint8)
    images[:, 2:-2, 2:-2] = np.random.default_rng(0).integers(0, 256, size=(7, 8, 6))
    return images


def bar(*columns, side=28):
    """A picture with a stroke three pixels wide, its middle at a column for each row."""
    image = np.zeros((1, side, side), dtype=np.float64)
    for row, column in enumerate(columns):
        whole, part = int(np.floor(column)), column - np.floor(column)
        for offset in (-1, 0, 1):
            image[0, 4 + row, whole + offset] += 200 * (1 - part)
            image[0, 4 + row, whole + offset + 1] += 200 * part
    return image


@pytest.mark.parametrize("pixels", [0, 1, 2])
def test_copies_come_move_by_move_and_the_pictures_themselves_first(framed, pixels):
    copies = jittered(framed, pixels)
    assert copies.dtype == np.uint8
    np.testing.assert_array_equal(copies[: len(framed)], framed)
    rolled = [np.roll(framed, move, axis=(1, 2)) for move in shifts_within(pixels)]
    np.testing.assert_array_equal(copies, np.concatenate(rolled))  # the frame is empty


def test_what_leaves_the_picture_is_lost():
    moved = dict(zip(shifts_within(3), jittered(np.arange(1, 10).reshape(1, 3, 3), 3), strict=True))
    assert moved[1, -1].tolist() == [[0, 0, 0], [2, 3, 0], [5, 6, 0]]
    assert not moved[3, 0].any()
    assert not moved[0, -3].any()


def test_the_moves_fill_the_box():
    moves = shifts_within(2)
    assert moves[0] == (0, 0)
    assert set(moves) == {(i, j) for i in range(-2, 3) for j in range(-2, 3)}
    assert len(moves) == 25
    with pytest.raises(ParameterError, match="`pixels` of shifts_within must be an integer"):
        shifts_within(-1)


def test_the_slant_is_the_slope_of_the_least_squares_line():
    images = np.random.default_rng(1).random((5, 9, 13))
    rows, columns = np.indices((9, 13))
    for image, slant in zip(images, slants(images), strict=True):
        weights = np.sqrt(image.ravel())  # polyfit weighs residuals, not their squares
        slope, _ = np.polyfit(rows.ravel(), columns.ravel(), 1, w=weights)
        assert slant == pytest.approx(slope)


@pytest.mark.slow
def test_an_upright_bar_stays_as_it_is():
    upright = bar(*[13.0] * 20)
    np.testing.assert_array_equal(deskewed(upright), upright)
    as_they_come = upright.astype(np.uint8)
    np.testing.assert_array_equal(deskewed(as_they_come), as_they_come)


@pytest.mark.parametrize("slant", [-0.5, 0.25, 0.4])
def test_a_sheared_bar_is_set_upright(slant):
    upright = bar(*[13.0] * 20)
    leaning = bar(*(13.0 + slant * (row - 9.5) for row in range(20)))
    assert slants(leaning)[0] == pytest.approx(slant, abs=1e-9)
    restored = deskewed(leaning)
    assert abs(slants(restored)[0]) < 1e-9
    # interpolating twice between two columns blurs an edge by at most half of its height
    assert np.abs(restored - upright).max() <= 100 + 1e-9
    np.testing.assert_allclose(restored.sum(axis=2), upright.sum(axis=2))
    np.testing.assert_allclose(restored[0, :, 13], upright[0, :, 13])


def test_the_centre_of_mass_stays_where_it_is():
    leaning = bar(*(10.0 + 0.3 * row for row in range(20)))
    rows, columns = np.indices(leaning.shape[1:])
    for axis in (rows, columns):
        before, after = (
            (axis * one[0]).sum() / one[0].sum() for one in (leaning, deskewed(leaning))
        )
        assert after == pytest.approx(before)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_type_and_range_of_pixels_stay(framed, dtype):
    images = framed.astype(dtype)
    upright = deskewed(images)
    assert upright.dtype == dtype
    assert upright.min() >= images.min()
    assert upright.max() <= images.max()


def test_bytes_are_the_rounded_values_of_floats(framed):
    exact = deskewed(framed.astype(np.float64))
    np.testing.assert_array_equal(deskewed(framed), np.floor(exact + 0.5).astype(np.uint8))


def test_without_ink_or_with_one_row_of_it_nothing_leans():
    images = np.zeros((2, 5, 5))
    images[1, 2] = [1, 2, 3, 4, 5]
    assert slants(images).tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(deskewed(images), images)


def test_digits_no_longer_lean(mnist):
    images = mnist.X[:300].reshape(-1, 28, 28)
    assert np.abs(slants(images)).mean() > 0.2
    assert np.abs(slants(deskewed(images))).mean() < 0.005


def test_rows_have_length_one_and_no_ink_stays_none(framed):
    framed[3] = 0
    rows = unit_norm(framed)
    assert rows.dtype == np.float32
    assert rows.shape == (7, 120)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, np.arange(7) != 3, atol=1e-6)
    np.testing.assert_allclose(
        rows[0] * np.linalg.norm(framed[0].astype(float)), framed[0].ravel(), rtol=1e-6
    )


def test_bytes_that_fill_their_range_are_not_copied():
    full = np.array([[0, 7, 255]], dtype=np.uint8)
    assert as_bytes(full) is full
    assert as_bytes(full, 0, 510).tolist() == [[0, 4, 128]]
    assert as_bytes(np.array([[3.0, 3.0]])).tolist() == [[0, 0]]


@pytest.mark.parametrize("function", [deskewed, slants, unit_norm, lambda x: jittered(x, 0)])
def test_samples_that_are_no_pictures_are_refused(function):
    with pytest.raises(
        DataError, match=r"needs images of numbers, \(n, rows, columns\); got float64"
    ):
        function(np.ones((3, 4)))
    with pytest.raises(DataError, match=r"got <U1 of shape \(1, 1, 1\)"):
        function(np.array([[["a"]]]))
