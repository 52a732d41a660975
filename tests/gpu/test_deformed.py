"""Deformed digits from a card are the bytes of the CPU."""

import numpy as np
from tests.gpu.at_hand import size

from separatrix.data.deformed import DeformedDigits
from separatrix.runtime import device as backends


def test_a_card_makes_the_same_bytes():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 256, (50, 784)), rng.integers(0, 10, 50)
    n = size(20_000, 500)
    here, there = DeformedDigits(X, y), DeformedDigits(X, y, device=backends.default_gpu())
    images = there.images(30, n)
    assert images.device.type == backends.default_gpu().type
    np.testing.assert_array_equal(images.cpu().numpy(), here.images(30, n))
    np.testing.assert_array_equal(there.labels(30, n).cpu().numpy(), here.labels(30, n))
