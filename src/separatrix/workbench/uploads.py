"""Files that people upload: kept under a number, looked at in a process of their own, never trusted.

The name that a file was given is text in `meta.json`. Where it lies is `uploads/ID/data.ENDING`, with an
ending that the readers know, or `.txt`, for which they look at its beginning.
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
from separatrix.runtime.atomic_files import atomic_write
from separatrix.workbench.child import Child
from separatrix.workbench.preview import main
from separatrix.workbench.records import Upload
from separatrix.workbench.replies import Refusal, shortened
from separatrix.workbench.settings import Settings
from separatrix.workbench.worker import refusal_from, refusal_of_death

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
        self._one = asyncio.Lock()  # looks at a time: each may take much memory

    async def keep(self, name: str, content: bytes) -> Upload:
        """Keep a file if it can be read, and say what is in it."""
        number, ending = secrets.token_hex(8), ending_of(name)
        folder = self._folder / number
        await asyncio.to_thread(_write, folder / f"data{ending}", content)
        try:
            async with self._one:
                seen = await looked_at(folder / f"data{ending}", self._settings)
            upload = Upload(id=number, name=name, ending=ending, bytes=len(content), **seen)
            text = upload.model_dump_json().encode()
            await asyncio.to_thread(_write, folder / "meta.json", text)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, Refusal):
                error.message = error.message.replace(str(folder / f"data{ending}"), name)
            raise
        return upload

    def get(self, number: str) -> Upload:
        """What is known of an upload."""
        try:
            text = (self._folder / number / "meta.json").read_bytes()
            found = Upload.model_validate_json(text)
        except (OSError, ValidationError):
            found = None
        if found is None or found.id != number or not self.path(found).is_file():
            raise Refusal(
                404, "missing", f"there is no upload {shortened(number)}", "upload it again"
            )
        return found

    def path(self, upload: Upload) -> Path:
        """Where the file lies."""
        return self._folder / upload.id / f"data{upload.ending}"

    def forget(self, number: str) -> None:
        """Remove a file."""
        shutil.rmtree(self._folder / number, ignore_errors=True)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        message = f"the workbench's folder cannot be written: {error.strerror}"
        raise Refusal(
            409, "refused", message, "free some space, or choose another --folder"
        ) from None


async def looked_at(path: Path, settings: Settings) -> dict[str, Any]:
    """Rows, columns, the likely target, notes and a preview of a file, from another process."""
    answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def heard(message: bytes) -> None:
        said = json.loads(message)
        if answer.done():
            return
        if "code" in said:
            answer.set_exception(refusal_from(said))
        else:
            answer.set_result(said)

    def ended(code: int) -> None:
        if not answer.done():
            answer.set_exception(refusal_of_death(code))

    text = json.dumps({"path": str(path), "memory": settings.memory})
    child = Child(main, text, heard=heard, ended=ended)
    try:
        return await asyncio.wait_for(answer, SECONDS)
    except TimeoutError:
        message = f"the file could not be read within {SECONDS:g} seconds"
        raise Refusal(408, "timeout", message, "take fewer rows") from None
    finally:
        child.kill()
        await child.gone()
