"""Subgradient descent on raw pixels compared with the same algorithm in NumPy on float64 pixels."""

import tracemalloc

import numpy as np

from benchmarks.measure import Row, seconds
from separatrix.data.catalogue import load
from separatrix.data.targets import indicator
from separatrix.estimators.subgradient_svc import SubgradientSVC

PARITY = {0, 2, 4, 6, 8}
FEW, MANY = 2, 12  # steps; the time of one step is the slope between them


def numpy_descent(X, Y, *, steps, alpha=1e-5, mu=1e-1):
    """`steps` steps on float64 samples X, (n, d), for targets Y, (n, p); the loss at every iterate."""
    W, b = np.zeros((Y.shape[1], X.shape[1])), np.zeros(Y.shape[1])
    losses = []
    for step in range(steps + 1):
        gaps = 1 - Y * (X @ W.T + b)
        losses.append(mu * (W**2).sum(axis=1) + np.maximum(0, gaps).mean(axis=0))
        if step < steps:
            pulls = np.where(gaps >= 0, -Y, 0.0) / len(X)
            W, b = W - alpha * (2 * mu * W + (X.T @ pulls).T), b - alpha * pulls.sum(axis=0)
    return np.array(losses)


def mnist_steps():
    """MNIST 60,000 x 784 uint8, one step: all boundaries in one pass; and the memory."""
    mnist = load("mnist")
    X = mnist.X.astype(np.float64)
    rows, notes = [], []
    for name, y in (("parity", indicator(mnist.y, PARITY)), ("ten digits", mnist.y)):
        Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
        Y = Y[:, 1:] if Y.shape[1] == 2 else Y
        fit(mnist.X[:500], y[:500], FEW)  # compile
        times = np.array(
            [
                [
                    seconds(lambda: run_steps(steps))[0]
                    for run_steps in (
                        lambda steps: fit(mnist.X, y, steps),
                        lambda steps: numpy_descent(X, Y, steps=steps),
                    )
                    for steps in (FEW, MANY)
                ]
                for _ in range(5)
            ]
        ).min(axis=0)
        mine, theirs = ((times[1::2] - times[::2]) / (MANY - FEW)).tolist()
        off = np.abs(
            fit(mnist.X, y, MANY).loss_curve_.reshape(MANY + 1, -1)
            - numpy_descent(X, Y, steps=MANY)
        ).max()
        rows.append(
            Row(
                f"MNIST 60k raw pixels, {name}, one step",
                f"{1000 * mine:.1f} ms",
                f"NumPy on float64 {1000 * theirs:.1f} ms",
                f"{theirs / mine:.1f}x faster",
                "2x",
            )
        )
        notes.append(f"{name}: losses of {MANY + 1} iterates differ from NumPy's by {off:.1e}")
    return [*rows, memory(mnist)], notes


def fit(X, y, steps):
    return SubgradientSVC(eps=0.0, max_iter=steps).fit(X, y)


def memory(mnist):
    """Peak memory of a fit and a prediction, without the uint8 pixels."""
    y = indicator(mnist.y, PARITY)
    ours = _peak(lambda: fit(mnist.X, y, FEW).predict(mnist.X))
    theirs = _peak(lambda: numpy_descent(mnist.X.astype(float), y[:, None], steps=FEW))
    return Row(
        "MNIST 60k raw pixels, parity, memory beyond the pixels",
        f"{ours:.0f} MiB",
        f"NumPy on float64 {theirs:.0f} MiB",
        f"{theirs / ours:.0f}x less",
        f"no float copy ({8 * mnist.X.size / 2**20:.0f} MiB)",
    )


def _peak(function):
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def mnist_accuracy():
    """The text's constants, alpha = 1e-5, eps = 1e-2, mu = 1e-1, on disjoint parts: the first 42,000 rows and the other 18,000."""
    mnist = load("mnist")
    rows = []
    for name, digits, reported, reach in (
        ("{0, 1}", {0, 1}, ".929 / .927 after 7 steps", "within .007, 7 steps"),
        ("parity", PARITY, "about .80 after 12 steps", "within .007, 12 steps"),
    ):
        y = indicator(mnist.y, digits)
        time, model = seconds(lambda y=y: SubgradientSVC().fit(mnist.X[:42_000], y[:42_000]))
        scores = [
            model.score(mnist.X[part], y[part])
            for part in (slice(0, 42_000), slice(42_000, 60_000))
        ]
        wanted = np.array([0.929, 0.927]) if digits == {0, 1} else 0.80
        off = np.abs(np.array(scores) - wanted).max()
        rows.append(
            Row(
                f"MNIST accuracy in sample / out of sample, {name} ({1000 * time:.0f} ms)",
                f"{scores[0]:.4f} / {scores[1]:.4f} after {model.n_iter_} steps",
                f"the text's constants: {reported}",
                f"off by at most {off:.4f}",
                reach,
            )
        )
    return rows, []


SUITES = [mnist_steps, mnist_accuracy]
