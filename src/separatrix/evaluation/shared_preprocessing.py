"""Preprocessing of the training part of a split, fitted once for all pipelines that begin alike.

Prepared arrays are read-only: a model that may work in place gets a copy of them.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from separatrix.data.splits import Split
from separatrix.runtime.blocks import default_budget

SHARE_OF_MEMORY = 8  # one part in so many of the memory budget may hold prepared samples
MOST_BYTES = 2**30


class PreparedSplit(NamedTuple):
    """Both parts of a split after the steps before the classifier; read-only where they are shared."""

    train: Any
    test: Any
    fit_seconds: float  # of the steps, on the training part
    transform_seconds: float  # on the test part
    saved_seconds: float = 0.0  # of these: spent before, for another pipeline


class SharedPreprocessing:
    """Cache of the prepared parts of splits of one data set, by steps and rows.

    Pipelines share their first steps if these have the same classes and the same parameters, all of them
    hashable. A step with a parameter that is not is fitted again for each pipeline.
    """

    def __init__(self, memory: int | None = None) -> None:
        self.memory = min(MOST_BYTES, default_budget() // SHARE_OF_MEMORY)
        if memory is not None:
            self.memory = memory
        self._kept: dict[Any, PreparedSplit] = {}

    def of(self, model: Pipeline, X: Any, labels: Any, split: Split) -> PreparedSplit:
        """The parts of a split before the last step of a pipeline, with the labels of the training part."""
        steps = _key_of(model)
        key = steps and (steps, split.train.tobytes(), split.test.tobytes())
        if key and key in self._kept:
            found = self._kept[key]
            return found._replace(saved_seconds=found.fit_seconds + found.transform_seconds)
        found = _prepare(model, X, labels, split)
        if key:
            self._keep(key, found)
        return found

    def _keep(self, key: Any, prepared: PreparedSplit) -> None:
        """Keep prepared parts; the oldest go first."""
        size = _bytes_of(prepared)
        if size is None or size > self.memory:
            return
        sizes = [_bytes_of(one) or 0 for one in self._kept.values()]
        while sizes and sum(sizes) + size > self.memory:
            del self._kept[next(iter(self._kept))]
            del sizes[0]
        self._kept[key] = prepared


def can_be_split(model: Any) -> bool:
    """Whether a model is a pipeline whose first steps can be fitted apart from the last one."""
    if type(model) is not Pipeline or len(model.steps) < 2:  # a subclass may resample
        return False
    if model.memory is not None or getattr(model, "transform_input", None) is not None:
        return False
    transforms = all(hasattr(step, "transform") for _, step in model.steps[:-1])
    return transforms and not get_tags(model).input_tags.pairwise


def _prepare(model: Pipeline, X: Any, labels: Any, split: Split) -> PreparedSplit:
    begun = time.perf_counter()
    train, fitted = X[split.train], []
    for _, step in model.steps[:-1]:
        fitted.append(clone(step))
        if hasattr(step, "fit_transform"):
            train = fitted[-1].fit_transform(train, labels)
        else:
            train = fitted[-1].fit(train, labels).transform(train)
    trained = time.perf_counter()
    test = X[split.test]
    for step in fitted:
        test = step.transform(test)
    for values in (*_arrays_of(train), *_arrays_of(test)):
        values.setflags(write=False)
    return PreparedSplit(train, test, trained - begun, time.perf_counter() - trained)


def _key_of(model: Pipeline) -> Any:
    """Classes and parameters of the steps before the last one; None if one of them cannot be compared."""
    found = []
    for _, step in model.steps[:-1]:
        params = sorted(step.get_params(deep=False).items())
        found.append((type(step), *((name, type(value), value) for name, value in params)))
    try:
        hash(tuple(found))
    except TypeError:
        return None
    return tuple(found)


def _bytes_of(prepared: PreparedSplit) -> int | None:
    """Bytes of both parts; None for samples that are not matrices."""
    parts = [_arrays_of(part) for part in (prepared.train, prepared.test)]
    return sum(values.nbytes for part in parts for values in part) if all(parts) else None


def _arrays_of(samples: Any) -> list[Any]:
    """The arrays that hold samples; none for samples that are not matrices."""
    if issparse(samples):
        return [values for values in vars(samples).values() if isinstance(values, np.ndarray)]
    return [samples] if isinstance(samples, np.ndarray) else []
