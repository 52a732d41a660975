"""
Novikoff's bound on the number of mistakes
==========================================

On separable data the perceptron makes at most (R / margin)² mistakes, in whatever order it meets the samples. The
wider the margin, the fewer: the picture moves two classes apart and counts.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC, Perceptron

rng = np.random.default_rng(0)
points, side = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
gaps = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
made, bounds = [], []
for gap in gaps:
    X = points.copy()
    X[:, 0] = np.abs(X[:, 0]) + gap / 2
    X[side == 0, 0] *= -1
    orders = [Perceptron(tol=None, random_state=seed).fit(X, side) for seed in range(10)]
    made.append([fit.mistakes_.sum() for fit in orders])
    largest = SVC(C=1e8, kernel="linear").fit(X, side)
    margin = largest.margin_width_[0] / 2
    bounds.append((np.linalg.norm(X, axis=1).max() ** 2 + 1) / margin**2)

figure, panel = plt.subplots(figsize=(6, 4))
panel.loglog(gaps, bounds, color="black", linestyle="--", label="bound (R / margin)²")
for gap, counts in zip(gaps, made, strict=True):
    panel.scatter([gap] * len(counts), np.maximum(counts, 0.8), s=14, color="#3b6ea5")
panel.scatter([], [], color="#3b6ea5", label="mistakes, ten orders")
panel.set(xlabel="distance of the classes", ylabel="mistakes until all are right")
panel.legend()
plt.show()
