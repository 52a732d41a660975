"""Runs that are killed with -9 at random moments, for tests and for a benchmark."""

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as parquet

from separatrix.experiments.steps import MEASURED

SMALL = """
data = "iris"
[split]
repeats = 4
[[model]]
type = "SVC"
grid = { C = [0.1, 1.0, 10.0], kernel = [{ type = "Gaussian", gamma = 0.5 }, { type = "Linear" }] }
[[model]]
name = "neighbours"
type = "KNeighborsClassifier"
grid = { n_neighbors = [1, 3, 5, 7] }
[[model]]
name = "scaled"
type = "LogisticRegression"
scale = "standard"
"""


def read_results(folder):
    return parquet.read_table(folder / "results.parquet").to_pylist()


def table(folder):
    """The table of a run, without what no two runs agree in."""
    rows = read_results(folder)
    return [{key: v for key, v in one.items() if key not in MEASURED} for one in rows]


def run_command(spec, out):
    return [sys.executable, "-m", "separatrix", "run", str(spec), "--out", str(out), "--quiet"]


def killed_once_begun(spec, out):
    """Kill the run when its first answer is on disk."""
    process = subprocess.Popen(run_command(spec, out), stdout=subprocess.DEVNULL)
    while process.poll() is None and not (out / "steps" / "000.step").exists():
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def killed_until_done(spec, out, rng, longest, earliest=0.2, most=200):
    """Kill the run after a random time, again and again, until one comes to its end; how many died."""
    for kills in range(most):
        process = subprocess.Popen(
            run_command(spec, out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            _, said = process.communicate(timeout=rng.uniform(earliest, longest))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
            continue
        assert process.returncode == 0, said
        return kills
    raise AssertionError("never came to its end")
