import os
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.runtime import blocks, sums
from separatrix.runtime.atomic_files import atomic_write
from separatrix.runtime.blocks import default_budget, row_blocks
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import in_order, in_threads, thread_count


@given(n=st.integers(0, 200), size=st.integers(1, 50))
def test_blocks_cover_everything_once_and_in_order(n, size):
    assert [i for block in row_blocks(n, size) for i in range(n)[block]] == list(range(n))
    assert all(0 < block.stop - block.start <= size for block in row_blocks(n, size))


def test_the_budget_is_a_quarter_of_the_machine_or_of_its_cgroup(monkeypatch, tmp_path):
    assert 0 < default_budget() <= 4 * 2**30
    limit = tmp_path / "memory.max"
    limit.write_text("1000000\n")
    monkeypatch.setattr(blocks, "CGROUP_LIMITS", (str(limit),))
    assert default_budget() == 250_000
    limit.unlink()
    assert default_budget() == 250_000  # it is read once
    unlimited = tmp_path / "unlimited"
    unlimited.write_text("max\n")
    monkeypatch.setattr(blocks, "CGROUP_LIMITS", (str(unlimited),))
    assert default_budget() > 250_000


def test_threads_are_counted_as_in_scikit_learn():
    cores = len(os.sched_getaffinity(0))
    assert thread_count(None) == thread_count(-1) == cores
    assert thread_count(3) == 3
    assert thread_count(-100) == 1


def test_results_come_in_the_order_of_the_items():
    def slow_first(number):
        time.sleep(0.02 if number == 0 else 0.0)
        return number * 10

    assert in_threads(slow_first, range(5), threads=3) == [0, 10, 20, 30, 40]


def test_an_error_in_one_thread_tells_the_others_to_stop():
    monitor = FitMonitor()

    def work(number):
        if number == 0:
            raise ValueError("broken")
        until = time.monotonic() + 10
        while not monitor.should_stop():
            assert time.monotonic() < until
            time.sleep(0.001)

    with pytest.raises(ValueError, match="broken"):
        in_threads(work, range(2), threads=2, monitor=monitor)


def test_an_inner_monitor_stops_with_the_outer_one_or_at_its_own_time_limit():
    monitor = FitMonitor(time_limit=0.05)
    inner, short = monitor.inner(), monitor.inner(time_limit=0.0)
    assert not inner.should_stop()
    assert short.should_stop()
    assert not monitor.should_stop()
    time.sleep(0.06)
    assert inner.should_stop()
    assert monitor.should_stop()


def test_a_listener_can_stop_a_fit():
    steps = []
    monitor = FitMonitor(None, lambda number: steps.append(number) or number == 1)
    monitor.step()
    assert not monitor.should_stop()
    monitor.step()
    assert monitor.should_stop()
    assert steps == [0, 1]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "answer.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_write(path) as temporary:
        _write_half_and_fail(temporary)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["answer.txt"]


def _write_half_and_fail(path):
    path.write_text("half")
    raise FileNotFoundError


def test_results_come_in_order_and_an_error_ends_the_rest():
    assert list(in_order(lambda x: x * x, range(20), threads=3)) == [x * x for x in range(20)]
    drawn = []

    def items():
        for x in range(100):
            drawn.append(x)
            yield x

    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda x: 1 / (x - 5), items(), threads=2))
    assert len(drawn) < 15


def test_a_sum_is_the_same_in_any_number_of_threads():
    parts = [np.array([x], dtype=np.float64) ** 0.5 for x in range(50)]
    one = sums.total(lambda x: x, parts, np.add)
    two = sums.total(lambda x: x, iter(parts), np.add, threads=2)
    np.testing.assert_array_equal(one, two)
    with pytest.raises(ValueError, match="empty iterable of blocks"):
        sums.total(len, [], np.add)
