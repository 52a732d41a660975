"""All cores: Python threads over compiled code that releases the GIL.

Every compiled loop is single-threaded and `nogil`; callers distribute the work over threads. So no
OpenMP team breaks in a forked child, no threading layer aborts when two Python threads fit at once, and
nothing needs configuration. Matrix products are BLAS calls from one thread at a time, parallel inside
BLAS; or, for many small ones, each thread calls BLAS limited to one thread.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Event, Lock, local
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from separatrix.runtime.monitor import FitMonitor

BLAS_THREADS_FROM = 2**18  # multiply-adds of a product that BLAS may share among its threads
SMALL_WORK = 2**30  # multiply-adds of a Gram matrix or of second moments
UNKNOWN_FEATURES = 32  # of texts, and at least of columns that are encoded
_SCRATCH = local()
_LOCK = Lock()
_MOST: list[int] = []  # limits of `limited_threads`
_LIMITS: list[Any] = []  # the limit that is set, then one entry for each caller that needs it
Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None = None) -> int:
    """Threads to use: all cores this process may run on, or `n_jobs` in scikit-learn's meaning."""
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    cores = min([cores, *_MOST])
    return cores if n_jobs is None else max(1, cores + 1 + n_jobs)


@contextmanager
def limited_threads(most: int) -> Iterator[None]:
    """Context in which `thread_count` finds at most so many cores, in all threads of this process.

    >>> with limited_threads(1):
    ...     thread_count()
    1
    """
    _MOST.append(most)
    try:
        yield
    finally:
        _MOST.remove(most)


def in_threads(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    monitor: FitMonitor | None = None,
) -> list[Result]:
    """Results of `function` on every item, in the order of the items.

    The calling thread works too, so that calls may be nested and never wait for a free thread. An error
    in one call, or Ctrl-C, cancels the monitor, and is raised when the calls in progress have returned.

    >>> in_threads(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    items = list(items)
    workers = min(threads, len(items))
    if workers < 2:
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    left = deque(enumerate(items))
    stopped = Event()

    def work() -> None:
        try:
            while not stopped.is_set():
                try:
                    number, item = left.popleft()
                except IndexError:
                    return
                results[number] = function(item)
        except BaseException:
            stopped.set()
            if monitor is not None:
                monitor.cancel()
            raise

    helpers = [_pool().submit(work) for _ in range(workers - 1)]
    try:
        work()
        for helper in helpers:
            if not helper.cancel():  # it has begun
                helper.result()
    except BaseException:
        stopped.set()
        if monitor is not None:
            monitor.cancel()
        wait([helper for helper in helpers if not helper.cancel()])
        raise
    return results


def in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    monitor: FitMonitor | None = None,
) -> Iterator[Result]:
    """Yield results of `function` on every item, in the order of the items.

    The calling thread draws items only a few ahead of the result it waits for, so that memory holds few
    of either. BLAS is limited to one thread meanwhile. An error in one call, or Ctrl-C, cancels the
    monitor.

    >>> list(in_order(abs, iter([-1, 2, -3]), threads=2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(function, items)
        return
    pending: deque[Future[Result]] = deque()
    with blas_on_one_thread(), ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        except BaseException:
            if monitor is not None:
                monitor.cancel()
            raise
        finally:
            for future in pending:
                future.cancel()


def thread_scratch(size: int, dtype: Any) -> Any:
    """An array of this thread, valid until the thread's next call: fresh memory costs more than its use."""
    kept = getattr(_SCRATCH, "values", None)
    needed = size * np.dtype(dtype).itemsize
    if kept is None or len(kept) < needed:
        kept = _SCRATCH.values = np.empty(needed, np.uint8)
    return kept[:needed].view(dtype)


@contextmanager
def blas_on_one_thread(work: int | None = None) -> Iterator[None]:
    """Limit BLAS to one thread: for products in threads of our own, and for small products.

    BLAS's threads wait for each other by spinning; on a busy machine that can cost a hundredfold. The
    limit applies to the process: the first caller sets it, the last to leave restores it. If the work
    is given, in multiply-adds, and BLAS would not share it anyway, no limit is set: that takes 30 us.
    """
    if work is not None and work < BLAS_THREADS_FROM:
        yield
        return
    with _LOCK:
        if not _LIMITS:
            _LIMITS.append(_blas().limit(limits=1, user_api="blas"))
        _LIMITS.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _LIMITS.pop()
            if len(_LIMITS) == 1:
                _LIMITS.pop().restore_original_limits()


def blas_for_samples(X: Any) -> AbstractContextManager[None]:
    """One thread of BLAS for samples so small that their products take less than some 30 ms on it.

    Its threads would save little, and cost much where other processes use the cores.
    """
    shape = getattr(X, "shape", (len(X),) if isinstance(X, list) else ())
    n, d = (*shape, UNKNOWN_FEATURES)[:2] if shape else (0, 0)
    return blas_on_one_thread() if n * n * max(d, UNKNOWN_FEATURES) <= SMALL_WORK else nullcontext()


@cache
def _pool() -> ThreadPoolExecutor:
    """The threads of this process: starting threads for each short loop would take longer than the loop."""
    return ThreadPoolExecutor(4 * (os.cpu_count() or 1), thread_name_prefix="separatrix")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked child has no threads


@cache
def _blas() -> Any:
    """The BLAS libraries of this process; finding them takes some milliseconds.

    Only those: OpenMP, which torch uses, has a number of threads in each thread, and to restore that of one
    in another would undo what the caller has set.
    """
    import scipy.linalg.cython_blas  # noqa: F401 - the one that compiled code calls: load it now

    return ThreadpoolController().select(user_api="blas")
