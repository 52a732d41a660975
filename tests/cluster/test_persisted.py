"""Samples that are on the workers already: persisted, scattered, or futures, as a whole or in part."""

import pytest

pytest.importorskip("distributed", reason="not installed: pip install 'separatrix[dask]'")

import os
from functools import cache
from pathlib import Path
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from sklearn.base import clone
from tests.cluster.support import CUTS, in_blocks, samples
from tests.cluster.test_processes import MODELS, answers, measuring, name_of

from separatrix import (
    KNeighborsClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Perceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ROWS = np.split(np.arange(150), np.cumsum(CUTS)[:-1])
COLUMNS = list("abcd")


@pytest.fixture(scope="module")
def two_threads():
    """A client of two workers in threads of this process."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with (
        LocalCluster(dashboard_address=":0", silence_logs=50, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def threads(two_threads):
    """The cluster of threads as the current one."""
    with dask.config.set(scheduler=None), two_threads.as_current():
        yield two_threads


def persisted(client, X, y):
    return [one.persist() for one in in_blocks(X, y)]


def persisted_by_the_client(client, X, y):
    return client.persist(in_blocks(X, y))


def samples_alone(client, X, y):
    dX, dy = in_blocks(X, y)
    return dX.persist(), dy


def labels_alone(client, X, y):
    dX, dy = in_blocks(X, y)
    return dX, dy.persist()


def computed_from_persisted(client, X, y):
    dX, dy = client.persist(in_blocks(X - 1.0, y))
    return dX + 1.0, dy[dX[:, 0] < 99.0]  # rows of y that are not known


def array_of_futures(client, X, y):
    futures = client.scatter([X[rows] for rows in ROWS], hash=False)
    name = f"futures-{uuid4().hex}"
    graph = {(name, i, 0): future for i, future in enumerate(futures)}
    labels = [
        da.from_delayed(dask.delayed(client.scatter(y[rows], hash=False)), (len(rows),), y.dtype)
        for rows in ROWS
    ]
    return da.Array(graph, name, (CUTS, (4,)), float), da.concatenate(labels)


def submitted_blocks(client, X, y):
    futures = [client.submit(np.array, X[rows]) for rows in ROWS]
    blocks = [
        da.from_delayed(one, (len(r), 4), float) for one, r in zip(futures, ROWS, strict=True)
    ]
    return da.concatenate(blocks), in_blocks(y)[0]


def delayed_persisted(client, X, y):
    return [client.persist([dask.delayed(a)[rows] for rows in ROWS]) for a in (X, y)]


def frame(client, X, y):
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=COLUMNS).assign(kind=y)
    return frames.from_pandas(table, npartitions=4)


def frame_persisted(client, X, y):
    table = frame(client, X, y).persist()
    return table[COLUMNS], table["kind"]


def frame_persisted_by_the_client(client, X, y):
    table = frame(client, X, y)
    return client.persist([table[COLUMNS], table["kind"]])


def frame_in_part(client, X, y):
    table = frame(client, X, y)
    return table[COLUMNS].persist(), table["kind"]


PLACES = [
    persisted,
    persisted_by_the_client,
    samples_alone,
    labels_alone,
    computed_from_persisted,
    array_of_futures,
    submitted_blocks,
    delayed_persisted,
    frame_persisted,
    frame_persisted_by_the_client,
    frame_in_part,
]
OFTEN = "LinearDiscriminantAnalysis"
CASES = [  # all models in three places, four models in the others
    pytest.param(
        place,
        model,
        marks=[] if name_of(model) == OFTEN else pytest.mark.slow,
        id=f"{place.__name__}-{name_of(model)}",
    )
    for place in PLACES
    for model in MODELS
    if place in (persisted_by_the_client, array_of_futures, frame_in_part)
    or name_of(model) in (OFTEN, "LogisticRegression", "KNeighborsClassifier", "SVC-ovo")
]


@cache
def fitted_here(name):
    (model,) = (model for model in MODELS if name_of(model) == name)
    X, y, _ = samples()
    if isinstance(model, Perceptron):  # the result is that of the stream of blocks
        with dask.config.set(scheduler="synchronous"):
            return clone(model).fit(*in_blocks(X, y))
    return clone(model).fit(X, y)


@pytest.mark.parametrize(("place", "model"), CASES)
def test_samples_on_the_workers_give_the_fit_in_memory(threads, place, model):
    X, y, _ = samples()
    dX, dy = place(threads, X, y)
    expected = fitted_here(name_of(model))

    found = clone(model).fit(dX, dy)

    named = (
        X if not hasattr(found, "feature_names_in_") else frame(threads, X, y)[COLUMNS].compute()
    )
    if not (isinstance(model, Perceptron) and "frame" in place.__name__):  # other blocks
        np.testing.assert_allclose(answers(found, named), answers(expected, X), atol=1e-4)
    if hasattr(found, "predict"):
        lazy = found.predict(dX)
        lazy = np.concatenate(dask.compute(*lazy)) if isinstance(lazy, list) else lazy.compute()
        np.testing.assert_array_equal(lazy, found.predict(named))
        assert found.score(dX, dy) == pytest.approx(np.mean(lazy == y), abs=1e-15)
    elif not isinstance(dX, list):
        np.testing.assert_allclose(found.transform(dX).compute(), found.transform(named))


def arrays_in_memory(X, y):
    return da.from_array(X, chunks=(1500, 32)), y


def frames_in_memory(X, y):
    pd, frames = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = frames.from_pandas(pd.DataFrame(X).add_prefix("x").assign(kind=y), npartitions=4)
    return table[table.columns[:-1]], table["kind"]


def delayed_in_memory(X, y):
    cuts = [slice(i, i + 1500) for i in range(0, 6000, 1500)]
    return [[dask.delayed(a[rows]) for rows in cuts] for a in (X, y)]


@pytest.mark.slow
@pytest.mark.parametrize("place", [arrays_in_memory, frames_in_memory, delayed_in_memory])
@pytest.mark.parametrize(
    "model",
    [LinearDiscriminantAnalysis(), LogisticRegression(), KNeighborsClassifier()],
    ids=name_of,
)
def test_samples_in_memory_are_not_in_the_graphs(threads, place, model, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 32))  # 1.5 MB
    y = (X[:, 0] > 0).astype(int)
    dX, dy = place(X, y)
    sizes = []
    for method in ("compute", "persist"):
        monkeypatch.setattr(Client, method, measuring(getattr(Client, method), sizes))

    found = clone(model).fit(dX, dy)
    right = found.score(dX, dy)

    assert sizes
    assert max(sizes) < 2**20
    assert right > 0.8


def die_once(block, flag):
    """A block; the first that is asked for ends its worker, with the samples that were sent to it."""
    if block.shape[0] and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), 9)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression()], ids=name_of)
def test_samples_sent_to_a_worker_that_dies_are_sent_again(client, model, tmp_path):
    X, y, _ = samples(n=40_000)  # labels of 320 kB
    flag = str(tmp_path / "died")
    dX = da.from_array(X, chunks=(10_000, 4)).map_blocks(die_once, flag, meta=X[:0])

    found = clone(model).fit(dX, y)

    assert Path(flag).exists()
    np.testing.assert_allclose(found.coef_, clone(model).fit(X, y).coef_, atol=1e-3)
