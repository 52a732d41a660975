"""
A kernel perceptron on digits
=============================

The kernel perceptron keeps the samples that it got wrong. On handwritten digits a polynomial kernel of degree 3 makes a clean
pass after a few epochs, with a small part of the digits as support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import KernelPerceptron
from separatrix.kernels import Polynomial
from separatrix.plots import plot_learning_curve

digits = load_digits()
X, y = digits.data / 16, digits.target
train, test = slice(0, 1200), slice(1200, None)
model = KernelPerceptron(Polynomial(3)).fit(X[train], y[train])
print(f"{model.stop_} after {model.n_iter_} passes, {len(model.support_)} support vectors")
print(f"test accuracy {model.score(X[test], y[test]):.3f}")
curve = plot_learning_curve(model)

# %%
# Accuracy and size of the model by degree. All of these degrees separate the training digits.

degrees = range(2, 8)
fits = [KernelPerceptron(Polynomial(degree), max_iter=20) for degree in degrees]
scores = [fit.fit(X[train], y[train]).score(X[test], y[test]) for fit in fits]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.plot(degrees, scores, marker="o")
left.set(xlabel="degree", ylabel="test accuracy")
right.bar(degrees, [len(fit.support_) for fit in fits], color="#3b6ea5")
right.set(xlabel="degree", ylabel="support vectors")
plt.show()

# %%
# The test digits that it gets wrong.

wrong = 1200 + np.flatnonzero(model.predict(X[test]) != y[test])[:8]
figure, axes = plt.subplots(1, len(wrong), figsize=(1.4 * len(wrong), 1.9))
for panel, row, guess in zip(axes, wrong, model.predict(X[wrong]), strict=True):
    panel.imshow(digits.images[row], cmap="gray_r")
    panel.set_title(f"{y[row]} as {guess}", fontsize=9)
    panel.set_axis_off()
plt.show()
