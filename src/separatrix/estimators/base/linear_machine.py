"""Base of all linear classifiers: scores, predictions, distances."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.base.device_samples import map_rows
from separatrix.estimators.base.multiclass import decision_values, winners
from separatrix.estimators.base.parameters import Estimator
from separatrix.estimators.base.prepare import check_samples
from separatrix.runtime.blocks import MEBIBYTE, row_blocks, rows_that_fit
from separatrix.runtime.device import as_numpy, is_tensor, like
from separatrix.runtime.sums import dense
from separatrix.solvers.rows import score_rows
from separatrix.types import Matrix, Vector

BLOCK_BYTES = MEBIBYTE  # of samples and scores, which stay in the cache
SMALL_PRODUCT = 2**16  # multiply-adds up to which loading compiled code is not worth it
FEW_BOUNDARIES = 12  # up to which a compiled loop beats BLAS
CACHED_WEIGHTS = 2**15  # bytes


class LinearMachine(Estimator):
    """A classifier with weights `coef_`, (p, d), and biases `intercept_`, (p,)."""

    coef_: Any
    intercept_: Vector
    classes_: Any
    _dtypes: ClassVar[list[Any]] = [np.float64, np.float32]  # others become the first

    def decision_function(self, X: Any) -> Matrix:
        """Confidence in each class, (n, k), or in the second of two, (n,)."""
        check_is_fitted(self)
        X = check_samples(self, X, dtype=self._dtypes, reset=False)
        S = map_rows(self, X, self._scores)
        return decision_values(S, len(self.classes_), "ovr")

    def predict(self, X: Any) -> Any:
        """Most confident class of each sample, (n,)."""
        check_is_fitted(self)
        codes = as_numpy(winners(self.decision_function(X), self._class_at_zero))
        return like(self.classes_[codes], X)

    def signed_distance(self, X: Any) -> Matrix:
        """Distance to each boundary, positive on its own side: (<w, x> + b) / |w|."""
        values = self.decision_function(X)
        norms = weight_norms(self.coef_)
        distances: Matrix = values / like(np.where(norms > 0, norms, 1.0), values)
        return distances

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X: Any) -> Matrix:
        """<w, x> + b at every boundary, (n, p), in float64; a block of rows at a time."""
        W = self.coef_
        if is_tensor(X):
            from separatrix.solvers.device_sums import product_on  # torch is optional

            scores: Matrix = product_on(X, dense(W)) + like(self.intercept_, X)
            return scores
        if issparse(X) or issparse(W):
            S = X @ W.T
            return np.asarray(S.toarray() if issparse(S) else S) + self.intercept_
        S = np.empty((len(X), len(W)))
        if _few_boundaries(X, W):
            score_rows(X, np.ascontiguousarray(W), np.asarray(self.intercept_, np.float64), S)
            return S
        for block in row_blocks(len(X), rows_that_fit(8 * sum(W.shape), BLOCK_BYTES)):
            # in this order BLAS and NumPy are faster; NumPy itself would convert a column at a time
            F = W @ X[block].astype(np.float64, copy=False).T
            F += self.intercept_[:, None]
            S[block] = F.T
        return S


class SolvedMachine(LinearMachine):
    """A linear machine with a `solver_`, whose weights can be stored sparse."""

    solver_: str

    def sparsify(self) -> Self:
        """Store the weights as a sparse matrix."""
        check_is_fitted(self)
        self.coef_ = csr_array(self.coef_)
        return self

    def densify(self) -> Self:
        """Store the weights as an array."""
        check_is_fitted(self)
        if issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        plain = str(super().__repr__(N_CHAR_MAX=N_CHAR_MAX))
        return f"{plain}  # {self.solver_}" if hasattr(self, "solver_") else plain


def _few_boundaries(X: Matrix, W: Matrix) -> bool:
    """Whether a compiled loop is faster than BLAS: few boundaries, and weights that stay in the cache.

    BLAS reads samples of another type, float32, only after they were converted.
    """
    if X.size * len(W) < SMALL_PRODUCT or not X.flags.c_contiguous or W.dtype != np.float64:
        return False
    return len(W) <= FEW_BOUNDARIES and (X.dtype != W.dtype or W.nbytes <= CACHED_WEIGHTS)


def weight_norms(coef: Any) -> Vector:
    """|w| of each boundary, (p,)."""
    return np.asarray(np.linalg.norm(dense(coef), axis=1))


def margin_widths(coef: Any) -> Vector:
    """2 / |w| of each boundary, (p,): the distance between its two margins."""
    norms = weight_norms(coef)
    with np.errstate(divide="ignore"):
        return np.asarray(2.0 / norms)


def starting_point(near: Any, p: int, d: int) -> tuple[Matrix, Vector] | None:
    """Weights, (p, d), and biases, (p,), of a fitted model, if there is one of this shape."""
    if near is None or near.coef_.shape != (p, d):
        return None
    return near.coef_, near.intercept_
