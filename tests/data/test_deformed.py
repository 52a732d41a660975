"""Deformed digits: the same bytes for a number, whatever the block, the device and the library."""

import hashlib

import numpy as np
import pytest

from separatrix.data.deformed import (
    ELASTIC,
    ELASTIC_BITS,
    UNIT,
    DeformedDigits,
    _numbers,
    _splines,
    smoothed,
)
from separatrix.errors import DataError, ParameterError

BYTES = "8d4dd1cca4e30e8b"  # the hash of 300 images: results that name a seed depend on them


def strokes(n=20):
    """Images with a stroke each, and the labels 0 to 9."""
    rng = np.random.default_rng(0)
    rows, columns = np.divmod(np.arange(784), 28)
    slope, middle = rng.integers(-16, 17, (n, 1)), rng.integers(160, 289, (n, 1))
    distance = np.abs(16 * columns - middle - slope * (2 * rows - 27) // 2)
    distance = distance + 128 * ((rows < 4) | (rows > 23))
    return np.clip(510 - 11 * distance, 0, 255).astype(np.uint8), np.arange(n) % 10


@pytest.fixture(scope="module")
def stream():
    return DeformedDigits(*strokes())


def test_the_first_images_are_the_originals(stream):
    X, y = strokes()
    np.testing.assert_array_equal(stream.images(0, 20), X)
    np.testing.assert_array_equal(stream.labels(15, 45), np.tile(y, 3)[15:45])


def test_an_image_depends_on_its_number_alone(stream, monkeypatch):
    whole = stream.images(13, 113)
    assert whole.dtype == np.uint8
    np.testing.assert_array_equal(
        np.concatenate([stream.images(13, 70), stream.images(70, 113)]), whole
    )
    monkeypatch.setattr("separatrix.data.deformed.BLOCK", 7)
    np.testing.assert_array_equal(stream.images(13, 113), whole)
    parts = list(stream.blocks(13, 113, 30))
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), whole)
    assert [len(part[1]) for part in parts] == [30, 30, 30, 10]


def test_the_bytes_never_change(stream):
    found = hashlib.sha256(stream.images(20, 320).tobytes()).hexdigest()
    assert found.startswith(BYTES), found


def test_torch_makes_the_same_bytes(stream):
    pytest.importorskip("torch")
    by_torch = DeformedDigits(*strokes(), device="cpu")
    np.testing.assert_array_equal(by_torch.images(7, 400).numpy(), stream.images(7, 400))
    far = 2**40
    np.testing.assert_array_equal(
        by_torch.images(far, far + 9).numpy(), stream.images(far, far + 9)
    )
    assert by_torch.labels(far, far + 9).tolist() == stream.labels(far, far + 9).tolist()


def test_another_number_or_seed_is_another_deformation(stream):
    X, _ = strokes()
    again = np.stack([stream.images(20 * k, 20 * k + 20) for k in range(1, 40)])
    assert len(np.unique(again.reshape(-1, 784), axis=0)) == 39 * 20
    others = DeformedDigits(*strokes(), seed=1).images(20, 40)
    assert (others != again[0]).any(axis=1).all()
    ink = again.sum(axis=(0, 2)) / 39 / X.sum(axis=1)
    np.testing.assert_allclose(ink, 1.0, atol=0.15)  # thicker as often as thinner


def test_elastic_fields_move_a_pixel_by_eight_tenths():
    numbers = _numbers(np.arange(4000), 0, lambda array: array)[:, :49]
    assert numbers.min() == -128
    assert numbers.max() == 127
    assert abs(numbers.mean() + 0.5) < 1.0
    fields = (numbers @ _splines() * ELASTIC >> ELASTIC_BITS) / UNIT
    assert 0.7 < np.sqrt((fields**2).mean()) < 0.85
    neighbours = np.corrcoef(fields[:, 400], fields[:, 401])[0, 1]
    assert neighbours > 0.95
    assert abs(np.corrcoef(fields[:, 0], fields[:, -1])[0, 1]) < 0.1


@pytest.mark.parametrize(("across", "down"), [(64, 0), (-64, 0), (0, 64), (37, -100), (64 * 40, 0)])
def test_pixels_are_looked_up_where_the_displacement_says(stream, monkeypatch, across, down):
    X, _ = strokes()
    monkeypatch.setattr(
        DeformedDigits, "_positions", lambda self, numbers: _moved(self, numbers, across, down)
    )
    monkeypatch.setattr("separatrix.data.deformed.THICKNESS", 0)
    found = stream.images(20, 40).reshape(-1, 28, 28)
    wide = np.pad(X.reshape(-1, 28, 28).astype(float), ((0, 0), (60, 60), (60, 60)))
    (i, y), (j, x) = divmod(down, 64), divmod(across, 64)

    def shifted(k, m):
        return wide[:, 60 + i + k : 88 + i + k, 60 + j + m : 88 + j + m]

    x, y = x / 64, y / 64
    between = (1 - y) * ((1 - x) * shifted(0, 0) + x * shifted(0, 1))
    between += y * ((1 - x) * shifted(1, 0) + x * shifted(1, 1))
    np.testing.assert_array_equal(found, np.floor(between + 0.5))


def _moved(stream, numbers, across, down):
    moved = np.broadcast_to([[across], [down]], (len(numbers), 2, 784))
    return (64 * stream._at + moved).clip(0, 64 * 29)


def test_thicker_strokes_have_more_ink(stream):
    numbers = _numbers(np.arange(20, 420), 0, lambda array: array)
    X = np.tile(strokes()[0], (20, 1)).astype(float)
    more = stream.images(20, 420).sum(axis=1) / X.sum(axis=1)
    assert np.corrcoef(numbers[:, -1], more)[0, 1] > 0.8


def test_smooth_images_are_means_of_nine_pixels(stream):
    smooth = DeformedDigits(*strokes(), smooth=True).images(0, 60)
    np.testing.assert_array_equal(smooth, smoothed(stream.images(0, 60)))
    wide = np.pad(stream.images(0, 60).reshape(-1, 28, 28).astype(float), ((0, 0), (1, 1), (1, 1)))
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
    sums = sum(weights[i, j] * wide[:, i : i + 28, j : j + 28] for i in range(3) for j in range(3))
    np.testing.assert_array_equal(smooth.reshape(-1, 28, 28), np.floor(sums + 0.5))


def test_splines_add_up_to_one_everywhere():
    np.testing.assert_array_equal(_splines().sum(axis=0), 2058**2)


def test_what_is_no_digit_is_refused():
    X, y = strokes()
    with pytest.raises(DataError, match="28 x 28 pixels; got shape"):
        DeformedDigits(X[:, :700], y)
    with pytest.raises(DataError, match="20 images have 19 labels"):
        DeformedDigits(X, y[1:])
    with pytest.raises(DataError, match="from 0 to 255"):
        DeformedDigits(X / 255.0, y)
    with pytest.raises(ParameterError, match="seed"):
        DeformedDigits(X, y, seed=-1)
    with pytest.raises(ParameterError, match="stop"):
        DeformedDigits(X, y).images(3, 3)
