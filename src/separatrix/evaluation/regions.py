"""Which class a classifier gives to every place of the plane, and where it gives none.

The plane is cut into equal cells, and the middle of each is classified, so a share of cells is a
share of area. Rules that put binary answers together may contradict themselves: such cells have
code -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Codes, Flags, Matrix, Signs, Vector, require_choice, require_real
from separatrix.compute.blocks import default_budget, in_words, row_blocks
from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.solvers.problems import coding

RULES = {
    "predict": "the class it predicts",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}
INDETERMINATE = -1
SMALLEST_GRID, LARGEST_GRID = 10, 2000
POINTS_AT_ONCE = 2**14  # keeps what a kernel machine or a nearest neighbour computes small


@dataclass(frozen=True, eq=False)
class Regions:
    """The plane of two features, cut into cells, with the class of each."""

    name: str
    """Which classifier."""
    rule: str
    """How its answers were put together, one of `RULES`."""
    labels: Any  # shape: (k,)
    """What codes stand for."""
    first: Vector  # shape: (g,)
    """First feature in the middle of each column of cells."""
    second: Vector  # shape: (g,)
    """Second feature in the middle of each row of cells."""
    codes: Codes  # shape: (g, g)
    """Class code of the cell at second[i], first[j]; -1 where the rule gives none."""
    fields: Matrix  # shape: (p, g, g)
    """One for each boundary, 0 on it: for a class, its score less the best other; for a binary
    problem, its score. +1 and -1 for a model without scores."""

    @property
    def share(self) -> dict[Any, float]:
        """Share of the area that each label has, and under None the indeterminate part.

        They are cells over all cells, so they sum to 1.
        """
        cells = np.bincount(self.codes.ravel() + 1, minlength=len(self.labels) + 1)
        shares = (cells / self.codes.size).tolist()
        return {**dict(zip(self.labels.tolist(), shares[1:], strict=True)), None: shares[0]}

    @property
    def indeterminate(self) -> float:
        """Share of the area that the rule gives to no class."""
        return self.share[None]

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain values, the indeterminate part last; shares in per cent."""
        return [
            {"region": "indeterminate" if label is None else label, "share": 100 * share}
            for label, share in self.share.items()
        ]

    def __str__(self) -> str:
        ranges = " x ".join(
            f"[{side[0]:.3g}, {side[-1]:.3g}]" for side in (self.first, self.second)
        )
        lines = [
            f"{self.name}, {RULES[self.rule]}: "
            f"share of {len(self.first)} x {len(self.second)} cells over {ranges}",
            f"{'region':<24}{'area %':>8}",
        ]
        lines += [f"{row['region']!s:<24}{row['share']:>8.2f}" for row in self.rows()]
        return "\n".join(lines)


def decision_regions(
    model: Any,
    X: Any,  # shape: (n, 2)
    y: Any,  # shape: (n,)
    *,
    rule: str = "predict",
    grid: int = 300,
    margin: float = 0.1,
) -> Regions:
    """Regions of a classifier around samples of two features.

    Parameters
    ----------
    model
        Any classifier. Every rule but "predict" trains clones of it on labels +1 and -1.
    X, y
        Samples and labels: they say how much of the plane is cut into cells, and train what has to
        be trained.
    rule
        "predict": what the model says, after a fit of a clone where it is not fitted.
        "rest": each class but the last against the rest, k - 1 boundaries. A place belongs to the
        one class that claims it, to the last class if none does, and to no class if several do.
        "each": each class against the rest, k boundaries; exactly one class must claim a place.
        "pairs": each class against each other, k (k - 1) / 2 boundaries; one class must have more
        votes than any other.
    grid
        Cells along each side. From 10 to 2000.
    margin
        Room around the samples, as a share of their range. At least 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> decision_regions(LinearSVC(), X[:, 2:], y).indeterminate
    0.0
    >>> round(decision_regions(LinearSVC(), X[:, 2:], y, rule="rest").indeterminate, 2)
    0.03

    References
    ----------
    Duda and Hart, Pattern Classification and Scene Analysis, section 5.2 (1973).
    """
    _check_parameters(model, rule, grid, margin)
    X, y = planar_samples("decision_regions", X, y)
    first, second = (_middles(column, grid, margin) for column in X.T)
    places = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    decide = _by_predict if rule == "predict" else _by_boundaries
    found = decide(model, X, y, places, rule)
    return Regions(
        name=type(model).__name__,
        rule=rule,
        labels=found.labels,
        first=first,
        second=second,
        codes=found.codes.reshape(grid, grid),
        fields=found.fields.reshape(-1, grid, grid),
    )


def planar_samples(owner: str, X: Any, y: Any) -> tuple[Matrix, Any]:
    """Samples of two features, (n, 2), and their labels, (n,)."""
    X, y = check_X_y(X, y, dtype=np.float64)
    if X.shape[1] != 2:
        raise DataError(
            f"{owner} needs samples of 2 features; got {X.shape[1]}: take two columns, or reduce "
            "them first with FisherDiscriminant or PCA"
        )
    check_classification_targets(y)
    return X, np.array(y.tolist()) if y.dtype.kind == "O" else y


class _Found(NamedTuple):
    """The class of each place, as a rule finds it."""

    labels: Any  # shape: (k,)
    codes: Codes  # shape: (m,)
    fields: Matrix  # shape: (p, m)


