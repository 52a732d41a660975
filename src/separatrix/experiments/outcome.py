"""The results of an experiment file: a comparison of its models, and the fold error of every candidate."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from separatrix.evaluation.comparison import Comparison
from separatrix.evaluation.result import Evaluation
from separatrix.experiments.plan import ExperimentPlan
from separatrix.experiments.protocol import EVERY_SPLIT, SPLIT, CandidateFamily, StudyProtocol
from separatrix.experiments.steps import Results, RunContext
from separatrix.plots.figures import COLOURS, new_axes
from separatrix.report.comparison_pictures import shorten_name
from separatrix.report.page import Picture, Section, Table

MOST_DRAWN = 60  # candidates; more are only in the table


def comparison_of(plan: ExperimentPlan, results: Results) -> Comparison:
    """Each model as its folds chose it, on common splits."""
    context = RunContext(plan.experiment)
    return Comparison(
        {
            name: _evaluation(protocol, family, results, context)
            for name, (protocol, family) in plan.protocols.items()
        }
    )


def _evaluation(
    protocol: StudyProtocol, family: CandidateFamily, results: Results, context: RunContext
) -> Evaluation:
    _, y, splits = protocol.samples(context)
    chosen = results.where(part=family.name, metric="chosen_error")
    positions = [row.parameters for row in chosen]
    train = _train_errors(results, family, positions)
    predicted, probabilities = {}, {}
    if family.shares == "gram":
        names = list(dict.fromkeys(r.parameters for r in results.where(part=family.name)))
        ends = np.cumsum([len(split.test) for split in splits])[:-1]
        for number, parameters in enumerate(positions):
            step = family.step(EVERY_SPLIT, names.index(parameters))
            guesses = np.split(results.arrays[step]["predicted"], ends)
            predicted[0, number] = guesses[number].astype(np.intp)
    else:
        for number in range(protocol.repeats):
            arrays = results.arrays[family.step(SPLIT, number)]
            predicted[0, number] = arrays["predicted"].astype(np.intp)
            if "probabilities" in arrays:
                probabilities[0, number] = arrays["probabilities"]
    return Evaluation(
        name=family.name,
        kernels=[", ".join(f"{k}={v}" for k, v in json.loads(positions[0]).items()) or family.name],
        classes=np.unique(y),
        y=y,
        train_error=train,
        test_error=np.array([[row.value for row in chosen]]),
        n_iter=np.full((1, protocol.repeats), np.nan),
        splits=splits,
        predicted=predicted,
        lead={},
        fold_error=None,
        seconds=_seconds(results, family),
        probabilities=probabilities,
    )


def _seconds(results: Results, family: CandidateFamily) -> float:
    """Time of all steps; rows of a step carry its time, except those of one fit and one prediction."""
    steps = results.where(part=family.name, metric="fold_error")
    rows = steps if steps and family.shares != "gram" else results.where(part=family.name)
    return float(sum({row.seconds for row in rows}))


def _train_errors(results: Results, family: CandidateFamily, positions: list[str]) -> np.ndarray:
    """Training error of the chosen candidate on each split, (1, repeats); NaN if not measured."""
    rows = results.where(part=family.name, metric="train_error")
    found = {(row.parameters, row.split): row.value for row in rows}
    values = [found.get((position, number), np.nan) for number, position in enumerate(positions)]
    return np.array([values])


def grids(results: Results) -> Section | None:
    """All models with more than one candidate; None if there are none."""
    pictures = [
        _show_grid(results, part)
        for part in dict.fromkeys(row.part for row in results.rows)
        if len({row.parameters for row in results.where(part=part, metric="fold_error")}) > 1
    ]
    words = ["Folds inside each training part choose, without the test part."]
    return Section("Error against parameter", words, pictures) if pictures else None


def _show_grid(results: Results, part: str) -> Picture | Table:
    errors: dict[str, list[float]] = {}
    for row in results.where(part=part, metric="fold_error"):
        errors.setdefault(row.parameters, []).append(100 * row.value)
    often = Counter(row.parameters for row in results.where(part=part, metric="chosen_error"))
    names = [_describe(parameters) for parameters in errors]
    mean = np.array([np.mean(values) for values in errors.values()])
    sd = np.array([np.std(values) for values in errors.values()])
    rows = [
        (name, f"{m:.2f} ± {s:.2f}", often[parameters])
        for name, m, s, parameters in zip(names, mean, sd, errors, strict=True)
    ]
    columns = ("candidate", "fold error %", "times chosen")
    if len(names) > MOST_DRAWN:
        return Table(columns, rows, f"Candidates of {part}, mean ± sd over the splits.")
    figure, axes = new_axes(6.4, 1.0 + 0.28 * len(names))
    positions = np.arange(len(names))[::-1]
    axes.errorbar(mean, positions, xerr=sd, fmt="o", color=COLOURS[0], capsize=3)
    axes.set_yticks(positions, [shorten_name(name) for name in names], fontsize=7)
    axes.set_xlabel("error on the folds, %")
    axes.set_title(shorten_name(part), fontsize=9)
    table = Table(columns, rows, "Mean ± sd over the splits.")
    return Picture(figure, f"Error of each candidate of {part} on the folds.", table)


def _describe(parameters: str) -> str:
    """Parameters as a short text.

    >>> _describe('{"C": 1.0, "kernel": {"gamma": 0.5, "type": "Gaussian"}}')
    'C=1.0, Gaussian(gamma=0.5)'
    """
    words = []
    for name, value in json.loads(parameters).items():
        words.append(_kernel(dict(value)) if isinstance(value, dict) else f"{name}={value}")
    return ", ".join(words)


def _kernel(value: dict[str, Any]) -> str:
    kind = value.pop("type", "kernel")
    return f"{kind}({', '.join(f'{name}={number}' for name, number in value.items())})"
