"""The experiments of a workbench.

One job runs at a time, in a process of its own; the others wait in order. Progress is in memory only. A
job that ran or waited when the server ended is "interrupted" at the next start, and can be resumed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from separatrix.estimators.registry import TITLES
from separatrix.studies.catalogue import NAMED
from separatrix.web.request_error import RequestError, shorten
from separatrix.workbench.job import main as run_job
from separatrix.workbench.job_store import JobStore
from separatrix.workbench.records import (
    BestModel,
    Confusion,
    FileRequest,
    JobError,
    JobRecord,
    Standing,
    StudyRequest,
)
from separatrix.workbench.replies import error_from_exit
from separatrix.workbench.settings import Settings
from separatrix.workbench.uploads import Uploads
from separatrix.workbench.worker import Header, Main, Worker


@dataclass
class _Run:
    """The job that has a process."""

    record: JobRecord
    worker: Worker | None = None
    progress: Header = field(default_factory=lambda: {"message": "starting", "done": 0, "total": 1})
    outcome: Header | None = None

    def on_message(self, header: Header, _body: bytes) -> None:
        kind = header.pop("kind")
        if kind == "progress":
            self.progress = header
        elif kind == "standings":  # kept in memory; on disk with the next change of the record
            self.record.leaderboard = [Standing(**row) for row in header["leaderboard"]]
            self.record.confusion = header["confusion"] and Confusion(**header["confusion"])
        else:
            self.outcome = header


class Jobs:
    """The jobs in `settings.folder`. All methods are for the event loop that called `start`."""

    def __init__(self, settings: Settings, *, main: Main = run_job) -> None:
        self._settings, self._main = settings, main
        self._store = JobStore(settings.folder / "jobs")
        self._queue: deque[str] = deque()
        self._run: _Run | None = None
        self._stopping = False
        self.uploads = Uploads(settings)

    def start(self) -> None:
        """Read the jobs on disk; none is resumed by itself."""
        self._stopping = False
        self._store.load()

    async def stop(self) -> None:
        """End the job that runs; it and those that wait are interrupted."""
        self._stopping = True
        self._queue.clear()
        run = self._run
        for record in self._store.newest_first():
            if not record.ended:
                self._end(record, "interrupted")
        if run is not None and run.worker is not None:
            await run.worker.join()

    def list_all(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        return [self._describe(record) for record in self._store.newest_first()]

    def get(self, number: str) -> dict[str, Any]:
        """One job."""
        return self._describe(self._store.get(number))

    def file(self, number: str, name: str) -> Path:
        """A file of a job, one of `FILES`."""
        path = self._store.files(self._store.get(number)).get(name)
        if path is None:
            raise RequestError(404, "missing", f"this job has no file {shorten(name)}")
        return path

    def submit(self, request: StudyRequest | FileRequest) -> dict[str, Any]:
        """Queue a job."""
        number, fields = secrets.token_hex(8), _record_fields(request, self.uploads)
        record = JobRecord(id=number, request=request, created=time.time(), **fields)
        self._store.add(record)
        return self._enqueue(record)

    async def cancel(self, number: str) -> dict[str, Any]:
        """Remove a job from the queue, or end it."""
        record = self._store.get(number)
        if record.ended:
            raise RequestError(409, "refused", f"this job is {record.status} already")
        if record.id in self._queue:
            self._queue.remove(record.id)
        self._end(record, "cancelled")
        return self._describe(record)

    async def resume(self, number: str) -> dict[str, Any]:
        """Queue a job again that did not finish."""
        record = self._store.get(number)
        if not record.ended or record.status == "done":
            raise RequestError(409, "refused", f"this job is {record.status}")
        if isinstance(record.request, FileRequest):
            self.uploads.get(record.request.upload)
        blank: dict[str, Any] = {"error": None, "started": None, "finished": None}
        blank |= {"leaderboard": [], "confusion": None}
        self._store.change(record, status="queued", **blank)
        return self._enqueue(record)

    async def delete(self, number: str) -> dict[str, Any]:
        """Delete a job and its files, and its upload if no other job needs it."""
        record = self._store.get(number)
        if not record.ended or (self._run is not None and self._run.record is record):
            raise RequestError(409, "busy", "this job has not ended yet", "cancel it first")
        await asyncio.to_thread(self._store.remove, record)
        if isinstance(record.request, FileRequest) and not self._store.uses(record.request.upload):
            await asyncio.to_thread(self.uploads.remove, record.request.upload)
        return {}

    def _describe(self, record: JobRecord) -> dict[str, Any]:
        run, progress = self._run, None
        if run is not None and run.record is record and record.status == "running":
            progress = run.progress
        return record.to_json(progress, list(self._store.files(record)))

    def _enqueue(self, record: JobRecord) -> dict[str, Any]:
        self._queue.append(record.id)
        self._start_next()
        return self._describe(record)

    def _start_next(self) -> None:
        """Start the job that has waited longest, if none runs."""
        if self._run is not None or not self._queue or self._stopping:
            return
        record = self._store.get(self._queue.popleft())
        run = self._run = _Run(record)
        try:
            self._store.change(record, status="running", started=time.time(), finished=None)
            run.worker = Worker(
                self._main,
                _task(record, self._store.run_folder(record), self.uploads),
                memory=self._settings.memory,
                on_message=run.on_message,
                on_exit=self._on_exit,
            )
        except (RequestError, OSError) as error:
            self._run = None
            failure = JobError(message=str(error), hint=getattr(error, "hint", ""))
            self._store.finish(record, "failed", error=failure, finished=time.time())
            self._start_next()
            return
        run.worker.set_deadline(self._settings.time_limit, lambda: self._expire(record))

    def _expire(self, record: JobRecord) -> None:
        message = f"the job took longer than {self._settings.time_limit / 60:g} minutes"
        hint = "resume it, or start the workbench with a larger --time-limit"
        self._end(record, "failed", error=JobError(message=f"{message} and was stopped", hint=hint))

    def _end(self, record: JobRecord, status: Any, **changes: Any) -> None:
        """Set the final status of a job and end its process if it has one."""
        run = self._run
        if run is not None and run.record is record and run.worker is not None:
            run.worker.kill()
        self._store.finish(record, status, finished=time.time(), **changes)

    def _on_exit(self, code: int) -> None:
        """Take the outcome of the job that ran, unless it was ended, and start the next one."""
        run, self._run = self._run, None
        assert run is not None
        if not run.record.ended:
            self._store.finish(run.record, finished=time.time(), **_outcome(run, code))
        self._start_next()


def _task(record: JobRecord, folder: Path, uploads: Uploads) -> Header:
    """What the process needs to know."""
    task: Header = {"request": record.request.model_dump(), "folder": str(folder.absolute())}
    if isinstance(record.request, FileRequest):
        path = uploads.path(uploads.get(record.request.upload)).absolute()
        task |= {"path": str(path), "file_name": record.file_name, "column": record.column}
    return task


def _record_fields(request: StudyRequest | FileRequest, uploads: Uploads) -> dict[str, Any]:
    """The fields of a record that follow from the request; unknown names are refused."""
    if isinstance(request, StudyRequest):
        _require_known("experiment", [request.name], NAMED)
        return {"title": f"{request.name}{', quick' if request.quick else ''}"}
    _require_known("model", request.models, TITLES)
    upload = uploads.get(request.upload)
    columns = [column.name for column in upload.columns]
    if request.target and request.target not in columns:
        message = f"{shorten(upload.name)} has no column {shorten(request.target)!r}"
        hint = f"it has {shorten(', '.join(columns), 300)}" if columns else "leave it empty"
        raise RequestError(422, "refused", message, hint)
    for name in request.roles:
        if name not in columns or "," in name:
            found = "no such column" if name not in columns else "a comma in its name"
            message = (
                f"{shorten(upload.name)}: the role of {shorten(name)!r} cannot be set, {found}"
            )
            raise RequestError(422, "refused", message, "leave its role as it is")
    column = upload.column(request.target)
    return {"title": f"compare on {upload.name}", "file_name": upload.file_name, "column": column}


def _require_known(kind: str, names: list[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            message = f"no {kind} is called {shorten(name)!r}"
            raise RequestError(422, "refused", message, f"there are {', '.join(known)}")


def _outcome(run: _Run, code: int) -> dict[str, Any]:
    """The final status of a job whose process ended by itself."""
    outcome = run.outcome
    if outcome is None:
        message = error_from_exit(code).message.replace("worker", "job")
        hint = "resume it; if it fails again, use fewer rows or a larger --memory"
        return {"status": "failed", "error": JobError(message=message, hint=hint)}
    if "message" in outcome:
        return {"status": "failed", "error": JobError(**outcome)}
    model = outcome["model"] and BestModel(**outcome["model"])
    return {"status": "done", "summary": outcome["summary"], "model": model}
