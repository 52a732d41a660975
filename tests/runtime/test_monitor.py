import math

from separatrix.runtime.monitor import FitMonitor


def test_the_time_that_is_left_is_that_of_the_nearest_limit():
    assert FitMonitor().seconds_left() == math.inf
    outer = FitMonitor(time_limit=1000.0)
    assert 900.0 < outer.seconds_left() <= 1000.0
    assert outer.inner(2000.0).seconds_left() <= 1000.0
    assert outer.inner(5.0).seconds_left() <= 5.0
    assert FitMonitor(time_limit=1e-9).seconds_left() == 0.0


def test_no_time_is_left_after_a_fit_was_cancelled():
    monitor = FitMonitor()
    inner = monitor.inner()
    monitor.cancel()
    assert monitor.seconds_left() == inner.seconds_left() == 0.0
