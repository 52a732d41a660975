"""
Samples that do not fit into memory
===================================

Discriminants, naive Bayes, least squares and logistic regression need sums over the samples only. They accept a memory map or an
iterable of blocks, and parts that were fitted apart can be merged. All three give the same weights.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearDiscriminantAnalysis

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())
y = rng.integers(0, 3, size=60_000)
np.save(folder / "X.npy", rng.normal(size=(60_000, 20)) + rng.normal(scale=0.4, size=(3, 20))[y])
X = np.load(folder / "X.npy", mmap_mode="r")


class Blocks:
    """Iterable over blocks of rows; each iteration starts from the beginning."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        for start in range(0, len(y), self.rows):
            yield np.asarray(X[start : start + self.rows]), y[start : start + self.rows]


mapped = LinearDiscriminantAnalysis().fit(X, y)
blocks = LinearDiscriminantAnalysis().fit(Blocks(5_000))
halves = [
    LinearDiscriminantAnalysis().fit(X[part], y[part])
    for part in (slice(0, 30_000), slice(30_000, None))
]
merged = halves[0].merge(halves[1])
for name, model in (("block by block", blocks), ("two halves merged", merged)):
    print(f"{name}: weights differ by {np.abs(model.coef_ - mapped.coef_).max():.0e}")

# %%
# After each block the model is complete for the rows so far.

seen, scores = [], []
model = LinearDiscriminantAnalysis()
for samples, labels in Blocks(3_000):
    if seen:
        scores.append(model.score(samples, labels))
    model.partial_fit(samples, labels, classes=[0, 1, 2])
    seen.append(len(labels) + (seen[-1] if seen else 0))
figure, panel = plt.subplots(figsize=(6, 3.2))
panel.plot(seen[:-1], scores, marker="o", markersize=3)
panel.set(xlabel="samples seen", ylabel="accuracy on the next block")
plt.show()
