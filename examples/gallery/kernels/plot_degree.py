"""
The degree of a polynomial kernel
=================================

A polynomial kernel of degree d sees products of up to d features. Degree 1 is a line; each further degree lets the boundary
bend once more. Two moons need degree 3. Beyond it the boundary bends around single samples, and new samples gain nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import scale

from separatrix import SVC
from separatrix.kernels import Polynomial

X, y = make_moons(2200, noise=0.3, random_state=4)
X = scale(X)
train, test = slice(0, 150), slice(150, None)
span = np.linspace(-2.6, 2.6, 150)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.6), sharex=True, sharey=True)
for panel, degree in zip(axes, (1, 2, 3, 12), strict=True):
    model = SVC(C=1, kernel=Polynomial(degree, coef0=1.0)).fit(X[train], y[train])
    scores = model.decision_function(plane).reshape(150, 150)
    panel.contourf(span, span, scores > 0, levels=[-1, 0.5, 2], colors=["#cfe0f2", "#f8d9c4"])
    panel.scatter(*X[train].T, c=y[train], cmap="coolwarm", s=8)
    panel.set_title(
        f"degree {degree}: test accuracy {model.score(X[test], y[test]):.2f}", fontsize=10
    )
    panel.set_xlabel("first feature")
axes[0].set_ylabel("second feature")
plt.show()

# %%
# The constant ``coef0`` decides whether lower degrees take part. Without it (0, the default) only products of exactly d features
# count: an even degree gives x and -x the same score, an odd one opposite scores. Use 1, unless the samples are directions.

degrees = range(1, 6)
figure, panel = plt.subplots(figsize=(6, 3.6))
for coef0, style in ((1.0, "o-"), (0.0, "s--")):
    accuracy = [
        SVC(kernel=Polynomial(degree, coef0=coef0)).fit(X[train], y[train]).score(X[test], y[test])
        for degree in degrees
    ]
    panel.plot(degrees, accuracy, style, label=f"coef0 = {coef0:g}")
panel.set(xlabel="degree", ylabel="test accuracy", xticks=degrees)
panel.legend()
plt.show()
