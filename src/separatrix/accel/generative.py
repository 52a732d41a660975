"""Discriminants and Gaussian naive Bayes: moments of the classes in place of decompositions of all rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.accel.dispatch import LeftToThem, NotServed, prefer_theirs
from separatrix.estimators.discriminant import LinearDiscriminantAnalysis
from separatrix.solvers.naive_bayes import gaussian_log_joint, log_of
from separatrix.types import Matrix, Vector

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
        prefer_theirs("collinear features")
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
        prefer_theirs("collinear features")
    scaling = (1.0 - estimator.reg_param) * variances + estimator.reg_param
    cov = (axes * scaling) @ axes.T if estimator.store_covariance else None
    return (scaling, np.ascontiguousarray(axes), cov)


def gaussian_joint_log_likelihood(estimator: Any, X: Any) -> Matrix:
    """`GaussianNB._joint_log_likelihood`, (n, k), by blocks that stay in the cache."""
    if not isinstance(X, np.ndarray) or not isinstance(estimator.theta_, np.ndarray):
        raise LeftToThem("arrays of another library")
    if not (estimator.var_ > 0).all():
        raise NotServed("features without variance")
    prior = log_of(np.asarray(estimator.class_prior_, np.float64))
    return gaussian_log_joint(estimator.theta_, estimator.var_, prior, X)


def _require_tall(X: Any) -> None:
    """Moments need more samples than features."""
    if not isinstance(X, np.ndarray):
        raise LeftToThem("arrays of another library")
    if X.shape[0] < 2 * X.shape[1]:
        raise LeftToThem("few samples")
