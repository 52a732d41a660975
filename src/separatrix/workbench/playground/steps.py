"""The learning steps of a perceptron, mistake by mistake, of subgradient descent, and of SMO by pairs.

The library fits the model and records the steps. Weights are in the coordinates of the points, also if
the model saw standardised ones.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from separatrix.errors import DataError, ParameterError
from separatrix.estimators.perceptron import Perceptron
from separatrix.evaluation.regions import Regions
from separatrix.solvers.perceptron.online_to_batch import Mistakes, last
from separatrix.solvers.perceptron.primal import Pass
from separatrix.types import Codes, Matrix, Vector
from separatrix.workbench.playground.export import python_of
from separatrix.workbench.playground.fit import collect_warnings, compute_regions, encode_regions
from separatrix.workbench.playground.scene import Scene, final_estimator
from separatrix.workbench.playground.smo_steps import SmoStep, require_small, smo_steps

MAX_STEPS = 2000
START = "the start: all weights are 0"
EMPTY_SUM = "the start: no point is in the sum yet, every score is 0"
NO_CLASS = -3  # the code of a cell before the first mistake


class Mistake(NamedTuple):
    """One mistake and its updates."""

    row: int
    epoch: int  # from 1
    columns: Codes
    deltas: Vector


class RecordingPerceptron(Perceptron):
    """A perceptron that records every update."""

    _keeps_log = True  # for any predictor

    def _record(self, seen: Pass, X: Any) -> None:
        super()._record(seen, X)
        self.passes_ = [*getattr(self, "passes_", []), seen.mistakes]


def record_steps(scene: Scene) -> dict[str, Any]:
    """The learning steps of the model of a scene; the first is the start."""
    if scene.model.steps is None:
        raise ParameterError(
            "steps", "model", "perceptron, kernel-perceptron, subgradient or svm", scene.model.key
        )
    if scene.model.steps == "pairs":
        return _record_pairs(scene)
    recording = {"perceptron": RecordingPerceptron}.get(scene.model.key)
    descent = scene.model.steps == "descent"
    with collect_warnings() as messages:
        model = scene.estimator(recording).fit(scene.X, scene.targets)
        steps = _descent_steps(model) if descent else _mistake_steps(scene, model)
        shown = list(islice(steps, MAX_STEPS + 1))
    machine = final_estimator(model)
    total = machine.n_iter_ if descent else machine.mistakes_.sum()
    return {
        "method": scene.model.steps,
        "labels": scene.labels,
        "steps": shown,
        "kernel": scene.model.key == "kernel-perceptron",
        "bound": _bound(scene, machine),
        "stop": machine.stop_,
        "more": bool(total > len(shown) - 1),
        "average": _average(scene, model),
        "warnings": [*scene.notes, *messages],
        "python": python_of(scene),
    }


def picture_after(scene: Scene, step: int, window: Sequence[float], grid: int) -> dict[str, Any]:
    """The picture of a kernel perceptron after a number of mistakes."""
    if scene.model.key not in ("kernel-perceptron", "svm"):
        raise ParameterError("step", "model", "kernel-perceptron or svm", scene.model.key)
    if scene.rule != "predict":
        raise ParameterError("step", "rule", "predict", scene.rule)
    if scene.model.key == "svm":
        return _picture_of_pairs(scene, step, window, grid)
    if step == 0:
        return _empty_picture(scene, grid)
    with collect_warnings() as messages:
        model = scene.estimator().fit(scene.X, scene.targets)
        earlier = _at_step(model, step)
        answer = encode_regions(scene, compute_regions(scene, earlier, window, grid))
    machine = final_estimator(earlier)
    support = np.sort(machine.support_[machine.alpha_.any(axis=1)])
    return {
        **answer,
        "support": scene.rows[support].tolist(),
        "warnings": [*scene.notes, *messages],
    }


def _empty_picture(scene: Scene, grid: int) -> dict[str, Any]:
    """Before the first mistake no cell has a class: all scores are 0."""
    codes, sides = np.full((grid, grid), NO_CLASS), np.zeros(grid)
    none, crossings = np.zeros((grid, grid), dtype=bool), np.full((4, grid, grid), np.nan)
    labels = np.array(scene.labels)
    nothing = Regions(
        "", "predict", labels, sides, sides, codes, np.empty((0, grid, grid)), none, crossings
    )
    return {**encode_regions(scene, nothing), "support": [], "warnings": [*scene.notes]}


def _bound(scene: Scene, machine: Any) -> float | None:
    """Novikoff's bound on the mistakes, (R / gamma)^2, if a pass was clean."""
    bound = float(np.max(getattr(machine, "mistake_bound_", np.inf)))
    return bound if np.isfinite(bound) and len(scene.labels) == 2 else None


