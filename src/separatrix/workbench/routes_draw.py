"""The routes of the page Draw; `drawing/service.py` answers in another process."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request, Response

from separatrix.web.request_error import JSON
from separatrix.workbench.backend import Backend, forward
from separatrix.workbench.drawing.requests import (
    OWN,
    AnswerRequest,
    ClassesRequest,
    DataRequest,
    ExportModelRequest,
    LearnRequest,
)
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
    "own": None,
    "problem": "",
    "python": "",
    "command": "",
}
FORWARDED: dict[str, type[StrictModel]] = {
    "answer": AnswerRequest,
    "learn": LearnRequest,
    "undo": EmptyRequest,
    "forget": EmptyRequest,
    "export": ExportModelRequest,
}


def current_state(now: bytes | None, former: bytes | None) -> bytes | None:
    """The state of this process; while it loads the same data again, that of the process before it.

    >>> ready, loading = b'{"ready": true, "current": "usps"}', b'{"ready": false, "current": "usps"}'
    >>> current_state(loading, ready) == ready, current_state(ready, loading) == ready
    (True, True)
    """
    if former is None:
        return now
    if now is None:
        return former
    found, before = json.loads(now), json.loads(former)
    return former if not found["ready"] and found["current"] == before["current"] else now


def router(backend: Backend) -> APIRouter:
    """The routes of Draw."""
    routes = APIRouter(prefix="/api/draw")

    @routes.get("/state")
    async def state() -> Response:  # never waits for a fit
        found = current_state(backend.states.get("draw"), backend.former.get("draw"))
        return json_reply(STARTING) if found is None else Response(found, media_type=JSON)

    @routes.post("/data")
    async def data(request: Request) -> Response:
        body = await read_body(request, DataRequest)
        answer = await backend.call("draw.data", body.model_dump_json(), seconds=SECONDS)
        backend.choose_data(body.data)
        return Response(answer, media_type=JSON)

    @routes.post("/classes")
    async def classes(request: Request) -> Response:
        body = await read_body(request, ClassesRequest)
        answer = await backend.call("draw.classes", body.model_dump_json(), seconds=SECONDS)
        backend.choose_data(OWN)
        return Response(answer, media_type=JSON)

    for name, model in FORWARDED.items():
        routes.post(f"/{name}")(forward(backend, f"draw.{name}", model, SECONDS))
    return routes
