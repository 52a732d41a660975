"""The models of Playground and their sliders, from the registry of estimators.

The server reads this table, so nothing here imports NumPy or scikit-learn. `scene.py` makes the estimators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError
from separatrix.estimators.registry import REGISTRY
from separatrix.estimators.registry.record import PlaygroundRecord

SECONDS = 3.0  # time limit of a fit


@dataclass(frozen=True)
class PlaygroundModel(PlaygroundRecord):
    """A classifier of Playground, and the name of its class."""

    class_name: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON of the page."""
        return {
            "key": self.key,
            "title": self.title,
            "class": self.class_name,
            "caption": self.caption,
            "steps": self.steps,
            "parameters": [slider.to_json() for slider in self.sliders],
        }

    def check(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters that apply, with defaults for those that are missing.

        >>> MODELS["svm"].check({"kernel": "linear", "C": 10, "gamma": 2.0})
        {'kernel': 'linear', 'hard': False, 'C': 10.0, 'cost': 1.0}
        """
        known = {slider.name: slider for slider in self.sliders}
        for name, value in values.items():
            if name not in known:
                names = ", ".join(known) or "none"
                raise ParameterError(self.title, name[:60], f"one of {names}", value)
        found = {
            name: slider.check(self.title, values.get(name, slider.default))
            for name, slider in known.items()
        }
        return {name: value for name, value in found.items() if known[name].applies(found)}


MODELS = {
    page.key: PlaygroundModel(**vars(page), class_name=record.name)
    for record in REGISTRY
    if (page := record.playground) is not None
}
