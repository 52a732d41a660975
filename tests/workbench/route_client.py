"""Requests to routes without a server and without the guard before them."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from fastapi import APIRouter, FastAPI

from separatrix.workbench.replies import register_error_handlers


class Client:
    """Asks the routes of one router."""

    def __init__(self, router: APIRouter) -> None:
        self._app = FastAPI()
        register_error_handlers(self._app)
        self._app.include_router(router)

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self._ask("GET", path))

    def post(self, path: str, json: Any) -> httpx.Response:
        return asyncio.run(self._ask("POST", path, json=json))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **more)
