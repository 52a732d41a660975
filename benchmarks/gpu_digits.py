"""SVC on deformed MNIST digits, by the number of rows: time and test error."""

import gc

import numpy as np

from benchmarks.gpu_svc import timed
from benchmarks.measure import Row
from separatrix import SVC
from separatrix.data.catalogue import load
from separatrix.data.deformed import DeformedDigits

SIZES = (60_000, 250_000, 1_000_000)
PARAMETERS = {"C": 10.0, "gamma": 0.02 / 255**2}  # of pixels from 0 to 255
TIME_LIMIT = 150.0  # seconds, of each size


def digits():
    """Exact Gaussian SVC of all 45 pairs on the first n images of `DeformedDigits`, uint8 tensors, one fit each.

    The test error is that of the 10,000 MNIST test digits. A fit that reaches 150 s stops there.
    """
    import torch

    data = load("mnist")
    stream = DeformedDigits(data.X.astype(np.uint8), data.y, device="cuda")
    X_test = torch.as_tensor(data.X_test.astype(np.uint8), device="cuda")
    SVC(**PARAMETERS, device="cuda").fit(stream.images(0, 5000), stream.labels(0, 5000))
    rows, figures = [], []
    for n in SIZES:
        X, y = stream.images(0, n), stream.labels(0, n)
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        model = SVC(**PARAMETERS, device="cuda", time_limit=TIME_LIMIT)
        (seconds,), _ = timed(lambda X=X, y=y, model=model: model.fit(X, y), repeat=1)
        guessed = model.predict(X_test).cpu().numpy()
        found = {
            "n": n,
            "fit": seconds,
            "error": float(np.mean(guessed != data.y_test)),
            "support": len(model.support_),
            "violation": float(model.violation_.max()),
            "gap": float(model.dual_gap_.max()),
            "stop": sorted(set(map(str, model.stop_))),
            "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
        }
        print(found, flush=True)
        figures.append(found)
        rows.append(Row(
            f"SVC, {n:,} deformed digits", f"{seconds:.1f} s, {found['support']:,} support vectors",
            f"test error {100 * found['error']:.2f} %",
            f"violation {found['violation']:.1e}, gap {found['gap']:.1e}, {'/'.join(found['stop'])}", "-",
        ))  # fmt: skip
    return rows, [], figures
