"""The support vector machine as an estimator. Fit and prediction are in the base."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from separatrix.estimators.base.parameters import real, with_parameters
from separatrix.estimators.base.svc_fit import SvcOptions
from separatrix.estimators.base.svc_training import SupportVectorClassifier


@with_parameters
class SVC(SupportVectorClassifier):
    """Support vector machine: the boundary with the widest margin in the feature space of a kernel.

    A drop-in for scikit-learn's `SVC`, exact to the same tolerance. All classes share one kernel
    matrix, all cores work, and the fit carries a certificate: the largest violation of the optimality
    conditions and the duality gap. For millions of samples use `LinearSVC`.

    Parameters
    ----------
    C
        Weight of the loss, above 0. `inf` asks for a hard margin: the fit fails with an error if the
        classes cannot be separated.
    kernel, degree, gamma, coef0
        Any kernel of `separatrix.kernels`, or scikit-learn's names and their parameters.
    shrinking
        Ignored: only violating rows enter the working set.
    probability
        scikit-learn's deprecated name for `calibration="sigmoid"`.
    tol
        Stop when the optimality conditions are violated by no more than this (as LIBSVM), and the
        relative duality gap is at most the larger of tol and 1e-3; a warning says if it is not.
    cache_size
        Memory for kernel values in MB; by default 4096, or a quarter of the machine's if less; on a
        GPU 93 % of its free memory.
    class_weight
        Factors of C for each class, as a dict or "balanced".
    max_iter
        Steps on two coefficients for each boundary, at most; -1 for no limit.
    decision_function_shape, break_ties
        As in scikit-learn.
    random_state
        Seed of the folds that probabilities are learned from.
    multi_class
        "ovo": one boundary for each pair of classes, most votes win. "ovr": one for each class
        against the rest, the highest score wins.
    stop
        "kkt": as described under tol. "gap": stop when the relative duality gap is at most tol; an error
        with kernels that may be indefinite.
    calibration
        None, "sigmoid" or "temperature": how `predict_proba` turns margins into probabilities.
    warm_start
        Start from the coefficients of the last fit if its labels were the same; more samples may follow.
    time_limit, n_jobs, verbose
        Seconds after which to stop with what was reached; threads, -1 or None for all cores; above 0,
        a progress bar on stderr.
    device
        "auto": a GPU if one is present and the problem is large enough, "cpu", or "cuda": an error if
        that is not possible. CUDA tensors are processed on their device; results are tensors on it.

    Attributes
    ----------
    classes_, kernel_, class_weight_, shape_fit_, n_features_in_
        Labels, (k,), the kernel object in use, the weight of each class, the shape of X.
    support_, support_vectors_, n_support_
        Rows with a coefficient, by class, (s,); those samples; how many of each class, (k,).
    dual_coef_, intercept_, coef_
        Coefficients in scikit-learn's layout, (k - 1, s), or (k, s) against the rest; biases, (p,);
        weights, (p, d), of a linear kernel.
    n_iter_, fit_status_
        Steps on each boundary, (p,); 0, or 1 if a fit stopped before its tolerance.
    violation_, dual_gap_, objective_
        The certificate of each boundary, (p,): upper bounds of the largest violation of the optimality
        conditions and of the relative duality gap (P - D) / max(|P|, 1), for the samples as given and
        with rounding included, and the dual objective. The gap is NaN for kernels that may be indefinite.
    margin_width_
        2 / |w| of each boundary, (p,): the distance between the two margins.
    stop_
        Why each boundary's fit ended: "tol", "max_iter", "stopped" or "stalled"; "gap" if the violation
        met its tolerance and the gap did not, "rounding" if errors of float64 may be larger than that.
    gram_
        Form and precision of the kernel matrix that was used, as text.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SVC(C=10, gamma=0.001).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.97
    >>> bool(model.violation_.max() <= 1e-3)
    True

    References
    ----------
    Cortes and Vapnik, Support-Vector Networks, Machine Learning 20 (1995). Fan, Chen and Lin, Working
    Set Selection Using Second Order Information, JMLR 6 (2005).
    """

    _: KW_ONLY
    C: float = real(1.0, above=0, also=(np.inf,))

    def _options(self) -> SvcOptions:
        return super()._options()._replace(C=self.C)
