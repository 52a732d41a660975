"""Clusters as users set them up: in threads, adaptive, with late workers, and fits inside of tasks."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

from contextlib import contextmanager

import dask
import dask.array as da
import joblib
import numpy as np
from distributed import Client, LocalCluster
from tests.cluster.support import in_blocks, samples

from separatrix import (
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Nystroem,
)


@contextmanager
def cluster_of(**options):
    """A client of a cluster in threads of this process."""
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"} | options
    with (
        dask.config.set(scheduler=None),
        LocalCluster(silence_logs=50, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield cluster, client


def fit_in_a_task(X, y):
    """Both kinds of fits and a score, of samples that are not here."""
    dX, dy = in_blocks(X, y)
    model = LogisticRegression().fit(dX, dy)
    return model.objective_, LinearDiscriminantAnalysis().fit(dX, dy).score(dX, dy)


@pytest.mark.slow
def test_a_fit_inside_a_task_leaves_its_place_to_the_tasks_it_waits_for():
    X, y, _ = samples()
    expected = LogisticRegression().fit(X, y).objective_

    with cluster_of(n_workers=1) as (_, client):
        found = client.submit(fit_in_a_task, X, y).result(timeout=60)
        with joblib.parallel_backend("dask", client=client):
            twice = joblib.Parallel()(joblib.delayed(fit_in_a_task)(X, y) for _ in range(2))

    assert found[0] == pytest.approx(expected, rel=1e-8)
    assert twice == [found] * 2


def test_an_adaptive_cluster_that_has_no_worker_yet():
    X, y, _ = samples(n=20_000)
    expected = LinearDiscriminantAnalysis().fit(X, y)

    with cluster_of(n_workers=0) as (cluster, _):
        cluster.adapt(minimum=0, maximum=2, interval="100ms")
        found = LinearDiscriminantAnalysis().fit(da.from_array(X, chunks=(5000, 4)), y)

    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)


def test_a_worker_that_joins_between_fit_and_prediction():
    X, y, _ = samples()
    expected = KNeighborsClassifier().fit(X, y)

    with cluster_of(n_workers=1) as (cluster, client):
        dX, dy = client.persist(in_blocks(X, y))
        found = KNeighborsClassifier().fit(dX, dy)
        cluster.scale(2)
        client.wait_for_workers(2, timeout=30)
        np.testing.assert_array_equal(found.predict(dX).compute(), expected.predict(X))
        np.testing.assert_array_equal(found.kneighbors(X)[1], expected.kneighbors(X)[1])


@pytest.mark.parametrize("active", [False, True, None])
def test_how_dask_is_told_to_fuse_changes_nothing(active):
    X, y, _ = samples()
    features = Nystroem(gamma=0.3, n_components=8, random_state=0)
    expected = LinearDiscriminantAnalysis().fit(features.fit_transform(X), y)

    with dask.config.set({"optimization.fuse.active": active, "scheduler": "threads"}):
        dX, dy = in_blocks(X, y)
        found = LinearDiscriminantAnalysis().fit(features.fit(dX).transform(dX + 0.0), dy)

    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-8)