def _pairs(scene: Scene) -> tuple[Any, Any, Iterator[SmoStep]]:
    """The fitted model, the points as it sees them, and the steps of SMO to the same boundary."""
    require_small(len(scene.y), len(scene.labels), bool(scene.values["hard"]))
    model = scene.estimator().fit(scene.X, scene.targets)
    machine = final_estimator(model)
    Z = model[0].transform(scene.X) if isinstance(model, Pipeline) else scene.X
    y = np.where(scene.y == 1, 1.0, -1.0)
    box = np.where(scene.y == 1, scene.values.get("cost", 1.0), 1.0) * scene.values["C"]
    K = machine.kernel_.block(Z, Z).astype(np.float64)
    return model, Z, smo_steps(K, y, box, MAX_STEPS)


def _record_pairs(scene: Scene) -> dict[str, Any]:
    with collect_warnings() as messages:
        model, Z, found = _pairs(scene)
        steps = list(found)
    y = np.where(scene.y == 1, 1.0, -1.0)
    straight = scene.values["kernel"] == "linear"
    before: Vector = np.zeros(len(y))
    shown = []
    for number, step in enumerate(steps):
        W = None if not straight else (step.alpha * y)[None] @ Z
        weights = None if W is None else (W, np.array([step.intercept]))
        rows = None if step.rows is None else scene.rows[list(step.rows)].tolist()
        shown.append(
            {
                **_step(model, weights, _pair_sentence(scene, step, before)),
                "row": None if rows is None else rows[0],
                "other": None if rows is None else rows[1],
                "violation": step.violation,
                "pass": number,
                "objective": step.objective,
                "support": scene.rows[step.alpha > 0].tolist(),
            }
        )
        before = step.alpha
    return {
        "method": "pairs",
        "labels": scene.labels,
        "steps": shown,
        "kernel": not straight,
        "stop": "tol",
        "more": len(steps) > MAX_STEPS,
        "bound": None,
        "average": None,
        "warnings": [*scene.notes, *messages],
        "python": python_of(scene),
    }


def _pair_sentence(scene: Scene, step: SmoStep, before: Vector) -> str:
    if step.rows is None:
        return f"the start: all coefficients are 0, the violation is {step.violation:.3g}"
    moves = [f"row {scene.rows[i]} from {before[i]:.3g} to {step.alpha[i]:.3g}" for i in step.rows]
    return f"the worst pair violates the conditions by {step.violation:.3g}: {', '.join(moves)}"


class _SmoMachine:
    """An SVM of two classes after some steps of SMO."""

    def __init__(self, model: Any, vectors: Matrix, coef: Vector, intercept: float) -> None:
        self.classes_ = model.classes_
        self._model, self._vectors, self._coef, self._intercept = model, vectors, coef, intercept

    def decision_function(self, X: Matrix) -> Vector:
        """Score of the second class, (m,)."""
        Z = self._model[0].transform(X) if isinstance(self._model, Pipeline) else X
        K = final_estimator(self._model).kernel_.block(Z, self._vectors)
        return np.asarray(K @ self._coef + self._intercept)

    def predict(self, X: Matrix) -> Any:
        """Class of each position, (m,)."""
        return self.classes_[(self.decision_function(X) > 0) * 1]


def _picture_of_pairs(
    scene: Scene, step: int, window: Sequence[float], grid: int
) -> dict[str, Any]:
    """The picture of an SVM after some steps of SMO."""
    with collect_warnings():
        model, Z, found = _pairs(scene)
        state = next(islice(found, step, None), None)
        if state is None:
            raise DataError(f"step {step} is not one of the steps")
        y = np.where(scene.y == 1, 1.0, -1.0)
        support = np.flatnonzero(state.alpha)
        if not len(support):
            return _empty_picture(scene, grid)
        machine = _SmoMachine(model, Z[support], (state.alpha * y)[support], state.intercept)
        regions = compute_regions(scene, machine, window, grid)
    answer = encode_regions(scene, regions)
    return {**answer, "support": scene.rows[support].tolist(), "warnings": [*scene.notes]}


def _average(scene: Scene, model: Any) -> dict[str, Any] | None:
    """The mean weights, if the model predicts with them."""
    wanted = scene.values.get("average") or scene.values.get("predictor") == "average"
    machine = final_estimator(model)
    if not wanted or not hasattr(machine, "coef_"):
        return None
    W, b = _unscaled_weights(model, machine.coef_, machine.intercept_)
    return {"W": W, "b": b}


