"""Decision regions of a classifier in the plane.

The plane is divided into equal cells, and the centre of each is classified, so a fraction of cells is a
fraction of the area. Rules that combine binary classifiers may be contradictory: such cells have code -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.evaluation.lattice import Lattice, in_blocks, predict_on
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.solvers.decomposition import coding, pairs
from separatrix.types import Codes, Flags, Matrix, Signs, Vector
from separatrix.validation import require_choice, require_real

RULES = {
    "predict": "the predicted class",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}
INDETERMINATE = -1
SMALLEST_GRID, LARGEST_GRID = 10, 2000
LARGEST = float(np.finfo(np.float32).max)
LEAST = 1e-6  # lead of a class that wins by votes, not against each other one


class RegionClassifier(NamedTuple):
    """A fitted classifier, and the rows that it was trained on."""

    fitted: Any
    rows: Codes


@dataclass(frozen=True, eq=False)
class Regions:
    """The plane of two features, divided into cells, with the class of each."""

    name: str
    """Class name of the classifier."""
    rule: str
    """How predictions are combined, one of `RULES`."""
    labels: Any  # shape: (k,)
    """Labels of the codes."""
    first: Vector  # shape: (g,)
    """First feature at the centre of each column of cells."""
    second: Vector  # shape: (g,)
    """Second feature at the centre of each row of cells."""
    codes: Codes  # shape: (g, g)
    """Class code of the cell at second[i], first[j]; -1 if the rule gives no class."""
    fields: Matrix  # shape: (p, g, g)
    """One for each boundary, 0 on it: for a class, its score less the best other, or where pairs vote
    its score against the winner; for a binary problem, its score. +1 and -1 for a model without scores."""
    machines: tuple[RegionClassifier, ...] = ()
    """The model itself, or with another rule one clone per boundary."""

    def codes_at(self, positions: Any) -> Codes:
        """Classify other positions, (m, 2), by the same rule; -1 if it gives no class."""
        if not self.machines:
            raise DataError(
                "these regions were not made by decision_regions: they have no classifier"
            )
        positions = np.asarray(positions, dtype=np.float64)
        guesses = [in_blocks(machine.fitted.predict, positions) for machine in self.machines]
        if self.rule == "predict":
            return np.asarray(np.searchsorted(self.labels, guesses[0]))
        claims = np.stack([guess == 1 for guess in guesses])
        return _combine(claims, self.rule, len(self.labels))

    @property
    def share(self) -> dict[Any, float]:
        """Fraction of the area by label, with the indeterminate part under None; they sum to 1."""
        cells = np.bincount(self.codes.ravel() + 1, minlength=len(self.labels) + 1)
        shares = (cells / self.codes.size).tolist()
        return {**dict(zip(self.labels.tolist(), shares[1:], strict=True)), None: shares[0]}

    @property
    def indeterminate(self) -> float:
        """Fraction of the area without a class."""
        return self.share[None]

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain values, the indeterminate part last; areas in per cent."""
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
    window: tuple[float, float, float, float] | None = None,
) -> Regions:
    """Compute the decision regions of a classifier around samples of two features.

    Parameters
    ----------
    model
        Any classifier. Every rule but "predict" trains clones of it on labels +1 and -1.
    X, y
        Samples and labels: they define the window, and train the model or its clones.
    rule
        "predict": the predictions of the model, or of a fitted clone if it is not fitted.
        "rest": each class but the last against the rest, k - 1 boundaries. A position belongs to
        the one class that claims it, to the last class if none does, and to no class if several do.
        "each": each class against the rest, k boundaries; exactly one class must claim a position.
        "pairs": each class against each other, k (k - 1) / 2 boundaries; one class must have more
        votes than any other.
    grid
        Cells along each side. From 10 to 2000.
    margin
        Margin around the samples, relative to their range. At least 0.
    window
        (x0, x1, y0, y1): the part of the plane to divide into cells. None: the range of the samples and
        the margin.

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
    sides = _ranges(X, margin) if window is None else _check_window(window)
    lattice = Lattice(*(_centres(low, high, grid) for low, high in sides))
    decide = _by_predict if rule == "predict" else _by_boundaries
    found = decide(model, X, y, lattice, rule)
    return Regions(
        name=type(model).__name__,
        rule=rule,
        labels=found.labels,
        first=lattice.first,
        second=lattice.second,
        codes=found.codes.reshape(grid, grid),
        fields=found.fields.reshape(-1, grid, grid),
        machines=found.machines,
    )


def planar_samples(owner: str, X: Any, y: Any) -> tuple[Matrix, Any]:
    """Check samples of two features, (n, 2), and their labels, (n,)."""
    X, y = check_X_y(X, y, dtype=np.float64)
    if X.shape[1] != 2:
        raise DataError(
            f"{owner} needs samples of 2 features; got {X.shape[1]}: take two columns, or reduce "
            "them first with FisherDiscriminant or PCA"
        )
    check_classification_targets(y)
    return X, np.array(y.tolist()) if y.dtype.kind == "O" else y


class _RuleResult(NamedTuple):
    """The class of each position by a rule."""

    labels: Any  # shape: (k,)
    codes: Codes  # shape: (m,)
    fields: Matrix  # shape: (p, m)
    machines: tuple[RegionClassifier, ...]


def _by_predict(model: Any, X: Matrix, y: Any, lattice: Lattice, _rule: str) -> _RuleResult:
    fitted = _fit_if_needed(model, X, y)
    guesses, values, pair_scores = _predict_lattice(fitted, lattice)
    known = np.asarray(getattr(fitted, "classes_", guesses))
    if (known.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
        raise DataError(
            f"{type(model).__name__} has labels such as {known[0]!r}, but y has labels such as "
            f"{y[0]!r}; pass the labels it was fitted with"
        )
    labels = np.unique(np.concatenate([known, y]))
    k = len(labels)
    _require_memory(1 if k == 2 else k, len(guesses))
    codes = np.searchsorted(labels, guesses)
    if pair_scores is not None and len(known) == k:
        fields = np.array([_pair_lead(pair_scores, c, codes, k) for c in range(k)])
    else:
        scores = _scores(fitted, labels, values)
        of_classes = range(1, 2) if k == 2 else range(k)
        fields = np.array([_field(scores, c, codes == c) for c in of_classes])
    return _RuleResult(labels, codes, fields, (RegionClassifier(fitted, np.arange(len(X))),))


def _by_boundaries(model: Any, X: Matrix, y: Any, lattice: Lattice, rule: str) -> _RuleResult:
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise DataError(
            f"rule={rule!r} needs samples of at least 2 classes; got one, {labels.tolist()[0]!r}"
        )
    sides = _sides(rule, len(labels))
    positions = len(lattice.first) * len(lattice.second)
    _require_memory(sides.shape[1], positions)
    claims = np.empty((sides.shape[1], positions), dtype=bool)
    fields = np.empty(claims.shape, dtype=np.float32)
    machines = []
    for number, side in enumerate(sides.T):
        targets = side[codes].astype(np.intp)
        rows = np.flatnonzero(targets)
        fitted = clone(model).fit(X[rows], targets[rows])
        guesses, values, _ = _predict_lattice(fitted, lattice)
        claims[number] = guesses == 1
        scores = _scores(fitted, np.array([-1, 1]), values)
        fields[number] = _field(scores, 1, claims[number])
        machines.append(RegionClassifier(fitted, rows))
    return _RuleResult(labels, _combine(claims, rule, len(labels)), fields, tuple(machines))


def _predict_lattice(fitted: Any, lattice: Lattice) -> tuple[Any, Any, Matrix | None]:
    """Return the label of each position, (m,), the scores, (m,) or (m, k), or None, and those of pairs."""
    found = predict_on(fitted, lattice)
    if found is not None:
        return fitted.classes_[found.codes], found.values, found.pairs
    positions = lattice.positions
    score = getattr(fitted, "decision_function", None) or getattr(fitted, "predict_proba", None)
    guesses = in_blocks(fitted.predict, positions)
    return guesses, None if score is None else in_blocks(score, positions), None


def _combine(claims: Flags, rule: str, k: int) -> Codes:
    """Return the class of each position, (m,), from the claims of all boundaries, (p, m)."""
    rule_function = _majority if rule == "pairs" else _only_claim
    return rule_function(claims, _sides(rule, k))


def _sides(rule: str, k: int) -> Signs:
    """Return the side of each class in each binary problem, (k, p)."""
    if rule == "pairs":
        return coding(k, "ovo")
    against_rest = (2 * np.eye(k, dtype=np.int8) - 1).astype(np.int8)
    return against_rest[:, :-1] if rule == "rest" else against_rest


def _majority(claims: Flags, sides: Signs) -> Codes:
    """Return the class with the most votes, (m,); ties are indeterminate."""
    votes = (sides > 0).astype(np.intp) @ claims + (sides < 0).astype(np.intp) @ ~claims  # (k, m)
    alone = (votes == votes.max(axis=0)).sum(axis=0) == 1
    return np.where(alone, votes.argmax(axis=0), INDETERMINATE)


def _only_claim(claims: Flags, sides: Signs) -> Codes:
    """Return the only class that claims a position; if none does, the one without a boundary, (m,)."""
    k, p = sides.shape
    count = claims.sum(axis=0)
    unclaimed = k - 1 if p < k else INDETERMINATE
    codes = np.where(count == 1, claims.argmax(axis=0), INDETERMINATE)
    return np.where(count == 0, unclaimed, codes)


def _scores(fitted: Any, labels: Any, values: Any) -> Matrix | None:
    """Return one score per label, (m, k), or None; of two labels the difference is the model's score."""
    if values is None or not np.array_equal(getattr(fitted, "classes_", ()), labels):
        return None
    S: Matrix = np.stack([-values / 2, values / 2], axis=1) if values.ndim == 1 else values
    return S if S.shape[1] == len(labels) > 1 else None


