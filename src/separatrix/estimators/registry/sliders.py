"""The parameters behind the sliders, lists and switches of Playground.

Names are those of the library, so that the page, the script and the experiment file agree. Only the
errors are imported, because the server loads this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError

MAX_ECHO = 60  # characters of a wrong value that an error message repeats


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model."""

    name: str
    title: str
    kind: str  # "log", "linear", "integer", "choice" or "switch"
    default: Any
    help: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[tuple[str, str], ...] = ()  # value and title
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # it applies if these have such values

    def to_json(self) -> dict[str, Any]:
        """The JSON of the page."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "least": self.least,
            "most": self.most,
            "default": self.default,
            "choices": [{"value": value, "title": title} for value, title in self.choices],
            "when": {name: list(values) for name, values in self.when} or None,
            "help": self.help,
        }

    def applies(self, values: Mapping[str, Any]) -> bool:
        """Whether it has an effect, given the values of the others."""
        return all(values[name] in wanted for name, wanted in self.when)

    def check(self, owner: str, value: Any) -> Any:
        """The value; raises a ParameterError if it is not allowed."""
        if not self._allows(value):
            raise ParameterError(owner, self.name, self._must_be(), _short(value))
        return float(value) if self.kind in ("log", "linear") else value

    def _allows(self, value: Any) -> bool:
        if self.kind == "switch":
            return isinstance(value, bool)
        if self.kind == "choice":
            return isinstance(value, str) and value in dict(self.choices)
        number = int if self.kind == "integer" else int | float
        if isinstance(value, bool) or not isinstance(value, number):
            return False
        assert self.least is not None
        assert self.most is not None
        return math.isfinite(value) and self.least <= value <= self.most

    def _must_be(self) -> str:
        if self.kind == "switch":
            return "true or false"
        if self.kind == "choice":
            return f"one of {', '.join(value for value, _ in self.choices)}"
        what = "a whole number" if self.kind == "integer" else "a number"
        return f"{what} from {self.least:g} to {self.most:g}"


def _short(value: Any) -> Any:
    text = repr(value)
    return value if len(text) <= MAX_ECHO else text[:MAX_ECHO] + "..."


def log(
    name: str, title: str, default: float, bounds: tuple[float, float], help: str = "", **more: Any
) -> Parameter:
    """A number above 0, on a slider whose steps multiply."""
    return Parameter(name, title, "log", default, help, *bounds, **more)


def linear(
    name: str, title: str, default: float, bounds: tuple[float, float], help: str = "", **more: Any
) -> Parameter:
    """A number on a plain slider."""
    return Parameter(name, title, "linear", default, help, *bounds, **more)


def integer(
    name: str, title: str, default: int, bounds: tuple[int, int], help: str = "", **more: Any
) -> Parameter:
    """A whole number."""
    return Parameter(name, title, "integer", default, help, *bounds, **more)


def choice(
    name: str, title: str, choices: Mapping[str, str], help: str = "", **more: Any
) -> Parameter:
    """One of several values; the first is the default."""
    default = next(iter(choices))
    return Parameter(name, title, "choice", default, help, choices=tuple(choices.items()), **more)


def switch(name: str, title: str, default: bool, help: str = "", **more: Any) -> Parameter:
    """Yes or no."""
    return Parameter(name, title, "switch", default, help, **more)


def C(**more: Any) -> Parameter:
    """The slider for C of a support vector machine."""
    help_text = "Price of a point on the wrong side of its margin."
    return log("C", "C", 1.0, (0.01, 1000.0), help_text, **more)


def cost(**more: Any) -> Parameter:
    """The slider for the price of mistakes on the last class; a scene turns it into class weights."""
    help_text = "Price of a mistake on a point of the last class; one on any other point costs 1."
    return log("cost", "cost of the last class", 1.0, (0.1, 10.0), help_text, **more)


PASSES = integer("max_iter", "passes at most", 100, (1, 1000), "Over all points.")
SHUFFLE = switch("shuffle", "shuffle", False, "A new order of the points for every pass.")
PREDICTORS = choice(
    "predictor", "predict with", {"last": "the last weights", "average": "the average of all"}
)
