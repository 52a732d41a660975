"""Uploaded files: kept under an identifier, read in a process of their own, never trusted.

The name of a file is text in `meta.json`. The file is `uploads/ID/data.ENDING`, with an ending that the
readers know, or `.txt`, for which they detect the format.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from separatrix.data.read import FORMATS
from separatrix.data.streams import PACKED
from separatrix.web.request_error import RequestError, shorten
from separatrix.workbench.job_store import write_file
from separatrix.workbench.preview import main
from separatrix.workbench.records import Upload
from separatrix.workbench.replies import error_from_exit, error_from_worker
from separatrix.workbench.settings import Settings
from separatrix.workbench.worker import Header, Worker

SECONDS = 60.0
ENDINGS = frozenset(suffix for format in FORMATS.values() for suffix in format.suffixes)


def ending_of(name: str) -> str:
    """The ending under which a file is kept.

    >>> ending_of("My data.CSV.gz"), ending_of("../../etc/passwd"), ending_of("x.csv\\0.exe")
    ('.csv.gz', '.txt', '.txt')
    """
    *_, first, second = ["", "", *name.lower().split(".")]
    if f".{second}" in PACKED:
        return f".{first}.{second}" if f".{first}" in ENDINGS else f".txt.{second}"
    return f".{second}" if f".{second}" in ENDINGS else ".txt"


class Uploads:
    """The files that were uploaded to one workbench."""

    def __init__(self, settings: Settings) -> None:
        self._folder, self._settings = settings.folder / "uploads", settings
        self._reading = asyncio.Lock()  # one preview at a time: each may take much memory

    async def keep(self, name: str, content: bytes) -> Upload:
        """Keep a file if it can be read, with a preview."""
        number, ending = secrets.token_hex(8), ending_of(name)
        path = self._folder / number / f"data{ending}"
        await asyncio.to_thread(write_file, path, content)
        try:
            async with self._reading:
                seen = await preview_file(path, self._settings.memory)
            upload = Upload(id=number, name=name, ending=ending, bytes=len(content), **seen)
            text = upload.model_dump_json().encode()
            await asyncio.to_thread(write_file, path.with_name("meta.json"), text)
        except BaseException as error:
            self.remove(number)
            if isinstance(error, RequestError):
                error.message = error.message.replace(str(path), name)
            raise
        return upload

    def get(self, number: str) -> Upload:
        """The record of an upload."""
        try:
            text = (self._folder / number / "meta.json").read_bytes()
            found = Upload.model_validate_json(text)
        except (OSError, ValidationError):
            found = None
        if found is None or found.id != number or not self.path(found).is_file():
            message = f"there is no upload {shorten(number)}"
            raise RequestError(404, "missing", message, "upload it again")
        return found

    def path(self, upload: Upload) -> Path:
        """The file of an upload."""
        return self._folder / upload.id / f"data{upload.ending}"

    def remove(self, number: str) -> None:
        """Delete an upload."""
        shutil.rmtree(self._folder / number, ignore_errors=True)


async def preview_file(path: Path, memory: int) -> dict[str, Any]:
    """The preview of a file, made by another process; raises a RequestError if it cannot be read."""
    found: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def refuse(error: RequestError) -> None:
        if not found.done():
            found.set_exception(error)

    def on_message(header: Header, body: bytes) -> None:
        if header["kind"] == "preview":
            found.set_result(json.loads(body))
        else:
            refuse(error_from_worker(json.loads(body)))

    def on_exit(code: int) -> None:
        refuse(error_from_exit(code))

    worker = Worker(main, str(path), memory=memory, on_message=on_message, on_exit=on_exit)
    message = f"the file could not be read within {SECONDS:g} seconds"
    expired = RequestError(408, "timeout", message, "use fewer rows")
    worker.set_deadline(SECONDS, lambda: refuse(expired))
    try:
        return await found
    finally:
        worker.kill()
        await worker.join()
