"""What stands around models or before them: decisions, pipelines, feature maps, scaling, encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ModelFileError
from separatrix.estimators.decision import BayesDecision, CostCurve
from separatrix.estimators.feature_maps import Nystroem, PolynomialMap, RandomFourier
from separatrix.kernels.features import Monomials
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.modelfile.array_fields import Array, Columns, Labels
from separatrix.modelfile.container import in_a_line
from separatrix.modelfile.fields import (
    Archive,
    Flag,
    Maybe,
    Real,
    Record,
    ShapeEnv,
    Text,
    Whole,
    schema_error,
)
from separatrix.modelfile.object_fields import Samples
from separatrix.modelfile.schema import (
    COMMON,
    FEATURES,
    OF_VECTORS,
    Model,
    ModelSchema,
    Values,
    kernel_fits,
    require,
    same_features,
    set_all,
)
from separatrix.modelfile.values import KernelObject, Value

MOST_STEPS = 64
PER_FEATURE = Array("f2 f4 f8", "d")
HIGHEST_DEGREE = 10_000  # of a map; its time grows with it, whatever comes out


@dataclass(frozen=True)
class LeftOut:
    """A parameter that is no part of a model, as a folder to cache in; it comes back as None."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> None:
        """Nothing."""

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> None:
        """Nothing."""
        if document is not None:
            raise schema_error(at, "null", document)


