"""Parameters of kernels on sequences and graphs that are neither numbers nor kernels.

A kernel checks its own parameters. Here is what it cannot know: what a file may ask for at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.errors import ModelFileError
from separatrix.modelfile.container import in_a_line
from separatrix.modelfile.fields import (
    Archive,
    Field,
    Flag,
    Maybe,
    ShapeEnv,
    checked_text,
    schema_error,
)

MOST_LEVELS = 1_000  # time grows with them, whatever the samples are


@dataclass(frozen=True)
class Levels:
    """Letters of a word, or rounds of refinement."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> int:
        """As a whole number."""
        return self.get(int(value), at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> int:
        """Not so many that a short sample would take for ever."""
        if type(document) is not int:
            raise schema_error(at, "a whole number", document)
        if document > MOST_LEVELS:
            said = f"`{at}` is {in_a_line(document)}, and a file holds at most {MOST_LEVELS}"
            raise ModelFileError("limit", said)
        return document


@dataclass(frozen=True)
class Alphabet:
    """Letters that are expected, as one string."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """As it is."""
        return self.get(value, at, file, sizes)

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> str:
        """The string."""
        if not isinstance(document, str):
            raise schema_error(at, "a string of letters", document)
        return checked_text(document, at)


@dataclass(frozen=True)
class Weights:
    """What each level counts."""

    def put(self, value: Any, at: str, file: Archive, sizes: ShapeEnv) -> dict[str, list[float]]:
        """As a tuple of numbers."""
        return {"tuple": [float(weight) for weight in value]}

    def get(self, document: Any, at: str, file: Archive, sizes: ShapeEnv) -> tuple[float, ...]:
        """The tuple; the kernel itself looks at the numbers."""
        items = document.get("tuple") if isinstance(document, dict) else None
        if (
            not isinstance(items, list)
            or len(document) != 1
            or not all(type(item) in (int, float) for item in items)
        ):
            raise schema_error(at, "a tuple of numbers", document)
        return tuple(items)


OTHER_PARAMETERS: dict[str, Field] = {
    "alphabet": Maybe(Alphabet()),
    "both_ways": Flag(),
    "edge_labels": Flag(),
    "iterations": Levels(),
    "k": Levels(),
    "lowercase": Flag(),
    "nodes": Flag(),
    "shortest": Maybe(Levels()),
    "weights": Maybe(Weights()),
}
