"""The requests of the page Draw. What they mean is in `drawing/room.py`, in the bench's process."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator

from separatrix.workbench.replies import JSON, RequestModel, json_reply, read_body
from separatrix.workbench.worker import Worker

MOST_STROKES, MOST_POINTS = 200, 20_000  # as in drawing/strokes.py, too heavy to be imported here
SECONDS = 30.0
STARTING = {
    "ready": False,
    "loading": {"done": 0, "total": 1, "says": "starting"},
    "current": "",
    "says": "",
    "classes": [],
    "data": [],
    "models": [],
    "corrections": 0,
    "problem": "",
    "python": "",
    "command": "",
}
Place = Annotated[float, Field(ge=-0.5, le=1.5)]  # a pen may stray over the edge of the page
Point = Annotated[list[Place], Field(min_length=2, max_length=2)]
Stroke = Annotated[list[Point], Field(max_length=MOST_POINTS)]


class Data(RequestModel):
    """Go to another data set."""

    data: Annotated[str, Field(max_length=4096)]


class Drawn(RequestModel):
    """A drawing: strokes of points [x, y], from 0 to 1 across the page, y down."""

    strokes: Annotated[list[Stroke], Field(max_length=MOST_STROKES)]

    @model_validator(mode="after")
    def not_too_long(self) -> Drawn:
        """All strokes together may have so many points."""
        if sum(map(len, self.strokes)) > MOST_POINTS:
            raise ValueError(f"at most {MOST_POINTS} points in all")
        return self


class Answer(Drawn):
    """Have it answered; `count` neighbours are shown, and `model` is whom the script is about."""

    count: Annotated[int, Field(ge=0, le=20)] = 8
    model: Annotated[str, Field(max_length=200)] | None = None


class Learn(Drawn):
    """What a drawing is."""

    label: Annotated[str, Field(max_length=200)]


class Forget(RequestModel):
    """Forget all corrections."""


def router(bench: Worker) -> APIRouter:
    """The routes of Draw."""
    routes = APIRouter(prefix="/api/draw")

    @routes.get("/state")
    async def state() -> Response:
        """The last state that the worker sent; it never waits for a fit."""
        told = bench.told.get("draw")
        return json_reply(STARTING) if told is None else Response(told, media_type=JSON)

    @routes.post("/data")
    async def data(request: Request) -> Response:
        """Another data set."""
        asked = await read_body(request, Data)
        answer = await _called(bench, "data", asked)
        bench.choose(asked.data)
        return answer

    @routes.post("/answer")
    async def answer(request: Request) -> Response:
        """What the models say of a drawing."""
        return await _called(bench, "answer", await read_body(request, Answer))

    @routes.post("/learn")
    async def learn(request: Request) -> Response:
        """A correction."""
        return await _called(bench, "learn", await read_body(request, Learn))

    @routes.post("/forget")
    async def forget(request: Request) -> Response:
        """No corrections any more."""
        return await _called(bench, "forget", await read_body(request, Forget))

    return routes


async def _called(bench: Worker, name: str, asked: RequestModel) -> Response:
    body = await bench.call(f"draw.{name}", asked.model_dump(), seconds=SECONDS)
    return Response(body, media_type=JSON)
