"""SVC and NuSVC: what LIBSVM does inside of them, over one shared Gram matrix.

A fitted model has all the attributes that LIBSVM would have set, in its layout, so that scikit-learn's
own code reads it, pickled or not, with or without the switch. For two classes LIBSVM's coefficients and
scores are positive for the first class, those of separatrix for the second.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils._sparse import _align_api_if_sparse

from separatrix.accel.dispatch import NotServed, prefer_sklearn
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.prepare import Training, generator
from separatrix.estimators.base.support import Support
from separatrix.estimators.base.support_scores import score_samples, score_tolerance
from separatrix.estimators.base.svc_fit import SvcState, solve_svc
from separatrix.estimators.nu_svc import NuSVC
from separatrix.estimators.svc import SVC
from separatrix.kernels.gram.build import kernel_blocks
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.prepared import TOLERANCE
from separatrix.runtime.device import as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import thread_count
from separatrix.solvers.svm.problem import LIBSVM
from separatrix.solvers.svm.stacked import FitNumbers
from separatrix.types import Codes, Matrix, Vector

MODELS: dict[int, Any] = {0: SVC, 1: NuSVC}  # by LIBSVM's number
LANCZOS_STEPS = 20

_SUPPORTS: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Support, Any]] = WeakKeyDictionary()


def dense_fit(
    estimator: Any, X: Any, y: Vector, sample_weight: Vector, solver_type: int, kernel: str, *,
    random_seed: int,
) -> None:  # fmt: skip
    """`BaseLibSVM._dense_fit`: set what LIBSVM learns from checked samples and class codes."""
    if callable(estimator.kernel):
        prefer_sklearn("callable kernel")
        estimator._BaseLibSVM__Xfit = X
        X = estimator._compute_kernel(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError("X.shape[0] should be equal to X.shape[1]")
    state = _solve(estimator, X, y, sample_weight, solver_type, kernel, random_seed)
    _keep(estimator, X, state, kernel == "precomputed")
    estimator._warn_from_fit_status()


def sparse_fit(
    estimator: Any, X: Any, y: Vector, sample_weight: Vector, solver_type: int, kernel: str, *,
    random_seed: int,
) -> None:  # fmt: skip
    """`BaseLibSVM._sparse_fit`."""
    X.sort_indices()
    state = _solve(estimator, X, y, sample_weight, solver_type, kernel, random_seed)
    _keep(estimator, X, state, False)
    coef = estimator.dual_coef_
    rows, columns = coef.shape
    estimator.dual_coef_ = _align_api_if_sparse(  # all entries are stored, as LIBSVM needs them
        csr_array(
            (coef.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns),
            shape=coef.shape,
        )
    )
    estimator.support_vectors_ = _align_api_if_sparse(X[estimator.support_])
    estimator._warn_from_fit_status()


def dense_predict(estimator: Any, X: Any) -> Vector:
    """`BaseLibSVM._dense_predict`: class codes of checked samples, as floats."""
    if callable(estimator.kernel):
        prefer_sklearn("callable kernel")
        X = estimator._compute_kernel(X)
        if X.shape[1] != estimator.shape_fit_[0]:
            raise NotServed("shape of the kernel matrix")
    return _predict(estimator, X)


def sparse_predict(estimator: Any, X: Any) -> Vector:
    """`BaseLibSVM._sparse_predict`."""
    return _predict(estimator, X)


def dense_decision_function(estimator: Any, X: Any) -> Matrix:
    """`BaseLibSVM._dense_decision_function`: LIBSVM's scores, (m, p), of samples or kernel values."""
    return _scores(estimator, X)


def sparse_decision_function(estimator: Any, X: Any) -> Matrix:
    """`BaseLibSVM._sparse_decision_function`."""
    return _scores(estimator, X)


def _solve(
    estimator: Any, X: Any, y: Vector, sample_weight: Vector, solver_type: int, kernel: str,
    random_seed: int,
) -> SvcState:  # fmt: skip
    """The solution, in the order of the classes."""
    if estimator._effective_probability:
        prefer_sklearn("probability=True")
    if estimator.max_iter != -1:
        prefer_sklearn("max_iter")
    if is_indefinite(kernel, estimator.coef0) or (
        kernel == "precomputed" and _is_indefinite_matrix(X)
    ):
        prefer_sklearn("an indefinite kernel")
    codes = y.astype(np.intp)
    weights = np.maximum(sample_weight, 0.0) if len(sample_weight) else np.ones(len(codes))
    _require_two_classes(codes, weights, len(estimator.classes_), solver_type)
    of_class = estimator.class_weight_ if solver_type == 0 else np.ones(len(estimator.classes_))
    train = Training(X, codes, estimator.classes_, weights, of_class[codes])
    model = MODELS[solver_type](
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        calibration="platt" if estimator._effective_probability else None,
        random_state=random_seed,
        **({"C": estimator.C, "stop": LIBSVM} if solver_type == 0 else {"nu": estimator.nu}),
    )
    made = resolve_kernel(
        type(estimator).__name__,
        kernel,
        X,
        gamma=estimator._gamma,
        degree=estimator.degree,
        coef0=float(estimator.coef0),
    )
    solve = partial(
        solve_svc,
        kernel=made,
        train=train,
        options=model._options(),
        last_fits=(),
        random=partial(generator, model),
        monitor=FitMonitor(),
    )
    state = run_on(model._training_policy(X, made), solve)
    if np.any(FitNumbers.of(state.fits).stops != "tol"):
        prefer_sklearn("missed its tolerance")
    return state


