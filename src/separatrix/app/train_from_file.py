"""Fit or tune a model on the data of a file, and save it. The model keeps the names of its columns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from separatrix.app.decisions import DecisionOptions
from separatrix.app.estimate import last_step
from separatrix.app.held_out import HeldOut, HeldOutRows, measure_held_out
from separatrix.app.novelty import NOVELTY, detects_novelty, require_no_labels, share_outside
from separatrix.app.preprocessing import (
    add_features,
    describe_preprocessing,
    set_scale,
    undecided,
)
from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.errors import ModelFileError, ParameterError, SeparatrixError, UnsupportedError
from separatrix.estimators.base.class_weight_params import set_class_weight
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.base.tuned import best_model, chosen_params, edge_params
from separatrix.estimators.decision import BayesDecision
from separatrix.estimators.registry import CLASSIFIERS, REGISTRY, SUITE
from separatrix.evaluation.candidates import BuildContext
from separatrix.evaluation.samples import require_classes
from separatrix.evaluation.table_models import encode_first, profile_data, suite_for
from separatrix.kernels.base import Kernel
from separatrix.kernels.composed import Normalized
from separatrix.kernels.names import parse_kernel
from separatrix.kernels.object_kernels import ObjectKernel
from separatrix.modelfile.files import save
from separatrix.runtime.threads import blas_for_samples
from separatrix.runtime.warnings import warn_user

ALIASES = {
    "fisher": "FisherDiscriminant",
    "subgradient": "SubgradientSVC",
    "one-class": "OneClassSVM",
}
EMBEDDINGS = {record.name: record for record in REGISTRY if record.name == "FisherDiscriminant"}
FITTED = {**CLASSIFIERS, **EMBEDDINGS, **NOVELTY}
NOT_CONVERGED = "not converged: a fit missed its tolerance"


@dataclass(frozen=True)
class FitOptions:
    """What surrounds a model that is fitted to a file."""

    scale: str = "auto"
    """One of `preprocessing.SCALES`."""
    features: str | None = None
    """Feature map such as "polynomial:2"."""
    decision: DecisionOptions = field(default_factory=DecisionOptions)
    held_out: HeldOutRows | None = None
    """Rows to measure the error on; the saved model is fitted to all rows."""
    class_weight: str | None = None
    """"balanced": classes count alike, however many rows they have."""
    note: str = ""
    """For the model card."""


PLAIN = FitOptions()


class SavedFit(NamedTuple):
    """A model that was fitted to a file and saved."""

    file: str
    model: str  # its class
    samples: int
    features: int
    classes: list[Any]
    train_error: float | None  # None for an embedding
    seconds: float
    chosen: dict[str, str]  # parameters that were tuned
    notes: tuple[str, ...]
    preprocessing: tuple[str, ...] = ()  # steps before the model
    held_out: HeldOut | None = None
    converged: bool = True  # in the fit to all rows
    edges: dict[str, str] = {}  # noqa: RUF012 (never changed); tuned values at the end of their grid
    axes: list[float] | None = None  # scatter ratio of each axis of an embedding
    rejected: int = 0  # training rows that a decision rejects; they are not in `train_error`
    outside: float | None = None  # share of the training rows that are outliers


def novelty_key(key: str) -> bool:
    """Whether `--model` of that name learns from rows without labels."""
    return ALIASES.get(key, key) in NOVELTY


def build(key: str, data: Dataset, parameters: Mapping[str, Any], seed: int = 0) -> Pipeline:
    """Build a model of the suite or a classifier by its class name, with preprocessing before it.

    >>> from separatrix.data.catalogue.find import find
    >>> build("knn", find("iris"), {"n_neighbors": 3})[-1]
    KNeighborsClassifier(n_neighbors=3)
    """
    key = ALIASES.get(key, key)
    if key not in SUITE and key not in FITTED:
        raise _unknown("fit", key, [*SUITE, *FITTED])
    record = SUITE[key][1] if key in SUITE else FITTED[key]
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
    sizes = profile_data(data)
    context = BuildContext(sizes, folds=2, seed=seed)
    pipeline = context.pipeline(estimator(**arguments), counts=record.counts)
    return encode_first(pipeline, data)


def _unknown(owner: str, key: str, known: list[str]) -> ParameterError:
    near = get_close_matches(key, known, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return ParameterError(owner, "model", f"one of {', '.join(known)}{meant}", key)


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
    around: FitOptions = PLAIN,
    cluster: str | None = None,
) -> SavedFit:
    """Fit a model to data, or tune and then fit it, and save it; on a `cluster`, each fit is a task."""
    if not out.parent.is_dir():  # before a fit that may take hours
        raise ModelFileError("unwritable", f"cannot write {out}: the folder does not exist")
    options: dict[str, Any] = {"tune": tune, "folds": folds, "seed": seed, "device": device}
    model = make_model(data, key, parameters or {}, **options, around=around)
    with _client_of(cluster) as client:
        held_out = _measure_held_out(model, data, around, seed, client)
        begun = time.perf_counter()
        model, converged = _fit(model, data, client)
    seconds = time.perf_counter() - begun
    edges = edge_params(undecided(model))
    chosen = {name: repr(value) for name, value in chosen_params(undecided(model)).items()}
    model = _without_search(model)
    novelty = detects_novelty(model)
    train_error, rejected = (None, 0) if novelty else _train_error(model, data)
    name_features(model, data)
    doubts = ["" if converged else NOT_CONVERGED]
    note = "; ".join(filter(None, [around.note, str(held_out or ""), *doubts]))
    path = save(model, out, slim=slim, data=(data.X, data.y), note=note)
    last = last_step(model)
    return SavedFit(
        file=str(path),
        model=type(last).__name__,
        samples=len(data.y),
        features=0 if isinstance(data.X, list) else int(data.X.shape[1]),
        classes=[] if novelty else np.unique(data.y).tolist(),
        train_error=train_error,
        seconds=seconds,
        chosen=chosen,
        notes=data.notes,
        preprocessing=tuple(describe_preprocessing(model)),
        held_out=held_out,
        converged=converged,
        edges=edges,
        axes=None if hasattr(model, "predict") else last.scatter_ratio_.tolist(),
        rejected=rejected,
        outside=share_outside(model, data) if novelty else None,
    )


def _without_search(model: Any) -> Any:
    """The best model of a search, also inside a decision, which keeps its costs and its threshold."""
    if not isinstance(model, BayesDecision):
        return best_model(model)
    best = best_model(model.estimator_)
    if best is not model.estimator_:
        model.estimator, model.estimator_ = clone(best), best
    return model


def _client_of(cluster: str | None) -> AbstractContextManager[Any]:
    if cluster is None:
        return nullcontext()
    from separatrix.cluster.connection import connect

    return connect(cluster)


def _fit(model: Any, data: Dataset, client: Any) -> tuple[Any, bool]:
    """Fit a model, show its warnings, and return it and whether all its fits converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if client is None:
            fitted = fit_to_all(model, data)
        else:
            from separatrix.cluster.connection import results_of_calls, submit_calls

            futures = submit_calls(client, ["fit-all-rows"], fit_to_all, [(model, data)])
            (fitted,) = results_of_calls(client, futures)
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return fitted, not any(issubclass(one.category, ConvergenceWarning) for one in caught)


