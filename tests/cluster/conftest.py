from contextlib import ExitStack

import pytest


@pytest.fixture(autouse=True)
def _one_thread_unless_a_cluster_is_asked_for():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def workers():
    """A function that gives a client of two worker processes, which all tests share."""
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    current = ExitStack()
    clients = []

    def give():
        try:
            for client in clients:
                client.wait_for_workers(2, timeout=20)  # a test before may have killed one
        except TimeoutError:  # its nanny gave up, and does not start it again either
            current.close()
            clients.clear()
        if not clients:
            cluster = LocalCluster(memory_limit="2GiB", silence_logs=50, **options)
            current.enter_context(cluster)
            clients.append(current.enter_context(Client(cluster, set_as_default=False)))
        return clients[0]

    # a cluster looks so long after a worker was lost whether one of its name is there, and if another
    # test has just killed that one, closes it for good
    patient = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set({"distributed.worker.daemon": False, **patient}), current:
        yield give


@pytest.fixture
def client(workers):
    """The cluster as the current one."""
    import dask

    client = workers()
    with dask.config.set(scheduler=None), client.as_current():
        yield client
