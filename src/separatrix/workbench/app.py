"""The application: guard, routes and static files. Computations run in other processes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI

from separatrix.workbench import pages
from separatrix.workbench.guard import Guard
from separatrix.workbench.replies import register_error_handlers
from separatrix.workbench.settings import Settings
from separatrix.workbench.tokens import Tokens

if TYPE_CHECKING:
    from separatrix.workbench.backend import Backend
    from separatrix.workbench.jobs import Jobs


def make_app(
    settings: Settings,
    *,
    backend: Backend | None = None,
    jobs: Jobs | None = None,
    tokens: Tokens | None = None,
) -> FastAPI:
    """The workbench as an ASGI application; what is None is made from the settings."""
    from separatrix.workbench import routes_draw, routes_jobs, routes_playground
    from separatrix.workbench.backend import Backend
    from separatrix.workbench.jobs import Jobs

    backend = backend or Backend(settings)
    jobs = jobs or Jobs(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        backend.start()
        try:
            jobs.start()
            yield
        finally:
            try:
                await jobs.stop()
            finally:
                await backend.stop()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,  # its pages load scripts from other hosts
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    register_error_handlers(app)
    for router in (
        pages.router(),
        routes_draw.router(backend),
        routes_playground.router(backend),
        routes_jobs.router(jobs),
    ):
        app.include_router(router)
    app.add_middleware(Guard, tokens=tokens or Tokens(settings.port))
    return app
