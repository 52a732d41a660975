"""The routes of Experiments: named experiments, uploads, jobs and their files."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import Field, RootModel

from separatrix.data import catalogue
from separatrix.studies.catalogue import NAMED
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.records import MODELS, FileRequest, StudyRequest
from separatrix.workbench.replies import (
    EmptyRequest,
    RequestError,
    RequestModel,
    json_reply,
    parse_body,
    read_body,
)

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


class UploadRequest(RequestModel):
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
        models = [{"key": key, "title": title} for key, title in MODELS.items()]
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

    @routes.post("/api/jobs/{number}/cancel")
    async def cancel(number: str, request: Request) -> Response:
        await read_body(request, EmptyRequest)
        return json_reply(jobs.cancel(number))

    @routes.post("/api/jobs/{number}/resume")
    async def resume(number: str, request: Request) -> Response:
        await read_body(request, EmptyRequest)
        return json_reply(jobs.resume(number))

    @routes.post("/api/jobs/{number}/delete")
    async def delete(number: str, request: Request) -> Response:
        await read_body(request, EmptyRequest)
        await jobs.delete(number)
        return json_reply({})

    for name, options in DOWNLOADS.items():
        path = f"/jobs/{{number}}/{name}"
        routes.add_api_route(path, _make_download(jobs, name, options), methods=["GET"])
    return routes


def _make_download(jobs: Jobs, name: str, options: dict[str, Any]) -> Any:
    async def download(number: str, request: Request) -> Response:
        path = jobs.file(number, name)
        headers = request.scope[
            "headers"
        ]  # an invalid Range would be refused with another kind of error
        request.scope["headers"] = [header for header in headers if header[0] != b"range"]
        return FileResponse(path, **options)

    return download


def _describe(name: str) -> dict[str, Any]:
    """A named experiment, and whether its data are on this machine."""
    known = NAMED[name]
    data = [name for name in known.data.split(", ") if name in catalogue.names()]
    missing = [name for name in data if catalogue.state(name) == catalogue.TO_DOWNLOAD]
    hint = ""
    if missing:
        commands = " and ".join(f"separatrix data get {name}" for name in missing)
        hint = f"{' and '.join(missing)} is not on this machine; get it with: {commands}"
        hint += ". Some quick versions do without."
    entry = {"name": name, "caption": known.caption, "data": known.data}
    return {**entry, "available": not missing, "hint": hint}


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError(
            422, "schema", "`base64`: found something else, expected base64"
        ) from None
