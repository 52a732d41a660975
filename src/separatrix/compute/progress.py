"""One progress bar, on stderr, for anything that takes longer than a look."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SHOWN: list[bool] = []  # one entry for each bar that is on the screen


@contextmanager
def bar(label: str, total: int | None, *, show: bool | None = None) -> Iterator[Callable[[], None]]:
    """Yield a function that says one more of `total` steps is done; None: nobody knows how many.

    With show=None the bar is drawn where a person looks: when stderr is a terminal, and no other bar is
    there already.
    """
    if show is False or (show is None and (_SHOWN or not sys.stderr.isatty())):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with _alone(), Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def busy(label: str, *, show: bool | None = None) -> Iterator[None]:
    """Say that something goes on whose end nobody knows, and for how long it has."""
    if show is False or (show is None and (_SHOWN or not sys.stderr.isatty())):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with _alone(), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(label, total=None)
        yield


@contextmanager
def _alone() -> Iterator[None]:
    """Two bars at once would write over each other."""
    _SHOWN.append(True)
    try:
        yield
    finally:
        _SHOWN.pop()