@dataclass(frozen=True)
class Steps:
    """The steps of a pipeline: names, and models or "passthrough"."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[list[Any]]:
        """Pairs of a name and what goes into the document for its model."""
        return [
            [name, step if _is_idle(step) else file.put_model(step, f"{at}[{i}]", file.fitted)]
            for i, (name, step) in enumerate(value)
        ]

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> list[tuple[str, Any]]:
        """The steps; all but the last transform."""
        if not isinstance(document, list) or not 1 <= len(document) <= MOST_STEPS:
            raise schema_error(at, "a list of steps", document)
        steps: list[tuple[str, Any]] = []
        for number, pair in enumerate(document):
            if not isinstance(pair, list) or len(pair) != 2:
                raise schema_error(at, "pairs of a name and a model", pair)
            name, step = Text().get(pair[0], at, file, sizes), pair[1]
            if not _is_idle(step):
                step = file.get_model(step, f"{at}[{number}]")
                if number < len(document) - 1 and not hasattr(step, "transform"):
                    raise schema_error(f"{at}[{number}]", "a transformer", type(step).__name__)
            steps.append((name, step))
        if len({name for name, _ in steps}) < len(steps):
            raise schema_error(at, "steps of different names", [name for name, _ in steps])
        return steps


def _is_idle(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _pipeline_check(model: Any, _sizes: ShapeEnv) -> None:
    for name, step in model.steps:
        if not _is_idle(step):
            try:
                check_is_fitted(step)
            except NotFittedError:
                raise schema_error(f"steps.{name}", "fitted", "a template") from None


def _decision_check(model: Any, sizes: ShapeEnv) -> None:
    k, a = sizes["k"], sizes["a"]
    require(a in (k, k + 1), "actions_", f"{k} or {k + 1}", a)
    inner = model.estimator_
    require(hasattr(inner, "predict_proba"), "estimator_", "with probabilities", inner)
    labels = np.asarray(getattr(inner, "classes_", ()))
    require(labels.tolist() == model.classes_.tolist(), "classes_", "those of estimator_", labels)
    if model._by_threshold:
        require(k == 2 and hasattr(model, "threshold_"), "threshold_", "there, for 2 classes", k)
    if "d" in sizes:
        same_features(inner, sizes["d"], "estimator_")


def _map_check(model: Any, _sizes: ShapeEnv) -> None:
    found, said = model.monomials_, model.n_output_features_
    meant = model._monomials(found.d)
    require(found == meant, "monomials_", f"{meant}, as the parameters say", found)
    require(found.size == said, "n_output_features_", str(found.size), said)
    require(found.degree <= HIGHEST_DEGREE, "degree", f"at most {HIGHEST_DEGREE}", found.degree)


def _encoder_pack(model: Any, values: Values, _slim: bool) -> Values:
    _refuse_groups(model)
    return {name: values[name] for name in values if name in (*FEATURES, *COMMON, "categories_")}


def _refuse_groups(model: Any) -> None:
    if model.min_frequency is not None or model.max_categories is not None:
        raise ModelFileError(
            "unsupported",
            f"`min_frequency` and `max_categories` of {type(model).__name__} group categories, which a "
            "file does not hold; leave them out",
        )


def _encoder_unpack(model: Any, values: Values) -> None:
    """All else that an encoder holds follows from its categories: it is fitted to one row of them."""
    _refuse_groups(model)
    categories = values["categories_"]
    row = np.empty((1, len(categories)), dtype=object)
    for j, own in enumerate(categories):
        require(len(own) > 0, "categories_", "at least one each", 0)
        row[0, j] = own[0]
    try:
        fitted = clone(model).set_params(categories=categories).fit(row)
    except (TypeError, ValueError, IndexError) as error:
        said = f"`categories_` cannot be used: {in_a_line(error)}"
        raise ModelFileError("invariant", said) from None
    set_all(model, {name: value for name, value in vars(fitted).items() if name != "categories"})
    set_all(model, values)


KINDS = {
    "BayesDecision": ModelSchema(
        BayesDecision,
        {
            **FEATURES,
            "classes_": Labels("k"),
            "actions_": Labels("a", rising=False),
            "loss_matrix_": Array("f8", "k a"),
            "threshold_": Real("ordered"),
            "_by_threshold": Flag(),
            "estimator_": Model(),
        },
        {
            "held_out_curve_": Record(
                CostCurve,
                {
                    "thresholds": Array("f8", "m", "ordered"),
                    "mean_cost": Array("f8", "m", "any"),
                    "best_threshold": Real("ordered"),
                    "best_cost": Real("any"),
                },
            ),
        },
        sometimes=frozenset({"n_features_in_", "threshold_", "held_out_curve_"}),
        check=_decision_check,
    ),
    "FrozenEstimator": ModelSchema(FrozenEstimator, {}, params={"estimator": Model()}),
    "Pipeline": ModelSchema(
        Pipeline, {}, params={"steps": Steps(), "memory": LeftOut()}, check=_pipeline_check
    ),
    "PolynomialMap": ModelSchema(
        PolynomialMap,
        {
            **FEATURES,
            "monomials_": Record(
                Monomials,
                {
                    "d": Whole(1, "d"),
                    "degree": Whole(1),
                    "lowest": Whole(),
                    "distinct": Flag(),
                    "kernel": Maybe(KernelObject((Polynomial,))),
                },
            ),
            "n_output_features_": Whole(1),
        },
        check=_map_check,
    ),
    "Nystroem": ModelSchema(
        Nystroem,
        {
            **FEATURES,
            "kernel_": KernelObject(),
            "components_": Samples("m d"),
            "component_indices_": Array("i8", "m", least=0),
            "normalization_": Array("f8", "m m"),
            "rank_": Whole(),
            "_n_features_out": Whole(1, "m"),
        },
        sometimes=OF_VECTORS,
        check=kernel_fits,
    ),
    "RandomFourier": ModelSchema(
        RandomFourier,
        {
            **FEATURES,
            "gamma_": Real(),
            "random_weights_": Array("f8", "d m"),
            "random_offset_": Array("f8", "m"),
            "_n_features_out": Whole(1, "m"),
        },
    ),
    "StandardScaler": ModelSchema(
        StandardScaler,
        {
            **FEATURES,
            **dict.fromkeys(("mean_", "var_", "scale_"), Maybe(PER_FEATURE)),
            "n_samples_seen_": Value(),
        },
    ),
    "MinMaxScaler": ModelSchema(
        MinMaxScaler,
        {
            **FEATURES,
            **dict.fromkeys(("min_", "scale_", "data_min_", "data_max_"), PER_FEATURE),
            "data_range_": PER_FEATURE,
            "n_samples_seen_": Value(),
        },
    ),
    "MaxAbsScaler": ModelSchema(
        MaxAbsScaler,
        {
            **FEATURES,
            **dict.fromkeys(("scale_", "max_abs_"), PER_FEATURE),
            "n_samples_seen_": Value(),
        },
    ),
    "Normalizer": ModelSchema(Normalizer, FEATURES),
    **{
        make.__name__: ModelSchema(
            make,
            {
                **FEATURES,
                "categories_": Columns(Labels("k", rising=False, missing=True), "d"),
            },
            pack=_encoder_pack,
            unpack=_encoder_unpack,
        )
        for make in (OneHotEncoder, OrdinalEncoder)
    },
}
