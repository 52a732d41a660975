"""Estimate the time and memory of a fit from fits to small subsets."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.app.preprocessing import undecided
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsample
from separatrix.errors import SeparatrixError
from separatrix.runtime.blocks import default_budget


class Estimate(NamedTuple):
    """Estimated time and memory of a fit."""

    seconds: float
    bytes: int


def estimate(model: Any, data: Dataset, *, most: int = 2000, seed: int = 0) -> Estimate:
    """Estimate by two small fits and the power law through their times."""
    n = len(data.y)
    sizes = sorted({max(50, min(most, n // 8)), max(50, min(2 * most, n // 4))})
    found = []
    for size in (sizes[0], *sizes):  # the first run only compiles
        rows = np.arange(n) if size >= n else subsample(data.y, size, seed=seed, stratified=True)
        part = data.at(rows)
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the subset only
            try:
                clone(model).fit(part.X, part.y)
            except (SeparatrixError, ValueError):
                continue  # the subset may be too small for the model
        found.append((len(rows), max(time.perf_counter() - begun, 1e-4)))
    found = found[1:] or found
    if not found:
        return Estimate(float("nan"), _bytes_of(model, data))
    power = 1.0
    if len(found) > 1 and found[1][0] > found[0][0]:
        power = np.log(found[1][1] / found[0][1]) / np.log(found[1][0] / found[0][0])
    size, seconds = found[-1]
    total = seconds * (n / size) ** float(np.clip(power, 0.5, 3.0))
    return Estimate(float(total), _bytes_of(model, data))


def _bytes_of(model: Any, data: Dataset) -> int:
    """Return the size of two copies of the samples, plus the Gram matrix up to its budget."""
    X = data.X
    if isinstance(X, list):
        samples = 8 * sum(len(text) if isinstance(text, str) else 100 for text in X)
    else:
        samples = int(getattr(X, "nbytes", 0) or X.data.nbytes + X.indices.nbytes)
    kernel = hasattr(last_step(model), "classify_rows")
    return 2 * samples + (min(default_budget(), 4 * len(data.y) ** 2) if kernel else 0)


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself; of a decision, those of its classifier."""
    model = undecided(model)
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model
