import os
import threading
import time

import numpy as np
import pytest
from tests.blas import blas_threads

from separatrix.runtime import threads
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import blas_for_samples, in_order, in_threads, thread_scratch


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_results_come_in_the_order_of_the_items(threads):
    assert in_threads(lambda x: x * x, range(50), threads=threads) == [x * x for x in range(50)]
    assert list(in_order(lambda x: x * x, range(50), threads=threads)) == [x * x for x in range(50)]


def test_calls_can_be_nested_deeper_than_there_are_threads():
    def count(depth):
        return 1 if depth == 0 else sum(in_threads(count, [depth - 1] * 3, threads=3))

    assert in_threads(count, [4] * 40, threads=40) == [3**4] * 40


def test_several_threads_may_call_at_once():
    found = []

    def call(start):
        found.append(
            in_threads(lambda x: x + start, range(100), threads=4)
            == list(range(start, start + 100))
        )

    callers = [threading.Thread(target=call, args=(k,)) for k in range(20)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 20


@pytest.mark.parametrize("threads", [2, 8])
def test_an_error_cancels_the_monitor_and_no_call_runs_after_it_is_raised(threads):
    monitor, running = FitMonitor(), []

    def fail_at_three(x):
        if x == 3:
            raise ValueError("three")
        running.append(x)
        while not monitor.should_stop() and x > 3:
            time.sleep(0.001)
        running.remove(x)

    with pytest.raises(ValueError, match="three"):
        in_threads(fail_at_three, range(40), threads=threads, monitor=monitor)
    assert monitor.should_stop()
    assert running == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    in_threads(abs, range(4), threads=4)
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(abs, range(100), threads=4) == list(range(100)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_each_thread_has_scratch_of_its_own():
    both = threading.Barrier(2)

    def use(number):
        scratch = thread_scratch(1000, np.float32)
        scratch[:] = number
        both.wait(10)  # the other thread has written to its own
        return bool((scratch == number).all()), scratch.dtype, len(scratch)

    assert in_threads(use, [1, 2], threads=2) == [(True, np.float32, 1000)] * 2
    assert len(thread_scratch(10, np.float64)) == 10


@pytest.mark.parametrize("X", [np.zeros((500, 200)), ["a text", "another"], np.zeros(5)])
def test_small_samples_get_one_thread_of_blas(X):
    before = blas_threads()
    with blas_for_samples(X):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_large_samples_get_all_threads_of_blas():
    before = blas_threads()
    with blas_for_samples(np.empty((6000, 100))):
        assert blas_threads() == before


def test_a_limit_on_blas_leaves_the_threads_of_openmp_alone():
    assert {library.user_api for library in threads._blas().lib_controllers} == {"blas"}
