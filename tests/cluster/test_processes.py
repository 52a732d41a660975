"""The same fits on worker processes, and what happens when they die."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from tests.cluster.support import in_blocks, samples

import separatrix
from separatrix import (
    SVC,
    GaussianNB,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Nystroem,
    Perceptron,
)
from separatrix.cluster import engine
from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.errors import ClusterError, DataError

MODELS = [
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    LinearSVC(),
    Perceptron(max_iter=2, tol=None),
    KNeighborsClassifier(),
    SVC(),
]


def answers(model, X):
    values = (
        model.predict_proba(X) if hasattr(model, "predict_proba") else model.decision_function(X)
    )
    return np.asarray(values.compute() if hasattr(values, "compute") else values)


def test_worker_processes_give_the_fit_in_memory(client):
    X, y, w = samples()
    dX, dy, dw = in_blocks(X, y, w)
    expected = LinearDiscriminantAnalysis().fit(X, y, w)

    found = LinearDiscriminantAnalysis().fit(dX, dy, dw)

    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(found.predict(dX).compute(), expected.predict(X))
    with pytest.raises(DataError, match="block 2, row 5: Input X contains NaN") as caught:
        GaussianNB().fit(
            da.where(da.arange(150, chunks=dX.chunks[0])[:, None] == 46, np.nan, dX), dy
        )
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not any("distributed" in Path(name).parts for name in files)


def rows_or_death(i, X, y, flag):
    """A block; the first time that the third is asked for, its worker dies."""
    if i == 2 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), 9)
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_worker_that_dies_while_blocks_are_read_changes_nothing(client, model, tmp_path):
    X, y, _ = samples()
    parts = np.split(np.arange(150), [40, 41, 116])
    flag = str(tmp_path / "died")
    blocks = [
        dask.delayed(rows_or_death)(i, X[rows], y[rows], flag, dask_key_name=f"rows-{flag}-{i}")
        for i, rows in enumerate(parts)
    ]
    samples_of = [dask.delayed(lambda block: block[0])(block) for block in blocks]
    labels_of = [dask.delayed(lambda block: block[1])(block) for block in blocks]
    expected = type(model)(**model.get_params()).fit(*in_blocks(X, y))

    found = type(model)(**model.get_params()).fit(samples_of, labels_of)

    assert Path(flag).exists()
    np.testing.assert_allclose(answers(found, X), answers(expected, X), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()], ids=["logistic", "svc"])
def test_a_worker_that_dies_between_steps_changes_nothing(client, model, monkeypatch):
    X, y, _ = samples()
    expected = type(model)().fit(X, y)
    merge, calls = ClusterBlocks.merge_parts, []

    def merge_after_a_death(self, *args):
        calls.append(1)
        if len(calls) == 3:
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, 9)
        return merge(self, *args)

    monkeypatch.setattr(ClusterBlocks, "merge_parts", merge_after_a_death)

    found = type(model)().fit(*in_blocks(X, y))

    assert len(calls) > 3
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)


def test_errors_of_the_engine_become_sentences():
    killed = type("KilledWorker", (Exception,), {})("lda-sums-3")
    with pytest.raises(ClusterError, match="several workers died"), engine.BriefErrors():
        raise killed
    with pytest.raises(ClusterError, match="make blocks smaller"), engine.BriefErrors():
        raise MemoryError
    with pytest.raises(ZeroDivisionError), engine.BriefErrors():
        raise ZeroDivisionError


def test_a_cluster_without_workers_is_a_clear_error(monkeypatch):
    X, y, _ = samples()
    monkeypatch.setattr(engine, "NO_WORKERS", 0.5)
    monkeypatch.setattr(engine, "POLL", 0.25)
    with (
        dask.config.set(scheduler=None),
        LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
        pytest.raises(ClusterError, match="has had no worker for"),
    ):
        GaussianNB().fit(*in_blocks(X, y))


@pytest.mark.slow
def test_workers_of_another_version_are_named(client, monkeypatch):
    X, y, _ = samples()
    engine._CHECKED.clear()
    monkeypatch.setattr(separatrix, "__version__", "99.0")

    with pytest.warns(UserWarning, match=r"\d of \d workers have another separatrix: .*99.0 here"):
        GaussianNB().fit(*in_blocks(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("model", [*MODELS, Nystroem(gamma=1.0, n_components=5)], ids=repr)
def test_graphs_never_carry_the_samples(client, model, monkeypatch):
    sizes = []
    for name in ("cluster_blocks", "fits", "lazy", "neighbor_blocks", "engine"):
        module = sys.modules[f"separatrix.cluster.{name}"]
        if hasattr(module, "compute"):
            monkeypatch.setattr(module, "compute", measuring(module.compute, sizes))
    X = da.random.default_rng(0).normal(size=(40_000, 4), chunks=(4000, 4))  # 1.3 MB
    X = X[:2000] if isinstance(model, SVC) else X

    type(model)(**model.get_params()).fit(X, (X[:, 0] > 0).astype(int))

    assert sizes
    assert max(sizes) < 2**17


def measuring(compute, sizes):
    def measured_compute(*results, **more):
        graphs = dask.optimize(*results)
        sizes.append(len(cloudpickle.dumps([dict(one.__dask_graph__()) for one in graphs[:1]])))
        return compute(*results, **more)

    return measured_compute


@pytest.mark.slow
def test_a_scheduler_and_a_worker_started_as_commands(tmp_path):
    X, y, _ = samples()
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--scheduler-file", str(file), "--no-dashboard"], **quiet
    )
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
    worker = subprocess.Popen([*worker, "--nthreads", "1", "--no-dashboard", "--no-nanny"], **quiet)
    try:
        with (
            dask.config.set(scheduler=None),
            Client(scheduler_file=str(file), set_as_default=False, timeout=60) as client,
            client.as_current(),
        ):
            found = LinearDiscriminantAnalysis().fit(*in_blocks(X, y))
    finally:
        for process in (worker, scheduler):
            process.kill()  # a worker that loses its scheduler would try for two minutes to find it
            process.wait()

    expected = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
