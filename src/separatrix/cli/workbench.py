"""`separatrix workbench`: the local web application."""

from __future__ import annotations

import os
from pathlib import Path

import click

from separatrix.cli.common import Command, print_message, show_json
from separatrix.errors import MissingDataError
from separatrix.web import MEGABYTE


@click.command(cls=Command)
@click.argument(
    "models",
    metavar="[MODEL]...",
    nargs=-1,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--data", help="Digits to learn: a data set of the catalogue, or a file")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("workbench"),
    show_default=True,
    help="Folder for corrections, uploads and experiments",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Local port; 0: any free port  [default: 8642, or a free port]",
)
@click.option("--no-browser", is_flag=True, help="Print the link, do not open a browser")
@click.option(
    "--memory",
    type=click.IntRange(128),
    default=2048,
    show_default=True,
    help="Memory limit of an experiment in MB",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=60,
    show_default=True,
    help="Time limit of an experiment in minutes",
)
@click.option("--json", "as_json", is_flag=True, help="Print the link as JSON")
def workbench(
    models: tuple[Path, ...],
    data: str | None,
    folder: Path,
    port: int | None,
    no_browser: bool,
    memory: int,
    time_limit: float,
    as_json: bool,
) -> None:
    """Draw digits, explore decision boundaries and run experiments in the browser, also with saved MODELs.

    The server accepts only local connections that know the printed link. With --json the link is printed
    to stdout once the server answers.
    """
    from separatrix.data.catalogue import names
    from separatrix.workbench.launch import launch
    from separatrix.workbench.settings import Settings

    if data is not None and data not in names() and not os.path.isfile(data):
        absent = MissingDataError(f"no file and no data set is called {data}")
        absent.hint = f"data sets: {', '.join(names())}"
        raise absent
    settings = Settings(
        folder=folder,
        data=data,
        models=models,
        memory=memory * MEGABYTE,
        time_limit=60 * time_limit,
        open_browser=not no_browser,
    )

    def show_link(link: str) -> None:
        if as_json:
            show_json({"url": link})

    launch(settings, port=port, show=print_message, on_ready=show_link)
