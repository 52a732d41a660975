"""One progress bar, on stderr, for long work.

A program that shows progress by other means follows every bar, shown or not, with `listen`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock

Listener = Callable[[str, int, int | None, int], None]
_SHOWN: list[bool] = []  # one entry for each bar on the screen
_LISTENERS: list[Listener] = []
_OPEN: list[bool] = []  # one entry for each bar that listeners follow
_LOCK = Lock()


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call `listener` for every start and step of a bar, in any thread.

    Its arguments are the label, the steps done, their total or None, and the number of enclosing bars.
    Calls do not overlap, and bars wait for them, so it should be quick.

    >>> with listen(lambda *step: print(*step)), bar("fits", 2) as advance, busy("a fit"):
    ...     advance()
    fits 0 2 0
    a fit 0 None 1
    fits 1 2 0
    """
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


@contextmanager
def _notify_listeners(label: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Yield a function that reports one more step to all listeners."""
    done = -1
    with _LOCK:
        depth = len(_OPEN)
        _OPEN.append(True)

    def notify() -> None:
        nonlocal done
        with _LOCK:
            done += 1
            for listener in _LISTENERS:
                listener(label, done, total, depth)

    try:
        notify()
        yield notify
    finally:
        with _LOCK:
            _OPEN.pop()


@contextmanager
def bar(label: str, total: int | None, *, show: bool | None = None) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one of `total` steps; None if the total is unknown.

    show=None shows the bar if stderr is a terminal and no other bar is shown.
    """
    if not _LISTENERS:
        with _show(label, total, show) as advance:
            yield advance
        return
    with _show(label, total, show) as advance, _notify_listeners(label, total) as notify:

        def both() -> None:
            advance()
            notify()

        yield both


@contextmanager
def _show(label: str, total: int | None, show: bool | None) -> Iterator[Callable[[], None]]:
    if not _is_shown(show):
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
    with _exclusive(), Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def busy(label: str, *, show: bool | None = None) -> Iterator[None]:
    """Show a spinner and the elapsed time."""
    with _notify_listeners(label, None) if _LISTENERS else nullcontext():
        if not _is_shown(show):
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with (
            _exclusive(),
            Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        ):
            progress.add_task(label, total=None)
            yield


def _is_shown(show: bool | None) -> bool:
    return show is not False and (show is True or (not _SHOWN and sys.stderr.isatty()))


@contextmanager
def _exclusive() -> Iterator[None]:
    """Two bars at once would overwrite each other."""
    _SHOWN.append(True)
    try:
        yield
    finally:
        _SHOWN.pop()
