"""What the switch replaces in scikit-learn: the solvers and the searches inside its classes.

Validation, attributes, messages and everything else of a class stay scikit-learn's own. Nothing is
imported here: a function is replaced once its module is imported, and what replaces it, "module:name" of
this package, is imported at the first call.
"""

from __future__ import annotations

from typing import NamedTuple


class Worth(NamedTuple):
    """From which calls on separatrix is faster; as `benchmarks accel_worth` shows."""

    smallest: float  # seconds of scikit-learn for a call
    gain: float  # how many times faster separatrix serves calls of usual sizes

    def saved(self, seconds: float) -> float:
        """Seconds saved of so many."""
        return seconds * (1.0 - 1.0 / self.gain)


class Target(NamedTuple):
    """A method of a class, or a function of a module, and what replaces it."""

    owner: str  # class; empty for a function of the module
    name: str
    adapter: str  # "module:function" of this package, called with the same arguments
    label: str  # of the calls in the report
    cost: str  # function of `costs` that estimates the seconds of scikit-learn
    worth: Worth


def _methods(owners: str, names: str, module: str, cost: str, worth: Worth) -> list[Target]:
    return [
        Target(owner, name, f"{module}:{name.strip('_')}", f"{owner}.{_public(name)}", cost, worth)
        for owner in owners.split()
        for name in names.split()
    ]


def _public(name: str) -> str:
    """The public method that a private one does the work of.

    >>> _public("_dense_decision_function"), _public("_solve_svd"), _public("kneighbors")
    ('decision_function', 'fit', 'kneighbors')
    """
    for prefix in ("_dense_", "_sparse_"):
        name = name.removeprefix(prefix)
    return "fit" if name.startswith("_") else name


LOGISTIC = "LogisticRegression.fit"
LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
FIT = "_dense_fit _sparse_fit"
SEARCH = Worth(0.02, 5.0)  # all cells together
SVC_FIT, SVC_PREDICT = Worth(0.01, 3.0), Worth(0.003, 4.0)
LINEAR_SVC_FIT, LOGISTIC_FIT = Worth(0.03, 1.5), Worth(0.01, 1.7)
NEIGHBORS, DISCRIMINANT, BAYES = Worth(0.005, 2.0), Worth(0.01, 2.0), Worth(0.02, 2.0)
PREDICT = "_dense_predict _sparse_predict _dense_decision_function _sparse_decision_function"

TARGETS: dict[str, list[Target]] = {
    "sklearn.svm._classes": [
        *_methods("SVC NuSVC", FIT, "support_vectors", "fit", SVC_FIT),
        *_methods("SVC NuSVC", PREDICT, "support_vectors", "predict", SVC_PREDICT),
        Target(
            "", "_fit_liblinear", "linear:linear_svc", "LinearSVC.fit", "liblinear", LINEAR_SVC_FIT
        ),
    ],
    "sklearn.linear_model._logistic": [
        Target(
            "",
            "_logistic_regression_path",
            "linear:logistic_path",
            LOGISTIC,
            "logistic",
            LOGISTIC_FIT,
        ),
        Target(
            "", "_fit_liblinear", "linear:logistic_liblinear", LOGISTIC, "liblinear", LOGISTIC_FIT
        ),
    ],
    "sklearn.neighbors._classification": _methods(
        "KNeighborsClassifier",
        "kneighbors predict predict_proba",
        "neighbor_search",
        "kneighbors",
        NEIGHBORS,
    ),
    "sklearn.discriminant_analysis": [
        Target(LDA, "_solve_svd", "generative:lda_svd", f"{LDA}.fit", "svd", DISCRIMINANT),
        Target(QDA, "_solve_svd", "generative:qda_svd", f"{QDA}.fit", "svd", DISCRIMINANT),
    ],
    "sklearn.naive_bayes": [
        Target(
            "GaussianNB",
            "_joint_log_likelihood",
            "generative:gaussian_joint_log_likelihood",
            "GaussianNB.predict",
            "gaussian",
            BAYES,
        ),
        Target(
            "CategoricalNB",
            "_count",
            "generative:category_counts",
            "CategoricalNB.fit",
            "categories",
            BAYES,
        ),
        Target(
            "CategoricalNB",
            "_joint_log_likelihood",
            "generative:categorical_joint_log_likelihood",
            "CategoricalNB.predict",
            "categories",
            BAYES,
        ),
    ],
    "sklearn.neighbors._unsupervised": _methods(
        "NearestNeighbors", "kneighbors", "neighbor_search", "kneighbors", NEIGHBORS
    ),
}

FRAMES = "narwhals.stable.v2"
# Names in modules, or in their classes, that get another value, and "module:function" that makes it
VALUES: dict[str, dict[str, str]] = {
    "sklearn.base": {"BaseEstimator._get_param_names": "shortcuts:parameter_names"},
    "sklearn.externals.array_api_compat.common._aliases": {"_unique_kwargs": "shortcuts:cached"},
    "sklearn.model_selection._search": {"Parallel": "workers:parallel"},
    "sklearn.model_selection._validation": {"Parallel": "workers:parallel"},
    "sklearn.neighbors._classification": {"_mode": "deferred:row_modes"},
    "sklearn.utils._param_validation": {"signature": "shortcuts:cached"},
    f"{FRAMES}.dependencies": dict.fromkeys(
        ("is_into_dataframe", "is_into_series"), "shortcuts:skip_arrays"
    ),
    "scipy._lib._array_api": {"FunctionDoc": "deferred:plain_docs"},
    "joblib.parallel": {"BatchedCalls": "workers:batched_calls"},
}
