"""The classifiers that suit a data set, not fitted; `candidates.py` builds each of them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.registry import DATA_KINDS, SUITE, TITLES, EstimatorRecord, SuiteModel
from separatrix.evaluation.candidates import BuildContext, build, is_too_slow, obstacle
from separatrix.evaluation.profile import DataProfile, profile
from separatrix.validation import require_choice, require_integer

MANY_ROWS = 3000  # from which a budget may not do for a kernel machine


class Suite(dict[str, Any]):
    """Estimators by title, not fitted.

    `left_out` holds the reasons for the others, by title; `not_tried` those that would suit but are too
    slow, which are in `left_out` as well.
    """

    def __init__(
        self, models: dict[str, Any], left_out: dict[str, str], not_tried: dict[str, str]
    ) -> None:
        super().__init__(models)
        self.left_out, self.not_tried = left_out, not_tried


def suite(
    X: Any,  # shape: (n, d), n strings, n graphs, `CheckedSamples`, or a `DataProfile`
    y: Any = None,  # shape: (n,)
    *,
    models: Sequence[str] | None = None,
    kind: str | None = None,
    folds: int = 3,
    random_state: int = 0,
    timed: bool = False,
) -> Suite:
    """Build the classifiers that suit the data, each a pipeline of preprocessing, search and model.

    Missing values become medians. Features are standardised, or divided by their largest absolute value
    if they are sparse or share one unit.

    Parameters
    ----------
    models
        Keys of the classifiers to build, from `keys()`; slow ones, and those that are close to others,
        are then included. None: all others that suit.
    kind
        "vectors", "text", "graphs", or "sequences" for strings of letters such as DNA. None: "text" for
        strings, "graphs" for graphs.
    folds
        Folds of the cross-validation that chooses parameters, inside the training rows.
    random_state
        Seed of the models that use random numbers.
    timed
        A time budget decides about slow models, which are then included.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> found = suite(*load_iris(return_X_y=True))
    >>> list(found)[:3]
    ['SVM, Gaussian', 'SVM, polynomial', 'kernel perceptron']
    >>> found.left_out["naive Bayes, multinomial"]
    'needs counts: integers of at least 0'
    """
    if kind is not None:
        require_choice("suite", "kind", kind, DATA_KINDS)
    sizes = X if isinstance(X, DataProfile) else profile(X, y, kind)
    require_integer("suite", "folds", folds, least=2)
    # fewer folds if the rarest class has few rows; some of them may be test rows
    folds = max(2, min(folds, sizes.smallest // 2))
    context = BuildContext(sizes, folds, random_state)
    if models is None:
        candidates = [
            pair
            for pair in SUITE.values()
            if pair[0].by_default
            and sizes.kind in pair[0].data_kinds
            and _steps_in(pair[0], sizes, timed)
        ]
    else:
        candidates = [_find(key) for key in models]
    built, left_out, not_tried = {}, {}, {}
    for model, record in candidates:
        reason = obstacle(model, sizes, requested=bool(models), timed=timed)
        if reason:
            left_out[model.title] = reason
            if is_too_slow(model, sizes):
                not_tried[model.title] = reason
        else:
            built[model.title] = build(model, record, context)
    if not built:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in left_out.items())
        raise DataError(f"no classifier suits these samples: {reasons}")
    return Suite(built, left_out, not_tried)


def _steps_in(model: SuiteModel, sizes: DataProfile, timed: bool) -> bool:
    """Whether a model that replaces another is needed."""
    if not model.instead_of:
        return True
    return is_too_slow(SUITE[model.instead_of][0], sizes) or (timed and sizes.n > MANY_ROWS)


def keys() -> list[str]:
    """List the keys that `models` accepts.

    >>> keys()[:4]
    ['svm', 'svm-poly', 'svm-string', 'svm-graph']
    """
    return list(SUITE)


def _find(key: str) -> tuple[SuiteModel, EstimatorRecord]:
    for model, record in SUITE.values():
        if key in (model.key, model.title):
            return model, record
    near = get_close_matches(key, [*SUITE, *TITLES.values()], n=1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    raise ParameterError("suite", "models", f"keys among {', '.join(SUITE)}{meant}", key)
