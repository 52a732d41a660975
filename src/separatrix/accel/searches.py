"""Cross-validation and searches: all fits of a grid as one problem over shared Gram matrices.

scikit-learn hands joblib one call of `_fit_and_score` for each candidate and fold. Where all of them train
an `SVC`, or a pipeline that ends in one, or a `KNeighborsClassifier`, they are solved together; then
scikit-learn's own function scores the solved models, so that tables and messages are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline

from separatrix.accel import costs
from separatrix.accel.counters import count_ours, count_theirs
from separatrix.accel.dispatch import NotServed, load, note_missed, require_worth, words_of
from separatrix.accel.replacements import SEARCH
from separatrix.accel.switch_state import SETTINGS
from separatrix.types import Codes

SOLVERS = {  # of the last step, by name: where it is defined, and what solves its cells
    "SVC": ("sklearn.svm._classes", "svc_cells:solve_svc_cells"),
    "KNeighborsClassifier": ("sklearn.neighbors._classification", "neighbor_cells:solve_cells"),
}
LIBRARIES = ("builtins", "numpy", "scipy", "pandas", "polars", "pyarrow")  # of samples and labels


@dataclass(frozen=True, eq=False)
class Fold:
    """Rows of a split; candidates on the same split have the same object."""

    train: Codes
    test: Codes
    wanted: Codes  # rows to predict: those of the test, and of the training where it is scored too


class Cell(NamedTuple):
    """One candidate on one fold."""

    number: int  # among the calls
    model: Any  # the last step, with the candidate's parameters
    before: str  # the steps before it, in words; empty without a pipeline
    steps: Any  # a pipeline of the steps before it, or None
    fold: Fold


class Solved(NamedTuple):
    """Predictions of a cell for all rows; those that are not wanted mean nothing."""

    classes: Any
    labels: Any  # shape: (n,)
    scores: Callable[[], Any] | None = None  # makes the decision function, (n,) or (n, k)
    shares: Any = None  # shape: (n, k); probabilities


Solve = Callable[[Any, Any, list[Cell]], Iterable[tuple[int, Solved]]]


def is_served(call: Any) -> bool:
    """Whether a call fits and scores a model that can be solved together with others."""
    return len(call[1]) == 3 and _kind(call[1][0]) is not None


def _kind(estimator: Any) -> str | None:
    """The name in `SOLVERS` of an estimator, or of the last step of a pipeline."""
    last = estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
    name = type(last).__name__
    module = sys.modules.get(SOLVERS.get(name, ("", ""))[0])
    return name if module is not None and getattr(module, name, None) is type(last) else None


def serve(calls: list[Any]) -> list[Any] | None:
    """The results of all calls; None if scikit-learn is to compute them."""
    start = perf_counter()
    SETTINGS.attempts += 1
    label = f"{type(calls[0][1][0]).__name__} in a search"
    kind, (_, X, y) = str(_kind(calls[0][1][0])), calls[0][1]
    plain = _counts_hits(calls[0][2], y)  # scores of another kind are scikit-learn's own work
    sizes = ((len(call[2]["train"]), len(call[2]["test"])) for call in calls)
    expected = sum(costs.cell(kind, X, *size, calls=plain) for size in sizes)
    try:
        require_worth(expected, SEARCH)
        cells = _cells_of(calls)
        solve: Solve = load(SOLVERS[kind][1])
        results: list[Any] = [None] * len(calls)
        for number, solved in solve(X, y, cells):
            results[number] = _score_solved(calls[number], solved)
    except Exception as error:
        count_theirs(label, 0.0, words_of(error))
        note_missed(error, expected, SEARCH)
        return None
    seconds = perf_counter() - start
    for result in results:  # the cells share their work
        if "fit_time" in result:
            result["fit_time"] += seconds / len(calls)
    count_ours(label, seconds, expected, len(calls))
    return results


def _cells_of(calls: list[Any]) -> list[Cell]:
    """What each call asks for; raises an error if it is not served."""
    cells = []
    folds: dict[tuple[int, int], Fold] = {}  # candidates share them: so they are solved together
    candidates: dict[int, tuple[Any, str, Any]] = {}  # folds share them: so they are checked once
    _, X, y = calls[0][1]
    if any(type(given).__module__.split(".")[0] not in LIBRARIES for given in (X, y)):
        raise NotServed("arrays of another library")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    kind = _kind(calls[0][1][0])
    for number, (_, (estimator, own_X, own_y), options) in enumerate(calls):
        _require_plain(options)
        if own_X is not X or own_y is not y:
            raise NotServed("candidates of several kinds")
        known = id(options["parameters"]) if options["parameters"] else id(estimator)
        if known not in candidates:
            candidates[known] = _candidate(estimator, options["parameters"], kind)
        model, before, steps = candidates[known]
        train, test = options["train"], options["test"]
        fold = folds.get((id(train), id(test)))
        if fold is None:
            fold = _fold_of(train, test, n, scores_both=bool(options.get("return_train_score")))
            folds[id(train), id(test)] = fold
        cells.append(Cell(number, model, before, steps, fold))
    return cells


def _candidate(estimator: Any, parameters: Any, kind: str | None) -> tuple[Any, str, Any]:
    """The last step of a candidate with its parameters; the steps before it, in words and as a pipeline."""
    estimator.set_params(**clone(parameters or {}, safe=False))
    if _kind(estimator) != kind:
        raise NotServed("candidates of several kinds")
    steps, before, model = None, "", estimator
    if isinstance(estimator, Pipeline):
        steps, before, model = estimator[:-1], repr(estimator[:-1].get_params()), estimator[-1]
        _require_repeatable(steps)
    model._validate_params()
    return model, before, steps


def _fold_of(train: Any, test: Any, n: int, *, scores_both: bool) -> Fold:
    """A fold, whose rows may be given as numbers or as flags."""
    rows: Codes = np.arange(n)
    train, test = rows[np.asarray(train)], rows[np.asarray(test)]
    return Fold(train, test, np.concatenate([test, train]) if scores_both else test)


def _require_plain(options: dict[str, Any]) -> None:
    """Raise an error for calls with parameters of `fit`, unusual scores or callbacks."""
    if options.get("fit_params") or options.get("score_params"):
        raise NotServed("parameters of fit")
    if options.get("return_estimator"):
        raise NotServed("return_estimator=True")
    if getattr(options.get("caller"), "_skl_callbacks", None):
        raise NotServed("callbacks")
    scorer = options["scorer"]
    for one in getattr(scorer, "_scorers", {"score": scorer}).values():
        if type(one).__name__ not in ("_Scorer", "_PassthroughScorer"):
            raise NotServed("a function as the score")


def _require_repeatable(steps: Pipeline) -> None:
    if any(isinstance(value, np.random.RandomState) for value in steps.get_params().values()):
        raise NotServed("a RandomState in the pipeline")


def _score_solved(call: Any, solved: Solved) -> Any:
    """The result of a call whose model is solved: scikit-learn scores it on row numbers."""
    function, (estimator, _, y), options = call
    if _counts_hits(options, y):
        return _count_hits(options, y, solved)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    last.classes_ = solved.classes
    rows = np.arange(len(solved.labels))[:, None]
    for name, values in {
        "fit": None,
        "predict": solved.labels,
        "score": solved.labels,
        "decision_function": solved.scores,
        "predict_proba": solved.shares,
    }.items():
        if values is not None or name == "fit":
            estimator.__dict__[name] = _solved_method(estimator, name, values)
    return function.function(estimator, rows, y, **{**options, "error_score": "raise"})


def _counts_hits(options: dict[str, Any], y: Any) -> bool:
    """Whether a call asks for nothing but the accuracy."""
    scorer = options["scorer"]
    plain = all(
        type(one).__name__ == "_PassthroughScorer"
        for one in getattr(scorer, "_scorers", {"score": scorer}).values()
    )
    return plain and options["verbose"] < 2 and isinstance(y, np.ndarray) and y.ndim == 1


def _count_hits(options: dict[str, Any], y: Any, solved: Solved) -> dict[str, Any]:
    """The result of such a call, as scikit-learn's function would return it, in a tenth of its time."""
    start, hits, scorer = perf_counter(), solved.labels == y, options["scorer"]

    def score(rows: Any) -> Any:
        share = float(np.mean(hits[rows]))
        named = getattr(scorer, "_scorers", None)
        return share if named is None else dict.fromkeys(named, share)

    result: dict[str, Any] = {"fit_error": None, "test_scores": score(options["test"])}
    seconds = perf_counter() - start
    if options.get("return_train_score"):
        result["train_scores"] = score(options["train"])
    if options.get("return_n_test_samples"):
        result["n_test_samples"] = int(hits[options["test"]].shape[0])
    if options.get("return_times"):
        result.update(fit_time=0.0, score_time=seconds)
    if options.get("return_parameters"):
        result["parameters"] = options["parameters"]
    return result


def _solved_method(estimator: Any, name: str, values: Any) -> Callable[..., Any]:
    """A method of a solved model, which looks up what it is asked for by row numbers."""

    def method(rows: Any, y: Any = None) -> Any:
        if name == "fit":
            return estimator
        found = (values() if callable(values) else values)[rows[:, 0]]
        return float(accuracy_score(y, found)) if name == "score" else found

    method.__name__ = name  # scores look for methods by their names
    return method
