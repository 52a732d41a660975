"""`python -m benchmarks.calibrate`: measure the costs behind the constants of the cost models.

Prints what this machine does in a second, what the models derive from it, and the constant in the source
beside it. A constant that is off by less than a factor of two costs little.
"""

import json
import sys
import time

import numpy as np

from benchmarks.everyday import generate
from benchmarks.measure import machine
from separatrix import SVC, NeighborIndex
from separatrix.estimators.base import svc_fit
from separatrix.kernels.epilogues import exp_of_distances, power
from separatrix.kernels.gram import sources
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_count
from separatrix.solvers.logistic import descent
from separatrix.solvers.logistic.softmax import replace_scores
from separatrix.solvers.nearest import index as nearest_index
from separatrix.solvers.svm import smo

MANY_TASKS = 4  # threads that could be started in the time of the work that is worth one


def best(call, *, repeat=7):
    """Least seconds of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def product_rates():
    """Multiply-adds per second of matrix products on one thread, by precision."""
    rates = {}
    rng = np.random.default_rng(0)
    for name, dtype in [("float32", np.float32), ("float64", np.float64)]:
        A, B = (rng.normal(size=(512, 512)).astype(dtype) for _ in range(2))
        with blas_on_one_thread():
            rates[name] = 512**3 / best(lambda A=A, B=B: A @ B)
    return rates


def epilogue_costs():
    """Seconds for each value of the kernels' epilogues on one thread."""
    rng = np.random.default_rng(0)
    squares = rng.uniform(1.0, 2.0, 512)
    costs = {}
    for dtype in (np.float32, np.float64):
        P = rng.uniform(0.0, 1.0, (512, 512)).astype(dtype)
        name = np.dtype(dtype).name
        costs[f"Gaussian {name}"] = (
            best(lambda P=P: exp_of_distances(P, squares, squares, 0.5)) / P.size
        )
        costs[f"Polynomial {name}"] = best(lambda P=P: power(P, 0.5, 0.5, 3)) / P.size
    return costs


def memory_cost():
    """Seconds for each byte of memory written for the first time."""
    size = 2**26

    def write():
        np.empty(size, np.uint8)[:] = 0

    return best(write) / size


def task_cost():
    """Seconds that it takes to start one more thread and to wait for it."""
    threads = max(2, thread_count())
    return best(lambda: in_threads(abs, range(threads), threads=threads), repeat=50) / threads


def matrix_cost():
    """Seconds for each value of a kernel matrix in memory, on one thread."""
    data = generate(3000, 16, 2)
    source = sources.make_source(
        SVC()._resolve_kernel(data.X), data.X, tolerance=1e-3, budget=2**32, threads=1
    )
    return best(source.matrix, repeat=3) / 3000**2


def round_cost():
    """Seconds of a fit of one boundary on rows computed when needed, on one thread, beyond its values."""
    data = generate(1500, 16, 2)
    model = SVC(n_jobs=1, device="cpu", cache_size=64)
    model.fit(data.X, data.y)
    return best(lambda: model.fit(data.X, data.y), repeat=5)


def crossing(first, second, sizes):
    """The least size at which the second of two ways is as fast as the first; inf if it never is."""
    for size in sizes:
        if best(lambda size=size: second(size)) <= best(lambda size=size: first(size)):
            return size
    return float("inf")


def few_queries():
    """Queries whose scan costs as much as building an index and asking it."""
    data = generate(8000, 16, 6, queries=1024)

    def index(method):
        return NeighborIndex(data.X, method=method, n_jobs=1)

    index("auto").search(data.Q, 5)
    few = data.Q[: nearest_index.FEW_QUERIES]
    scan = best(lambda: index("auto").search(few, 5), repeat=3) / len(few)
    whole = best(lambda: index("boxes").search(data.Q, 5), repeat=3)
    boxes = index("boxes")
    asked = best(lambda: boxes.search(data.Q, 5), repeat=3)
    return (whole - asked) / max(scan - asked / len(data.Q), 1e-12)


