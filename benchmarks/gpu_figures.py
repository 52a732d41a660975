"""Each figure that is asked of one GPU, beside its floor: every function here is a suite of its own.

The floor of a figure is what the GPU needs for the same work at its measured rates (`gpu_ceilings.py`): one
read of the samples for each pass, one copy of them, one kernel matrix.
"""

import gc
from statistics import median

import numpy as np

from benchmarks.gpu_ceilings import matrix_lower_bound, rates, time_on_gpu
from benchmarks.gpu_linear import FEATURES, LARGE, certificate, clouds
from benchmarks.gpu_million import clusters
from benchmarks.gpu_svc import MNIST, first_fits, mnist, spread, timed
from benchmarks.measure import Row
from separatrix import SVC, LinearDiscriminantAnalysis, LogisticRegression
from separatrix.experiments.steps import RunContext
from separatrix.studies.catalogue import make

EIGHT_MILLION = {"error": 0.60, "seconds": 540}
MILLION = 1_000_000


def softmax():
    """LogisticRegression, softmax, MNIST 60,000: the GPU beside our CPU path on this machine."""
    import torch

    X, y, X_test, y_test = mnist(60_000)
    there, labels = torch.as_tensor(X, device="cuda"), torch.as_tensor(y, device="cuda")
    model = LogisticRegression(max_iter=1000, device="cpu").fit(X[:2000], y[:2000])
    slow, _ = timed(lambda: model.fit(X, y), repeat=1)
    before = certificate(model, X_test, y_test)
    model.set_params(device="cuda").fit(there, labels)
    fast, _ = timed(lambda: model.fit(there, labels))
    passes = int(np.max(model.n_iter_))
    floor = passes * 8 * X.size / rates()["copy"]
    return [Row(
        "LogisticRegression, softmax, MNIST 60,000, fit, tensors",
        f"{spread(fast)} s; {certificate(model, X_test, y_test)}",
        f"our CPU path {slow[0]:.1f} s; {before}; floor, one read a step, {floor:.3f} s",
        f"{slow[0] / median(fast):.1f}x; {median(fast) / floor:.1f}x the floor", "10x the CPU",
    )], []  # fmt: skip


def binary():
    """LogisticRegression, two classes, 10,000,000 x 100 in float64: one pass, and the whole fit."""
    import torch

    from separatrix.solvers.logistic import device_passes

    X, y = clouds(LARGE)
    floor = X.nbytes / rates()["copy"]
    block = (X, y, torch.ones(len(y), dtype=torch.float64, device="cuda"))
    options = {"intercept": True, "hessian": False, "margin": False}
    theta = np.full((1, FEATURES + 1), 0.01)
    one, _ = time_on_gpu(lambda: device_passes.sums_on(block, theta, **options))
    passes, original = [], device_passes.sums_on
    device_passes.sums_on = lambda *args, **more: passes.append(1) or original(*args, **more)
    try:
        model = LogisticRegression(device="cuda").fit(X, y)
        passes.clear()
        times, _ = timed(lambda: model.fit(X, y))
    finally:
        device_passes.sums_on = original
    count = len(passes) / len(times)
    return [
        Row("one pass over 10,000,000 x 100, two classes", f"{1000 * one:.2f} ms", f"one read {1000 * floor:.2f} ms", f"{one / floor:.2f}x", "1.5x"),
        Row("LogisticRegression, 10,000,000 x 100, fit, tensors", f"{spread(times)} s, {count:.0f} passes, gradient {model.gradient_:.1e}", f"its passes at one read each {count * floor:.3f} s", f"{median(times) / (count * floor):.2f}x", "1.5x"),
    ], profile(lambda: model.fit(X, y))  # fmt: skip


def profile(function):
    """The functions in which a call spends its time on the CPU, as text for the notes."""
    import cProfile
    import io
    import pstats

    found, text = cProfile.Profile(), io.StringIO()
    found.runcall(function)
    pstats.Stats(found, stream=text).strip_dirs().sort_stats("tottime").print_stats(12)
    return ["\n".join(line for line in text.getvalue().splitlines() if line.strip())]


def lda_host():
    """LinearDiscriminantAnalysis, 10,000,000 x 100 from main memory, beside torch's copy."""
    import torch

    X, y = clouds(LARGE)
    held, labels = X.cpu(), y.cpu().numpy()
    del X, y
    gc.collect()
    torch.cuda.empty_cache()
    copy, _ = timed(lambda: held.to("cuda"), repeat=3)
    X = held.numpy()
    model = LinearDiscriminantAnalysis(device="cuda").fit(X[:1000], labels[:1000])
    times, _ = timed(lambda: model.fit(X, labels))
    return [Row(
        "LinearDiscriminantAnalysis, 10,000,000 x 100 from main memory, fit", f"{spread(times)} s",
        f"torch's copy {spread(copy)} s", f"{median(times) / median(copy):.2f}x", "1.2x the copy",
    )], []  # fmt: skip


