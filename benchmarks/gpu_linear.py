"""The linear family on a GPU, and deformed digits: passes over memory, copies, and the CPU beside them."""

import gc
import time
import warnings
from statistics import median

import numpy as np

from benchmarks.gpu_ceilings import rates, time_on_gpu
from benchmarks.gpu_svc import mnist, spread, timed
from benchmarks.measure import Row
from separatrix import (
    GaussianNB,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    Nystroem,
    QuadraticDiscriminantAnalysis,
    RandomFourier,
)
from separatrix.data.catalogue import load
from separatrix.data.deformed import DeformedDigits

LARGE, FEATURES = 10_000_000, 100
IMAGES = 1_000_000


def clouds(n, d=FEATURES):
    """Two overlapping classes as tensors on the GPU, (n, d) in float64, and their labels."""
    import torch

    made = torch.Generator("cuda").manual_seed(0)
    X = torch.randn((n, d), generator=made, device="cuda", dtype=torch.float64)
    w = torch.randn(d, generator=made, device="cuda", dtype=torch.float64) / d**0.5
    noise = torch.randn(n, generator=made, device="cuda", dtype=torch.float64)
    return X, (X @ w + 0.5 * noise > 0).long()


def linear():
    """Logistic regression, LinearSVC and models of one pass: on the GPU, and on the CPU of that machine.

    MNIST 60,000 x 784 in float32, pixels over 255, C=1 (LinearSVC 0.01); 10,000,000 x 100 Gaussian samples
    in float64, two classes. Medians of five.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some pixels are the same in all digits
        return [*on_mnist(), *on_large()], []


def on_mnist():
    import torch

    X, y, X_test, y_test = mnist(60_000)
    there, labels = torch.as_tensor(X, device="cuda"), torch.as_tensor(y, device="cuda")
    for model, reach in (
        (LogisticRegression(max_iter=1000), "10x"),
        (LinearSVC(C=0.01, dual=False), "-"),
        (LinearDiscriminantAnalysis(), "-"),
        (QuadraticDiscriminantAnalysis(reg_param=0.1), "-"),
        (LeastSquaresClassifier(1.0), "-"),
        (GaussianNB(var_smoothing=0.01), "-"),
    ):
        model.set_params(device="cpu").fit(X[:2000], y[:2000])  # compiled
        slow, _ = timed(lambda model=model: model.fit(X, y), repeat=2)
        before = certificate(model, X_test, y_test)
        model.set_params(device="cuda")
        model.fit(there, labels)
        fast, _ = timed(lambda model=model: model.fit(there, labels))
        arrays, _ = timed(lambda model=model: model.fit(X, y))
        yield Row(
            f"{type(model).__name__}, MNIST 60,000, fit, tensors",
            f"{spread(fast)} s; NumPy {spread(arrays)} s; {certificate(model, X_test, y_test)}",
            f"our CPU path {spread(slow)} s; {before}",
            f"{median(slow) / median(fast):.1f}x; NumPy {median(slow) / median(arrays):.1f}x",
            reach,
        )
    for model in (
        RandomFourier(0.02, n_components=2000, random_state=0),
        Nystroem(gamma=0.02, n_components=2000, random_state=0),
    ):
        model.set_params(device="cpu").fit(X)
        slow, _ = timed(lambda model=model: model.transform(X), repeat=1)
        model.set_params(device="cuda")
        fast, _ = timed(lambda model=model: model.transform(there))
        yield Row(
            f"{type(model).__name__}, 2,000 features of MNIST 60,000, tensors",
            f"{spread(fast)} s", f"our CPU path {slow[0]:.2f} s", f"{slow[0] / median(fast):.0f}x", "-",
        )  # fmt: skip


def certificate(model, X_test, y_test):
    """Objective, if there is one, and test error."""
    objective = getattr(model, "objective_", None)
    words = "" if objective is None else f"objective {np.sum(objective):.4f}, "
    steps = f"{int(np.max(model.n_iter_))} steps, " if hasattr(model, "n_iter_") else ""
    return f"{words}{steps}test error {100 * np.mean(model.predict(X_test) != y_test):.2f} %"


def on_large():
    import torch

    from separatrix.solvers.logistic import device_passes

    X, y = clouds(LARGE)
    floor = X.nbytes / rates()["copy"]
    theta = np.full((1, FEATURES + 1), 0.01)
    weights = torch.ones(len(y), dtype=torch.float64, device="cuda")
    block = (X, y, weights)
    options = {"intercept": True, "hessian": False, "margin": False}
    one, _ = time_on_gpu(lambda: device_passes.sums_on(block, theta, **options))
    yield Row(
        "one pass of LogisticRegression, 10,000,000 x 100, two classes", f"{1000 * one:.2f} ms",
        f"one read of memory {1000 * floor:.2f} ms", f"{one / floor:.2f}x", "1.5x",
    )  # fmt: skip
    passes = []
    original = device_passes.sums_on
    device_passes.sums_on = lambda *args, **more: passes.append(1) or original(*args, **more)
    for solver in ("lbfgs", "auto"):
        model = LogisticRegression(solver=solver, device="cuda")
        model.fit(X, y)
        passes.clear()
        times, _ = timed(lambda model=model: model.fit(X, y), repeat=3)
        yield Row(
            f"LogisticRegression(solver={solver!r}), 10,000,000 x 100, fit, tensors",
            f"{spread(times)} s, {model.n_iter_[0]} steps, {len(passes) / 3:.0f} passes, "
            f"gradient {model.gradient_:.1e}",
            f"its passes at one read of memory each {len(passes) / 3 * floor:.3f} s",
            f"{median(times) / (len(passes) / 3 * floor):.2f}x",
            "1.5x",
        )
    device_passes.sums_on = original
    yield from from_host(X, y)


def from_host(X, y):
    import torch

    held = X.cpu()
    labels = y.cpu().numpy()
    del X, y
    gc.collect()
    torch.cuda.empty_cache()
    copy, _ = timed(lambda: held.to("cuda"), repeat=3)
    buffer = torch.empty_like(held[: 2**20], pin_memory=True)
    pinned = time_on_gpu(lambda: buffer.to("cuda", non_blocking=True))[0] * len(held) / len(buffer)
    X = held.numpy()
    for model in (LinearDiscriminantAnalysis(), GaussianNB(), QuadraticDiscriminantAnalysis()):
        model.set_params(device="cpu")
        model.fit(X[:5000], labels[:5000])  # compiled
        slow, _ = timed(lambda model=model: model.fit(X, labels), repeat=1)
        model.set_params(device="cuda").fit(X[:1000], labels[:1000])
        times, _ = timed(lambda model=model: model.fit(X, labels), repeat=3)
        yield Row(
            f"{type(model).__name__}, 10,000,000 x 100 from main memory, fit",
            f"{spread(times)} s",
            f"torch's copy {spread(copy)} s, at the rate of pinned memory {pinned:.3f} s; our CPU path "
            f"{slow[0]:.2f} s",
            f"{median(times) / median(copy):.2f}x the copy; {slow[0] / median(times):.1f}x the CPU",
            "1.2x the copy",
        )


def deformed():
    """Deformed MNIST digits: images a second on the GPU and on the CPU, and whether the bytes are the same."""
    import torch

    data = load("mnist")
    X, y = data.X.astype(np.uint8), data.y
    there, here = DeformedDigits(X, y, device="cuda"), DeformedDigits(X, y)
    there.images(0, 20_000)
    times, images = timed(lambda: there.images(60_000, 60_000 + IMAGES))
    start = time.perf_counter()
    same = here.images(60_000, 70_000)
    slow = time.perf_counter() - start
    equal = torch.equal(images[:10_000].cpu(), torch.as_tensor(same))
    return [
        Row(
            "DeformedDigits, 1,000,000 images on the GPU",
            f"{IMAGES / median(times) / 1e6:.2f} million images/s",
            f"NumPy on one thread {10_000 / slow:,.0f} images/s",
            f"bytes of 10,000 images equal: {equal}",
            "1 million images/s",
        )
    ], []
