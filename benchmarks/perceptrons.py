"""Perceptrons compared with NumPy, scikit-learn and the time of one matrix product."""

import gc
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.linear_model import Perceptron as Peer

from benchmarks import numpy_perceptron
from benchmarks.measure import Row, peak_memory, seconds
from separatrix import KernelPerceptron, Perceptron, evaluate
from separatrix.data.catalogue import load
from separatrix.kernels import Gaussian, Polynomial

DEGREES = [Polynomial(degree) for degree in range(1, 8)]
STUDY = KernelPerceptron(max_iter=20, shuffle=False)


def usps_study():
    """20 splits x 7 degrees, and the same with 5 folds inside each."""
    usps = load("usps")
    evaluate(STUDY, usps.X[:500], usps.y[:500], kernels=DEGREES, repeats=1)  # compile
    runs = [
        (
            seconds(lambda: evaluate(STUDY, usps.X, usps.y, kernels=DEGREES)),
            seconds(lambda: evaluate(STUDY, usps.X, usps.y, kernels=DEGREES, folds=5)),
        )
        for _ in range(3)
    ]
    (table_time, table), (folds_time, folds) = (
        min(pairs, key=lambda pair: pair[0]) for pairs in zip(*runs, strict=True)
    )
    numpy_time, agreement = _numpy_part(usps, table)
    rows = [
        Row(
            "USPS, 20 splits x degrees 1..7, argmax, up to 20 passes",
            f"{table_time:.2f} s",
            f"NumPy {numpy_time:.0f} s (scaled from a part)",
            f"{numpy_time / table_time:.0f}x faster",
            "30x, goal 60x",
        ),
        Row(
            "the same with 5 folds inside to choose the degree",
            f"{folds_time:.2f} s",
            f"the table above, {table_time:.2f} s",
            f"{folds_time / table_time:.2f}x its time",
            "at most 3x",
        ),
    ]
    notes = [str(table), str(folds), f"NumPy and separatrix on the same splits: {agreement}"]
    return rows, notes


def _numpy_part(usps, found):
    """The first split of every degree in NumPy, scaled to all splits by their number of passes."""
    train, test = found.splits[0]
    total, agreement = 0.0, []
    P = usps.X.astype(np.float32) @ usps.X.astype(np.float32).T
    for c, kernel in enumerate(DEGREES):
        gram_time, K = seconds(lambda d=kernel.degree: P**d)
        limit = 3  # passes timed; all cost the same
        part, (*_, passes) = seconds(
            lambda K=K: numpy_perceptron.train_and_test(K, usps.y, train, test, 10, limit)
        )
        total += gram_time + part / passes * found.n_iter[c].sum()
    K = P**3
    error = numpy_perceptron.train_and_test(K, usps.y, train, test, 10, 20)
    agreement = f"degree 3, split 0: test error {100 * error[1]:.3f} % and {100 * found.test_error[2, 0]:.3f} %, passes {error[2]} and {found.n_iter[2, 0]:.0f}"
    return total, agreement


def usps_errors():
    """Errors of one-vs-rest and one-vs-one, and of the Gaussian."""
    usps = load("usps")
    rows = []
    for rule, published, reach in (
        ("ovr", "8.8 3.0 2.7 2.65 2.7 2.7 2.8", "within 0.25 (degree 1: 0.8)"),
        ("ovo", "5.9 3.5 3.1 3.1 3.25 3.3 3.4", "within 0.35"),
    ):
        model = KernelPerceptron(max_iter=20, shuffle=False, multi_class=rule)
        time, found = seconds(lambda model=model: evaluate(model, usps.X, usps.y, kernels=DEGREES))
        errors = 100 * found.test_error.mean(axis=1)
        off = np.abs(errors - [float(value) for value in published.split()])
        rows.append(
            Row(
                f"USPS test error %, {rule}, 20 passes, degrees 1..7 ({time:.1f} s)",
                " ".join(f"{error:.2f}" for error in errors),
                f"published {published}",
                f"off by at most {off[1:].max():.2f} (degree 1: {off[0]:.2f})",
                reach,
            )
        )
    model = KernelPerceptron(max_iter=20, shuffle=False, multi_class="ovr")
    found = evaluate(model, usps.X, usps.y, kernels=[Gaussian(0.01)])
    error = 100 * found.test_error.mean()
    hardest = [row for row, _, _ in found.hardest()]
    rows.append(
        Row(
            "USPS test error %, ovr, Gaussian c = 0.01",
            f"{error:.2f}",
            "published 2.6",
            f"off by {abs(error - 2.6):.2f}",
            "within 0.2",
        )
    )
    return rows, [f"Hardest USPS images: rows {hardest} (published: 5296 and 8261 lead)"]


