"""Static files: a fixed table, read once. No path of a URL reaches the file system."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
}


class StaticFile(NamedTuple):
    """The content of a file, its type and its ETag."""

    content: bytes
    type: str
    tag: str

    def answer(self, known: str | None) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers; 304 for a browser that has the file, with the ETag `known`."""
        headers = {"Content-Type": self.type, "ETag": self.tag, "Cache-Control": "no-cache"}
        return (304, b"", headers) if known == self.tag else (200, self.content, headers)

    def reply(self, request: Request) -> Response:
        """The answer as a response of Starlette."""
        status, body, headers = self.answer(request.headers.get("if-none-match"))
        return Response(body, status, headers)


def load_files(package: str) -> dict[str, StaticFile]:
    """All files of `static/` of a package by name.

    >>> load_files("separatrix.workbench")["main.js"].type
    'text/javascript; charset=utf-8'
    """
    table = {}
    for file in files(package).joinpath("static").iterdir():
        if (suffix := file.name.rpartition(".")[2]) in TYPES and file.is_file():
            content = file.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            table[file.name] = StaticFile(content, TYPES[suffix], tag)
    return table
