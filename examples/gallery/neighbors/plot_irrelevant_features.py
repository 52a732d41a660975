"""
Scales and irrelevant features
==============================

A distance adds up all features alike. Features of pure noise bury the useful ones, and a feature with large numbers counts
more than one with small numbers: nearest neighbours learn neither to ignore nor to weigh a feature.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_moons
from sklearn.preprocessing import scale

from separatrix import SVC, KNeighborsClassifier, LogisticRegression

X, y = make_moons(2300, noise=0.25, random_state=0)
noise = np.random.default_rng(0).normal(size=(2300, 64))
train, test = slice(0, 300), slice(300, None)
counts = [0, 2, 4, 8, 16, 32, 64]
models = {
    "k-NN, k = 15": KNeighborsClassifier(15),
    "Gaussian SVM": SVC(),
    "logistic regression": LogisticRegression(),
}
figure, panel = plt.subplots(figsize=(6.5, 3.8))
for name, model in models.items():
    accuracy = []
    for count in counts:
        Z = np.column_stack([scale(X), noise[:, :count]])
        accuracy.append(model.fit(Z[train], y[train]).score(Z[test], y[test]))
    panel.plot(counts, accuracy, marker="o", label=name)
panel.set(xlabel="features of noise beside the 2 useful ones", ylabel="test accuracy")
panel.legend()
plt.show()

# %%
# Wine has 13 features; one, proline, is in the hundreds, most are below 10. The accuracy for every k, with each sample left out.

X, y = load_wine(return_X_y=True)
figure, panel = plt.subplots(figsize=(6.5, 3.6))
for name, Z in (("as measured", X), ("scaled to unit variance", scale(X))):
    panel.plot(range(1, 31), KNeighborsClassifier(k_max=30).fit(Z, y).accuracy_by_k_, label=name)
panel.set(xlabel="k", ylabel="leave-one-out accuracy")
panel.legend()
plt.show()
