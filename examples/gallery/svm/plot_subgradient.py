"""
Subgradient descent, iterate by iterate
=======================================

`SubgradientSVC` is the textbook method: one step against a subgradient of the regularised hinge loss, with a falling step
size. It keeps its iterates, so that the path can be drawn. For work, use `LinearSVC`, which reaches the optimum.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from separatrix import SubgradientSVC

X, y = make_blobs(100, centers=[[-1.3, 0], [1.3, 0.5]], cluster_std=0.8, random_state=0)
runs = {
    alpha: SubgradientSVC(alpha=alpha, max_iter=400, keep_iterates=1).fit(X, y)
    for alpha in (0.5, 0.05, 0.005)
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for alpha, model in runs.items():
    left.loglog(range(1, len(model.loss_curve_) + 1), model.loss_curve_, label=f"alpha {alpha}")
    path = model.iterates_
    right.plot(path[:, 1], path[:, 2], linewidth=1, label=f"alpha {alpha}")
    right.plot(*model.coef_[0], marker="o", color="black", markersize=4)
left.set(xlabel="step", ylabel="objective")
right.set(xlabel="first weight", ylabel="second weight")
left.legend()
plt.show()
