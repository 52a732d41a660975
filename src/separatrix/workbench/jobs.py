"""The experiments of a workbench: what was asked for, what runs, what became of it.

One job runs at a time, in a process of its own; the others wait in order. What is asked for is on disk
before anything else happens, and so is what became of it, unless the disk is full; progress is in
memory only. A job that ran or waited when the server ended is "interrupted" at the next start, and goes
on when it is asked to.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections import deque
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from separatrix.runtime.atomic_files import atomic_write
from separatrix.studies.catalogue import NAMED
from separatrix.workbench.child import Child, Main
from separatrix.workbench.job import main
from separatrix.workbench.records import (
    FILES,
    MODELS,
    Best,
    FromFile,
    Named,
    Problem,
    Record,
    Status,
)
from separatrix.workbench.replies import Refusal, shortened
from separatrix.workbench.settings import Settings
from separatrix.workbench.uploads import Uploads
from separatrix.workbench.worker import refusal_of_death

OVER = ("done", "failed", "cancelled", "interrupted")


class _Run:
    """A job's process, as long as there is one."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.child: Child | None = None
        self.clock: asyncio.TimerHandle | None = None
        self.progress: dict[str, Any] = {"says": "starting", "done": 0, "total": 1}
        self.outcome: dict[str, Any] | None = None  # what the process said last

    def heard(self, message: bytes) -> None:
        said = json.loads(message)
        kind = said.pop("kind")
        if kind == "progress":
            self.progress = said
        else:
            self.outcome = {"status": kind, **said}


