"""
The number of neighbours
========================

One search finds the accuracies of all k: the neighbours of a sample for k = 30 contain those for all smaller k. Each sample is left
out in turn, so no test set is needed for the choice.
"""

from sklearn.datasets import load_digits

from separatrix import KNeighborsClassifier
from separatrix.plots import plot_k

X, y = load_digits(return_X_y=True)
train, test = slice(0, 1200), slice(1200, None)
model = KNeighborsClassifier(k_max=40).fit(X[train], y[train])
print(f"best k {model.best_k_}, leave-one-out accuracy {model.accuracy_by_k_.max():.3f}")
figure = plot_k(
    {"each left out": model, "test": model.score_by_k(X[test], y[test], 40)},
    n={"test": len(y[test])},
)

# %%
# Weighted votes change little near the best k, and protect against a k that is too large.

weighted = KNeighborsClassifier(k_max=40, weights="distance").fit(X[train], y[train])
both = plot_k({"uniform votes": model, "weighted by distance": weighted})