def mnist8m(sizes=None):
    """`separatrix run mnist8m --device cuda`, without its page: each size starts from the one before."""
    made = make("mnist8m", device="cuda", sizes=sizes)
    context, rows, figures = RunContext(made), [], []
    for step in made.steps:
        result = step.run(context)
        context.store(step.name, result)
        found = {row.metric: row.value for row in result.rows}
        seconds = {row.metric: row.seconds for row in result.rows}
        figures.append({**found, "fit": seconds["support_vectors"], "make": seconds["images"]})
        print(figures[-1], flush=True)
        n = int(found["images"])
        reach = (
            f"{EIGHT_MILLION['error']} %, {EIGHT_MILLION['seconds']} s" if n == 8_100_000 else "-"
        )
        rows.append(Row(
            f"SVC, {n:,} deformed digits", f"fit {seconds['support_vectors']:.1f} s, images {seconds['images']:.1f} s, {int(found['support_vectors']):,} support vectors",
            f"test error {100 * found['test_error']:.2f} %; published 0.67 %, 8 days",
            f"violation {found['violation']:.1e}, gap {found['gap']:.1e}; three pairs in float64 {found['checked_violation']:.1e}, {found['checked_gap']:.1e}; {int(found['unfinished'])} pairs unfinished",
            reach,
        ))  # fmt: skip
    return rows, [], figures


def mnist1m():
    """The sizes of `mnist8m` up to 1,000,000: a trial that takes a minute."""
    return mnist8m("60000,250000,1000000")


def rows1m():
    """SVC on 1,000,000 x 50, two overlapping classes, from NumPy, after compilation."""
    X, y = clusters(MILLION)
    X_test, y_test = clusters(20_000)
    for n, memory in ((5000, None), (20_000, 150.0)):  # the second in chunks of rows
        SVC(device="cuda", cache_size=memory).fit(X[:n], y[:n]).predict(X_test[:100])
    model = SVC(device="cuda", time_limit=60.0)
    times, _ = timed(lambda: model.fit(X, y), repeat=3)
    support = len(model.support_)
    products = 2 * support * MILLION * X.shape[1] / rates()["float32"]
    floor = products + 12 * support * MILLION / rates()["copy"]
    error = np.mean(model.predict(X_test) != y_test)
    return [Row(
        "SVC, 1,000,000 x 50, two classes, fit",
        f"{spread(times)} s, {support:,} support vectors, {int(model.n_iter_.sum()):,} steps, error {100 * error:.2f} %",
        f"kernel rows of the support vectors {floor:.2f} s", f"{median(times) / floor:.1f}x", "3 s",
    )], profile(lambda: model.fit(X, y))  # fmt: skip


def floor60k():
    """SVC on MNIST 60,000, beside the kernel matrix alone: tensors of floats and of bytes, NumPy."""
    import torch

    X, y, X_test, _ = mnist(60_000)
    T, t, A = (torch.as_tensor(part, device="cuda") for part in (X, y, X_test))
    rows, floor = [], sum(matrix_lower_bound(*X.shape))
    model = SVC(**MNIST, device="cuda").fit(T, t)
    for name, fit, predict, reach in (
        ("tensors", lambda: model.fit(T, t), lambda: model.predict(A), "0.12 s, 4 ms"),
        ("NumPy", lambda: model.fit(X, y), lambda: model.predict(X_test), "0.16 s, 8 ms"),
    ):
        fitted, predicted = timed(fit)[0], timed(predict)[0]
        rows.append(Row(
            f"SVC, MNIST 60k, {name}", f"fit {spread(fitted)} s, predict {spread(predicted, 1e3, 2)} ms",
            f"the matrix {floor:.3f} s", f"{median(fitted) / floor:.2f}x", reach,
        ))  # fmt: skip
    pixels = torch.as_tensor(np.rint(255 * X).astype(np.uint8), device="cuda")
    on_bytes = SVC(C=MNIST["C"], gamma=MNIST["gamma"] / 255**2, device="cuda").fit(pixels, t)
    fitted = timed(lambda: on_bytes.fit(pixels, t))[0]
    rows.append(Row(
        "SVC, MNIST 60k, bytes on the GPU", f"fit {spread(fitted)} s, {len(on_bytes.support_):,} support vectors",
        f"{len(model.support_):,} of floats", f"{median(fitted) / floor:.2f}x", "-",
    ))  # fmt: skip
    return rows, profile(lambda: model.fit(T, t))


def first():
    """The first fit of a process on MNIST 60,000: nothing compiled, and compiled by an earlier process."""
    empty, compiled = first_fits()
    return [
        Row(f"first fit of a process, {what}, s", f"{found[1][0]:.2f} (imports {found[0]:.1f}, first prediction {found[1][1]:.2f}, second fit {found[2][0]:.2f})", "-", "-", reach)
        for what, found, reach in (("nothing compiled", empty, "-"), ("compiled before", compiled, "1.0"))
    ], []  # fmt: skip
