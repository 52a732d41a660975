"""
Three classes from two-class boundaries
=======================================

A method for two classes serves three in several ways: each class against the rest, each pair, or one score for each
class. The first two leave parts of the plane to no class; Duda and Hart (1973) drew them. The grey parts
below are those.
"""

from sklearn.datasets import load_iris

from separatrix import LinearSVC, decision_regions
from separatrix.plots import plot_regions

X, y = load_iris(return_X_y=True)
X = X[:, 2:]
names = ["petal length, cm", "petal width, cm"]

# %%
# One boundary for each class but the last: positions that two classes claim belong to none.

rest = plot_regions(LinearSVC(), X, y, rule="rest", names=names)

# %%
# One boundary for each pair of classes, with a vote.

pairs = plot_regions(LinearSVC(), X, y, rule="pairs", names=names)

# %%
# The highest score wins: no position is left over. This is what `predict` does.

model = LinearSVC().fit(X, y)
predicted = plot_regions(model, X, y, names=names)

for rule in ("rest", "each", "pairs", "predict"):
    share = decision_regions(LinearSVC(), X, y, rule=rule).indeterminate
    print(f"{rule:8} {share:6.1%} of the area belongs to no class")
