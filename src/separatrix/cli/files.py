"""One's own files: `fit`, `tune`, `predict`, `evaluate`, `explain`, `info`."""

from __future__ import annotations

import json
import sys
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

FILE = click.Path(dir_okay=False, path_type=Path)
model_option = click.option(
    "--model", "key", default="svm", show_default=True, help="Key, as in compare, or a class name"
)
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed"
)


@click.command(cls=Command)
@click.argument("data")
@model_option
@click.option(
    "--set", "words", multiple=True, metavar="NAME=VALUE", help="A parameter of the model"
)
@click.option(
    "--kernel",
    metavar="KERNEL",
    help='As in Python: "Spectrum(4)". On strings and graphs it is normalised; "1 * Spectrum(4)" is not',
)
@file_options
@click.option("--out", type=FILE, help="File for the model  [default: DATA.model]")
@click.option("--slim", is_flag=True, help="Leave out of the file what predictions do not need")
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it takes")
@seed_option
@device_option
@quiet_option
@json_option
def fit(
    data: str,
    key: str,
    words: tuple[str, ...],
    kernel: str | None,
    out: Path | None,
    **how: Any,
) -> None:
    """Fit a model to DATA, a file or a name of the catalogue, and save it."""
    parameters = _parameters(words)
    if kernel is not None:
        from separatrix.app.train_from_file import kernel_from

        parameters["kernel"] = kernel_from(kernel)
    _fit(data, key, parameters, out, tune=False, folds=0, **how)


@click.command(cls=Command)
@click.argument("data")
@model_option
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="That choose")
@file_options
@click.option("--out", type=FILE, help="File for the model  [default: DATA.model]")
@click.option("--slim", is_flag=True, help="Leave out of the file what predictions do not need")
@click.option("--dry-run", is_flag=True, help="Say what would be done and what it takes")
@seed_option
@device_option
@quiet_option
@json_option
def tune(data: str, key: str, folds: int, out: Path | None, **how: Any) -> None:
    """Choose the parameters of a model by cross-validation on DATA, fit it and save it."""
    _fit(data, key, {}, out, tune=True, folds=folds, **how)


def _fit(
    name: str,
    key: str,
    parameters: dict[str, Any],
    out: Path | None,
    *,
    tune: bool,
    folds: int,
    slim: bool,
    dry_run: bool,
    seed: int,
    device: str,
    quiet: bool,
    as_json: bool,
    **file: Any,
) -> None:
    from separatrix.app.runs import labelled
    from separatrix.app.train_from_file import fit_file
    from separatrix.runtime.progress import busy

    progress = False if quiet else None
    data = labelled(name, progress=progress, **file)
    path = out or Path(f"{Path(name).name}.model")
    if dry_run:
        asked = {"tune": tune, "folds": folds, "seed": seed, "device": device}
        _show_estimate(data, key, parameters, path, as_json, **asked)
        return
    with busy(f"{'tuning' if tune else 'fitting'} {key}", show=progress):
        done = fit_file(
            data,
            path,
            key=key,
            parameters=parameters,
            tune=tune,
            folds=folds,
            seed=seed,
            slim=slim,
            device=device,
        )
    if as_json:
        show_json(done.as_dict())
        return
    found = done.as_dict()
    chosen = "".join(f", {word} = {value}" for word, value in found["chosen"].items())
    click.echo(
        f"{found['model']}{chosen}: {done.samples} samples, {len(done.classes)} classes, "
        f"{100 * done.train_error:.2f} % wrong on these, {done.seconds:.2f} s"
    )
    _say_notes(done, quiet=quiet)
    print_message(f"wrote {done.path}", quiet=quiet)


