"""Linear classifiers: what LIBLINEAR, L-BFGS, SAG and SAGA do inside of scikit-learn's classes."""

from __future__ import annotations

import sys
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state, compute_class_weight
from sklearn.utils.validation import _check_sample_weight

from separatrix.accel.costs import boundaries
from separatrix.accel.dispatch import NotReplaced, NotServed, prefer_sklearn
from separatrix.estimators.base.blocks import ArrayBlocks
from separatrix.estimators.base.logistic_penalty import build_solver
from separatrix.estimators.base.prepare import Training
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import thread_count
from separatrix.solvers.logistic.newton import LogisticFit
from separatrix.types import Matrix, Vector

GAP = 1e-4  # of the objective; at its own tolerance scikit-learn leaves about as much, or more

UNFINISHED = {  # scikit-learn's warnings
    "lbfgs": "lbfgs failed to converge after {} iteration(s). Increase the number of iterations to improve "
    "the convergence (max_iter), or scale the data; see also "
    "https://scikit-learn.org/stable/modules/linear_model.html#logistic-regression",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    **dict.fromkeys(
        ("sag", "saga"), "The max_iter was reached which means the coef_ did not converge"
    ),
}


def linear_svc(
    X: Any, y: Any, C: float, fit_intercept: bool, intercept_scaling: float, class_weight: Any,
    penalty: str, dual: bool, verbose: int, max_iter: int, tol: float, random_state: Any = None,
    multi_class: str = "ovr", loss: str = "logistic_regression", epsilon: float = 0.1,
    sample_weight: Any = None,
) -> tuple[Matrix, Any, Any]:  # fmt: skip
    """`_fit_liblinear` for `LinearSVC`: weights, biases and iterations."""
    if loss not in ("hinge", "squared_hinge"):
        raise NotReplaced("LinearSVR")
    if verbose:
        prefer_sklearn("verbose")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2 or (fit_intercept and intercept_scaling <= 0):
        raise NotReplaced("an error of scikit-learn")
    check = sys.modules["sklearn.svm._base"]._get_liblinear_solver_type
    check(multi_class, penalty, loss, dual)  # its errors
    factors = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=sample_weight)
    model = LinearSVC(
        penalty=penalty,
        loss=loss,
        dual="auto" if penalty == "l2" else dual,
        tol=tol,
        C=C,
        multi_class=multi_class,
        fit_intercept=fit_intercept,
        intercept_scaling=float(intercept_scaling),
        class_weight=dict(enumerate(factors.tolist())),
        random_state=draw_seed(deepcopy(check_random_state(random_state))),
        max_iter=max_iter,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, codes, sample_weight=_weights(sample_weight, X))
    n_iter = np.full(boundaries(len(classes)), model.n_iter_, dtype=np.int32)
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        prefer_sklearn("did not converge")
        warnings.warn(UNFINISHED["liblinear"], ConvergenceWarning, stacklevel=4)
    draw_seed(check_random_state(random_state))
    coef, intercept = model.coef_, model.intercept_
    if multi_class == "crammer_singer" and len(classes) == 2:  # scikit-learn takes the difference
        coef, intercept = np.vstack([-coef, coef]) / 2, np.concatenate([-intercept, intercept]) / 2
    return (coef, intercept if fit_intercept else 0.0, n_iter)


def logistic_liblinear(
    X: Any, y: Any, C: float, fit_intercept: bool, intercept_scaling: float, class_weight: Any,
    penalty: str, dual: bool, verbose: int, max_iter: int, tol: float, random_state: Any = None,
    multi_class: str = "ovr", loss: str = "logistic_regression", epsilon: float = 0.1,
    sample_weight: Any = None,
) -> tuple[Matrix, Any, Any]:  # fmt: skip
    """`_fit_liblinear` for `LogisticRegression`: the bias is the weight of a constant, and penalised."""
    if verbose:
        prefer_sklearn("verbose")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2 or (fit_intercept and intercept_scaling <= 0):
        raise NotReplaced("an error of scikit-learn")
    factors = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=sample_weight)
    weights = _weights(sample_weight, X) * factors[codes]
    if fit_intercept:
        constant = np.full((X.shape[0], 1), float(intercept_scaling))
        X = csr_array(hstack([X, constant])) if issparse(X) else np.hstack([X, constant])
    found = _solve(
        X, codes, classes, weights, [C], l1_ratio=float(penalty == "l1"), intercept=False,
        tol=min(tol, 1e-4), max_iter=max_iter, start=None,
    )[0]  # fmt: skip
    _require_converged([found], "liblinear", max_iter)
    draw_seed(check_random_state(random_state))
    coef: Matrix = found.theta
    intercept: Any = 0.0
    if fit_intercept:
        coef, intercept = coef[:, :-1], intercept_scaling * coef[:, -1]
    return (coef, intercept, np.array([found.n_iter], dtype=np.int32))


