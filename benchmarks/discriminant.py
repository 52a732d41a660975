"""Discriminant analysis compared with the fastest solver of scikit-learn: same estimates."""

import numpy as np
import sklearn.discriminant_analysis as peers

from benchmarks.measure import Row, best_of_each
from separatrix.data.catalogue import load
from separatrix.estimators.discriminant import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)


def _difference(ours, peer, X):
    """Largest difference of the means, and of the probabilities of some samples."""
    means = np.abs(ours.means_ - peer.means_).max() / np.abs(peer.means_).max()
    rows = X[:5000]
    return max(means, np.abs(ours.predict_proba(rows) - peer.predict_proba(rows)).max())


SOLVERS = {"LDA": ("svd", "lsqr", "eigen"), "QDA": ("svd", "eigen")}
CLASSES = {
    "LDA": (LinearDiscriminantAnalysis, peers.LinearDiscriminantAnalysis),
    "QDA": (QuadraticDiscriminantAnalysis, peers.QuadraticDiscriminantAnalysis),
}


def _compare(name, X, y, *, repeat):
    """Both classes with their default solver, beside the fastest solver of the peer."""
    rows = []
    for kind, (mine, other) in CLASSES.items():
        calls = {
            solver: lambda other=other, solver=solver: other(solver=solver).fit(X, y)
            for solver in SOLVERS[kind]
        }
        times = best_of_each({"ours": lambda mine=mine: mine().fit(X, y)} | calls, repeat=repeat)
        best = min(calls, key=times.get)
        others = ", ".join(f"{solver} {times[solver]:.3f} s" for solver in calls if solver != best)
        off = _difference(mine().fit(X, y), other().fit(X, y), X)
        rows.append(
            Row(
                f"{kind}, {name} (estimates differ by {off:.0e})",
                f"{times['ours']:.3f} s",
                f"scikit-learn {best} {times[best]:.3f} s ({others})",
                f"{times[best] / times['ours']:.1f}x faster",
                "2x, 1e-6",
            )
        )
    return rows


def discriminants():
    """MNIST 60k on its first 200 principal axes, ten classes; 1,000,000 x 30, synthetic, five classes."""
    mnist = load("mnist")
    X = mnist.X.astype(float)  # not / 255: scikit-learn treats variances below 1e-4 as singular
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :200]
    reduced = np.ascontiguousarray(centred @ axes)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, size=1_000_000)
    made = rng.normal(size=(5, 30))[y] + rng.normal(size=(len(y), 30)) @ (
        np.eye(30) + 0.2 * rng.normal(size=(30, 30))
    )
    return [
        *_compare("MNIST 60k, 200 axes", reduced, mnist.y, repeat=2),
        *_compare("1,000,000 x 30", made, y, repeat=2),
    ], []


SUITES = [discriminants]
