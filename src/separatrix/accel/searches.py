"""Cross-validation and searches: all fits of a grid as one problem over shared Gram matrices.

scikit-learn hands joblib one call of `_fit_and_score` for each candidate and fold. Where all of them train
an `SVC`, or a pipeline that ends in one, or a `KNeighborsClassifier`, they are solved together; then
scikit-learn's own function scores the solved models, so that tables and messages are its own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _get_feature_names

from separatrix.accel import costs
from separatrix.accel.counters import count_fallback, count_served
from separatrix.accel.dispatch import NotServed, load, note_missed, reason_of, require_worth
from separatrix.accel.replacements import SEARCH
from separatrix.accel.switch_state import SETTINGS
from separatrix.types import Codes

SOLVERS = {  # of the last step, by name: where it is defined, and what solves its cells
    "SVC": ("sklearn.svm._classes", "svc_cells:solve_svc_cells"),
    "KNeighborsClassifier": ("sklearn.neighbors._classification", "neighbor_cells:solve_cells"),
}
SEEDED = ("SVC",)  # of these, whose fits draw a seed, also if they do not use it
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


class Candidate(NamedTuple):
    """Parameters of a search, set on its estimator."""

    kind: str | None  # the name in `SOLVERS` of the last step
    model: Any  # the last step
    steps: Any  # a pipeline of the steps before it, or None

    @property
    def before(self) -> str:
        """The steps before the last one, in words; raises an error if they must not be shared."""
        if self.steps is None:
            return ""
        params = self.steps.get_params()
        _require_repeatable(params)
        words = repr(params)
        try:
            return f"{words} {joblib.hash(self.steps)}"  # words leave out parts of long arrays
        except Exception as error:  # functions without a name: their words have an address
            if "..." in words:
                raise NotServed("steps that cannot be compared") from error
            return words


def may_be_served(call: Any) -> bool:
    """Whether a call, or others of its search, may have work in common with others."""
    args = call[1]
    return len(args) == 3 and (type(args[0]) is Pipeline or _kind(args[0]) is not None)


def _kind(estimator: Any) -> str | None:
    """The name in `SOLVERS` of an estimator, or of the last step of a pipeline."""
    last = estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
    name = type(last).__name__
    module = sys.modules.get(SOLVERS.get(name, ("", ""))[0])
    return name if module is not None and getattr(module, name, None) is type(last) else None


def serve(
    calls: list[Any], candidates: list[Candidate], workers: float = 0.0, *,
    in_process: bool = True, answer: Any = None,
) -> list[Any]:  # fmt: skip
    """The result of each call, None where scikit-learn is to compute it.

    Candidates may be of several kinds, of which some are served. `workers` are the seconds that processes
    take to start for calls that are left to scikit-learn, and `in_process` whether these would run in this
    one. `answer` makes the result of a call whose model is solved; without it, scores.
    """
    results: list[Any] = [None] * len(calls)
    kinds = {one.kind: None for one in candidates}
    for kind in kinds:
        if kind is not None:
            numbers = [number for number, one in enumerate(candidates) if one.kind == kind]
            start_up = workers if len(kinds) == 1 else 0.0
            _serve_kind(
                kind, calls, candidates, numbers, results, start_up, answer or _score_solved, in_process
            )  # fmt: skip
    return results


def find_candidates(calls: list[Any]) -> list[Candidate]:
    """The candidate of each call; folds share them."""
    known: dict[int, Candidate] = {}
    candidates = []
    for _, (estimator, *_), options in calls:
        parameters = options["parameters"]
        key = id(parameters) if parameters else id(estimator)
        if key not in known:
            known[key] = _candidate(estimator, parameters)
        candidates.append(known[key])
    return candidates


def _candidate(estimator: Any, parameters: Any) -> Candidate:
    """A candidate; of no kind if scikit-learn refuses its parameters."""
    try:
        estimator.set_params(**clone(parameters or {}, safe=False))
        kind = _kind(estimator)
        piped = isinstance(estimator, Pipeline)
        model = estimator[-1] if piped else estimator
        if kind is not None:
            model._validate_params()
        return Candidate(kind, model, estimator[:-1] if piped else None)
    except Exception:
        return Candidate(None, None, None)


def _serve_kind(
    kind: str, calls: list[Any], candidates: list[Candidate], numbers: list[int], results: list[Any],
    start_up: float, answer: Callable[[Any, Solved], Any], in_process: bool,
) -> None:  # fmt: skip
    """Write the results of calls of one kind, all of them or none."""
    start = perf_counter()
    SETTINGS.attempts += 1
    _, (estimator, X, y), options = calls[numbers[0]]
    label = f"{type(estimator).__name__} in a search"
    plain = _is_plain_accuracy(options, y)  # scores of another kind are scikit-learn's own work
    sizes = [(len(calls[n][2]["train"]), len(calls[n][2]["test"])) for n in numbers]
    expected = start_up + sum(costs.cell(kind, X, *size, calls=plain) for size in sizes)
    found = {}
    try:
        require_worth(expected, SEARCH)
        if getattr(y, "ndim", 1) != 1:
            raise NotServed("labels that are a table")
        _get_feature_names(X)  # an error if they are of several types
        cells = cells_of(calls, candidates, numbers)
        solve: Solve = load(SOLVERS[kind][1])
        with without_draws(), warnings.catch_warnings():
            # raised here, since scikit-learn will score, and warn, itself
            warnings.filterwarnings("error", "Scoring failed", UserWarning)
            for number, solved in solve(X, y, cells):
                found[number] = answer(calls[number], solved)
    except Exception as error:
        count_fallback(label, 0.0, reason_of(error))
        note_missed(error, expected, SEARCH)
        return
    seconds = perf_counter() - start
    if in_process and kind in SEEDED:
        _draw_seeds(candidates, found)
    for number, result in found.items():
        if isinstance(result, dict) and "fit_time" in result:  # the cells share their work
            result["fit_time"] += seconds / len(found)
        results[number] = result
    count_served(label, seconds, expected, len(found))


def _draw_seeds(candidates: list[Candidate], numbers: Iterable[int]) -> None:
    """Draw from NumPy's global generator what the fits would have: a seed each, which changes nothing."""
    for number in numbers:
        if candidates[number].model.random_state is None:
            np.random.randint(np.iinfo("i").max)  # noqa: NPY002


