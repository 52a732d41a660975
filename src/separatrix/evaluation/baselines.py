"""What a comparison is measured against: the most frequent class, and trees of scikit-learn."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from separatrix.evaluation.comparison import BOOSTING, FOREST, MAJORITY
from separatrix.evaluation.profile import DataProfile

MANY_ROWS = 10_000  # from which threads are worth their waiting


class MajorityClassifier(DummyClassifier):
    """Predicts the most frequent class, with the shares of the classes, whatever the samples are."""

    def __init__(self) -> None:
        super().__init__(strategy="prior")


class BoostingClassifier(HistGradientBoostingClassifier):
    """Gradient boosting of scikit-learn; on few rows with one thread, since threads wait by spinning."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit it."""
        with _few_threads(len(X)):
            return super().fit(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> Any:
        """Predict classes."""
        with _few_threads(len(X)):
            return super().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Predict probabilities."""
        with _few_threads(len(X)):
            return super().predict_proba(X)


def _few_threads(rows: int) -> Any:
    return nullcontext() if rows > MANY_ROWS else threadpool_limits(1, user_api="openmp")


def make_baselines(profile: DataProfile, seed: int) -> dict[str, Any]:
    """Baselines that suit the data, not fitted.

    >>> from separatrix.evaluation.profile import profile
    >>> [len(make_baselines(profile(X, [0, 1]), 0)) for X in ([[0.0], [1.0]], ["a", "b"])]
    [3, 1]
    """
    found: dict[str, Any] = {MAJORITY: MajorityClassifier()}
    if profile.kind != "vectors":
        return found
    if not profile.sparse:
        found[BOOSTING] = BoostingClassifier(random_state=seed)
    jobs = -1 if profile.n > MANY_ROWS else None
    found[FOREST] = RandomForestClassifier(200, n_jobs=jobs, random_state=seed)
    return found
