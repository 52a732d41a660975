"""SVC and SVCCV on a GPU: MNIST, compared with scikit-learn and our CPU solver on the same machine."""

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import numpy as np
from sklearn.svm import SVC as Peer
from tests.gpu.certificates import boundaries, certificate

from benchmarks.gpu_ceilings import matrix_lower_bound
from benchmarks.measure import Row
from separatrix import SVC, SVCCV
from separatrix.data.catalogue import load

MNIST = {"C": 10.0, "gamma": 0.02}
SUPPORT, ACCURACY = 13_375, 0.9853  # LIBSVM's, of all 60,000 rows
PAIRS = (0, 22, 44)  # boundaries whose certificate is recomputed
CS, GAMMAS = [0.1, 1.0, 5.0, 10.0, 100.0, 1000.0], [0.005, 0.01, 0.02, 0.04]
COLD = """
import json, sys, time
start = time.perf_counter()
from benchmarks.gpu_svc import MNIST, mnist
from separatrix import SVC
import torch, triton
imported = time.perf_counter() - start
X, y, X_test, _ = mnist(60_000)
times = []
for _ in range(2):
    start = time.perf_counter()
    model = SVC(**MNIST, device="cuda").fit(X, y)
    fitted = time.perf_counter()
    model.predict(X_test)
    times.append((fitted - start, time.perf_counter() - fitted))
print(json.dumps([imported, *times]))
"""


def mnist(n):
    """The first n rows and the test rows, float32, pixels over 255."""
    data = load("mnist")
    X, X_test = (np.asarray(part / 255.0, dtype=np.float32) for part in (data.X[:n], data.X_test))
    return X, data.y[:n], X_test, data.y_test


def timed(function, *, repeat=5):
    """Seconds of each call, GPU work included, and the result of the last one."""
    import torch

    times, value = [], None
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        value = function()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return times, value


