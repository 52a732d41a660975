"""Section of a page: fold error of every candidate of a grid."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from separatrix.experiments.steps import Results
from separatrix.plots.figures import new_axes
from separatrix.report.comparison_pictures import short
from separatrix.report.page import Picture, Section, Table

MOST_DRAWN = 60  # candidates; more are only in the table


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
    axes.errorbar(mean, positions, xerr=sd, fmt="o", color="#0072b2", capsize=3)
    axes.set_yticks(positions, [short(name) for name in names], fontsize=7)
    axes.set_xlabel("error on the folds, %")
    axes.set_title(short(part), fontsize=9)
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
