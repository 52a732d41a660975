"""Monitoring of a fit: scikit-learn's callbacks, a progress bar for `verbose`, a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.callback import with_callbacks

from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.progress import bar, is_heard

__all__ = ["monitored", "with_callbacks"]


@contextmanager
def monitored(
    estimator: Any, X: Any, y: Any, *, steps: int | None, task: str = "epoch"
) -> Iterator[FitMonitor]:
    """A monitor for one fit of at most `steps` steps, which reports each to callbacks and the bar."""
    context = estimator._init_callback_context(max_subtasks=steps)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    name, verbose = type(estimator).__name__, bool(getattr(estimator, "verbose", 0))
    with bar(f"{name}: {task}", steps, show=verbose) as advance:

        def on_step(_number: int) -> bool:
            advance()
            if not getattr(estimator, "_skl_callbacks", None):
                return False
            step = context.subcontext(task_name=task)
            step.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            return bool(step.call_on_fit_task_end(estimator=estimator, X=X, y=y))

        heard = verbose or is_heard() or getattr(estimator, "_skl_callbacks", None)
        yield FitMonitor(getattr(estimator, "time_limit", None), on_step if heard else None)
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
