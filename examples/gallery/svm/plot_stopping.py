"""
Stopping early, and saying so
=============================

A fit that is stopped before its tolerance warns, with the number that it reached. What was reached can be used, and the
certificate says how good it is. ``warm_start`` continues.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from separatrix import SVC

X, y = load_digits(return_X_y=True)
X, y = X / 16, y % 2
train, test = slice(0, 1200), slice(1200, None)
steps = [50, 100, 200, 400, 800, 1600]
gaps, accuracies = [], []
for most in steps:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = SVC(C=10, gamma=0.05, max_iter=most, tol=1e-6).fit(X[train], y[train])
    gaps.append(model.dual_gap_[0])
    accuracies.append(model.score(X[test], y[test]))
    if caught and most == steps[0]:
        print(caught[0].message)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
left.loglog(steps, gaps, marker="o")
left.set(xlabel="steps", ylabel="relative duality gap")
right.semilogx(steps, accuracies, marker="o")
right.set(xlabel="steps", ylabel="test accuracy")
plt.show()

# %%
# The accuracy settles long before the gap is 1e-6: for predictions the default ``tol=1e-3`` is enough.
