"""
A program written for scikit-learn, without changing it
=======================================================

``separatrix.accel`` puts the solvers into scikit-learn's own classes. A program keeps its imports; results agree within the
tolerance, and the report says which calls were served.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from separatrix import accel

X, y = load_digits(return_X_y=True)
X = X / 16


def program():
    """Somebody else's code: a grid search with scikit-learn."""
    grid = {"C": [1, 10], "gamma": [0.02, 0.05]}
    return GridSearchCV(SVC(), grid, cv=3).fit(X[:900], y[:900])


seconds = {}
start = time.perf_counter()
plain = program()
seconds["scikit-learn"] = time.perf_counter() - start
with accel.patched():
    SVC().fit(X[:50], y[:50])  # compiled before the clock starts
    start = time.perf_counter()
    fast = program()
    seconds["with accel"] = time.perf_counter() - start
print(plain.best_params_, fast.best_params_)
same = (plain.predict(X[900:]) == fast.predict(X[900:])).mean()
print(f"predictions that agree: {same:.1%}")

# %%
# Times on the machine that built this page; on small data the difference is small, and it grows with the samples.

figure, panel = plt.subplots(figsize=(6, 1.6))
panel.barh(list(seconds), list(seconds.values()), color="#3b6ea5")
panel.set_xlabel(f"seconds, {np.prod(X[:900].shape):,} numbers")
plt.show()
