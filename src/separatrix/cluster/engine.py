"""Graphs of tasks: one task for each block, a tree of merges, and error messages.

Dask schedules and moves data. Tasks are delayed calls named after the model and the step; models are nodes
of their own, sent once, so that no task carries samples.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from importlib import import_module
from threading import Lock
from typing import Any
from uuid import uuid4

import cloudpickle
import dask
from dask.core import toposort
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, GraphNode, List, Task, TaskRef
from distributed import Future, futures_of, get_client, get_worker, wait, worker_client
from distributed import TimeoutError as NotYet

from separatrix.errors import ClusterError, SeparatrixError
from separatrix.runtime.progress import bar, is_followed
from separatrix.runtime.threads import limited_threads, thread_count
from separatrix.runtime.warnings import warn_user

FAN_IN = 16  # parts that one task merges
NO_WORKERS = 30.0  # seconds without a worker after which a fit is given up
POLL = 2.0  # seconds between checks that there are workers
LARGE_VALUE = 2**18  # bytes of a pickled model, from which it is copied to the workers once
SOURCES = 3  # of a block that its task computes itself: X, y and the weights
_TURN = Lock()  # of the calls of one worker process: each has its threads, and its warnings
_KEPT: ContextVar[tuple[Delayed, ...]] = ContextVar("kept", default=())  # by the fit that runs
_CHECKED: set[str] = set()  # schedulers whose workers' versions were compared


def client_in_use() -> Any:
    """The client of `distributed` whose scheduler runs the tasks, or None for threads of this process."""
    try:
        return get_client()
    except ValueError:
        return None


def workers_in_use() -> list[Any]:
    """What the scheduler knows of each worker; empty without a client."""
    client = client_in_use()
    return list(client.scheduler_info(n_workers=-1)["workers"].values()) if client else []


def threads_here(threads: int) -> int:
    """Threads of a task: those of its worker, or if it is not on one, as many as it would take."""
    worker = worker_here()
    return min(threads, int(worker.state.nthreads)) if worker else threads


def worker_here() -> Any:
    """The worker that runs this task, or None outside of tasks."""
    try:
        return get_worker()
    except ValueError:
        return None


def map_blocks(
    name: str, function: Callable[..., Any], blocks: Sequence[Sequence[Any]], *shared: Any
) -> list[Delayed]:
    """One task `function(*block, *shared)` for each block; what is shared is sent once."""
    node = share(f"{name}-shared", (function, *shared))
    return call_each(name, call_shared, [(node, *block) for block in blocks])


def call_each(name: str, function: Callable[..., Any], calls: Sequence[Any]) -> list[Delayed]:
    """A task of that name for each call, in one graph: `dask.delayed` makes a graph for each call.

    Arguments may be results of other tasks, or lists of such results.
    """
    graphs, graph = dict[int, Any](), dict[Any, Any]()

    def refer(value: Any) -> Any:
        if isinstance(value, list):
            return List(*map(refer, value))
        if isinstance(value, Delayed):
            graphs[id(value.dask)] = value.dask
        elif isinstance(value, Future):
            graph[value.key] = value
        else:
            return value
        return TaskRef(value.key)

    token = uuid4().hex
    keys = [f"{name}-{token}-{i}" for i in range(len(calls))]
    for key, args in zip(keys, calls, strict=True):
        graph[key] = Task(key, function, *map(refer, args))
    for one in graphs.values():
        graph.update(one)
    return results_in(graph, keys)


def results_in(graph: dict[Any, Any], keys: Sequence[Any]) -> list[Delayed]:
    """Lazy results of some tasks of a graph."""
    layer = uuid4().hex
    whole = HighLevelGraph.from_collections(layer, graph)
    return [Delayed(key, whole, layer=layer) for key in keys]


def call_shared(shared: tuple[Any, ...], *block: Any) -> Any:
    """A function of a block and of what all blocks share."""
    function, *more = shared
    return function(*block, *more)


def fuse(calls: list[Delayed]) -> list[Delayed]:
    """The same calls, each one task with all that only it needs, such as the source of its block.

    What several calls need stays a task of its own, as do futures and what a call needs from many sources.
    """
    graph = dict(calls[0].dask)  # all are of one `call_each`
    tasks = {key: node for key, node in graph.items() if isinstance(node, GraphNode)}
    needs = {key: node.dependencies & tasks.keys() for key, node in tasks.items()}
    owner: dict[Any, Any] = {call.key: call.key for call in calls}
    for key in reversed(toposort(tasks, dependencies=needs)):
        for below in needs[key] if key in owner else ():
            owner[below] = owner[key] if owner.get(below, owner[key]) == owner[key] else None
    owned: dict[Any, list[Any]] = {call.key: [] for call in calls}
    for key, by in owner.items():
        owned.get(by, []).append(key)
    for call, keys in owned.items():
        if len(keys) > 1 and sum(not needs[key] for key in keys) <= SOURCES:
            graph[call] = Task.fuse(*(graph.pop(key) for key in keys), key=call)
    return results_in(graph, [call.key for call in calls])


def share(name: str, value: Any) -> Any:
    """A value that many tasks read: a node of the graph, or if it is large, a copy on every worker."""
    parts: list[Any] = []
    head = cloudpickle.dumps(value, protocol=5, buffer_callback=parts.append)
    size = len(head) + sum(part.raw().nbytes for part in parts)
    if size <= LARGE_VALUE or not workers_in_use():
        key = f"{name}-{uuid4().hex}"  # a `DataNode`: Dask would call a tuple that begins with a function
        return results_in({key: DataNode(key, value)}, [key])[0]
    return client_in_use().scatter([value], broadcast=True, hash=False)[0]  # a tuple is many values


def reduce_tree(name: str, merge: Callable[..., Any], parts: list[Delayed]) -> Delayed:
    """All parts merged in their order, FAN_IN at a time; merge(list) is that of a list of results."""
    while True:
        groups = [(parts[i : i + FAN_IN],) for i in range(0, len(parts), FAN_IN)]
        parts = call_each(name, merge, groups)
        if len(parts) == 1:
            return parts[0]


def compute(*results: Delayed, counted: Sequence[Delayed] = ()) -> tuple[Any, ...]:
    """The values of lazy results; an error of a worker is raised with its message alone.

    A progress bar counts the tasks of `counted`, which the results come from.
    """
    client = client_in_use()
    with BriefErrors():
        if client is None:
            return tuple(dask.compute(*results))
        warn_of_versions(client)
        watched = list(counted) if is_followed() else []
        futures = client.compute([*results, *watched])
        n = len(results)
        with bar("tasks", len(watched), show=False, nested=True) as advance:
            return tuple(wait_for(client, futures[:n], futures[n:], advance))


def compute_each(name: str, function: Callable[..., Any], blocks: Any, *shared: Any) -> Any:
    """The values of `function(*block, *shared)`, one for each block."""
    return compute(*fuse(map_blocks(name, function, blocks, *shared)))


def compute_calls(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[Any]:
    """The results of calls, (name of the task, arguments) each; their warnings are shown here."""
    tasks = [call_each(name, call_on_worker, [(function, *own)])[0] for name, *own in calls]
    return [value_of_call(one) for one in compute(*tasks, counted=tasks)]


def call_on_worker(function: Callable[..., Any], *args: Any) -> tuple[Any, list[Any]]:
    """The result of a call and its warnings; calls of one worker process take turns, on its threads."""
    threads = limited_threads(threads_here(thread_count()))
    with _TURN, threads, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*args)
    return found, [(one.message, one.category, one.filename, one.lineno) for one in caught]


def value_of_call(returned: tuple[Any, list[Any]]) -> Any:
    """The result of a call on a worker; its warnings are shown here."""
    found, caught = returned
    for one in caught:
        warnings.warn_explicit(*one)
    return found


def persist(results: Sequence[Delayed]) -> list[Delayed]:
    """The same results, computed and kept where they are; a fit that fails gives them up."""
    client = client_in_use()
    with BriefErrors():
        if client is None:
            return list(dask.persist(*results))
        warn_of_versions(client)
        kept: list[Delayed] = list(client.persist(list(results)))
        _KEPT.set((*_KEPT.get(), *kept))
        return kept


def run_fit(fit: Callable[[], Any], tries: int = 2) -> Any:
    """`fit()`; an error releases what it persisted, which the traceback would keep.

    Samples that were sent from here are lost with their worker: it is then tried again. A task that fits
    gives up its slot on its worker to the tasks that it waits for.
    """
    before = _KEPT.set(())
    try:
        with worker_client() if worker_here() else nullcontext():
            return fit()
    except BaseException as error:
        if _KEPT.get():
            client_in_use().cancel(futures_of(_KEPT.get()))
        if tries < 2 or "Cancelled" not in type(error.__context__).__name__:
            raise
    finally:
        _KEPT.reset(before)
    return run_fit(fit, tries - 1)


def wait_for(
    client: Any,
    futures: list[Any],
    counted: Sequence[Any] = (),
    advance: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Results of futures; advances a bar for each of `counted` that is done, until one fails.

    Cancels all on Ctrl-C, and if no worker is left.
    """
    try:
        left = list(counted)
        while left and not any(future.status == "error" for future in counted):
            done, left = _wait(client, left, "FIRST_COMPLETED")
            for _ in done:
                advance()
        _wait(client, futures, "ALL_COMPLETED")
        return [future.result() for future in futures]
    except BaseException:
        client.cancel([*futures, *counted])
        raise