def _field(scores: Matrix | None, label: int, inside: Flags) -> Vector:
    """Return the lead of a label, (m,); +1 and -1 if scores and predictions disagree."""
    steps: Vector = np.where(inside, 1.0, -1.0).astype(np.float32)
    if scores is None:
        return steps
    lead = scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)
    consistent = np.isfinite(lead).all() and np.array_equal(lead > 0, inside)
    return np.clip(lead, -LARGEST, LARGEST).astype(np.float32) if consistent else steps


def _pair_lead(S: Matrix, label: int, codes: Codes, k: int) -> Vector:
    """Return the lead of a label by the pair that decides, (m,), where pairs vote: votes are steps.

    Inside, the least of its scores against the others; outside, its score against the winner.
    """
    first, second = pairs(k).T
    others = np.delete(np.arange(k), label)
    problem = np.array(
        [np.flatnonzero((first == min(label, o)) & (second == max(label, o)))[0] for o in others]
    )
    scores = S[:, problem] * np.where(others > label, 1.0, -1.0)  # (m, k - 1)
    inside = codes == label
    against = scores[np.arange(len(S)), np.where(inside, 0, codes - (codes > label))]
    lead = np.where(inside, np.maximum(scores.min(axis=1), LEAST), np.minimum(against, -LEAST))
    return np.clip(lead, -LARGEST, LARGEST).astype(np.float32)


