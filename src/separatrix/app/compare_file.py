"""Compare the classifiers that suit a file or a data set of the catalogue: a table, a page, a model."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from separatrix.app.doubts import problems_of
from separatrix.app.read_data import read_labelled
from separatrix.app.train_from_file import NOT_CONVERGED, name_features
from separatrix.data.dataset import Dataset
from separatrix.data.split_columns import take_groups, take_times
from separatrix.data.splits import subsampled
from separatrix.errors import DataError, ModelFileError
from separatrix.estimators.base.class_weight_params import set_class_weight
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.base.tuned import best_model
from separatrix.estimators.registry import TITLES
from separatrix.evaluation.compare import compare
from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.race import ProgressListener
from separatrix.evaluation.result import Evaluation
from separatrix.evaluation.samples import CheckedSamples, check_samples, require_classes
from separatrix.evaluation.suite import Suite
from separatrix.evaluation.table_models import baselines_for, kind_of, suite_for
from separatrix.modelfile.files import save
from separatrix.report.closer_look import inspect_best
from separatrix.report.comparison_page import write_report
from separatrix.report.page import require_packages
from separatrix.runtime.machine_load import expected_slowdown
from separatrix.runtime.progress import busy

RACING_SHARE = 0.7  # of a budget without the page, if the best model is then fitted to all rows
PAGE_SECONDS, BRIEF_PAGE_SECONDS = 2.5, 1.2  # to draw a page on an idle machine
MOST_OF_PAGE = 0.25  # share of a budget for a whole page; where it would take more, it is brief
ENDING_SECONDS = 0.15  # to print a table and to end the process, on an idle machine
LEAST_RACE = 0.1  # of a budget, whatever starting and reading took


class PreparedComparison(NamedTuple):
    """Data and classifiers of a comparison."""

    data: Dataset
    samples: CheckedSamples
    estimators: Suite
    groups: Any  # shape: (n,), or None
    times: Any  # shape: (n,), or None
    notes: list[str]
    doubts: list[str]  # those of the notes that make errors unsure


def compare_data(
    name: str | Sequence[str],
    *,
    called: str | None = None,
    models: list[str] | None = None,
    cv: int = 5,
    repeats: int | None = None,
    subsample: int | None = None,
    metric: str = "error",
    seed: int = 0,
    budget: float | None = None,
    baselines: bool = False,
    group: str | None = None,
    time: str | None = None,
    class_weight: str | None = None,
    out: Path | None = None,
    save_best: Path | None = None,
    device: str = "auto",
    progress: bool | None = None,
    on_progress: ProgressListener | None = None,
    cluster: str | None = None,
    done: Callable[[str, Evaluation], None] | None = None,
    begun: float | None = None,
    **file: Any,
) -> tuple[Comparison, Path | None, Sequence[str]]:
    """Compare the classifiers that suit the data; return the comparison, the page and notes.

    Several names are files that follow each other as one table. `file` holds options of
    `read_labelled`; `called` replaces the path in the page. The page is written if there is a
    folder `out`, and the best classifier, fitted to all rows, to `save_best`. `done` is called with each
    classifier that is finished. The budget counts from `begun`, by `time.monotonic`, or from now.
    """
    begun = monotonic() if begun is None else begun
    data, samples, estimators, groups, times, notes, doubts = prepare_comparison(
        *(name, group, time),
        models=models,
        subsample=subsample,
        seed=seed,
        timed=budget is not None,
        device=device,
        class_weight=class_weight,
        called=called,
        progress=progress,
        **file,
    )
    _require_writable(out, save_best)
    slowdown = expected_slowdown()
    page_seconds, brief = _plan_page(budget, slowdown) if out else (0.0, False)
    inspects, reserved = out is not None and not brief, page_seconds + slowdown * ENDING_SECONDS
    refits = inspects or save_best is not None
    comparison = compare(
        estimators,
        samples,
        cv=cv,
        repeats=repeats,
        groups=groups,
        times=times,
        kind=kind_of(data),
        metric=metric,
        random_state=seed,
        budget=_racing_seconds(budget, monotonic() - begun, reserved, refits=refits),
        baselines=baselines_for(data, seed) if baselines else False,
        progress=progress,
        on_progress=on_progress,
        cluster=cluster,
        done=done,
    )
    _require_finished(comparison)
    more: dict[str, Any] = {}
    if inspects and not comparison.interrupted:
        limit = _inspection_limit(budget, monotonic() - begun + page_seconds)
        with busy("a closer look at the best model", show=progress):
            more = inspect_best(
                comparison, estimators, samples, features=data.features, limit=limit
            )
    if save_best is not None:
        fitted = more.get("fitted", {}).get(comparison.best)
        _save_best(comparison, estimators, samples, data, save_best, fitted)
    if out is None:
        return comparison, None, notes
    given = {
        **{"cv": cv, "repeats": repeats, "seed": str(seed), "models": ",".join(models or ())},
        **{"metric": "" if metric == "error" else metric, "subsample": subsample, "group": group},
        **{"time": time, "class-weight": class_weight},
        **{"device": "" if device == "auto" else device, "cluster": cluster},
    }
    names = [called] if called else [name] if isinstance(name, str) else list(name)
    more["command"] = _command(names, given, file, baselines, budget)
    more["steps"] = _next_steps(names, comparison, file, save_best)
    more |= {"notes": notes, "doubts": doubts}
    more |= {"brief": brief, "facts": {"date": date.today().isoformat()}}
    return comparison, write_report(comparison, out / "report.html", data=data, **more), notes


def prepare_comparison(
    name: str | Sequence[str],
    group: str | None,
    time: str | None,
    *,
    models: list[str] | None,
    subsample: int | None,
    seed: int,
    timed: bool,
    device: str,
    class_weight: str | None,
    progress: bool | None,
    **file: Any,
) -> PreparedComparison:
    """Read the data and build the classifiers that suit it; options as for `compare_data`."""
    asked = tuple(column for column in (group, time) if column is not None)
    data = read_labelled(name, progress=progress, keep=asked, **file)
    data = subsampled(data, subsample, seed)
    require_classes(data)
    groups = times = None
    if group is not None:
        groups, data = take_groups(data, group)
    if time is not None:
        times, data = take_times(data, time)
    notes = [f"read {data.reading}"] if data.reading else []
    doubts = problems_of(data)
    notes += [*data.notes, *doubts]
    samples = check_samples(data.X, data.y, missing=True)
    estimators = suite_for(data, models=models, random_state=seed, timed=timed)
    notes += _configure(estimators, device, class_weight)
    return PreparedComparison(data, samples, estimators, groups, times, notes, doubts)


def _plan_page(budget: float | None, slowdown: float) -> tuple[float, bool]:
    """Seconds of a budget that drawing the page will take, and whether it is to be brief.

    >>> _plan_page(60.0, 1.0), _plan_page(3.0, 1.0), _plan_page(None, 1.0)
    ((2.5, False), (1.2, True), (0.0, False))
    """
    if budget is None:
        return 0.0, False
    brief = PAGE_SECONDS * slowdown > MOST_OF_PAGE * budget
    seconds = slowdown * (BRIEF_PAGE_SECONDS if brief else PAGE_SECONDS)
    return min(seconds, budget / 2), brief


def _racing_seconds(
    budget: float | None, spent: float, reserved: float, *, refits: bool = False
) -> float | None:
    """Seconds for the race, if some are spent on starting and reading, and others are reserved.

    With `refits` the best model is then fitted to all rows: for a closer look at it, or for a file.

    >>> _racing_seconds(60.0, 2.0, 0.0), round(_racing_seconds(60.0, 2.0, 4.0, refits=True), 1)
    (58.0, 37.8)
    """
    if budget is None:
        return None
    left = max(budget - spent - reserved, LEAST_RACE * budget)
    return RACING_SHARE * left if refits else left


def _inspection_limit(budget: float | None, spent: float) -> float | None:
    """Seconds for each of three parts of a closer look at the best model."""
    return None if budget is None else max(budget - spent, 0.0) / 3


def _next_steps(
    names: Sequence[str], comparison: Comparison, file: Mapping[str, Any], save_best: Path | None
) -> list[str]:
    """Three commands that follow a comparison."""
    keys = {title: key for key, title in TITLES.items()}
    target = ["--target", str(file["target"])] if file.get("target") else []
    model = str(save_best or "best.model")
    tune = ["separatrix", "tune", *names, *target, "--model", keys[comparison.best], "--out", model]
    check = "evaluate" if save_best else "predict"
    return [
        shlex.join(tune) if save_best is None else shlex.join(["separatrix", "info", model]),
        shlex.join(
            ["separatrix", check, model, "new.csv", *(target if check == "evaluate" else [])]
        ),
        shlex.join(["separatrix", "explain", model, names[0], *target]),
    ]


def _require_finished(comparison: Comparison) -> None:
    """Refuse a comparison of which only baselines are finished: there is nothing to look at or save."""
    if comparison.best not in comparison.baselines:
        return
    whys = "; ".join(f"{name}: {why}" for name, why in comparison.not_tried.items())
    error = DataError(f"no classifier finished, only baselines did ({whys or 'interrupted'})")
    error.hint = "raise --budget, or name fewer models: --models logistic"
    raise error


def _require_writable(out: Path | None, save_best: Path | None) -> None:
    """Refuse at once what could not be written after a comparison that may take hours."""
    if out is not None:
        require_packages()
        out.mkdir(parents=True, exist_ok=True)
    if save_best is not None and not save_best.parent.is_dir():
        message = f"cannot write {save_best}: the folder does not exist"
        raise ModelFileError("unwritable", message)


def _configure(estimators: Suite, device: str, class_weight: str | None) -> list[str]:
    """Set device and class weights; say which models take no weights."""
    if device != "auto":
        set_device(device, *estimators.values())
    if class_weight is None:
        return []
    without = [
        name for name, model in estimators.items() if not set_class_weight(model, class_weight)
    ]
    return [f"without weights of classes: {'; '.join(without)}"] if without else []


def _save_best(
    comparison: Comparison,
    estimators: Mapping[str, Any],
    samples: CheckedSamples,
    data: Dataset,
    path: Path,
    fitted: Any,
) -> None:
    """Fit the best classifier to all rows, if it is not yet, and save it with its test error."""
    X, y = samples
    if fitted is None:
        rows = np.random.default_rng(0).permutation(len(y))
        fitted = clone(estimators[comparison.best]).fit(X[rows], y[rows])
    model = best_model(fitted)
    name_features(model, data)
    row = next(row for row in comparison.rows() if row["model"] == comparison.best)
    note = (
        f"test error {row['test_error']:.2f} % ({row['low']:.1f} to {row['high']:.1f}) over "
        f"{comparison.splits_in_words}, best of {len(comparison.evaluations)} compared"
    )
    if not row["converged"]:
        note += f"; {NOT_CONVERGED}"
    save(model, path, data=(data.X, data.y), note=note)


def _command(
    names: Sequence[str],
    given: Mapping[str, Any],
    file: Mapping[str, Any],
    baselines: bool,
    budget: float | None,
) -> str:
    """The command line that repeats a comparison."""
    file = dict(file)
    header = file.pop("header", None)
    if file.get("missing_label") == "drop":  # the default
        del file["missing_label"]
    options = {key.replace("_", "-"): value for key, value in {**given, **file}.items() if value}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    words += ["--baselines"] if baselines else []
    words += ["--budget", "none" if budget is None else f"{budget:g}s"]
    words += [] if header is None else ["--header" if header else "--no-header"]
    return shlex.join(["separatrix", "compare", *names, *words])