def _wait(client: Any, futures: list[Any], until: str) -> Any:
    """`distributed.wait`, which gives up if there is no worker for a while."""
    without = 0.0
    while True:
        try:
            return wait(futures, timeout=POLL, return_when=until)
        except NotYet:
            without = 0.0 if client.scheduler_info(n_workers=-1)["workers"] else without + POLL
            if without >= NO_WORKERS:
                words = (
                    f"the cluster has had no worker for {without:.0f} s; start workers, or call "
                )
                raise ClusterError(f"{words}fit again when there are some") from None


_SENTENCES = {
    "KilledWorker": "several workers died on the same task, most likely out of memory; make blocks "
    "smaller, or give workers more memory",
    "MemoryError": "a worker ran out of memory; make blocks smaller, or give workers more memory",
    "CommClosedError": "the connection to the scheduler was lost; check that it runs, and connect again",
    "CancelledError": "the cluster gave up the tasks; check its scheduler and workers",
}


class BriefErrors:
    """Context that raises separatrix's errors without Dask's frames, and Dask's as `ClusterError`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: Any, _frames: Any) -> None:
        if isinstance(error, SeparatrixError):
            raise error.with_traceback(None) from None
        kind = type(error).__name__
        sentence = _SENTENCES.get(re.sub("Futures?Cancelled", "Cancelled", kind))
        if sentence is not None:
            raise ClusterError(f"{sentence} ({kind}: {error!s:.200})") from None


def warn_of_versions(client: Any) -> None:
    """Warn once for each scheduler whose workers have another version of separatrix."""
    if client.scheduler.address in _CHECKED:
        return
    _CHECKED.add(client.scheduler.address)
    here, found = own_version(), client.run(own_version, on_error="ignore")
    others = {worker: version for worker, version in found.items() if version != here}
    if others:
        worker, version = next(iter(others.items()))
        warn_user(
            f"{len(others)} of {len(found)} workers have another separatrix: {version} on {worker}, "
            f"{here} here; results may differ: install the same version"
        )


def own_version() -> str:
    """The version of separatrix in this process."""
    return str(import_module("separatrix").__version__)
