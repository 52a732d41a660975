"""Cross-validation and searches: all fits of a grid as one problem over shared Gram matrices.

scikit-learn hands joblib one call of `_fit_and_score` for each candidate and fold. Where all of them train
an `SVC` or a `KNeighborsClassifier`, or pipelines that end in one, they are solved together; then
scikit-learn's own function scores the solved models, so that tables and messages are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from types import FunctionType
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _get_feature_names

from separatrix.accel import costs
from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.dispatch import NotServed, load, reason_of, require_large
from separatrix.accel.originals import is_plain
from separatrix.accel.switch_state import SETTINGS
from separatrix.types import Codes

SOLVERS = {  # of the last step, by name: where it is defined, and what solves its cells
    "SVC": ("sklearn.svm._classes", "svc_cells:solve_svc_cells"),
    "KNeighborsClassifier": ("sklearn.neighbors._classification", "neighbor_cells:solve_cells"),
}
STEPS = (  # modules of scikit-learn whose transformers draw numbers only where `random_state` says so
    *("compose", "decomposition._pca", "decomposition._truncated_svd", "feature_extraction"),
    *("feature_selection._univariate_selection", "feature_selection._variance_threshold"),
    *("impute._base", "pipeline", "preprocessing"),
)
LIBRARIES = ("builtins", "numpy", "scipy", "pandas", "polars", "pyarrow")  # of samples and labels


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows of a split; candidates on the same split have the same object."""

    train: Codes
    test: Codes
    parts: tuple[Codes, ...]  # rows to predict: the test, and the training where it is scored too

    @property
    def wanted(self) -> Codes:
        """All rows to predict."""
        return np.concatenate(self.parts)


class Cell(NamedTuple):
    """One candidate on one fold."""

    number: int  # among the calls
    model: Any  # the last step, with the candidate's parameters
    before: str  # the hash of the steps before it; empty without a pipeline
    steps: Any  # a pipeline of the steps before it, or None
    fold: Fold


class Solved(NamedTuple):
    """Predictions of a cell for all rows; those that are not wanted mean nothing."""

    classes: Any
    labels: Any  # shape: (n,)
    scores: Callable[[], Any] | None = None  # makes the decision function, (n,) or (n, k)
    shares: Any = None  # shape: (n, k); probabilities


Solve = Callable[[Any, Any, list[Cell]], Iterable[tuple[int, Solved]]]
Workers = Callable[[list[int]], Iterable[Any]]  # joblib's: compute the results of calls, by number


class Candidate(NamedTuple):
    """Parameters of a search, set on its estimator."""

    model: Any  # the last step
    steps: Any  # a pipeline of the steps before it, or None
    before: str  # the hash of these steps


def serve(
    calls: list[Any], *, workers: Workers | None, answer: Any = None, compute: Any = None
) -> list[Any] | None:
    """The result of each call, or None if scikit-learn is to compute all of them.

    Calls that could not be solved scikit-learn computes: by its `workers`, or without them one by one, in
    their order, so that the global generator of this process gives the same numbers.

    `answer` makes the result of a call whose model is solved, `compute` that of another: scores by default.
    """
    start = perf_counter()
    label = f"{type(calls[0][1][0]).__name__} in a search"
    try:
        cells = cells_of(calls)
        solved = _solve(calls, cells)
    except Exception as error:
        count_fallback(label, reason_of(error))
        return None
    if not solved:
        count_fallback(label, "no cell solved")
        return None
    seconds = (perf_counter() - start) / len(solved)
    others = [cell.number for cell in cells if cell.number not in solved]
    if workers and others:
        computed = iter(workers(others))
    else:
        computed = map(compute or _fit_and_score, (calls[number] for number in others))
    results = []
    for cell, call in zip(cells, calls, strict=True):  # in their order, as scikit-learn
        if cell.number not in solved:
            results.append(next(computed))
            continue
        if (
            not workers and getattr(cell.model, "random_state", 0) is None
        ):  # a seed, which no fit uses
            np.random.randint(np.iinfo("i").max)  # noqa: NPY002
        result = (answer or _score_solved)(call, solved[cell.number])
        if isinstance(result, dict) and "fit_time" in result:  # the cells share their work
            result["fit_time"] += seconds
        results.append(result)
    count_served(label, len(solved))
    return results


def _solve(calls: list[Any], cells: list[Cell]) -> dict[int, Solved]:
    """The predictions of the cells, which may be of several kinds, by their numbers."""
    _, (_, X, y), _ = calls[0]
    by_kind: dict[str, list[Cell]] = {}
    for cell in cells:
        by_kind.setdefault(_kind(cell.model), []).append(cell)
    require_large(
        sum(
            costs.cell(kind, X, len(cell.fold.train), len(cell.fold.test))
            for kind, group in by_kind.items()
            for cell in group
        )
    )
    if getattr(y, "ndim", 1) != 1:
        raise NotServed("labels that are a table")
    _get_feature_names(X)  # an error if they are of several types
    SETTINGS.attempts += 1
    solved: dict[int, Solved] = {}
    for kind, group in by_kind.items():
        solve: Solve = load(SOLVERS[kind][1])
        solved.update(solve(X, y, group))
    return solved


def _kind(model: Any) -> str:
    """The name in `SOLVERS` of a model."""
    name = type(model).__name__
    module = sys.modules.get(SOLVERS.get(name, ("", ""))[0])
    if module is None or getattr(module, name, None) is not type(model):
        raise NotServed("another model")
    return name


