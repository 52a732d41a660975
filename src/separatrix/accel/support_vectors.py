"""SVC: what LIBSVM does inside of it, over one shared Gram matrix.

A fitted model has all the attributes that LIBSVM would have set, in its layout, so that scikit-learn's
own code reads it, pickled or not, with or without the switch. For two classes LIBSVM's coefficients and
scores are positive for the first class, those of separatrix for the second.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils._sparse import _align_api_if_sparse

from separatrix.accel.dispatch import NotServed
from separatrix.estimators.base.multiclass import vote
from separatrix.estimators.base.prepare import Training, generator
from separatrix.estimators.base.support import Support, class_segments
from separatrix.estimators.base.support_scores import score_samples
from separatrix.estimators.base.svc_certificate import EXACT
from separatrix.estimators.base.svc_fit import SvcState, solve_svc
from separatrix.estimators.svc import SVC
from separatrix.kernels.base import Kernel
from separatrix.kernels.gram.build import kernel_blocks
from separatrix.kernels.names import resolve_kernel
from separatrix.kernels.vector_kernels import squared_norms
from separatrix.runtime.device import as_numpy, run_on
from separatrix.runtime.monitor import FitMonitor
from separatrix.runtime.threads import thread_count
from separatrix.solvers.decomposition import pairs
from separatrix.solvers.svm.problem import LIBSVM
from separatrix.solvers.svm.stacked import FitNumbers
from separatrix.types import Matrix, Vector

EPS = float(np.finfo(float).eps)
FREE = 1e-6  # share of its bound that a coefficient is away from both ends
DEFINITE = 1e-9  # share of the largest diagonal value that rounding may take from an eigenvalue


def dense_fit(
    original: Any, estimator: Any, X: Any, y: Vector, sample_weight: Vector, solver_type: int,
    kernel: str, *, random_seed: int,
) -> None:  # fmt: skip
    """`BaseLibSVM._dense_fit`: set what LIBSVM learns from checked samples and class codes."""
    if not callable(estimator.kernel):
        _fit(estimator, X, y, sample_weight, kernel)
        return
    estimator._BaseLibSVM__Xfit = X  # as scikit-learn does
    K = estimator._compute_kernel(X)
    try:
        _fit(estimator, K, y, sample_weight, kernel)
    except Exception:  # the function is not called again
        vars(estimator)["_compute_kernel"] = lambda _: K
        try:
            original(estimator, X, y, sample_weight, solver_type, kernel, random_seed=random_seed)
        finally:
            del vars(estimator)["_compute_kernel"]


def sparse_fit(
    _original: Any, estimator: Any, X: Any, y: Vector, sample_weight: Vector, _solver_type: int,
    kernel: str, **_seed: Any,
) -> None:  # fmt: skip
    """`BaseLibSVM._sparse_fit`."""
    X.sort_indices()
    _fit(estimator, X, y, sample_weight, kernel)
    coef = estimator.dual_coef_
    rows, columns = coef.shape
    estimator.dual_coef_ = _align_api_if_sparse(  # all entries are stored, as LIBSVM needs them
        csr_array(
            (coef.ravel(), np.tile(np.arange(columns), rows), np.arange(rows + 1) * columns),
            shape=coef.shape,
        )
    )
    estimator.support_vectors_ = _align_api_if_sparse(X[estimator.support_])


def predict(_original: Any, estimator: Any, X: Any) -> Vector:
    """`BaseLibSVM._dense_predict` and `_sparse_predict`: class codes of checked samples, as floats."""
    S, k = _scores(estimator, X), len(estimator.classes_)
    codes = np.where(S[:, 0] > 0, 0, 1) if k == 2 else as_numpy(vote(S, k, "ovo"))
    return codes.astype(np.float64)


def decision_function(_original: Any, estimator: Any, X: Any) -> Matrix:
    """`BaseLibSVM._dense_decision_function` and `_sparse_...`: LIBSVM's scores, (m, p)."""
    return _scores(estimator, X)


def require_definite(kernel: str, coef0: float) -> None:
    """Leave kernels to scikit-learn whose problems have several solutions: each solver finds its own."""
    if kernel == "sigmoid" or (kernel == "poly" and coef0 < 0):
        raise NotServed("an indefinite kernel")


def is_definite(K: Matrix) -> bool:
    """Whether a matrix of kernel values, (n, n), is symmetric without clearly negative eigenvalues."""
    largest = float(np.abs(np.diagonal(K)).max(initial=0.0))
    if K.shape[0] != K.shape[1] or not np.allclose(K, K.T, rtol=1e-6, atol=1e-9 * largest):
        return False
    shifted = np.array(K, dtype=np.float64)
    shifted.flat[:: len(K) + 1] += DEFINITE * len(K) * largest + np.finfo(float).tiny
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def has_free_coefficients(support: Support, segments: tuple[slice, ...], box: Vector) -> bool:
    """Whether every boundary has a coefficient clearly between its bounds, (n,).

    Only then do the optimality conditions determine the intercept. Otherwise LIBSVM's depends on whether
    rounding left a coefficient just below its bound.
    """
    bounds = (np.concatenate([box[segments[a]], box[segments[b]]]) for a, b in pairs(len(segments)))
    return all(
        np.any((alpha > FREE * bound) & (alpha < (1.0 - FREE) * bound))
        for alpha, bound in zip(support.alphas(segments), bounds, strict=True)
    )


