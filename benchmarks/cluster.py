"""Fits on two workers of a Dask cluster, against one process and against dask-ml."""

import dask.array as da
import numpy as np
from distributed import wait
from sklearn.base import clone

from benchmarks.dask_scale import (
    BLOCK,
    cluster_of,
    generate,
    neighbors_on,
    spent,
    steps_on,
    sums_on,
)
from benchmarks.measure import Row
from separatrix import SVCCV, KernelPerceptron, LogisticRegression, evaluate
from separatrix.data.catalogue import load
from separatrix.kernels import Polynomial


def cluster_sums():
    """The discriminant's sums over 100 generated blocks of 100,000 x 30, as tasks and in one process.

    CPU time is that of the workers, the scheduler and the client together.
    """
    rows, notes, walls = [], [], []
    for count in (1, 2):
        plain, own = sums_on(count, 100 * BLOCK)
        walls.append(own.wall)
        rows.append(
            Row(
                f"LDA, 10,000,000 x 30 in 100 blocks, {count} workers of one thread",
                f"{own.wall:.2f} s, CPU {own.cpu:.2f} s",
                f"one process {plain.wall:.2f} s, CPU {plain.cpu:.2f} s",
                f"{100 * (own.wall * count / plain.wall - 1):+.0f} %, CPU {100 * (own.cpu / plain.cpu - 1):+.0f} %",
                "at most +15 %",
            )
        )
    efficiency = f"{walls[0] / (2 * walls[1]):.2f}"
    rows.append(Row("efficiency from 1 to 2 workers", efficiency, "-", "-", "0.75 (1 to 8)"))
    return rows, notes


def against_dask_ml(rows):
    """Both logistic regressions on the same persisted blocks; dask-ml's with its default solver."""
    from dask_ml.linear_model import LogisticRegression as Peer

    with cluster_of(2) as client:
        X, y = client.persist(generate(rows, rows // 10))
        wait([X, y])
        model, peer = LogisticRegression(tol=1e-6), Peer(C=1.0)
        own, other = spent(client, lambda: model.fit(X, y)), spent(client, lambda: peer.fit(X, y))
        theta = np.append(peer.coef_.ravel(), peer.intercept_)
        scores = X @ theta[:-1] + theta[-1]
        loss = da.logaddexp(0.0, -da.where(y == 1, scores, -scores)).sum().compute()
    return own, float(model.objective_), other, float(loss + 0.5 * theta[:-1] @ theta[:-1])


def cluster_logistic():
    """Logistic regression on persisted blocks: a step against one process, and dask-ml's default solver."""
    own, model, local = steps_on(2, 50 * BLOCK)
    steps = int(model.n_iter_[0])
    rows = [
        Row(
            f"a step, 5,000,000 x 30, 2 workers, {steps} steps with checks",
            f"{own.wall / steps:.2f} s, CPU {own.cpu / steps:.2f} s",
            f"one process {local.wall:.2f} s, CPU {local.cpu:.2f} s (scaled from 1,000,000)",
            f"{own.wall * 2 / steps / local.wall:.2f}x its time / 2, CPU {own.cpu / steps / local.cpu:.2f}x",
            "at most 1.3x",
        )
    ]
    own, reached, other, peer = against_dask_ml(200_000)
    rows.append(
        Row(
            "200,000 x 30 in 10 blocks, 2 workers",
            f"{own.wall:.2f} s, CPU {own.cpu:.2f} s, objective {reached:.6f}",
            f"dask-ml {other.wall:.1f} s, CPU {other.cpu:.1f} s, objective {peer:.6f}",
            f"{other.wall / own.wall:.0f}x faster, {other.cpu / own.cpu:.0f}x in CPU time",
            "5x, lower objective",
        )
    )
    return rows, []


def cluster_neighbors():
    """k = 5 neighbours of 10,000 queries among 5,000,000 x 16 generated rows in 50 blocks, 2 workers."""
    own, local, same = neighbors_on(5_000_000, 10_000)
    row = Row(
        "k-NN, 5,000,000 x 16 in 50 blocks, 10,000 queries",
        f"{own.wall:.2f} s, CPU {own.cpu:.2f} s",
        f"one index, 2 threads {local.wall:.2f} s, CPU {local.cpu:.2f} s",
        f"{own.wall / local.wall:.2f}x its time, CPU {own.cpu / local.cpu:.2f}x",
        "at most 1.3x",
    )
    return [row], [f"rows and distances equal: {same}"]


def cluster_problems():
    """Many problems as tasks of 2 workers of one thread, against one process of 2 threads."""
    data, usps = load("mnist"), load("usps")
    digits = data.X[:10_000] / 255.0, data.y[:10_000]
    return problems_on(2, 1, digits, (usps.X, usps.y))[:2]


def problems_on(workers, threads, digits, small):
    """A search on some digits and a study of others: on a cluster, and in one process.

    Both are compiled, and workers have read what was compiled, before the clock starts.
    """
    search = SVCCV([0.1, 1.0, 10.0, 30.0, 100.0, 1000.0], [0.005, 0.01, 0.02, 0.04], cv=5)
    kernels, study = (
        [Polynomial(d) for d in range(1, 8)],
        KernelPerceptron(max_iter=20, shuffle=False),
    )
    (X, y), block = digits, len(digits[0]) // 8

    def searched(X, y):
        return clone(search).fit(X, y)

    def studied(X, y, repeats=20, cluster=None):
        return evaluate(study, X, y, kernels=kernels, repeats=repeats, cluster=cluster)

    for rows in (300, 2000):
        searched(X[:rows], y[:rows])
    few = [part[:600] for part in small]
    studied(*few, repeats=1)
    with cluster_of(workers, threads=threads) as client:
        dX, dy = da.from_array(X, chunks=(block, -1)), da.from_array(y, chunks=block)
        for _ in range(2):  # tasks are not spread evenly
            searched(dX[: 2 * block], dy[: 2 * block])
            studied(*few, repeats=4 * workers, cluster=client)
        pairs = [
            (lambda: searched(dX, dy), lambda: searched(X, y)),
            (lambda: studied(*small, cluster=client), lambda: studied(*small)),
        ]
        found = [(spent(client, there), spent(client, here)) for there, here in pairs]
    names = (
        f"SVCCV, 6 C x 4 gamma x 5 folds, MNIST {len(X):,}",
        f"{len(small[0]):,} digits of 16 x 16, 20 splits x degrees 1..7",
    )
    rows = [
        Row(
            f"{name}, {workers} workers of {threads} threads",
            f"{own.wall:.2f} s, CPU {own.cpu:.2f} s",
            f"one process {local.wall:.2f} s, CPU {local.cpu:.2f} s",
            f"{local.wall / own.wall:.2f}x as fast, CPU {own.cpu / local.cpu:.2f}x",
            "at least 1.0x (8 workers of 2 threads)",
        )
        for name, (own, local) in zip(names, found, strict=True)
    ]
    cells = [one.result.cv_results_["mean_test_score"] for one in found[0]]
    errors = [one.result.test_error for one in found[1]]
    same = f"scores of the search equal: {np.array_equal(*cells)}; errors of the study equal: "
    figures = {name: [one[:2] for one in pair] for name, pair in zip(names, found, strict=True)}
    return rows, [same + str(np.array_equal(*errors))], figures


SUITES = [cluster_sums, cluster_logistic, cluster_neighbors, cluster_problems]
