"""Estimated seconds of scikit-learn's own code, from the sizes of a problem; nothing heavy is imported.

The constants were measured on one core. They decide what is too small, and what `-v` calls saved.
"""

from __future__ import annotations

from typing import Any

LIBSVM_VALUE = 8e-10  # for a feature of a kernel value
LIBLINEAR_VALUE = 4e-8  # for a stored value and a boundary
LOGISTIC_VALUE = 4e-8  # for a stored value, a boundary and a value of C
LOOSEST = 0.01  # tolerance of logistic regression
WIDE, LONG = 4, 0.2  # samples for a feature, and seconds: with less of both L-BFGS takes few steps
BRUTE_VALUE = 3e-10  # for a feature of a distance
TREE_QUERY = 1e-5  # for a query of a tree, and a feature
SVD_VALUE = 4e-9  # for a value and a feature
BAYES_VALUE = 8e-9  # for a value and a class
CATEGORY_VALUE = 1.4e-8  # for a value and a class
CALL = 2e-3  # for a fit and a score in a search, besides the work


def stored(X: Any) -> int:
    """Values that a matrix stores, dense or sparse."""
    return int(X.nnz) * 4 if hasattr(X, "nnz") else int(X.shape[0] * X.shape[1])


def fit(
    _estimator: Any, X: Any, _y: Any = None, weights: Any = (), *_more: Any, **_named: Any
) -> float:
    """LIBSVM's fit, of the samples that have a weight."""
    share = float((weights > 0).mean()) if len(weights) else 1.0
    return float(LIBSVM_VALUE * X.shape[0] * stored(X) * share * share)


def predict(estimator: Any, X: Any) -> float:
    """LIBSVM's scores."""
    width = 1 if callable(estimator.kernel) or estimator.kernel == "precomputed" else X.shape[1]
    return float(LIBSVM_VALUE * X.shape[0] * int(estimator._n_support.sum()) * width)


def liblinear(X: Any, y: Any, *_args: Any, **_more: Any) -> float:
    """LIBLINEAR's fit."""
    return LIBLINEAR_VALUE * stored(X) * boundaries(len(set(y.tolist())))


def logistic(
    X: Any, *_args: Any, classes: Any, Cs: Any = 10, tol: float = 1e-4, **_more: Any
) -> float:
    """L-BFGS, SAG and SAGA over a path of C; next to nothing where they take few steps.

    These are the tolerances at which the answer depends on the solver, and few samples for their features.
    """
    number = Cs if isinstance(Cs, int) else len(Cs)
    seconds = LOGISTIC_VALUE * stored(X) * boundaries(len(classes)) * number
    wide = not hasattr(X, "nnz") and X.shape[0] < WIDE * X.shape[1] and seconds < LONG
    return 0.0 if wide or tol > LOOSEST else seconds


def kneighbors(estimator: Any, X: Any = None, *_args: Any, **_more: Any) -> float:
    """A search for neighbours."""
    n, d = estimator._fit_X.shape
    queries = n if X is None else len(X) if isinstance(X, list) else X.shape[0]
    brute = BRUTE_VALUE * queries * n * d
    return float(
        brute if estimator._fit_method == "brute" else min(brute, TREE_QUERY * queries * d)
    )


def svd(_estimator: Any, X: Any, *_args: Any) -> float:
    """A singular value decomposition of all rows."""
    return float(SVD_VALUE * X.shape[0] * X.shape[1] ** 2)


def gaussian(estimator: Any, X: Any) -> float:
    """Gaussian likelihoods of all classes."""
    return float(BAYES_VALUE * X.shape[0] * X.shape[1] * len(estimator.theta_))


def categories(estimator: Any, X: Any, _Y: Any = None) -> float:
    """Counts, or likelihoods, of the categories of all features in all classes."""
    return float(CATEGORY_VALUE * X.shape[0] * X.shape[1] * len(estimator.class_count_))


def cell(kind: str, X: Any, train: int, test: int, *, calls: bool = True) -> float:
    """A fit and a score in a search; with `calls` what scikit-learn takes for those of no work."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    values = stored(X) / max(1, n) if hasattr(X, "shape") and len(X.shape) == 2 else 10.0
    work = LIBSVM_VALUE * train * train if kind == "SVC" else BRUTE_VALUE * train * test
    return float(CALL * calls + work * values)


def boundaries(classes: int) -> int:
    """Binary problems of one-vs-rest."""
    return 1 if classes == 2 else classes
