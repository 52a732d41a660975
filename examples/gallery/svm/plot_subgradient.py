"""
Subgradient descent, iterate by iterate
=======================================

`SubgradientSVC` is the textbook method: steps of fixed length alpha against a subgradient of the regularised hinge loss. A small step
is slow, a large one ends up oscillating around the optimum. It keeps its iterates, so that the path can be drawn. For
work, use `LinearSVC`, which reaches the optimum.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from separatrix import SubgradientSVC

X, y = make_blobs(100, centers=[[-1.3, 0], [1.3, 0.5]], cluster_std=0.8, random_state=0)
warnings.simplefilter("ignore", ConvergenceWarning)  # eps=0 asks for all 300 steps
runs = {
    alpha: SubgradientSVC(alpha=alpha, mu=0.1, eps=0.0, max_iter=300, keep_iterates=True).fit(X, y)
    for alpha in (2.0, 0.3, 0.03)
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for alpha, model in runs.items():
    left.loglog(np.arange(len(model.loss_curve_)) + 1, model.loss_curve_, label=f"alpha {alpha}")
    right.plot(model.iterates_[:, 1], model.iterates_[:, 2], linewidth=1, label=f"alpha {alpha}")
    right.plot(*model.coef_[0], marker="o", color="black", markersize=4)
left.set(xlabel="step", ylabel="objective")
right.set(xlabel="first weight", ylabel="second weight")
left.legend()
plt.show()
