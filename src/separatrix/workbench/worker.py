"""The bench worker, seen from the server: ask and be answered, or be told why not.

One request is with the process at a time, the others wait in line. The clock of a request starts when
the process begins with it. Over its time or cancelled: the process is ended and a new one takes its
place, which loads what it needs by itself. Requests are numbered; an answer that nobody waits for is
dropped.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from dataclasses import replace
from typing import Any

from separatrix.workbench.child import Child, Main
from separatrix.workbench.dispatcher import main
from separatrix.workbench.replies import Refusal
from separatrix.workbench.settings import MEGABYTE, Settings

COMPILED = 260 * MEGABYTE  # above that, after loading: the compiler is still in memory
LONGEST_WAIT = 300.0  # seconds until the process begins with a request: it may be loading
DEATHS, WINDOW = 3, 60.0  # so many in so many seconds, and no new process is started
STATUS = {"refused": 422, "memory": 413, "internal": 500}
_KILLED = -9


class _Request:
    """What is with the process now."""

    def __init__(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        self.number = number
        self.begun: asyncio.Future[None] = loop.create_future()
        self.answer: asyncio.Future[bytes] = loop.create_future()

    def refuse(self, refusal: Refusal) -> None:
        if not self.answer.done():
            self.answer.set_exception(refusal)
        if not self.begun.done():
            self.begun.set_result(None)


class Worker:
    """One process that answers requests. All methods are for the loop that called `start`."""

    def __init__(self, settings: Settings, *, run: Main = main) -> None:
        self._settings, self._run = settings, run
        self._child: Child | None = None
        self._line: asyncio.Lock = asyncio.Lock()
        self._now: _Request | None = None
        self._number = 0
        self._deaths: deque[float] = deque(maxlen=DEATHS)
        self._replaced = False
        self._stopped = False
        self._asides: set[asyncio.Task[Any]] = set()
        self.told: dict[str, bytes] = {}
        """The last state of each room, as JSON; empty until the process has made the room."""

    def start(self) -> None:
        """Start the process. It loads what it needs while requests wait."""
        self._stopped = False
        self._spawn()

    async def stop(self) -> None:
        """End the process; a request that waits is told so."""
        self._stopped = True
        child, self._child = self._child, None
        self._refuse(Refusal(503, "worker", "the workbench is being stopped"))
        if child is not None:
            child.kill()
            await child.gone()

    async def call(self, name: str, arguments: dict[str, Any], *, seconds: float) -> bytes:
        """The answer to a request, JSON as bytes; a Refusal where there is none."""
        await self._line.acquire()
        task = asyncio.get_running_loop().create_task(self._ask(name, arguments, seconds))
        task.add_done_callback(self._next)  # even if whoever asked has gone away by then
        return await asyncio.shield(task)

    def choose(self, data: str) -> None:
        """Have every process from now on begin with this data set, should this one be replaced."""
        self._settings = replace(self._settings, chosen=data)

    def cancel(self) -> bool:
        """End what the process is doing for a request; whether there was any."""
        if self._now is None:
            return False
        self._replace(Refusal(409, "cancelled", "the computation was cancelled"))
        return True

    async def _ask(self, name: str, arguments: dict[str, Any], seconds: float) -> bytes:
        self._number += 1
        request = self._now = _Request(self._number)
        try:
            asked = {"number": request.number, "name": name, "arguments": arguments}
            self._living().send(json.dumps(asked, allow_nan=False).encode())
            await self._until_begun(request)
            return await self._in_time(request, seconds)
        finally:
            self._now = None

    async def _until_begun(self, request: _Request) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(request.begun), LONGEST_WAIT)
        except TimeoutError:
            message = f"the worker did not get to this request within {LONGEST_WAIT:g} seconds"
            self._replace(Refusal(503, "worker", message, "a new one is starting: try again"))

    async def _in_time(self, request: _Request, seconds: float) -> bytes:
        try:
            return await asyncio.wait_for(asyncio.shield(request.answer), seconds)
        except TimeoutError:
            message = f"the computation took longer than {seconds:g} seconds and was stopped"
            refusal = Refusal(408, "timeout", message, "take fewer points or other parameters")
            self._replace(refusal)
            return await request.answer

    def _next(self, task: asyncio.Task[bytes]) -> None:
        self._line.release()
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not say it was not

    def _living(self) -> Child:
        """The process; a new one where it died, unless it does so again and again."""
        if self._stopped:
            raise Refusal(503, "worker", "the workbench is being stopped")
        if self._child is None and not self._spawn():
            message = f"the worker died {DEATHS} times in {WINDOW:g} seconds"
            hint = "wait a minute; the terminal that runs the workbench may say why"
            raise Refusal(503, "worker", message, hint)
        assert self._child is not None
        return self._child

    def _spawn(self) -> bool:
        """Start a process; not where the last ones died one after another."""
        now = time.monotonic()
        if len(self._deaths) == DEATHS and now - self._deaths[0] < WINDOW:
            return False
        self.told.clear()

        def heard(message: bytes) -> None:
            if self._child is child:
                self._heard(message)

        def ended(code: int) -> None:
            if self._child is child:
                self._died(code)

        child = Child(self._run, self._settings.to_json(), heard=heard, ended=ended)
        self._child = child
        return True

    def _replace(self, refusal: Refusal) -> None:
        """End the process, start another, and tell whoever waits."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        self._refuse(refusal)
        self._spawn()

    def _refuse(self, refusal: Refusal) -> None:
        if self._now is not None:
            self._now.refuse(refusal)

    def _died(self, code: int) -> None:
        """It ended by itself: for want of memory, by a fault in compiled code."""
        self._child = None
        self._deaths.append(time.monotonic())
        self._refuse(refusal_of_death(code))
        self._spawn()

    def _heard(self, message: bytes) -> None:
        head, _, body = message.partition(b"\n")
        header = json.loads(head)
        if header["kind"] == "state":
            self.told[header["room"]] = body
        elif header["kind"] == "settled":
            self._settled(header["compiled"] and header["memory"] > COMPILED)
        elif self._now is not None and header["number"] == self._now.number:
            self._answered(self._now, header["kind"], body)

    def _answered(self, request: _Request, kind: str, body: bytes) -> None:
        if kind == "begun" and not request.begun.done():
            request.begun.set_result(None)
        elif kind == "answer" and not request.answer.done():
            request.answer.set_result(body)
        elif kind == "refused":
            request.refuse(refusal_from(json.loads(body)))

    def _settled(self, swollen: bool) -> None:
        """A process that had to compile is replaced, once: the next one reads what is compiled."""
        if swollen and not self._replaced:
            self._replaced = True
            task = asyncio.get_running_loop().create_task(self._start_afresh(self._child))
            self._asides.add(task)
            task.add_done_callback(self._asides.discard)

    async def _start_afresh(self, child: Child | None) -> None:
        async with self._line:
            if self._child is child and not self._stopped:
                self._replace(Refusal(503, "worker", "the worker starts afresh"))


def refusal_from(found: dict[str, str]) -> Refusal:
    """What a process refused, for whoever asked."""
    if found["code"] == "internal":
        message = "something went wrong inside the worker; nothing you sent should do that"
        hint = "the terminal that runs the workbench shows what happened"
        return Refusal(500, "internal", message, hint)
    return Refusal(STATUS[found["code"]], found["code"], found["message"], found["hint"])


def refusal_of_death(code: int) -> Refusal:
    """What to say of a process that ended by itself."""
    if code == _KILLED:
        message = "the worker was ended by the system, most likely because memory ran out"
        return Refusal(413, "memory", message, "take fewer rows; a new worker is starting")
    message = f"the worker died ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
    return Refusal(503, "worker", message, "a new one is starting: try again")