def rows_per_slot():
    """Of several values of ROWS_PER_SLOT, that with the fastest fit of 4,000 rows."""
    data, before, times = generate(4000, 16, 2), smo.ROWS_PER_SLOT, {}
    model = SVC(n_jobs=1, device="cpu")
    try:
        for value in (10, 20, 40):
            smo.ROWS_PER_SLOT = value
            times[value] = best(lambda: model.fit(data.X, data.y), repeat=2)
    finally:
        smo.ROWS_PER_SLOT = before
    return min(times, key=times.get)


def pass_costs():
    """Multiply-adds of a pass of logistic regression in seconds, and its other costs in units of these."""
    rng = np.random.default_rng(0)
    n, d, k = 4000, 64, 6
    X, W, R = rng.normal(size=(n, d)), rng.normal(size=(k, d)), rng.normal(size=(k, n))
    y, ones, zeros = rng.integers(k, size=n), np.ones(n), np.zeros(k)
    Z, wide = np.empty((n, k, d)), rng.normal(size=(n, 512))
    with blas_on_one_thread():
        one = best(lambda: (W @ X.T, R @ X)) / (2 * n * d * k)
        value = best(lambda: replace_scores(W @ X.T, zeros, y, ones)) - best(lambda: W @ X.T)
        product = best(lambda: np.multiply(R.T[:, :, None], X[:, None, :], out=Z))
        large = best(lambda: wide.T @ wide, repeat=3) / (n * 512**2)
    return one, {
        "VALUE": value / (n * k * one),
        "PRODUCT": product / (n * k * d * one),
        "LARGE_PRODUCT": large / one,
    }


def constants(products, epilogues, task, value, fit):
    """Each constant of a cost model: what this machine gives for it, and what the source says."""
    one, of_passes = pass_costs()
    epilogue, multiply = epilogues["Gaussian float32"], products["float32"]
    derived = {
        (sources, "EPILOGUE_WORK"): epilogue * multiply,
        (sources, "WORTH_THREADS"): MANY_TASKS * task / epilogue,
        (sources, "TILE_WORK"): MANY_TASKS * task * multiply,
        (smo, "WORTH_THREADS"): MANY_TASKS * task * products["float64"],
        (smo, "ROWS_PER_SLOT"): rows_per_slot(),
        (svc_fit, "HELD_ROWS"): (fit / value) ** 0.5,
        (nearest_index, "FEW_QUERIES"): few_queries(),
        (descent, "BLOCK_WORK"): MANY_TASKS * task / one,
        **{(descent, name): cost for name, cost in of_passes.items()},
    }
    return {
        f"{module.__name__.removeprefix('separatrix.')}.{name}": {
            "derived": float(found),
            "source": getattr(module, name),
        }
        for (module, name), found in derived.items()
    }


def measure():
    products, epilogues = product_rates(), epilogue_costs()
    value, fit, task = matrix_cost(), round_cost(), task_cost()
    return {
        "machine": machine(),
        "multiply-adds per second, one thread": products,
        "seconds for each value of an epilogue": epilogues,
        "seconds for each byte of fresh memory": memory_cost(),
        "seconds to start another thread": task,
        "seconds for each value of a matrix in memory": value,
        "seconds of a fit of 1,500 rows on demand": fit,
        "constants": constants(products, epilogues, task, value, fit),
    }


def main(arguments):
    found = measure()
    if "--json" in arguments:
        print(json.dumps(found, indent=1))
        return
    for what, value in found.items():
        if isinstance(value, dict):
            print(what)
            for name, one in value.items():
                text = (
                    ", ".join(f"{k} {v:.3g}" for k, v in one.items())
                    if isinstance(one, dict)
                    else f"{one:.3g}"
                )
                print(f"  {name}: {text}")
        else:
            print(f"{what}: {value if isinstance(value, str) else format(value, '.3g')}")


if __name__ == "__main__":
    main(sys.argv[1:])