def spread(times, unit=1.0, digits=3):
    """Median and range, as text."""
    low, mid, high = (unit * part for part in (min(times), median(times), max(times)))
    return f"{mid:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def first_fits():
    """Seconds of the imports and of the first two fits and predictions, in new processes.

    The first process starts with empty caches, the second uses the caches of the first.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        caches = {
            "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
            "NUMBA_CACHE_DIR": os.path.join(folder, "numba"),
        }
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", COLD],
                env={**os.environ, **caches},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(done.stderr)
            found.append(json.loads(done.stdout.strip().splitlines()[-1]))
    return found


def svc():
    """SVC on all 60,000 rows of MNIST, Gaussian gamma=.02, C=10, x/255; 10,000 rows to predict.

    Times are medians of five with their range, after one fit that is not counted; the first fit of a
    process, with compilation, is listed separately. The certificate is recomputed on the CPU from
    `dual_coef_` with kernel values in float64, for three of the 45 pairs.
    """
    import torch

    X, y, X_test, y_test = mnist(60_000)
    T, t, A = (torch.as_tensor(part, device="cuda") for part in (X, y, X_test))
    model = SVC(**MNIST, device="cuda")
    timed(lambda: (model.fit(T, t), model.predict(A)), repeat=1)
    from_tensors, _ = timed(lambda: model.fit(T, t))
    predict_tensors, guess = timed(lambda: model.predict(A), repeat=9)
    from_numpy, _ = timed(lambda: model.fit(X, y))
    predict_numpy, guess_numpy = timed(lambda: model.predict(X_test), repeat=9)
    first, second = first_fits()
    accuracy = np.mean(guess.cpu().numpy() == y_test)
    support = len(model.support_)
    checked = list(boundaries(model, y))
    certificates = [certificate(model, X, checked[p]) for p in PAIRS]
    floor = sum(matrix_lower_bound(*X.shape))
    cpu_times, on_cpu = timed(lambda: SVC(**MNIST, device="cpu").fit(X, y), repeat=1)
    fit = median(from_tensors)
    rows = [
        Row("MNIST 60k, fit, CUDA tensors, s", spread(from_tensors), f"ours on this CPU {cpu_times[0]:.1f} s", f"{cpu_times[0] / fit:.0f}x faster", "at most 0.30, goal 0.20"),
        Row("the same from NumPy in memory, s", spread(from_numpy), "-", "-", "-"),
        Row("lower bound: its kernel matrix at the GPU's measured rates, s", f"{floor:.3f}", "-", f"fit is {fit / floor:.2f}x", "-"),
        Row("MNIST 60k, predict 10,000 rows, tensors, ms", spread(predict_tensors, 1e3, 2), "-", "-", "at most 10"),
        Row("the same from NumPy in memory, ms", spread(predict_numpy, 1e3, 2), "-", "-", "-"),
        Row("first fit of a process, nothing compiled, s", f"{first[1][0]:.1f} (imports {first[0]:.1f}; first prediction {first[1][1]:.1f}; second fit {first[2][0]:.2f})", "-", "-", "-"),
        Row("first fit of a process, compiled before, s", f"{second[1][0]:.1f} (imports {second[0]:.1f}; first prediction {second[1][1]:.2f}; second fit {second[2][0]:.2f})", "-", "-", "-"),
        Row("support vectors", f"{support}", f"LIBSVM {SUPPORT}", f"{100 * (support / SUPPORT - 1):+.3f} %", "within 0.1 %"),
        Row("accuracy", f"{accuracy:.4f} (NumPy {np.mean(guess_numpy == y_test):.4f})", f"{ACCURACY:.4f}", "-", "-"),
        Row("largest violation, reported", f"{model.violation_.max():.2e}", f"ours on CPU {on_cpu.violation_.max():.2e}", "-", "at most 1e-3"),
        Row("largest violation of three pairs, float64 on the CPU", f"{max(c.violation for c in certificates):.2e}", "-", "-", "-"),
        Row("largest relative duality gap, reported", f"{model.dual_gap_.max():.2e}", f"ours on CPU {on_cpu.dual_gap_.max():.2e}", "-", "at most 1e-3"),
        Row("largest gap of three pairs, float64 on the CPU", f"{max(c.gap for c in certificates):.2e}", "-", "-", "-"),
        Row("steps on two coefficients, all pairs", f"{model.n_iter_.sum():,}", f"ours on CPU {on_cpu.n_iter_.sum():,}", "-", "-"),
        Row("dual objective, all pairs", f"{model.objective_.sum():.4f}", f"ours on CPU {on_cpu.objective_.sum():.4f}", "-", "-"),
        *peers(),
    ]  # fmt: skip
    figures = {"fit_tensors": from_tensors, "fit_numpy": from_numpy, "predict_tensors": predict_tensors, "predict_numpy": predict_numpy, "cold": [first, second], "support": support, "cpu": cpu_times[0]}  # fmt: skip
    return rows, [model.gram_], figures


def peers():
    """scikit-learn on one core of this machine, on subsets that it finishes."""
    for n in (6000, 12_000):
        X, y, X_test, _ = mnist(n)
        model = SVC(**MNIST, device="cuda")
        timed(lambda: model.fit(X, y), repeat=1)
        fit, _ = timed(lambda: model.fit(X, y))
        predict, guess = timed(lambda: model.predict(X_test))
        their_fit, peer = timed(lambda: Peer(**MNIST, cache_size=8000).fit(X, y), repeat=1)
        their_predict, theirs = timed(lambda: peer.predict(X_test), repeat=1)
        same = np.mean(guess == theirs)
        yield Row(f"MNIST {n // 1000}k from NumPy, fit, s", spread(fit), f"scikit-learn {their_fit[0]:.1f}", f"{their_fit[0] / median(fit):.0f}x faster", "-")  # fmt: skip
        yield Row("its prediction of 10,000 rows, s", spread(predict, 1.0, 4), f"scikit-learn {their_predict[0]:.1f}", f"{their_predict[0] / median(predict):.0f}x faster", f"{100 * same:.2f} % of the predictions equal")  # fmt: skip


def svccv():
    """SVCCV on all 60,000 rows of MNIST: 6 C from .1 to 1000 x 4 gamma x 5 folds, 5,400 binary problems.

    The time includes the fit of the best parameters on all rows, without compilation.
    """
    import torch

    X, y, X_test, y_test = mnist(60_000)
    T, t = torch.as_tensor(X, device="cuda"), torch.as_tensor(y, device="cuda")
    search = SVCCV(CS, GAMMAS, cv=5, device="cuda")
    SVCCV(CS[:2], GAMMAS[:2], cv=2, device="cuda").fit(T[:6000], t[:6000])
    took, _ = timed(lambda: search.fit(T, t), repeat=3)
    from_numpy, _ = timed(lambda: search.fit(X, y), repeat=1)
    few = 6000
    part, on_gpu = timed(lambda: SVCCV(CS, GAMMAS, cv=5, device="cuda").fit(T[:few], t[:few]), repeat=1)  # fmt: skip
    part_cpu, on_cpu = timed(lambda: SVCCV(CS, GAMMAS, cv=5, device="cpu").fit(X[:few], y[:few]), repeat=1)  # fmt: skip
    difference = max(
        np.abs(on_gpu.cv_results_[f"split{f}_test_score"] - on_cpu.cv_results_[f"split{f}_test_score"]).max()
        for f in range(5)
    )  # fmt: skip
    means = search.cv_results_["mean_test_score"].reshape(len(CS), len(GAMMAS))
    grid = "\n".join(
        [f"{'accuracy of folds':>18} " + "".join(f"gamma {g:<8g}" for g in GAMMAS)]
        + [f"{f'C {C:g}':>18} " + "".join(f"{v:<14.5f}" for v in line) for C, line in zip(CS, means, strict=True)]
    )  # fmt: skip
    rows = [
        Row("SVCCV, MNIST 60k, 120 cells of folds, tensors, s", spread(took, 1.0, 2), "-", "-", "at most 15, goal 6"),
        Row("the same from NumPy in memory, s", f"{from_numpy[0]:.2f}", "-", "-", "-"),
        Row("the same grid on 6,000 rows, s", f"{part[0]:.2f}", f"ours on this CPU {part_cpu[0]:.1f}", f"{part_cpu[0] / part[0]:.0f}x faster", "-"),
        Row("largest difference of a fold's accuracy on them, in rows", f"{difference * few / 5:.1f}", "-", "-", "1"),
        Row("best parameters", f"{search.best_params_}", "-", "-", "-"),
        Row("its test accuracy", f"{search.score(X_test, y_test):.4f}", "-", "-", "-"),
    ]  # fmt: skip
    return rows, [grid], {"fit": took, "fit_numpy": from_numpy, "means": means.tolist()}
