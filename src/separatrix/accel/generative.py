"""Discriminants and naive Bayes: moments of the classes in place of decompositions, tables in one pass."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.accel.dispatch import NotReplaced, NotServed, prefer_sklearn
from separatrix.estimators.discriminant import LinearDiscriminantAnalysis
from separatrix.solvers.categorical_bayes import (
    columns_of,
    count_categories,
    starts_of,
    sum_entries,
)
from separatrix.solvers.naive_bayes import gaussian_log_joint, log_of
from separatrix.types import Codes, Matrix, Vector

SURE = 1e-10  # smallest share of the largest variance that moments tell from rounding
LEARNED = ("means_", "xbar_", "scalings_", "explained_variance_ratio_", "covariance_")


def lda_svd(estimator: Any, X: Any, y: Any) -> None:
    """`LinearDiscriminantAnalysis._solve_svd`: whiten by the pooled scatter, not by an SVD of all rows."""
    _require_tall(X)
    model = LinearDiscriminantAnalysis(
        solver="svd",
        priors=np.asarray(estimator.priors_, np.float64) / np.sum(estimator.priors_),
        n_components=estimator.n_components,
        store_covariance=estimator.store_covariance,
        tol=estimator.tol,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if model.rank_ < X.shape[1]:
        prefer_sklearn("collinear features")
    for name in LEARNED:
        if hasattr(model, name):
            setattr(estimator, name, np.asarray(getattr(model, name), X.dtype))
    along = (estimator.means_ - estimator.xbar_) @ estimator.scalings_
    estimator.coef_ = along @ estimator.scalings_.T
    constant = np.log(estimator.priors_) - 0.5 * np.sum(along**2, axis=1)
    estimator.intercept_ = constant - estimator.xbar_ @ estimator.coef_.T


def qda_svd(estimator: Any, X: Any) -> tuple[Vector, Matrix, Any]:
    """`QuadraticDiscriminantAnalysis._solve_svd` of one class: variances, axes and the covariance."""
    _require_tall(X)
    apart = X - X.mean(axis=0)
    variances, axes = np.linalg.eigh(apart.T @ apart / len(X))
    variances, axes = variances[::-1], axes[:, ::-1]
    if variances[-1] <= SURE * variances[0]:
        prefer_sklearn("collinear features")
    scaling = (1.0 - estimator.reg_param) * variances + estimator.reg_param
    cov = (axes * scaling) @ axes.T if estimator.store_covariance else None
    return (scaling, np.ascontiguousarray(axes), cov)


def gaussian_joint_log_likelihood(estimator: Any, X: Any) -> Matrix:
    """`GaussianNB._joint_log_likelihood`, (n, k), by blocks that stay in the cache."""
    if not isinstance(X, np.ndarray) or not isinstance(estimator.theta_, np.ndarray):
        raise NotReplaced("arrays of another library")
    if not (estimator.var_ > 0).all():
        raise NotServed("features without variance")
    prior = log_of(np.asarray(estimator.class_prior_, np.float64))
    return gaussian_log_joint(estimator.theta_, estimator.var_, prior, X)


def category_counts(estimator: Any, X: Any, Y: Any) -> None:
    """`CategoricalNB._count`: add samples X, (n, d), to the counts; a row of Y, (n, k), has a weight."""
    X = _as_categories(X)
    y = np.argmax(Y != 0, axis=1)
    weights = np.asarray(Y[np.arange(len(Y)), y], np.float64)
    if (weights < 0).any():
        raise NotReplaced("weights below 0")
    sizes = estimator._validate_n_categories(X, estimator.min_categories)
    before = estimator.category_count_
    wide = np.maximum(sizes, [counts.shape[1] for counts in before]).astype(np.int64)
    table = np.zeros((Y.shape[1], int(wide.sum())))
    added = count_categories(X, y, weights, Y.shape[1])
    table[:, columns_of(added.sizes, wide)] = added.table
    parts = np.split(table, starts_of(wide)[1:], axis=1)
    for part, counts in zip(parts, before, strict=True):
        part[:, : counts.shape[1]] += counts
    estimator.class_count_ += Y.sum(axis=0)
    estimator.n_categories_ = sizes
    estimator.category_count_ = [np.ascontiguousarray(part) for part in parts]


def categorical_joint_log_likelihood(estimator: Any, X: Any) -> Matrix:
    """`CategoricalNB._joint_log_likelihood`, (n, k)."""
    tables = estimator.feature_log_prob_
    if X.shape[1] != estimator.n_features_in_:
        raise NotReplaced("an error of scikit-learn")
    X, sizes = _as_categories(X), np.array([table.shape[1] for table in tables])
    if (sizes <= X).any():
        raise NotReplaced("an error of scikit-learn")
    found = sum_entries(X, starts_of(sizes), np.concatenate(tables, axis=1))
    return np.asarray(found + estimator.class_log_prior_)


def _as_categories(X: Any) -> Codes:
    if not len(X) or X.dtype.kind not in "iu" or X.min() < 0:
        raise NotReplaced("no categories")
    return np.ascontiguousarray(X, dtype=np.int64)


def _require_tall(X: Any) -> None:
    """Moments need more samples than features."""
    if not isinstance(X, np.ndarray):
        raise NotReplaced("arrays of another library")
    if X.shape[0] < 2 * X.shape[1]:
        raise NotReplaced("few samples")
