"""The pages: `/` and static files."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from separatrix.web.request_error import RequestError, shorten
from separatrix.web.static_files import load_files


def router() -> APIRouter:
    """`/` and `/static/NAME`."""
    routes, table = APIRouter(), load_files("separatrix.workbench")

    @routes.get("/")
    async def front(request: Request) -> Response:
        return await static("index.html", request)

    @routes.get("/static/{name}")
    async def static(name: str, request: Request) -> Response:
        if name not in table:
            raise RequestError(404, "path", f"the workbench has no file {shorten(ascii(name))}")
        return table[name].reply(request)

    return routes
