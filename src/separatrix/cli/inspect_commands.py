"""Commands that look at data and models: `explain`, `look`, `info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import (
    Command,
    file_options,
    json_option,
    print_message,
    print_notes,
    role_options,
    show_json,
)

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data", required=False)
@click.option(
    "--row", type=click.IntRange(0), help="Explain the prediction of this row (counted from 0)"
)
@click.option(
    "--count", type=click.IntRange(1), default=10, show_default=True, help="Number of lines"
)
@click.option(
    "--picture", type=FILE, help="Draw the sequence or graph of the row, coloured by contribution"
)
@file_options
@json_option
def explain(
    model: Path,
    data: str | None,
    row: int | None,
    count: int,
    picture: Path | None,
    as_json: bool,
    **file: Any,
) -> None:
    """Explain a saved MODEL: weights, words, subtrees, neighbours, or permutation importance on DATA."""
    from separatrix.app.explain import explain as explain_model
    from separatrix.app.preprocessing import mark_as_fitted
    from separatrix.app.read_data import read_for
    from separatrix.modelfile.describe import describe
    from separatrix.modelfile.files import load

    fitted = load(model)
    samples = None
    if data is not None:
        samples = read_for(fitted, data, labelled=row is None, **file)
        if row is None:
            samples = mark_as_fitted(fitted, samples, describe(model).card.note)
        print_notes(samples, reading=True)
    explanation = explain_model(fitted, samples, row=row, count=count)
    show_json(explanation.as_dict()) if as_json else click.echo(explanation)
    if picture is not None:
        if row is None or samples is None:
            raise click.UsageError("--picture needs DATA and --row")
        from separatrix.plots.attribution_figure import write_parts

        print_message(f"wrote {write_parts(fitted, samples, row, picture)}", quiet=as_json)


@click.command("look", cls=Command)
@click.argument("data", nargs=-1, required=True)
@file_options
@role_options
@json_option
def describe_file(data: tuple[str, ...], as_json: bool, **file: Any) -> None:
    """Describe DATA before anything is fitted: columns with their roles, classes, suspicious things.

    Each column is listed with its role, missing cells, different values, examples and what `fit` would do
    with it. A target that was guessed is named; --target none describes a table without one.
    """
    from separatrix.app.data_summary import summarize
    from separatrix.app.read_data import read_labelled

    summary = summarize(read_labelled(data, ask=False, by_columns=True, **file))
    show_json(summary.as_dict()) if as_json else click.echo(summary)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def info(file: Path, as_json: bool) -> None:
    """Print the model card of a model FILE in Markdown."""
    from separatrix.modelfile.describe import describe

    description = describe(file)
    show_json(description.as_dict()) if as_json else click.echo(description, nl=False)
