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
from separatrix import SVC
from separatrix.estimators.base import svc_fit
from separatrix.kernels.epilogues import exp_of_distances, power
from separatrix.kernels.gram import sources
from separatrix.runtime.threads import blas_on_one_thread, in_threads, thread_count


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
    """Seconds that one more task on another thread costs."""
    threads = max(2, thread_count())
    tasks = range(64)
    return best(lambda: in_threads(abs, tasks, threads=threads)) / len(tasks)


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


def measure():
    products, epilogues = product_rates(), epilogue_costs()
    value, fit = matrix_cost(), round_cost()
    return {
        "machine": machine(),
        "multiply-adds per second, one thread": products,
        "seconds for each value of an epilogue": epilogues,
        "seconds for each byte of fresh memory": memory_cost(),
        "seconds for each task on another thread": task_cost(),
        "seconds for each value of a matrix in memory": value,
        "seconds of a fit of 1,500 rows on demand": fit,
        "constants": {
            "sources.EPILOGUE_WORK": {
                "derived": epilogues["Gaussian float32"] * products["float32"],
                "source": sources.EPILOGUE_WORK,
            },
            "svc_fit.HELD_ROWS": {
                "derived": (fit / value) ** 0.5,
                "source": svc_fit.HELD_ROWS,
            },
        },
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