def _fit(estimator: Any, X: Any, y: Vector, sample_weight: Vector, kernel: str) -> None:
    """Solve, and set what LIBSVM learns, before scikit-learn flips the signs of two classes."""
    if estimator._effective_probability or estimator.max_iter != -1 or estimator.verbose:
        raise NotServed("probability, max_iter or verbose")
    require_definite(kernel, estimator.coef0)
    if kernel == "precomputed" and not is_definite(X):
        raise NotServed("an indefinite kernel")
    codes, k = y.astype(np.intp), len(estimator.classes_)
    weights = sample_weight if len(sample_weight) else np.ones(len(codes))
    if not (weights > 0).all():  # LIBSVM removes these rows, and numbers the others
        raise NotServed("weights of 0")
    train = Training(X, codes, estimator.classes_, weights, estimator.class_weight_[codes])
    state = _solve(estimator, train, kernel)
    support, fits = state.support, FitNumbers.of(state.fits)
    if np.any(fits.stops != "tol"):
        raise NotServed("missed its tolerance")
    box = estimator.C * (train.weights * train.class_weights)[state.order]
    if not has_free_coefficients(support, class_segments(codes[state.order], k), box):
        raise NotServed("an intercept that rounding decides")
    sign = -1.0 if k == 2 else 1.0
    estimator.support_ = state.order[support.rows].astype(np.int32)
    precomputed = kernel == "precomputed"
    estimator.support_vectors_ = np.empty((0, 0)) if precomputed else X[estimator.support_]
    estimator._n_support = np.diff(support.cuts).astype(np.int32)
    estimator.dual_coef_ = np.ascontiguousarray(sign * support.coef)
    estimator.intercept_ = sign * support.intercept
    estimator._probA = estimator._probB = np.empty(0)
    estimator.fit_status_ = 0
    estimator._num_iter = fits.steps.astype(np.int32)


def _solve(estimator: Any, train: Training, kernel: str) -> SvcState:
    """The solution, in the order of the classes, within the memory that LIBSVM may take for its cache."""
    model = SVC(tol=estimator.tol, C=estimator.C, stop=LIBSVM, cache_size=estimator.cache_size)
    resolved = _kernel_of(estimator, kernel, train.X)
    solve = partial(
        solve_svc,
        kernel=resolved,
        train=train,
        options=model._options(),
        last_fits=(),
        random=partial(generator, model),
        monitor=FitMonitor(),
    )
    state: SvcState = run_on(model._training_policy(train.X, resolved), solve)
    return state


def _kernel_of(estimator: Any, kernel: str, X: Any) -> Kernel:
    return resolve_kernel(
        "SVC",
        kernel,
        X,
        gamma=estimator._gamma,
        degree=estimator.degree,
        coef0=float(estimator.coef0),
    )


def _scores(estimator: Any, X: Any) -> Matrix:
    """LIBSVM's scores, (m, p); by LIBSVM itself where rounding could decide a vote."""
    if callable(estimator.kernel) or estimator.kernel == "precomputed":
        raise NotServed("kernel values")
    support, vectors = _support_of(estimator), estimator.support_vectors_
    kernel = _kernel_of(estimator, estimator.kernel, vectors)
    options: dict[str, Any] = {"tolerance": EXACT, "threads": thread_count()}
    parts = score_samples(kernel, support, vectors, X, lambda S: S, **options)
    if parts is None:
        blocks = kernel_blocks(kernel, X, vectors, memory=None, **options)
        parts = [as_numpy(support.scores(K)) for _, K in blocks]
    S = np.concatenate(parts)
    bound = _rounding_of(kernel, support, X, vectors)
    unsure = np.flatnonzero(~(np.abs(S) > bound).all(axis=1))
    if len(unsure):
        form = "sparse" if issparse(X) else "dense"
        ask = getattr(type(estimator), f"_{form}_decision_function").__wrapped__
        S[unsure] = np.reshape(ask(estimator, X[unsure]), (len(unsure), -1))
    return S


def _rounding_of(kernel: Kernel, support: Support, X: Any, vectors: Any) -> float:
    """Upper bound of the rounding errors of both libraries' scores."""
    largest = float(max(squared_norms(part).max(initial=0.0) for part in (X, vectors)))
    terms = X.shape[1] + len(support.rows) + 16
    value = kernel.error(largest, terms * EPS) + terms * EPS * kernel.scale(largest)
    weight = float(np.abs(support.coef).sum(axis=1).max(initial=0.0)) * 2.0
    intercept = float(np.abs(support.intercept).max(initial=0.0))
    return float(2.0 * (value * weight + EPS * intercept))


def _support_of(estimator: Any) -> Support:
    """The support of a model as its attributes are now."""
    coef = estimator._dual_coef_
    cuts = np.concatenate([[0], np.cumsum(estimator._n_support)]).astype(np.intp)
    k = len(estimator.classes_)
    return Support(
        rows=np.arange(cuts[-1]),
        classes=np.repeat(np.arange(k), estimator._n_support),
        cuts=cuts,
        coef=np.ascontiguousarray(coef.toarray() if issparse(coef) else coef),
        intercept=estimator._intercept_.copy(),
        paired=k > 2,
    )
