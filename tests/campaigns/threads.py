"""R22 and the soak: fits and predictions in many threads, forks, joblib, both threading layers; memory."""

import gc
import os
import subprocess
import sys
import threading
from functools import cache

import numpy as np
from joblib import Parallel, delayed
from tests.campaigns.campaign import Campaign
from tests.campaigns.problems import (
    EVERY,
    assert_close,
    draw_for,
    outputs,
    seeded,
    with_feasible_nu,
)
from tests.modelfile.hostile import resident

THREADS, GROWTH = 8, 20 * 2**20
SMALL = tuple(call for call in EVERY if "CV" not in call)


def _fit(call, number):
    X, y, _ = draw_for(call, number)
    return outputs(with_feasible_nu(seeded(call), np.bincount(y)).fit(X, y), X)


@cache
def _alone(call, number):
    return _fit(call, number)


def mixed(number):
    """Eight threads fit and predict different models at once; each gets what it gets alone."""
    jobs = [(SMALL[(number * THREADS + t) % len(SMALL)], number % 50) for t in range(THREADS)]
    expected, found, errors = [_alone(*job) for job in jobs], [None] * THREADS, []

    def work(t):
        try:
            found[t] = _fit(*jobs[t])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    for answer, right in zip(found, expected, strict=True):
        assert_close(answer, right, rtol=1e-9)


def forked(number):
    """A child that is forked after a fit fits and predicts the same."""
    call = SMALL[number % len(SMALL)]
    expected = _alone(call, number % 50)
    child = os.fork()
    if child == 0:
        try:
            np.testing.assert_allclose(_fit(call, number % 50), expected, rtol=1e-9, atol=1e-12)
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"{call}: the child ended with {status}"


def in_processes(number):
    """joblib's loky processes give what this one gives."""
    calls = [SMALL[(4 * number + i) % len(SMALL)] for i in range(4)]
    found = Parallel(n_jobs=2)(delayed(_fit)(call, number) for call in calls)
    for call, answer in zip(calls, found, strict=True):
        assert_close(answer, _fit(call, number), rtol=1e-9)


LAYERS = """
import sys
from tests.campaigns.campaign import run_one
from tests.campaigns.threads import mixed
for line in sys.stdin:
    print(run_one(mixed, int(line), 600.0), flush=True)
"""


@cache
def _layered(name):
    """A process with that threading layer, which runs the trials whose numbers it is sent."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LAYERS],
        env={**os.environ, "NUMBA_THREADING_LAYER": name},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def layer(name):
    """The same in a process with numba's other threading layer."""

    def trial(number):
        child = _layered(name)
        try:
            child.stdin.write(f"{number}\n")
            child.stdin.flush()
            found = child.stdout.readline().strip()
        except BrokenPipeError:
            found = ""
        if not found:
            _layered.cache_clear()
        assert found == "None", found or f"the process ended with {child.wait(10)}"

    return trial


START = []


def soak(number):
    """Memory does not grow with the number of fits and predictions of small models."""
    _fit(SMALL[number % len(SMALL)], number % 20)
    if number % 500 == 499:
        gc.collect()
        now = resident()[0]
        START.append(now)
        if len(START) > 2:  # all is compiled and every pool is filled
            assert now - START[1] < GROWTH, f"grown by {(now - START[1]) >> 20} MB"


CAMPAIGN = Campaign(
    "R22 and soak: 8 threads at once, fork after fit, joblib, numba's layers; memory of many small fits",
    lambda: {
        **{"8 threads": mixed, "fork": forked, "joblib": in_processes, "soak": soak},
        **{f"8 threads, {name}": layer(name) for name in ("omp", "workqueue")},
    },
    short=2,
    middle=1,
    seconds=600.0,
    quick=("8 threads", "fork"),
)
