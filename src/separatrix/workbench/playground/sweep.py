"""Errors along one slider: what the strip under the plane shows.

All numbers of neighbours come from one search. For the few points of a plane, an SVM gains nothing from a
shared kernel matrix or from the fit before: most of its time is not the kernel's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.errors import ParameterError
from separatrix.evaluation.rules import RegionClassifier
from separatrix.workbench.playground.facts import why_unfinished
from separatrix.workbench.playground.fit import collect_warnings
from separatrix.workbench.playground.scene import Scene

SECONDS_EACH = 0.5  # time limit of one fit; a fit that needs more is left out
Guesses = tuple[Any, Any]  # classes of the training and of the test points


def sweep_parameter(scene: Scene, name: str, values: Sequence[float]) -> dict[str, Any]:
    """The share of wrong training and test points at each value; None for a fit that does not finish."""
    sliders = {slider.name: slider for slider in scene.model.sliders}
    if name not in scene.values or sliders[name].kind not in ("log", "linear", "integer"):
        known = [key for key in scene.values if sliders[key].kind in ("log", "linear", "integer")]
        raise ParameterError("sweep", "name", f"one of {', '.join(known) or 'none'}", name[:60])
    slider = sliders[name]
    title, integer = scene.model.title, slider.kind == "integer"
    ordered = sorted(values)
    scenes = [
        replace(
            scene,
            values={**scene.values, name: slider.check(title, int(v) if integer else v)},
            seconds=SECONDS_EACH,
        )
        for v in ordered
    ]
    with collect_warnings():
        guesses = dict(zip(ordered, _guesses(scene, name, scenes), strict=True))
    return {"errors": [{"value": value, **_errors(scene, guesses[value])} for value in values]}


def _guesses(scene: Scene, name: str, scenes: list[Scene]) -> Iterator[Guesses | None]:
    """The predictions of each scene; None if its fit does not finish."""
    if name == "n_neighbors" and not scene.standardise:
        return _by_neighbours(scenes)
    return (_fit_alone(one) for one in scenes)


def _by_neighbours(scenes: list[Scene]) -> Iterator[Guesses | None]:
    """All numbers of neighbours from one search."""
    scene, n = scenes[0], len(scenes[0].y)
    numbers = [min(one.values["n_neighbors"], n) for one in scenes]
    model = scene.estimator().set_params(n_neighbors=numbers[-1]).fit(scene.X, scene.targets)
    parts = [
        model.predict_by_k(X, numbers[-1]) if len(X) else None for X in (scene.X, scene.test.X)
    ]
    for k in numbers:
        train, test = (None if part is None else part[:, k - 1] for part in parts)
        yield train, test


def _fit_alone(scene: Scene) -> Guesses | None:
    """None for a fit that fails or does not finish."""
    model = scene.estimator()
    try:
        model.fit(scene.X, scene.targets)
    except (ValueError, ArithmeticError):  # such as a hard margin that does not exist
        return None
    if why_unfinished([RegionClassifier(model, np.arange(len(scene.y)))]) is not None:
        return None
    train, test = (model.predict(X) if len(X) else None for X in (scene.X, scene.test.X))
    return train, test


def _errors(scene: Scene, guesses: Guesses | None) -> dict[str, float | None]:
    if guesses is None:
        return {"train": None, "test": None}
    train, test = guesses
    return {
        "train": float(np.mean(train != scene.targets)),
        "test": None if test is None else float(np.mean(test != scene.test.labels)),
    }
