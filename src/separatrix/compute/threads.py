"""Both cores busy: plain Python threads over compiled code that has let go of the interpreter.

Every compiled loop here is single-threaded and `nogil`; work is split between threads from the
outside. So there is no OpenMP team to break in a forked child, no threading layer that aborts when
two Python threads fit at once, and nothing to configure. Matrix products are BLAS calls from one
thread at a time: BLAS splits those itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from separatrix.compute.watch import Watch

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None = None) -> int:
    """Threads to use: all cores this process may run on, or `n_jobs` in scikit-learn's meaning."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else n_jobs


def in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    watch: Watch | None = None,
) -> list[Result]:
    """Results of `function` on every item, in the order of the items.

    When one call fails, or Ctrl-C comes, the watch tells the others to stop and the error is
    raised at once.

    >>> in_threads(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    items = list(items)
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            if watch is not None:
                watch.cancel()
            raise
