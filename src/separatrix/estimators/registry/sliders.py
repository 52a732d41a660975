"""What a slider, a list or a switch of Playground stands for, and what it lets through.

A parameter has the name that the library's class gives it, so that the page, the script and the
experiment file say the same. Nothing here imports more than the errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from separatrix.errors import ParameterError

LONGEST_VALUE = 60  # letters of a wrong value that are said back


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model."""

    name: str
    title: str
    kind: str  # "log", "linear", "integer", "choice" or "switch"
    default: Any
    says: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[tuple[str, str], ...] = ()  # value and title
    when: tuple[tuple[str, tuple[Any, ...]], ...] = ()  # it counts where these have such values

    def as_dict(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "least": self.least,
            "most": self.most,
            "default": self.default,
            "choices": [{"value": value, "title": title} for value, title in self.choices],
            "when": {name: list(values) for name, values in self.when} or None,
            "says": self.says,
        }

    def counts(self, values: Mapping[str, Any]) -> bool:
        """Whether it means anything beside those values of the others."""
        return all(values[name] in wanted for name, wanted in self.when)

    def checked(self, owner: str, value: Any) -> Any:
        """The value, where it is one that the page could send."""
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
    """What was got, unless that is long."""
    said = repr(value)
    return value if len(said) <= LONGEST_VALUE else said[:LONGEST_VALUE] + "..."


def log(
    name: str, title: str, default: float, bounds: tuple[float, float], says: str = "", **more: Any
) -> Parameter:
    """A number above 0, on a slider whose steps multiply."""
    return Parameter(name, title, "log", default, says, *bounds, **more)


def linear(
    name: str, title: str, default: float, bounds: tuple[float, float], says: str = "", **more: Any
) -> Parameter:
    """A number on a plain slider."""
    return Parameter(name, title, "linear", default, says, *bounds, **more)


def integer(
    name: str, title: str, default: int, bounds: tuple[int, int], says: str = "", **more: Any
) -> Parameter:
    """A whole number."""
    return Parameter(name, title, "integer", default, says, *bounds, **more)


def choice(
    name: str, title: str, choices: Mapping[str, str], says: str = "", **more: Any
) -> Parameter:
    """One of some words; the first is the default."""
    default = next(iter(choices))
    return Parameter(name, title, "choice", default, says, choices=tuple(choices.items()), **more)


def switch(name: str, title: str, default: bool, says: str = "", **more: Any) -> Parameter:
    """Yes or no."""
    return Parameter(name, title, "switch", default, says, **more)


def C(**more: Any) -> Parameter:
    """The slider for C of a support vector machine."""
    help_text = "Price of a point on the wrong side of its margin."
    return log("C", "C", 1.0, (0.01, 1000.0), help_text, **more)


PASSES = integer("max_iter", "passes at most", 100, (1, 1000), "Over all points.")
SHUFFLE = switch("shuffle", "shuffle", False, "A new order of the points for every pass.")
PREDICTORS = choice(
    "predictor", "predict with", {"last": "the last weights", "average": "the average of all"}
)
