"""Requests to the application without a socket."""

import asyncio
import json
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from separatrix.serving.endpoints import Endpoints
from separatrix.serving.gateway import Gateway
from separatrix.serving.prometheus import COUNT, Metrics
from separatrix.serving.serving_options import ModelSource, ServingOptions

HOST = ("host", "127.0.0.1:8000")


class Answer(NamedTuple):
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


class AsgiClient:
    """Calls the application; `chunks` of a body arrive one after the other."""

    def __init__(self, models, expected=None, **options):
        sources = tuple(ModelSource(*one) for one in models)
        options = ServingOptions(sources, **{"access_log": False, "timeout": 120.0, **options})
        self.logged = []
        self.endpoints = Endpoints(
            options,
            Metrics(np.zeros((1, COUNT))),
            lambda event, **more: self.logged.append({"event": event, **more}),
            expected,
        )
        self.app = Gateway(self.endpoints)

    async def call(self, method, target, body=b"", headers=(), chunks=None):
        parts = urlsplit(target)
        names = [(k.lower().encode(), v.encode("latin-1")) for k, v in (HOST, *headers)]
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "headers": names,
            "client": ("127.0.0.1", 1),
        }
        waiting = list(chunks if chunks is not None else [body])
        sent = []

        async def receive():
            if not waiting:
                await asyncio.sleep(3600)
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        found = {k.decode().lower(): v.decode("latin-1") for k, v in start["headers"]}
        return Answer(start["status"], found, b"".join(one["body"] for one in rest))

    def get(self, target, **more):
        return asyncio.run(self.call("GET", target, **more))

    def post(self, target, value=None, **more):
        return asyncio.run(self.call("POST", target, **_body(value, more)))

    def post_together(self, requests):
        """Send (target, value) requests at once."""

        async def all_of_them():
            return await asyncio.gather(
                *(self.call("POST", target, **_body(value, {})) for target, value in requests)
            )

        return asyncio.run(all_of_them())


def _body(value, more):
    if value is not None:
        more["body"] = value if isinstance(value, bytes) else json.dumps(value).encode()
    return more