def cells_of(calls: list[Any]) -> list[Cell]:
    """What the calls ask for; raises an error for objects that are not scikit-learn's own."""
    candidates: dict[int, Candidate] = {}
    folds: dict[tuple[int, int], Fold] = {}  # candidates share them: so they are solved together
    _, (_, X, y), _ = calls[0]
    if any(type(given).__module__.split(".")[0] not in LIBRARIES for given in (X, y)):
        raise NotServed("arrays of another library")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    cells = []
    for number, (_, (estimator, own_X, own_y), options) in enumerate(calls):
        _require_plain(options)
        if own_X is not X or own_y is not y:
            raise NotServed("several data sets")
        parameters, train, test = options["parameters"], options["train"], options["test"]
        key = id(parameters) if parameters else id(estimator)
        if key not in candidates:
            candidates[key] = _candidate(estimator, parameters)
        if (id(train), id(test)) not in folds:
            both = bool(options.get("return_train_score"))
            folds[id(train), id(test)] = _fold_of(train, test, n, scores_both=both)
        model, steps, before = candidates[key]
        cells.append(Cell(number, model, before, steps, folds[id(train), id(test)]))
    return cells


def _candidate(estimator: Any, parameters: Any) -> Candidate:
    """A candidate, whose parameters scikit-learn accepts."""
    if not is_plain(estimator) or not is_plain(parameters):
        raise NotServed("what is not scikit-learn's own")
    estimator = clone(estimator).set_params(**clone(parameters or {}, safe=False))
    if not isinstance(estimator, Pipeline):
        estimator._validate_params()
        return Candidate(estimator, None, "")
    if len(estimator) < 2:
        raise NotServed("a pipeline of one step")
    if estimator.memory is not None or get_tags(estimator).input_tags.pairwise:
        raise NotServed("memory of a pipeline, or precomputed samples")
    model, steps = estimator[-1], estimator[:-1]
    model._validate_params()
    params = steps.get_params()
    if any(name.endswith("random_state") and value is None for name, value in params.items()):
        raise NotServed("random steps")
    if not all(map(_is_known, params.values())):
        raise NotServed("steps that may draw numbers")
    if any(name.endswith("verbose") and value for name, value in estimator.get_params().items()):
        raise NotServed("verbose")
    if any("copy" in name.rpartition("__")[2] and value is False for name, value in params.items()):
        raise NotServed("steps that write into their samples")
    return Candidate(model, steps, joblib.hash(steps))


def _is_known(value: Any) -> bool:
    """Whether a parameter of steps is no estimator or function, or one that `STEPS` lists."""
    if not isinstance(value, BaseEstimator | FunctionType):
        return True
    home = value.__module__.removeprefix("sklearn.")
    return any(home == name or home.startswith(f"{name}.") for name in STEPS)


def transform_by(steps: Pipeline, X: Any) -> Any:
    """Samples after all of some fitted steps; those that learn nothing count as fitted too."""
    for _, step in steps.steps:
        if step is not None and step != "passthrough":
            X = step.transform(X)
    return X


def _fold_of(train: Any, test: Any, n: int, *, scores_both: bool) -> Fold:
    """A fold, whose rows may be given as numbers or as flags."""
    rows: Codes = np.arange(n)
    train, test = rows[np.asarray(train)], rows[np.asarray(test)]
    return Fold(train, test, (test, train) if scores_both else (test,))


def _require_plain(options: dict[str, Any]) -> None:
    """Raise an error for calls with parameters of `fit`, scores of other libraries, output or callbacks."""
    if options.get("fit_params") or options.get("score_params"):
        raise NotServed("parameters of fit")
    if options.get("return_estimator"):
        raise NotServed("return_estimator=True")
    if getattr(options.get("caller"), "_skl_callbacks", None):
        raise NotServed("callbacks")
    if (options.get("verbose") or 0) > 1:
        raise NotServed("verbose")
    for scorer in _scorers_of(options):
        kind = type(scorer).__name__
        score = getattr(scorer, "_score_func", None)
        if kind != "_PassthroughScorer" and not (
            kind == "_Scorer" and isinstance(score, FunctionType) and is_plain(score)
        ):
            raise NotServed("a function as the score")


def _scorers_of(options: dict[str, Any]) -> list[Any]:
    """The scores that a call asks for; none if it asks for predictions."""
    scorer = options["scorer"]
    return list(getattr(scorer, "_scorers", {"score": scorer}).values()) if scorer else []


def _fit_and_score(call: Any) -> Any:
    """The result of a call by scikit-learn."""
    function, given, options = call
    return function.function(*given, **options)


def _score_solved(call: Any, solved: Solved) -> Any:
    """The result of a call whose model is solved: scikit-learn scores it on row numbers."""
    function, (estimator, _, y), options = call
    estimator.set_params(**clone(options["parameters"] or {}, safe=False))
    estimator.__dict__["set_params"] = lambda **_: estimator  # else it would replace the last step
    return function.function(estimator, give_methods(estimator, solved), y, **options)


def give_methods(estimator: Any, solved: Solved) -> Codes:
    """Let an estimator look up what is solved; returns its samples, their row numbers, (n, 1)."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    last.classes_ = solved.classes
    for name, values in {
        "fit": None,
        "predict": solved.labels,
        "score": solved.labels,
        "decision_function": solved.scores,
        "predict_proba": solved.shares,
    }.items():
        if values is not None or name == "fit":
            estimator.__dict__[name] = _solved_method(estimator, name, values)
    return np.arange(len(solved.labels))[:, None]


def _solved_method(estimator: Any, name: str, values: Any) -> Callable[..., Any]:
    """A method of a solved model, which looks up what it is asked for by row numbers."""

    def method(rows: Any, y: Any = None) -> Any:
        if name == "fit":
            return estimator
        found = (values() if callable(values) else values)[rows[:, 0]]
        return float(accuracy_score(y, found)) if name == "score" else found

    method.__name__ = name  # scores look for methods by their names
    return method
