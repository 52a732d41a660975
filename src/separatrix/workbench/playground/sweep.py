"""Errors along one slider: what the strip under the plane shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.evaluation.regions import RegionClassifier
from separatrix.workbench.playground.facts import why_unfinished
from separatrix.workbench.playground.fit import collect_warnings
from separatrix.workbench.playground.scene import Scene

SECONDS_EACH = 0.5  # time limit of one fit; a fit that needs more is left out


def sweep_parameter(scene: Scene, name: str, values: Sequence[float]) -> dict[str, Any]:
    """The share of wrong training and test points at each value; None for a fit that does not finish."""
    sliders = {slider.name: slider for slider in scene.model.sliders}
    if name not in scene.values or sliders[name].kind not in ("log", "linear", "integer"):
        known = [key for key in scene.values if sliders[key].kind in ("log", "linear", "integer")]
        raise ParameterError("sweep", "name", f"one of {', '.join(known) or 'none'}", name[:60])
    with collect_warnings():
        return {"errors": [_errors(scene, name, value, sliders[name]) for value in values]}


def _errors(scene: Scene, name: str, value: float, slider: Any) -> dict[str, Any]:
    checked = slider.check(scene.model.title, int(value) if slider.kind == "integer" else value)
    if name == "n_neighbors":
        checked = min(checked, len(scene.y))
    other = replace(scene, values={**scene.values, name: checked}, seconds=SECONDS_EACH)
    found: dict[str, Any] = {"value": value, "train": None, "test": None}
    try:
        model = other.estimator().fit(other.X, other.targets)
    except (ValueError, ArithmeticError):  # such as a hard margin that does not exist
        return found
    if why_unfinished([RegionClassifier(model, np.arange(len(other.X)))]) is not None:
        return found
    found["train"] = float(np.mean(model.predict(other.X) != other.targets))
    if len(other.test.rows):
        found["test"] = float(np.mean(model.predict(other.test.X) != other.test.labels))
    return found