def _fit_if_needed(model: Any, X: Matrix, y: Any) -> Any:
    """Return the model if it is fitted, else a fitted clone."""
    return model if not hasattr(model, "fit") or _is_fitted(model) else clone(model).fit(X, y)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _ranges(X: Matrix, margin: float) -> list[tuple[float, float]]:
    """Return the range of each feature with its margin."""
    sides = []
    for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True):
        pad = margin * (high - low) if high > low else 0.5  # a constant feature needs a range too
        sides.append((low - pad, high + pad))
    return sides


def _check_window(window: Any) -> list[tuple[float, float]]:
    numbers = isinstance(window, tuple | list) and all(isinstance(side, Real) for side in window)
    if numbers and len(window) == 4 and np.isfinite(window).all():
        x0, x1, y0, y1 = map(float, window)
        if x0 < x1 and y0 < y1:
            return [(x0, x1), (y0, y1)]
    must_be = "four numbers (x0, x1, y0, y1) with x0 < x1 and y0 < y1"
    raise ParameterError("decision_regions", "window", must_be, window)


def _centres(low: float, high: float, grid: int) -> Vector:
    """Return the centres of the cells along one side, (g,)."""
    edges = np.linspace(low, high, grid + 1)
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _check_parameters(model: Any, rule: str, grid: Any, margin: float) -> None:
    owner = "decision_regions"
    require_choice(owner, "rule", rule, RULES)
    require_real(owner, "margin", margin, least=0)
    is_integer = isinstance(grid, Integral) and not isinstance(grid, bool)
    if not is_integer or not SMALLEST_GRID <= int(grid) <= LARGEST_GRID:
        raise ParameterError(
            owner, "grid", f"an integer from {SMALLEST_GRID} to {LARGEST_GRID}", grid
        )
    if not hasattr(model, "predict"):
        raise ParameterError(owner, "model", "a classifier with predict", model)
    if rule != "predict" and not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise ParameterError(
            owner, "model", f"a classifier that can be cloned and fitted for rule={rule!r}", model
        )


def _require_memory(boundaries: int, positions: int) -> None:
    needed, budget = 5 * boundaries * positions, default_budget()  # a float32 and a flag for each
    if needed > budget:
        raise MemoryBudgetError(
            f"{boundaries} boundaries on {positions} cells need {in_words(needed)}; the budget is "
            f"{in_words(budget)}: use a smaller grid"
        )
