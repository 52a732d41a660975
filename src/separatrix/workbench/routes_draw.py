"""The routes of the page Draw; `drawing/service.py` answers in another process."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from separatrix.web.request_error import JSON
from separatrix.workbench.backend import Backend, forward
from separatrix.workbench.drawing.requests import AnswerRequest, DataRequest, LearnRequest
from separatrix.workbench.replies import json_reply, read_body
from separatrix.workbench.strict_model import EmptyRequest, StrictModel

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
FORWARDED: dict[str, type[StrictModel]] = {
    "answer": AnswerRequest,
    "learn": LearnRequest,
    "forget": EmptyRequest,
}


def router(backend: Backend) -> APIRouter:
    """The routes of Draw."""
    routes = APIRouter(prefix="/api/draw")

    @routes.get("/state")
    async def state() -> Response:  # never waits for a fit
        found = backend.states.get("draw")
        return json_reply(STARTING) if found is None else Response(found, media_type=JSON)

    @routes.post("/data")
    async def data(request: Request) -> Response:
        body = await read_body(request, DataRequest)
        answer = await backend.call("draw.data", body.model_dump(), seconds=SECONDS)
        backend.choose_data(body.data)
        return Response(answer, media_type=JSON)

    for name, model in FORWARDED.items():
        routes.post(f"/{name}")(forward(backend, f"draw.{name}", model, SECONDS))
    return routes
