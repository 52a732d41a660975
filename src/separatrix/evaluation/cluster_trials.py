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
        """Send the tasks `function(run, data, plan, *piece)` of one evaluation, if they were not sent."""
        from separatrix.cluster.connection import submit_calls

        if title in self._futures:
            return
        workers = max(1, len(self._client.scheduler_info(n_workers=-1)["workers"]))
        pieces = cut_study(plan, self._n_splits, workers)
        begin = f"evaluate-{'-'.join(title.split())}"
        names = [
            f"{begin}-split-{numbers[0]}-kernel-{candidates[0]}" for candidates, numbers in pieces
        ]
        calls = [(self._run, self._data, plan, *piece) for piece in pieces]
        self._futures[title] = submit_calls(self._client, names, function, calls)

    def collect(self, title: str, progress: bool | None) -> list[Any]:
        """The results of one evaluation, task by task."""
        from separatrix.cluster.connection import results_of_calls

        futures = self._futures[title]
        with bar(title, len(futures), show=progress) as advance:
            return results_of_calls(self._client, futures, advance)


def cut_study(plan: Any, n_splits: int, workers: int) -> list[tuple[list[int], list[int]]]:
    """Candidates and splits of each task: at least two for a worker, if there are so many.

    Splits of one kernel share its matrix, so they stay together; folds choose among all kernels.
    """
    each, parts = range(len(plan.kernels)), n_splits
    candidates = [list(each)] if plan.folds else [[one] for one in each]
    if plan.shared:
        parts = min(n_splits, -(-2 * workers // len(candidates)))
    groups = [list(range(i * n_splits // parts, (i + 1) * n_splits // parts)) for i in range(parts)]
    return [(some, numbers) for some in candidates for numbers in groups]
