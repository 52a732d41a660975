"""
Approximating a kernel by features
==================================

`Nystroem` and `RandomFourier` turn a kernel into explicit features, so that a linear method can be used on more samples
than a Gram matrix has room for. Nothing becomes approximate by itself: these maps are asked for by name, and their error
falls with the number of components.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from separatrix import SVC, LeastSquaresClassifier, Nystroem, RandomFourier
from separatrix.kernels import Gaussian

X, y = load_digits(return_X_y=True)
X = X / 16
train, test = slice(0, 600), slice(600, None)
K = Gaussian(0.05).block(X[train], X[train])
counts = [20, 50, 100, 200]
errors, accuracies = {}, {}
for name in ("Nystroem", "RandomFourier"):
    for count in counts:
        if name == "Nystroem":
            feature_map = Nystroem(kernel=Gaussian(0.05), n_components=count, random_state=0)
        else:
            feature_map = RandomFourier(gamma=0.05, n_components=count, random_state=0)
        Z = feature_map.fit_transform(X[train])
        errors.setdefault(name, []).append(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(K))
        model = make_pipeline(feature_map, LeastSquaresClassifier(ridge=0.1)).fit(
            X[train], y[train]
        )
        accuracies.setdefault(name, []).append(model.score(X[test], y[test]))

exact = SVC(C=1.0, kernel=Gaussian(0.05)).fit(X[train], y[train]).score(X[test], y[test])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
for name in errors:
    left.loglog(counts, errors[name], marker="o", label=name)
    right.semilogx(counts, accuracies[name], marker="o", label=name)
right.axhline(exact, color="black", linewidth=1, linestyle="--", label="exact kernel")
left.set(xlabel="components", ylabel="relative error of the matrix")
right.set(xlabel="components", ylabel="test accuracy")
right.legend()
plt.show()
