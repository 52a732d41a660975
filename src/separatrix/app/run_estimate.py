"""Estimate the time of an experiment file or a named study: its steps on growing subsets of the rows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from separatrix.app.estimate import LONG_ENOUGH, LONGEST, extrapolate, power_law
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsampled
from separatrix.errors import SeparatrixError
from separatrix.experiments.plan import plan
from separatrix.experiments.spec import Spec
from separatrix.experiments.steps import Experiment, RunContext
from separatrix.runtime.time_limit import OutOfTime, time_limit

FIRST_ROWS = 250
MOST_REPEATS = 2  # of the splits that are timed; the others take as long
WHOLE = 64  # parts of the rows; a named study is first timed on one of them
FEWEST_ROWS = 60  # of such a part
ALL_STEPS = "all steps"
LIMIT = 10.0  # seconds of all its steps on one part, of which the last may not be finished


def estimate_run(
    spec: Spec, load: Callable[[str], Dataset], device: str = "auto"
) -> dict[str, float]:
    """Seconds of each model of an experiment file; NaN if it fits no subset.

    All steps run on subsets, with up to two repeats of the splits, and the power law through their times
    is that of all rows. A subset doubles until the next would take six seconds.
    """
    data = load(spec.data)
    repeats = min(spec.split.repeats, MOST_REPEATS)
    fewer = spec.model_copy(update={"split": spec.split.model_copy(update={"repeats": repeats})})
    n = len(data.y)
    found: dict[str, list[tuple[int, float]]] = {model.name: [] for model in spec.models}
    size = min(n, FIRST_ROWS)
    _time_steps(fewer, data, size, device)  # loads or compiles
    while True:
        for name, seconds in _time_steps(fewer, data, size, device).items():
            found[name].append((size, seconds))
        if size >= n:
            break
        size = min(n, 2 * size)
        following = sum(power_law(times[-3:], size) for times in found.values() if times)
        if min(map(len, found.values())) != 1 and following > LONGEST * LONG_ENOUGH:
            break
    more = spec.split.repeats / repeats
    return {
        name: more * extrapolate(times, n) if times else math.nan for name, times in found.items()
    }


def _time_steps(spec: Spec, data: Dataset, size: int, device: str) -> dict[str, float]:
    """Seconds of the steps of each model on some rows; without the models that fail on so few."""
    seconds: dict[str, float] = {}
    with warnings.catch_warnings(), suppress(SeparatrixError, ValueError):
        warnings.simplefilter("ignore")  # about the subset only
        made = plan(spec, lambda _name: subsampled(data, size, spec.seed), device)
        context = RunContext(made.experiment)
        for step in made.experiment.steps:
            name = max((n for n in made.protocols if step.name.startswith(f"{n}: ")), key=len)
            begun = time.perf_counter()
            context.store(step.name, step.run(context))
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begun
    return seconds


def estimate_study(experiment: Experiment) -> dict[str, float]:
    """Seconds of all steps of a named study; NaN if none of them runs on a subset.

    All steps run on shares of the rows of the data sets that they load, and the power law through the times
    of each is that of all rows. A share doubles until the next would take six seconds. Steps that there
    was no time for are taken to be as long as the mean of the others.
    """
    found: dict[str, list[tuple[int, float]]] = {}
    parts, finished = _first_parts(experiment), True
    _time_study(experiment, parts)  # loads or compiles
    while finished:
        times, finished = _time_study(experiment, parts)
        for name, seconds in times.items():
            found.setdefault(name, []).append((parts, seconds))
        if parts >= WHOLE:
            break
        parts *= 2
        following = sum(_follow(times, parts) for times in found.values())
        measured = max(map(len, found.values()), default=0)
        if measured > 1 and following > LONGEST * LONG_ENOUGH:
            break
    if not found:
        return {ALL_STEPS: math.nan}
    total = sum(_follow(times, WHOLE) for times in found.values())
    return {ALL_STEPS: total * len(experiment.steps) / len(found)}


def _first_parts(experiment: Experiment) -> int:
    """A power of 2 of parts of the rows with which the largest data set has at least `FEWEST_ROWS`."""
    rows = max((len(experiment.load(name).y) for name in experiment.data), default=WHOLE)
    parts = 1
    while parts < WHOLE and rows * parts < FEWEST_ROWS * WHOLE:
        parts *= 2
    return parts


def _follow(times: list[tuple[int, float]], parts: int) -> float:
    """Seconds of a step on more parts, by the last two times; a step may take as long on all rows.

    >>> _follow([(1, 1.0), (2, 2.0)], 4), _follow([(1, 3.0), (2, 3.0)], 64), _follow([(1, 1.0)], 2)
    (4.0, 3.0, 2.0)
    """
    size, later = times[-1]
    power = 1.0
    if len(times) > 1:
        power = float(np.clip(np.log2(later / times[-2][1]), 0.0, 3.0))
    return float(later * (parts / size) ** power)


def _time_study(experiment: Experiment, parts: int) -> tuple[dict[str, float], bool]:
    """Seconds of each step on some parts of the rows, and whether there was time for all."""
    seed = int(experiment.options.get("seed", 0))
    loaded = experiment.load
    smaller = replace(experiment, load=lambda name: take_parts(loaded(name), parts, seed))
    context, seconds = RunContext(smaller), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the subset only
        try:
            with time_limit(LIMIT):
                for step in smaller.steps:
                    begun = time.perf_counter()
                    with suppress(SeparatrixError, ValueError, LookupError):
                        context.store(step.name, step.run(context))
                        seconds[step.name] = max(time.perf_counter() - begun, 1e-4)
        except OutOfTime:
            return seconds, False
    return seconds, True


def take_parts(data: Dataset, parts: int, seed: int) -> Dataset:
    """Some of `WHOLE` parts of the rows of a data set, and of its test part.

    >>> data = Dataset("a", np.arange(640.0)[:, None], np.arange(640) % 2)
    >>> len(take_parts(data, 8, 0).y), len(take_parts(data, 1, 0).y)
    (80, 60)
    """
    if parts >= WHOLE or data.y is None:
        return data
    fewer = subsampled(data, max(FEWEST_ROWS, len(data.y) * parts // WHOLE), seed)
    if data.y_test is None:
        return fewer
    step = max(1, min(WHOLE // parts, len(data.y_test) // FEWEST_ROWS))
    rows = np.arange(0, len(data.y_test), step)
    tested = Dataset(data.name, data.X_test, data.y_test).at(rows)
    return replace(fewer, X_test=tested.X, y_test=tested.y)
