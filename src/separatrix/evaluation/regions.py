"""Which class a classifier gives to every place of the plane, and where it gives none.

The plane is cut into equal cells, and the middle of each is classified, so a share of cells is a
share of area. Rules that put binary answers together may contradict themselves: such cells have
code -1.
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
from separatrix.evaluation.lattice import Lattice, answers_on, in_blocks
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.solvers.decomposition import coding
from separatrix.types import Codes, Flags, Matrix, Signs, Vector
from separatrix.validation import require_choice, require_real

RULES = {
    "predict": "the class it predicts",
    "rest": "each class but the last against the rest",
    "each": "each class against the rest",
    "pairs": "majority of all pairs",
}
INDETERMINATE = -1
SMALLEST_GRID, LARGEST_GRID = 10, 2000
LARGEST = float(np.finfo(np.float32).max)


class RegionClassifier(NamedTuple):
    """A fitted classifier that regions are made of, and the samples it was trained on."""

    fitted: Any
    rows: Codes


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
    machines: tuple[RegionClassifier, ...] = ()
    """What decides: the model itself, or with another rule a clone for each boundary."""

    def codes_at(self, positions: Any) -> Codes:
        """Class codes of other places, (m, 2), by the same rule; -1 where it gives none."""
        if not self.machines:
            raise DataError("these regions were not made by decision_regions: nothing can be asked")
        positions = np.asarray(positions, dtype=np.float64)
        guesses = [in_blocks(machine.fitted.predict, positions) for machine in self.machines]
        if self.rule == "predict":
            return np.asarray(np.searchsorted(self.labels, guesses[0]))
        claims = np.stack([guess == 1 for guess in guesses])
        return _put_together(claims, self.rule, len(self.labels))

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
    window: tuple[float, float, float, float] | None = None,
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
    window
        (x0, x1, y0, y1): cut this part of the plane into cells, wherever the samples are. None: their
        range and the margin.

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
    sides = _ranges(X, margin) if window is None else _of_window(window)
    lattice = Lattice(*(_middles(low, high, grid) for low, high in sides))
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
    machines: tuple[RegionClassifier, ...]


def _by_predict(model: Any, X: Matrix, y: Any, lattice: Lattice, _rule: str) -> _Found:
    fitted = _fitted(model, X, y)
    guesses, values = _answers(fitted, lattice)
    known = np.asarray(getattr(fitted, "classes_", guesses))
    if (known.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
        raise DataError(
            f"{type(model).__name__} knows labels such as {known[0]!r}, but y holds labels such as "
            f"{y[0]!r}; pass the labels it was fitted with"
        )
    labels = np.unique(np.concatenate([known, y]))
    k = len(labels)
    _require_memory(1 if k == 2 else k, len(guesses))
    codes = np.searchsorted(labels, guesses)
    scores = _scores(fitted, labels, values)
    of_classes = range(1, 2) if k == 2 else range(k)
    fields = np.array([_field(scores, c, codes == c) for c in of_classes])
    return _Found(labels, codes, fields, (RegionClassifier(fitted, np.arange(len(X))),))


def _by_boundaries(model: Any, X: Matrix, y: Any, lattice: Lattice, rule: str) -> _Found:
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
        guesses, values = _answers(fitted, lattice)
        claims[number] = guesses == 1
        scores = _scores(fitted, np.array([-1, 1]), values)
        fields[number] = _field(scores, 1, claims[number])
        machines.append(RegionClassifier(fitted, rows))
    return _Found(labels, _put_together(claims, rule, len(labels)), fields, tuple(machines))


def _answers(fitted: Any, lattice: Lattice) -> tuple[Any, Any]:
    """The label of each place, (m,), and the model's scores, (m,) or (m, k), or None."""
    found = answers_on(fitted, lattice)
    if found is not None:
        return fitted.classes_[found.codes], found.values
    positions = lattice.positions
    score = getattr(fitted, "decision_function", None) or getattr(fitted, "predict_proba", None)
    guesses = in_blocks(fitted.predict, positions)
    return guesses, None if score is None else in_blocks(score, positions)


def _put_together(claims: Flags, rule: str, k: int) -> Codes:
    """The class of each place, (m,), from the claims of all boundaries, (p, m)."""
    together = _majority if rule == "pairs" else _only_claim
    return together(claims, _sides(rule, k))


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


def _scores(fitted: Any, labels: Any, values: Any) -> Matrix | None:
    """A score for each label, (m, k), where the model has them; of two, their difference is its own."""
    if values is None or not np.array_equal(getattr(fitted, "classes_", ()), labels):
        return None
    S: Matrix = np.stack([-values / 2, values / 2], axis=1) if values.ndim == 1 else values
    return S if S.shape[1] == len(labels) > 1 else None


def _field(scores: Matrix | None, label: int, inside: Flags) -> Vector:
    """By how much a label leads, (m,); its own steps where scores do not say what predict says."""
    steps: Vector = np.where(inside, 1.0, -1.0).astype(np.float32)
    if scores is None:
        return steps
    lead = scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)
    told = np.isfinite(lead).all() and np.array_equal(lead > 0, inside)
    return np.clip(lead, -LARGEST, LARGEST).astype(np.float32) if told else steps


def _fitted(model: Any, X: Matrix, y: Any) -> Any:
    """The model where it is fitted, else a clone that is."""
    return model if not hasattr(model, "fit") or _is_fitted(model) else clone(model).fit(X, y)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _ranges(X: Matrix, margin: float) -> list[tuple[float, float]]:
    """What the samples span on each side, and the margin around it."""
    sides = []
    for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True):
        room = margin * (high - low) if high > low else 0.5  # one value still has a plane around it
        sides.append((low - room, high + room))
    return sides


def _of_window(window: Any) -> list[tuple[float, float]]:
    numbers = isinstance(window, tuple | list) and all(isinstance(side, Real) for side in window)
    if numbers and len(window) == 4 and np.isfinite(window).all():
        x0, x1, y0, y1 = map(float, window)
        if x0 < x1 and y0 < y1:
            return [(x0, x1), (y0, y1)]
    must_be = "four numbers (x0, x1, y0, y1) with x0 < x1 and y0 < y1"
    raise ParameterError("decision_regions", "window", must_be, window)


def _middles(low: float, high: float, grid: int) -> Vector:
    """Middles of the cells along one side, (g,)."""
    edges = np.linspace(low, high, grid + 1)
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


def _require_memory(boundaries: int, positions: int) -> None:
    needed, budget = 5 * boundaries * positions, default_budget()  # a float32 and a flag for each
    if needed > budget:
        raise MemoryBudgetError(
            f"{boundaries} boundaries on {positions} cells take {in_words(needed)}, above the "
            f"{in_words(budget)} there are; ask for a smaller grid"
        )
