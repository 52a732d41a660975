"""A cluster from a word of the command line, and work that is one function call for each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from distributed import Client, LocalCluster, as_completed

from separatrix.cluster import engine
from separatrix.errors import ClusterError

TIMEOUT = 20.0  # seconds to wait for a scheduler


@contextmanager
def connect(cluster: Any) -> Iterator[Any]:
    """A client of `local` worker processes, of tcp://HOST:PORT, or of a scheduler's JSON file.

    A client is used unchanged.
    """
    if isinstance(cluster, Client):
        yield cluster
        return
    if cluster == "local":
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 40}
        with LocalCluster(**options) as own, Client(own) as client:
            yield client
        return
    where = "scheduler_file" if cluster.endswith(".json") else "address"
    if where == "scheduler_file" and not Path(cluster).exists():
        raise ClusterError(f"{cluster} does not exist; start a scheduler with --scheduler-file")
    try:
        client = Client(timeout=TIMEOUT, **{where: cluster})
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {cluster} ({error!s:.100}); start one with: dask scheduler"
        ) from None
    with client:
        yield client


def submit_calls(
    client: Any, names: Sequence[str], function: Callable[..., Any], calls: Sequence[Any]
) -> list[Any]:
    """Futures of the calls, each a task of its name."""
    engine.warn_of_versions(client)
    token = uuid4().hex
    return [
        client.submit(engine.call_on_worker, function, *args, key=f"{name}-{token}", pure=False)
        for name, args in zip(names, calls, strict=True)
    ]


def run_tasks(client: Any, *calls: Any) -> Iterator[tuple[int, Any]]:
    """Number and result of each of the `submit_calls`, as they come; an error cancels what is left."""
    futures = submit_calls(client, *calls)
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        with engine.BriefErrors():
            for future in as_completed(futures):
                yield numbers[future.key], engine.value_of_call(future.result())
    finally:
        client.cancel([future for future in futures if not future.done()])


def results_of_calls(
    client: Any, futures: list[Any], advance: Callable[[], None] = lambda: None
) -> list[Any]:
    """Results in the order of the calls, and the first error in that order; warnings are shown here."""
    with engine.BriefErrors():
        found = engine.wait_for(client, futures, futures, advance)
        return list(map(engine.value_of_call, found))
