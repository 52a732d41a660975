"""Decision regions of a classifier in the plane.

The plane is divided into equal cells, and the centre of each is classified, so a fraction of cells is a
fraction of the area. Rules that combine binary classifiers may be contradictory: such cells have code -1.
Where votes tie, or nothing but rounding decides, cells are undecided; they keep the predicted code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from separatrix.errors import DataError, MemoryBudgetError, ParameterError
from separatrix.evaluation.boundaries import (
    UNDECIDED,
    Segments,
    find_crossings,
    trace_segments,
    without_slivers,
)
from separatrix.evaluation.lattice import Lattice, in_blocks
from separatrix.evaluation.rules import RULES, RegionClassifier, RuleClassifier, sides_of
from separatrix.runtime.blocks import default_budget, in_words
from separatrix.runtime.threads import blas_on_one_thread
from separatrix.types import Codes, Flags, Matrix, Vector
from separatrix.validation import require_choice, require_real

SMALLEST_GRID, LARGEST_GRID = 10, 2000


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
    """Score of each boundary, 0 on it: of a binary problem its score, of several classes the lead of the
    predicted one. 1, or for a binary problem +1 and -1, for a model without scores."""
    undecided: Flags  # shape: (g, g)
    """Cells where votes tie or the score is at most its rounding error: another class is as good. A line
    of single cells too, which is no area and is not hatched."""
    crossings: Matrix  # shape: (4, g, g)
    """How far on the way to the next column, and to the next row, the class changes, and where between
    four cells lines meet or bend; NaN where not."""
    rounding: float = 0.0
    """The largest bound of the rounding error of a score that leaves a cell undecided."""
    machines: tuple[RegionClassifier, ...] = ()
    """The model itself, or with another rule one clone per boundary."""

    @property
    def codes_with_undecided(self) -> Codes:
        """Class code of each cell, -1 if the rule gives no class, -2 in undecided areas, (g, g)."""
        return np.where(self.undecided_areas, UNDECIDED, self.codes)

    @cached_property
    def undecided_areas(self) -> Flags:
        """Undecided cells that make an area, (g, g); what else is undecided is on a line."""
        return without_slivers(self.undecided)

    @cached_property
    def segments(self) -> Segments:
        """Pieces of the lines between regions, ends in the coordinates of the features, (n, 2, 2)."""
        cells = trace_segments(self.codes_with_undecided, self.crossings)
        start = np.array([self.first[0], self.second[0]])
        step = np.array([np.ptp(self.first), np.ptp(self.second)]) / (len(self.first) - 1)
        return cells._replace(ends=start + step * cells.ends)

    def codes_at(self, positions: Any) -> Codes:
        """Classify other positions, (m, 2), by the same rule; -1 if it gives no class."""
        return self._classifier.predict(np.asarray(positions, dtype=np.float64))

    def undecided_at(self, position: Any) -> str:
        """Why a position, (2,), is undecided; an empty text if it is not."""
        cell = self._classifier.decide(np.asarray(position, dtype=np.float64)[None])
        return self._explain(cell.rounding) if cell.undecided[0] else ""

    @property
    def why_undecided(self) -> str:
        """Why areas are undecided; an empty text if none is."""
        return self._explain(self.rounding) if self.undecided_areas.any() else ""

    def _explain(self, rounding: float) -> str:
        if rounding == 0:
            return "equal votes, scores or distances"
        one = len(self.labels) == 2 or self.rule != "predict"
        return f"{'|f|' if one else 'lead'} <= {rounding:.0e}"

    @property
    def _classifier(self) -> RuleClassifier:
        if not self.machines:
            raise DataError(
                "these regions were not made by decision_regions: they have no classifier"
            )
        return RuleClassifier(self.labels, self.rule, self.machines)

    @property
    def share(self) -> dict[Any, float]:
        """Fraction of the area by label, with the indeterminate part under None.

        With `undecided_share` they sum to 1.
        """
        cells = np.bincount(self.codes[~self.undecided_areas] + 1, minlength=len(self.labels) + 1)
        shares = (cells / self.codes.size).tolist()
        return {**dict(zip(self.labels.tolist(), shares[1:], strict=True)), None: shares[0]}

    @property
    def undecided_share(self) -> float:
        """Fraction of the area where votes tie or rounding decides."""
        return float(self.undecided_areas.mean())

    @property
    def indeterminate(self) -> float:
        """Fraction of the area without a class."""
        return self.share[None]

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as plain values, what has no class last; areas in per cent."""
        rows = [
            {"region": "indeterminate" if label is None else label, "share": 100 * share}
            for label, share in self.share.items()
        ]
        if self.undecided_areas.any():
            rows.append({"region": "undecided", "share": 100 * self.undecided_share})
        return rows

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
    build = _by_predict if rule == "predict" else _by_boundaries
    with blas_on_one_thread():  # of small matrices
        combined = build(model, X, y, lattice, rule)
        _require_memory(combined.boundaries, grid * grid)
        cells = combined.decide(lattice)
        undecided = cells.undecided.reshape(grid, grid)
        codes = cells.codes.reshape(grid, grid)
        drawn = np.where(without_slivers(undecided), UNDECIDED, codes)
        crossings = find_crossings(drawn, lattice, lambda positions: combined.decide(positions)[:2])
    return Regions(
        name=type(model).__name__,
        rule=rule,
        labels=combined.labels,
        first=lattice.first,
        second=lattice.second,
        codes=codes,
        fields=cells.fields.reshape(-1, grid, grid),
        undecided=undecided,
        crossings=crossings,
        rounding=cells.rounding if undecided.any() else 0.0,
        machines=combined.machines,
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


def _by_predict(model: Any, X: Matrix, y: Any, lattice: Lattice, _rule: str) -> RuleClassifier:
    fitted = _fit_if_needed(model, X, y)
    known = getattr(fitted, "classes_", None)
    if known is None:
        known = np.unique(in_blocks(fitted.predict, lattice.positions))
    if (known.dtype.kind in "biuf") != (y.dtype.kind in "biuf"):
        raise DataError(
            f"{type(model).__name__} has labels such as {known[0]!r}, but y has labels such as "
            f"{y[0]!r}; pass the labels it was fitted with"
        )
    labels = np.unique(np.concatenate([known, y]))
    return RuleClassifier(labels, "predict", (RegionClassifier(fitted, np.arange(len(X))),))


def _by_boundaries(model: Any, X: Matrix, y: Any, _lattice: Lattice, rule: str) -> RuleClassifier:
    labels, codes = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise DataError(
            f"rule={rule!r} needs samples of at least 2 classes; got one, {labels.tolist()[0]!r}"
        )
    machines = []
    for side in sides_of(rule, len(labels)).T:
        targets = side[codes].astype(np.intp)
        rows = np.flatnonzero(targets)
        machines.append(RegionClassifier(clone(model).fit(X[rows], targets[rows]), rows))
    return RuleClassifier(labels, rule, tuple(machines))


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
    needed, budget = 17 * boundaries * positions, default_budget()  # score, bound and flag for each
    if needed > budget:
        raise MemoryBudgetError(
            f"{boundaries} boundaries on {positions} cells need {in_words(needed)}; the budget is "
            f"{in_words(budget)}: use a smaller grid"
        )
