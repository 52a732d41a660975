"""The requests of the page Playground; `playground/service.py` answers them in another process."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator

from separatrix.workbench.backend import Backend
from separatrix.workbench.playground.catalogue import catalogue
from separatrix.workbench.replies import JSON, EmptyRequest, RequestModel, json_reply, read_body

FIT_SECONDS, READ_SECONDS = 30.0, 20.0  # the first fit of a model compiles for up to 10 s

Coordinate = Annotated[float, Field(ge=-1e9, le=1e9)]
Label = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Field(max_length=200)]
Key = Annotated[str, Field(max_length=40)]
Point = tuple[Coordinate, Coordinate, Label]
Value = bool | int | float | Key


class SceneRequest(RequestModel):
    """Points, a model and its parameters."""

    points: Annotated[list[Point], Field(max_length=5000)]
    model: Key
    parameters: Annotated[dict[Key, Value], Field(max_length=20, default_factory=dict)]
    rule: Key = "predict"
    standardise: bool = False


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


class StepRequest(PictureRequest):
    """The same after a number of learning steps."""

    step: Annotated[int, Field(ge=0, le=2000)]


class CsvRequest(RequestModel):
    """A table of delimited text."""

    name: Name
    text: str
    x: Name | None = None
    y: Name | None = None
    label: Name | None = None


class PointsRequest(RequestModel):
    """Points from a generator, a data set or a table."""

    generator: Key | None = None
    n: Annotated[int, Field(ge=4, le=2000)] = 200
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


def router(backend: Backend) -> APIRouter:
    """The routes of Playground."""
    routes = APIRouter()

    async def call(name: str, arguments: dict[str, Any], seconds: float = FIT_SECONDS) -> Response:
        answer = await backend.call(f"playground.{name}", arguments, seconds=seconds)
        return Response(answer, media_type=JSON)

    @routes.get("/api/playground/models")
    async def models() -> Response:
        return json_reply(catalogue())  # also while the backend is busy

    @routes.post("/api/playground/points")
    async def points(request: Request) -> Response:
        body = await read_body(request, PointsRequest)
        return await call("points", body.model_dump(), READ_SECONDS)

    @routes.post("/api/playground/fit")
    async def fit(request: Request) -> Response:
        return await call("fit", (await read_body(request, PictureRequest)).model_dump())

    @routes.post("/api/playground/steps")
    async def steps(request: Request) -> Response:
        return await call("steps", (await read_body(request, SceneRequest)).model_dump())

    @routes.post("/api/playground/step")
    async def step(request: Request) -> Response:
        return await call("step", (await read_body(request, StepRequest)).model_dump())

    @routes.post("/api/playground/export")
    async def export(request: Request) -> Response:
        return await call("export", (await read_body(request, ExportRequest)).model_dump())

    @routes.post("/api/cancel")
    async def cancel(request: Request) -> Response:
        await read_body(request, EmptyRequest)
        backend.cancel()
        return json_reply({})

    return routes
