"""The routes of Experiments: named experiments, uploads, jobs and their files."""

from __future__ import annotations

import asyncio
import base64
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import Field, RootModel

from separatrix.estimators.registry import TITLES
from separatrix.studies.catalogue import NAMED
from separatrix.web.request_error import RequestError
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.local_data import is_local
from separatrix.workbench.records import FileRequest, StudyRequest
from separatrix.workbench.replies import json_reply, parse_body, read_body
from separatrix.workbench.strict_model import EmptyRequest, StrictModel

REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups; "
    "frame-ancestors 'self'"
)
DOWNLOADS: dict[str, dict[str, Any]] = {
    "report.html": {
        "media_type": "text/html; charset=utf-8",
        "headers": {"Content-Security-Policy": REPORT_POLICY},
    },
    "results.csv": {"media_type": "text/csv; charset=utf-8", "filename": "results.csv"},
    "best.model": {"media_type": "application/octet-stream", "filename": "best.model"},
}


class UploadRequest(StrictModel):
    """A file, its bytes in base64."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    base64: str


class JobRequest(RootModel[Annotated[StudyRequest | FileRequest, Field(discriminator="kind")]]):
    """A job of either kind."""


def router(jobs: Jobs) -> APIRouter:
    """The routes of Experiments."""
    routes = APIRouter()

    @routes.get("/api/experiments")
    async def experiments() -> Response:
        named = await asyncio.to_thread(lambda: [_describe(name) for name in NAMED])
        models = [{"key": key, "title": title} for key, title in TITLES.items()]
        return json_reply({"named": named, "models": models})

    @routes.post("/api/uploads")
    async def upload(request: Request) -> Response:
        body = await asyncio.to_thread(parse_body, await request.body(), UploadRequest)
        content = await asyncio.to_thread(_decode, body.base64)
        return json_reply((await jobs.uploads.keep(body.name, content)).to_json())

    @routes.get("/api/jobs")
    async def list_jobs() -> Response:
        return json_reply({"jobs": jobs.list_all()})

    @routes.post("/api/jobs")
    async def submit(request: Request) -> Response:
        return json_reply(jobs.submit((await read_body(request, JobRequest)).root))

    @routes.get("/api/jobs/{number}")
    async def get_job(number: str) -> Response:
        return json_reply(jobs.get(number))

    for change in ("cancel", "resume", "delete"):
        routes.post(f"/api/jobs/{{number}}/{change}")(_make_change(jobs, change))
    for name, options in DOWNLOADS.items():
        routes.get(f"/jobs/{{number}}/{name}")(_make_download(jobs, name, options))
    return routes


def _make_change(jobs: Jobs, change: str) -> Any:
    async def route(number: str, request: Request) -> Response:
        await read_body(request, EmptyRequest)
        return json_reply(await getattr(jobs, change)(number))

    return route


def _make_download(jobs: Jobs, name: str, options: dict[str, Any]) -> Any:
    async def download(number: str, request: Request) -> Response:
        path, headers = jobs.file(number, name), request.scope["headers"]
        # an invalid Range would be refused with another kind of error
        request.scope["headers"] = [header for header in headers if header[0] != b"range"]
        return FileResponse(path, **options)

    return download


def _describe(name: str) -> dict[str, Any]:
    """A named experiment, and whether its data are on this machine."""
    known = NAMED[name]
    missing = [data for data in known.data.split(", ") if not is_local(data)]
    hint = ""
    if missing:
        commands = " and ".join(f"separatrix data get {data}" for data in missing)
        hint = f"{' and '.join(missing)} is not on this machine; get it with: {commands}"
        hint += ". Some quick versions do not need it."
    quick = known.quick_data or known.data
    entry = {"name": name, "caption": known.caption, "data": known.data, "quick_data": quick}
    return {**entry, "available": not missing, "hint": hint}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        message = "`base64`: found something else, expected base64"
        raise RequestError(422, "schema", message) from None
