"""The requests of the page Draw; `drawing/service.py` answers them in another process."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator

from separatrix.workbench.backend import Backend
from separatrix.workbench.replies import JSON, EmptyRequest, RequestModel, json_reply, read_body

MAX_STROKES, MAX_POINTS = 200, 20_000  # as in drawing/strokes.py, which imports SciPy
SECONDS = 30.0
STARTING = {
    "ready": False,
    "loading": {"done": 0, "total": 1, "message": "starting"},
    "current": "",
    "caption": "",
    "classes": [],
    "data": [],
    "models": [],
    "corrections": 0,
    "problem": "",
    "python": "",
    "command": "",
}
Coordinate = Annotated[float, Field(ge=-0.5, le=1.5)]  # a pen may leave the page
Point = Annotated[list[Coordinate], Field(min_length=2, max_length=2)]
Stroke = Annotated[list[Point], Field(max_length=MAX_POINTS)]


class DataRequest(RequestModel):
    """Switch to another data set."""

    data: Annotated[str, Field(max_length=4096)]


class StrokesRequest(RequestModel):
    """A drawing: strokes of points [x, y], from 0 to 1 across the page, y down."""

    strokes: Annotated[list[Stroke], Field(max_length=MAX_STROKES)]

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


def router(backend: Backend) -> APIRouter:
    """The routes of Draw."""
    routes = APIRouter(prefix="/api/draw")

    async def call(name: str, request: RequestModel) -> Response:
        body = await backend.call(f"draw.{name}", request.model_dump(), seconds=SECONDS)
        return Response(body, media_type=JSON)

    @routes.get("/state")
    async def state() -> Response:  # never waits for a fit
        found = backend.states.get("draw")
        return json_reply(STARTING) if found is None else Response(found, media_type=JSON)

    @routes.post("/data")
    async def data(request: Request) -> Response:
        chosen = await read_body(request, DataRequest)
        answer = await call("data", chosen)
        backend.choose_data(chosen.data)
        return answer

    @routes.post("/answer")
    async def answer(request: Request) -> Response:
        return await call("answer", await read_body(request, AnswerRequest))

    @routes.post("/learn")
    async def learn(request: Request) -> Response:
        return await call("learn", await read_body(request, LearnRequest))

    @routes.post("/forget")
    async def forget(request: Request) -> Response:
        return await call("forget", await read_body(request, EmptyRequest))

    return routes
