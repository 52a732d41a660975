"""
The perceptron, pass by pass
============================

The perceptron visits the samples one after the other. When it misclassifies one, it adds it to the weights, or subtracts it;
otherwise it does nothing. The panels show the line after each pass, and the samples that were corrected in it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from separatrix import Perceptron

X, y = make_blobs(60, centers=[[-2.0, -1.0], [1.6, 1.4]], cluster_std=1.0, random_state=5)
whole = Perceptron(tol=None, shuffle=False).fit(X, y)
print(
    f"stopped after {whole.n_iter_} passes: {whole.stop_}; corrections {whole.mistakes_.tolist()}"
)

# %%
# Fits of 1, 2, ... passes over the rows in their order are the stages of the whole fit.

stages = min(whole.n_iter_, 6)
figure, axes = plt.subplots(
    1, stages, figsize=(2.9 * stages, 3.1), sharex=True, sharey=True, squeeze=False
)
limits = np.array([X[:, 0].min() - 1, X[:, 0].max() + 1])
model = Perceptron(tol=None, shuffle=False)
for stage, panel in enumerate(axes[0], start=1):
    model.partial_fit(X, y, classes=[0, 1])
    (a, b), c = model.coef_[0], model.intercept_[0]
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=14)
    wrong = X[model.predict(X) != y]
    panel.scatter(*wrong.T, s=70, facecolor="none", edgecolor="black")
    panel.plot(limits, -(c + a * limits) / b, color="black")
    panel.set_title(f"after pass {stage}:\n{len(wrong)} wrong", fontsize=10)
    panel.set(ylim=(X[:, 1].min() - 1, X[:, 1].max() + 1))
plt.show()
