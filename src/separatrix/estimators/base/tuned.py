"""Parameters chosen by a search, and models without their search.

A search, `GridSearchCV` or one of this package, may be the last step of a pipeline. `KNeighborsCV` is a
search for the number of neighbours.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import ParameterError
from separatrix.estimators.base.parameters import Estimator, integer, with_parameters
from separatrix.estimators.least_squares import LeastSquaresClassifier
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.estimators.neighbors import KNeighborsClassifier
from separatrix.runtime.device import as_numpy

MOST_LEFT_OUT = 2000  # samples that choose the smoothing of votes


@with_parameters
class KNeighborsCV(ClassifierMixin, Estimator):
    """Nearest neighbours whose number is chosen by leave-one-out.

    One search gives the errors of all numbers; the smallest best one is used. Votes that smooth the
    probabilities are chosen by the log loss of up to 2,000 samples left out, unless the estimator has some.

    Parameters
    ----------
    k_max
        The largest number to choose from. At least 1; of n samples at most n - 1 are neighbours.
    widen
        How often the largest number may be doubled while it is the best. At least 0.
    estimator
        A `KNeighborsClassifier` with all other parameters. None: the default.

    Attributes
    ----------
    best_k_, best_score_
        The number chosen, and its leave-one-out accuracy.
    k_max_
        The largest number tried.
    estimator_
        The `KNeighborsClassifier` with that number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> model = KNeighborsCV().fit(*load_iris(return_X_y=True))
    >>> model.best_k_, model.estimator_.n_neighbors
    (19, 19)
    """

    k_max: int = integer(30, least=1)
    _: KW_ONLY
    widen: int = integer(0, least=0)
    estimator: KNeighborsClassifier | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store samples X, (n, d), with labels y, (n,), and choose the number of neighbours."""
        self._check_parameters()
        model = self._model()
        rows = X.shape[0] if hasattr(X, "shape") else len(X)
        for doubled in range(int(self.widen) + 1):
            self.k_max_ = max(1, min(int(self.k_max) * 2**doubled, rows - 1))
            model.set_params(k_max=self.k_max_).fit(X, y, sample_weight=sample_weight)
            self.best_k_ = int(model.best_k_)
            if self.best_k_ < self.k_max_ or self.k_max_ == rows - 1:
                break
        self.best_score_ = float(model.accuracy_by_k_[self.best_k_ - 1])
        self.estimator_ = model.set_params(n_neighbors=self.best_k_, k_max=None)
        if model.smoothing == 0 and sample_weight is None:
            model.set_params(smoothing=_choose_smoothing(model, X, y))
        self.classes_ = model.classes_
        if hasattr(model, "n_features_in_"):  # lists of objects have none
            self.n_features_in_ = model.n_features_in_
        return self

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,)."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        """The share of the votes that each class has, (n, k)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._model()).input_tags
        return tags

    def _model(self) -> KNeighborsClassifier:
        if self.estimator is None:
            return KNeighborsClassifier()
        if not isinstance(self.estimator, KNeighborsClassifier):
            must_be = "a KNeighborsClassifier or None"
            raise ParameterError("KNeighborsCV", "estimator", must_be, self.estimator)
        copy: KNeighborsClassifier = clone(self.estimator)
        return copy


def _choose_smoothing(model: KNeighborsClassifier, X: Any, y: Any) -> float:
    """The votes to add to those of k neighbours under which left-out labels are most probable.

    A sample's own class has v of its k neighbours: its probability is (v + s / classes) / (k + s).
    """
    k, labels = int(model.n_neighbors), np.asarray(y)
    if not hasattr(X, "shape") or len(X.shape) != 2 or labels.ndim != 1:
        return 1.0
    step = -(-X.shape[0] // MOST_LEFT_OUT)
    rows = np.arange(0, X.shape[0], step)
    found = as_numpy(model.kneighbors(X[rows], min(k + 1, X.shape[0]), return_distance=False))
    own = found == rows[:, None]
    own[~own.any(axis=1), -1] = True  # a copy of the sample stands for it
    others = found[~own].reshape(len(rows), -1)
    votes = (labels[others] == labels[rows][:, None]).sum(axis=1)

    def log_loss(power: float) -> float:
        s = 10.0**power
        return float(-np.log((votes + s / len(model.classes_)) / (k + s)).mean())

    # few rows: not below 0.1
    best = minimize_scalar(log_loss, bounds=(-1.0, 2.0), method="bounded")
    return float(f"{10.0 ** float(best.x):.3g}")


def chosen_params(model: Any) -> dict[str, Any]:
    """Parameters that a fitted search, or the last step of a pipeline, chose.

    >>> from sklearn.datasets import load_iris
    >>> chosen_params(KNeighborsCV().fit(*load_iris(return_X_y=True)))
    {'n_neighbors': 19}
    """
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if hasattr(last, "best_params_"):
        return {name.split("__")[-1]: value for name, value in last.best_params_.items()}
    if hasattr(last, "best_kernel_"):
        return {"kernel": last.best_kernel_}
    if isinstance(last, KNeighborsCV):
        return {"n_neighbors": last.best_k_}
    if isinstance(last, LeastSquaresClassifier) and last._searches:
        return {"ridge": float(last.ridge_)}
    if isinstance(last, LogisticRegression) and isinstance(last.C, str):
        return {"C": float(last.C_)}
    return {}


def edge_params(model: Any) -> dict[str, str]:
    """Parameters whose chosen value is the "smallest" or "largest" that a search tried.

    >>> from sklearn.datasets import load_iris
    >>> edge_params(KNeighborsCV(k_max=19).fit(*load_iris(return_X_y=True)))
    {'n_neighbors': 'largest'}
    """
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, KNeighborsCV):
        return {"n_neighbors": "largest"} if last.best_k_ == last.k_max_ > 1 else {}
    return {name.split("__")[-1]: end for name, end in getattr(last, "edges_", {}).items()}


def best_model(model: Any) -> Any:
    """The best model of a fitted search, in the same pipeline, without refitting.

    Unlike a search, it can be saved to a model file.

    >>> from sklearn.datasets import load_iris
    >>> best_model(KNeighborsCV().fit(*load_iris(return_X_y=True)))
    KNeighborsClassifier(n_neighbors=19, smoothing=...)
    """
    if isinstance(model, Pipeline):
        *before, (name, last) = model.steps
        found = best_model(last)
        if isinstance(found, Pipeline):  # of a feature map and a machine
            return Pipeline([*before, *found.steps])
        return Pipeline([*before, (name, found)])
    for found in ("best_estimator_", "estimator_"):
        if hasattr(model, found) and (found == "best_estimator_" or hasattr(model, "best_score_")):
            return getattr(model, found)
    return model
