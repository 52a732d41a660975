import pytest


@pytest.fixture(autouse=True)
def _one_thread_unless_a_cluster_is_asked_for():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def workers():
    """Two worker processes, shared by all tests."""
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(memory_limit="2GiB", silence_logs=50, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(workers):
    """The cluster as the current one."""
    import dask

    with dask.config.set(scheduler=None), workers.as_current():
        try:
            workers.wait_for_workers(2, timeout=60)  # a test before may have killed one
        except TimeoutError:  # its nanny gave up, as on a machine that is very busy
            workers.restart(timeout=120)
        yield workers
