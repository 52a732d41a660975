"""
The margin and C
================

C is the price of a sample inside the margin. With a small C the margin is wide and many samples lie within it; with a large
one it is as narrow as the samples demand.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from separatrix import SVC

X, y = make_blobs(80, centers=[[-1.2, -0.6], [1.2, 0.6]], cluster_std=0.9, random_state=3)
span = np.linspace(-4, 4, 150)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharex=True, sharey=True)
for panel, C in zip(axes, (0.01, 0.3, 100.0), strict=True):
    model = SVC(C=C, kernel="linear").fit(X, y)
    scores = model.decision_function(plane).reshape(150, 150)
    panel.contourf(span, span, np.clip(scores, -2, 2), levels=21, cmap="coolwarm", alpha=0.4)
    panel.contour(span, span, scores, levels=[-1, 0, 1], colors="k", linestyles=["--", "-", "--"])
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=16)
    support = model.support_vectors_
    panel.scatter(*support.T, s=60, facecolor="none", edgecolor="black", linewidth=0.8)
    width = model.margin_width_[0]
    panel.set_title(
        f"C = {C:g}: {len(support)} support vectors\nwidth of the margin {width:.2f}", fontsize=10
    )
plt.show()

# %%
# Support vectors, the circled samples, carry the boundary: the others could be left out, and nothing would change.

model = SVC(C=0.3, kernel="linear").fit(X, y)
again = SVC(C=0.3, kernel="linear").fit(X[model.support_], y[model.support_])
print("weights from all samples            ", model.coef_[0].round(3).tolist())
print("weights from the support vectors alone", again.coef_[0].round(3).tolist())
