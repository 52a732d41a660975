"""Estimate the time of an experiment file: its own steps on growing subsets of the rows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

from separatrix.app.estimate import LONG_ENOUGH, LONGEST, extrapolate, power_law
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsampled
from separatrix.errors import SeparatrixError
from separatrix.experiments.plan import plan
from separatrix.experiments.spec import Spec
from separatrix.experiments.steps import RunContext

FIRST_ROWS = 250
MOST_REPEATS = 2  # of the splits that are timed; the others take as long


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
