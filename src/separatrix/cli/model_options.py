"""Options of `fit`, `tune`, `predict` and `evaluate`: preprocessing, decisions, held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli.common import combine_options

if TYPE_CHECKING:
    from separatrix.app.decisions import DecisionOptions

positive_option = click.option(
    "--positive", help="Labels that become 1, all others -1, e.g. 1,3,5,7,9"
)
preparation_options = combine_options(
    positive_option,
    click.option(
        "--scale",
        type=click.Choice(["auto", "minmax", "standard", "maxabs", "none"]),
        default="auto",
        show_default=True,
        help="Scaling of the features; auto: what suits the data",
    ),
    click.option("--no-scale", is_flag=True, help="The same as --scale none"),
    click.option(
        "--features",
        metavar="MAP",
        help="Feature map before the model: polynomial:DEGREE, nystroem:FEATURES, fourier:FEATURES",
    ),
    click.option(
        "--test-share",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Share of the rows to hold out; the error printed is theirs  [default: five folds, a fifth "
        "of many rows]",
    ),
    click.option(
        "--no-held-out", is_flag=True, help="Do not measure the error on rows that are held out"
    ),
    click.option("--group", help="Column of groups that stay together when rows are held out"),
    click.option(
        "--time", help="Column of times; rows that are held out are later than the others"
    ),
    click.option(
        "--class-weight",
        type=click.Choice(["balanced"]),
        help="Weigh rows so that all classes count alike",
    ),
)
decision_options = combine_options(
    click.option(
        "--costs",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="CSV file of costs: a row for each true class, a column for each decision",
    ),
    click.option(
        "--cost",
        "entries",
        multiple=True,
        metavar="TRUE,PREDICTED=COST",
        help="Cost of one kind of error, e.g. tumour,harmless=10; others cost 1",
    ),
    click.option(
        "--reject-cost",
        type=click.FloatRange(0),
        help="Cost of a rejection; rows with a higher expected cost are rejected",
    ),
    click.option(
        "--threshold",
        metavar="P",
        help="Predict the second of two classes from this probability on; fit also takes tune",
    ),
)


def take_decision(options: dict[str, Any]) -> DecisionOptions:
    """Remove the options of a decision from the options of a command."""
    from separatrix.app.decisions import DecisionOptions

    names = ("costs", "entries", "reject_cost", "threshold")
    return DecisionOptions(**{name: options.pop(name) for name in names if name in options})


def take_scale(options: dict[str, Any]) -> str:
    """Remove --scale and --no-scale from the options of a command, and return the scaling."""
    scale, without = str(options.pop("scale")), options.pop("no_scale")
    if without and scale not in ("auto", "none"):
        raise click.UsageError(f"--no-scale and --scale {scale} exclude each other")
    return "none" if without else scale
