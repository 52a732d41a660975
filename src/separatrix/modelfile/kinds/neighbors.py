"""Nearest neighbours in files: the rows, which are indexed again when they are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from separatrix.estimators.metrics.neighbor_rows import KEPT
from separatrix.estimators.metrics.strategies import BY_DISTANCE, SEARCHED, PairwiseSearch
from separatrix.estimators.metrics.votes import Voters
from separatrix.estimators.neighbor_index import NeighborIndex
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.modelfile.array_fields import Array, Labels
from separatrix.modelfile.fields import (
    Listed,
    Maybe,
    Record,
    Scoped,
    ShapeEnv,
    Text,
    Whole,
    schema_error,
)
from separatrix.modelfile.object_fields import Samples
from separatrix.modelfile.schema import (
    FEATURES,
    OF_VECTORS,
    ModelSchema,
    Values,
    require,
    samples_fit,
    set_all,
    without,
)
from separatrix.modelfile.values import KernelObject, Value


class Output(NamedTuple):
    """One column of labels, and the weights of its votes."""

    classes: Any
    y: Any
    weights: Any


OUTPUT = Scoped(
    Record(
        Output,
        {
            "classes": Labels("k"),
            "y": Array("i8", "n", least=0, below="k"),
            "weights": Array("f8", "n", least=0.0),
        },
    )
)


DERIVED = without(
    *("classes_", "_voters", "outputs_2d_", "index_"),
    *("effective_metric_", "effective_metric_params_"),
)


def _pack(model: Any, values: Values, slim: bool) -> Values:
    return {
        **DERIVED(model, values, slim),
        "index_metric": model.index_._named.name,
        "index_metric_params": model.index_._named.params,
        "rows": model.index_.rows,
        "outputs": [
            Output(classes, voters.y, voters.weights) for classes, voters in model._outputs()
        ],
    }


def _unpack(model: Any, values: Values) -> None:
    outputs, rows = values.pop("outputs"), values.pop("rows")
    metric, params = values.pop("index_metric"), values.pop("index_metric_params")
    set_all(model, values)
    samples_fit(model, model.kernel_, rows, "rows")
    require(len(outputs) > 0, "outputs", "at least one", 0)
    model._voters = [Voters(part.y, part.weights, len(part.classes)) for part in outputs]
    model.outputs_2d_ = len(outputs) > 1
    classes = [part.classes for part in outputs]
    model.classes_ = classes if model.outputs_2d_ else classes[0]
    model.effective_metric_ = metric if model.kernel_ is None else "kernel"
    model.effective_metric_params_ = params
    if not isinstance(params, dict):
        raise schema_error("index_metric_params", "a dict", params)
    in_place = issparse(rows) or rows.flags.c_contiguous
    require(in_place, "rows", "one row after the other", "columns")
    if metric in SEARCHED and (model.kernel_ is None or type(model.kernel_) in BY_DISTANCE):
        kept = (np.float64,) if issparse(rows) else KEPT
        require(rows.dtype in kept, "rows", "of a type that is searched as it is", rows.dtype)
    model.index_ = NeighborIndex.restored(
        rows,
        getattr(model, "n_features_in_", 0),  # objects have none
        metric,
        metric_params=params or None,
        kernel=model.kernel_,
        n_jobs=model.n_jobs,
        expected_k=max(model.n_neighbors, model.k_max or 1),
    )


def _check(model: Any, _sizes: ShapeEnv) -> None:
    """One row is looked for where the parameters of a metric are not used before."""
    if isinstance(model.index_.strategy, PairwiseSearch):
        model.index_.search(model.index_.rows[:1], 1)


KINDS = {
    "KNeighborsClassifier": ModelSchema(
        KNeighborsClassifier,
        {
            **FEATURES,
            "n_samples_fit_": Whole(1, "n"),
            "rows": Samples("n f", "any"),
            "index_metric": Text(),
            "index_metric_params": Value(),
            "kernel_": Maybe(KernelObject()),
            "outputs": Listed(OUTPUT),
        },
        {"accuracy_by_k_": Array("f8", "m"), "best_k_": Whole(1)},
        sometimes=OF_VECTORS | {"accuracy_by_k_", "best_k_"},
        pack=_pack,
        unpack=_unpack,
        check=_check,
    ),
}
