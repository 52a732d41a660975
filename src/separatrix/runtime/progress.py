"""One progress bar, on stderr, for long work.

A program that shows progress by other means follows every bar, shown or not, with `listen`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any

Listener = Callable[[str, int, int | None, int], None]
_SHOWN: list[Any] = []  # the bars on the screen
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
def bar(
    label: str, total: int | None, *, show: bool | None = None, nested: bool = False
) -> Iterator[Callable[[], None]]:
    """Yield a function that advances the bar by one of `total` steps; None if the total is unknown.

    show=None shows the bar if stderr is a terminal and no other bar is shown. A nested one is a line
    below the bar that is shown, if any.
    """
    shown = _add_line(label, total) if nested and _SHOWN else _show(label, total, show)
    with shown as advance, _heard(label, total) as notify:

        def both() -> None:
            advance()
            notify()

        yield both


def is_heard() -> bool:
    """Whether this process has listeners of its progress."""
    return bool(_LISTENERS)


def is_followed() -> bool:
    """Whether a bar is on the screen, or there are listeners."""
    return bool(_SHOWN) or is_heard()


@contextmanager
def busy(label: str, *, show: bool | None = None) -> Iterator[None]:
    """Show a spinner and the elapsed time."""
    with _heard(label, None), _show(label, None, show, spinner=True):
        yield


def _heard(label: str, total: int | None) -> AbstractContextManager[Callable[[], None]]:
    return _notify_listeners(label, total) if _LISTENERS else nullcontext(lambda: None)


@contextmanager
def _add_line(label: str, total: int | None) -> Iterator[Callable[[], None]]:
    progress = _SHOWN[-1]
    task = progress.add_task(label, total=total)
    try:
        yield lambda: progress.advance(task)
    finally:
        progress.remove_task(task)


@contextmanager
def _show(
    label: str, total: int | None, show: bool | None, *, spinner: bool = False
) -> Iterator[Callable[[], None]]:
    if show is False or (show is None and (_SHOWN or not sys.stderr.isatty())):
        yield lambda: None
        return
    from rich import progress as rich
    from rich.console import Console

    columns: tuple[rich.ProgressColumn, ...] = (
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
    )
    if spinner:
        columns = rich.SpinnerColumn(), columns[0], rich.TimeElapsedColumn()
    progress = rich.Progress(*columns, console=Console(stderr=True), transient=spinner)
    _SHOWN.append(progress)  # two bars at once would overwrite each other
    try:
        with progress:
            task = progress.add_task(label, total=total)
            yield lambda: progress.advance(task)
    finally:
        _SHOWN.pop()
