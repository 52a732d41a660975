import numpy as np
import pytest

from separatrix.runtime.monitor import FitMonitor
from separatrix.solvers.stopping import reason_to_stop, relative_gap


class Stopped(FitMonitor):
    def should_stop(self):
        return True


def reason(wrong, misclassified, *, whole=True, min_iter=1, min_gain=None, monitor=None):
    rest = {"whole": whole, "min_iter": min_iter, "min_gain": min_gain}
    return reason_to_stop(wrong, misclassified, 10, monitor=monitor or FitMonitor(), **rest)


def test_a_pass_without_corrections_ends_the_passes_if_it_is_complete():
    assert reason([3, 0], [3, 0]) == "clean pass"
    assert reason([3, 1], [3, 1]) is None
    assert reason([3, 0], [3, 0], whole=False) is None
    assert reason([3, 0], [3, 0], monitor=Stopped()) == "clean pass"
    assert reason([3, 1], [3, 1], monitor=Stopped()) == "stopped"


@pytest.mark.parametrize(
    ("misclassified", "min_iter", "expected"),
    [
        ([5], 1, None),  # one pass has no gain
        ([5, 3], 1, None),  # 0.2 is enough
        ([5, 4], 1, "min_gain"),
        ([5, 4], 2, "min_gain"),
        ([5, 4], 3, None),  # too early
        ([5, 4, 4], 3, "min_gain"),
        ([9, 5, 3], 1, None),  # the last two passes count
        ([3, 5], 1, "min_gain"),
    ],
)
def test_a_small_gain_ends_the_passes_from_the_least_number_on(misclassified, min_iter, expected):
    wrong = [9] * len(misclassified)
    assert reason(wrong, misclassified, min_iter=min_iter, min_gain=0.2) == expected


def test_the_gap_is_relative_to_a_primal_above_1():
    assert relative_gap(4.0, 3.0) == 0.25
    assert relative_gap(-4.0, -5.0) == 0.25
    assert relative_gap(0.5, 0.25) == 0.25
    assert relative_gap(np.inf, 3.0) == np.inf
