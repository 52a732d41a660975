"""How a perceptron learns, mistake by mistake, and how subgradient descent goes down.

Nothing is learned here a second time: the library's own fit runs, and what it wrote down on the way is
read. Weights are given in the coordinates of the points, also where the model saw standardised ones.
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
from separatrix.solvers.perceptron.online_to_batch import Mistakes, last
from separatrix.solvers.perceptron.primal import Pass
from separatrix.types import Codes, Matrix, Vector
from separatrix.workbench.playground.code import python_of
from separatrix.workbench.playground.fit import complaints, drawn, regions_of
from separatrix.workbench.playground.scene import Scene, last_step

MOST_STEPS = 2000


class Mistake(NamedTuple):
    """One mistaken example and the corrections made on it."""

    row: int
    epoch: int  # from 1
    columns: Codes
    deltas: Vector


class WatchedPerceptron(Perceptron):
    """The perceptron, with every correction of every pass written down."""

    _keeps_log = True  # whatever the predictor

    def _record(self, seen: Pass, X: Any) -> None:
        super()._record(seen, X)
        self.passes_ = [*getattr(self, "passes_", []), seen.mistakes]


def steps_of(scene: Scene) -> dict[str, Any]:
    """The steps of a scene whose model has some; the first is the start."""
    if scene.model.steps is None:
        raise ParameterError(
            "steps", "model", "perceptron, kernel-perceptron or subgradient", scene.model.key
        )
    watched = {"perceptron": WatchedPerceptron}.get(scene.model.key)
    with complaints() as said:
        model = scene.estimator(watched).fit(scene.X, scene.targets)
        steps = _descent(model) if scene.model.steps == "descent" else _learned(scene, model)
        shown = list(islice(steps, MOST_STEPS + 1))
    machine = last_step(model)
    return {
        "method": scene.model.steps,
        "labels": scene.labels,
        "steps": shown,
        "kernel": scene.model.key == "kernel-perceptron",
        "stop": machine.stop_,
        "more": _total(machine) > len(shown) - 1,
        "average": _average(scene, model),
        "warnings": [*scene.notes, *said],
        "python": python_of(scene),
    }


def picture_at(scene: Scene, step: int, window: Sequence[float], grid: int) -> dict[str, Any]:
    """The picture of a kernel perceptron after so many mistakes."""
    if scene.model.key != "kernel-perceptron":
        raise ParameterError("step", "model", "kernel-perceptron", scene.model.key)
    if scene.rule != "predict":
        raise ParameterError("step", "rule", "predict", scene.rule)
    with complaints() as said:
        model = scene.estimator().fit(scene.X, scene.targets)
        then = _at_step(model, step)
        answer = drawn(scene, regions_of(scene, then, window, grid))
    return {**answer, "support": _support_at(then), "warnings": [*scene.notes, *said]}


def _average(scene: Scene, model: Any) -> dict[str, Any] | None:
    """The mean weights, where the model predicts with those and not with the last."""
    wanted = scene.values.get("average") or scene.values.get("predictor") == "average"
    machine = last_step(model)
    if not wanted or not hasattr(machine, "coef_"):
        return None
    W, b = _in_the_plane(model, machine.coef_, machine.intercept_)
    return {"W": W, "b": b}


def _total(machine: Any) -> int:
    return int(machine.mistakes_.sum()) if hasattr(machine, "mistakes_") else int(machine.n_iter_)


def _learned(scene: Scene, model: Any) -> Iterator[dict[str, Any]]:
    """The start, then one step for each mistake."""
    machine = last_step(model)
    by_kernel = scene.model.key == "kernel-perceptron"
    Z = _seen(model, scene.X)
    W = np.zeros((1 if len(scene.labels) == 2 else len(scene.labels), 2))
    b = np.zeros(len(W))
    yield _step(model, None if by_kernel else (W, b), says="the start: all weights are 0")
    for mistake in _mistakes(machine, len(scene.y)):
        undecided = not by_kernel and len(W) == 1 and (W[0] @ Z[mistake.row] + b[0]) == 0
        for column, delta in zip(mistake.columns, mistake.deltas, strict=True):
            W[column] += delta * Z[mistake.row]
            b[column] += delta
        guess = None if undecided else _guess(scene, mistake)
        yield {
            **_step(model, None if by_kernel else (W, b), says=_sentence(scene, mistake, guess)),
            "row": mistake.row,
            "guess": guess,
            "pass": mistake.epoch,
        }


def _mistakes(machine: Any, n: int) -> Iterator[Mistake]:
    """All mistakes of a fit in their order."""
    log, support = machine.__dict__.get("_log"), getattr(machine, "support_", None)
    if log is None:
        log = Mistakes.joined(machine.passes_)
    elif support is not None:
        log = log._replace(rows=support[log.rows])
    cuts = np.flatnonzero(np.diff(log.steps)) + 1
    for part in np.split(np.arange(len(log.steps)), cuts):
        if len(part):
            first = part[0]
            epoch = int(log.steps[first]) // n + 1
            yield Mistake(int(log.rows[first]), epoch, log.columns[part], log.deltas[part])


def _guess(scene: Scene, mistake: Mistake) -> str:
    """Which class the mistaken point was taken for."""
    own = int(scene.y[mistake.row])
    if len(scene.labels) == 2:
        return scene.labels[1 - own]
    return scene.labels[int(mistake.columns[mistake.deltas < 0][0])]


def _sentence(scene: Scene, mistake: Mistake, guess: str | None) -> str:
    own = scene.labels[scene.y[mistake.row]]
    taken = "its score is 0, which is no side" if guess is None else f"taken for {guess}"
    if len(scene.labels) > 2:
        then = f"{own} gains the point, {guess} loses it"
    else:
        then = "the point is added" if mistake.deltas[0] > 0 else "the point is taken off"
    return f"row {mistake.row} is {own}, {taken}: {then}"


def _descent(model: Any) -> Iterator[dict[str, Any]]:
    """The start, then every step of the descent."""
    machine = last_step(model)
    iterates = machine.iterates_.reshape(len(machine.iterates_), -1, 3)
    with np.errstate(over="ignore"):
        losses = machine.loss_curve_.reshape(len(machine.loss_curve_), -1).sum(axis=1)
    for number, Z in zip(machine.iterate_steps_.tolist(), iterates, strict=True):
        value = float(losses[number])
        if not (np.isfinite(Z).all() and np.isfinite(value)):
            return  # it has left the range of numbers; what came before is shown
        says = "the start: all weights are 0" if number == 0 else f"step {number}: f = {value:.6g}"
        step = _step(model, (Z[:, 1:], Z[:, 0]), says=says)
        yield {**step, "pass": number, "objective": value}


def _step(model: Any, weights: tuple[Matrix, Vector] | None, *, says: str) -> dict[str, Any]:
    W, b = (None, None) if weights is None else _in_the_plane(model, *weights)
    return {
        "row": None,
        "guess": None,
        "pass": 0,
        "W": W,
        "b": b,
        "objective": None,
        "says": says,
    }


def _in_the_plane(model: Any, W: Matrix, b: Vector) -> tuple[list[Any], list[Any]]:
    """Weights as they are for points that were not standardised."""
    if isinstance(model, Pipeline):
        scaler = model[0]
        W = W / scaler.scale_
        b = b - W @ scaler.mean_
    return W.tolist(), b.tolist()


def _seen(model: Any, X: Matrix) -> Matrix:
    """Points as the model saw them."""
    return np.asarray(model[0].transform(X)) if isinstance(model, Pipeline) else X


def _at_step(model: Any, step: int) -> Any:
    """A kernel perceptron as it was after so many mistakes."""
    machine = last_step(model)
    starts = np.unique(machine._log.steps)
    if not 0 <= step <= len(starts):
        raise DataError(f"step {step} is not one of the {len(starts)} mistakes that were made")
    done = machine._log.steps < (starts[step] if step < len(starts) else np.inf)
    then = copy.copy(machine)
    then.predictor = "last"
    log = Mistakes(*(part[done] for part in machine._log))
    then.alpha_ = last(log, len(machine.support_), machine.alpha_.shape[1])
    return Pipeline([*model.steps[:-1], ("model", then)]) if isinstance(model, Pipeline) else then


def _support_at(model: Any) -> list[int]:
    """Points that carry a coefficient by then."""
    machine = last_step(model)
    rows: list[int] = np.sort(machine.support_[machine.alpha_.any(axis=1)]).tolist()
    return rows
