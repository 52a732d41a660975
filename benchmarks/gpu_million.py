"""SVC from 10,000 to 1,000,000 rows, too many for a kernel matrix in GPU memory: time against size."""

import gc
from pathlib import Path

import numpy as np

from benchmarks.gpu_svc import timed
from benchmarks.measure import Row
from separatrix import SVC

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
FEATURES, CLUSTERS, TEST_ROWS = 50, 10, 20_000
TIME_LIMIT = 300.0  # seconds, of each size
FILE = Path(__file__).parents[1] / "docs" / "gpu_scaling.svg"


def clusters(n, *, seed=0):
    """Two classes of ten Gaussian clusters each, overlapping by a few per cent."""
    centres = 0.6 * np.random.default_rng(seed).normal(size=(2, CLUSTERS, FEATURES))
    rng = np.random.default_rng([seed, n])
    y, which = rng.integers(0, 2, n), rng.integers(0, CLUSTERS, n)
    noise = rng.standard_normal((n, FEATURES), dtype=np.float32)
    return centres.astype(np.float32)[y, which] + noise, y


def million():
    """SVC on synthetic data, two classes of ten clusters in 50 dimensions, Gaussian gamma="scale", C=1.

    From NumPy in memory, after compilation. Larger kernel matrices are computed by rows.
    """
    import torch

    X_test, y_test = clusters(TEST_ROWS, seed=0)
    rows, figures = [], []
    X, y = clusters(5000)
    SVC(device="cuda").fit(X, y).predict(X_test)
    for n in SIZES:
        X, y = clusters(n)
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        model = SVC(device="cuda", time_limit=TIME_LIMIT)
        fit, _ = timed(lambda X=X, y=y: model.fit(X, y), repeat=3 if n <= 100_000 else 1)
        peak = torch.cuda.max_memory_allocated() / 2**30
        predict, guess = timed(lambda: model.predict(X_test), repeat=1)
        result = {
            "n": n,
            "fit": min(fit),
            "predict": predict[0],
            "steps": int(model.n_iter_.sum()),
            "support": len(model.support_),
            "violation": float(model.violation_.max()),
            "gap": float(model.dual_gap_.max()),
            "error": float(np.mean(guess != y_test)),
            "peak_gib": peak,
            "stop": model.stop_[0],
            "gram": model.gram_,
        }
        figures.append(result)
        print(result, flush=True)
        rows.append(Row(
            f"{n:,} x {FEATURES}, fit, {result['gram']}",
            f"{result['fit']:.2f} s, {result['steps']:,} steps, {peak:.1f} GiB",
            f"{result['support']:,} support vectors, test error {100 * result['error']:.2f} %",
            f"violation {result['violation']:.1e}, gap {result['gap']:.1e} ({result['stop']})",
            "converges" if n == SIZES[-1] else "-",
        ))  # fmt: skip
    slope = np.polyfit(*np.log([[f["n"], f["fit"]] for f in figures]).T, 1)[0]
    rows.append(Row("time grows as n to the power", f"{slope:.2f}", "-", "-", "-"))
    notes = []
    try:
        notes.append(f"figure: {draw(figures)}")
    except ImportError:
        notes.append(
            "matplotlib is not installed: draw with `python -m benchmarks.gpu --plot FILE.json`"
        )
    return rows, notes, figures


def draw(figures):
    """Plot seconds against rows on log axes; open markers stopped before their tolerance."""
    from matplotlib.figure import Figure

    n, seconds = (np.array([result[key] for result in figures]) for key in ("n", "fit"))
    done = np.array([result["stop"] == "tol" for result in figures])
    slope = np.polyfit(np.log(n), np.log(seconds), 1)[0]
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(n, seconds, color="#3b6ea5", label=f"separatrix, one GPU: n^{slope:.2f}")
    axes.loglog(n[done], seconds[done], "o", color="#3b6ea5")
    axes.loglog(n[~done], seconds[~done], "o", mfc="white", color="#3b6ea5")
    for result in figures:
        axes.annotate(
            f"{result['fit']:.2g} s", (result["n"], result["fit"]), (0, 7), textcoords="offset points",
            ha="center", fontsize=8,
        )  # fmt: skip
    axes.set_xlabel(f"rows of {FEATURES} features, two classes of {CLUSTERS} clusters")
    axes.set_ylabel("seconds to fit SVC")
    axes.set_xticks(n, ["1M" if size == 10**6 else f"{size // 1000}k" for size in n])
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(FILE, metadata={"Date": None})
    return FILE.name
