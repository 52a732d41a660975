"""Start and stop of the workbench, before anything heavy is imported.

The process of Draw and Playground begins first: its imports take longer than the server's, so the two load
side by side.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from separatrix.errors import MissingPackageError, ParameterError
from separatrix.workbench.dispatcher import main as run_dispatcher
from separatrix.workbench.settings import Settings
from separatrix.workbench.worker import spawn

Show = Callable[[str], None]


def launch(settings: Settings, *, port: int | None, show: Show, on_ready: Show) -> None:
    """Run the workbench until Ctrl-C or SIGTERM; the arguments are those of `serve`."""
    with exit_on_signals(), lock_folder(settings.folder):
        first = spawn(run_dispatcher, settings, settings.memory)
        try:
            from separatrix.workbench.serve import serve
        except ModuleNotFoundError as missing:
            error = MissingPackageError(f"{missing.name} is not installed")
            error.hint = "pip install 'separatrix[workbench]'"
            raise error from None
        serve(settings, port=port, show=show, on_ready=on_ready, first=first)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Exit without an error on Ctrl-C and SIGTERM, which uvicorn raises again after it has stopped."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other workbenches, on systems with such locks."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            in_use = ParameterError(
                "workbench", "folder", "used by no other workbench", str(folder)
            )
            in_use.hint = "stop the workbench that uses it, or choose another --folder"
            raise in_use from error
        yield