def mnist_kernel():
    """MNIST 60,000 raw pixels, (1 + x.z)^4, against one full float32 matrix product."""
    mnist = load("mnist")
    rows = []
    KernelPerceptron(Polynomial(4, coef0=1.0), max_iter=2).fit(mnist.X[:3000], mnist.y[:3000])
    kept = {}
    for rule in ("ovr", "argmax"):
        model = KernelPerceptron(
            Polynomial(4, coef0=1.0), multi_class=rule, predictor="average", max_iter=10
        )
        fit_time, _ = seconds(lambda model=model: model.fit(mnist.X, mnist.y))
        predict_time, score = seconds(lambda model=model: model.score(mnist.X_test, mnist.y_test))
        kept[rule] = fit_time, predict_time, 100 * (1 - score), len(model.support_)
        del model
        gc.collect()
    memory = peak_memory()
    product = _full_product(mnist.X)
    for rule, reach in (
        ("ovr", "at most 0.5x; error 1.54 within 0.1; under 6 GiB"),
        ("argmax", "error about 1.75"),
    ):
        fit_time, predict_time, error, support = kept[rule]
        rows.append(
            Row(
                f"MNIST 60k, (1 + x.z)^4, {rule}, averaged, 10 passes: error {error:.2f} %, {support} support vectors",
                f"fit {fit_time:.1f} s + predict {predict_time:.1f} s; peak {memory:.1f} GiB",
                f"one 60000 x 60000 x 784 product, {product:.1f} s",
                f"{(fit_time + predict_time) / product:.2f}x its time",
                reach,
            )
        )
    return rows, []


def _full_product(X):
    """Seconds of the whole 60000 x 60000 x 784 float32 product, computed in strips and discarded."""
    X = X.astype(np.float32)
    out = np.empty((6000, len(X)), np.float32)
    np.matmul(X[:6000], X.T, out=out)
    time, _ = seconds(
        lambda: [
            np.matmul(X[start : start + 6000], X.T, out=out) for start in range(0, len(X), 6000)
        ]
    )
    return time


def linear():
    """Linear perceptron: time of one pass, from the slope between few and many passes."""
    rows = []
    mnist, adult = load("mnist"), load("a9a")
    for name, X, y, (few, many) in (
        ("MNIST 60k dense", mnist.X.astype(np.float64) / 255, mnist.y, (1, 4)),
        ("a9a sparse", adult.X, adult.y, (50, 250)),
    ):
        for rule in ("argmax", "ovr") if name.startswith("MNIST") else ("two classes",):
            multi_class = {} if rule == "two classes" else {"multi_class": rule}
            Perceptron(max_iter=1, tol=None, **multi_class).fit(X, y)
            times = np.array(
                [
                    [
                        seconds(lambda: make(max_iter=passes, tol=None, **more).fit(X, y))[0]
                        for make, more in ((Perceptron, multi_class), (Peer, {}))
                        for passes in (few, many)
                    ]
                    for _ in range(5)
                ]
            ).min(axis=0)
            mine, theirs = ((times[1::2] - times[::2]) / (many - few)).tolist()
            rows.append(
                Row(
                    f"linear Perceptron ({rule}), {name}, one pass",
                    f"{1000 * mine:.2f} ms",
                    f"scikit-learn {1000 * theirs:.2f} ms",
                    f"{theirs / mine:.1f}x faster",
                    "2x",
                )
            )
    return rows, []


FIRST_FIT = """
import time
import numpy as np
from separatrix import KernelPerceptron
X, y = np.random.default_rng(0).normal(size=(300, 5)), np.arange(300) % 3
start = time.perf_counter()
KernelPerceptron(max_iter=3, min_gain=1.0).fit(X, y).predict(X)
print(time.perf_counter() - start)
"""


def start():
    """Imports, the first fit with and without cached compiled code, and --help."""

    def run(code, **environment):
        import os

        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    imports = []
    for code in (
        "from sklearn.linear_model import Perceptron",
        "from separatrix import KernelPerceptron",
    ):
        run(code)
        imports.append(min(seconds(lambda code=code: run(code))[0] for _ in range(5)))
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (float(run(FIRST_FIT, NUMBA_CACHE_DIR=folder)) for _ in range(2))
    command = [sys.executable, "-m", "separatrix", "--help"]
    help_time = min(
        seconds(lambda: subprocess.run(command, check=True, capture_output=True))[0]
        for _ in range(5)
    )
    return [
        Row(
            "import",
            f"{imports[1]:.2f} s",
            f"scikit-learn {imports[0]:.2f} s",
            f"{imports[1] - imports[0]:+.2f} s",
            "at most +0.5 s",
        ),
        Row("first fit, nothing compiled yet", f"{cold:.1f} s", "-", "-", "at most 8 s"),
        Row("first fit, compiled earlier", f"{warm:.2f} s", "-", "-", "at most 1 s"),
        Row("`separatrix --help`", f"{help_time:.2f} s", "-", "-", "under 0.3 s"),
    ], []


SUITES = [usps_study, usps_errors, mnist_kernel, linear, start]
