"""Fits on a Dask cluster: overhead over one process, memory of workers, steps, neighbours, and dask-ml.

`python -m benchmarks.dask_scale [--workers N ...] [--rows N] [--part NAME ...]` prints a table; the suites of
`make bench` are in `cluster.py`. Blocks are generated on the workers and never in one memory.
"""

import argparse
import os
import time
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from separatrix import (
    GaussianNB,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)
from separatrix.cluster.cluster_blocks import ClusterBlocks
from separatrix.estimators.base.blocks import StreamBlocks
from separatrix.runtime.sums import total
from separatrix.runtime.threads import blas_on_one_thread

FEATURES, BLOCK = 30, 100_000
ONE_PASS = (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    GaussianNB,
    LeastSquaresClassifier,
)
MEAN = 0.2 * np.random.default_rng(7).normal(size=(2, FEATURES))


def make_rows(number, rows, d=FEATURES):
    rng = np.random.default_rng(number)
    y = rng.integers(0, 2, size=rows)
    X = rng.standard_normal(size=(rows, d))
    X += MEAN[y, :d]
    return X, y


def generate(rows, block=BLOCK, d=FEATURES):
    """Samples and labels as dask arrays, a task for each block."""
    made = [dask.delayed(make_rows, nout=2)(i, block, d) for i in range(rows // block)]
    X = da.concatenate([da.from_delayed(x, (block, d), float) for x, _ in made])
    return X, da.concatenate([da.from_delayed(y, (block,), int) for _, y in made])


@contextmanager
def cluster_of(workers, memory="auto", threads=1):
    options = {"n_workers": workers, "threads_per_worker": threads, "dashboard_address": ":0"}
    with (
        LocalCluster(memory_limit=memory, silence_logs=50, **options) as own,
        Client(own) as client,
    ):
        client.wait_for_workers(workers)
        warm_up()
        yield client


def warm_up():
    """Import and compile on every worker before a clock starts."""
    X, y = generate(20 * 1000, 1000)
    LinearDiscriminantAnalysis().fit(X, y)
    LogisticRegression().fit(X, y)


def seconds(work, repeat=1):
    best = np.inf
    for _ in range(repeat):
        begun = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begun)
    return best


def in_one_process(kind, rows, first=0):
    """The same sums over the same generated blocks, one thread."""
    model = kind()
    model._form = "pooled"
    numbers = range(first, first + rows // BLOCK)
    blocks = StreamBlocks(model, (make_rows(i, BLOCK) for i in numbers))
    with blas_on_one_thread():
        return total(lambda b: model._part_of(b, blocks.n_classes), blocks, model._merge_sums)


class Spent(NamedTuple):
    """Elapsed seconds, and CPU seconds of workers and of this process, with what was computed."""

    wall: float
    cpu: float
    result: Any


def spent(client, work):
    workers, here, begun = cpu_seconds(client), time.process_time(), time.perf_counter()
    result = work()
    wall = time.perf_counter() - begun
    return Spent(wall, cpu_seconds(client) - workers + time.process_time() - here, result)


def sums_on(workers, rows):
    """The discriminant in one task, and as a task for each block."""
    with cluster_of(workers) as client:
        X, y = generate(rows)
        plain = spent(
            client, client.submit(in_one_process, LinearDiscriminantAnalysis, rows).result
        )
        blocks = spent(client, lambda: LinearDiscriminantAnalysis().fit(X, y))
    return plain, blocks


def part_overhead(workers, rows):
    """Overhead over the same sums in one process, 100 blocks."""
    rows = min(rows, 100 * BLOCK)
    for count in workers:
        plain, own = sums_on(count, rows)
        yield (
            f"LDA sums, {rows:,} x {FEATURES}, one task",
            f"{plain.wall:.2f} s, CPU {plain.cpu:.2f} s",
        )
        yield (
            f"the same as {rows // BLOCK} blocks, {count} workers",
            f"{own.wall:.2f} s, {100 * (own.wall * count / plain.wall - 1):+.0f} % over one task / {count}; "
            f"CPU {own.cpu:.2f} s, {100 * (own.cpu / plain.cpu - 1):+.0f} %",
        )


def cpu_seconds(client):
    """User and system time of all workers together; a busy machine does not change it much."""
    return sum(sum(times[:2]) for times in client.run(os.times).values())


def peak_memory(client):
    def peak():
        with open("/proc/self/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    return max(client.run(peak).values())


def part_memory(workers, rows):
    """One-pass models on more than memory holds, workers of 1 GiB."""
    with cluster_of(max(workers), "1GiB") as client:
        X, y = generate(rows)
        for kind in ONE_PASS:
            took = seconds(lambda: kind().fit(X, y))
            size = 8e-9 * rows * FEATURES
            yield (
                f"{kind.__name__}, {rows:,} x {FEATURES} ({size:.1f} GB)",
                f"{took:.1f} s, peak of a worker {peak_memory(client):.0f} MB",
            )
        few = X[: 5 * BLOCK].compute(), y[: 5 * BLOCK].compute()
        whole = LinearDiscriminantAnalysis().fit(*few)
        found = LinearDiscriminantAnalysis().fit(X[: 5 * BLOCK], y[: 5 * BLOCK])
        off = np.abs(found.coef_ - whole.coef_).max()
        yield "LDA, five blocks, merged against whole", f"weights differ by {off:.0e}"


def steps_on(workers, rows):
    """CPU and elapsed seconds of a step of logistic regression: on persisted blocks, and in one process."""
    with cluster_of(workers) as client:
        own = steps_of_cluster(client, rows)
        return own, own.result, local_step(client, rows)


def steps_of_cluster(client, rows):
    """What a fit of logistic regression to persisted blocks takes; its model is the result."""
    X, y = client.persist(generate(rows))
    wait([X, y])
    ClusterBlocks(LogisticRegression(), (X, y), keep=True)  # the checks are compiled
    model = LogisticRegression(tol=1e-6)
    return spent(client, lambda: model.fit(X, y))


def local_step(client, rows):
    """What one step takes in one process, scaled from 1,000,000 rows."""
    few = min(rows, 1_000_000)
    one = spent(client, client.submit(steps_in_one_process, few, pure=False).result)
    steps, made = one.result
    scale = rows / few / steps
    return one._replace(wall=(one.wall - made) * scale, cpu=(one.cpu - made) * scale)


def steps_in_one_process(rows):
    """The steps of a fit, and the seconds before it: of its samples, and of loading compiled code."""
    begun, model = time.perf_counter(), LogisticRegression(tol=1e-6, n_jobs=1)
    parts = [make_rows(i, BLOCK) for i in range(rows // BLOCK)]
    X, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    with blas_on_one_thread():
        model.fit(X[:BLOCK], y[:BLOCK])
        made = time.perf_counter() - begun
        return int(model.fit(X, y).n_iter_[0]), made


def part_logistic(workers, rows):
    """Logistic regression on persisted blocks, against one process."""
    rows = min(rows, 100 * BLOCK)
    for count in workers:
        own, model, local = steps_on(count, rows)
        steps = int(model.n_iter_[0])
        yield (
            f"LogisticRegression, {rows:,} x {FEATURES}, {count} workers",
            f"{own.wall:.2f} s, {steps} steps, objective {model.objective_:.6f}; a step {own.cpu / steps:.2f} s "
            f"of CPU time, in one process {local.cpu:.2f} s",
        )


def neighbors_on(rows, queries, workers=2):
    """Neighbours from 50 blocks and from one index, searched a second time: the first builds the index."""
    Q = make_rows(10**6, queries, 16)[0]
    with cluster_of(workers) as client:
        X, y = generate(rows, rows // 50, 16)
        model = KNeighborsClassifier().fit(X, y)
        model.kneighbors(Q)
        own = spent(client, lambda: model.kneighbors(Q))
    whole = KNeighborsClassifier().fit(*dask.compute(X, y, scheduler="threads"))
    whole.kneighbors(Q)
    begun, cpu = time.perf_counter(), time.process_time()
    found = whole.kneighbors(Q)
    wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return own, Spent(wall, cpu, found), all(map(np.array_equal, own.result, found))


def part_neighbors(workers, rows, queries):
    """Nearest neighbours in 50 blocks, against one index."""
    n = min(rows, 5_000_000)
    own, local, same = neighbors_on(n, queries, max(workers))
    what = f"k-NN, {n:,} x 16 in 50 blocks, {queries:,} queries"
    yield what, f"{own.wall:.2f} s, CPU {own.cpu:.2f} s, equal: {same}"
    ratio = f"{own.wall / local.wall:.2f}, of CPU time {own.cpu / local.cpu:.2f}"
    yield "one index, all cores", f"{local.wall:.2f} s, CPU {local.cpu:.2f} s; ratio {ratio}"


def part_model(workers, rows):
    """Constants of the cost model in docs/cluster.md, in CPU time, and its prediction for the discriminant.

    Elapsed times of a busy machine say little; CPU time of the workers and of the scheduler, which is in
    this process, says how long they would take on cores of their own.
    """
    count, tasks = max(workers), 2000
    with cluster_of(count) as client:
        empty = cpu_here(lambda: client.gather(client.map(abs, range(tasks), pure=False))) / tasks
        yield "a task that does nothing: scheduler and client", f"{1e3 * empty:.2f} ms"
        rate = move_between_workers(client)
        yield "moved from one worker to another", f"{1e-9 * rate:.2f} GB/s, elapsed"
        make, sums = client.submit(time_block).result()
        flops = 2.0 * BLOCK * FEATURES**2 / sums
        yield (
            f"a block of {BLOCK:,} x {FEATURES}",
            f"{make:.3f} s to make, {sums:.3f} s to check and sum up: {1e-9 * flops:.1f} Gflop/s",
        )
        X, y = generate(rows)
        blocks = rows // BLOCK
        merges = -(-blocks // 16) + 1
        before, begun = cpu_seconds(client), time.perf_counter()
        here = cpu_here(lambda: LinearDiscriminantAnalysis().fit(X, y))
        took, spent = time.perf_counter() - begun, cpu_seconds(client) - before
        what = f"LDA, {rows:,} x {FEATURES} in {blocks} blocks, {count} workers"
        said = blocks * (make + sums)
        yield f"{what}: CPU of workers", f"{spent:.2f} s; the model says {said:.2f} s"
        said_here = (blocks + merges) * empty
        yield f"{what}: CPU here", f"{here:.2f} s; the model says {said_here:.2f} s"
        moved = 8.0 * (FEATURES**2 + 2 * FEATURES) * (blocks + merges) / rate
        yield (
            f"{what}: elapsed",
            f"{took:.2f} s; on idle cores the model says {said / count + said_here + moved:.2f} s",
        )


def cpu_here(work):
    """CPU seconds of this process."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def move_between_workers(client):
    """Bytes a second."""
    first, second = list(client.scheduler_info(n_workers=-1)["workers"])[:2]
    best = 0.0
    for _ in range(3):
        array = client.submit(np.ones, 2**24, workers=[first], pure=False)
        wait(array)
        took = seconds(client.submit(len, array, workers=[second], pure=False).result)
        best = max(best, 8 * 2**24 / took)
    return best


def time_block():
    """CPU seconds to make a block, and to check it and sum it up, on one worker."""
    model = LinearDiscriminantAnalysis()
    model._form = "pooled"
    block = make_rows(0, BLOCK)

    def sum_up():
        blocks = StreamBlocks(model, [block])
        total(lambda b: model._part_of(b, blocks.n_classes), blocks, model._merge_sums)

    with blas_on_one_thread():
        return min(cpu_here(lambda: make_rows(0, BLOCK)) for _ in range(5)), min(
            cpu_here(sum_up) for _ in range(5)
        )


PARTS = {
    "model": part_model,
    "overhead": part_overhead,
    "memory": part_memory,
    "logistic": part_logistic,
    "neighbors": part_neighbors,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=10_000, help="of the neighbours")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    for name in given.part:
        print(PARTS[name].__doc__.splitlines()[0], flush=True)
        more = (given.queries,) if name == "neighbors" else ()
        for what, figure in PARTS[name](given.workers, given.rows, *more):
            print(f"  {what:<60}{figure}", flush=True)


if __name__ == "__main__":
    main()