def _by_predict(model: Any, X: Matrix, y: Any, places: Matrix, _rule: str) -> _Found:
    fitted = _fitted(model, X, y)
    guesses = _in_blocks(fitted.predict, places)
    known = np.asarray(getattr(fitted, "classes_", guesses))
    if (known.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
        raise DataError(
            f"{type(model).__name__} knows labels such as {known[0]!r}, but y holds labels such as "
            f"{y[0]!r}; pass the labels it was fitted with"
        )
    labels = np.unique(np.concatenate([known, y]))
    k = len(labels)
    _require_memory(1 if k == 2 else k, len(places))
    codes = np.searchsorted(labels, guesses)
    scores = _scores(fitted, labels, places)
    of_classes = range(1, 2) if k == 2 else range(k)
    fields = np.array([_field(scores, c, codes == c) for c in of_classes])
    return _Found(labels, codes, fields)


def _by_boundaries(model: Any, X: Matrix, y: Any, places: Matrix, rule: str) -> _Found:
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise DataError(
            f"rule={rule!r} needs samples of at least 2 classes; got one, {labels.tolist()[0]!r}"
        )
    sides = _sides(rule, len(labels))
    _require_memory(sides.shape[1], len(places))
    claims = np.empty((sides.shape[1], len(places)), dtype=bool)
    fields = np.empty(claims.shape, dtype=np.float32)
    for number, side in enumerate(sides.T):
        targets = side[codes].astype(np.intp)
        taking_part = targets != 0
        fitted = clone(model).fit(X[taking_part], targets[taking_part])
        claims[number] = _in_blocks(fitted.predict, places) == 1
        scores = _scores(fitted, np.array([-1, 1]), places)
        fields[number] = _field(scores, 1, claims[number])
    put_together = _majority if rule == "pairs" else _only_claim
    return _Found(labels, put_together(claims, sides), fields)


def _sides(rule: str, k: int) -> Signs:
    """Side of each class in each binary problem, (k, p)."""
    if rule == "pairs":
        return coding(k, "ovo")
    against_rest = (2 * np.eye(k, dtype=np.int8) - 1).astype(np.int8)
    return against_rest[:, :-1] if rule == "rest" else against_rest


def _majority(claims: Flags, sides: Signs) -> Codes:
    """The class with the most votes, unless another has as many, (m,)."""
    votes = (sides > 0).astype(np.intp) @ claims + (sides < 0).astype(np.intp) @ ~claims  # (k, m)
    alone = (votes == votes.max(axis=0)).sum(axis=0) == 1
    return np.where(alone, votes.argmax(axis=0), INDETERMINATE)


def _only_claim(claims: Flags, sides: Signs) -> Codes:
    """The class that alone claims a place; where none does, the one without a boundary, (m,)."""
    k, p = sides.shape
    count = claims.sum(axis=0)
    nobody = k - 1 if p < k else INDETERMINATE
    codes = np.where(count == 1, claims.argmax(axis=0), INDETERMINATE)
    return np.where(count == 0, nobody, codes)


def _scores(fitted: Any, labels: Any, places: Matrix) -> Matrix | None:
    """A score for each label, (m, k), where the model has them; of two, their difference is its own."""
    score = getattr(fitted, "decision_function", None) or getattr(fitted, "predict_proba", None)
    if score is None or not np.array_equal(getattr(fitted, "classes_", ()), labels):
        return None
    S = _in_blocks(score, places)
    if S.ndim == 1:
        S = np.stack([-S / 2, S / 2], axis=1)
    return S if S.shape[1] == len(labels) > 1 else None


def _field(scores: Matrix | None, label: int, inside: Flags) -> Vector:
    """By how much a label leads, (m,); its own steps where scores do not say what predict says."""
    steps: Vector = np.where(inside, 1.0, -1.0).astype(np.float32)
    if scores is None:
        return steps
    lead = scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)
    told = np.isfinite(lead).all() and np.array_equal(lead > 0, inside)
    return lead.astype(np.float32) if told else steps


def _fitted(model: Any, X: Matrix, y: Any) -> Any:
    """The model where it is fitted, else a clone that is."""
    return model if not hasattr(model, "fit") or _is_fitted(model) else clone(model).fit(X, y)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _in_blocks(answer: Any, places: Matrix) -> Any:
    return np.concatenate(
        [np.asarray(answer(places[block])) for block in row_blocks(len(places), POINTS_AT_ONCE)]
    )


def _middles(column: Vector, grid: int, margin: float) -> Vector:
    """Middles of the cells along one side, (g,)."""
    low, high = column.min(), column.max()
    room = margin * (high - low) if high > low else 0.5  # one value still has a plane around it
    edges = np.linspace(low - room, high + room, grid + 1)
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _check_parameters(model: Any, rule: str, grid: Any, margin: float) -> None:
    owner = "decision_regions"
    require_choice(owner, "rule", rule, RULES)
    require_real(owner, "margin", margin, least=0)
    whole = isinstance(grid, Integral) and not isinstance(grid, bool)
    if not whole or not SMALLEST_GRID <= int(grid) <= LARGEST_GRID:
        raise ParameterError(
            owner, "grid", f"an integer from {SMALLEST_GRID} to {LARGEST_GRID}", grid
        )
    if not hasattr(model, "predict"):
        raise ParameterError(owner, "model", "a classifier with predict", model)
    if rule != "predict" and not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise ParameterError(
            owner, "model", f"a classifier that can be cloned and fitted for rule={rule!r}", model
        )


def _require_memory(boundaries: int, places: int) -> None:
    needed, budget = 5 * boundaries * places, default_budget()  # a float32 and a flag for each
    if needed > budget:
        raise MemoryBudgetError(
            f"{boundaries} boundaries on {places} cells take {in_words(needed)}, above the "
            f"{in_words(budget)} there are; ask for a smaller grid"
        )
