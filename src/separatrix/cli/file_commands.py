"""Commands on data files and model files: `fit`, `tune`, `predict`, `evaluate`, `explain`, `info`."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import (
    Command,
    combine_options,
    device_option,
    file_options,
    json_option,
    print_message,
    quiet_option,
    role_options,
    seed_option,
    show_json,
)
from separatrix.cli.model_options import (
    decision_options,
    positive_option,
    preparation_options,
    take_decision,
    take_scale,
)

FILE_OPTIONS = (  # of `file_options` and `role_options`
    *("target", "format", "header", "delimiter", "encoding", "missing_label"),
    *("drop", "text", "date", "category", "number"),
)
INFINITY = ("inf", "+inf", "infinity")  # words of --set for a hard margin, as in C=inf

FILE = click.Path(dir_okay=False, path_type=Path)
model_option = click.option(
    "--model",
    "key",
    default="svm",
    show_default=True,
    help="Key of `compare --models`, or a class name",
)


training_options = combine_options(
    file_options,
    role_options,
    click.option("--out", type=FILE, help="Model file to write  [default: DATA.model]"),
    click.option("--slim", is_flag=True, help="Store only what predictions need"),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Print the model and an estimate of time and memory, and exit",
    ),
    seed_option,
    device_option,
    quiet_option,
    json_option,
)


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@model_option
@click.option(
    "--set", "words", multiple=True, metavar="NAME=VALUE", help="Set a parameter of the model"
)
@click.option(
    "--kernel",
    metavar="KERNEL",
    help="Kernel expression, e.g. Spectrum(4); kernels on strings and graphs are normalised unless "
    "multiplied by a number",
)
@preparation_options
@click.option(
    "--folds", type=click.IntRange(2), help="Hold out each row once; the error printed is theirs"
)
@decision_options
@training_options
def fit(
    data: tuple[str, ...],
    key: str,
    words: tuple[str, ...],
    kernel: str | None,
    out: Path | None,
    folds: int | None,
    **options: Any,
) -> None:
    """Fit a model to DATA, a file, several tables or a data set of the catalogue, and save it.

    The columns of a table get roles by rules; `look` prints them, and --drop, --text, --date, --category
    and --number replace them. The saved model is fitted to all rows, also with --test-share and --folds.
    """
    parameters = _parameters(words)
    if kernel is not None:
        from separatrix.app.train_from_file import parse_normalized_kernel

        parameters["kernel"] = parse_normalized_kernel(kernel)
    options["held_out_folds"] = folds
    _fit(data, out, key=key, parameters=parameters, tune=False, folds=0, **options)


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@model_option
@click.option(
    "--folds", type=click.IntRange(2), default=5, show_default=True, help="Number of folds"
)
@preparation_options
@training_options
def tune(data: tuple[str, ...], key: str, folds: int, out: Path | None, **options: Any) -> None:
    """Choose the parameters of a model by cross-validation on DATA, fit and save it."""
    _fit(data, out, key=key, parameters={}, tune=True, folds=folds, **options)


def _fit(
    names: tuple[str, ...],
    out: Path | None,
    *,
    slim: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    positive: str | None,
    **fit: Any,
) -> None:
    from separatrix.app.preprocessing import mark_positive
    from separatrix.app.read_data import read_labelled
    from separatrix.app.train_from_file import fit_file
    from separatrix.runtime.progress import busy

    progress = False if quiet else None
    fit["around"] = _options_around(fit, positive)
    file = {name: fit.pop(name) for name in FILE_OPTIONS}
    data = read_labelled(names, progress=progress, **file)
    print_message(f"read {data.reading}", quiet=quiet)
    if positive is not None:
        data = mark_positive(data, positive)
    path = out or Path(f"{Path(names[0]).name.replace('*', '')}.model")
    if dry_run:
        _print_plan(data, path, as_json, **fit)
        return
    with busy(f"{'tuning' if fit['tune'] else 'fitting'} {fit['key']}", show=progress):
        done = fit_file(data, path, slim=slim, **fit)
    if as_json:
        held_out = None if done.held_out is None else done.held_out._asdict()
        show_json({**done._asdict(), "held_out": held_out})
        return
    click.echo(_describe_fit(done))
    _print_notes(done, quiet=quiet)
    steps = ", ".join(done.preprocessing) or "none"
    print_message(f"preprocessing: {steps}", quiet=quiet)
    print_message(f"wrote {done.file}", quiet=quiet)


def _options_around(fit: dict[str, Any], positive: str | None) -> Any:
    """Remove the options of preprocessing, decisions and held-out rows from those of a fit."""
    from separatrix.app.train_from_file import FitOptions

    return FitOptions(
        scale=take_scale(fit),
        features=fit.pop("features"),
        decision=take_decision(fit),
        test_share=fit.pop("test_share"),
        folds=fit.pop("held_out_folds", None),
        note="" if positive is None else f"positive labels {positive}",
    )


def _describe_fit(done: Any) -> str:
    chosen = "".join(f", {param} = {value}" for param, value in done.chosen.items())
    found = [f"{done.samples} samples, {len(done.classes)} classes"]
    if done.held_out is not None:
        found.append(str(done.held_out))
    if done.train_error is not None:
        found.append(f"training error {100 * done.train_error:.2f} %")
    if done.axes is not None:
        ratios = ", ".join(f"{ratio:.4g}" for ratio in done.axes)
        found.append(f"scatter ratio of each axis {ratios}")
    return f"{done.model}{chosen}: {', '.join(found)}, {done.seconds:.2f} s"


def _print_plan(data: Any, path: Path, as_json: bool, **fit: Any) -> None:
    from separatrix.app.estimate import estimate
    from separatrix.app.train_from_file import make_model
    from separatrix.runtime.blocks import in_words

    model = make_model(data, **fit)
    expected = estimate(model, data, seed=fit["seed"])
    if as_json:
        plan = {"samples": len(data.y), "model": repr(model), "file": str(path)}
        show_json({**plan, "seconds": expected.seconds, "bytes": expected.bytes})
        return
    click.echo(f"would fit to {len(data.y)} samples of {data.name}:\n{model}\nand write {path}")
    click.echo(f"about {expected.seconds:.1f} s and {in_words(expected.bytes)} of memory")


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data")
@file_options
@decision_options
@click.option("--proba", is_flag=True, help="Add the probability of every class")
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
    """Predict the rows of DATA with a saved MODEL, as CSV.

    Columns are selected by the names that the model stores. For a model without names, `--target` names
    a column to drop. Of an embedding, the coordinates are printed. Costs and thresholds replace those
    that the model was fitted with.
    """
    from separatrix.app.predict_from_file import predict_rows, print_predictions, write_predictions
    from separatrix.app.read_data import read_for

    decision = take_decision(file)
    fitted = decision.decide(_load(model, device))
    samples = read_for(fitted, data, **file)
    _print_notes(samples, quiet=quiet, reading=True)
    if not hasattr(fitted, "predict") and not proba:
        _embed(fitted, samples, out, quiet=quiet, as_json=as_json)
        return
    labels, P = predict_rows(fitted, samples, probabilities=proba)
    if as_json:
        show_json({"predictions": labels, "probabilities": P, "classes": fitted.classes_})
    elif out is None:
        print_predictions(sys.stdout, labels, fitted.classes_, P)
    else:
        write_predictions(out, labels, fitted.classes_, P)
        print_message(f"wrote {out}, {len(labels)} rows", quiet=quiet)


def _embed(fitted: Any, samples: Any, out: Path | None, *, quiet: bool, as_json: bool) -> None:
    from separatrix.app.predict_from_file import embed_rows, print_coordinates, write_file

    names, F = embed_rows(fitted, samples)
    if as_json:
        show_json({"axes": names, "coordinates": F})
    elif out is None:
        print_coordinates(sys.stdout, names, F)
    else:
        write_file(out, lambda file: print_coordinates(file, names, F))
        print_message(f"wrote {out}, {len(F)} rows", quiet=quiet)


@click.command(cls=Command)
@click.argument("model", type=FILE)
@click.argument("data")
@file_options
@click.option("--metric", "metrics", multiple=True, help="Print only this metric; may be repeated")
@positive_option
@decision_options
@device_option
@json_option
def evaluate(
    model: Path,
    data: str,
    metrics: tuple[str, ...],
    positive: str | None,
    device: str,
    as_json: bool,
    **file: Any,
) -> None:
    """Evaluate a saved MODEL on labelled DATA: metrics, precision and recall of each class, confusions.

    For a data set of the catalogue with a test part, DATA is that part. Costs and thresholds replace
    those that the model was fitted with.
    """
    from separatrix.app.predict_from_file import score_file
    from separatrix.app.preprocessing import mark_positive, require_known_labels
    from separatrix.app.read_data import read_for
    from separatrix.modelfile.describe import describe, was_trained_on

    decision = take_decision(file)
    stored = _load(model, device)
    samples = read_for(stored, data, labelled=True, **file)
    if positive is not None:
        samples = mark_positive(samples, positive)
    elif samples.y is not None:
        require_known_labels(stored, samples, describe(model).card.note)
    _print_notes(samples, reading=True)
    decided = decision.decide(stored)
    scores = score_file(decided, samples, metrics) if metrics else score_file(decided, samples)
    on_training_rows = was_trained_on(model, stored, samples.X, samples.y)
    if as_json:
        show_json({**scores._asdict(), "on_training_rows": on_training_rows})
        return
    if on_training_rows:
        click.echo("these are the rows that the model was fitted to: training errors, not a test")
    click.echo(scores)


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
    from separatrix.app.read_data import read_for
    from separatrix.modelfile.files import load

    fitted = load(model)
    samples = None
    if data is not None:
        samples = read_for(fitted, data, labelled=row is None, **file)
        _print_notes(samples, reading=True)
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

    summary = summarize(read_labelled(data, ask=False, **file))
    show_json(summary.as_dict()) if as_json else click.echo(summary)


@click.command(cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def info(file: Path, as_json: bool) -> None:
    """Print the model card of a model FILE in Markdown."""
    from separatrix.modelfile.describe import describe

    description = describe(file)
    show_json(description.as_dict()) if as_json else click.echo(description, nl=False)


def _load(path: Path, device: str) -> Any:
    from separatrix.estimators.base.device_params import set_device
    from separatrix.modelfile.files import load

    model = load(path)
    set_device(device, model)
    return model


def _print_notes(result: Any, *, quiet: bool = False, reading: bool = False) -> None:
    if reading and result.reading:
        print_message(f"read {result.reading}", quiet=quiet)
    for note in result.notes:
        print_message(f"note: {note}", quiet=quiet)


def _parameters(words: tuple[str, ...]) -> dict[str, Any]:
    """Parse NAME=VALUE; a value is JSON (a number, true, false, null) or inf, else a string."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--set needs NAME=VALUE, e.g. C=10; got {word}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = math.inf if value.lower() in INFINITY else value
    return found
