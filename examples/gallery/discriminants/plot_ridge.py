"""
The ridge of least squares
==========================

A ridge penalises large weights. With few samples the fit without one follows the noise; with a large one all scores are nearly
equal. One factorisation gives the exact leave-one-out error of every ridge, so that no test set is needed to choose it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import LeastSquaresClassifier

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order] / 16, y[order]
train, test = slice(0, 200), slice(200, None)
search = LeastSquaresClassifier(ridge="loo").fit(X[train], y[train])
ridges = search.loo_.ridges
fits = [LeastSquaresClassifier(ridge=ridge).fit(X[train], y[train]) for ridge in ridges]
print(
    f"chosen by leave-one-out: {search.ridge_:.3g}, test error {1 - search.score(X[test], y[test]):.3f}"
)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.semilogx(ridges, [1 - fit.score(X[train], y[train]) for fit in fits], label="training")
left.semilogx(ridges, search.loo_.error, label="leave-one-out, from one fit")
left.semilogx(ridges, [1 - fit.score(X[test], y[test]) for fit in fits], label="test")
left.axvline(search.ridge_, color="black", linewidth=0.8, linestyle=":")
left.set(xlabel="ridge (dotted: chosen)", ylabel="share of digits in error")
left.legend()
right.loglog(ridges, [np.linalg.norm(fit.coef_) for fit in fits], color="black")
right.set(xlabel="ridge", ylabel="norm of all weights")
plt.show()