def logistic_path(
    X: Any, y: Any, *, classes: Any, Cs: Any = 10, fit_intercept: bool = True, max_iter: int = 100,
    tol: float = 1e-4, verbose: int = 0, solver: str = "lbfgs", coef: Any = None,
    class_weight: Any = None, dual: bool = False, penalty: str | None = "l2",
    intercept_scaling: float = 1.0, random_state: Any = None, check_input: bool = True,
    max_squared_sum: float | None = None, sample_weight: Any = None, l1_ratio: float | None = None,
    n_threads: int = 1, callback_ctx: Any = None, estimator: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """`_logistic_regression_path`: weights, values of C and iterations; the penalty in C only."""
    _require_served(X, solver, callback_ctx, estimator, verbose)
    if check_input:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        y = check_array(y, ensure_2d=False, dtype=None)
    classes = np.asarray(classes)
    Cs = np.logspace(-4, 4, Cs) if isinstance(Cs, int | np.integer) else Cs
    codes = np.searchsorted(classes, y) if len(classes) > 2 else (y == classes[1]).astype(int)
    weights = np.ones(X.shape[0])
    if sample_weight is not None or class_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype).astype(np.float64)
    if class_weight is not None:
        weights *= compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weights)[
            codes
        ]
    if weights.min() < 0:
        raise NotServed("negative weights")
    width = X.shape[1] + fit_intercept
    start = None if coef is None else np.atleast_2d(np.asarray(coef, np.float64))
    if start is not None and start.shape != (boundaries(len(classes)), width):
        raise NotReplaced("an error of scikit-learn")
    fits = _solve(
        X, codes, classes, weights, Cs, l1_ratio=_share(penalty, l1_ratio),
        intercept=fit_intercept, tol=tol or np.finfo(float).eps, max_iter=max_iter, start=start,
        solver="newton-cholesky" if "newton" in solver and penalty != "l1" else "auto",
    )  # fmt: skip
    _require_converged(fits, solver, max_iter)
    if solver in ("sag", "saga"):
        for _ in fits:
            draw_seed(check_random_state(random_state), lowest=1)
    thetas = np.stack([fit.theta for fit in fits]).astype(X.dtype)
    if len(classes) == 2:
        thetas = thetas[:, 0]
    n_iter = np.array([min(fit.n_iter, max_iter) for fit in fits], dtype=np.int32)
    return (thetas, np.asarray(Cs), n_iter)


def draw_seed(random: np.random.RandomState, lowest: int = 0) -> int:
    """A seed, drawn as scikit-learn draws it: what a program draws later must not change."""
    return int(random.randint(lowest, np.iinfo("i").max))


def _require_served(X: Any, solver: str, callback_ctx: Any, estimator: Any, verbose: int) -> None:
    """Leave to scikit-learn what only it can do."""
    if solver == "liblinear":
        raise NotReplaced("it calls LIBLINEAR, which is replaced")
    if not (issparse(X) or isinstance(X, np.ndarray | list)):
        raise NotServed("arrays of another library")
    if callback_ctx is not None and hasattr(estimator, "_skl_callbacks"):
        raise NotReplaced("callbacks")
    if verbose:
        prefer_sklearn("verbose")


def _share(penalty: str | None, l1_ratio: float | None) -> float:
    """The share of the l1 penalty."""
    return {"l1": 1.0, "elasticnet": float(l1_ratio or 0.0)}.get(penalty or "", 0.0)


def _solve(
    X: Any, codes: Any, classes: Any, weights: Vector, Cs: Any, *, l1_ratio: float, intercept: bool,
    tol: float, max_iter: int, start: Matrix | None, solver: str = "auto",
) -> list[LogisticFit]:  # fmt: skip
    """The minimum for each C, in their order, each from the last one."""
    train = Training(X, codes.astype(np.intp), classes, weights, np.ones(len(weights)))
    fits = []
    for C in map(float, Cs):
        finite = np.isfinite(C)
        descent = build_solver(
            ArrayBlocks(train),
            l1_ratio=l1_ratio if finite else 0.0,
            solver=solver,
            intercept=intercept,
            intercept_precision=0.0,
            tol=tol,
            max_iter=max_iter,
            threads=thread_count(),
            monitor=FitMonitor(),
            gap=GAP,
        )
        fits.append(descent.solve(C, None if start is None else start.copy()))
        start = fits[-1].theta
    return fits


def _require_converged(fits: list[LogisticFit], solver: str, max_iter: int) -> None:
    if any(not np.isfinite(fit.theta).all() for fit in fits):
        raise NotServed("overflow")
    if any(fit.stop == "max_iter" for fit in fits):
        prefer_sklearn("did not converge")
        message = UNFINISHED.get(solver, UNFINISHED["lbfgs"])
        warnings.warn(message.format(max_iter), ConvergenceWarning, stacklevel=5)


def _weights(sample_weight: Any, X: Any) -> Vector:
    """Sample weights as LIBLINEAR takes them: rows of negative weight count as absent."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    return np.maximum(np.asarray(_check_sample_weight(sample_weight, X), np.float64), 0.0)
