"""Commands of ten lines: parse, call one function, print. Nothing heavy is imported for `--help`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from separatrix import __version__
from separatrix.errors import SeparatrixError


class Command(click.Command):
    """A command that shows the library's errors as one line, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it."""
        try:
            return super().invoke(ctx)
        except (SeparatrixError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="separatrix")
def main() -> None:
    """Exact classical classification, fast because one Gram matrix serves many problems."""


@main.command(cls=Command)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="Folder for the pictures",
)
@click.option(
    "--repeats", type=click.IntRange(2), default=20, show_default=True, help="Random splits"
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON")
def demo(out: Path, repeats: int, as_json: bool) -> None:
    """Compare the classifiers on the built-in handwritten digits and draw what they get wrong."""
    from separatrix.report.demo import run_demo

    comparison, pictures = run_demo(out, repeats=repeats)
    if as_json:
        rows = [{name: _finite(value) for name, value in row.items()} for row in comparison.rows()]
        click.echo(json.dumps({"rows": rows, "pictures": [str(path) for path in pictures]}))
        return
    click.echo(comparison)
    for path in pictures:
        click.echo(f"wrote {path}", err=True)


@main.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON")
def models(as_json: bool) -> None:
    """List the classifiers: solver, paper, and when not to use them."""
    from separatrix.models.registry import REGISTRY

    rows = [
        {"name": e.name, "solver": e.solver, "paper": e.paper, "not_for": e.not_for}
        for e in REGISTRY
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        click.echo(f"{row['name']}\n  solver   {row['solver']}\n  paper    {row['paper']}")
        click.echo(f"  not for  {row['not_for']}")


@main.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON")
def info(file: Path, as_json: bool) -> None:
    """Show what a model FILE holds and where it comes from: a model card in Markdown."""
    from separatrix.models.modelfile.describe import describe

    found = describe(file)
    click.echo(json.dumps(found.as_dict()) if as_json else str(found), nl=as_json)


def _finite(value: object) -> object:
    """The value, or None for what JSON has no word for: a class of probability 0 came true."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
