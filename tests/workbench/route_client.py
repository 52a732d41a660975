"""Requests to routes without a server and without the guard before them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import APIRouter, FastAPI

from separatrix.errors import SeparatrixError
from separatrix.web.request_error import RequestError
from separatrix.workbench.replies import register_error_handlers


@asynccontextmanager
async def make_client(router: APIRouter) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the routes of one router."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register_error_handlers(app)
    app.include_router(router)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


class Client:
    """Requests one by one, each in an event loop of its own."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self._request("GET", path))

    def post(self, path: str, json: Any) -> httpx.Response:
        return asyncio.run(self._request("POST", path, json=json))

    async def _request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async with make_client(self._router) as client:
            return await client.request(method, path, **more)


class LocalBackend:
    """The backend with its service in this process; requests and answers are JSON all the same."""

    def __init__(self, name: str, service: Any) -> None:
        self.name, self.service = name, service
        self.calls, self.cancelled, self.chosen = 0, 0, ""
        self.states: dict[str, bytes] = {}
        self.former: dict[str, bytes] = {}

    async def call(self, name: str, arguments: str, *, seconds: float) -> bytes:
        assert seconds > 0
        self.calls += 1
        service, _, method = name.partition(".")
        assert service == self.name
        assert method in self.service.requests
        try:
            answer = getattr(self.service, method)(**json.loads(arguments))
        except (SeparatrixError, ValueError) as error:
            raise RequestError(422, "refused", str(error)) from error
        self.states[self.name] = json.dumps(self.service.state(), allow_nan=False).encode()
        return json.dumps(answer, allow_nan=False).encode()

    def choose_data(self, data: str) -> None:
        self.chosen = data

    def cancel(self) -> None:
        self.cancelled += 1
