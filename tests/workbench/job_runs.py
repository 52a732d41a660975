"""Jobs with fake or real processes."""

from contextlib import asynccontextmanager

from tests.workbench import fake_workers
from tests.workbench.asynchronous import until

from separatrix.workbench.jobs import Jobs
from separatrix.workbench.records import StudyRequest
from separatrix.workbench.settings import Settings

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


async def wait_until_ended(jobs, number):
    await until(lambda: jobs.get(number)["status"] not in ("queued", "running"))
    return jobs.get(number)
