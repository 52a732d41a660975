"""Nearest neighbours: the rows are stored, and indexed again when they are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.errors import ModelFileError, ParameterError
from separatrix.estimators.metrics.neighbor_rows import KEPT
from separatrix.estimators.metrics.strategies import BY_DISTANCE, SEARCHED, PairwiseSearch
from separatrix.estimators.metrics.votes import Voters
from separatrix.estimators.nearest_neighbors import NearestNeighbors
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.estimators.radius_neighbors import RadiusNeighborsClassifier, outlier_labels
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.modelfile.labels import Labels
from separatrix.modelfile.objects import SamplesField
from separatrix.modelfile.values import KernelObject, KernelParameter, Value


class _Output(NamedTuple):
    """One column of labels, and the weights of its votes."""

    classes: Any
    y: Any
    weights: Any


OUTPUT = {"classes": Labels("k"), **f.arrays(y="i8 n >=0 <k", weights="f8 n >=0")}


def _pack_index(model: Any, values: s.Values, _slim: bool) -> s.Values:
    index = model.index_
    metric = {"index_metric": index._named.name, "index_metric_params": index._named.params}
    return {**values, **metric, "rows": index.rows}


def _pack(model: Any, values: s.Values, slim: bool) -> s.Values:
    outputs = [_Output(classes, votes.y, votes.weights) for classes, votes in model._outputs()]
    return {**_pack_index(model, values, slim), "outputs": outputs}


def _unpack_index(model: Any, values: s.Values) -> None:
    rows = values.pop("rows")
    metric, params = values.pop("index_metric"), values.pop("index_metric_params")
    s.set_attributes(model, values)
    s.check_samples(model, model.kernel_, rows, "rows")
    model.effective_metric_ = metric if model.kernel_ is None else "kernel"
    model.effective_metric_params_ = params
    s.require(isinstance(params, dict), "index_metric_params", "a dict", params)
    by_rows = issparse(rows) or rows.flags.c_contiguous
    s.require(by_rows, "rows", "in C order", "Fortran order")
    if metric in SEARCHED and (model.kernel_ is None or type(model.kernel_) in BY_DISTANCE):
        kept = (np.float64,) if issparse(rows) else KEPT
        s.require(rows.dtype in kept, "rows", "of a type that is searched as it is", rows.dtype)
    model.index_ = NeighborIndex.restored(
        rows,
        getattr(model, "n_features_in_", 0),  # objects have none
        metric,
        metric_params=params or None,
        kernel=model.kernel_,
        n_jobs=model.n_jobs,
        expected_k=model.expected_k,
    )


def _unpack(model: Any, values: s.Values) -> None:
    outputs = values.pop("outputs")
    _unpack_index(model, values)
    s.require(len(outputs) > 0, "outputs", "at least one", 0)
    model._voters = [Voters(part.y, part.weights, len(part.classes)) for part in outputs]
    model.outputs_2d_ = len(outputs) > 1
    classes = [part.classes for part in outputs]
    model.classes_ = classes if model.outputs_2d_ else classes[0]
    if isinstance(model, RadiusNeighborsClassifier):
        try:
            model.outlier_label_ = outlier_labels(model)
        except (ParameterError, TypeError) as error:
            raise ModelFileError("invariant", f"`outlier_label`: {error}") from None


def _check(model: Any, _sizes: f.ShapeEnv) -> None:
    """Search one row if the parameters of the metric are not used before."""
    if isinstance(model.index_.strategy, PairwiseSearch):
        model.index_.search(model.index_.rows[:1], 1)


INDEX: dict[str, f.Field] = {
    **s.FEATURES,
    "n_samples_fit_": f.Integer(1, "n"),
    "rows": SamplesField("n f any"),
    **{"index_metric": f.Text(), "index_metric_params": Value()},
    "kernel_": f.Maybe(KernelObject()),
}
VOTING = {**INDEX, "outputs": f.Listed(f.Struct(_Output, OUTPUT, scoped=True))}
KERNEL = {"kernel": KernelParameter()}
BY_INDEX = "index_ effective_metric_ effective_metric_params_"
DERIVED = f"classes_ _voters outputs_2d_ {BY_INDEX}"
KINDS = {
    "KNeighborsClassifier": s.ModelSchema(
        KNeighborsClassifier,
        VOTING,
        {"accuracy_by_k_": f.Array("f8 m"), "best_k_": f.Integer(1)},
        optional="n_features_in_ accuracy_by_k_ best_k_",
        params=KERNEL,
        later="smoothing",
        derived=DERIVED,
        pack=_pack,
        unpack=_unpack,
        check=_check,
    ),
    "NearestNeighbors": s.ModelSchema(
        NearestNeighbors,
        INDEX,
        optional="n_features_in_",
        derived=BY_INDEX,
        pack=_pack_index,
        unpack=_unpack_index,
        check=_check,
    ),
    "RadiusNeighborsClassifier": s.ModelSchema(
        RadiusNeighborsClassifier,
        VOTING,
        optional="n_features_in_",
        params=KERNEL,
        derived=f"{DERIVED} outlier_label_",
        pack=_pack,
        unpack=_unpack,
        check=_check,
    ),
}
