"""Discriminants and naive Bayes in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from separatrix.estimators.fisher import FisherDiscriminant
from separatrix.estimators.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from separatrix.modelfile.array_fields import Array, Stacked
from separatrix.modelfile.fields import Field, Maybe, Real, Record, ShapeEnv, Text, Whole
from separatrix.modelfile.schema import (
    CLASSES,
    ModelSchema,
    Values,
    moments_of,
    of_rest,
    require,
    set_all,
    without,
)
from separatrix.solvers.discriminant import CovarianceAxes
from separatrix.solvers.naive_bayes import Counts, Likelihood

COUNTS = Record(
    Counts, {"weight": Array("f8", "k", least=0.0), "features": Array("f8", "k d", least=0.0)}
)
LIKELIHOOD = Record(
    Likelihood,
    {
        "log_prob": Array("f8", "k d", "ordered"),
        "weights": Array("f8", "k d"),
        "bias": Array("f8", "k"),
        "zeros": Maybe(Array("f8", "k d")),
        "zeros_bias": Array("f8", "k"),
    },
)


def _counting_unpack(model: Any, values: Values) -> None:
    set_all(model, values)
    model.feature_log_prob_ = model._likelihood.log_prob
    if "_sums" in values:
        model.class_count_, model.feature_count_ = model._sums


def _counting(make: Callable[..., Any], more: Mapping[str, Field]) -> ModelSchema:
    return ModelSchema(
        make,
        {
            **CLASSES,
            "class_log_prior_": Array("f8", "k", "ordered"),
            "_likelihood": LIKELIHOOD,
            **more,
        },
        {"_sums": COUNTS},
        pack=without("class_count_", "feature_count_", "feature_log_prob_"),
        unpack=_counting_unpack,
    )


def _gaussian_pack(_model: Any, values: Values, slim: bool) -> Values:
    """Counts and means are those of the sums, unless there are no sums."""
    derived = () if slim else ("class_count_", "theta_")
    return {name: value for name, value in values.items() if name not in derived}


def _gaussian_unpack(model: Any, values: Values) -> None:
    set_all(model, values)
    if "_sums" in values:
        model.class_count_, model.theta_ = model._sums.weight, model._sums.mean


def _gaussian_check(model: Any, _sizes: ShapeEnv) -> None:
    for name in ("class_count_", "theta_"):
        require(hasattr(model, name), name, "there, or sums", "neither")


def _fisher_check(model: Any, sizes: ShapeEnv) -> None:
    if model.threshold is not None:
        require(sizes["k"] == 2, "classes_", "two, with a threshold", sizes["k"])
        require(hasattr(model, "threshold_"), "threshold_", "there", "nothing")


def _linear_check(model: Any, _sizes: ShapeEnv) -> None:
    if model.solver != "lsqr":
        require(hasattr(model, "scalings_"), "scalings_", "there", "nothing")
        out = model._n_features_out
        require(out <= model.scalings_.shape[1], "_n_features_out", "columns of scalings_", out)


def _quadratic_pack(model: Any, values: Values, _slim: bool) -> Values:
    derived = ("_axes", "scalings_", "rotations_")
    return {
        **{name: value for name, value in values.items() if name not in derived},
        "variances": [own.variances for own in model._axes],
        "axes": [own.axes for own in model._axes],
        "roots": [own.root for own in model._axes],
        "determinants": np.array([own.log_determinant for own in model._axes]),
    }


def _quadratic_unpack(model: Any, values: Values) -> None:
    *arrays, last = [values.pop(name) for name in ("variances", "axes", "roots", "determinants")]
    set_all(model, values)
    model._axes = [CovarianceAxes(*own) for own in zip(*arrays, last.tolist(), strict=True)]
    model.scalings_ = [own.variances for own in model._axes]
    model.rotations_ = [own.axes for own in model._axes]


KINDS = {
    "FisherDiscriminant": ModelSchema(
        FisherDiscriminant,
        {
            **CLASSES,
            "axes_": Array("f8", "d c"),
            "scatter_ratio_": Array("f8", "c", "ordered"),
            "xbar_": Array("f8", "d"),
            "rank_": Whole(),
            "threshold_": Real(),
        },
        {"means_": Array("f8", "k d"), "_sums": moments_of()},
        sometimes=frozenset({"threshold_"}),
        check=_fisher_check,
    ),
    "LinearDiscriminantAnalysis": ModelSchema(
        LinearDiscriminantAnalysis,
        {
            **CLASSES,
            "coef_": Array("f8", "p d"),
            "intercept_": Array("f8", "p", "ordered"),
            "priors_": Array("f8", "k", least=0.0),
            "means_": Array("f8", "k d"),
            "rank_": Whole(),
            "xbar_": Array("f8", "d"),
            "scalings_": Array("f8", "d r"),
            "_n_features_out": Whole(),
            "_form": Text(("pooled", "each", "features")),
        },
        {
            "explained_variance_ratio_": Array("f8", "c", "any"),
            "covariance_": Array("f8", "d d"),
            "_sums": moments_of(),
        },
        sometimes=frozenset({"xbar_", "scalings_", "explained_variance_ratio_", "covariance_"}),
        check=_linear_check,
        boundaries=of_rest,
    ),
    "QuadraticDiscriminantAnalysis": ModelSchema(
        QuadraticDiscriminantAnalysis,
        {
            **CLASSES,
            "priors_": Array("f8", "k", least=0.0),
            "means_": Array("f8", "k d"),
            "rank_": Array("i8", "k", least=0),
            "variances": Stacked(Array("f8", "k d", "any")),
            "axes": Stacked(Array("f8", "k d d", "any")),
            "roots": Stacked(Array("f8", "k d r", "any")),
            "determinants": Array("f8", "k", "any"),
            "_form": Text(("each",)),
        },
        {"covariance_": Stacked(Array("f8", "k d d")), "_sums": moments_of()},
        sometimes=frozenset({"covariance_"}),
        pack=_quadratic_pack,
        unpack=_quadratic_unpack,
    ),
    "MultinomialNB": _counting(MultinomialNB, {}),
    "BernoulliNB": _counting(BernoulliNB, {"_binarized": Maybe(Real())}),
    "GaussianNB": ModelSchema(
        GaussianNB,
        {
            **CLASSES,
            "class_prior_": Array("f8", "k", least=0.0),
            "epsilon_": Real(),
            "var_": Array("f8", "k d", least=0.0),
            "class_count_": Array("f8", "k", least=0.0),
            "theta_": Array("f8", "k d"),
        },
        {"_sums": moments_of()},
        sometimes=frozenset({"class_count_", "theta_"}),
        pack=_gaussian_pack,
        unpack=_gaussian_unpack,
        check=_gaussian_check,
    ),
}
