"""A cluster from a word of the command line, and work that is one function call for each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from separatrix.cluster.engine import (
    BriefErrors,
    call_on_worker,
    count_done,
    value_of_call,
    wait_for,
    warn_of_versions,
)
from separatrix.errors import ClusterError

TIMEOUT = 20.0  # seconds to wait for a scheduler


@contextmanager
def connect(cluster: Any) -> Iterator[Any]:
    """A client of `local` worker processes, of tcp://HOST:PORT, or of a scheduler's JSON file.

    A client is taken as it is.
    """
    from distributed import Client, LocalCluster

    if isinstance(cluster, Client):
        yield cluster
        return
    if cluster == "local":
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=":0", silence_logs=40) as own,
            Client(own) as client,
        ):
            yield client
        return
    file = cluster.endswith(".json")
    if file and not Path(cluster).exists():
        raise ClusterError(f"{cluster} does not exist; start a scheduler with --scheduler-file")
    try:
        where = {"scheduler_file": cluster} if file else {"address": cluster}
        client = Client(timeout=TIMEOUT, **where)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {cluster} ({error!s:.100}); start one with: dask scheduler"
        ) from None
    with client:
        yield client


def run_tasks(
    client: Any,
    names: Sequence[str],
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
) -> Iterator[tuple[int, Any]]:
    """Number and result of each call, as they come; what is left is cancelled after an error."""
    from distributed import as_completed

    futures = submit_calls(client, names, function, calls)
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        with BriefErrors():
            for future in as_completed(futures):
                yield numbers[future.key], value_of_call(future.result())
    finally:
        client.cancel([future for future in futures if not future.done()])


def submit_calls(
    client: Any,
    names: Sequence[str],
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
) -> list[Any]:
    """Futures of the calls, each a task of its name."""
    warn_of_versions(client)
    token = uuid4().hex
    return [
        client.submit(call_on_worker, function, *args, key=f"{name}-{token}", pure=False)
        for name, args in zip(names, calls, strict=True)
    ]


def results_of_calls(
    client: Any, futures: list[Any], advance: Callable[[], None] | None = None
) -> list[Any]:
    """Results in the order of the calls, and the first error in that order; warnings are shown here."""
    with BriefErrors():
        if advance is not None:
            count_done(client, futures, advance)
        return [value_of_call(one) for one in wait_for(client, futures)]
