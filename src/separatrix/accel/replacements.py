"""What the switch replaces in scikit-learn: the solvers and the searches inside its classes.

Validation, attributes, messages and everything else of a class stay scikit-learn's own. Nothing is
imported here: a function is replaced once its module is imported, and what replaces it, "module:name" of
this package, is imported at the first call that is served.
"""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """A method of a class of scikit-learn, and what replaces it."""

    owner: str  # class
    name: str
    adapter: (
        str  # "module:function" of this package, called with the original method and its arguments
    )
    label: str  # of the calls in the report
    cost: str  # function of `costs` that estimates the seconds of scikit-learn


PREDICT = ("predict", "decision_function")

TARGETS: dict[str, list[Target]] = {
    "sklearn.svm._classes": [
        *(
            Target("SVC", f"_{form}_fit", f"support_vectors:{form}_fit", "SVC.fit", "svc_fit")
            for form in ("dense", "sparse")
        ),
        *(
            Target("SVC", f"_{form}_{name}", f"support_vectors:{name}", f"SVC.{name}", "svc_scores")
            for form in ("dense", "sparse")
            for name in PREDICT
        ),
    ],
    "sklearn.neighbors._classification": [
        Target(
            "KNeighborsClassifier",
            name,
            f"neighbor_votes:{name}",
            f"KNeighborsClassifier.{name}",
            "neighbors",
        )
        for name in ("predict", "predict_proba")
    ],
}

# Names in modules that get another value, and "module:function" that makes it
VALUES: dict[str, dict[str, str]] = {
    "sklearn.model_selection._search": {"Parallel": "workers:parallel"},
    "sklearn.model_selection._validation": {"Parallel": "workers:parallel"},
    "joblib.parallel": {"BatchedCalls": "workers:batched_calls"},
}
