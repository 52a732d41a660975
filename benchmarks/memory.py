"""Anonymous memory of a fit to a memory map of 2 GB."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Row

MODELS = {
    "LinearDiscriminantAnalysis": "LinearDiscriminantAnalysis()",
    "QuadraticDiscriminantAnalysis": "QuadraticDiscriminantAnalysis()",
    "LeastSquaresClassifier": "LeastSquaresClassifier(1.0)",
    "GaussianNB": "GaussianNB()",
    "MultinomialNB": "MultinomialNB()",
    "LogisticRegression": "LogisticRegression()",
    "LogisticRegression, L-BFGS": "LogisticRegression(solver='lbfgs', max_iter=10)",
}

FIT = """
import sys, time, warnings
import numpy as np
import separatrix
from benchmarks.measure import own_memory
from separatrix import *
warnings.simplefilter("ignore")
folder = sys.argv[1]
X, y = np.load(folder + "/X.npy", mmap_mode="r"), np.load(folder + "/y.npy")
model = eval(sys.argv[2])
model.fit(X[:5000], y[:5000])
start = time.perf_counter()
own, _ = own_memory(lambda: model.fit(X, y))
print(own, time.perf_counter() - start)
"""


def memory():
    """1,000,000 x 250 in float64, positive, two classes, mapped from a file of 2.0 GB."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, size=1_000_000)
        X = np.lib.format.open_memmap(
            Path(folder) / "X.npy", mode="w+", dtype=np.float64, shape=(len(y), 250)
        )
        for start in range(0, len(y), 50_000):
            part = slice(start, start + 50_000)
            X[part] = rng.random((50_000, 250)) + 0.05 * y[part, None]
        X.flush()
        np.save(Path(folder) / "y.npy", y)
        for name, code in MODELS.items():
            out = subprocess.check_output([sys.executable, "-c", FIT, folder, code], text=True)
            own, took = map(float, out.split())
            rows.append(
                Row(
                    f"{name}, 2.0 GB mapped",
                    f"{own:.0f} MB",
                    f"- ({took:.1f} s)",
                    f"{own / 2000:.2f} of the data",
                    "500 MB",
                )
            )
    return rows, []


SUITES = [memory]
