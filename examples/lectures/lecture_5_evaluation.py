"""
5. Evaluation
=============

How good is a classifier on samples that it has not seen, how sure is that number, and how not to fool oneself.

In front of a class: start ``separatrix workbench`` and open the prepared scene
`story=gamma <http://127.0.0.1:8642/#story=gamma>`_ to watch both errors along one slider, or
`story=ties <http://127.0.0.1:8642/#story=ties>`_ to see where a rule gives no class.

Training error lies
-------------------
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine

from separatrix import SVC, KNeighborsClassifier, LinearDiscriminantAnalysis, compare, evaluate
from separatrix.kernels import Gaussian
from separatrix.plots import plot_confusion

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X = X / 16
order = rng.permutation(len(y))
train, test = order[:600], order[600:]
gammas = [0.001, 0.01, 0.05, 0.2, 1.0, 5.0]
fits = [SVC(C=10, kernel=Gaussian(gamma)).fit(X[train], y[train]) for gamma in gammas]
figure, panel = plt.subplots(figsize=(5.5, 3.4))
panel.semilogx(
    gammas, [1 - fit.score(X[train], y[train]) for fit in fits], marker="o", label="training error"
)
panel.semilogx(
    gammas, [1 - fit.score(X[test], y[test]) for fit in fits], marker="o", label="test error"
)
panel.set_xlabel("gamma")
panel.legend()
plt.show()

# %%
# One split is one draw
# ---------------------
#
# The test error of one split varies. Repeated splits show by how much.

found = evaluate(LinearDiscriminantAnalysis(), X, y, repeats=30, progress=False)
print(
    f"test error {100 * found.test_error.mean():.2f} %, sd over splits {100 * found.test_error.std():.2f} %"
)
figure, panel = plt.subplots(figsize=(5.5, 2.8))
panel.hist(100 * found.test_error.ravel(), bins=12, color="#3b6ea5")
panel.set(xlabel="test error %, one split each", ylabel="splits")
plt.show()

# %%
# Splits overlap in their training parts, so their errors are not independent, and the usual t-test is too sure. Nadeau and Bengio's
# correction multiplies the variance by :math:`1/n + n_{test}/n_{train}` instead of :math:`1/n`. `compare` uses it, with Holm's
# correction for several classifiers.

W, labels = load_wine(return_X_y=True)
print(compare(["lda", "knn", "gaussian-nb"], W, labels, cv=5, repeats=2, progress=False))

# %%
# Where are the mistakes?
# -----------------------

confusions = plot_confusion(found)

# %%
# Exercises
# ---------
#
# 1. Choose the best of 200 random features on *all* rows of random labels, then cross-validate. What accuracy do you get, and what
#    is the true one? Where should the choice have been?
# 2. How many test samples are needed to tell an error of 3 % from one of 4 %?
# 3. Choose k for nearest neighbours by leave-one-out, and report the accuracy on rows that had no part in the choice.

# %%
# Solution 1
# ----------
# Labels are random: no method can be better than 50 %. Choosing features on all rows leaks the labels of the test rows.

noise, coin = rng.normal(size=(60, 200)), np.tile([0, 1], 30)


def best_columns(A, b):
    """The ten columns whose means differ most between the classes."""
    return np.argsort(-np.abs(A[b == 0].mean(axis=0) - A[b == 1].mean(axis=0)))[:10]


def accuracy(choose_inside):
    """Five folds, with the columns chosen inside or outside of the training rows."""
    right = 0
    for fold in range(5):
        held = np.arange(60) % 5 == fold
        rows = ~held if choose_inside else np.ones(60, bool)
        columns = best_columns(noise[rows], coin[rows])
        model = LinearDiscriminantAnalysis().fit(noise[~held][:, columns], coin[~held])
        right += (model.predict(noise[held][:, columns]) == coin[held]).sum()
    return right / 60


print(
    f"chosen on all rows {accuracy(False):.2f}, chosen inside the training rows {accuracy(True):.2f}"
)

# %%
# Solution 2
# ----------
# The standard error of a share p is :math:`\sqrt{p(1-p)/n}`. For two standard errors of the difference of two independent
# estimates to be 1 %:

p, q = 0.03, 0.04
print(int(np.ceil(4 * (p * (1 - p) + q * (1 - q)) / 0.01**2)), "test samples")

# %%
# Solution 3
# ----------

model = KNeighborsClassifier(k_max=20).fit(X[train], y[train])
model.set_params(n_neighbors=model.best_k_)
print(
    f"k = {model.best_k_}: left out {model.accuracy_by_k_.max():.3f}, fresh rows {model.score(X[test], y[test]):.3f}"
)
