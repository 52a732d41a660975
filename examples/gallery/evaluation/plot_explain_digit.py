"""
What a linear model looks at
============================

Weights of a linear model are images: pixels in dark places matter. A prediction is the sum of weight times pixel, so each
pixel's part of the score can be drawn as well.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import LogisticRegression
from separatrix.plots import plot_features

digits = load_digits()
X, y = digits.data / 16, digits.target
model = LogisticRegression(C=0.1).fit(X[:1200], y[:1200])
weights = plot_features(model, shape=(8, 8))

# %%
# One digit: its pixels' contributions to the score of the predicted class against the runner-up.

row = 1200 + int(np.argmin(np.sort(model.predict_proba(X[1200:]), axis=1)[:, -1]))
first, second = np.argsort(-model.predict_proba(X[[row]])[0])[:2]
parts = (model.coef_[first] - model.coef_[second]) * X[row]
bound = np.abs(parts).max()
figure, (left, right) = plt.subplots(1, 2, figsize=(6.5, 3))
left.imshow(digits.images[row], cmap="gray_r")
left.set_title(f"a {y[row]}")
image = right.imshow(parts.reshape(8, 8), cmap="RdBu", vmin=-bound, vmax=bound)
right.set_title(f"blue speaks for {first}, red for {second}", fontsize=10)
figure.colorbar(image, ax=right, shrink=0.8)
for panel in (left, right):
    panel.set_axis_off()
plt.show()
