"""The application: guard, routes and pages put together. Light: what computes is in other processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from separatrix.workbench import pages
from separatrix.workbench.guard import Guard
from separatrix.workbench.replies import answer_errors
from separatrix.workbench.settings import Settings
from separatrix.workbench.tokens import Tokens

if TYPE_CHECKING:
    from separatrix.workbench.jobs import Jobs
    from separatrix.workbench.worker import Worker


def make_app(
    settings: Settings,
    *,
    bench: Worker | None = None,
    jobs: Jobs | None = None,
    tokens: Tokens | None = None,
) -> FastAPI:
    """The workbench as an ASGI application; `bench`, `jobs` and `tokens` are made where none are given."""
    from separatrix.workbench import routes_draw, routes_jobs, routes_playground
    from separatrix.workbench.jobs import Jobs
    from separatrix.workbench.worker import Worker

    bench = bench or Worker(settings)
    jobs = jobs or Jobs(settings)

    @asynccontextmanager
    async def at_work(_app: FastAPI) -> AsyncIterator[None]:
        bench.start()
        try:
            jobs.start()
            yield
        finally:
            try:
                await jobs.stop()
            finally:
                await bench.stop()

    app = FastAPI(
        lifespan=at_work,
        docs_url=None,  # these pages load their scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    answer_errors(app)
    for router in (
        pages.router(),
        routes_draw.router(bench),
        routes_playground.router(bench),
        routes_jobs.router(jobs),
    ):
        app.include_router(router)
    app.add_middleware(Guard, tokens=tokens or Tokens(settings.port))
    return app
