"""`separatrix workbench`: the local web page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import Command, print_message, show_json
from separatrix.errors import MissingDataError, MissingPackageError


@click.command(cls=Command)
@click.argument(
    "models", metavar="[MODEL]...", nargs=-1, type=click.Path(exists=True, dir_okay=False)
)
@click.option("--data", help="Digits to draw: a name of the catalogue, or a file")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("workbench"),
    show_default=True,
    help="Where corrections, uploads and experiments are kept",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Of this machine; 0: any that is free  [default: 8642, or a free one]",
)
@click.option("--no-browser", is_flag=True, help="Only print the link")
@click.option(
    "--memory",
    type=click.IntRange(128),
    default=2048,
    show_default=True,
    help="MB that an experiment may use",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=60,
    show_default=True,
    help="Minutes that an experiment may take",
)
@click.option("--json", "as_json", is_flag=True, help="Print the link as JSON")
def workbench(
    models: tuple[str, ...],
    data: str | None,
    folder: Path,
    port: int | None,
    no_browser: bool,
    memory: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Draw digits, move boundaries and run experiments in the browser, with saved MODELs beside ours.

    Nothing leaves this machine: the page is served to this machine alone, and to browsers that open the
    link which is printed. With --json the link is a line on stdout, once the server answers.
    """
    from separatrix.workbench.settings import MEGABYTE, Settings

    serve = _serve()
    settings = Settings(
        folder=folder,
        data=_checked(data),
        models=tuple(Path(path) for path in models),
        memory=memory * MEGABYTE,
        time_limit=60 * time_limit,
        open_browser=not no_browser,
    )

    def listening(link: str) -> None:
        if as_json:
            show_json({"url": link})

    serve(settings, port=port, show=print_message, on_ready=listening)


def _serve() -> Any:
    """The function, where the packages that it needs are installed."""
    try:
        from separatrix.workbench.serve import serve
    except ModuleNotFoundError as missing:
        error = MissingPackageError(f"{missing.name} is not installed")
        error.hint = "pip install 'separatrix[workbench]'"
        raise error from None
    return serve


def _checked(data: str | None) -> str | None:
    """The name, if there is such data. Reading it is the worker's matter."""
    from separatrix.data.catalogue import names

    if data is None or data in names() or os.path.isfile(data):
        return data
    error = MissingDataError(f"there is no file {data}, and no data set of that name")
    error.hint = f"data sets: {', '.join(names())}"
    raise error
