"""The learning trajectory of the kernel perceptrons on handwritten digits, part 8 of the USPS study.

Errors on training and held-out rows after each pass, for every rule and degree, with the pass at which
early stopping by the learning curve ends, and what that costs or saves.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix import KernelPerceptron
from separatrix.evaluation.study import Products
from separatrix.evaluation.trajectory import Trajectory, learning_trajectories
from separatrix.experiments.protocol import StudyProtocol
from separatrix.experiments.steps import Results, Row, RunContext, Step, StepResult, metric_rows
from separatrix.kernels.vector_kernels import Polynomial
from separatrix.plots.figures import new_axes
from separatrix.report.page import Picture, Section, Table
from separatrix.studies.views import row_params

TRAJECTORY = "8 trajectory"
RULES = {"one-vs-rest": "ovr", "argmax": "argmax", "one-vs-one": "ovo"}
PASSES = 20
MOST_SPLITS = 5  # that are traced: the first ones of the study
STOP: dict[str, Any] = {"min_gain": 0.001, "min_iter": 5}
CURVES = ("train_error", "test_error", "online_error")
COLOURS = ("#999999", "#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7")


def steps(
    protocol: StudyProtocol, degrees: tuple[int, ...], max_iter: int | None, device: str
) -> list[Step]:
    """One step for each rule."""
    terms: dict[str, Any] = {"protocol": protocol, "degrees": degrees, "device": device}
    terms["passes"] = max_iter or PASSES
    return [Step(f"{TRAJECTORY}: {rule}", partial(_trace, rule=rule, **terms)) for rule in RULES]


def may_stop_early(max_iter: int | None) -> bool:
    """Whether that many passes leave early stopping one that it can save."""
    return max_iter is None or max_iter > STOP["min_iter"]


def _trace(
    context: RunContext,
    rule: str,
    protocol: StudyProtocol,
    degrees: tuple[int, ...],
    passes: int,
    device: str,
) -> StepResult:
    """The trajectories of every degree on the first splits."""
    X, y, splits = protocol.samples(context)
    model = KernelPerceptron(multi_class=RULES[rule], max_iter=passes, device=device)
    rows: list[Row] = []
    for degree in degrees:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = learning_trajectories(
                model, X, y, kernel=Polynomial(degree), splits=splits[:MOST_SPLITS],
                products=context.shared("products", Products),
            )  # fmt: skip
        about = {"rule": rule, "degree": degree}
        for number, values in enumerate(_mean_curves(found), start=1):
            rows += metric_rows(
                TRAJECTORY, protocol.data, rule, dict(zip(CURVES, values, strict=True)),
                **about, **{"pass": number},
            )  # fmt: skip
        for split, one in enumerate(found):
            rows += metric_rows(
                TRAJECTORY, protocol.data, rule, _compare_ends(one), split=split, **about
            )
    return StepResult(rows)


def _mean_curves(found: list[Trajectory]) -> Any:
    """Mean over the splits of each curve after each pass, (passes, curves); one that ended stays."""
    passes = max(len(one.test_error) for one in found)
    padded = [
        [np.pad(curve, (0, passes - len(curve)), mode="edge") for curve in one[:3]] for one in found
    ]
    return np.mean(padded, axis=0).T


def _compare_ends(one: Trajectory) -> dict[str, Any]:
    """A fit that stops early beside one that goes on."""
    stop = one.stop(**STOP)
    return {
        "stop_pass": stop,
        "stop_error": one.test_error[stop - 1],
        "end_pass": len(one.test_error),
        "end_error": one.test_error[-1],
        "best_pass": int(np.argmin(one.test_error)) + 1,
        "best_error": one.test_error.min(),
        "stop_corrections": one.corrected[:stop].sum(),
        "end_corrections": one.corrected.sum(),
    }


def section(results: Results) -> Section:
    """Part 8: errors by pass, and what early stopping costs or saves."""
    figure, panels = new_axes(9.6, 3.6, 1, len(RULES), squeeze=False, sharey=True)
    ends, passes = [], []
    for axes, rule in zip(panels[0], RULES, strict=True):
        about = [(row, row_params(row)) for row in results.where(part=TRAJECTORY, model=rule)]
        degrees = list(dict.fromkeys(params["degree"] for _, params in about))
        for colour, degree in zip(COLOURS, degrees, strict=False):
            own = [(row, params) for row, params in about if params["degree"] == degree]
            curves = {
                name: 100 * np.array([r.value for r, p in own if r.metric == name and "pass" in p])
                for name in CURVES
            }
            end = {
                name: np.array([r.value for r, p in own if r.metric == name])
                for name in dict.fromkeys(r.metric for r, p in own if "pass" not in p)
            }
            early = may_stop_early(results.options["max_iter"])
            stop = float(end["stop_pass"].mean()) if early else None
            _draw(axes, curves, colour, degree, stop)
            ends.append(_row_of_ends(rule, degree, end))
            passes += [
                (rule, degree, number, *(f"{curves[name][number - 1]:.2f}" for name in CURVES))
                for number in range(1, len(curves["test_error"]) + 1)
            ]
        axes.set(title=rule, xlabel="pass", yscale="log")
    panels[0][0].set_ylabel("error, %")
    panels[0][-1].legend(frameon=False, fontsize=7, title="degree", title_fontsize=7)
    return _write(results, figure, ends, passes)


def _draw(axes: Any, curves: dict[str, Any], colour: str, degree: int, stop: float | None) -> None:
    held_out, train = curves["test_error"], curves["train_error"]
    numbers = np.arange(1, len(held_out) + 1)
    axes.plot(numbers, held_out, color=colour, linewidth=1.2, label=str(degree))
    shown = train > 0  # the axis is logarithmic
    axes.plot(numbers[shown], train[shown], color=colour, linewidth=0.9, linestyle=":")
    if stop is not None:
        error = np.interp(stop, numbers, held_out)
        axes.plot([stop], [error], color=colour, marker="o", markersize=4)


def _row_of_ends(rule: str, degree: int, end: dict[str, Any]) -> tuple[Any, ...]:
    difference = 100 * (end["stop_error"] - end["end_error"])
    saved = 100 * (1 - end["stop_corrections"].sum() / max(1, end["end_corrections"].sum()))
    return (
        *(rule, degree, f"{end['stop_pass'].mean():.1f}", f"{100 * end['stop_error'].mean():.2f}"),
        *(f"{end['end_pass'].mean():.1f}", f"{100 * end['end_error'].mean():.2f}"),
        *(f"{difference.mean():+.2f}", f"{saved:.0f} %"),
        *(f"{end['best_pass'].mean():.1f}", f"{100 * end['best_error'].mean():.2f}"),
    )


def _words_on_stopping(ends: list[Any]) -> list[str]:
    cost, early, late = ([float(row[column]) for row in ends] for column in (6, 2, 4))
    return [
        f"Early stopping ends the passes when, from pass {STOP['min_iter']} on, the share of training rows "
        f"predicted right just before they are learned from rises by less than {STOP['min_gain']}.",
        f"It ends after {np.mean(early):.1f} passes on average, in place of {np.mean(late):.1f}, and "
        f"changes the error on held-out rows by {np.mean(cost):+.2f} points on average, from "
        f"{min(cost):+.2f} to {max(cost):+.2f} by rule and degree.",
    ]


def _write(results: Results, figure: Any, ends: list[Any], passes: list[Any]) -> Section:
    splits = min(MOST_SPLITS, results.options["repeats"])
    words = [f"The hypothesis after each pass, on the first {splits} splits."]
    columns = [
        "rule",
        "degree",
        "stops after pass",
        "error there %",
        "ends after pass",
        "error there %",
    ]
    columns += ["stopping changes it by", "corrections saved", "best pass", "error there %"]
    caption = (
        "Error on held-out rows (lines) and training rows (dotted) after each pass, by degree; dots mark "
        "where early stopping ends. A training error of 0 is not drawn."
    )
    if may_stop_early(results.options["max_iter"]):
        words += _words_on_stopping(ends)
    else:
        words.append(
            f"Early stopping waits for pass {STOP['min_iter']}: with at most {results.options['max_iter']} "
            "passes it saves none, and nothing is said of it."
        )
        kept = (0, 1, 4, 5, 8, 9)
        columns, ends = [columns[i] for i in kept], [[row[i] for i in kept] for row in ends]
        caption = caption.replace("; dots mark where early stopping ends", "")
    words.append(
        "The best pass is known only afterwards: it is chosen by the held-out rows themselves, so its "
        "error is a lower limit, and no estimate."
    )
    first = Picture(
        figure,
        caption,
        Table(columns, ends, f"Means over {splits} splits; errors on held-out rows."),
    )
    online = ("rule", "degree", "pass", "train error %", "held-out error %", "online error %")
    table = Table(online, passes, "Every pass, mean over the splits.")
    return Section("The learning trajectory (part 8)", words, [first, table])
