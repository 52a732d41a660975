"""Fit or tune a model on the data of a file, and save it. The model keeps the names of its columns."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.app.estimate import last_step
from separatrix.data.dataset import Dataset
from separatrix.errors import ModelFileError, ParameterError
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.base.tuned import best_model, chosen_params
from separatrix.estimators.registry import CLASSIFIERS, SUITE
from separatrix.evaluation.candidates import BuildContext
from separatrix.evaluation.profile import profile
from separatrix.evaluation.samples import require_classes
from separatrix.evaluation.suite import suite
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import Normalized
from separatrix.kernels.names import parse_kernel
from separatrix.kernels.object_kernels import ObjectKernel
from separatrix.modelfile.files import save


class SavedFit(NamedTuple):
    """A model that was fitted to a file and saved."""

    file: str
    model: str  # its class
    samples: int
    features: int
    classes: list[Any]
    train_error: float
    seconds: float
    chosen: dict[str, str]  # parameters that were tuned
    notes: tuple[str, ...]


def build(key: str, data: Dataset, parameters: Mapping[str, Any], seed: int = 0) -> Pipeline:
    """Build a model of the suite or a classifier by its class name, with preprocessing before it.

    >>> from separatrix.data.catalogue.find import find
    >>> build("knn", find("iris"), {"n_neighbors": 3})[-1]
    KNeighborsClassifier(n_neighbors=3)
    """
    if key not in SUITE and key not in CLASSIFIERS:
        raise ParameterError("fit", "model", f"one of {', '.join([*SUITE, *CLASSIFIERS])}", key)
    record = SUITE[key][1] if key in SUITE else CLASSIFIERS[key]
    fixed = dict(SUITE[key][0].params) if key in SUITE else {}
    if "(" in fixed.get("kernel", ""):
        fixed["kernel"] = parse_kernel(fixed["kernel"])
    arguments = {**fixed, **parameters}
    estimator = record.load()
    allowed = estimator().get_params()
    for name, value in arguments.items():
        if name not in allowed:
            must_be = f"one of its parameters: {', '.join(allowed)}"
            raise ParameterError(record.name, name, must_be, value)
    if "random_state" in allowed:
        arguments.setdefault("random_state", seed)
    kernel = arguments.get("kernel")
    if isinstance(kernel, Kernel) and kernel.takes != "vectors":  # no preprocessing of objects
        return Pipeline([("model", estimator(**arguments))])
    context = BuildContext(profile(data.X, data.y, data.kind), folds=2, seed=seed)
    return context.pipeline(estimator(**arguments), counts=record.counts)


def parse_normalized_kernel(text: str) -> Kernel:
    """Parse a kernel; normalise a kernel on strings or graphs, unless it is multiplied by a number.

    >>> parse_normalized_kernel("VertexHistogram()")
    Normalized(kernel=VertexHistogram())
    """
    kernel = parse_kernel(text)
    return Normalized(kernel) if isinstance(kernel, ObjectKernel) else kernel


def fit_file(
    data: Dataset,
    out: Path,
    *,
    key: str,
    parameters: Mapping[str, Any] | None = None,
    tune: bool = False,
    folds: int = 5,
    seed: int = 0,
    slim: bool = False,
    device: str = "auto",
) -> SavedFit:
    """Fit a model to data, or tune and then fit it, and save it."""
    if not out.parent.is_dir():  # before a fit that may take hours
        raise ModelFileError("unwritable", f"cannot write {out}: the folder does not exist")
    options: dict[str, Any] = {"tune": tune, "folds": folds, "seed": seed, "device": device}
    model = make_model(data, key, parameters or {}, **options)
    begun = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - begun
    chosen = {name: repr(value) for name, value in chosen_params(model).items()}
    model = best_model(model)
    train_error = float(np.mean(model.predict(data.X) != np.asarray(data.y)))
    if data.features is not None:
        first = model[0] if isinstance(model, Pipeline) else model
        first.feature_names_in_ = np.array(list(data.features), dtype=object)
    path = save(model, out, slim=slim, data=(data.X, data.y))
    return SavedFit(
        file=str(path),
        model=type(last_step(model)).__name__,
        samples=len(data.y),
        features=0 if isinstance(data.X, list) else int(data.X.shape[1]),
        classes=np.unique(data.y).tolist(),
        train_error=train_error,
        seconds=seconds,
        chosen=chosen,
        notes=data.notes,
    )


def make_model(
    data: Dataset,
    key: str,
    parameters: Mapping[str, Any],
    *,
    tune: bool,
    folds: int,
    seed: int,
    device: str = "auto",
) -> Any:
    """Make the model that the options describe, not fitted."""
    require_classes(data)
    if tune and key not in SUITE:
        raise ParameterError("tune", "model", f"one of {', '.join(SUITE)}", key)
    if tune:
        built = suite(data.X, data.y, models=[key], kind=data.kind, folds=folds, random_state=seed)
        model = next(iter(built.values()))
    else:
        model = build(key, data, parameters, seed)
    if device != "auto":
        set_device(device, model)
    return model
