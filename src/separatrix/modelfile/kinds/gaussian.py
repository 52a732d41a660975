"""Discriminants and naive Bayes in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from separatrix.estimators import discriminant, naive_bayes
from separatrix.estimators.categorical_bayes import CategoricalNB
from separatrix.estimators.complement_bayes import ComplementNB
from separatrix.estimators.fisher import FisherDiscriminant
from separatrix.estimators.nearest_centroid import NearestCentroid
from separatrix.modelfile import fields as f
from separatrix.modelfile import schema as s
from separatrix.solvers.categorical_bayes import CategoryCounts, CategoryLikelihood
from separatrix.solvers.discriminant import CovarianceAxes
from separatrix.solvers.naive_bayes import Counts, Likelihood

LIKELIHOOD = {
    **f.arrays(log_prob="f8 k d ordered", weights="f8 k d", bias="f8 k", zeros_bias="f8 k"),
    "zeros": f.Maybe(f.Array("f8 k d")),
}
COUNTS = f.Struct(Counts, f.arrays(weight="f8 k >=0", features="f8 k d >=0"))


CATEGORY_LIKELIHOOD = {
    **f.arrays(sizes="i8 d >=0", log_prob="f8 k c ordered", finite="f8 k c"),
    "zeros": f.Maybe(f.Array("f8 k c >=0")),
}
CATEGORY_COUNTS = f.Struct(
    CategoryCounts, f.arrays(weight="f8 k >=0", sizes="i8 d >=0", table="f8 k c >=0")
)


def _check_categories(model: Any, sizes: f.ShapeEnv) -> None:
    """Compiled loops trust the sizes: they must be at least 1 and add up to the columns."""
    found = model._likelihood.sizes
    good = found.min() >= 1 and found.max() <= sizes["c"] and found.sum() == sizes["c"]
    s.require(bool(good), "_likelihood.sizes", f"at least 1, with sum {sizes['c']}", found)
    if hasattr(model, "_sums"):
        same = np.array_equal(model._sums.sizes, found)
        s.require(same, "_sums.sizes", "those of _likelihood", model._sums.sizes)


def _count_schema(make: Callable[..., Any], more: Mapping[str, f.Field]) -> s.ModelSchema:
    prior, likelihood = f.Array("f8 k ordered"), f.Struct(Likelihood, LIKELIHOOD)
    return s.ModelSchema(
        make,
        {**s.CLASSES, "class_log_prior_": prior, "_likelihood": likelihood, **more},
        {"_sums": COUNTS},
        copied={
            "class_count_": "_sums.weight",
            "feature_count_": "_sums.features",
            "feature_log_prob_": "_likelihood.log_prob",
        },
    )


def _pack_gaussian(model: Any, values: s.Values, slim: bool) -> s.Values:
    """Counts and means are those of the sums, unless there are no sums."""
    more = {"class_count_": model.class_count_, "theta_": model.theta_} if slim else {}
    return {**values, **more}


def _check_gaussian(model: Any, _sizes: f.ShapeEnv) -> None:
    for name in ("class_count_", "theta_"):
        s.require(hasattr(model, name), name, "there, or sums", "neither")


def _check_fisher(model: Any, sizes: f.ShapeEnv) -> None:
    if model.threshold is not None:
        s.require(sizes["k"] == 2, "classes_", "two, with a threshold", sizes["k"])
        s.require(hasattr(model, "threshold_"), "threshold_", "there", "nothing")


def _check_linear(model: Any, _sizes: f.ShapeEnv) -> None:
    if model.solver != "lsqr":
        s.require(hasattr(model, "scalings_"), "scalings_", "there", "nothing")
        out = model._n_features_out
        s.require(out <= model.scalings_.shape[1], "_n_features_out", "columns of scalings_", out)


def _pack_quadratic(model: Any, values: s.Values, _slim: bool) -> s.Values:
    variances, axes, roots, determinants = zip(*model._axes, strict=True)
    more = {"variances": variances, "axes": axes, "roots": roots}
    return {**values, **more, "determinants": np.array(determinants)}


def _unpack_quadratic(model: Any, values: s.Values) -> None:
    *arrays, last = [values.pop(name) for name in ("variances", "axes", "roots", "determinants")]
    s.set_attributes(model, values)
    model._axes = [CovarianceAxes(*own) for own in zip(*arrays, last.tolist(), strict=True)]
    model.scalings_ = [own.variances for own in model._axes]
    model.rotations_ = [own.axes for own in model._axes]


KINDS = {
    "FisherDiscriminant": s.ModelSchema(
        FisherDiscriminant,
        {
            **s.CLASSES,
            **f.arrays(axes_="f8 d c", xbar_="f8 d", scatter_ratio_="f8 c ordered"),
            **{"rank_": f.Integer(), "threshold_": f.Real()},
        },
        {"means_": f.Array("f8 k d"), "_sums": s.moments_field()},
        optional="threshold_",
        check=_check_fisher,
    ),
    "LinearDiscriminantAnalysis": s.ModelSchema(
        discriminant.LinearDiscriminantAnalysis,
        {
            **s.CLASSES,
            **f.arrays(coef_="f8 p d", means_="f8 k d", xbar_="f8 d", scalings_="f8 d r"),
            **f.arrays(intercept_="f8 p ordered", priors_="f8 k >=0"),
            **s.each(f.Integer(), "rank_ _n_features_out"),
            "_form": s.FORM,
        },
        {
            **f.arrays(explained_variance_ratio_="f8 c any", covariance_="f8 d d"),
            "_sums": s.moments_field(),
        },
        optional="xbar_ scalings_ explained_variance_ratio_ covariance_",
        check=_check_linear,
        boundaries=True,
    ),
    "QuadraticDiscriminantAnalysis": s.ModelSchema(
        discriminant.QuadraticDiscriminantAnalysis,
        {
            **s.CLASSES,
            **f.arrays(priors_="f8 k >=0", means_="f8 k d", rank_="i8 k >=0"),
            "variances": f.Stacked("f8 k d any"),
            "axes": f.Stacked("f8 k d d any"),
            "roots": f.Stacked("f8 k d r any"),
            "determinants": f.Array("f8 k any"),
            "_form": f.Text(("each",)),
        },
        {"covariance_": f.Stacked("f8 k d d"), "_sums": s.moments_field()},
        optional="covariance_",
        derived="_axes scalings_ rotations_",
        pack=_pack_quadratic,
        unpack=_unpack_quadratic,
    ),
    "MultinomialNB": _count_schema(naive_bayes.MultinomialNB, {}),
    "BernoulliNB": _count_schema(naive_bayes.BernoulliNB, {"_binarized": f.Maybe(f.Real())}),
    "ComplementNB": _count_schema(ComplementNB, {}),
    "CategoricalNB": s.ModelSchema(
        CategoricalNB,
        {
            **s.CLASSES,
            "class_log_prior_": f.Array("f8 k ordered"),
            "_likelihood": f.Struct(CategoryLikelihood, CATEGORY_LIKELIHOOD),
        },
        {"_sums": CATEGORY_COUNTS},
        copied={"class_count_": "_sums.weight"},
        check=_check_categories,
    ),
    "NearestCentroid": s.ModelSchema(
        NearestCentroid,
        {
            **s.CLASSES,
            **f.arrays(centroids_="f8 k d", class_prior_="f8 k >=0"),
            **f.arrays(deviations_="f8 k d ordered", within_class_std_dev_="f8 d >=0"),
        },
    ),
    "GaussianNB": s.ModelSchema(
        naive_bayes.GaussianNB,
        {
            **s.CLASSES,
            "epsilon_": f.Real(),
            **f.arrays(class_prior_="f8 k >=0", var_="f8 k d >=0"),
            **f.arrays(class_count_="f8 k >=0", theta_="f8 k d"),
        },
        {"_sums": s.moments_field()},
        optional="class_count_ theta_",
        copied={"class_count_": "_sums.weight", "theta_": "_sums.mean"},
        pack=_pack_gaussian,
        check=_check_gaussian,
    ),
}