def is_indefinite(kernel: str, coef0: float) -> bool:
    """Whether a kernel has several solutions, of which each solver finds its own."""
    return kernel == "sigmoid" or (kernel == "poly" and coef0 < 0)


def _is_indefinite_matrix(K: Matrix) -> bool:
    """Whether a matrix of kernel values, (n, n), is asymmetric or has clearly negative eigenvalues.

    Lanczos' method finds the extreme ones in a few products.
    """
    if K.shape[0] != K.shape[1] or not np.allclose(K, K.T, rtol=1e-6, atol=1e-9):
        return True
    basis = [np.random.default_rng(0).normal(size=len(K))]
    basis[0] /= np.linalg.norm(basis[0])
    for _ in range(min(LANCZOS_STEPS, len(K))):
        Q = np.stack(basis, axis=1)
        rest = K @ basis[-1]
        rest -= Q @ (Q.T @ rest)
        rest -= Q @ (Q.T @ rest)
        length = np.linalg.norm(rest)
        if length <= 1e-10 * np.abs(K).max():
            break
        basis.append(rest / length)
    Q = np.stack(basis, axis=1)
    found = np.linalg.eigvalsh(Q.T @ (K @ Q))
    return bool(found[0] < -1e-6 * max(found[-1], 0.0))


def _require_two_classes(codes: Codes, weights: Vector, n_classes: int, solver_type: int) -> None:
    """LIBSVM's errors for weights that leave fewer than two classes."""
    left = np.count_nonzero(np.bincount(codes[weights > 0], minlength=n_classes))
    if left == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if left == 1:
        raise ValueError(
            "specified nu is infeasible"
            if solver_type == 1
            else "Invalid input - all samples with positive weights belong to the same class."
        )
    if left < n_classes:
        prefer_sklearn("weights that leave out a class")


def _keep(estimator: Any, X: Any, state: SvcState, precomputed: bool) -> None:
    """Set what LIBSVM learns, before scikit-learn flips the signs of two classes."""
    support, fits = state.support, FitNumbers.of(state.fits)
    sign = -1.0 if len(estimator.classes_) == 2 else 1.0
    estimator.support_ = state.order[support.rows].astype(np.int32)
    estimator.support_vectors_ = np.empty((0, 0)) if precomputed else X[estimator.support_]
    estimator._n_support = np.diff(support.cuts).astype(np.int32)
    estimator.dual_coef_ = np.ascontiguousarray(sign * support.coef)
    estimator.intercept_ = sign * support.intercept
    estimator._probA = estimator._probB = np.empty(0)
    if state.calibration is not None:  # the probability of the first class, not of the second
        estimator._probA, offset = state.calibration.slopes.T.copy()
        estimator._probB = sign * offset
    estimator.fit_status_ = int(np.any(fits.stops != "tol"))
    estimator._num_iter = fits.steps.astype(np.int32)


def _predict(estimator: Any, X: Any) -> Vector:
    S = _scores(estimator, X)
    k = len(estimator.classes_)
    codes = np.where(S[:, 0] > 0, 0, 1) if k == 2 else as_numpy(vote(S, k, "ovo"))
    return codes.astype(np.float64)


def _scores(estimator: Any, X: Any) -> Matrix:
    """LIBSVM's scores, (m, p)."""
    precomputed = callable(estimator.kernel) or estimator.kernel == "precomputed"
    n_support = int(np.sum(estimator._n_support))
    support, vectors, kernel = _support(estimator, precomputed)
    if not n_support:
        return np.tile(support.intercept, (X.shape[0], 1))
    if precomputed:
        return np.asarray(support.scores(np.asarray(X, np.float64)[:, estimator.support_]))
    tolerance = score_tolerance(kernel, support, vectors, min(estimator.tol, TOLERANCE))
    options: dict[str, Any] = {"tolerance": tolerance, "threads": thread_count()}
    parts = score_samples(kernel, support, vectors, X, lambda S: S, **options)
    if parts is None:
        blocks = kernel_blocks(kernel, X, vectors, memory=None, **options)
        parts = [as_numpy(support.scores(K)) for _, K in blocks]
    return np.concatenate(parts)


def _support(estimator: Any, precomputed: bool) -> tuple[Support, Any, Any]:
    """The support of a model as its attributes are now; kept while they are the same objects."""
    coef, sparse = estimator._dual_coef_, issparse(estimator._dual_coef_)
    shape = estimator.kernel, estimator._gamma, estimator.degree, estimator.coef0
    token = (coef, estimator._intercept_, estimator.support_vectors_, estimator._n_support, *shape)
    kept = _SUPPORTS.get(estimator)
    if kept is not None and all(a is b for a, b in zip(kept[0], token, strict=True)):
        return kept[1], estimator.support_vectors_, kept[2]
    k = len(estimator.classes_)
    cuts = np.concatenate([[0], np.cumsum(estimator._n_support)]).astype(np.intp)
    made = Support(
        rows=np.arange(cuts[-1]),
        classes=np.repeat(np.arange(k), estimator._n_support),
        cuts=cuts,
        coef=np.ascontiguousarray(coef.toarray() if sparse else coef),
        intercept=estimator._intercept_.copy(),
        paired=k > 2,
    )
    kernel = None
    if not precomputed:
        kernel = resolve_kernel(
            type(estimator).__name__,
            estimator.kernel,
            estimator.support_vectors_,
            gamma=estimator._gamma,
            degree=estimator.degree,
            coef0=float(estimator.coef0),
        )
    _SUPPORTS[estimator] = (token, made, kernel)
    return made, estimator.support_vectors_, kernel
