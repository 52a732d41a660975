"""`separatrix run` and `separatrix compare`: an experiment, a table, a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import (
    Command,
    device_option,
    file_options,
    json_option,
    print_message,
    quiet_option,
    show_json,
)

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(cls=Command)
@click.argument("experiment")
@click.option(
    "--quick", is_flag=True, default=None, help="A small version, in less than 30 seconds"
)
@click.option("--seed", type=click.IntRange(0), help="Seed of everything that is drawn")
@click.option("--data", help="Data set: a name of the catalogue, or a file")
@click.option("--classifier", help="Which classifiers, where an experiment has several")
@click.option("--repeats", type=click.IntRange(1), help="Random splits")
@click.option("--subsample", type=click.IntRange(2), help="Rows to take from the data")
@click.option("--test-size", type=float, help="Share of the rows to test on")
@click.option("--distance", type=click.Choice(["euclidean", "manhattan"]), help="Of neighbours")
@click.option("--k-max", type=click.IntRange(1), help="The largest number of neighbours")
@click.option("--max-iter", type=click.IntRange(1), help="Passes of a perceptron")
@click.option("--digits", "--v", "v", help="Digits counted as +1, as 0,2,4,6,8")
@click.option("--jitters", help="Pixels by which support vectors are moved, as 1,2")
@click.option("--degree", type=click.IntRange(1), help="Of the polynomial kernel")
@click.option("--C", "C", type=float, help="Weight of the loss")
@click.option("--deskew", type=click.Choice(["no", "yes", "both"]), help="Set pictures upright")
@click.option("--multi-class", type=click.Choice(["ovo", "ovr"]), help="Pairs, or one against all")
@click.option("--copies", type=click.Choice(["own", "all"]), help="Of which support vectors")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where machines work")
@click.option("--out", type=FOLDER, help="Folder of the run  [default: runs/EXPERIMENT]")
@click.option("--fresh", is_flag=True, help="Forget what the folder holds, and start over")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing")
@quiet_option
@json_option
def run(
    experiment: str,
    out: Path | None,
    fresh: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Run an EXPERIMENT, one of the named ones or a TOML file, and write its table and page.

    Stopped or killed at any moment, the same command goes on where it was. `separatrix experiments`
    lists the names.
    """
    from separatrix.app.runs import prepare

    job = prepare(experiment, {key: value for key, value in options.items() if value is not None})
    folder = out or Path("runs") / job.name
    if dry_run:
        show_json({"steps": job.steps, "plan": job.words}) if as_json else click.echo(job)
        return
    results, page, words = job.run(folder, fresh=fresh, progress=False if quiet else None)
    written = [folder / "results.csv", folder / "results.parquet", page]
    if as_json:
        show_json({"rows": results.table(), "files": [path for path in written if path.exists()]})
        return
    for sentence in words:
        click.echo(sentence)
    for path in written:
        if path.exists():
            print_message(f"wrote {path}", quiet=quiet)


@click.command(cls=Command)
@json_option
def experiments(as_json: bool) -> None:
    """List the experiments that have a name."""
    from separatrix.studies.catalogue import NAMED

    rows = [{"name": name, "says": one.caption, "data": one.data} for name, one in NAMED.items()]
    if as_json:
        show_json(rows)
        return
    for row in rows:
        click.echo(f"{row['name']:<24} {row['says']} ({row['data']})")


@click.command(cls=Command)
@click.argument("data")
@click.option("--models", help="Which, by key and with commas between  [default: all that suit]")
@click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds")
@click.option(
    "--repeats", type=click.IntRange(1), help="Of the folds  [default: as many as give 10 tests]"
)
@file_options
@click.option("--subsample", type=click.IntRange(2), help="Rows to take from the data")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed")
@click.option("--out", type=FOLDER, help="Folder for the page; without one there is only the table")
@device_option
@quiet_option
@json_option
def compare(
    data: str,
    models: str | None,
    cv: int,
    repeats: int | None,
    subsample: int | None,
    seed: int,
    out: Path | None,
    device: str,
    quiet: bool,
    as_json: bool,
    **file: Any,
) -> None:
    """Compare all classifiers that suit DATA, a name of the catalogue or a file: a leaderboard.

    Everything is tuned and prepared inside the training parts. The tests respect that folds overlap.
    """
    from separatrix.app.runs import compare_data

    comparison, page, notes = compare_data(
        data,
        models=models.split(",") if models else None,
        cv=cv,
        repeats=repeats,
        subsample=subsample,
        seed=seed,
        out=out,
        device=device,
        progress=False if quiet else None,
        **file,
    )
    for note in notes:
        print_message(f"note: {note}", quiet=quiet)
    if as_json:
        files = [] if page is None else [page]
        show_json({"rows": comparison.rows(), "left_out": comparison.left_out, "files": files})
        return
    click.echo(comparison)
    if page is not None:
        print_message(f"wrote {page}", quiet=quiet)
