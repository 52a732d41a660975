"""Jobs on disk: one folder each, with `job.json` and what the experiment writes into `run`.

A change is on disk before it is in memory, unless the disk is full when a job ends.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from separatrix.runtime.atomic_files import atomic_write
from separatrix.web.request_error import RequestError, shorten
from separatrix.workbench.records import JobError, JobRecord, Status

FILES = ("report.html", "results.csv", "best.model")  # all that is ever served of a job


class JobStore:
    """The jobs in a folder by their identifiers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, JobRecord] = {}

    def load(self) -> None:
        """Read all jobs; whatever was not finished is interrupted. Other files are left alone."""
        for path in sorted(self._folder.glob("*/job.json")):
            try:
                record = JobRecord.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):
                continue
            if record.id == path.parent.name:
                self._records[record.id] = record
                if not record.ended:
                    self.finish(record, "interrupted")

    def newest_first(self) -> list[JobRecord]:
        """All jobs."""
        return sorted(self._records.values(), key=lambda record: record.created, reverse=True)

    def get(self, number: str) -> JobRecord:
        """The job with that identifier."""
        if number not in self._records:
            raise RequestError(404, "missing", f"there is no job {shorten(number)}")
        return self._records[number]

    def add(self, record: JobRecord) -> None:
        """Keep a new job."""
        self.change(record)
        self._records[record.id] = record

    def change(self, record: JobRecord, **changes: Any) -> None:
        """Set fields of a job; raises a RequestError if the folder cannot be written."""
        changed = record.model_copy(update=changes)
        path = self._folder / record.id / "job.json"
        write_file(path, changed.model_dump_json(indent=2).encode() + b"\n")
        _set(record, changes)

    def finish(self, record: JobRecord, status: Status, **changes: Any) -> None:
        """Set the final status of a job, also if the disk is full: then in memory only."""
        try:
            self.change(record, status=status, **changes)
        except RequestError as error:
            failure = JobError(message=error.message, hint=error.hint)
            final = "failed" if status == "done" else status
            _set(record, {"error": failure, **changes, "status": final})

    def remove(self, record: JobRecord) -> None:
        """Delete a job and its files."""
        self._records.pop(record.id, None)
        shutil.rmtree(self._folder / record.id, ignore_errors=True)

    def run_folder(self, record: JobRecord) -> Path:
        """Where the experiment writes."""
        return self._folder / record.id / "run"

    def files(self, record: JobRecord) -> dict[str, Path]:
        """The files of a job that may be downloaded."""
        paths = {name: self.run_folder(record) / name for name in FILES}
        return {name: path for name, path in paths.items() if path.is_file()}

    def uses(self, upload: str) -> bool:
        """Whether any job needs an upload."""
        return any(getattr(one.request, "upload", "") == upload for one in self._records.values())


def write_file(path: Path, content: bytes) -> None:
    """Write a file of the workbench atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        message = f"cannot write to the folder of the workbench: {error.strerror}"
        hint = "free some space, or choose another --folder"
        raise RequestError(409, "refused", message, hint) from None


def _set(record: JobRecord, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        setattr(record, name, value)
