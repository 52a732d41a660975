"""`PYTHONPATH=src python -m benchmarks.cluster_workers --out FILE`: Dask clusters of 1 to 16 workers.

Needs dask and distributed; data is generated, but for MNIST's four idx files in the folder SEPARATRIX_DATA.
Prints sections in the format of RESULTS.md and writes them to FILE after each part: `scale`, `problems`,
`constants`. A part that fails, or takes longer than `--time-limit`, is reported and the next one runs.
`--keep FILE` puts its sections into RESULTS.md.
"""

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks import dask_scale
from benchmarks.cluster import problems_on
from benchmarks.dask_scale import BLOCK, FEATURES, cluster_of, generate, spent
from benchmarks.gpu import keep_sections, limited
from benchmarks.measure import Row, section
from separatrix import LinearDiscriminantAnalysis
from separatrix.data.catalogue import load

SUM_BLOCKS, STEP_BLOCKS = 96, 48  # multiples of 16 workers
SPLIT = (8, 2)  # workers, and threads of each, of the problems


def scale(counts, divide):
    """LDA's sums over 96 generated blocks of 100,000 x 30, and logistic regression on 48 persisted ones.

    "Plain loops" are as many processes that each sum up their share in one task, without blocks, merges or
    a scheduler: what the cores give. Efficiency is the time of one worker over W times that of W workers.
    """
    rows, figures, blocks = [], [], (SUM_BLOCKS // divide, STEP_BLOCKS // divide)
    many = [f"{count * BLOCK:,} x {FEATURES}" for count in blocks]
    for count in counts:
        figures.append(at_count(count, *blocks))
        print(figures[-1], flush=True)
    one = figures[0]
    for found in figures:
        n = found["workers"] / one["workers"]
        rows.append(
            Row(
                f"LDA, {many[0]}, {found['workers']} workers",
                f"{found['sums']:.2f} s, CPU {found['sums_cpu']:.1f} s",
                f"plain loops {found['loops']:.2f} s, CPU {found['loops_cpu']:.1f} s",
                f"{100 * (found['sums'] / found['loops'] - 1):+.0f} %, CPU "
                f"{100 * (found['sums_cpu'] / found['loops_cpu'] - 1):+.0f} %; efficiency "
                f"{one['sums'] / n / found['sums']:.2f}, of plain loops {one['loops'] / n / found['loops']:.2f}",
                "at most +15 %; efficiency 0.75 at 8",
            )
        )
    local = one["local_step"]
    for found in figures:
        n = found["workers"] / one["workers"]
        step = found["steps"] / found["n_steps"]
        rows.append(
            Row(
                f"logistic, {many[1]} persisted, {found['workers']} workers",
                f"{found['steps']:.2f} s, {found['n_steps']} steps, CPU {found['steps_cpu']:.1f} s",
                f"a step in one process {local:.2f} s (scaled from 1,000,000)",
                f"a step {step * found['workers'] / local:.2f}x that / {found['workers']}; efficiency "
                f"{one['steps'] / n / found['steps']:.2f}",
                "at most 1.3x; efficiency 0.75 at 8",
            )
        )
    return rows, [], figures


def at_count(count, sum_blocks, step_blocks):
    """Seconds of both fits with so many workers of one thread."""
    begun = time.perf_counter()
    with cluster_of(count) as client:
        start = time.perf_counter() - begun
        loops = spent(client, lambda: plain_loops(client, count, sum_blocks))
        X, y = generate(sum_blocks * BLOCK)
        sums = min(
            (spent(client, lambda: LinearDiscriminantAnalysis().fit(X, y)) for _ in range(2)),
            key=lambda one: one.wall,
        )
        steps = dask_scale.steps_of_cluster(client, step_blocks * BLOCK)
        found = {
            "workers": count,
            "start": start,
            "loops": loops.wall,
            "loops_cpu": loops.cpu,
            "sums": sums.wall,
            "sums_cpu": sums.cpu,
            "steps": steps.wall,
            "steps_cpu": steps.cpu,
            "n_steps": int(steps.result.n_iter_[0]),
            "objective": float(steps.result.objective_),
        }
        if count == 1:
            found["local_step"] = dask_scale.local_step(client, step_blocks * BLOCK).wall
    return found


def plain_loops(client, count, blocks):
    """As many tasks as workers, each the sums over its share of the blocks in a plain loop."""
    own = blocks // count
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    parts = [
        client.submit(
            dask_scale.in_one_process,
            LinearDiscriminantAnalysis,
            own * BLOCK,
            i * own,
            workers=[worker],
            pure=False,
        )
        for i, worker in enumerate(workers)
    ]
    return client.gather(parts)


def constants(counts, divide):
    """Constants of the cost model of docs/explanation/cluster.md, and what it says of the discriminant.

    The figures of `python -m benchmarks.dask_scale --part model`; CPU time unless "elapsed".
    """
    rows, figures = [], {}
    for count in [count for count in (2, 16) if count in counts]:
        for what, figure in dask_scale.part_model([count], SUM_BLOCKS // divide * BLOCK):
            figures[f"{count} workers: {what}"] = figure
            rows.append(Row(f"{count} workers: {what}", figure, "-", "-", "-"))
    return rows, [], figures


def problems(counts, divide):
    """Many problems as tasks of 8 workers of 2 threads, against one process of as many threads.

    The study is that of USPS, 20 splits x degrees 1..7, on 9,298 digits of 16 x 16 pixels made of MNIST's.
    """
    data, n, m = load("mnist"), 10_000 // divide, 9298 // divide
    small = pooled(data.X[n : n + m]) / 255.0, data.y[n : n + m]
    workers = min(SPLIT[0], max(counts))
    return problems_on(workers, SPLIT[1], (data.X[:n] / 255.0, data.y[:n]), small)


def pooled(images):
    """Digits of 28 x 28 pixels with a border, as means of 2 x 2."""
    padded = np.pad(
        np.asarray(images, dtype=np.float64).reshape(-1, 28, 28), ((0, 0), (2, 2), (2, 2))
    )
    return padded.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(-1, 256)


PARTS = {"scale": scale, "problems": problems, "constants": constants}


def run_part(name, options):
    """Section, rows and figures of a part, or a traceback."""
    begun, found, failed = time.perf_counter(), ([], [], None), ""
    try:
        with limited(options.time_limit):
            found = PARTS[name](options.workers, options.divide)
    except Exception:
        failed = traceback.format_exc()
        print(failed, file=sys.stderr, flush=True)
    rows, notes, figures = found
    notes, took = [*notes, *([failed.strip()] if failed else [])], time.perf_counter() - begun
    details = f", load before {os.getloadavg()[2]:.1f}; the part took {took:.0f} s"
    return {
        "section": section(f"cluster_{name}_of_many", PARTS[name].__doc__, rows, notes, details),
        "rows": [asdict(row) for row in rows],
        "figures": figures,
        "seconds": took,
        "failed": failed,
    }


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_workers")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--divide", type=int, default=1, help="sizes by this, to try the command")
    parser.add_argument("--out", metavar="FILE", help="write all figures as JSON")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds of a part")
    parser.add_argument("--keep", metavar="FILE", help="put a JSON file's sections into RESULTS.md")
    options = parser.parse_args(arguments)
    if options.keep:
        return keep_sections(json.loads(Path(options.keep).read_text()))
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {sorted(unknown)}; there are {list(PARTS)}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = {}
    for name in options.parts or PARTS:
        results[name] = run_part(name, options)
        print(results[name]["section"], flush=True)
        if options.out:
            Path(options.out).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(part["failed"] for part in results.values()) else 0


if __name__ == "__main__":  # worker processes import this module
    sys.exit(main(sys.argv[1:]))
