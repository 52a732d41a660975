"""The classifiers that suit some data, ready to be compared. How each is built: `candidates.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.errors import DataError, ParameterError
from separatrix.evaluation.candidates import CANDIDATES, BuildContext, Candidate
from separatrix.evaluation.profile import KINDS, DataProfile, profile
from separatrix.validation import require_choice, require_integer


class Suite(dict[str, Any]):
    """Estimators by name, none of them fitted; `left_out` has reasons for the others, by name."""

    def __init__(self, models: dict[str, Any], left_out: dict[str, str]) -> None:
        super().__init__(models)
        self.left_out = left_out


def suite(
    X: Any,  # shape: (n, d), or n strings, or n graphs
    y: Any,  # shape: (n,)
    *,
    models: Sequence[str] | None = None,
    kind: str | None = None,
    folds: int = 3,
    random_state: int = 0,
) -> Suite:
    """The classifiers that suit the data, each a pipeline that prepares, tunes and learns.

    Missing values become medians. Features are divided by their standard deviation after their mean
    was subtracted, or, where they are sparse or share one unit, by their largest size.

    Parameters
    ----------
    models
        Keys of those wanted, from `keys()`; they are then left out only where they cannot work. None:
        all that suit.
    kind
        "vectors", "text", "sequences" for strings whose letters matter, such as DNA, or "graphs".
        None: text where X is strings, graphs where it is graphs.
    folds
        Parts of the cross-validation that chooses parameters, inside the rows trained on.
    random_state
        Seed of the models that draw.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = suite(*load_iris(return_X_y=True))
    >>> list(found)[:3]
    ['SVM, Gaussian', 'SVM, polynomial', 'kernel perceptron']
    >>> found.left_out["naive Bayes, multinomial"]
    'needs counts: whole numbers of at least 0'
    """
    require_integer("suite", "folds", folds, least=2)
    if kind is not None:
        require_choice("suite", "kind", kind, KINDS)
    data_profile = profile(X, y, kind)
    terms = BuildContext(data_profile, _folds(data_profile, folds), random_state)
    suited = [candidate for candidate in CANDIDATES if data_profile.kind in candidate.kinds]
    wanted = suited if models is None else [_candidate(key) for key in models]
    built, left_out = {}, {}
    for candidate in wanted:
        reason = candidate.cannot(data_profile) or (
            "" if models else candidate.too_slow(data_profile)
        )
        if reason:
            left_out[candidate.name] = reason
        else:
            built[candidate.name] = candidate.build(terms)
    if not built:
        reasons = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise DataError(f"no classifier suits these samples: {reasons}")
    return Suite(built, left_out)


def keys() -> list[str]:
    """What `models` may name.

    >>> keys()[:4]
    ['svm', 'svm-poly', 'svm-string', 'svm-graph']
    """
    return [candidate.key for candidate in CANDIDATES]


def _candidate(key: str) -> Candidate:
    for candidate in CANDIDATES:
        if key in (candidate.key, candidate.name):
            return candidate
    raise ParameterError("suite", "models", f"of {', '.join(keys())}", key)


def _folds(data_profile: DataProfile, folds: int) -> int:
    """Fewer where the rarest class has fewer rows; some of them may be set aside for testing."""
    return max(2, min(folds, data_profile.smallest // 2))
