"""The workbench in a process of its own, with requests over HTTP."""

import json
import subprocess
import sys
import tempfile
import time

import numpy as np
from tests.workbench.handwriting import HANDWRITING
from tests.workbench.workbench_process import WorkbenchProcess, until

from benchmarks.measure import Row, seconds
from separatrix.workbench.local_data import is_local

DRAWINGS, SLIDES = 100, 200
DIGITS, MNIST = ("--data", "digits"), ("--data", "mnist")
PEERS = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

task = json.load(sys.stdin)
def timed(work):
    begun = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begun)

X, y = load_digits(return_X_y=True)
X = X / 16
models = [
    KNeighborsClassifier(5, weights="distance"), SVC(C=2, gamma=0.24), SVC(C=10, kernel="poly", gamma=0.12, coef0=1),
    Perceptron(), LinearSVC(C=0.05), LogisticRegression(C=0.1),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1), QuadraticDiscriminantAnalysis(reg_param=0.1),
]
for model in models:
    model.fit(X, y)
def answer(x):
    for model in models:
        model.predict(x)
        model.predict_proba(x) if hasattr(model, "predict_proba") else model.decision_function(x)
    models[0].kneighbors(x)
answers = [timed(lambda: answer(X[i : i + 1])) for i in range(task["drawings"])]

points = np.array([point[:2] for point in task["points"]])
labels = np.array([point[2] for point in task["points"]])
x0, x1, y0, y1 = task["window"]
side = (np.arange(100) + 0.5) / 100
cells = np.stack(np.meshgrid(x0 + (x1 - x0) * side, y0 + (y1 - y0) * side), axis=-1).reshape(-1, 2)
def boundary(C, gamma):
    model = SVC(C=C, gamma=gamma).fit(points, labels)
    model.predict(cells), model.decision_function(cells), model.predict(points)
