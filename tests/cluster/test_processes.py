"""The same fits on worker processes, and what happens when they die."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import os
import subprocess
import sys
import traceback
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.base import clone
from tests.cluster.support import in_blocks, samples

import separatrix
from separatrix import (
    SVC,
    SVCCV,
    GaussianNB,
    KernelPerceptron,
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Nystroem,
    Perceptron,
    SubgradientSVC,
)
from separatrix.cluster import engine
from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.errors import ClusterError, DataError

MODELS = [  # one for each kind of fit
    LinearDiscriminantAnalysis(),
    LogisticRegression(),
    LinearSVC(),
    SubgradientSVC(max_iter=10),
    Perceptron(max_iter=2, tol=None),
    KNeighborsClassifier(),
    SVC(),
    SVC(multi_class="ovr"),
    KernelPerceptron(multi_class="ovo", max_iter=2),
    SVCCV([1.0, 10.0], [0.1], cv=2),
    Nystroem(gamma=1.0, n_components=5, random_state=0),
]
LINEAR = (
    LinearDiscriminantAnalysis,
    LogisticRegression,
    LinearSVC,
    SubgradientSVC,
    Perceptron,
    Nystroem,
)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def name_of(model):
    """Of a test."""
    return f"{type(model).__name__}-{getattr(model, 'multi_class', '')}".rstrip("-")


def answers(model, X):
    methods = ("predict_proba", "decision_function", "transform")
    values = getattr(model, next(name for name in methods if hasattr(model, name)))(X)
    return np.asarray(values.compute() if hasattr(values, "compute") else values)


@pytest.mark.slow
def test_worker_processes_give_the_fit_in_memory(client):
    X, y, w = samples()
    dX, dy, dw = in_blocks(X, y, w)
    expected = LinearDiscriminantAnalysis().fit(X, y, w)

    found = LinearDiscriminantAnalysis().fit(dX, dy, dw)

    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_array_equal(found.predict(dX).compute(), expected.predict(X))
    near, whole = KNeighborsClassifier().fit(dX, dy, dw), KNeighborsClassifier().fit(X, y, w)
    assert len(near.index_.groups) <= 2  # an index for each worker, not for each of four blocks
    for own, other in zip(near.kneighbors(X[:40]), whole.kneighbors(X[:40]), strict=True):
        np.testing.assert_array_equal(own, other)
    assert near.score(dX, dy) == whole.score(X, y)
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
@pytest.mark.parametrize("model", MODELS, ids=name_of)
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
    expected = clone(model).fit(X, y)
    if isinstance(model, Perceptron):  # the result is that of the stream of blocks
        expected = clone(model).fit(*in_blocks(X, y))

    found = clone(model).fit(samples_of, labels_of)

    assert Path(flag).exists()
    np.testing.assert_allclose(answers(found, X), answers(expected, X), atol=1e-4)


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


@pytest.mark.slow
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
def test_workers_that_all_go_in_the_middle_of_a_fit_are_a_clear_error(monkeypatch):
    X, y, _ = samples()
    monkeypatch.setattr(engine, "NO_WORKERS", 0.5)
    monkeypatch.setattr(engine, "POLL", 0.25)
    merge, calls = ClusterBlocks.merge_parts, []
    one = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with (
        dask.config.set(scheduler=None),
        LocalCluster(silence_logs=50, **one) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):

        def merge_after_the_last(self, *args):
            calls.append(1)
            if len(calls) == 3:
                cluster.sync(cluster.workers[0].close)
            return merge(self, *args)

        monkeypatch.setattr(ClusterBlocks, "merge_parts", merge_after_the_last)
        with pytest.raises(ClusterError, match=r"has had no worker for .* start workers"):
            LogisticRegression().fit(*in_blocks(X, y))
        assert len(calls) == 3


@pytest.mark.slow
def test_workers_of_another_version_are_named(client, monkeypatch):
    X, y, _ = samples()
    engine._CHECKED.clear()
    monkeypatch.setattr(separatrix, "__version__", "99.0")

    with pytest.warns(UserWarning, match=r"\d of \d workers have another separatrix: .*99.0 here"):
        GaussianNB().fit(*in_blocks(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_graphs_never_carry_the_samples(client, model, monkeypatch):
    sizes = []
    for method in ("compute", "persist"):
        monkeypatch.setattr(Client, method, measuring(getattr(Client, method), sizes))
    n = 40_000 if isinstance(model, (*LINEAR, KNeighborsClassifier)) else 4000
    X = da.random.default_rng(0).normal(size=(n, 32), chunks=(n // 10, 32))  # 10 or 1 MB
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)

    fitted = clone(model).fit(X, y)
    if not isinstance(model, Nystroem):
        fitted.predict(X).compute()

    assert sizes
    assert max(sizes) < 2**17  # 1 MB is the limit; labels of 40,000 rows alone are 2**18


def measuring(call, sizes):
    def measured(self, collections, **more):
        graphs = [dict(one.__dask_graph__()) for one in dask.optimize(collections)[0]]
        sizes.append(len(cloudpickle.dumps(graphs)))
        return call(self, collections, **more)

    return measured


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
