"""Compile every function once, on all cores: `python -m tests.contracts.compile_all`.

Every worker of a test run would compile the same functions otherwise.
"""

import multiprocessing

from tests.contracts.test_numba import SETUP, USES

from separatrix.runtime.threads import thread_count

NAMES = {}


def use(source):
    if not NAMES:
        exec(SETUP, NAMES)
    exec(source, NAMES)


if __name__ == "__main__":
    processes = min(len(USES), thread_count())
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        pool.map(use, USES, chunksize=1)