def cells_of(calls: list[Any], candidates: list[Candidate], numbers: list[int]) -> list[Cell]:
    """What some calls ask for; raises an error if it is not served."""
    cells = []
    folds: dict[tuple[int, int], Fold] = {}  # candidates share them: so they are solved together
    unique = {id(candidates[number]): candidates[number] for number in numbers}
    if any(one.model is None for one in unique.values()):
        raise NotServed("parameters that scikit-learn refuses")
    before = {key: one.before for key, one in unique.items()}
    _, X, y = calls[numbers[0]][1]
    if any(type(given).__module__.split(".")[0] not in LIBRARIES for given in (X, y)):
        raise NotServed("arrays of another library")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    for number in numbers:
        _, (_, own_X, own_y), options = calls[number]
        _require_plain(options)
        if own_X is not X or own_y is not y:
            raise NotServed("several data sets")
        candidate = candidates[number]
        train, test = options["train"], options["test"]
        fold = folds.get((id(train), id(test)))
        if fold is None:
            fold = _fold_of(train, test, n, scores_both=bool(options.get("return_train_score")))
            folds[id(train), id(test)] = fold
        words = before[id(candidate)]
        cells.append(Cell(number, candidate.model, words, candidate.steps, fold))
    return cells


@contextmanager
def without_draws() -> Iterator[None]:
    """Raise an error if numbers were drawn from NumPy's global generator, and put them back."""
    state: Any = np.random.get_state()  # noqa: NPY002
    yield
    now: Any = np.random.get_state()  # noqa: NPY002
    if state[2:] != now[2:] or not np.array_equal(state[1], now[1]):
        np.random.set_state(state)  # noqa: NPY002
        raise NotServed("random steps")


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
    return Fold(train, test, np.concatenate([test, train]) if scores_both else test)


def _require_plain(options: dict[str, Any]) -> None:
    """Raise an error for calls with parameters of `fit`, unusual scores or callbacks."""
    if options.get("fit_params") or options.get("score_params"):
        raise NotServed("parameters of fit")
    if options.get("return_estimator"):
        raise NotServed("return_estimator=True")
    if getattr(options.get("caller"), "_skl_callbacks", None):
        raise NotServed("callbacks")
    for one in _scorers_of(options):
        if type(one).__name__ not in ("_Scorer", "_PassthroughScorer"):
            raise NotServed("a function as the score")


def _scorers_of(options: dict[str, Any]) -> list[Any]:
    """The scores that a call asks for; none if it asks for predictions."""
    scorer = options["scorer"]
    return list(getattr(scorer, "_scorers", {"score": scorer}).values()) if scorer else []


def _require_repeatable(params: dict[str, Any]) -> None:
    """Raise an error for steps that draw other numbers each time, print, or are the program's own."""
    for name, value in params.items():
        if isinstance(value, np.random.RandomState | np.random.Generator):
            raise NotServed("a RandomState in the pipeline")
        if name.endswith("verbose") and value:
            raise NotServed("memory or verbose of a pipeline")
        if type(value).__module__ == "__main__":
            raise NotServed("steps of the program's own")


def _score_solved(call: Any, solved: Solved) -> Any:
    """The result of a call whose model is solved: scikit-learn scores it on row numbers."""
    function, (estimator, _, y), options = call
    if _is_plain_accuracy(options, y):
        return _score_accuracy(options, y, solved)
    estimator.set_params(**clone(options["parameters"] or {}, safe=False))
    estimator.__dict__["set_params"] = lambda **_: estimator  # else it would replace the last step
    rows = give_methods(estimator, solved)
    return function.function(estimator, rows, y, **{**options, "error_score": "raise"})


def give_methods(estimator: Any, solved: Solved) -> Codes:
    """Let an estimator look up what is solved; returns its samples, their row numbers, (n, 1)."""
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
    return rows


def _is_plain_accuracy(options: dict[str, Any], y: Any) -> bool:
    """Whether a call asks for nothing but the accuracy."""
    scorers = _scorers_of(options)
    plain = scorers and all(type(one).__name__ == "_PassthroughScorer" for one in scorers)
    return bool(plain) and options["verbose"] < 2 and isinstance(y, np.ndarray) and y.ndim == 1


def _score_accuracy(options: dict[str, Any], y: Any, solved: Solved) -> dict[str, Any]:
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