slides = [timed(lambda: boundary(C, gamma)) for C, gamma in task["slides"]]
print(json.dumps({"answers": answers, "slides": slides}))
"""


def workbench():
    """Draw and Playground over HTTP on this machine; beside them scikit-learn in a process, without a page.

    Draw: all nine models, the reasons and the neighbours' pictures, on the built-in digits. The peer is
    eight like models of scikit-learn (it has no kernel perceptron) that predict the picture with their scores, and
    its five neighbours. Playground: 500 points, Gaussian SVC, a fit and 100 x 100 cells for each position of two
    sliders that are dragged, C from 0.1 to 100 and gamma from 0.1 to 10. The peer fits and evaluates its own SVC. Times are from the request to the last byte of the response.
    """
    with tempfile.TemporaryDirectory() as folder, WorkbenchProcess(folder, *DIGITS) as bench:
        started, _ = seconds(lambda: until(lambda: _ready(bench), "the models"))
        memory = _at_rest(bench)
        strokes = [one for forms in HANDWRITING.values() for one in forms]
        answers = [_answer(bench, strokes[i % len(strokes)]) for i in range(DRAWINGS)]
        made = bench.post(
            "/api/playground/points", {"generator": "moons", "n": 500, "noise": 0.3, "seed": 0}
        )
        fits = [_fitted(bench, made, C, gamma) for C, gamma in _slides()]
        after = sum(bench.memory().values())
    peer = _peers(made)
    rows = [
        Row(
            "draw: nine models answer, p95 of 100 drawings",
            f"{_p95(answers):.0f} ms (median {np.median(answers):.0f})",
            f"scikit-learn, eight models, {_p95(peer['answers']):.0f} ms (median {np.median(peer['answers']):.0f})",
            f"{np.median(answers) / np.median(peer['answers']):.1f}x its median time",
            "100 ms",
        ),
        Row(
            "playground: 500 points, Gaussian SVC, p95 of 200 positions, over HTTP",
            f"{_p95([whole for whole, _ in fits]):.0f} ms (median {np.median([whole for whole, _ in fits]):.0f})",
            f"scikit-learn {_p95(peer['slides']):.0f} ms (median {np.median(peer['slides']):.0f})",
            f"{np.median(peer['slides']) / np.median([whole for whole, _ in fits]):.1f}x faster",
            "-",
        ),
        Row(
            "the same, on the server: fit, regions, facts",
            f"{_p95([own for _, own in fits]):.0f} ms (median {np.median([own for _, own in fits]):.0f})",
            f"scikit-learn {_p95(peer['slides']):.0f} ms",
            f"{_p95(peer['slides']) / _p95([own for _, own in fits]):.1f}x faster",
            "50 ms p95",
        ),
        Row(
            "resident memory with all digit models, all processes",
            f"{memory:.0f} MB at rest, {after:.0f} MB after the above",
            "-",
            "-",
            "300 MB",
        ),
        Row("from the command to all models ready", f"{started:.1f} s", "-", "-", "-"),
    ]
    return rows + _on_mnist(), []


def _on_mnist():
    """MNIST, where it is on this machine: the first answer after the command, and the pen to the answer."""
    if not is_local("mnist"):
        return []
    with tempfile.TemporaryDirectory() as folder:
        first, _ = _start_on_mnist(folder)
        again, answers = _start_on_mnist(folder)
    return [
        Row(
            "draw, MNIST: from the command to the first answer",
            f"{again:.1f} s with fitted models on disk, {first:.1f} s without",
            "-",
            "-",
            "3 s",
        ),
        Row(
            "draw, MNIST: all models answer with reasons, p95 of 100 drawings, over HTTP",
            f"{_p95(answers):.0f} ms (median {np.median(answers):.0f})",
            "-",
            "-",
            "100 ms",
        ),
    ]


def _start_on_mnist(folder):
    """Seconds from the command to the first answer, and milliseconds of answers of all models."""
    strokes = [one for forms in HANDWRITING.values() for one in forms]
    begun = time.perf_counter()
    with WorkbenchProcess(folder, *MNIST) as bench:
        question = {"strokes": strokes[0]}
        until(lambda: bench.post("/api/draw/answer", question)["answers"], "an answer")
        first = time.perf_counter() - begun
        until(lambda: _ready(bench), "the models")
        return first, [_answer(bench, strokes[i % len(strokes)]) for i in range(DRAWINGS)]


def _ready(bench):
    state = bench.get("/api/draw/state")
    return state["ready"] and not state["loading"]


def _at_rest(bench):
    """Memory once it changes no more: models of the playground are tried before anybody asks."""
    before, now = 0.0, sum(bench.memory().values())
    while abs(now - before) > 1:
        time.sleep(3)
        before, now = now, sum(bench.memory().values())
    return now


def _answer(bench, strokes):
    return 1000 * seconds(lambda: bench.post("/api/draw/answer", {"strokes": strokes}))[0]


def _slides():
    first = np.geomspace(0.1, 100, SLIDES // 2), np.full(SLIDES // 2, 1.0)
    second = np.full(SLIDES // 2, 10.0), np.geomspace(0.1, 10, SLIDES // 2)
    return [(float(C), float(gamma)) for C, gamma in zip(*np.hstack([first, second]), strict=True)]


def _fitted(bench, made, C, gamma):
    scene = {
        "points": made["points"],
        "model": "svm",
        "parameters": {"kernel": "rbf", "C": C, "gamma": gamma},
        "window": made["window"],
        "grid": 100,
    }
    whole, answer = seconds(lambda: bench.post("/api/playground/fit", scene))
    return 1000 * whole, answer["milliseconds"]["total"]


def _peers(made):
    task = {
        "drawings": DRAWINGS,
        "points": made["points"],
        "window": made["window"],
        "slides": _slides(),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEERS],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _p95(values):
    return float(np.percentile(values, 95))


SUITES = [workbench]
