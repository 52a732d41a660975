"""The routes of the page Playground; `playground/service.py` answers in another process.

The server itself sends the choices of the page, so nothing here may import scikit-learn, SciPy or numba.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Self

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator

from separatrix.workbench.backend import Backend, forward
from separatrix.workbench.playground.bundled_data import BUNDLED
from separatrix.workbench.playground.generators import GENERATORS, MAX_POINTS, MIN_POINTS
from separatrix.workbench.playground.scene import RULES
from separatrix.workbench.playground.sliders import MODELS
from separatrix.workbench.replies import json_reply, read_body
from separatrix.workbench.strict_model import EmptyRequest, StrictModel

FIT_SECONDS, READ_SECONDS = 30.0, 20.0  # the first fit of a model compiles for up to 10 s
FINISH_SECONDS = 150.0  # for a fit that a person wants to go on; Cancel ends it

Coordinate = Annotated[float, Field(ge=-1e9, le=1e9)]
Label = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Field(max_length=200)]
Key = Annotated[str, Field(max_length=40)]
Point = tuple[Coordinate, Coordinate, Label]
Value = bool | int | float | Key
Rows = Annotated[list[Annotated[int, Field(ge=0, lt=5000)]], Field(max_length=5000)]


class SceneRequest(StrictModel):
    """Points, a model and its parameters.

    Points that come with a key are kept under it: a later request may have the key alone.
    """

    points: Annotated[list[Point], Field(max_length=5000)] | None = None
    kept: Key | None = None
    model: Key
    parameters: Annotated[dict[Key, Value], Field(max_length=20, default_factory=dict)]
    rule: Key = "predict"
    standardise: bool = False
    test: Rows = Field(default_factory=list)
    out: Rows = Field(default_factory=list)

    @model_validator(mode="after")
    def _require_points(self) -> Self:
        if self.points is None and self.kept is None:
            raise ValueError("points, or the key under which they are kept")
        return self


class PictureRequest(SceneRequest):
    """A scene, and the part of the plane to show with so many cells a side."""

    window: tuple[float, float, float, float]
    grid: Annotated[int, Field(ge=20, le=200)] = 100

    @model_validator(mode="after")
    def _require_rectangle(self) -> Self:
        x0, x1, y0, y1 = self.window
        if not (x0 < x1 and y0 < y1 and max(map(abs, self.window)) <= 1e10):
            raise ValueError("a window [x0, x1, y0, y1] with x0 < x1 and y0 < y1, within 1e10")
        return self


class FitRequest(PictureRequest):
    """The same; `quick` lets the fit start from the one before, within the same tolerance."""

    quick: bool = False


class StepRequest(PictureRequest):
    """The same after a number of learning steps."""

    step: Annotated[int, Field(ge=0, le=2000)]


class ExplainRequest(SceneRequest):
    """A scene and a position of the plane."""

    at: tuple[Coordinate, Coordinate]


class SweepRequest(SceneRequest):
    """A scene, one of its sliders and values for it."""

    name: Key
    values: Annotated[list[float], Field(min_length=1, max_length=40)]


class CsvRequest(StrictModel):
    """A table of delimited text."""

    name: Name
    text: str
    x: Name | None = None
    y: Name | None = None
    label: Name | None = None


class PointsRequest(StrictModel):
    """Points from a generator, a data set or a table."""

    generator: Key | None = None
    n: Annotated[int, Field(ge=MIN_POINTS, le=MAX_POINTS)] = 200
    noise: Annotated[float, Field(ge=0, le=2)] = 0.2
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    data: Key | None = None
    columns: tuple[Name, Name] | None = None
    csv: CsvRequest | None = None

    @model_validator(mode="after")
    def _require_one_source(self) -> Self:
        if [self.generator, self.data, self.csv].count(None) != 2:
            raise ValueError("one of generator, data and csv")
        return self


class ExportRequest(SceneRequest):
    """A scene and its name."""

    name: Name = "playground"
    names: tuple[Name, Name] | None = None
    source: Annotated[dict[Key, Value | None], Field(max_length=8)] | None = None


FORWARDED: dict[str, tuple[type[StrictModel], float]] = {
    "points": (PointsRequest, READ_SECONDS),
    "fit": (FitRequest, FIT_SECONDS),
    "finish": (FitRequest, FINISH_SECONDS),
    "explain": (ExplainRequest, FIT_SECONDS),
    "sweep": (SweepRequest, FIT_SECONDS),
    "lift": (SceneRequest, FIT_SECONDS),
    "steps": (SceneRequest, FIT_SECONDS),
    "step": (StepRequest, FIT_SECONDS),
    "export": (ExportRequest, FIT_SECONDS),
}


def router(backend: Backend) -> APIRouter:
    """The routes of Playground."""
    routes = APIRouter()

    @routes.get("/api/playground/models")
    async def models() -> Response:
        return json_reply(catalogue())  # also while the backend is busy

    for name, (model, seconds) in FORWARDED.items():
        endpoint = forward(backend, f"playground.{name}", model, seconds)
        routes.post(f"/api/playground/{name}")(endpoint)

    @routes.post("/api/cancel")
    async def cancel(request: Request) -> Response:
        await read_body(request, EmptyRequest)
        backend.cancel()
        return json_reply({})

    return routes


@cache
def catalogue() -> dict[str, Any]:
    """The choices of Playground: models with parameters, rules, generators and data sets."""
    limits = {"least": MIN_POINTS, "most": MAX_POINTS}
    return {
        "models": [model.to_json() for model in MODELS.values()],
        "rules": [{"value": value, "title": title} for value, title in RULES.items()],
        "generators": [
            {"key": key, "title": one.title, "classes": one.classes, **limits}
            for key, one in GENERATORS.items()
        ],
        "data": [
            {"name": name, "title": one.title, "columns": list(one.columns)}
            for name, one in BUNDLED.items()
        ],
    }
