"""The models of Playground and their sliders, from the registry of estimators.

The table can be read without NumPy or scikit-learn. The estimator is made in `scene.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError
from separatrix.estimators.registry import REGISTRY
from separatrix.estimators.registry.sliders import Parameter

Values = Mapping[str, Any]
SECONDS = 3.0  # that a fit may take; it then stops with what was learned


def _as_they_are(values: Values) -> dict[str, Any]:
    return dict(values)


@dataclass(frozen=True)
class Model:
    """A classifier that can be tried."""

    key: str
    title: str
    kind: str  # its class
    says: str
    parameters: tuple[Parameter, ...]
    arguments: Callable[[Values], dict[str, Any]] = (
        _as_they_are  # of the class, from checked values
    )
    steps: str | None = None  # "mistakes" or "descent", where it can be watched learning
    limits: tuple[str, ...] = ()  # which of time_limit, n_jobs and device it takes
    margins: bool = False  # whether scores of +1 and -1 are its margins

    def as_dict(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "key": self.key,
            "title": self.title,
            "class": self.kind,
            "says": self.says,
            "steps": self.steps,
            "parameters": [parameter.as_dict() for parameter in self.parameters],
        }

    def checked(self, given: Values) -> dict[str, Any]:
        """All parameters that count, those not given at their defaults.

        >>> MODELS["svm"].checked({"kernel": "linear", "C": 10, "gamma": 2.0})
        {'kernel': 'linear', 'hard': False, 'C': 10.0}
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in given.items():
            if name not in known:
                raise ParameterError(
                    self.title, name[:60], f"one of {', '.join(known) or 'none'}", value
                )
        values = {
            name: parameter.checked(self.title, given.get(name, parameter.default))
            for name, parameter in known.items()
        }
        return {name: value for name, value in values.items() if known[name].counts(values)}


def find_model(key: str) -> Model:
    """The model of that key."""
    if key not in MODELS:
        raise ParameterError("Playground", "model", f"one of {', '.join(MODELS)}", key[:60])
    return MODELS[key]


MODELS = {
    page.key: Model(
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
