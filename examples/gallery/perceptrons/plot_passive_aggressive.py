"""
Passive-aggressive updates
==========================

The perceptron corrects by a fixed step; the passive-aggressive method moves just as far as the sample's margin needs, at most C.
A small C makes it steady when labels are wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import PassiveAggressiveClassifier, Perceptron

rng = np.random.default_rng(0)
direction = rng.normal(size=20)
X = rng.normal(size=(1500, 20))
clean = X @ direction > 0
shares = [0.0, 0.05, 0.1, 0.2, 0.3]
train, test = slice(0, 1000), slice(1000, None)
models = {
    "perceptron": Perceptron(max_iter=5, tol=None),
    "perceptron, averaged": Perceptron(max_iter=5, tol=None, predictor="average"),
    "passive-aggressive, C = 1": PassiveAggressiveClassifier(C=1.0, max_iter=5, tol=None),
    "passive-aggressive, C = 0.001": PassiveAggressiveClassifier(C=0.001, max_iter=5, tol=None),
}
figure, panel = plt.subplots(figsize=(6, 4))
for name, model in models.items():
    scores = []
    for share in shares:
        y = clean ^ (rng.random(len(clean)) < share)
        scores.append(model.fit(X[train], y[train]).score(X[test], clean[test]))
    panel.plot(shares, scores, marker="o", label=name)
panel.set(xlabel="share of wrong labels in training", ylabel="accuracy on clean test samples")
panel.legend(fontsize=8)
plt.show()
