"""
A program written for scikit-learn, without changing it
=======================================================

``separatrix.accel`` puts the solvers into scikit-learn's own classes. A program keeps its imports; results agree within the
tolerance, and the report says which calls were served.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from separatrix import accel

X, y = load_digits(return_X_y=True)
X = X / 16
GRID = {"C": [1, 10, 100], "gamma": [0.02, 0.05, 0.1]}


def program(n):
    """Somebody else's code: a grid search with scikit-learn over n samples."""
    return GridSearchCV(SVC(), GRID, cv=3).fit(X[:n], y[:n])


def measure(n):
    """The search, and the seconds of processor time that it took on all threads."""
    start = time.process_time()
    found = program(n)
    return found, time.process_time() - start


sizes = [300, 600, 1200, 1797]
plain = [measure(n) for n in sizes]
with accel.patched():
    fast = [measure(n) for n in sizes]
print(plain[-1][0].best_params_, fast[-1][0].best_params_)
same = (plain[-1][0].predict(X) == fast[-1][0].predict(X)).mean()
print(f"predictions that agree: {same:.1%}")

# %%
# Small searches are left to scikit-learn, which takes less time for them than loading the compiled code. Larger ones share one
# Gram matrix for each gamma, and the times part; they are of the machine that built this page.

figure, panel = plt.subplots(figsize=(6, 3.4))
panel.plot(sizes, [seconds for _, seconds in plain], "o-", color="#b5542f", label="scikit-learn")
panel.plot(sizes, [seconds for _, seconds in fast], "s-", color="#3b6ea5", label="with accel")
panel.set(xscale="log", yscale="log", xlabel="samples", ylabel="seconds of processor time")
panel.set_xticks(sizes, sizes)
panel.set_yticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
panel.minorticks_off()
panel.legend()
plt.show()
