"""`separatrix data`: list, describe, draw and download data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import (
    Command,
    file_options,
    json_option,
    print_message,
    quiet_option,
    show_json,
)


@click.group()
def data() -> None:
    """List, describe, draw or download the data sets of the catalogue."""


@data.command("list", cls=Command)
@json_option
def list_all(as_json: bool) -> None:
    """List the data sets of the catalogue."""
    from separatrix.data import catalogue

    rows = []
    for entry in map(catalogue.dataset_card, catalogue.names()):
        row = {name: getattr(entry, name) for name in ("name", "rows", "test_rows")}
        state = catalogue.state(entry.name)
        rows.append({**row, "classes": len(entry.classes), "kind": entry.kind, "state": state})
    if as_json:
        show_json(rows)
        return
    click.echo(f"{'name':14} {'rows':>7} {'test':>8} {'classes':>8}  {'kind':10} state")
    for row in rows:
        click.echo(
            f"{row['name']:14} {row['rows']:7d} {row['test_rows']:8d} {row['classes']:8d}  "
            f"{row['kind']:10} {row['state']}"
        )


@data.command(cls=Command)
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Describe the data set NAME: its data card and its files."""
    from separatrix.data import catalogue

    entry, state = catalogue.dataset_card(name), catalogue.state(name)
    if as_json:
        show_json({**entry.as_dict(), "state": state})
        return
    click.echo(_as_text(entry, state))


@data.command(cls=Command)
@click.argument("name")
@click.option("--row", type=click.IntRange(0), required=True, help="Row to draw, counted from 0")
@click.option("--test", is_flag=True, help="Count rows of the test part")
@file_options
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File .svg, .png or .pdf to write  [default: print it]",
)
@json_option
def draw(name: str, row: int, test: bool, out: Path | None, as_json: bool, **file: Any) -> None:
    """Draw one observation of NAME, a data set of the catalogue or a file.

    Pixels are drawn as an image, strings and graphs as they are, other rows feature by feature.
    """
    from separatrix.app.draw import draw_row

    shown = draw_row(name, row, test=test, out=out, **file)
    if as_json:
        show_json({**shown.about, "file": out})
        return
    if out is None:
        click.echo(shown.text)
    else:
        print_message(f"wrote {out}")


@data.command(cls=Command)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@quiet_option
@json_option
def get(names: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Download the data sets NAME... into the user's cache unless they are there."""
    from separatrix.data import catalogue

    for name in names:
        catalogue.dataset_card(name)  # an unknown name is an error before the first download
    found = {}
    for name in names:
        folder = catalogue.get(name, progress=False if quiet else None)
        found[name] = None if folder is None else str(folder)
        if not as_json:
            location = "built in" if folder is None else f"in {folder}"
            print_message(f"{name} is {location}", quiet=quiet)
    if as_json:
        show_json(found)


def _as_text(entry: Any, state: str) -> str:
    classes = ", ".join(f"{name} {count}" for name, count in entry.classes)
    test = f", and {entry.test_rows} test rows" if entry.test_rows else ""
    lines = [
        entry.name,
        f"  {entry.what}",
        f"  state     {state}",
        f"  rows      {entry.rows}{test}",
        f"  features  {entry.features}",
        f"  classes   {classes}",
        f"  source    {entry.source}",
        f"  licence   {entry.licence}",
        f"  cite      {entry.citation}",
    ]
    for file in entry.files:
        lines += [f"  file      {file.name}", f"    sha256  {file.sha256 or 'unknown'}"]
        if file.md5:
            lines += [f"    md5     {file.md5} (packed)"]
        note = "" if file.checked else " (URL not checked)"
        lines += [f"    from    {address}{note}" for address in file.addresses]
        lines += [f"    as      {file.member}"] if file.member else []
    return "\n".join(lines)
