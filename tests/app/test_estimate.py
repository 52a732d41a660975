import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from separatrix.app import estimate as module
from separatrix.data.dataset import Dataset


class Clock:
    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("n", [300, 40_000])
def test_an_estimate_is_near_the_time_it_takes(power, n, monkeypatch):
    """Small fits mostly start up: a power law through two of them was 4 to 5 times too low."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)

    class Slow(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            clock.now += 0.3 + 1e-3 * (len(y) / 10) ** power
            return self

        def predict(self, X):
            clock.now += 1e-5 * len(X)
            return np.zeros(len(X))

    data = Dataset("a", np.zeros((n, 2)), np.arange(n) % 2)
    true = 0.3 + 1e-3 * (n / 10) ** power + 1e-5 * n
    found = module.estimate(Slow(), data).seconds
    assert true / 2 < found < 2 * true
    assert module.estimate(Slow(), data, parts=4.0).seconds == pytest.approx(5 * found)


def test_a_search_that_visits_more_cells_on_more_rows_does_not_multiply_the_estimate():
    """It was 5 times too high by the growth between two subsets alone."""
    n = 4000
    found = [(size, 1e-3 * size * (1.7 if size > 1000 else 1.0)) for size in (500, 1000, 2000)]
    assert 1.7e-3 * n / 2 < module.extrapolate(found, n) < 2 * 1.7e-3 * n
