"""The routes of Experiments: what can be run, uploads, jobs and their files."""

from __future__ import annotations

import asyncio
import base64
import binascii
import gc
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse
from pydantic import Field, RootModel

from separatrix.data import catalogue
from separatrix.studies.catalogue import NAMED
from separatrix.workbench.jobs import Jobs
from separatrix.workbench.limits import give_memory_back
from separatrix.workbench.records import MODELS, FromFile, Named, Upload
from separatrix.workbench.replies import Refusal, RequestModel, json_reply, parsed_body, read_body

AFTERWARDS = 1.0  # seconds
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups; "
    "frame-ancestors 'self'"
)


class NewUpload(RequestModel):
    """A file, its bytes in base64."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    base64: str


class NewJob(RootModel[Annotated[Named | FromFile, Field(discriminator="kind")]]):
    """A job of either kind."""


class Nothing(RequestModel):
    """The body of a request that says all by its path."""


def router(jobs: Jobs) -> APIRouter:
    """The routes, over the jobs of one workbench."""
    routes = APIRouter()

    @routes.get("/api/experiments")
    async def experiments() -> Response:
        named = await asyncio.to_thread(lambda: [_named(name) for name in NAMED])
        models = [{"key": key, "title": title} for key, title in MODELS.items()]
        return json_reply({"named": named, "models": models})

    @routes.post("/api/uploads")
    async def upload(request: Request) -> Response:
        try:
            return json_reply((await _kept(jobs, request)).shown())
        finally:  # the request holds its body, up to 64 MiB, until it is over
            asyncio.get_running_loop().call_later(AFTERWARDS, _let_go)

    @routes.get("/api/jobs")
    async def listed() -> Response:
        return json_reply({"jobs": jobs.listed()})

    @routes.post("/api/jobs")
    async def submit(request: Request) -> Response:
        return json_reply(jobs.submit((await read_body(request, NewJob)).root))

    @routes.get("/api/jobs/{number}")
    async def one(number: str) -> Response:
        return json_reply(jobs.get(number))

    @routes.post("/api/jobs/{number}/cancel")
    async def cancel(number: str, request: Request) -> Response:
        await read_body(request, Nothing)
        return json_reply(jobs.cancel(number))

    @routes.post("/api/jobs/{number}/resume")
    async def resume(number: str, request: Request) -> Response:
        await read_body(request, Nothing)
        return json_reply(jobs.resume(number))

    @routes.post("/api/jobs/{number}/delete")
    async def delete(number: str, request: Request) -> Response:
        await read_body(request, Nothing)
        await jobs.delete(number)
        return json_reply({})

    @routes.get("/jobs/{number}/report.html")
    async def report(number: str, request: Request) -> Response:
        headers = {"Content-Security-Policy": REPORT_POLICY}
        path = jobs.file(number, "report.html")
        return _whole(request, path, media_type="text/html; charset=utf-8", headers=headers)

    @routes.get("/jobs/{number}/results.csv")
    async def results(number: str, request: Request) -> Response:
        path = jobs.file(number, "results.csv")
        return _whole(request, path, media_type="text/csv; charset=utf-8", filename="results.csv")

    @routes.get("/jobs/{number}/best.model")
    async def model(number: str, request: Request) -> Response:
        path = jobs.file(number, "best.model")
        return _whole(request, path, media_type="application/octet-stream", filename="best.model")

    return routes


def _let_go() -> None:
    """Give back what a request took that is over; it may be part of a cycle."""
    gc.collect()
    give_memory_back()


async def _kept(jobs: Jobs, request: Request) -> Upload:
    """Take an upload apart; the loop goes on meanwhile."""
    asked = await asyncio.to_thread(parsed_body, await request.body(), NewUpload)
    content = await asyncio.to_thread(_decoded, asked.base64)
    return await jobs.uploads.keep(asked.name, content)


def _whole(request: Request, path: Path, **options: Any) -> FileResponse:
    """A file, always all of it: a part that makes no sense would be refused in another shape."""
    headers = request.scope["headers"]
    request.scope["headers"] = [header for header in headers if header[0] != b"range"]
    return FileResponse(path, **options)


def _named(name: str) -> dict[str, Any]:
    """A named experiment, and whether its data are on this machine."""
    known = NAMED[name]
    sets = [word for word in known.data.split(", ") if word in catalogue.names()]
    missing = [one for one in sets if catalogue.state(one) == catalogue.TO_DOWNLOAD]
    hint = ""
    if missing:
        commands = " and ".join(f"separatrix data get {one}" for one in missing)
        hint = f"{' and '.join(missing)} is not on this machine; get it with: {commands}"
        hint += ". Some quick versions do without."
    says = {"name": name, "says": known.caption, "data": known.data}
    return {**says, "there": not missing, "hint": hint}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, "schema", "`base64`: found something else, expected base64") from None
