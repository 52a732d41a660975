"""The bodies of the requests of Draw. A drawing is a list of strokes, each a list of points [x, y]."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from separatrix.workbench.strict_model import StrictModel

MAX_STROKES, MAX_POINTS = 200, 20_000
Coordinate = Annotated[float, Field(ge=-0.5, le=1.5)]  # a pen may leave the page
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
Stroke = Annotated[list[Point], Field(max_length=MAX_POINTS)]
OWN = "own"  # the name of the data set of classes that a person draws
MAX_OWN_CLASSES = 10
ClassName = Annotated[str, Field(min_length=1, max_length=30)]
Strokes = list[list[list[float]]]


class DataRequest(StrictModel):
    """Switch to another data set."""

    data: Annotated[str, Field(max_length=4096)]


class StrokesRequest(StrictModel):
    """A drawing: x to the right, y down, 0 to 1 across the page."""

    strokes: Annotated[list[Stroke], Field(max_length=MAX_STROKES)]
    pen: Annotated[float, Field(ge=0.4, le=2.5)] = 1.0  # its width relative to that of the data set

    @model_validator(mode="after")
    def _limit_points(self) -> Self:
        if sum(map(len, self.strokes)) > MAX_POINTS:
            raise ValueError(f"at most {MAX_POINTS} points in all")
        return self


class AnswerRequest(StrokesRequest):
    """Recognise a drawing; show `count` neighbours and the script of `model`."""

    count: Annotated[int, Field(ge=0, le=20)] = 8
    model: Annotated[str, Field(max_length=200)] | None = None


class LearnRequest(StrokesRequest):
    """Correct the answer for a drawing."""

    label: Annotated[str, Field(max_length=200)]


class ClassesRequest(StrictModel):
    """The names of one's own classes; drawings of names that are not among them are dropped."""

    names: Annotated[list[ClassName], Field(min_length=2, max_length=MAX_OWN_CLASSES)]

    @model_validator(mode="after")
    def _require_different(self) -> Self:
        if len({name.strip() for name in self.names}) < len(self.names):
            raise ValueError("names that differ from each other")
        if not all(name.strip() for name in self.names):
            raise ValueError("names that are not blank")
        return self


class ExportModelRequest(StrictModel):
    """The file of a model."""

    model: Annotated[str, Field(max_length=200)]
