"""Models of tables: the encoder of mixed columns before the pipelines that suit its features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.data.splits import subsample
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.evaluation.comparison import MAJORITY
from separatrix.evaluation.profile import DataProfile, profile
from separatrix.evaluation.samples import check_samples
from separatrix.evaluation.suite import Suite, suite

MOST_ROWS = 20_000  # of a table that are encoded to learn the number of features
PREPARED = ("fill", "scale")  # steps of a pipeline that the encoder makes needless


def profile_data(data: Dataset) -> DataProfile:
    """The sizes that decide which models suit: those that a model after the encoder sees.

    Of a long table, some rows are encoded. In a comparison, every training part fits an encoder of its own.
    """
    if not isinstance(data.X, DataTable):
        return profile(check_samples(data.X, data.y, missing=True), kind=data.kind)
    y = np.asarray(data.y)
    rows = np.arange(len(y))
    if len(y) > MOST_ROWS:
        rows = subsample(y, MOST_ROWS, seed=0, stratified=True)
    X = TableEncoder().fit_transform(data.X[rows], y[rows])
    counts = np.unique(y, return_counts=True)[1]
    found = profile(X, y[rows], kind="vectors")
    return replace(found, n=len(y), k=len(counts), smallest=int(counts.min()))


def kind_of(data: Dataset) -> str:
    """The kind of the encoded samples."""
    return "vectors" if isinstance(data.X, DataTable) else data.kind


def encode_first(model: Any, data: Dataset) -> Any:
    """Put the encoder before a pipeline, in place of imputation and scaling, if the data is a table."""
    if not isinstance(data.X, DataTable):
        return model
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    kept = [step for step in steps if step[0] not in PREPARED]
    return Pipeline([("table", TableEncoder()), *kept])


def suite_for(data: Dataset, **options: Any) -> Suite:
    """The suite of classifiers that suit the data; options as for `suite`."""
    found = suite(profile_data(data), **options)
    built: Mapping[str, Any] = {name: encode_first(model, data) for name, model in found.items()}
    return Suite(dict(built), found.left_out, found.not_tried)


def baselines_for(data: Dataset, seed: int) -> dict[str, Any]:
    """What classifiers of the data are measured against; trees see the encoded columns."""
    from separatrix.evaluation.baselines import make_baselines  # imports scikit-learn's forests

    found = make_baselines(profile_data(data), seed)
    return {
        name: model if name == MAJORITY else encode_first(model, data)
        for name, model in found.items()
    }


def is_sparse(data: Dataset) -> bool:
    """Whether the features of the data are a sparse matrix."""
    if isinstance(data.X, DataTable):
        return any(spec.role == "text" for spec in data.X.kept)
    return bool(issparse(data.X))
