"""What the switch replaces in scikit-learn: the solvers and the searches inside its classes.

Validation, attributes, messages and everything else of a class stay scikit-learn's own. Nothing is
imported here: a function is replaced once its module is imported, and what replaces it, "module:name" of
this package, is imported at the first call.
"""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A method of a class, or a function of a module, and what replaces it."""

    owner: str  # class; empty for a function of the module
    name: str
    adapter: str  # "module:function" of this package, called with the same arguments
    label: str  # of the calls in the report
    cost: str  # function of `costs` that estimates the seconds of scikit-learn


def _methods(owners: str, names: str, module: str, cost: str) -> list[Target]:
    return [
        Target(owner, name, f"{module}:{name.strip('_')}", f"{owner}.{_public(name)}", cost)
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
CATEGORICAL = "CategoricalNB"
LDA, QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
FIT = "_dense_fit _sparse_fit"
PREDICT = "_dense_predict _sparse_predict _dense_decision_function _sparse_decision_function"

TARGETS: dict[str, list[Target]] = {
    "sklearn.svm._classes": [
        *_methods("SVC NuSVC", FIT, "support_vectors", "fit"),
        *_methods("SVC NuSVC", PREDICT, "support_vectors", "predict"),
        Target("", "_fit_liblinear", "linear:linear_svc", "LinearSVC.fit", "liblinear"),
    ],
    "sklearn.linear_model._logistic": [
        Target("", "_logistic_regression_path", "linear:logistic_path", LOGISTIC, "logistic"),
        Target("", "_fit_liblinear", "linear:logistic_liblinear", LOGISTIC, "liblinear"),
    ],
    "sklearn.neighbors._classification": _methods(
        "KNeighborsClassifier", "kneighbors predict predict_proba", "neighbor_search", "kneighbors"
    ),
    "sklearn.discriminant_analysis": [
        Target(
            "LinearDiscriminantAnalysis", "_solve_svd", "generative:lda_svd", f"{LDA}.fit", "svd"
        ),
        Target(
            "QuadraticDiscriminantAnalysis", "_solve_svd", "generative:qda_svd", f"{QDA}.fit", "svd"
        ),
    ],
    "sklearn.naive_bayes": [
        Target(
            "GaussianNB",
            "_joint_log_likelihood",
            "generative:gaussian_joint_log_likelihood",
            "GaussianNB.predict",
            "gaussian",
        ),
        Target(
            "CategoricalNB",
            "_count",
            "generative:category_counts",
            f"{CATEGORICAL}.fit",
            "categories",
        ),
        Target(
            "CategoricalNB",
            "_joint_log_likelihood",
            "generative:categorical_joint_log_likelihood",
            f"{CATEGORICAL}.predict",
            "categories",
        ),
    ],
    "sklearn.neighbors._unsupervised": _methods(
        "NearestNeighbors", "kneighbors", "neighbor_search", "kneighbors"
    ),
}

# Names of modules that get another class: the name, and "module:function" that makes it from the old one
CLASSES: dict[str, tuple[str, str]] = {
    "sklearn.model_selection._search": ("Parallel", "workers:parallel"),
    "sklearn.model_selection._validation": ("Parallel", "workers:parallel"),
    "joblib.parallel": ("BatchedCalls", "workers:batched_calls"),
}
