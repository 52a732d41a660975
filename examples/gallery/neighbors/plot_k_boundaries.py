"""
Boundaries of 1, 15 and 75 neighbours
=====================================

With one neighbour every sample has an island of its own; with many, small structures vanish.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from separatrix import KNeighborsClassifier

X, y = make_moons(250, noise=0.3, random_state=1)
fresh, truth = make_moons(2000, noise=0.3, random_state=2)
span = np.linspace(-2, 3, 200)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
for panel, k in zip(axes, (1, 15, 75), strict=True):
    model = KNeighborsClassifier(k).fit(X, y)
    share = model.predict_proba(plane)[:, 1].reshape(200, 200)
    panel.contourf(span, span, share, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.5)
    panel.contour(span, span, share, levels=[0.5], colors="black", linewidths=1)
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=8)
    panel.set_title(f"k = {k}: train {model.score(X, y):.2f}, test {model.score(fresh, truth):.2f}")
plt.show()
