"""Full experiments: the USPS study compared with NumPy, the demo, resumption after kills."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tests.experiments.kills import SMALL, killed_until_done, run_command, table

from benchmarks import numpy_perceptron
from benchmarks.measure import Row, seconds
from separatrix.data.catalogue import load
from separatrix.experiments.run import run
from separatrix.studies.catalogue import make
from separatrix.studies.usps import (
    ARGMAX,
    DEGREES,
    GAUSSIAN,
    HARDEST,
    MACHINE,
    NEIGHBORS,
    PAIRS,
    REST,
)

QUICK = "usps-kernel-perceptron knn-and-perceptron linear-classifiers kernel-methods mnist-parity mnist-all"


def usps_experiment():
    """`separatrix run usps-kernel-perceptron` in full: 20 splits, parts 1 to 7, no checkpoint.

    The peer is plain NumPy, for parts 1, 2, 5 with one-vs-rest: one pass over one training set is timed
    for each degree and multiplied by the number of our passes over all splits and folds; a fold has four
    fifths of the rows, so its passes count 0.64.
    """
    run(make("usps-kernel-perceptron", quick=True, repeats=1), Path(tempfile.mkdtemp()))  # compile
    whole, found = seconds(lambda: run(make("usps-kernel-perceptron"), Path(tempfile.mkdtemp())))
    ours = {
        part: _seconds(found, part) for part in (REST, ARGMAX, GAUSSIAN, PAIRS, MACHINE, NEIGHBORS)
    }
    peer = _numpy(found)
    theirs = ours[REST] + ours[GAUSSIAN]
    rows = [
        Row(
            "USPS, parts 1, 2 and 5 against the rest: 14 kernels, 20 splits, 5 folds inside",
            f"{theirs:.1f} s",
            f"NumPy {peer:.0f} s (scaled from a part)",
            f"{peer / theirs:.0f}x faster",
            "20x",
        ),
        Row(
            "the full experiment, parts 1 to 7, with its table",
            f"{whole:.0f} s",
            "the original project, on a laptop: 2,338 s for parts 1 to 3 alone",
            f"{2338 / whole:.0f}x faster",
            "-",
        ),
    ]
    notes = ["\n".join(_table(found, ours))]
    return rows, notes


def _numpy(found):
    usps = load("usps")
    order = np.random.default_rng(0).permutation(len(usps.y))[: round(0.8 * len(usps.y))]
    X = usps.X[order].astype(np.float32)
    P = X @ X.T
    total = 0.0
    passes = found.values(part=REST, metric="n_iter").reshape(len(DEGREES), -1)
    for index, degree in enumerate(DEGREES):
        gram_time, K = seconds(lambda d=degree: P**d)
        part, _ = seconds(lambda K=K: numpy_perceptron.train_each(K, usps.y[order], 10, 1))
        folds = 5 * 0.64
        total += gram_time + part * passes[index].sum() * (1 + folds)
    widths = found.values(part=GAUSSIAN, metric="n_iter").sum()  # a pass costs the same
    return total + part * widths * (1 + folds)


def _seconds(found, part):
    """Sum over steps: all rows of a step have its time."""
    return sum({row.seconds for row in found.where(part=part)})


def _table(found, ours):
    for part in (REST, ARGMAX, PAIRS):
        errors = 100 * found.values(part=part, metric="test_error").reshape(7, -1)
        yield f"{part}: test error % of degrees 1..7: " + " ".join(
            f"{e:.2f}" for e in errors.mean(axis=1)
        )
    for part in ours:
        chosen = 100 * found.values(part=part, metric="chosen_error")
        yield f"{part}: chosen by folds {chosen.mean():.2f} +- {chosen.std():.2f} %, {ours[part]:.1f} s"
    hardest = [json.loads(row.parameters)["row"] for row in found.where(part=HARDEST)]
    yield f"hardest: rows {hardest} (the original projects: 5296 and 8261 lead)"


def quick_experiments():
    """`separatrix run NAME --quick` and `separatrix demo`, each in a new process, after compilation."""
    rows = []
    for name in QUICK.split():
        rows.append(_time_command(["run", name, "--quick"], f"separatrix run {name} --quick", 30))
    rows.append(_time_command(["demo"], "separatrix demo, page included", 90))
    return rows, []


def _time_command(words, what, limit):
    with tempfile.TemporaryDirectory() as folder:
        took, done = seconds(
            lambda: subprocess.run(
                [sys.executable, "-m", "separatrix", *words, "--quiet"],
                cwd=folder,
                capture_output=True,
            )
        )
    assert done.returncode == 0, done.stderr
    return Row(what, f"{took:.1f} s", "-", f"{took / limit:.2f} of the limit", f"under {limit} s")


def kills():
    """A run of 17 steps is killed with SIGKILL at random times and resumed until it finishes; 30 such runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.toml").write_text(SMALL)
        took, _ = seconds(
            lambda: subprocess.run(run_command(folder / "small.toml", folder / "whole"), check=True)
        )
        wanted, rng = table(folder / "whole"), np.random.default_rng(0)
        killed, same = [], 0
        for number in range(30):
            out = folder / f"run-{number}"
            killed.append(killed_until_done(folder / "small.toml", out, rng, 1.2 * took))
            same += table(out) == wanted
    row = Row(
        f"30 runs, killed {sum(killed)} times in all, {min(killed)} to {max(killed)} times each",
        f"{same} tables equal",
        "the table of a run that was not killed",
        "-",
        "30 of 30",
    )
    return [row], []


SUITES = [usps_experiment, quick_experiments, kills]