def _show_estimate(
    data: Any,
    key: str,
    parameters: dict[str, Any],
    path: Path,
    as_json: bool,
    **asked: Any,
) -> None:
    from separatrix.app.train_from_file import planned_fit
    from separatrix.runtime.blocks import in_words

    model, expected = planned_fit(data, key, parameters, **asked)
    if as_json:
        show_json(
            {
                "samples": len(data.y),
                "model": repr(model),
                "file": str(path),
                "seconds": expected.seconds,
                "bytes": expected.bytes,
            }
        )
        return
    click.echo(f"would fit to {len(data.y)} samples of {data.name}:\n{model}\nand write {path}")
    click.echo(f"about {expected.seconds:.1f} s and {in_words(expected.bytes)} of memory")


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data")
@file_options
@click.option("--proba", is_flag=True, help="Also the probability of every class")
@click.option("--out", type=FILE, help="CSV file to write  [default: stdout]")
@device_option
@quiet_option
@json_option
def predict(
    model: Path,
    data: str,
    proba: bool,
    out: Path | None,
    device: str,
    quiet: bool,
    as_json: bool,
    **file: Any,
) -> None:
    """Predict the rows of DATA with a saved MODEL: CSV in, CSV out.

    A model that knows the names of its columns takes those. For any other, `--target` names a column
    to leave out.
    """
    from separatrix.app.train_from_file import (
        predict_rows,
        print_predictions,
        samples_for,
        write_predictions,
    )

    fitted = _loaded(model, device)
    found = samples_for(fitted, data, **file)
    _say_notes(found, quiet=quiet)
    labels, P = predict_rows(fitted, found, probabilities=proba)
    if as_json:
        show_json({"predictions": labels, "probabilities": P, "classes": fitted.classes_})
    elif out is None:
        print_predictions(sys.stdout, labels, fitted.classes_, P)
    else:
        write_predictions(out, labels, fitted.classes_, P)
        print_message(f"wrote {out}, {len(labels)} rows", quiet=quiet)


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data")
@file_options
@device_option
@json_option
def evaluate(model: Path, data: str, device: str, as_json: bool, **file: Any) -> None:
    """Measure a saved MODEL on labelled DATA: error, other metrics, and the confusions.

    Of a data set of the catalogue that comes with a test part, that part is taken.
    """
    from separatrix.app.train_from_file import labelled_for, measure

    fitted = _loaded(model, device)
    samples = labelled_for(fitted, data, **file)
    _say_notes(samples)
    found = measure(fitted, samples)
    show_json(found.as_dict()) if as_json else click.echo(found)


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data", required=False)
@click.option("--row", type=click.IntRange(0), help="Explain what is said of this row, from 0")
@click.option("--count", type=click.IntRange(1), default=10, show_default=True, help="Lines")
@click.option(
    "--picture", type=FILE, help="Draw the sequence or graph of the row, coloured by its parts"
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
    """Show what a saved MODEL looks at: weights, words, subtrees, neighbours, or shuffled DATA."""
    from separatrix.app import explain as room
    from separatrix.app.train_from_file import labelled_for, samples_for
    from separatrix.modelfile.files import load

    fitted = load(model)
    found = None
    if data is not None:
        reader = samples_for if row is not None else labelled_for
        found = reader(fitted, data, **file)
        _say_notes(found)
    told = room.explain(fitted, found, row=row, count=count)
    show_json(told.as_dict()) if as_json else click.echo(told)
    if picture is not None:
        if row is None or found is None:
            raise click.UsageError("--picture needs DATA and --row")
        from separatrix.plots.attribution_figure import write_parts

        print_message(f"wrote {write_parts(fitted, found, row, picture)}", quiet=as_json)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def info(file: Path, as_json: bool) -> None:
    """Show what a model FILE holds and where it comes from: a model card in Markdown."""
    from separatrix.modelfile.describe import describe

    found = describe(file)
    if as_json:
        show_json(found.as_dict())
        return
    click.echo(found, nl=False)


def _loaded(path: Path, device: str) -> Any:
    """The model in a file, told where to work."""
    from separatrix.estimators.base.device_params import set_device
    from separatrix.modelfile.files import load

    model = load(path)
    set_device(device, model)
    return model


def _say_notes(found: Any, *, quiet: bool = False) -> None:
    """What a reader did that is worth saying."""
    for note in found.notes:
        print_message(f"note: {note}", quiet=quiet)


def _parameters(words: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE as a parameter: numbers, true, false and null as JSON has them, else a string."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--set needs NAME=VALUE, as C=10; got {word}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