def fit_to_all(model: Any, data: Dataset) -> Any:
    """The model, fitted to all rows."""
    with blas_for_samples(data.X):
        return model.fit(data.X, data.y)


def _measure_held_out(
    model: Any, data: Dataset, around: FitOptions, seed: int, client: Any
) -> HeldOut | None:
    rows = around.held_out
    if rows is None or detects_novelty(model):
        return None
    if not hasattr(model, "predict"):
        if not rows.asked:
            return None
        name = type(last_step(model)).__name__
        error = UnsupportedError(f"{name} is an embedding, which has no error on held-out rows")
        error.hint = "--set threshold=midpoint makes it a classifier of two classes"
        raise error
    try:
        return measure_held_out(model, data, rows=rows, seed=seed, client=client)
    except (SeparatrixError, ValueError) as error:
        if rows.asked:
            raise
        warn_user(f"the error of held-out rows could not be measured: {error}")
        return None


def _train_error(model: Any, data: Dataset) -> tuple[float | None, int]:
    """Share of wrong predictions on the training rows that were not rejected, and how many were.

    An embedding has no error.
    """
    if not hasattr(model, "predict"):
        return None, 0
    guess = np.asarray(model.predict(data.X))
    decided = np.isin(guess, model.classes_)
    wrong = (guess != np.asarray(data.y)) & decided
    return float(wrong.sum() / max(1, decided.sum())), int((~decided).sum())


def name_features(model: Any, data: Dataset) -> None:
    """Store the names of the columns in every model that receives them; an encoder has its own."""
    if data.features is None or isinstance(data.X, DataTable):
        return
    inner = undecided(model)
    first = inner[0] if isinstance(inner, Pipeline) else inner
    for one in {id(each): each for each in (first, model)}.values():
        if not isinstance(one, Pipeline):
            one.feature_names_in_ = np.array(list(data.features), dtype=object)


def make_model(
    data: Dataset,
    key: str,
    parameters: Mapping[str, Any],
    *,
    tune: bool,
    folds: int,
    seed: int,
    device: str = "auto",
    around: FitOptions = PLAIN,
) -> Any:
    """Make the model that the options describe, not fitted."""
    if novelty_key(key):
        rows = around.held_out if around.held_out and around.held_out.asked else HeldOutRows()
        asked = {"--test-share": rows.test_share, "--folds": rows.folds}
        require_no_labels(ALIASES.get(key, key), asked)
    else:
        require_classes(data)
    if tune and key not in SUITE:
        raise _unknown("tune", key, list(SUITE))
    if tune:
        built = suite_for(data, models=[key], folds=folds, random_state=seed)
        model = next(iter(built.values()))
    else:
        model = build(key, data, parameters, seed)
    model = set_scale(model, around.scale, data)
    if around.features is not None:
        model = add_features(model, around.features, data, seed)
    if around.class_weight is not None and not set_class_weight(model, around.class_weight):
        must_be = f"None for {key}, which takes no weights of classes"
        raise ParameterError("fit", "class_weight", must_be, around.class_weight)
    model = around.decision.wrap(model, np.unique(data.y))
    if device != "auto":
        set_device(device, model)
    return model
