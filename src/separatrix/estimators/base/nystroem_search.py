"""A linear SVM on Nystroem features, for more rows than a kernel matrix serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from separatrix.data.splits import subsample
from separatrix.estimators.base.grid_widening import SEARCH_TOL, WIDEN
from separatrix.estimators.base.parameters import Estimator, integer, with_parameters
from separatrix.estimators.feature_maps import Nystroem
from separatrix.estimators.linear_svc import LinearSVC
from separatrix.estimators.svc import SVC
from separatrix.estimators.svc_cv import SVCCV


@with_parameters
class NystroemSVCCV(ClassifierMixin, Estimator):
    """Linear SVM on Nystroem features; the SVM itself chooses C and gamma on some of the rows.

    Parameters
    ----------
    n_components
        Landmarks, and so features.
    max_rows
        Rows, in the proportions of the classes, on which `SVCCV` chooses C and gamma.
    Cs, cv
        As in `SVCCV`; its grid widens.
    class_weight
        As in `SVC`.
    random_state
        Seed of the rows and of the landmarks.

    Attributes
    ----------
    best_params_, best_score_, edges_, cv_results_
        Of the search on some of the rows.
    best_estimator_
        The pipeline of `Nystroem` and `LinearSVC`, fitted to all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NystroemSVCCV(n_components=200, max_rows=500, cv=2, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    n_components: int = integer(500, least=1)
    _: KW_ONLY
    max_rows: int = integer(3000, least=2)
    Cs: Sequence[float] = (0.1, 1.0, 10.0)
    cv: Any = 3
    class_weight: Any = None
    random_state: int = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Choose on some samples of X, (n, d), with labels y, (n,), and train on all of them."""
        self._check_parameters()
        y, n = np.asarray(y), X.shape[0]
        rows = np.arange(n)
        if n > self.max_rows:
            rows = subsample(y, self.max_rows, seed=self.random_state)
        weighted = SVC(class_weight=self.class_weight)
        search = SVCCV(
            self.Cs,
            "scale",
            cv=self.cv,
            widen=WIDEN,
            search_tol=SEARCH_TOL,
            estimator=weighted,
        )
        search.fit(X[rows], y[rows])
        self.best_params_, self.best_score_ = search.best_params_, search.best_score_
        self.cv_results_, self.edges_ = search.cv_results_, search.edges_
        landmarks = min(self.n_components, n)
        gamma, C = self.best_params_["gamma"], self.best_params_["C"]
        features = Nystroem(gamma=gamma, n_components=landmarks, random_state=self.random_state)
        how: dict[str, Any] = {"class_weight": self.class_weight, "random_state": self.random_state}
        machine = LinearSVC(C=C, **how)
        self.best_estimator_ = Pipeline([("map", features), ("model", machine)]).fit(X, y)
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Class of each sample, (n,)."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def decision_function(self, X: Any) -> Any:
        """Scores of the linear machine."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
