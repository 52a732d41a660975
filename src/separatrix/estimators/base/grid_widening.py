"""Grids that widen while their best cell lies on an edge, and searches over them.

Cells are positions on a lattice: a value beyond the end of an axis continues its geometric progression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from inspect import unwrap
from itertools import product
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV, check_cv

from separatrix.errors import SeparatrixError
from separatrix.estimators.base.fold_race import FoldRace
from separatrix.estimators.base.kernel_machine import TakesTensors
from separatrix.estimators.base.one_pass import OnePass
from separatrix.estimators.base.rollback import rollback_on_error
from separatrix.types import Flags, Matrix, Vector
from separatrix.validation import require_integer

Cell = tuple[int, ...]
FACTOR = 4.0  # between two values of gamma, and beyond an axis of one value
GAMMA_FACTORS = (1 / FACTOR, 1.0, FACTOR)  # of gamma="scale", before a grid is widened
WIDEN = 2  # values that may be added at either end: gamma from 1/64 to 64 times "scale"

# tolerances in folds, whose accuracies only rank the cells of a grid
SEARCH_TOL = 0.1  # of support vector machines: the KKT violation
LINEAR_SEARCH_TOL = 0.01  # of linear models: of the gradient, which certifies a gap as well


@dataclass(frozen=True)
class GridAxis:
    """Values of one parameter; `widen` more may follow at either end if they are numbers above 0."""

    values: Sequence[Any]
    widen: int = 0

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last position."""
        more = self.widen if self.is_numeric else 0
        return -more, len(self.values) - 1 + more

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers above 0 in ascending order."""
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)
        return numbers and self.values[0] > 0 and list(self.values) == sorted(set(self.values))

    def at(self, position: int) -> Any:
        """The value at a position.

        >>> [GridAxis((0.1, 1.0), widen=2).at(position) for position in (-1, 0, 2)]
        [0.01, 0.1, 10.0]
        """
        last = len(self.values) - 1
        if 0 <= position <= last:
            return self.values[position]
        ratio = FACTOR
        if last:
            low, high = self.values[:2] if position < 0 else self.values[-2:]
            ratio = high / low
        power = position if position < 0 else position - last
        return float(f"{self.values[0 if position < 0 else last] * ratio**power:.12g}")


def search_widening(
    axes: Sequence[GridAxis], score: Callable[[list[Cell]], Sequence[float]]
) -> tuple[Cell, dict[Cell, float]]:
    """The best cell and the scores of all cells tried: those of the grid, and others where these lead.

    While a neighbour of the best cell has not been tried it is, with its own neighbours along the other
    axes; beyond the edge of the grid only if the best is better than its neighbour inside. The first
    among equals is best, so a plateau is not followed; but from a grid on which all are equal, larger
    values may lead out.

    >>> axes = [GridAxis((0.1, 1.0, 10.0), widen=3)]
    >>> best, tried = search_widening(axes, lambda cells: [-abs(cell[0] - 4) for cell in cells])
    >>> axes[0].at(best[0]), len(tried)
    (1000.0, 6)
    """
    tried: dict[Cell, float] = {}
    new: list[Cell] = list(product(*(range(len(axis.values)) for axis in axes)))
    while new:
        values = np.nan_to_num(np.asarray(score(new), dtype=np.float64), nan=-np.inf)
        tried.update(zip(new, values.tolist(), strict=True))
        best = min(tried, key=lambda cell: (-tried[cell], cell))
        new = _untried(axes, tried, best)
    return best, tried


def find_edges(
    axes: Mapping[str, GridAxis], tried: Mapping[Cell, float], best: Cell
) -> dict[str, str]:
    """The axes of numbers at whose last or first value the best cell lies, better than inside."""
    edges = {}
    for number, (name, axis) in enumerate(axes.items()):
        low, high = axis.ends
        for end, side, word in ((low, -1, "smallest"), (high, 1, "largest")):
            inside = tried.get(_move(best, number, -side))
            at_end = axis.is_numeric and best[number] == end and inside is not None
            if at_end and inside is not None and tried[best] > inside:
                edges[name] = word
    return edges


def edges_of_grid(axes: Mapping[str, GridAxis], scores: Matrix) -> dict[str, str]:
    """`find_edges` of a grid that was not widened, from the scores of its cells on each fold."""
    cells = list(product(*(range(len(axis.values)) for axis in axes.values())))
    tried = dict(zip(cells, scores.mean(axis=1).tolist(), strict=True))
    return find_edges(axes, tried, min(tried, key=lambda cell: (-tried[cell], cell)))


def _untried(axes: Sequence[GridAxis], tried: Mapping[Cell, float], best: Cell) -> list[Cell]:
    found: dict[Cell, None] = {}
    first = best
    if min(tried.values()) == tried[best]:
        best = max(tried)  # of a plateau
    for number, axis in enumerate(axes):
        low, high = axis.ends
        for side in (-1, 1):
            cell = _move(best, number, side)
            if cell in tried or not low <= cell[number] <= high:
                continue
            inside = tried.get(_move(best, number, -side))
            in_grid = 0 <= cell[number] < len(axis.values)
            if in_grid or inside is None or tried[best] > inside or best != first:
                found.update(dict.fromkeys(_with_neighbours(axes, tried, cell, number)))
    return list(found)


def _with_neighbours(
    axes: Sequence[GridAxis], tried: Mapping[Cell, float], cell: Cell, along: int
) -> list[Cell]:
    """The cell and its neighbours along the other axes of numbers, where values were tried before."""
    known = [{one[number] for one in tried} for number in range(len(axes))]
    near = [
        _move(cell, number, side)
        for number, axis in enumerate(axes)
        for side in (-1, 1)
        if number != along and axis.is_numeric and cell[number] + side in known[number]
    ]
    return [one for one in (cell, *near) if one not in tried]


def _move(cell: Cell, number: int, side: int) -> Cell:
    return (*cell[:number], cell[number] + side, *cell[number + 1 :])


def results_table(params: Sequence[dict[str, Any]], scores: Matrix) -> dict[str, Any]:
    """`cv_results_` from the parameters of each cell and its scores, (cells, folds).

    >>> table = results_table([{"C": 1}, {"C": 2}], np.array([[0.5, 0.7], [0.9, 0.9]]))
    >>> table["rank_test_score"].tolist(), table["param_C"]
    ([2, 1], [1, 2])
    """
    mean = scores.mean(axis=1)
    with np.errstate(invalid="ignore"):  # folds that were not reached score -inf
        std = scores.std(axis=1)
    return {
        "params": list(params),
        **{f"param_{name}": [cell[name] for cell in params] for name in params[0]},
        **{f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])},
        "mean_test_score": mean,
        "std_test_score": std,
        "rank_test_score": np.array([1 + int((mean > value).sum()) for value in mean]),
    }


# `score` methods that are the accuracy; that of scikit-learn and that of models that take tensors
ACCURACY = (ClassifierMixin.score, TakesTensors.score)


def _with_params(base: Any, cell: Mapping[str, Any], own: Set[str]) -> Any:
    """A copy of an estimator that is not fitted, with other parameters."""
    if not cell.keys() <= own:
        return clone(base).set_params(**cell)
    model = copy(base)
    for name, value in cell.items():
        setattr(model, name, value)
    return model


def _fit_near(model: Any, changed: Set[str], fitted: dict[float, Any], X: Any, y: Any) -> Any:
    """Fit a model that differs in some parameters from those fitted in the same fold, by their C or 0.

    It starts from the one of the nearest C if it can, or takes the sums of another one.
    """
    if isinstance(model, OnePass):
        other = fitted.setdefault(0.0, model)
        if other is not model and model._can_fit_again(other, changed):
            return model._fit_again(other)
        return model.fit(X, y)
    C = getattr(model, "C", None)
    if not hasattr(model, "_near") or not isinstance(C, int | float) or not 0 < C < np.inf:
        return model.fit(X, y)
    if fitted:
        model._near = fitted[min(fitted, key=lambda other: abs(np.log(other / C)))]
    model.fit(X, y)
    vars(model).pop("_near", None)
    fitted[C] = model
    return model


class WideningSearchCV(GridSearchCV):
    """`GridSearchCV` of numbers above 0 whose grid widens while the best value lies on its edge.

    Parameters
    ----------
    estimator, param_grid, scoring, cv
        As in `GridSearchCV`; one grid, its values in ascending order.
    widen
        Values that may be added at either end.
    search_tol
        `tol` of the estimator in the folds, which only rank the cells; the best one is fitted with its
        own. None: its own everywhere.
    race
        Cells that are behind the best on the first fold by three standard errors of the difference skip
        the other folds, where they are taken to be as far behind.

    Attributes
    ----------
    edges_
        Parameters whose best value is still the "smallest" or the "largest" tried.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> search = WideningSearchCV(LogisticRegression(), {"C": [0.001, 0.01]}, cv=5, widen=4).fit(X, y)
    >>> search.best_params_["C"] > 0.01
    True
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]],
        *,
        scoring: Any = None,
        cv: Any = None,
        widen: int = WIDEN,
        search_tol: float | None = None,
        race: bool = False,
    ) -> None:
        super().__init__(estimator, param_grid, scoring=scoring, cv=cv)
        self.widen, self.search_tol, self.race = widen, search_tol, race

    @rollback_on_error
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Choose on samples X and labels y, then fit the best cell to all of them."""
        first: Exception | None = None
        if self._is_plain(X, y) and not params:
            try:
                return self._fit_plainly(X, y)
            except (SeparatrixError, ValueError, ArithmeticError) as error:
                first = error  # `GridSearchCV` counts failures, and says which cells failed
        try:
            super().fit(X, y, **params)
        except Exception as error:
            if first is None:
                raise
            raise error from first
        return self

    def _is_plain(self, X: Any, y: Any) -> bool:
        """Whether the search is of the accuracy of a classifier over arrays."""
        arrays = (isinstance(X, np.ndarray) or (issparse(X) and X.format == "csr")) and isinstance(
            y, np.ndarray
        )
        score = getattr(type(self.estimator), "score", None)
        own = score is not None and unwrap(score) in ACCURACY
        return bool(arrays and y.ndim == 1 and own and self.scoring is None)

    def _fit_plainly(self, X: Any, y: Any) -> Self:
        """Search fold by fold: the rows of a fold are taken once for all cells.

        A model that can start from another one starts from that of the nearest cell in the same fold.
        """
        splits = list(check_cv(self.cv, y, classifier=True).split(X, y))
        params: list[dict[str, Any]] = []
        scores: list[Vector] = []
        loose = {} if self.search_tol is None else {"tol": self.search_tol}
        base = clone(self.estimator).set_params(**loose)
        own = base.get_params(deep=False).keys()
        fitted: list[dict[float, Any]] = [{} for _ in splits]
        race = FoldRace(len(splits), skips=self.race)

        def right_rows(candidates: list[dict[str, Any]], some: slice) -> list[list[Flags]]:
            right: list[list[Flags]] = [[] for _ in candidates]
            for (train, test), near in zip(splits[some], fitted[some], strict=True):
                own_X, own_y, left_X, left_y = X[train], y[train], X[test], y[test]
                for found, cell in zip(right, candidates, strict=True):
                    model = _with_params(base, cell, own)
                    _fit_near(model, cell.keys(), near, own_X, own_y)
                    found.append(model.predict(left_X) == left_y)
            return right

        def evaluate_candidates(candidates: list[dict[str, Any]]) -> dict[str, Any]:
            scores.extend(race.accuracies(candidates, right_rows))
            params.extend(candidates)
            return {"mean_test_score": np.mean(scores, axis=1)}

        self._run_search(evaluate_candidates)
        self.cv_results_ = results_table(params, np.array(scores))
        self.best_index_ = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = params[self.best_index_]
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        self.n_splits_, self.multimetric_ = len(splits), False
        self.scorer_ = check_scoring(self.estimator)
        return self

    def _run_search(self, evaluate_candidates: Callable[..., Mapping[str, Any]]) -> None:
        require_integer("WideningSearchCV", "widen", self.widen, least=0)
        axes = {name: GridAxis(list(v), self.widen) for name, v in self.param_grid.items()}
        each = list(axes.values())

        def score(cells: list[Cell]) -> Any:
            values = [[axis.at(i) for axis, i in zip(each, cell, strict=True)] for cell in cells]
            candidates = [dict(zip(axes, one, strict=True)) for one in values]
            try:
                found = evaluate_candidates(candidates)
            except ValueError:  # all of them failed
                if all(0 <= i < len(a.values) for c in cells for a, i in zip(each, c, strict=True)):
                    raise
                return np.full(len(cells), np.nan)  # beyond what the model takes
            return np.asarray(found["mean_test_score"])[-len(cells) :]

        best, tried = search_widening(each, score)
        self.edges_ = find_edges(axes, tried, best)
