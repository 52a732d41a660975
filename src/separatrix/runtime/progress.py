"""One progress bar, on stderr, for anything that takes longer than a look.

A program that shows progress elsewhere hears of every bar, drawn or not, with `heard_by`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock

Listener = Callable[[str, int, int | None, int], None]
_SHOWN: list[bool] = []  # one entry for each bar that is on the screen
_LISTENERS: list[Listener] = []
_OPEN: list[bool] = []  # one entry for each bar that is heard of now
_LOCK = Lock()


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell `listener` of every bar that begins and goes on meanwhile, in any thread.

    It is called with the label, the steps done, their total or None, and how many other bars the bar
    began inside of. One call at a time; the bars wait for it, so it should be quick.

    >>> with heard_by(lambda *said: print(*said)), bar("fits", 2) as advance, busy("a fit"):
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
def _heard(label: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Yield a function that tells all listeners of one more step."""
    done = -1
    with _LOCK:
        depth = len(_OPEN)
        _OPEN.append(True)

    def tell() -> None:
        nonlocal done
        with _LOCK:
            done += 1
            for listener in _LISTENERS:
                listener(label, done, total, depth)

    try:
        tell()
        yield tell
    finally:
        with _LOCK:
            _OPEN.pop()


@contextmanager
def bar(label: str, total: int | None, *, show: bool | None = None) -> Iterator[Callable[[], None]]:
    """Yield a function that says one more of `total` steps is done; None: nobody knows how many.

    With show=None the bar is drawn where a person looks: when stderr is a terminal, and no other bar is
    there already.
    """
    if not _LISTENERS:
        with _drawn(label, total, show) as advance:
            yield advance
        return
    with _drawn(label, total, show) as advance, _heard(label, total) as tell:

        def both() -> None:
            advance()
            tell()

        yield both


@contextmanager
def _drawn(label: str, total: int | None, show: bool | None) -> Iterator[Callable[[], None]]:
    if not _is_drawn(show):
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
    with _heard(label, None) if _LISTENERS else nullcontext():
        if not _is_drawn(show):
            yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with _alone(), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            progress.add_task(label, total=None)
            yield


def _is_drawn(show: bool | None) -> bool:
    return show is not False and (show is True or (not _SHOWN and sys.stderr.isatty()))


@contextmanager
def _alone() -> Iterator[None]:
    """Two bars at once would write over each other."""
    _SHOWN.append(True)
    try:
        yield
    finally:
        _SHOWN.pop()
