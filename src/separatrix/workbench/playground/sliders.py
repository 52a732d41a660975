"""The models of Playground and their sliders, from the registry of estimators.

The server reads this table, so nothing here imports NumPy or scikit-learn. `scene.py` makes the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError
from separatrix.estimators.registry import REGISTRY
from separatrix.estimators.registry.sliders import Parameter

Values = Mapping[str, Any]
SECONDS = 3.0  # time limit of a fit


def _copy(values: Values) -> dict[str, Any]:
    return dict(values)


@dataclass(frozen=True)
class PlaygroundModel:
    """A classifier of Playground."""

    key: str
    title: str
    class_name: str
    caption: str
    parameters: tuple[Parameter, ...]
    arguments: Callable[[Values], dict[str, Any]] = _copy  # of the class, from checked values
    steps: str | None = None  # "mistakes" or "descent" if learning can be shown step by step
    limits: tuple[str, ...] = ()  # which of time_limit, n_jobs and device it has
    margins: bool = False  # whether its margins are at scores of +1 and -1

    def to_json(self) -> dict[str, Any]:
        """The JSON of the page."""
        return {
            "key": self.key,
            "title": self.title,
            "class": self.class_name,
            "caption": self.caption,
            "steps": self.steps,
            "parameters": [parameter.to_json() for parameter in self.parameters],
        }

    def check(self, values: Values) -> dict[str, Any]:
        """All parameters that apply, with defaults for those that are missing.

        >>> MODELS["svm"].check({"kernel": "linear", "C": 10, "gamma": 2.0})
        {'kernel': 'linear', 'hard': False, 'C': 10.0}
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in values.items():
            if name not in known:
                names = ", ".join(known) or "none"
                raise ParameterError(self.title, name[:60], f"one of {names}", value)
        found = {
            name: parameter.check(self.title, values.get(name, parameter.default))
            for name, parameter in known.items()
        }
        return {name: value for name, value in found.items() if known[name].applies(found)}


def find_model(key: str) -> PlaygroundModel:
    """The model of that key."""
    if key not in MODELS:
        raise ParameterError("Playground", "model", f"one of {', '.join(MODELS)}", key[:60])
    return MODELS[key]


MODELS = {
    page.key: PlaygroundModel(
        page.key,
        page.title,
        record.name,
        page.caption,
        page.sliders,
        page.arguments,
        page.steps,
        page.limits,
        page.margins,
    )
    for record in REGISTRY
    if (page := record.playground) is not None
}
