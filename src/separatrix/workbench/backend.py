"""The process of Draw and Playground, seen from the server.

One request is with the process at a time, the others wait in order. The deadline of a request starts when
the process begins with it. A process that exceeds it, or whose request is cancelled, is killed and
replaced; the new one loads what it needs by itself. A process that dies before it has begun with a request
loses no answer: its successor gets the request.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace

from fastapi import Request, Response

from separatrix.web.request_error import JSON, RequestError
from separatrix.workbench.dispatcher import main as run_dispatcher
from separatrix.workbench.replies import error_from_exit, error_from_worker, read_body
from separatrix.workbench.settings import Settings
from separatrix.workbench.strict_model import StrictModel
from separatrix.workbench.worker import Header, Main, Spawned, Worker

LOADING_SECONDS = 300.0  # until the process begins with a request
DEATHS, WINDOW = 3, 60.0  # deaths within so many seconds after which no new process is started


class Backend:
    """Requests to one process. All methods are for the event loop that called `start`."""

    def __init__(
        self, settings: Settings, *, main: Main = run_dispatcher, first: Spawned | None = None
    ) -> None:
        self._settings, self._main = settings, main
        self._first = first  # the process, if it has begun before the server
        self._worker: Worker | None = None
        self._turn = asyncio.Lock()
        self._answer: asyncio.Future[bytes] | None = None  # of the request that is being answered
        self._seconds = 0.0  # its limit
        self._waiting: bytes | None = None  # the request, until the process has begun with it
        self._deaths: deque[float] = deque(maxlen=DEATHS)
        self._stopped = False
        self.states: dict[str, bytes] = {}
        """The last state of each service as JSON; a service that is not loaded yet has none."""
        self.former: dict[str, bytes] = {}
        """The last states in the process before this one: a page may show them while this one loads."""

    def start(self) -> None:
        """Start the process. Requests wait while it loads."""
        self._stopped = False
        self._spawn()

    async def stop(self) -> None:
        """End the process and refuse the request that it works on."""
        self._stopped = True
        worker = self._worker
        self._end(RequestError(503, "worker", "the workbench is stopping"))
        if worker is not None:
            await worker.join()

    async def call(self, name: str, arguments: str, *, seconds: float) -> bytes:
        """The answer to "SERVICE.METHOD" with arguments in JSON, as JSON, or a RequestError."""
        message = f'{{"name": "{name}", "arguments": {arguments}}}'.encode()
        await self._turn.acquire()
        task = asyncio.get_running_loop().create_task(self._request(message, seconds))
        task.add_done_callback(self._release)  # also if the caller has gone away by then
        return await asyncio.shield(task)

    def choose_data(self, data: str) -> None:
        """Let Draw begin with this data set in any process that replaces the present one."""
        self._settings = replace(self._settings, chosen=data)

    def cancel(self) -> bool:
        """End the computation for the present request; False if there is none."""
        if self._answer is None or self._answer.done():
            return False
        self._replace(RequestError(409, "cancelled", "the computation was cancelled"))
        return True

    async def _request(self, message: bytes, seconds: float) -> bytes:
        worker = self._running()
        self._answer, self._seconds = asyncio.get_running_loop().create_future(), seconds
        self._waiting = message
        self._send_to(worker)
        try:
            return await self._answer
        finally:
            self._answer = self._waiting = None
            if self._worker is not None:
                self._worker.clear_deadline()

    def _send_to(self, worker: Worker) -> None:
        """Give the request that waits to a process."""
        if self._waiting is not None:
            worker.set_deadline(LOADING_SECONDS, self._expire_loading)
            worker.send(self._waiting)

    def _release(self, task: asyncio.Task[bytes]) -> None:
        self._turn.release()
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it

    def _running(self) -> Worker:
        if self._stopped:
            raise RequestError(503, "worker", "the workbench is stopping")
        if self._worker is None:
            self._spawn()
        if self._worker is None:
            message = f"the worker died {DEATHS} times in {WINDOW:g} seconds"
            hint = "wait a minute; the terminal of the workbench may show the reason"
            raise RequestError(503, "worker", message, hint)
        return self._worker

    def _spawn(self) -> None:
        """Start a process, unless the last ones died in quick succession."""
        if len(self._deaths) == DEATHS and time.monotonic() - self._deaths[0] < WINDOW:
            return
        self.former |= self.states
        self.states.clear()

        def on_exit(code: int) -> None:
            if self._worker is worker:  # not killed by us
                self._deaths.append(time.monotonic())
                self._succeed(error_from_exit(code))

        worker = self._worker = Worker(
            self._main,
            self._settings,
            memory=self._settings.memory,
            on_message=self._on_message,
            on_exit=on_exit,
            spawned=self._first,
        )
        self._first = None

    def _succeed(self, error: RequestError) -> None:
        """Replace a process that died; a request that it had not begun with is the next one's."""
        self._worker = None
        self._spawn()
        if self._worker is None or self._waiting is None:
            self._refuse(error)
        else:
            self._send_to(self._worker)
            self._waiting = None  # once: a request may be what kills a process

    def _replace(self, error: RequestError) -> None:
        self._end(error)
        self._spawn()

    def _end(self, error: RequestError) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
        self._refuse(error)

    def _refuse(self, error: RequestError) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    def _on_message(self, header: Header, body: bytes) -> None:
        kind = header["kind"]
        if kind == "state":
            self.states[header["service"]] = body
        elif kind == "begun" and self._worker is not None:
            self._waiting = None
            self._worker.set_deadline(self._seconds, self._expire)
        elif kind == "answer" and self._answer is not None:
            self._answer.set_result(body)
        elif kind == "refused" and self._answer is not None:
            self._answer.set_exception(error_from_worker(json.loads(body)))

    def _expire(self) -> None:
        message = f"the computation took longer than {self._seconds:g} seconds and was stopped"
        hint = "use fewer points or other parameters"
        self._replace(RequestError(408, "timeout", message, hint))

    def _expire_loading(self) -> None:
        message = f"the worker did not begin with this request within {LOADING_SECONDS:g} seconds"
        self._replace(RequestError(503, "worker", message, "a new one is starting: try again"))


def forward(
    backend: Backend, name: str, model: type[StrictModel], seconds: float
) -> Callable[[Request], Awaitable[Response]]:
    """A route that passes its body, checked against `model`, to "SERVICE.METHOD"."""

    async def route(request: Request) -> Response:
        body = await read_body(request, model)
        answer = await backend.call(name, body.model_dump_json(), seconds=seconds)
        return Response(answer, media_type=JSON)

    return route
