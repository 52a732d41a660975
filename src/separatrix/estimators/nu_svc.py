"""The nu support vector machine as an estimator. Fit and prediction are in the base."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

from separatrix.estimators.base.parameters import real, with_parameters
from separatrix.estimators.base.svc_fit import SvcOptions
from separatrix.estimators.base.svc_training import SupportVectorClassifier
from separatrix.kernels.base import Kernel
from separatrix.runtime.device import DevicePolicy


@with_parameters
class NuSVC(SupportVectorClassifier):
    """Support vector machine with a share `nu` in place of C.

    A drop-in for scikit-learn's `NuSVC`. `nu` is an upper bound of the share of samples inside the margin
    or on the wrong side, and a lower bound of the share of support vectors. The boundary is that of an
    `SVC` with C = 1 / r, where r is the margin that the fit finds. Not for classes of very different
    sizes: `nu` can be at most twice the share of the smaller one, unless classes are weighted.

    Parameters
    ----------
    nu
        Above 0, at most 1. Refused if a class is too small for it. A warning says if the classes overlap so
        much that no margin is left.
    kernel, degree, gamma, coef0, shrinking, probability, cache_size, verbose, max_iter, random_state
        As in `SVC`.
    tol
        Stop when the optimality conditions are violated by no more than this (as LIBSVM, before the
        coefficients are divided by r), and the relative duality gap is at most the larger of tol and 1e-3.
    class_weight
        Factors of the sample weights for each class, as a dict or "balanced". scikit-learn ignores it.
    decision_function_shape, break_ties, multi_class, stop, calibration, warm_start, time_limit, n_jobs
        As in `SVC`.
    device
        As in `SVC`, for predictions. Training is on the CPU.

    Attributes
    ----------
    classes_, kernel_, class_weight_, shape_fit_, n_features_in_, support_, support_vectors_, n_support_,
    dual_coef_, intercept_, coef_, n_iter_, fit_status_, stop_, gram_, margin_width_
        As in `SVC`.
    violation_, dual_gap_, objective_
        The certificate of each boundary, (p,): largest violation of the optimality conditions, of nu or
        of scores, which are divided by the margin r; relative duality gap and dual objective of the
        `SVC` with C = 1 / r that has the same boundary.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NuSVC(nu=0.1, gamma=0.001).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.969
    >>> bool(model.dual_gap_.max() <= 1e-3)
    True

    References
    ----------
    Schölkopf, Smola, Williamson and Bartlett, New Support Vector Algorithms, Neural Computation 12 (2000).
    Chang and Lin, Training nu-Support Vector Classifiers, Neural Computation 13 (2001).
    """

    _: KW_ONLY
    nu: float = real(0.5, above=0, most=1)

    def _options(self) -> SvcOptions:
        return super()._options()._replace(nu=self.nu)

    def _training_policy(self, X: Any, *kernels: Kernel, owner: str | None = None) -> DevicePolicy:
        policy = super()._training_policy(X, *kernels, owner=owner)
        return replace(policy, obstacle="training by nu")
