"""Estimate the time and memory of a fit from fits to small subsets."""

from __future__ import annotations

import math
import time
import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.app.preprocessing import undecided
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsample
from separatrix.errors import SeparatrixError
from separatrix.runtime.blocks import default_budget
from separatrix.runtime.threads import blas_for_samples

FIRST_ROWS = 250
LONG_ENOUGH = 2.0  # seconds of a fit from which the time of larger ones is extrapolated ...
LONGEST = 3.0  # ... if twice the rows would take so many times as long
MOST_START = 1.0  # seconds to load compiled loops; the rest of a first fit was their compilation


class Estimate(NamedTuple):
    """Estimated time and memory of a fit."""

    seconds: float
    bytes: int
    start: float = 0.0  # of the seconds: until loops are loaded, once in a process
    rows: int = 0  # of the largest subset that was timed


def estimate(
    model: Any,
    data: Dataset,
    *,
    parts: float = 0.0,
    seed: int = 0,
    long_enough: float = LONG_ENOUGH,
) -> Estimate:
    """Estimate by fits to growing subsets, and the power law through their times.

    A subset doubles until the next fit would take three times `long_enough`, or it is all rows. `parts` is
    the number of fits to parts of the rows before, each in rows of one fit: 4 for five folds of four
    fifths each.
    """
    n = len(data.y)
    found: list[tuple[int, float]] = []
    size = min(n, FIRST_ROWS)
    first = _time(model, data, size, seed)  # loads or compiles
    while True:
        seconds = _time(model, data, size, seed)
        if seconds is not None and seconds < long_enough / 10:  # so short that others disturb it
            seconds = min(seconds, _time(model, data, size, seed) or seconds)
        if seconds is not None:
            found.append((size, seconds))
        if size >= n:
            break
        size = min(n, 2 * size)
        if len(found) > 2 and power_law(found[-3:], size) > LONGEST * long_enough:
            break
    if not found:
        return Estimate(float("nan"), _bytes_of(model, data))
    start = min(MOST_START, max(0.0, (first or 0.0) - found[0][1]))
    total = (1.0 + parts) * extrapolate(found, n) + start
    return Estimate(total, _bytes_of(model, data), start, found[-1][0])


def extrapolate(found: list[tuple[int, float]], n: int) -> float:
    """The time for n rows: the geometric mean of b n^p and a + b n^p through the last three times.

    The first is too low where the start of small fits hides their growth, the second too high where a
    search visits more cells on more rows.
    """
    last = found[-3:]
    size, seconds = last[-1]
    low = power_law(last, n)
    growth = [later[1] - sooner[1] for sooner, later in pairwise(last)]
    if size >= n or len(growth) < 2 or min(growth) <= 0:
        return low
    power = float(np.clip(np.log2(growth[1] / growth[0]), 1.0, 3.0))
    part = growth[1] / (1 - 2.0**-power)  # of the time, that grows
    return float(np.sqrt(low * (seconds + part * ((n / size) ** power - 1))))


def power_law(found: list[tuple[int, float]], n: int) -> float:
    """The time for n rows by b n^p through the first and the last time."""
    (first, sooner), (size, later) = found[0], found[-1]
    power = 1.0
    if size > first:
        power = float(np.clip(np.log(later / sooner) / np.log(size / first), 1.0, 3.0))
    return float(later * (n / size) ** power)


def seconds_in_words(seconds: float) -> str:
    """About how long something takes.

    >>> seconds_in_words(2.34), seconds_in_words(150.0)
    ('about 2.3 s', 'about 2.5 min')
    """
    if math.isnan(seconds):
        return "no estimate: no small part of the rows could be fitted"
    return f"about {seconds:.1f} s" if seconds < 100 else f"about {seconds / 60:.1f} min"


def _time(model: Any, data: Dataset, size: int, seed: int) -> float | None:
    """Seconds of a fit to some rows and of a prediction of these; None if it fails on so few."""
    rows = np.arange(len(data.y))
    if size < len(rows):
        rows = subsample(data.y, size, seed=seed, stratified=True)
    part = data.at(rows)
    begun = time.perf_counter()
    with warnings.catch_warnings(), blas_for_samples(data.X):
        warnings.simplefilter("ignore")  # about the subset only
        try:
            fitted = clone(model).fit(part.X, part.y)
            if hasattr(fitted, "predict"):
                fitted.predict(part.X)
        except (SeparatrixError, ValueError):
            return None  # the subset may be too small for the model
    return max(time.perf_counter() - begun, 1e-4)


def _bytes_of(model: Any, data: Dataset) -> int:
    """Return the size of two copies of the samples, plus the Gram matrix up to its budget."""
    X = data.X
    if isinstance(X, list):
        samples = 8 * sum(len(text) if isinstance(text, str) else 100 for text in X)
    else:
        samples = int(getattr(X, "nbytes", 0) or X.data.nbytes + X.indices.nbytes)
    last = last_step(model)
    kernel = hasattr(last, "classify_rows") or hasattr(last, "kernels")  # a search shares one
    return 2 * samples + (min(default_budget(), 2 * 4 * len(data.y) ** 2) if kernel else 0)


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself; of a decision, those of its classifier."""
    model = undecided(model)
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model
