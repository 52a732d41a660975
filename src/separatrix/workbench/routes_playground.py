"""Routes of Playground: schemas with their limits, and who answers. The work is in the bench's process."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator

from separatrix.workbench.playground.catalogue import catalogue
from separatrix.workbench.replies import JSON, RequestModel, json_reply, read_body
from separatrix.workbench.worker import Worker

FIT_SECONDS, READ_SECONDS = 30.0, 20.0  # a model's first fit on a machine is compiled: 10 s

Coordinate = Annotated[float, Field(ge=-1e9, le=1e9)]
Label = Annotated[str, Field(max_length=200)]
Word = Annotated[str, Field(max_length=200)]
Key = Annotated[str, Field(max_length=40)]
Point = tuple[Coordinate, Coordinate, Label]
Value = bool | int | float | Key


class SceneAsked(RequestModel):
    """What all requests about a picture share."""

    points: Annotated[list[Point], Field(max_length=5000)]
    model: Key
    parameters: Annotated[dict[Key, Value], Field(max_length=20, default_factory=dict)]
    rule: Key = "predict"
    standardise: bool = False


class PictureAsked(SceneAsked):
    """A scene, and which part of the plane to look at how closely."""

    window: tuple[float, float, float, float]
    grid: Annotated[int, Field(ge=20, le=200)] = 100

    @model_validator(mode="after")
    def _is_a_rectangle(self) -> Self:
        x0, x1, y0, y1 = self.window
        if not (x0 < x1 and y0 < y1 and max(map(abs, self.window)) <= 1e10):
            raise ValueError("a window [x0, x1, y0, y1] with x0 < x1 and y0 < y1, within 1e10")
        return self


class StepAsked(PictureAsked):
    """The same after so many steps."""

    step: Annotated[int, Field(ge=0, le=2000)]


class CsvAsked(RequestModel):
    """A table as a person has it."""

    name: Word
    text: str
    x: Word | None = None
    y: Word | None = None
    label: Word | None = None


class PointsAsked(RequestModel):
    """One of a generator, a data set and a table."""

    generator: Key | None = None
    n: Annotated[int, Field(ge=4, le=2000)] = 200
    noise: Annotated[float, Field(ge=0, le=2)] = 0.2
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    data: Key | None = None
    columns: tuple[Word, Word] | None = None
    csv: CsvAsked | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if [self.generator, self.data, self.csv].count(None) != 2:
            raise ValueError("one of generator, data and csv")
        return self


class ExportAsked(SceneAsked):
    """A scene, and what it is called."""

    name: Word = "playground"
    names: tuple[Word, Word] | None = None
    source: Annotated[dict[Key, Value | None], Field(max_length=8)] | None = None


class NothingAsked(RequestModel):
    """An empty body."""


def router(bench: Worker) -> APIRouter:
    """The routes, answered by the bench."""
    routes = APIRouter()

    async def ask(name: str, arguments: dict[str, Any], seconds: float = FIT_SECONDS) -> Response:
        answer = await bench.call(f"playground.{name}", arguments, seconds=seconds)
        return Response(answer, media_type=JSON)

    @routes.get("/api/playground/models")
    async def models() -> Response:
        return json_reply(catalogue())  # also while the bench is busy

    @routes.post("/api/playground/points")
    async def points(request: Request) -> Response:
        asked = await read_body(request, PointsAsked)
        return await ask("points", asked.model_dump(), READ_SECONDS)

    @routes.post("/api/playground/fit")
    async def fit(request: Request) -> Response:
        return await ask("fit", (await read_body(request, PictureAsked)).model_dump())

    @routes.post("/api/playground/steps")
    async def steps(request: Request) -> Response:
        return await ask("steps", (await read_body(request, SceneAsked)).model_dump())

    @routes.post("/api/playground/step")
    async def step(request: Request) -> Response:
        return await ask("step", (await read_body(request, StepAsked)).model_dump())

    @routes.post("/api/playground/export")
    async def export(request: Request) -> Response:
        return await ask("export", (await read_body(request, ExportAsked)).model_dump())

    @routes.post("/api/cancel")
    async def cancel(request: Request) -> Response:
        await read_body(request, NothingAsked)
        bench.cancel()
        return json_reply({})

    return routes
