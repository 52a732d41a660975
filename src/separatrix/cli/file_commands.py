"""Commands on data files and model files: `fit`, `tune`, `predict`, `evaluate`."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from separatrix.cli.common import (
    Command,
    cluster_option,
    combine_options,
    device_option,
    file_options,
    json_option,
    print_message,
    print_notes,
    quiet_option,
    role_options,
    seed_option,
    show_json,
)
from separatrix.cli.large_predictions import predict_in_blocks, predict_on_cluster
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
    click.option("-o", "--out", type=FILE, help="Model file to write  [default: DATA.model]"),
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
    and --number replace them. The error of held-out rows is measured by models that do not see them; the
    saved model is fitted to all rows.

    OneClassSVM (one-class) learns from rows without labels: all columns are features but --target.
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
@decision_options
@training_options
@cluster_option
def tune(data: tuple[str, ...], key: str, folds: int, out: Path | None, **options: Any) -> None:
    """Choose the parameters of a model by cross-validation on DATA, fit and save it.

    With --cluster the fits that measure the error, and that to all rows, are tasks.
    """
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
    from separatrix.app.novelty import read_unlabelled, require_no_labels
    from separatrix.app.preprocessing import mark_positive
    from separatrix.app.read_data import read_labelled
    from separatrix.app.train_from_file import fit_file, novelty_key
    from separatrix.runtime.progress import busy

    progress = False if quiet else None
    file = {name: fit.pop(name) for name in FILE_OPTIONS}
    keep = [fit[name] for name in ("group", "time") if fit[name]]  # no features
    unlabelled = novelty_key(fit["key"])
    if unlabelled:
        require_no_labels(fit["key"], {"--positive": positive})
    read = read_unlabelled if unlabelled else read_labelled
    data = read(names, progress=progress, keep=keep, **file)
    print_message(f"read {data.reading}", quiet=quiet)
    if positive is not None:
        data = mark_positive(data, positive)
    data, rows = _hold_out(data, fit)
    fit["around"] = _options_around(fit, positive, rows)
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
    for line in done.held_out.details() if done.held_out else ():
        click.echo(line)
    print_notes(done, quiet=quiet)
    _print_doubts(data, done, quiet=quiet)
    steps = ", ".join(done.preprocessing) or "none"
    print_message(f"preprocessing: {steps}", quiet=quiet)
    print_message(f"wrote {done.file}", quiet=quiet)


def _hold_out(data: Any, fit: dict[str, Any]) -> tuple[Any, Any]:
    """Remove the options of held-out rows from those of a fit; the data without their columns."""
    from separatrix.app.held_out import HeldOutRows
    from separatrix.data.split_columns import take_groups, take_times

    share, folds = fit.pop("test_share"), fit.pop("held_out_folds", None)
    group, time, without = fit.pop("group"), fit.pop("time"), fit.pop("no_held_out")
    if group and time:
        raise click.UsageError("--group and --time exclude each other")
    if without and (share or folds or group or time):
        raise click.UsageError("--no-held-out excludes --test-share, --folds, --group and --time")
    groups = times = None
    if group:
        groups, data = take_groups(data, group)
    if time:
        times, data = take_times(data, time)
    if without or data.y is None:
        return data, None
    if share is None and folds is None:
        usual = HeldOutRows.usual(len(data.y), tuned=fit["tune"])
        return data, replace(usual, groups=groups, times=times)
    return data, HeldOutRows(share, folds, groups, times)


def _options_around(fit: dict[str, Any], positive: str | None, rows: Any) -> Any:
    """Remove the options of preprocessing and decisions from those of a fit."""
    from separatrix.app.train_from_file import FitOptions

    return FitOptions(
        scale=take_scale(fit),
        features=fit.pop("features"),
        decision=take_decision(fit),
        held_out=rows,
        class_weight=fit.pop("class_weight"),
        note="" if positive is None else f"positive labels {positive}",
    )


def _describe_fit(done: Any) -> str:
    chosen = "".join(f", {param} = {value}" for param, value in done.chosen.items())
    kinds = f"{len(done.classes)} classes"
    if done.outside is not None:
        kinds = f"{done.features} features, {100 * done.outside:.2f} % of the rows outside"
    found = [f"{done.samples} samples, {kinds}"]
    if done.held_out is not None:
        found.append(str(done.held_out))
    if done.train_error is not None:
        words = f", {done.rejected} rejected" if done.rejected else ""
        found.append(f"training error {100 * done.train_error:.2f} %{words}")
    if done.held_out is not None:
        always = f"always {done.held_out.majority}"
        found.append(f"{always} {100 * done.held_out.majority_error:.2f} %")
    if done.axes is not None:
        ratios = ", ".join(f"{ratio:.4g}" for ratio in done.axes)
        found.append(f"scatter ratio of each axis {ratios}")
    return f"{done.model}{chosen}: {', '.join(found)}, {done.seconds:.2f} s"


def _print_doubts(data: Any, done: Any, *, quiet: bool) -> None:
    """Print notes on what makes the errors of a fit less certain than they look."""
    from separatrix.app.doubts import doubts_of

    for words in doubts_of(data, done):
        print_message(f"note: {words}", quiet=quiet)


def _print_plan(data: Any, path: Path, as_json: bool, **fit: Any) -> None:
    import numpy as np

    from separatrix.app.estimate import estimate
    from separatrix.app.train_from_file import make_model
    from separatrix.runtime.blocks import in_words

    fit.pop("cluster", None)
    model = make_model(data, **fit)
    rows = fit["around"].held_out
    parts = 0.0
    if rows is not None and hasattr(model, "predict"):
        splits, _ = rows.draw(np.asarray(data.y), fit["seed"])
        parts = sum(len(split.train) for split in splits) / len(data.y)
    expected = estimate(model, data, parts=parts, seed=fit["seed"])
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
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Add a column of DATA, such as an id; may be repeated",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="CSV file to write, with --cluster a folder of Parquet files  [default: stdout]",
)
@cluster_option
@device_option
@quiet_option
@json_option
def predict(
    model: Path,
    data: str,
    proba: bool,
    keep: tuple[str, ...],
    out: Path | None,
    cluster: str | None,
    device: str,
    quiet: bool,
    as_json: bool,
    **file: Any,
) -> None:
    """Predict the rows of DATA with a saved MODEL, as CSV.

    Columns are selected by the names that the model stores. For a model without names, `--target` names
    a column to drop. Of an embedding, the coordinates are printed; of a novelty detector, 1 for rows like
    its training rows and -1 for others. Costs and thresholds replace those that the model was fitted with.
    A large Parquet file is predicted in blocks, also to Parquet with `--out FILE.parquet`. With
    `--cluster`, DATA may be larger than memory, and an interrupted run is resumed.
    """
    if cluster is not None:
        predict_on_cluster(model, Path(data), out, cluster, proba, keep, quiet, file)
        return
    from separatrix.app.novelty import classes_of
    from separatrix.app.predict_from_file import predict_rows, print_predictions, write_predictions
    from separatrix.app.read_data import read_columns, read_for

    decision = take_decision(file)
    fitted = decision.decide(_load(model, device))
    if not (keep or as_json) and predict_in_blocks(fitted, data, out, proba, quiet):
        return
    samples = read_for(fitted, data, **file)
    kept = read_columns(data, keep, rows=_count(samples.X), **file) if keep else {}
    print_notes(samples, quiet=quiet, reading=True)
    if not hasattr(fitted, "predict") and not proba:
        _embed(fitted, samples, out, quiet=quiet, as_json=as_json)
        return
    labels, P = predict_rows(fitted, samples, probabilities=proba)
    classes = classes_of(fitted)
    if as_json:
        more = {"kept": kept} if kept else {}
        show_json({"predictions": labels, "probabilities": P, "classes": classes, **more})
    elif out is None:
        print_predictions(sys.stdout, labels, classes, P, kept)
    else:
        write_predictions(out, labels, classes, P, kept)
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

    For a data set of the catalogue with a test part, DATA is that part. After a fit with --positive the
    labels of DATA are marked alike. Costs and thresholds replace those that the model was fitted with.
    """
    from separatrix.app.predict_from_file import score_file
    from separatrix.app.preprocessing import mark_as_fitted, mark_positive
    from separatrix.app.read_data import read_for
    from separatrix.modelfile.describe import describe, was_trained_on

    decision = take_decision(file)
    stored = _load(model, device)
    samples = read_for(stored, data, labelled=True, **file)
    if positive is not None:
        samples = mark_positive(samples, positive)
    else:
        samples = mark_as_fitted(stored, samples, describe(model).card.note)
    print_notes(samples, reading=True)
    decided = decision.decide(stored)
    scores = score_file(decided, samples, metrics) if metrics else score_file(decided, samples)
    on_training_rows = was_trained_on(model, stored, samples.X, samples.y)
    if as_json:
        show_json({**scores._asdict(), "on_training_rows": on_training_rows})
        return
    if on_training_rows:
        click.echo("these are the rows that the model was fitted to: training errors, not a test")
    click.echo(scores)


def _count(X: Any) -> int:
    return len(X) if isinstance(X, list) else int(X.shape[0])


def _load(path: Path, device: str) -> Any:
    from separatrix.estimators.base.device_params import set_device
    from separatrix.modelfile.files import load

    model = load(path)
    set_device(device, model)
    return model


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
