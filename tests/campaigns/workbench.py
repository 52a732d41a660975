"""The soak of the workbench: a script uses it as a person does, and its memory must not grow."""

import atexit
import itertools
import shutil
import sys
import tempfile
from functools import cache

import numpy as np
from tests.campaigns.campaign import Campaign, chosen
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.workbench_process import WorkbenchProcess, until

GROWTH = 20.0  # megabytes, of the server and its workers together
MODELS = ("svm", "kernel-perceptron")
WARM, EVERY = 100, 25  # visits before the memory is first measured, and between measurements
VISITS = itertools.count(1)  # of this process, which has a workbench of its own
MEASURED = []


def say(line):
    print(line, file=sys.stderr, flush=True)


@cache
def workbench():
    """One for all visits of this process."""
    folder = tempfile.mkdtemp(prefix="campaign-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bench = WorkbenchProcess(folder).__enter__()
    atexit.register(bench.__exit__)
    until(lambda: bench.get("/api/draw/state")["models"], "the first model", 600.0)
    return bench


def visit(number):
    """Draw a digit, correct the answer, forget it; fit a model to points, step by step; look at jobs."""
    bench, rng = workbench(), np.random.default_rng([30, number])
    strokes = chosen(rng, HANDWRITING[str(rng.integers(10))])
    assert bench.post("/api/draw/answer", {"strokes": strokes})["answers"]
    bench.post("/api/draw/learn", {"strokes": strokes, "label": str(rng.integers(10))})
    assert bench.post("/api/draw/forget", {})["corrections"] == 0
    source = {"generator": chosen(rng, ("xor", "moons")), "n": 40, "noise": 0.1, "seed": number}
    points = bench.post("/api/playground/points", source)["points"]
    scene = {"points": points, "model": chosen(rng, MODELS), "parameters": {}}
    window = [-2, 2, -2, 2]
    assert bench.post("/api/playground/fit", {**scene, "window": window, "grid": 30})["labels"]
    if scene["model"] == "kernel-perceptron":
        assert bench.post("/api/playground/steps", scene)["steps"]
    bench.get("/api/jobs")
    made = next(VISITS)
    if made >= WARM and made % EVERY == 0:
        MEASURED.append(sum(bench.memory().values()))
        grown = MEASURED[-1] - MEASURED[0]
        say(f"{made} visits: {MEASURED[-1]:.0f} MB")
        assert grown < GROWTH, f"grown by {grown:.0f} MB in {made - WARM} visits"


CAMPAIGN = Campaign(
    "soak of the workbench: visits to Draw, Playground and the jobs; memory of all its processes",
    lambda: {"visits": visit},
    middle=2,
    seconds=300.0,
)
