"""Models of tables: the encoder of mixed columns before the pipelines that suit its features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from separatrix.data.data_table import DataTable
from separatrix.data.dataset import Dataset
from separatrix.estimators.table_encoder import TableEncoder
from separatrix.evaluation.comparison import MAJORITY
from separatrix.evaluation.profile import profile
from separatrix.evaluation.samples import CheckedSamples, check_samples
from separatrix.evaluation.suite import Suite, suite

PREPARED = ("fill", "scale")  # steps of a pipeline that the encoder makes needless


def encoded_samples(data: Dataset) -> CheckedSamples:
    """Samples as a model after the encoder sees them: the sizes that decide which models suit.

    They are for that decision only: in a comparison, every training part fits an encoder of its own.
    """
    if not isinstance(data.X, DataTable):
        return check_samples(data.X, data.y, missing=True)
    return check_samples(TableEncoder().fit_transform(data.X, data.y), data.y)


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
    found = suite(encoded_samples(data), kind=kind_of(data), **options)
    built: Mapping[str, Any] = {name: encode_first(model, data) for name, model in found.items()}
    return Suite(dict(built), found.left_out, found.not_tried)


def baselines_for(data: Dataset, seed: int) -> dict[str, Any]:
    """What classifiers of the data are measured against; trees see the encoded columns."""
    from separatrix.evaluation.baselines import make_baselines  # imports scikit-learn's forests

    found = make_baselines(profile(encoded_samples(data), kind=kind_of(data)), seed)
    return {
        name: model if name == MAJORITY else encode_first(model, data)
        for name, model in found.items()
    }


def is_sparse(data: Dataset) -> bool:
    """Whether the features of the data are a sparse matrix."""
    if isinstance(data.X, DataTable):
        return any(spec.role == "text" for spec in data.X.kept)
    return bool(issparse(data.X))
