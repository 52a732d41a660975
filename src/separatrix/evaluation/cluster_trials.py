"""Splits of evaluations as tasks of a Dask cluster.

The samples and the splits are copied to every worker once, and all evaluations read them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from uuid import uuid4

from separatrix.runtime.progress import bar


class ClusterTrials:
    """Evaluations of the same data, each a task for every split."""

    def __init__(self, client: Any, data: Any, n_splits: int) -> None:
        self._client, self._n_splits, self._run = client, n_splits, uuid4().hex
        self._data = client.scatter(data, broadcast=True, hash=False)
        self._futures: dict[str, list[Any]] = {}

    @classmethod
    @contextmanager
    def on(cls, cluster: Any, data: Any, n_splits: int) -> Iterator[Self]:
        """Trials on a cluster, given by a word or as a client; what is left at the end is cancelled."""
        if isinstance(cluster, cls):
            yield cluster
            return
        from separatrix.cluster.connection import connect

        with connect(cluster) as client:
            trials = cls(client, data, n_splits)
            try:
                yield trials
            finally:
                client.cancel([one for futures in trials._futures.values() for one in futures])

    def submit(self, title: str, function: Callable[..., Any], plan: Any) -> None:
        """Send the tasks `function(run, data, plan, number)` of one evaluation, if they were not sent."""
        from separatrix.cluster.connection import submit_calls

        if title in self._futures:
            return
        numbers = range(self._n_splits)
        names = [f"evaluate-{'-'.join(title.split())}-split-{number}" for number in numbers]
        calls = [(self._run, self._data, plan, number) for number in numbers]
        self._futures[title] = submit_calls(self._client, names, function, calls)

    def collect(self, title: str, progress: bool | None) -> list[Any]:
        """The results of one evaluation, split by split."""
        from separatrix.cluster.connection import results_of_calls

        with bar(title, self._n_splits, show=progress) as advance:
            return results_of_calls(self._client, self._futures[title], advance)