def _mistake_steps(scene: Scene, model: Any) -> Iterator[dict[str, Any]]:
    """The start, then one step for each mistake."""
    machine = final_estimator(model)
    by_kernel = scene.model.key == "kernel-perceptron"
    Z = model[0].transform(scene.X) if isinstance(model, Pipeline) else scene.X
    W = np.zeros((1 if len(scene.labels) == 2 else len(scene.labels), 2))
    b = np.zeros(len(W))
    weights = None if by_kernel else (W, b)
    yield _step(model, weights, EMPTY_SUM if by_kernel else START)
    for number, mistake in enumerate(_mistakes(machine, len(scene.y))):
        undecided = not by_kernel and len(W) == 1 and (W[0] @ Z[mistake.row] + b[0]) == 0
        undecided = len(scene.labels) == 2 and (undecided or number == 0)  # then all scores are 0
        for column, delta in zip(mistake.columns, mistake.deltas, strict=True):
            W[column] += delta * Z[mistake.row]
            b[column] += delta
        guess = None if undecided else _guess(scene, mistake)
        yield {
            **_step(model, weights, _sentence(scene, mistake, guess, tied=number == 0)),
            "row": int(scene.rows[mistake.row]),
            "guess": guess,
            "pass": mistake.epoch,
        }


def _mistakes(machine: Any, n: int) -> Iterator[Mistake]:
    """All mistakes of a fit in order."""
    log, support = machine.__dict__.get("_log"), getattr(machine, "support_", None)
    if log is None:
        log = Mistakes.concatenate(machine.passes_)
    elif support is not None:
        log = log._replace(rows=support[log.rows])
    cuts = np.flatnonzero(np.diff(log.steps)) + 1
    for part in np.split(np.arange(len(log.steps)), cuts):
        if len(part):
            first = part[0]
            epoch = int(log.steps[first]) // n + 1
            yield Mistake(int(log.rows[first]), epoch, log.columns[part], log.deltas[part])


def _guess(scene: Scene, mistake: Mistake) -> str:
    """The class that was predicted for the point."""
    own = int(scene.y[mistake.row])
    if len(scene.labels) == 2:
        return scene.labels[1 - own]
    return scene.labels[int(mistake.columns[mistake.deltas < 0][0])]


def _sentence(scene: Scene, mistake: Mistake, guess: str | None, *, tied: bool) -> str:
    own = scene.labels[scene.y[mistake.row]]
    predicted = "its score is 0" if guess is None else f"predicted as {guess}"
    if len(scene.labels) > 2:
        then = f"{own} gains the point, {guess} loses it"
        predicted = f"all scores are 0, which {guess} wins" if tied else predicted
    else:
        then = "the point is added" if mistake.deltas[0] > 0 else "the point is subtracted"
    return f"row {scene.rows[mistake.row]} is {own}, {predicted}: {then}"


def _descent_steps(model: Any) -> Iterator[dict[str, Any]]:
    """The start, then every step of the descent."""
    machine = final_estimator(model)
    iterates = machine.iterates_.reshape(len(machine.iterates_), -1, 3)
    with np.errstate(over="ignore"):
        losses = machine.loss_curve_.reshape(len(machine.loss_curve_), -1).sum(axis=1)
    for number, Z in zip(machine.iterate_steps_.tolist(), iterates, strict=True):
        value = float(losses[number])
        if not (np.isfinite(Z).all() and np.isfinite(value)):
            return  # the objective has overflowed
        message = f"step {number}: f = {value:.6g}" if number else START
        step = _step(model, (Z[:, 1:], Z[:, 0]), message)
        yield {**step, "pass": number, "objective": value}


def _step(model: Any, weights: tuple[Matrix, Vector] | None, message: str) -> dict[str, Any]:
    W, b = (None, None) if weights is None else _unscaled_weights(model, *weights)
    step = {"row": None, "guess": None, "pass": 0, "objective": None}
    return {**step, "W": W, "b": b, "message": message}


def _unscaled_weights(model: Any, W: Matrix, b: Vector) -> tuple[list[Any], list[Any]]:
    """Weights for points that are not standardised."""
    if isinstance(model, Pipeline):
        scaler = model[0]
        W = W / scaler.scale_
        b = b - W @ scaler.mean_
    return W.tolist(), b.tolist()


def _at_step(model: Any, step: int) -> Any:
    """The kernel perceptron after a number of mistakes."""
    machine = final_estimator(model)
    starts = np.unique(machine._log.steps)
    if not 0 <= step <= len(starts):
        raise DataError(f"step {step} is not one of the {len(starts)} mistakes")
    done = machine._log.steps < (starts[step] if step < len(starts) else np.inf)
    earlier = copy.copy(machine)
    earlier.predictor = "last"
    log = Mistakes(*(part[done] for part in machine._log))
    earlier.alpha_ = last(log, len(machine.support_), machine.alpha_.shape[1])
    scaled = isinstance(model, Pipeline)
    return Pipeline([*model.steps[:-1], ("model", earlier)]) if scaled else earlier
