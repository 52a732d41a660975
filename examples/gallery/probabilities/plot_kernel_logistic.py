"""
Probabilities with a nonlinear boundary
=======================================

Kernel logistic regression models probabilities in the feature space of a kernel. A support vector machine with the same kernel has nearly
the same boundary; its scores are not probabilities until they are calibrated, here by a sigmoid on held-out samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from separatrix import SVC, KernelLogisticRegression
from separatrix.kernels import Gaussian

X, y = make_moons(1200, noise=0.3, random_state=0)
kernel = Gaussian(1.0)
models = {
    "kernel logistic, C = 0.1": KernelLogisticRegression(kernel=kernel, C=0.1),
    "kernel logistic, C = 100": KernelLogisticRegression(kernel=kernel, C=100),
    "SVC, calibrated": SVC(kernel=kernel, calibration="sigmoid", random_state=0),
}

# %%
# The lines are where the probability of the red class is 10, 50 and 90 %. A small C keeps the probabilities near one half; a large one
# makes them sharp, also where samples are few.

span = np.linspace(-2, 3, 120), np.linspace(-1.6, 2.1, 100)
plane = np.stack(np.meshgrid(*span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
for panel, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X[:200], y[:200])
    shares = model.predict_proba(plane)[:, 1].reshape(100, 120)
    panel.contourf(*span, shares, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.6)
    lines = panel.contour(*span, shares, levels=[0.1, 0.5, 0.9], colors="black", linewidths=0.8)
    panel.clabel(lines, fontsize=7)
    panel.scatter(*X[:200].T, c=y[:200], cmap="coolwarm", s=8, edgecolor="white", linewidth=0.3)
    loss = log_loss(y[200:], model.predict_proba(X[200:]))
    panel.set_title(f"{name}\nlog loss {loss:.3f} on 1,000 others", fontsize=9)
plt.show()
