"""Jobs with fake or real processes, and clients of their routes."""

import asyncio
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI
from tests.workbench import fake_workers

from separatrix.workbench.jobs import Jobs
from separatrix.workbench.records import StudyRequest
from separatrix.workbench.replies import register_error_handlers
from separatrix.workbench.routes_jobs import router
from separatrix.workbench.settings import Settings

SECONDS = 600.0  # longer than anything here takes on a loaded machine
QUICK = "knn-and-perceptron"


@asynccontextmanager
async def start_jobs(folder, *, main=fake_workers.run_job, **settings):
    jobs = Jobs(Settings(folder=folder, **settings), main=main)
    jobs.start()
    try:
        yield jobs
    finally:
        await jobs.stop()


def study_request(seed=0):
    return StudyRequest(kind="named", name=QUICK, quick=True, seed=seed)


async def until(condition):
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


async def wait_until_ended(jobs, number):
    await until(lambda: jobs.get(number)["status"] not in ("queued", "running"))
    return jobs.get(number)


@asynccontextmanager
async def make_client(jobs):
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    register_error_handlers(app)
    app.include_router(router(jobs))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://bench") as client:
        yield client
