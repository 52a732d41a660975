"""Least squares compared with RidgeClassifier, and the cost of a path of ridges."""

import numpy as np
from sklearn.linear_model import RidgeClassifier

from benchmarks.measure import Row, best_of_each
from separatrix.data.catalogue import load
from separatrix.estimators.least_squares import LeastSquaresClassifier


def least_squares():
    """MNIST 60k, 784 pixels / 255: ten classes, and even against odd; best of alternating runs."""
    mnist = load("mnist")
    X, digits, parity = mnist.X / 255.0, mnist.y, mnist.y % 2
    rows = []
    for name, y, reach in (("ten classes", digits, 5), ("even or odd", parity, 3)):
        times = best_of_each(
            {
                "fit": lambda y=y: LeastSquaresClassifier(1.0).fit(X, y),
                "path": lambda y=y: LeastSquaresClassifier("loo").fit(X, y),
                "peer": lambda y=y: RidgeClassifier(1.0).fit(X, y),
            },
            repeat=3,
        )
        ours, peer = LeastSquaresClassifier(1.0).fit(X, y), RidgeClassifier(1.0).fit(X, y)
        scale = 2.0 if len(ours.classes_) > 2 else 1.0  # our targets are 0 and 1, theirs -1 and +1
        off = np.abs(scale * ours.coef_ - peer.coef_).max() / np.abs(peer.coef_).max()
        path = LeastSquaresClassifier("loo").fit(X, y)
        error = 100 * (
            1 - path.score(mnist.X_test / 255.0, mnist.y_test if reach == 5 else mnist.y_test % 2)
        )
        rows += [
            Row(
                f"LeastSquaresClassifier, MNIST 60k, {name}, fit (weights differ by {off:.0e})",
                f"{times['fit']:.2f} s",
                f"RidgeClassifier {times['peer']:.2f} s",
                f"{times['peer'] / times['fit']:.1f}x faster",
                "2x",
            ),
            Row(
                f"50 ridges with leave-one-out, {name} (leave-one-out {100 * path.loo_.error.min():.2f} % "
                f"at best, test {error:.2f} %)",
                f"{times['path']:.2f} s",
                f"one fit {times['fit']:.2f} s",
                f"{times['path'] / times['fit']:.1f} fits",
                f"{reach} fits",
            ),
        ]
    return rows, []


SUITES = [least_squares]
