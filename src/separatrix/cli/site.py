"""`separatrix docs`: these pages, as a site on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from separatrix.cli.common import Command, show_json

BUILT = Path("docs") / "_build" / "html" / "index.html"


def find_site() -> Path | None:
    """The site that `make docs` built in this clone, or in the current folder; None if there is none."""
    clone = Path(__file__).parents[3]
    return next((path for path in (clone / BUILT, Path.cwd() / BUILT) if path.is_file()), None)


@click.command(cls=Command)
@click.option("--no-browser", is_flag=True, help="Print where the site is, do not open a browser")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON")
def docs(no_browser: bool, as_json: bool) -> None:
    """Open the documentation in a browser, or print how to build it."""
    site = find_site()
    if as_json:
        show_json({"site": None if site is None else site.as_uri()})
        return
    if site is None:
        click.echo("The site is not built on this machine. In a clone of separatrix: make docs")
        click.echo("Without it, help(separatrix.SVC) prints a page of the reference.")
        return
    click.echo(site.as_uri())
    if not no_browser:
        webbrowser.open(site.as_uri())