class Jobs:
    """The jobs in `settings.folder`. All methods are for the loop that called `start`."""

    def __init__(self, settings: Settings, *, run: Main = main) -> None:
        self._settings, self._main = settings, run
        self._folder = settings.folder / "jobs"
        self._records: dict[str, Record] = {}
        self._waiting: deque[str] = deque()
        self._run: _Run | None = None
        self._stopping = False
        self.uploads = Uploads(settings)

    def start(self) -> None:
        """Read what is on disk; nothing runs until somebody asks."""
        self._stopping = False
        for path in sorted(self._folder.glob("*/job.json")):
            record = _read(path)
            if record is None:
                continue  # not one of ours, or damaged: left as it is
            self._records[record.id] = record
            if record.status in ("running", "queued"):
                self._settle(record, status="interrupted")

    async def stop(self) -> None:
        """End what runs. All that waits or runs can go on later."""
        self._stopping = True
        self._waiting.clear()
        run = self._run
        if run is not None and run.child is not None:
            run.child.kill()
            await run.child.gone()
            await asyncio.sleep(0)  # `ended` is called
        for record in self._records.values():
            if record.status in ("running", "queued"):
                self._settle(record, status="interrupted", finished=time.time())

    def listed(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        newest = sorted(self._records.values(), key=lambda record: record.created, reverse=True)
        return [self._shown(record) for record in newest]

    def get(self, number: str) -> dict[str, Any]:
        """One job."""
        return self._shown(self._record(number))

    def file(self, number: str, name: str) -> Path:
        """A file of a job, one of `FILES`."""
        path = self._files(self._record(number)).get(name)
        if path is None:
            raise Refusal(404, "missing", f"this job has no file {shortened(name)}")
        return path

    def submit(self, asked: Named | FromFile) -> dict[str, Any]:
        """Queue a job."""
        made = self._named(asked) if isinstance(asked, Named) else self._from_file(asked)
        record = Record(id=secrets.token_hex(8), asked=asked, created=time.time(), **made)
        self._change(record)
        self._records[record.id] = record
        self._enqueue(record)
        return self._shown(record)

    def cancel(self, number: str) -> dict[str, Any]:
        """Take a job out of the line, or end it."""
        record = self._record(number)
        if record.status in OVER:
            raise Refusal(409, "refused", f"this job is {record.status} already")
        if record.id in self._waiting:
            self._waiting.remove(record.id)
        self._end_process(record, status="cancelled")
        return self._shown(record)

    def resume(self, number: str) -> dict[str, Any]:
        """Let a job go on that did not come to its end."""
        record = self._record(number)
        if record.status not in OVER or record.status == "done":
            raise Refusal(409, "refused", f"this job is {record.status}")
        if isinstance(record.asked, FromFile):
            self.uploads.get(record.asked.upload)
        self._change(record, status="queued", error=None, started=None, finished=None)
        self._enqueue(record)
        return self._shown(record)

    async def delete(self, number: str) -> None:
        """Forget a job and remove its files; its upload too, where no other job needs it."""
        record = self._record(number)
        if record.status not in OVER or (self._run is not None and self._run.record is record):
            raise Refusal(409, "busy", "this job has not ended yet", "cancel it first")
        del self._records[record.id]
        await asyncio.to_thread(shutil.rmtree, self._folder / record.id, ignore_errors=True)
        if isinstance(record.asked, FromFile) and not self._needed(record.asked.upload):
            await asyncio.to_thread(self.uploads.forget, record.asked.upload)

    def _needed(self, upload: str) -> bool:
        return any(getattr(one.asked, "upload", "") == upload for one in self._records.values())

    def _record(self, number: str) -> Record:
        if number not in self._records:
            raise Refusal(404, "missing", f"there is no job {shortened(number)}")
        return self._records[number]

    def _named(self, asked: Named) -> dict[str, Any]:
        if asked.name not in NAMED:
            message = f"no experiment is called {shortened(asked.name)!r}"
            raise Refusal(422, "refused", message, f"there are {', '.join(NAMED)}")
        return {"title": f"{asked.name}{', quick' if asked.quick else ''}"}

    def _from_file(self, asked: FromFile) -> dict[str, Any]:
        upload = self.uploads.get(asked.upload)
        listed = [column.name for column in upload.columns]
        if asked.target and asked.target not in listed:
            message = f"{shortened(upload.name)} has no column {shortened(asked.target)!r}"
            names = shortened(", ".join(listed), 300)
            raise Refusal(
                422, "refused", message, f"it has {names}" if listed else "leave it empty"
            )
        for key in asked.models:
            if key not in MODELS:
                message = f"no model is called {shortened(key)!r}"
                raise Refusal(422, "refused", message, f"there are {', '.join(MODELS)}")
        column = upload.column(asked.target)
        return {"title": f"compare on {upload.name}", "called": upload.called, "column": column}

    def _shown(self, record: Record) -> dict[str, Any]:
        running = self._run is not None and self._run.record is record
        progress = self._run.progress if self._run is not None and running else None
        known = progress if record.status == "running" else None
        return record.shown(known, list(self._files(record)))

    def _files(self, record: Record) -> dict[str, Path]:
        paths = {name: self._folder / record.id / "run" / name for name in FILES}
        return {name: path for name, path in paths.items() if path.is_file()}

    def _change(self, record: Record, **changes: Any) -> None:
        """Set fields of a job, on disk first."""
        changed = record.model_copy(update=changes)
        path = self._folder / record.id / "job.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(path) as temporary:
                temporary.write_text(changed.model_dump_json(indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            message = f"the workbench's folder cannot be written: {error.strerror}"
            hint = "free some space, or choose another --folder"
            raise Refusal(409, "refused", message, hint) from None
        for name, value in changes.items():
            setattr(record, name, value)

    def _enqueue(self, record: Record) -> None:
        self._waiting.append(record.id)
        self._next()

    def _next(self) -> None:
        """Start the job that waits longest, if none runs."""
        if self._run is not None or not self._waiting or self._stopping:
            return
        record = self._records[self._waiting.popleft()]
        run = self._run = _Run(record)
        try:
            self._change(record, status="running", started=time.time(), finished=None)
            text = json.dumps(self._work(record))
            run.child = Child(self._main, text, heard=run.heard, ended=self._ended)
        except (Refusal, OSError) as error:
            self._run = None
            problem = Problem(message=str(error), hint=getattr(error, "hint", ""))
            self._settle(record, status="failed", error=problem, finished=time.time())
            self._next()
            return
        loop = asyncio.get_running_loop()
        run.clock = loop.call_later(self._settings.time_limit, self._too_long, run)

    def _work(self, record: Record) -> dict[str, Any]:
        """All that the process has to know."""
        work = {
            "asked": record.asked.model_dump(),
            "folder": str((self._folder / record.id / "run").absolute()),
            "memory": self._settings.memory,
        }
        if isinstance(record.asked, FromFile):
            path = self.uploads.path(self.uploads.get(record.asked.upload)).absolute()
            work |= {"path": str(path), "called": record.called, "column": record.column}
        return work

    def _too_long(self, run: _Run) -> None:
        minutes = self._settings.time_limit / 60
        message = f"the job took longer than {minutes:g} minutes and was stopped"
        hint = "resume it to go on, or start the workbench with a larger --time-limit"
        self._end_process(run.record, status="failed", error=Problem(message=message, hint=hint))

    def _end_process(self, record: Record, **changes: Any) -> None:
        """End the process of a job where it has one, and set what became of the job."""
        run = self._run
        if run is not None and run.record is record and run.child is not None:
            run.child.kill()
        self._settle(record, finished=time.time(), **changes)

    def _ended(self, code: int) -> None:
        """The process of the job that ran is gone; unless it was ended, its last word counts."""
        run, self._run = self._run, None
        assert run is not None
        if run.clock is not None:
            run.clock.cancel()
        if run.record.status == "running" and not self._stopping:
            self._settle(run.record, finished=time.time(), **_outcome(run, code))
        self._next()

    def _settle(self, record: Record, status: Status, **changes: Any) -> None:
        """Set what became of a job, also where the disk is full: what is said of it is all there is."""
        try:
            self._change(record, status=status, **changes)
        except Refusal as refusal:
            known = {"error": Problem(message=refusal.message, hint=refusal.hint), **changes}
            known["status"] = "failed" if status == "done" else status
            for name, value in known.items():
                setattr(record, name, value)


def _outcome(run: _Run, code: int) -> dict[str, Any]:
    """What became of a job whose process ended by itself."""
    said = run.outcome
    if said is None:
        death = refusal_of_death(code)
        message = death.message.replace("worker", "job")
        hint = "resume it to go on; with less to do, or a larger --memory, if it ends again"
        return {"status": "failed", "error": Problem(message=message, hint=hint)}
    if said["status"] == "failed":
        error = Problem(message=said["message"], hint=said["hint"])
        return {"status": "failed", "error": error}
    model = None if said["model"] is None else Best(**said["model"])
    return {"status": "done", "words": said["words"], "model": model}


def _read(path: Path) -> Record | None:
    """A job as it was kept; None for what is none."""
    try:
        record = Record.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return record if record.id == path.parent.name else None
