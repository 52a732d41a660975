"""The static files: a fixed table, read once. No path of a URL reaches the file system."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from separatrix.workbench.replies import RequestError, shorten

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


class StaticFile(NamedTuple):
    """The content of a file, its type and its ETag."""

    content: bytes
    type: str
    tag: str


def load_files() -> dict[str, StaticFile]:
    """All files of `static/` by name.

    >>> load_files()["main.js"].type
    'text/javascript; charset=utf-8'
    """
    table = {}
    for file in files("separatrix.workbench").joinpath("static").iterdir():
        if (suffix := file.name.rpartition(".")[2]) in TYPES and file.is_file():
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            table[file.name] = StaticFile(content, TYPES[suffix], tag)
    return table


def router() -> APIRouter:
    """`/` and `/static/NAME`."""
    routes, table = APIRouter(), load_files()

    @routes.get("/")
    async def front(request: Request) -> Response:
        return await static("index.html", request)

    @routes.get("/static/{name}")
    async def static(name: str, request: Request) -> Response:
        if name not in table:
            raise RequestError(404, "path", f"the workbench has no file {shorten(ascii(name))}")
        file = table[name]
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers={**headers, "Content-Type": file.type})

    return routes
