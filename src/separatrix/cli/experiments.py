"""`separatrix run`, `experiments` and `compare`: tables of results and pages."""

from __future__ import annotations

import re
from pathlib import Path
from time import monotonic, process_time
from typing import Any

import click

from separatrix.cli.common import (
    INTERRUPTED,
    Command,
    cluster_option,
    device_option,
    file_options,
    join_repeated,
    json_option,
    print_message,
    print_notes,
    quiet_option,
    role_options,
    seed_option,
    show_json,
)

FOLDER = click.Path(file_okay=False, path_type=Path)
metric_option = click.option(
    "--metric",
    default="error",
    show_default=True,
    help="Rank by error, balanced_accuracy, f1, mcc, roc_auc, average_precision, log_loss, ...",
)


@click.command(cls=Command)
@click.argument("experiment")
@click.option(
    "--quick", is_flag=True, default=None, help="Run a small version in less than 30 seconds"
)
@click.option("--seed", type=click.IntRange(0), help="Seed of all random numbers")
@click.option("--data", help="Data set of the catalogue, or a file")
@click.option("--classifier", help="Classifiers, if the study has several")
@click.option("--repeats", type=click.IntRange(1), help="Number of random splits")
@click.option(
    "--rows", "--subsample", "subsample", type=click.IntRange(2), help="Number of rows to draw"
)
@click.option(
    "--test-share",
    "--test-size",
    "test_size",
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of the rows to hold out",
)
@click.option(
    "--metric",
    "--distance",
    "distance",
    type=click.Choice(["euclidean", "manhattan"]),
    help="Metric of nearest neighbours",
)
@click.option("--k", type=click.IntRange(1), help="One number of neighbours, on one hold-out")
@click.option("--k-max", type=click.IntRange(1), help="Largest number of neighbours")
@click.option("--max-iter", type=click.IntRange(1), help="Maximum number of passes or steps")
@click.option("--degrees", help="Degrees of the polynomial kernels, e.g. 1,2,3 or 1-7")
@click.option("--digits", "--v", "v", help="Digits of the positive class, e.g. 0,2,4,6,8")
@click.option("--alpha", type=float, help="Step of the subgradient descent")
@click.option("--eps", type=float, help="Change of the objective at which the descent stops")
@click.option("--mu", type=float, help="Weight of the penalty of the descent")
@click.option("--jitters", help="Shifts of virtual support vectors in pixels, e.g. 1,2")
@click.option("--sizes", help="Numbers of training images, e.g. 60000,250000")
@click.option("--gamma", type=float, help="Width of the Gaussian kernel")
@click.option("--degree", type=click.IntRange(1), help="Degree of the polynomial kernel")
@click.option("--C", "C", type=float, help="Parameter C of the SVM")
@click.option("--deskew", type=click.Choice(["no", "yes", "both"]), help="Deskew the images")
@click.option("--multi-class", type=click.Choice(["ovo", "ovr"]), help="One-vs-one or one-vs-rest")
@click.option(
    "--copies",
    type=click.Choice(["own", "all"]),
    help="Shift a machine's own or all support vectors",
)
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Device of the SVMs")
@click.option("--out", type=FOLDER, help="Folder of the run  [default: runs/EXPERIMENT]")
@click.option("--fresh", is_flag=True, help="Discard the checkpoints in the folder")
@click.option("--dry-run", is_flag=True, help="Print the plan and an estimate of time, and exit")
@cluster_option
@quiet_option
@json_option
def run(
    experiment: str,
    out: Path | None,
    fresh: bool,
    dry_run: bool,
    cluster: str | None,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run an EXPERIMENT, a named study or a TOML file, and write its table and page.

    After an interruption the same command resumes from the last checkpoint, also with another
    `--cluster`. `separatrix experiments` lists the names.
    """
    from separatrix.app.runs import prepare

    job = prepare(experiment, {key: value for key, value in options.items() if value is not None})
    folder = out or Path("runs") / job.name
    if job.plan is not None:
        print_notes(job.plan, quiet=quiet, reading=True)
    if dry_run:
        _print_job(job, as_json)
        return
    results, page, words = job.run(
        folder, fresh=fresh, progress=False if quiet else None, cluster=cluster
    )
    paths = (folder / "results.csv", folder / "results.parquet", page)
    written = [path for path in paths if path.exists()]
    if as_json:
        show_json({"rows": results.table(), "files": written})
        return
    click.echo("\n".join(words))
    for path in written:
        print_message(f"wrote {path}", quiet=quiet)


def _print_job(job: Any, as_json: bool) -> None:
    """Print the steps of an experiment and about how long they take."""
    from separatrix.app.estimate import seconds_in_words

    seconds = job.estimate() if job.estimate is not None else {}
    if as_json:
        plan = {"steps": job.steps, "plan": job.words, "options": job.experiment.options}
        show_json({**plan, "seconds": seconds})
        return
    click.echo(job)
    for name, spent in seconds.items():
        click.echo(f"{name}: {seconds_in_words(spent)}")
    if len(seconds) > 1:
        click.echo(f"all models: {seconds_in_words(sum(seconds.values()))}")


@click.command(cls=Command)
@json_option
def experiments(as_json: bool) -> None:
    """List the named studies."""
    from separatrix.studies.catalogue import NAMED

    rows = [
        {"name": name, "caption": study.caption, "data": study.data}
        for name, study in NAMED.items()
    ]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        click.echo(f"{row['name']:<24} {row['caption']} ({row['data']})")


def _parse_budget(_context: Any, _option: Any, text: str) -> float | None:
    """Seconds from a text such as 60, 60s, 2m or 1h; none: no limit."""
    if text == "none":
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(s|min|m|h)?", text.strip().lower())
    if not found or not float(found[1]):
        raise click.BadParameter(f"must be a time such as 60s, 2m or 1h, or none; got {text}")
    return float(found[1]) * {"h": 3600, "m": 60, "min": 60}.get(found[2], 1)


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@click.option(
    "--models",
    multiple=True,
    callback=join_repeated,
    help="Comma-separated keys  [default: all models that suit the data]",
)
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Number of folds")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    help="Repeat the k-fold split N times  [default: until there are 10 test folds]",
)
@click.option(
    "--budget",
    default="2m",
    show_default=True,
    callback=_parse_budget,
    metavar="TIME",
    help="Time for all models, e.g. 60s; none: all models on all rows and splits",
)
@file_options
@role_options
@click.option("--subsample", type=click.IntRange(2), help="Number of rows to draw from the data")
@metric_option
@click.option("--group", help="Column of groups that are never in training and test part at once")
@click.option("--time", help="Column of times; test rows are later than training rows")
@click.option(
    "--class-weight",
    type=click.Choice(["balanced"]),
    help="Weigh rows so that all classes count alike",
)
@click.option(
    "--baselines",
    is_flag=True,
    help="Add the most frequent class, and gradient boosting and a forest of scikit-learn",
)
@seed_option
@click.option(
    "--out", type=FOLDER, help="Output folder for the page  [default: print only the table]"
)
@click.option(
    "--save-best",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Model file to write: the best model, fitted to all rows",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the models, the splits and an estimate of time and memory, and exit",
)
@device_option
@cluster_option
@quiet_option
@json_option
def compare(
    data: tuple[str, ...],
    models: str | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare all classifiers that suit DATA, a file, several tables or a data set of the catalogue.

    Preprocessing and tuning happen inside the training parts. The significance tests account for the
    overlap of the folds. Ctrl-C ends with the best so far. With --cluster all models run on all splits, as
    tasks, with the same table; --budget is then none.
    """
    begun = monotonic() - process_time()  # the start of the program is part of the budget
    from separatrix.app.compare_file import compare_data
    from separatrix.cli.live_table import LiveTable

    progress = False if quiet else None
    options["models"] = models.split(",") if models else None
    if options["cluster"] is not None and not _is_given("budget"):
        options["budget"] = None  # no race: all splits run
    if dry_run:
        _print_plan(data, progress, as_json, begun=begun, **options)
        return
    with LiveTable(show=progress) as live:
        comparison, page, notes = compare_data(
            data,
            progress=False if live.shown else progress,
            on_progress=live.update,
            begun=begun,
            **options,
        )
    for note in notes:
        print_message(f"note: {note}", quiet=quiet)
    written = [path for path in (page, options["save_best"]) if path is not None]
    if as_json:
        names = ("left_out", "not_tried", "raced", "failed", "unfinished", "at_edge", "interrupted")
        more = {name: getattr(comparison, name) for name in names}
        show_json({"rows": comparison.rows(), **more, "notes": notes, "files": written})
    else:
        click.echo(comparison)
        for path in written:
            print_message(f"wrote {path}", quiet=quiet)
    if comparison.interrupted:
        click.get_current_context().exit(INTERRUPTED)


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _print_plan(
    data: tuple[str, ...], progress: bool | None, as_json: bool, **options: Any
) -> None:
    from separatrix.app.comparison_plan import plan_comparison

    for name in ("out", "save_best", "metric", "cluster"):  # of what is not done
        del options[name]
    found = plan_comparison(data, progress=progress, **options)
    if as_json:
        show_json({**found._asdict(), "total": found.total})
        return
    for note in found.notes:
        print_message(f"note: {note}", quiet=progress is False)
    click.echo(found)
