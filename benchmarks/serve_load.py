"""Load for a server, in a process of its own: `python -m benchmarks.serve_load` with a JSON task on stdin.

A connection sends its next request when the answer to the last one has come, or, with a rate, at its times.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from contextlib import suppress

import numpy as np


class Connection(asyncio.Protocol):
    def __init__(self, load, number):
        self.load, self.number = load, number
        self.buffer, self.sent_at, self.asked = b"", 0.0, number

    def connection_made(self, transport):
        self.transport = transport
        self.load.open.add(self)
        self._next()

    def _next(self):
        now = time.perf_counter()
        if now >= self.load.stop_at:
            self.transport.close()
            return
        if self.load.every:
            due = self.load.start + self.load.every * self.asked
            if due > now:
                asyncio.get_running_loop().call_later(due - now, self._send)
                return
        self._send()

    def _send(self):
        if self.transport.is_closing():
            return
        self.sent_at = time.perf_counter()
        self.transport.write(self.load.requests[self.asked % len(self.load.requests)])
        self.which = self.asked % len(self.load.requests)
        self.asked += self.load.connections

    def data_received(self, data):
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        at = head.lower().index(b"content-length:") + 15
        if len(body) < int(head[at:].split(b"\r\n", 1)[0]):
            return
        self.buffer = b""
        self.load.note(int(head[9:12]), time.perf_counter() - self.sent_at, self.which, body)
        self._next()

    def connection_lost(self, exc):
        self.load.open.discard(self)
        if time.perf_counter() < self.load.stop_at:
            self.load.statuses["lost"] += 1
            asyncio.get_running_loop().create_task(self.load.connect(self.number))


class Load:
    def __init__(self, task):
        self.port, self.connections = task["port"], task["connections"]
        self.seconds, self.warm = task["seconds"], task.get("warm", 1.0)
        self.every = 1 / task["rate"] if task.get("rate") else 0.0
        head = (
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        )
        bodies = [json.dumps(one).encode() for one in task["bodies"]]
        head = head.format(path=task["path"], port=self.port).encode()
        self.requests = [head + b"Content-Length: %d\r\n\r\n" % len(b) + b for b in bodies]
        self.statuses, self.times, self.answers, self.wrong = Counter(), [], {}, 0
        self.open, self.all = set(), 0

    def note(self, status, seconds, which, body):
        self.all += 1
        if time.perf_counter() < self.start + self.warm:
            return
        self.statuses[status] += 1
        if status == 200:
            self.times.append(seconds)
            self.wrong += self.answers.setdefault(which, body) != body

    async def connect(self, number):
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: Connection(self, number), "127.0.0.1", self.port)
        except OSError:
            self.statuses["refused"] += 1
            await asyncio.sleep(0.1)

    async def run(self):
        self.start = time.perf_counter()
        self.stop_at = self.start + self.warm + self.seconds
        await asyncio.gather(*(self.connect(number) for number in range(self.connections)))
        await asyncio.sleep(self.stop_at - time.perf_counter() + 0.3)
        times = 1000 * np.array(self.times or [np.nan])
        return {
            "rate": len(self.times) / self.seconds,
            "statuses": {str(key): value for key, value in self.statuses.items()},
            "ms": {str(q): float(np.percentile(times, q)) for q in (50, 99)},
            "wrong": self.wrong,
            "all": self.all,
        }


async def trickle(task):
    """Clients that send a byte of a request now and then, and come again when they are cut."""

    async def one(number):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", task["port"])
                text = b"POST /predict HTTP/1.1\r\nHost: x\r\n"
                text += (
                    b"X: y\r\n" * 1000
                    if number % 2
                    else b"Content-Length: 5000\r\n\r\n" + b" " * 5000
                )
                for byte in text:
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(0.5)
            except OSError:
                await asyncio.sleep(0.2)

    await asyncio.wait_for(
        asyncio.gather(*(one(number) for number in range(task["connections"]))), task["seconds"]
    )


if __name__ == "__main__":
    task = json.load(sys.stdin)
    if task.get("trickle"):
        with suppress(TimeoutError):
            asyncio.run(trickle(task))
    else:
        print(json.dumps(asyncio.run(Load(task).run())))
