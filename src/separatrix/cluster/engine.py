"""Graphs of tasks: one task for each block, a tree of merges, and what is said when it fails.

Dask schedules and moves data. A graph has one layer, whose tasks are named after the model and the step;
functions and models are nodes of their own, sent once, so that no task carries samples.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple
from uuid import uuid4

import cloudpickle
import dask
from dask._task_spec import Alias, List, Task, TaskRef, convert_legacy_graph
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from separatrix.errors import ClusterError, SeparatrixError
from separatrix.runtime.warnings import warn_user

FAN_IN = 16  # parts that one task merges
NO_WORKERS = 30.0  # seconds without a worker after which a fit is given up
POLL = 2.0  # seconds between checks that there are workers
LARGE_NODE = 2**19  # bytes of a pickled model, from which it is sent once and not with every graph
NAMES = {
    "LeastSquaresClassifier": "least-squares",
    "FisherDiscriminant": "fisher",
    "LinearDiscriminantAnalysis": "lda",
    "QuadraticDiscriminantAnalysis": "qda",
    "LogisticRegression": "logistic",
    "LinearSVC": "linear-svc",
    "KNeighborsClassifier": "knn",
    "KernelPerceptron": "kernel-perceptron",
    "SubgradientSVC": "subgradient",
}
_CHECKED: set[str] = set()  # schedulers whose workers' versions were compared


class Tasks(NamedTuple):
    """Tasks of one layer, one for each block, and the collections that they read."""

    layer: dict[Any, Any]
    keys: list[Any]
    reads: tuple[Any, ...]

    def then(self, name: str, function: Callable[..., Any], *more: Any) -> Tasks:
        """One more task behind each."""
        keys = [f"{name}-{uuid4().hex}-{i}" for i in range(len(self.keys))]
        layer = {
            key: Task(key, function, *more, TaskRef(one))
            for key, one in zip(keys, self.keys, strict=True)
        }
        return Tasks(self.layer | layer, keys, self.reads)


def short_name(model: Any) -> str:
    """The name of a model in the names of its tasks.

    >>> from separatrix import GaussianNB
    >>> short_name(GaussianNB())
    'gaussiannb'
    """
    name = type(model).__name__
    return NAMES.get(name, name.lower())


def client_in_use() -> Any:
    """The client of `distributed` whose scheduler runs the tasks, or None for threads of this process."""
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def map_blocks(
    name: str,
    function: Callable[..., Any],
    shared: Any,
    blocks: Sequence[Sequence[Any]],
    reads: Any,
) -> Tasks:
    """One task `function(shared, number, *block)` for each block of keys; `shared` is sent once."""
    token = uuid4().hex
    node, layer, reads = node_of(f"{name.partition('-')[0]}-model-{token}", shared, tuple(reads))
    keys = [f"{name}-{token}-{i}" for i in range(len(blocks))]
    for i, (key, block) in enumerate(zip(keys, blocks, strict=True)):
        own = (None if one is None else TaskRef(one) for one in block)
        layer[key] = Task(key, function, node, i, *own)
    return Tasks(layer, keys, reads)


def fuse_own_tasks(tasks: Tasks) -> Tasks:
    """The same with whatever only one of the tasks needs made a part of it: one task for each block.

    Tasks that several blocks share, and results that are on the cluster already, stay apart. Dask's own
    fusion of arrays would compute twice what both X and y of a block come from.
    """
    graph: dict[Any, Any] = {}
    for collection in tasks.reads:
        graph |= convert_legacy_graph(dict(collection.__dask_graph__()))
    owners: dict[Any, set[Any]] = {}
    for key in tasks.keys:
        ahead = list(tasks.layer[key].dependencies)
        while ahead:
            needed = ahead.pop()
            users = owners.setdefault(needed, set())
            if needed in graph and key not in users:
                users.add(key)
                ahead += graph[needed].dependencies
    own: dict[Any, list[Any]] = {}
    for needed, users in owners.items():
        if len(users) == 1 and type(graph.get(needed)) in (Task, Alias):
            own.setdefault(next(iter(users)), []).append(graph[needed])
    fused = {key: Task.fuse(*parts, tasks.layer[key], key=key) for key, parts in own.items()}
    return tasks._replace(layer=tasks.layer | fused)


def node_of(
    key: str, value: Any, reads: tuple[Any, ...]
) -> tuple[Any, dict[Any, Any], tuple[Any, ...]]:
    """A node for a value that all tasks read: in the graph, or if it is large, sent to the cluster once."""
    packed = cloudpickle.dumps(value)
    client = client_in_use() if len(packed) > LARGE_NODE else None
    if client is None:
        return TaskRef(key), {key: Task(key, pickle.loads, packed)}, reads
    sent = client.submit(pickle.loads, packed, key=key, pure=False)
    return sent, {}, reads


def reduce_tree(name: str, merge: Callable[..., Any], tasks: Tasks) -> Delayed:
    """All tasks merged in their order, FAN_IN at a time; merge(list) is that of a list of results."""
    layer, keys, token, numbers = dict(tasks.layer), tasks.keys, uuid4().hex, count()
    while len(keys) > 1 or keys is tasks.keys:
        groups = [keys[i : i + FAN_IN] for i in range(0, len(keys), FAN_IN)]
        keys = [f"{name}-{token}-{next(numbers)}" for _ in groups]
        layer |= {
            key: Task(key, merge, List(*map(TaskRef, group)))
            for key, group in zip(keys, groups, strict=True)
        }
    return delayed_of(keys[0], Tasks(layer, keys, tasks.reads))


def delayed_of(key: Any, tasks: Tasks) -> Delayed:
    """The result of one task."""
    layer = f"{key}-graph"
    graph = HighLevelGraph.from_collections(layer, tasks.layer, dependencies=list(tasks.reads))
    return Delayed(key, graph, layer=layer)


def compute(*results: Any) -> tuple[Any, ...]:
    """The values of lazy results; an error of a worker is raised with its message alone."""
    with BriefErrors():
        client = client_in_use()
        if client is None:
            return tuple(dask.compute(*results))
        warn_of_versions(client)
        futures = client.compute(list(results))
        return tuple(wait_for(client, futures))


def compute_each(
    name: str, function: Callable[..., Any], shared: Any, blocks: Any, reads: Any
) -> tuple[Any, ...]:
    """The values of `function(shared, number, *block)`, one for each block."""
    tasks = fuse_own_tasks(map_blocks(name, function, shared, blocks, reads))
    return compute(*(delayed_of(key, tasks) for key in tasks.keys))


def persist(results: Sequence[Delayed]) -> list[Delayed]:
    """The same results, computed and kept where they are."""
    with BriefErrors():
        client = client_in_use()
        if client is None:
            return list(dask.persist(*results))
        warn_of_versions(client)
        return list(client.persist(list(results)))


def wait_for(client: Any, futures: list[Any]) -> list[Any]:
    """Results of futures; cancels them on Ctrl-C, and if no worker is left."""
    from distributed import TimeoutError as NotYet
    from distributed import wait

    without = 0.0
    try:
        while True:
            try:
                wait(futures, timeout=POLL)
                return [future.result() for future in futures]
            except NotYet:
                without = 0.0 if client.scheduler_info(n_workers=-1)["workers"] else without + POLL
                if without >= NO_WORKERS:
                    raise ClusterError(
                        f"the cluster has had no worker for {without:.0f} s; start workers, or call "
                        "fit again when there are some"
                    ) from None
    except BaseException:
        client.cancel(futures)
        raise


class BriefErrors:
    """Context that raises errors of ours without the engine's frames, and its own as `ClusterError`."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: Any, _frames: Any) -> None:
        if isinstance(error, SeparatrixError):
            raise error.with_traceback(None) from None
        sentence = _SENTENCES.get(type(error).__name__)
        if sentence is not None:
            raise ClusterError(f"{sentence} ({type(error).__name__}: {error!s:.200})") from None


_SENTENCES = {
    "KilledWorker": "several workers died on the same task, most likely for want of memory; make blocks "
    "smaller, or give workers more memory",
    "MemoryError": "a worker ran out of memory; make blocks smaller, or give workers more memory",
    "CommClosedError": "the connection to the scheduler was lost; check that it runs, and connect anew",
    "FutureCancelledError": "the cluster gave up the tasks; check its scheduler and workers",
    "CancelledError": "the cluster gave up the tasks; check its scheduler and workers",
    "FuturesCancelledError": "the cluster gave up the tasks; check its scheduler and workers",
}


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
