import numpy as np
import pytest
from scipy.sparse import csr_array

from separatrix.solvers.logistic.separation import is_separated

LINE = np.arange(6.0)[:, None]


@pytest.mark.parametrize(
    ("y", "intercept", "expected"),
    [
        ([0, 0, 0, 1, 1, 1], True, True),
        ([0, 0, 1, 0, 1, 1], True, False),
        ([0, 0, 0, 1, 1, 1], False, False),  # all on one side of 0
        ([1, 1, 1, 1, 1, 1], False, True),
        ([0, 0, 1, 1, 2, 2], True, True),
        ([0, 1, 2, 0, 1, 2], True, False),
    ],
)
def test_the_line_decides(y, intercept, expected):
    y = np.array(y)
    k = 3 if y.max() == 2 else 2
    assert is_separated(LINE, y, n_classes=k, intercept=intercept) is expected
    assert is_separated(csr_array(LINE), y, n_classes=k, intercept=intercept) is expected
    assert is_separated(1e6 * LINE, y, n_classes=k, intercept=intercept) is expected


def test_classes_that_only_touch_are_separated_too():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    assert is_separated(X, np.array([0, 0, 1, 1]), n_classes=2, intercept=True)


@pytest.mark.parametrize(("distance", "expected"), [(6.0, True), (2.5, False)])
@pytest.mark.parametrize("offset", [0.0, 1e7, 1e9])
def test_an_offset_does_not_decide(distance, expected, offset):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 3)) + distance * y[:, None] + offset
    assert is_separated(X, y, n_classes=2, intercept=True) is expected
