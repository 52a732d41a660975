"""The steps of an experiment file; what several models can share is computed once.

Samples that are scaled by nothing, by a number or to unit length are the same in every training part.
Then all kernels, values of C, splits and folds of `SVC` and `KernelPerceptron` share one Gram matrix,
and all numbers of neighbours share one search. Models scaled by the training part are fitted separately.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler, normalize

from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset, concatenate_parts
from separatrix.data.split_columns import take_groups
from separatrix.data.splits import (
    Split,
    grouped_splits,
    random_splits,
    stratified_folds,
    stratified_splits,
)
from separatrix.errors import ExperimentError, SeparatrixError
from separatrix.estimators.base.device_params import set_device
from separatrix.estimators.kernel_perceptron import KernelPerceptron
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.registry import CLASSIFIERS
from separatrix.estimators.svc import SVC
from separatrix.evaluation.candidates import BuildContext
from separatrix.evaluation.profile import profile
from separatrix.evaluation.samples import require_classes
from separatrix.evaluation.table_models import encode_first, is_sparse
from separatrix.experiments.protocol import (
    CandidateFamily,
    GridCandidate,
    SplitSamples,
    StudyProtocol,
)
from separatrix.experiments.spec import ModelSpec, Spec
from separatrix.experiments.steps import Experiment, RunContext
from separatrix.kernels.base import Kernel
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.registry import ALIASES, KERNELS

ROW_WISE_SCALES = ("none", "unit")  # independent of other samples, as are numbers
SEPARATE = "each fitted separately"
# parameters that do not change the neighbours
IRRELEVANT = ("n_neighbors", "algorithm", "leaf_size", "n_jobs", "verbose", "device")


@dataclass(frozen=True)
class ExperimentPlan:
    """The steps of an experiment file, with a description of what they share."""

    experiment: Experiment
    protocols: dict[str, tuple[StudyProtocol, CandidateFamily]]  # by model
    words: list[str]
    reading: str = ""  # how the data was read
    notes: tuple[str, ...] = ()  # remarks of the reader


def plan(spec: Spec, load: Callable[[str], Dataset], device: str = "auto") -> ExperimentPlan:
    """The steps of an experiment; reads the data, trains nothing.

    A `device` other than "auto" overrides those of the file.
    """
    data, groups = load(spec.data), None
    if spec.split.group is not None:
        groups, data = take_groups(data, spec.split.group)
        load = partial(_without_group, load=load, group=spec.split.group)
    splits = draw_splits(spec, data, groups)
    repeats, n = len(splits), sum(map(len, splits[0]))
    encodes = isinstance(data.X, DataTable)
    protocols = {}
    words = []
    steps = []
    models: list[Any] = []
    for model in spec.models:
        made = _build_candidates(model, data)
        models += made
        family, shared = _family(model, made, n, encodes)
        protocol = StudyProtocol(
            data=spec.data,
            samples=partial(samples, spec=spec, splits=splits, scale=model.scale),
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
        words.append(f"{model.name}: {cells} candidates on {repeats} splits, {fits} fits, {shared}")
    if device != "auto":
        set_device(device, *models)
    options = {"seed": spec.seed, "spec": _as_document(spec)}
    experiment = Experiment(spec.name, spec.title, options, (spec.data,), steps, load)
    return ExperimentPlan(experiment, protocols, words, data.reading, data.notes)


def _without_group(name: str, load: Callable[[str], Dataset], group: str) -> Dataset:
    """The data without the group column, which is not a feature."""
    return take_groups(load(name), group)[1]


def _build_candidates(model: ModelSpec, data: Dataset) -> list[Any]:
    """An unfitted model for every cell of the grid."""
    record = CLASSIFIERS.get(model.type)
    if record is None:
        raise ExperimentError(
            f"{model.name}: unknown classifier {model.type!r}; one of {', '.join(CLASSIFIERS)}"
        )
    return [_build(record.load(), model, cell, data) for cell in model.combinations()]


def _family(
    model: ModelSpec, made: list[Any], n: int, encodes: bool
) -> tuple[CandidateFamily, str]:
    """The family of a model's candidates, and a description of what it shares on n samples.

    Each training part of a table that is encoded has features of its own.
    """
    cells = model.combinations()
    candidates = [
        _constant(GridCandidate(cell, one)) for cell, one in zip(cells, made, strict=True)
    ]
    free = model.scale in ROW_WISE_SCALES or not isinstance(model.scale, str)
    free = free and not encodes
    if free and all(type(one) in (SVC, KernelPerceptron) for one in made) and _has_kernels(made):
        shared = f"all on one Gram matrix ({n:,} x {n:,})"
        return CandidateFamily(model.name, candidates, "gram"), shared
    if free and _only_neighbors(made):
        metric = made[0].metric if made[0].metric != "minkowski" else "euclidean"
        return CandidateFamily(
            model.name, candidates, "neighbors", metric
        ), "all from one neighbour search"
    if free and any(getattr(one, "gamma", None) == "scale" for one in made):
        shared = (
            f"{SEPARATE}: gamma='scale' depends on the training part, so no Gram matrix is shared"
        )
        return CandidateFamily(model.name, candidates), shared
    return CandidateFamily(model.name, candidates), SEPARATE


def _has_kernels(made: list[Any]) -> bool:
    return all(isinstance(one.kernel, Kernel) and not hasattr(one, "predict_proba") for one in made)


def _only_neighbors(made: list[Any]) -> bool:
    """Whether the candidates differ only in the number of neighbours."""
    if len(made) == 1 or not all(type(one) is KNeighborsClassifier for one in made):
        return False
    usual = {**KNeighborsClassifier().get_params(), "metric": made[0].metric}
    others = [{**one.get_params(), **{name: usual[name] for name in IRRELEVANT}} for one in made]
    common = made[0].metric in ("minkowski", "euclidean", "cosine", "manhattan")
    return common and all(one == usual for one in others)


def _build(kind: Any, model: ModelSpec, cell: dict[str, Any], data: Dataset) -> Any:
    """One candidate: parameters are checked, kernels are objects, scaling is a pipeline step.

    Texts, sequences, tables and missing values are prepared as `compare` prepares them.
    """
    given = {**model.parameters, **cell}
    given = {name: _kernel(value) if name == "kernel" else value for name, value in given.items()}
    if "random_state" in kind().get_params():
        given.setdefault("random_state", 0)
    try:
        made = kind(**given)
        made._check_parameters()
    except (TypeError, SeparatrixError) as error:
        raise ExperimentError(f"{model.name}: {error}") from None
    if isinstance(data.X, DataTable):
        return _build_for_table(made, model, data)
    data_profile = profile(data.X, data.y, data.kind)
    if data_profile.kind != "vectors" or data_profile.missing:
        return BuildContext(data_profile, folds=2, seed=0).pipeline(
            made, counts=CLASSIFIERS[type(made).__name__].counts
        )
    if type(made) in (SVC, KernelPerceptron):
        made = _with_kernel_object(made, data.X)
    if isinstance(model.scale, str) and model.scale not in ROW_WISE_SCALES:
        if model.scale == "standard":
            return make_pipeline(StandardScaler(with_mean=not data_profile.sparse), made)
        return make_pipeline(MaxAbsScaler() if data_profile.sparse else MinMaxScaler(), made)
    return made


def _build_for_table(made: Any, model: ModelSpec, data: Dataset) -> Any:
    """One candidate behind an encoder of columns, which standardises numbers."""
    if not isinstance(model.scale, str):
        raise ExperimentError(
            f"{model.name}: `scale` is the number {model.scale:g}, which divides every feature, but "
            f'{data.name} is encoded by the roles of its columns; use "none", "unit" or "range"'
        )
    scalers = {"unit": Normalizer(), "range": MaxAbsScaler() if is_sparse(data) else MinMaxScaler()}
    steps = [scalers[model.scale]] if model.scale in scalers else []
    return encode_first(make_pipeline(*steps, made), data)


def _with_kernel_object(made: Any, X: Any) -> Any:
    """The model with a kernel object, if the kernel does not depend on the training part."""
    named = {name: getattr(made, name) for name in ("gamma", "degree", "coef0")}
    if made.kernel not in ALIASES or made.kernel == "precomputed":
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
    made = KERNELS.get(str(kind))
    if made is None:
        raise ExperimentError(f"unknown kernel {kind!r}; one of {', '.join(KERNELS)}")
    try:
        return made(**words)
    except (TypeError, SeparatrixError) as error:
        raise ExperimentError(f"kernel {kind}: {error}") from None


def _constant(candidate: GridCandidate) -> Callable[[RunContext], GridCandidate]:
    return lambda _context: candidate


def _as_document(spec: Spec) -> dict[str, Any]:
    """What identifies the experiment, as JSON; samples are identified by their hash."""
    document = spec.model_dump(exclude={"folder", "inline"})
    for model in document["models"]:
        model["parameters"].pop("device", None)  # a run may be resumed on another device
    return document


def draw_splits(spec: Spec, data: Dataset, groups: Any = None) -> list[Split]:
    """The splits of an experiment; test rows of the data set follow the others."""
    require_classes(data)
    how, n, y = spec.split, len(data.y), np.asarray(data.y)
    terms: dict[str, Any] = {"repeats": how.repeats, "seed": spec.seed}
    if how.method == "given":
        if data.y_test is None:
            raise ExperimentError(f"{spec.data} has no test part; use another split method")
        return [Split(np.arange(n), np.arange(n, n + len(data.y_test)))]
    if how.method == "folds":
        return stratified_folds(y, folds=how.folds, **terms)
    terms["test_size"] = how.test_size
    if how.method == "random":
        return random_splits(n, **terms)
    if how.method == "stratified":
        return stratified_splits(y, **terms)
    return grouped_splits(groups, **terms)


def samples(
    context: RunContext, spec: Spec, splits: list[Split], scale: float | str
) -> SplitSamples:
    """The samples of a model, scaled row by row, with the splits."""

    def make() -> SplitSamples:
        found = context.data(spec.data)
        X, y = concatenate_parts(found) if spec.split.method == "given" else (found.X, found.y)
        X = np.array(X, dtype=object) if isinstance(X, list) else _scale(X, scale)
        return SplitSamples(X, np.asarray(y), splits)

    return context.shared(("samples", str(scale)), make)


def _scale(X: Any, scale: float | str) -> Any:
    if scale in ("none", "standard", "range") or isinstance(X, DataTable):
        return X
    if scale == "unit":
        return normalize(X)
    return X * (1.0 / float(scale))
