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
from separatrix.modelfile import fields as f
from separatrix.modelfile.schema import (
    CLASSES,
    ModelSchema,
    Values,
    arrays,
    count_one_vs_rest,
    each,
    moments_field,
    require,
    set_attributes,
)
from separatrix.solvers.discriminant import CovarianceAxes
from separatrix.solvers.naive_bayes import Counts, Likelihood

COUNTS = f.Struct(
    Counts, {"weight": f.Array("f8", "k", least=0.0), "features": f.Array("f8", "k d", least=0.0)}
)
LIKELIHOOD = f.Struct(
    Likelihood,
    {
        "log_prob": f.Array("f8", "k d", "ordered"),
        "weights": f.Array("f8", "k d"),
        "bias": f.Array("f8", "k"),
        "zeros": f.Maybe(f.Array("f8", "k d")),
        "zeros_bias": f.Array("f8", "k"),
    },
)


def _counting(make: Callable[..., Any], more: Mapping[str, f.Field]) -> ModelSchema:
    return ModelSchema(
        make,
        {
            **CLASSES,
            "class_log_prior_": f.Array("f8", "k", "ordered"),
            "_likelihood": LIKELIHOOD,
            **more,
        },
        {"_sums": COUNTS},
        derived={
            "class_count_": "_sums.weight",
            "feature_count_": "_sums.features",
            "feature_log_prob_": "_likelihood.log_prob",
        },
    )


def _pack_gaussian(model: Any, values: Values, slim: bool) -> Values:
    """Counts and means are those of the sums, unless there are no sums."""
    return (
        {**values, "class_count_": model.class_count_, "theta_": model.theta_} if slim else values
    )


def _check_gaussian(model: Any, _sizes: f.ShapeEnv) -> None:
    for name in ("class_count_", "theta_"):
        require(hasattr(model, name), name, "there, or sums", "neither")


def _check_fisher(model: Any, sizes: f.ShapeEnv) -> None:
    if model.threshold is not None:
        require(sizes["k"] == 2, "classes_", "two, with a threshold", sizes["k"])
        require(hasattr(model, "threshold_"), "threshold_", "there", "nothing")


def _check_linear(model: Any, _sizes: f.ShapeEnv) -> None:
    if model.solver != "lsqr":
        require(hasattr(model, "scalings_"), "scalings_", "there", "nothing")
        out = model._n_features_out
        require(out <= model.scalings_.shape[1], "_n_features_out", "columns of scalings_", out)


def _pack_quadratic(model: Any, values: Values, _slim: bool) -> Values:
    return {
        **values,
        "variances": [own.variances for own in model._axes],
        "axes": [own.axes for own in model._axes],
        "roots": [own.root for own in model._axes],
        "determinants": np.array([own.log_determinant for own in model._axes]),
    }


def _unpack_quadratic(model: Any, values: Values) -> None:
    *arrays, last = [values.pop(name) for name in ("variances", "axes", "roots", "determinants")]
    set_attributes(model, values)
    model._axes = [CovarianceAxes(*own) for own in zip(*arrays, last.tolist(), strict=True)]
    model.scalings_ = [own.variances for own in model._axes]
    model.rotations_ = [own.axes for own in model._axes]


KINDS = {
    "FisherDiscriminant": ModelSchema(
        FisherDiscriminant,
        {
            **CLASSES,
            **arrays("f8", axes_="d c", xbar_="d"),
            "scatter_ratio_": f.Array("f8", "c", "ordered"),
            **{"rank_": f.Integer(), "threshold_": f.Real()},
        },
        {"means_": f.Array("f8", "k d"), "_sums": moments_field()},
        optional=frozenset({"threshold_"}),
        check=_check_fisher,
    ),
    "LinearDiscriminantAnalysis": ModelSchema(
        LinearDiscriminantAnalysis,
        {
            **CLASSES,
            **arrays("f8", coef_="p d", means_="k d", xbar_="d", scalings_="d r"),
            "intercept_": f.Array("f8", "p", "ordered"),
            "priors_": f.Array("f8", "k", least=0.0),
            **each(f.Integer(), "rank_", "_n_features_out"),
            "_form": f.Text(("pooled", "each", "features")),
        },
        {
            "explained_variance_ratio_": f.Array("f8", "c", "any"),
            "covariance_": f.Array("f8", "d d"),
            "_sums": moments_field(),
        },
        optional=frozenset({"xbar_", "scalings_", "explained_variance_ratio_", "covariance_"}),
        check=_check_linear,
        boundaries=count_one_vs_rest,
    ),
    "QuadraticDiscriminantAnalysis": ModelSchema(
        QuadraticDiscriminantAnalysis,
        {
            **CLASSES,
            "priors_": f.Array("f8", "k", least=0.0),
            "means_": f.Array("f8", "k d"),
            "rank_": f.Array("i8", "k", least=0),
            "variances": f.Stacked(f.Array("f8", "k d", "any")),
            "axes": f.Stacked(f.Array("f8", "k d d", "any")),
            "roots": f.Stacked(f.Array("f8", "k d r", "any")),
            "determinants": f.Array("f8", "k", "any"),
            "_form": f.Text(("each",)),
        },
        {"covariance_": f.Stacked(f.Array("f8", "k d d")), "_sums": moments_field()},
        optional=frozenset({"covariance_"}),
        derived=dict.fromkeys(("_axes", "scalings_", "rotations_"), ""),
        pack=_pack_quadratic,
        unpack=_unpack_quadratic,
    ),
    "MultinomialNB": _counting(MultinomialNB, {}),
    "BernoulliNB": _counting(BernoulliNB, {"_binarized": f.Maybe(f.Real())}),
    "GaussianNB": ModelSchema(
        GaussianNB,
        {
            **CLASSES,
            "class_prior_": f.Array("f8", "k", least=0.0),
            "epsilon_": f.Real(),
            "var_": f.Array("f8", "k d", least=0.0),
            "class_count_": f.Array("f8", "k", least=0.0),
            "theta_": f.Array("f8", "k d"),
        },
        {"_sums": moments_field()},
        optional=frozenset({"class_count_", "theta_"}),
        derived={"class_count_": "_sums.weight", "theta_": "_sums.mean"},
        pack=_pack_gaussian,
        check=_check_gaussian,
    ),
}
