"""Kernel perceptrons on a GPU: MNIST, and S0's full study of USPS."""

import sys
import time
import warnings
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.measure import Row, table
from separatrix import KernelPerceptron, evaluate
from separatrix.data.catalogue import load
from separatrix.evaluation.study import Products
from separatrix.kernels import Polynomial

DEGREES = [Polynomial(degree) for degree in range(1, 8)]
RULES = {  # those of studies/usps.py
    "one against the rest": {"multi_class": "ovr", "max_iter": 20},
    "argmax": {"multi_class": "argmax", "min_gain": 0.001, "min_iter": 5},
    "one against one": {"multi_class": "ovo", "max_iter": 20},
}
PUBLISHED = {  # test error in per cent, degrees 1 to 7
    "one against the rest": (8.79, 3.02, 2.70, 2.63, 2.92, 2.69, 2.84),
    "argmax": (8.38, 3.81, 3.10, 3.04, 3.27, 3.32, 3.38),
    "one against one": (5.91, 3.51, 3.06, 3.13, 3.24, 3.31, 3.39),
}


def time_calls(function, *, repeat=1):
    """Seconds of each call, GPU work included, and the result of the last one."""
    import torch

    times, value = [], None
    for _ in range(repeat):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter()
        value = function()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times, value


def mnist_on_gpu(n=60_000):
    """MNIST, raw pixels, degree 4, one boundary for each class, 10 passes, averaged."""
    data = load("mnist")
    X, y = data.X[:n], data.y[:n]
    model = KernelPerceptron(
        Polynomial(4, coef0=1.0),
        multi_class="ovr",
        predictor="average",
        max_iter=10,
        device="cuda",
    )
    (first,), _ = time_calls(lambda: model.fit(X, y))
    times, _ = time_calls(lambda: model.fit(X, y), repeat=3)
    model.predict(data.X_test)
    predict_times, guess = time_calls(lambda: model.predict(data.X_test), repeat=3)
    error = 100 * float(np.mean(guess != data.y_test))
    rows = [
        Row(
            "KernelPerceptron, MNIST, raw pixels, degree 4, 10 passes, averaged: fit",
            f"{median(times):.3f} s ({min(times):.3f} to {max(times):.3f})",
            f"first fit, with compilation, {first:.1f} s",
            "-",
            "at most 1 s",
        ),
        Row("its test error", f"{error:.2f} %", "published 1.54 %", "-", "within .1"),
        Row("10,000 rows predicted", f"{1e3 * median(predict_times):.1f} ms", "-", "-", "-"),
    ]
    notes = [
        f"mistakes in each pass {model.mistakes_.tolist()}, support {len(model.support_)}, "
        f"{model.gram_}"
    ]
    figures = {
        "fit": times,
        "first": first,
        "predict": predict_times,
        "error": error,
        "mistakes": model.mistakes_.tolist(),
    }
    return rows, notes, figures


def usps_study_on_gpu(n=None, repeats=20):
    """S0's study of USPS: 20 splits x degrees 1 to 7, then 5 folds inside each, under three rules."""
    data = load("usps")
    X, y = data.X[:n], data.y[:n]
    (first,), _ = time_calls(lambda: _study(X, y, 1))
    times, found = time_calls(lambda: _study(X, y, repeats), repeat=2)
    rows = [
        Row(
            "the full study: three rules, 20 splits x 7 degrees, and with 5 folds inside",
            f"{min(times):.2f} s",
            f"one split of it, with compilation, {first:.1f} s",
            "-",
            "at most 5 s",
        )
    ]
    notes, figures = [], {"seconds": times, "first": first}
    for rule, (table_of, folds) in found.items():
        error = 100 * table_of.test_error.mean(axis=1)
        chosen = 100 * float(np.nanmean(folds.test_error))
        rows.append(
            Row(
                f"{rule}: test error % of degrees 1 to 7",
                " ".join(f"{part:.2f}" for part in error),
                "published " + " ".join(f"{part:.2f}" for part in PUBLISHED[rule]),
                "-",
                "-",
            )
        )
        seconds = f"{table_of.seconds:.2f} s of splits, {folds.seconds:.2f} s of folds"
        degree = 1 + folds.fold_error.argmin(axis=0)
        notes.append(
            f"{rule}: {seconds}; chosen degree {degree.mean():.2f}, its error {chosen:.2f} %"
        )
        figures[rule] = {
            "error": error.tolist(),
            "chosen": chosen,
            "degree": float(degree.mean()),
            "seconds": [table_of.seconds, folds.seconds],
        }
    return rows, notes, figures


def _study(X, y, repeats):
    products, found = Products(), {}
    for rule, parameters in RULES.items():
        model = KernelPerceptron(device="cuda", **parameters)
        terms = {"kernels": DEGREES, "repeats": repeats, "products": products, "progress": False}
        found[rule] = [evaluate(model, X, y, folds=folds, **terms) for folds in (None, 5)]
    return found


perceptron, study = mnist_on_gpu, usps_study_on_gpu  # names of the suites in `benchmarks.gpu`


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for suite in (mnist_on_gpu, usps_study_on_gpu):
        rows, notes, _ = suite()
        print(table(rows), *notes, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
