"""
Last, average or vote
=====================

On classes that overlap, the last weights of a perceptron depend on the samples that it met last. The average of the weights
over all steps, or a vote of all of them, is a far better predictor for the same work.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import Perceptron

X, y = load_digits(return_X_y=True)
X = X / 16
train, test = slice(0, 1000), slice(1000, None)
passes = [1, 2, 4, 8, 16]
figure, panel = plt.subplots(figsize=(6, 4))
for predictor in ("last", "average", "vote"):
    scores = np.array(
        [
            [
                Perceptron(predictor=predictor, max_iter=count, tol=None, random_state=seed)
                .fit(X[train], y[train])
                .score(X[test], y[test])
                for count in passes
            ]
            for seed in range(4)
        ]
    )
    panel.errorbar(
        passes, scores.mean(axis=0), scores.std(axis=0), marker="o", capsize=3, label=predictor
    )
panel.set_xscale("log", base=2)
panel.set(xlabel="passes over the samples", ylabel="test accuracy, mean and sd of 4 orders")
panel.legend()
plt.show()
