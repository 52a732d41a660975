"""From a written experiment to its steps: what can be shared is found here, and is run once.

Samples that are scaled by nothing, by a number or to unit length are the same in every training part.
Then all kernels, values of C, splits and folds of `SVC` and `KernelPerceptron` share one Gram matrix,
and all numbers of neighbours share one search. What is scaled by the training part is fitted alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from inspect import isabstract
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from separatrix import kernels as kernel_names
from separatrix.data.dataset import Dataset
from separatrix.data.splits import (
    Split,
    grouped_splits,
    random_splits,
    stratified_folds,
    stratified_splits,
)
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.evaluation.own_files import require_classes
from separatrix.experiments.protocol import Candidate, Family, Protocol, Samples
from separatrix.experiments.spec import ModelSpec, Spec
from separatrix.experiments.steps import Experiment, Workshop
from separatrix.kernels.kernel import Kernel
from separatrix.kernels.names import resolve_kernel
from separatrix.models.kernel_perceptrons import KernelPerceptron
from separatrix.models.neighbors import KNeighborsClassifier
from separatrix.models.registry import REGISTRY
from separatrix.models.svm import SVC

EVERYWHERE_THE_SAME = ("none", "unit")  # scales that do not look at other samples; numbers neither
ALONE = "each by itself"
NO_MATTER = ("n_neighbors", "algorithm", "leaf_size", "n_jobs", "verbose")  # to who is a neighbour


@dataclass(frozen=True)
class Plan:
    """The steps of a written experiment, and in words what they share."""

    experiment: Experiment
    protocols: dict[str, tuple[Protocol, Family]]  # by model
    words: list[str]


def plan(spec: Spec, load: Callable[[str], Dataset]) -> Plan:
    """What is to be done; the data is read, nothing is trained."""
    data = load(spec.data)
    _require_vectors(data)
    splits = _drawn(spec, data)
    repeats, n = len(splits), sum(map(len, splits[0]))
    protocols = {}
    words = []
    steps = []
    for model in spec.models:
        family, said = _family(model, data, n)
        protocol = Protocol(
            data=spec.data,
            samples=partial(_samples, spec=spec, scale=model.scale),
            repeats=repeats,
            seed=spec.seed,
            folds=spec.tune_folds,
            metrics=spec.metrics,
        )
        protocols[model.name] = (protocol, family)
        steps += protocol.steps(family)
        cells = len(family.candidates)
        tested = cells if family.shares == "gram" else 1
        fits = repeats * (1 if cells == 1 else cells * spec.tune_folds + tested)
        words.append(f"{model.name}: {cells} candidates on {repeats} splits, {fits} fits, {said}")
    options = {"seed": spec.seed, "spec": _as_document(spec)}
    experiment = Experiment(spec.name, spec.title, options, (spec.data,), steps, load)
    return Plan(experiment, protocols, words)


def _require_vectors(data: Dataset) -> None:
    """Refuse what no model of a file takes: they are given samples as they are, but for a scale."""
    require_classes(data)
    if data.kind != "vectors":
        error = ExperimentError(
            f"{data.name} holds {data.kind}; a written experiment needs numbers"
        )
        error.hint = "separatrix compare takes texts and sequences"
        raise error
    parts = [part for part in (data.X, data.X_test) if part is not None]
    values = [part.data if issparse(part) else np.asarray(part) for part in parts]
    if any(part.dtype.kind == "f" and np.isnan(part).any() for part in values):
        error = ExperimentError(
            f"{data.name} has missing values, which models of a file do not take"
        )
        error.hint = "fill them in the data; separatrix compare fills them with medians"
        raise error


def _family(model: ModelSpec, data: Dataset, n: int) -> tuple[Family, str]:
    """The family of a model, and what it shares on n samples, in words."""
    entry = next((e for e in REGISTRY if e.name == model.type and e.kind == "classifier"), None)
    if entry is None:
        known = ", ".join(e.name for e in REGISTRY if e.kind == "classifier")
        raise ExperimentError(
            f"{model.name}: no classifier is called {model.type!r}; there are {known}"
        )
    cells = model.combinations()
    made = [_made(entry.load(), model, cell, data) for cell in cells]
    candidates = [_constant(Candidate(cell, one)) for cell, one in zip(cells, made, strict=True)]
    free = model.scale in EVERYWHERE_THE_SAME or not isinstance(model.scale, str)
    if free and all(type(one) in (SVC, KernelPerceptron) for one in made) and _has_kernels(made):
        said = f"all on one Gram matrix ({n:,} x {n:,})"
        return Family(model.name, candidates, "gram"), said
    if free and _only_neighbors(made):
        metric = made[0].metric if made[0].metric != "minkowski" else "euclidean"
        return Family(model.name, candidates, "neighbors", metric), "all from one neighbour search"
    if free and any(getattr(one, "gamma", None) == "scale" for one in made):
        said = f"{ALONE}: gamma='scale' is of a training part; a number would share one Gram matrix"
        return Family(model.name, candidates), said
    return Family(model.name, candidates), ALONE


def _has_kernels(made: list[Any]) -> bool:
    return all(isinstance(one.kernel, Kernel) and not hasattr(one, "predict_proba") for one in made)


def _only_neighbors(made: list[Any]) -> bool:
    """Whether votes of 1, 2, ... neighbours in one list of them are all that differs."""
    if len(made) == 1 or not all(type(one) is KNeighborsClassifier for one in made):
        return False
    usual = {**KNeighborsClassifier().get_params(), "metric": made[0].metric}
    others = [{**one.get_params(), **{name: usual[name] for name in NO_MATTER}} for one in made]
    shared = made[0].metric in ("minkowski", "euclidean", "cosine", "manhattan")
    return shared and all(one == usual for one in others)


def _made(kind: Any, model: ModelSpec, cell: dict[str, Any], data: Dataset) -> Any:
    """One candidate: parameters are checked, kernels are objects, scaling stands before it."""
    given = {**model.parameters, **cell}
    given = {name: _kernel(value) if name == "kernel" else value for name, value in given.items()}
    if "random_state" in kind().get_params():
        given.setdefault("random_state", 0)
    try:
        made = kind(**given)
        made._check_parameters()
    except (TypeError, SeparatrixError) as error:
        raise ExperimentError(f"{model.name}: {error}") from None
    if type(made) in (SVC, KernelPerceptron):
        made = _with_kernel_object(made, data.X)
    if isinstance(model.scale, str) and model.scale not in EVERYWHERE_THE_SAME:
        sparse = not isinstance(data.X, list) and hasattr(data.X, "tocsr")
        if model.scale == "standard":
            return make_pipeline(StandardScaler(with_mean=not sparse), made)
        return make_pipeline(MaxAbsScaler() if sparse else MinMaxScaler(), made)
    return made


def _with_kernel_object(made: Any, X: Any) -> Any:
    """Its kernel as an object, where that is the same for every training part."""
    named = {name: getattr(made, name) for name in ("gamma", "degree", "coef0")}
    if made.kernel not in ("linear", "poly", "rbf", "sigmoid", "laplacian"):
        return made
    if made.kernel != "linear" and named["gamma"] == "scale":
        return made
    kernel = resolve_kernel(type(made).__name__, made.kernel, X, **named)
    fresh = type(made)().get_params()
    return made.set_params(kernel=kernel, **{name: fresh[name] for name in named})


def _kernel(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    words = {name: _kernel(part) for name, part in value.items()}
    kind = words.pop("type", None)
    made = _kernel_types().get(str(kind))
    if made is None:
        raise ExperimentError(
            f"no kernel is called {kind!r}; there are {', '.join(_kernel_types())}"
        )
    try:
        return made(**words)
    except (TypeError, SeparatrixError) as error:
        raise ExperimentError(f"kernel {kind}: {error}") from None


def _kernel_types() -> dict[str, Any]:
    named = {name: getattr(kernel_names, name) for name in kernel_names.__all__}
    kernels = {n: k for n, k in named.items() if isinstance(k, type) and issubclass(k, Kernel)}
    return {name: kernel for name, kernel in kernels.items() if not isabstract(kernel)}


def _scaled(X: Any, scale: float | str) -> Any:
    if isinstance(X, list) or scale in ("none", "standard", "range"):
        return X
    if scale == "unit":
        return normalize(X)
    return X * (1.0 / float(scale))


def _samples(workshop: Workshop, spec: Spec, scale: float | str) -> Samples:
    """The samples of a model, scaled where that looks at nothing else, and the splits."""

    def make() -> Samples:
        data = workshop.data(spec.data)
        X, y = joined(data) if spec.split.method == "given" else (data.X, data.y)
        return Samples(_scaled(X, scale), np.asarray(y), _drawn(spec, data))

    found: Samples = workshop.once(("samples", str(scale)), make)
    return found


def joined(data: Dataset) -> tuple[Any, Any]:
    """Both parts of a set that comes with a test part, one after the other."""
    y = np.concatenate([data.y, data.y_test])
    if isinstance(data.X, list):
        return data.X + data.X_test, y
    if issparse(data.X):
        return vstack([data.X, data.X_test], format="csr"), y
    return np.concatenate([data.X, data.X_test]), y


def _drawn(spec: Spec, data: Dataset) -> list[Split]:
    """The splits, as rows of the samples."""
    how, n = spec.split, len(data.y)
    if how.method == "given":
        if data.y_test is None:
            raise ExperimentError(
                f"{spec.data} comes without a test part; take another split method"
            )
        return [Split(np.arange(n), np.arange(n, n + len(data.y_test)))]
    y = np.asarray(data.y)
    if how.method == "random":
        drawn = random_splits(n, repeats=how.repeats, test_size=how.test_size, seed=spec.seed)
    elif how.method == "stratified":
        drawn = stratified_splits(y, repeats=how.repeats, test_size=how.test_size, seed=spec.seed)
    elif how.method == "folds":
        drawn = stratified_folds(y, folds=how.folds, repeats=how.repeats, seed=spec.seed)
    else:
        groups = _groups(spec, data)
        drawn = grouped_splits(groups, repeats=how.repeats, test_size=how.test_size, seed=spec.seed)
    return drawn


def _groups(spec: Spec, data: Dataset) -> Any:
    names = list(data.features or ())
    if spec.split.group not in names:
        raise ExperimentError(f"{spec.data} has no numeric column {spec.split.group!r} to group by")
    column = data.X[:, [names.index(spec.split.group)]]
    return np.asarray(column.toarray() if issparse(column) else column).ravel()


def _constant(candidate: Candidate) -> Callable[[Workshop], Candidate]:
    return lambda _workshop: candidate


def _as_document(spec: Spec) -> dict[str, Any]:
    """What makes it this experiment, as JSON holds it."""
    document = asdict(spec)
    document.pop("folder")
    return document
