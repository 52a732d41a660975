"""Requests that arrive together are scored as one block.

A block starts as soon as it is full, no other request is in progress, or its first request has waited for
the window. While a block is scored, in a thread, the next one collects. A request with more rows than a
block is scored alone, in several blocks. So a row's answer has the same bits whatever else arrives.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, NamedTuple

from separatrix.serving.served_model import Rows, Scores, ServedModel


class _Waiting(NamedTuple):
    rows: Rows
    probabilities: bool
    answer: asyncio.Future[Scores]


class MicroBatcher:
    """Scores the requests for one model in blocks.

    Given
        model       scores the blocks
        executor    runs one block at a time
        window      seconds for which a block waits for further requests
        in_progress number of requests that are read or wait, of all models
        on_queue    gets the change of the number of requests that wait
        on_block    gets the number of rows of each block
    """

    def __init__(
        self,
        model: ServedModel,
        executor: Executor,
        *,
        window: float,
        in_progress: Callable[[], int],
        on_queue: Callable[[int], None],
        on_block: Callable[[int], None],
    ) -> None:
        self.model, self.executor, self.window = model, executor, window
        self.in_progress, self.on_queue, self.on_block = in_progress, on_queue, on_block
        self.queue: deque[_Waiting] = deque()
        self.busy = False
        self.timer: asyncio.TimerHandle | asyncio.Handle | None = None

    async def score(self, rows: Rows, probabilities: bool) -> Scores:
        """Predict the rows of one request."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Scores] = loop.create_future()
        self.queue.append(_Waiting(rows, probabilities, answer))
        self.on_queue(1)
        if not self.busy and self.timer is None:
            self.timer = loop.call_soon(self._consider)
        return await answer

    def _consider(self) -> None:
        """Start the block, or wait for requests that are being read."""
        waiting = sum(len(one.rows) for one in self.queue)
        if waiting >= self.model.block or len(self.queue) >= self.in_progress():
            self._start()
        else:
            self.timer = asyncio.get_running_loop().call_later(self.window, self._start)

    def _start(self) -> None:
        self.timer = None
        block = self._next_block()
        if not block:
            return
        self.busy = True
        rows = [one.rows for one in block]
        probabilities = any(one.probabilities for one in block)
        self.on_block(sum(map(len, rows)))
        work = asyncio.get_running_loop().run_in_executor(
            self.executor, _score_block, self.model, rows, probabilities
        )
        work.add_done_callback(lambda done: self._finish(block, done))

    def _next_block(self) -> list[_Waiting]:
        block: list[_Waiting] = []
        size, waiting = 0, len(self.queue)
        while self.queue:
            first = self.queue[0]
            if first.answer.done():  # its client has gone, or its time is over
                self.queue.popleft()
                continue
            if block and size + len(first.rows) > self.model.block:
                break
            size += len(first.rows)
            block.append(self.queue.popleft())
        self.on_queue(len(self.queue) - waiting)
        return block

    def _finish(self, block: list[_Waiting], done: asyncio.Future[list[Any]]) -> None:
        self.busy = False
        error = None if done.cancelled() else done.exception()
        found = [error] * len(block) if error is not None or done.cancelled() else done.result()
        for one, scores in zip(block, found, strict=True):
            if one.answer.done():
                continue
            if isinstance(scores, Scores):
                one.answer.set_result(scores)
            else:
                one.answer.set_exception(scores or RuntimeError("the server stops"))
        self._start()


def _score_block(model: ServedModel, rows: list[Rows], probabilities: bool) -> list[Any]:
    """The scores of each request, or the error that its rows raise."""
    try:
        return list(model.score_together(rows, probabilities))
    except Exception as error:
        if len(rows) == 1:
            return [error]
    return [_score_block(model, [one], probabilities)[0] for one in rows]
