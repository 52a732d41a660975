"""
C of logistic regression
========================

C is the variance of the prior of every weight: a small C pulls all weights towards 0 and the probabilities towards the
frequencies of the classes; a large one follows the training samples, also into their noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from separatrix import LogisticRegression

X, y = make_blobs(60, centers=[[-1.2, -0.6], [1.2, 0.6]], cluster_std=1.0, random_state=3)
span = np.linspace(-4, 4, 150)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharex=True, sharey=True)
for panel, C in zip(axes, (0.003, 0.3, 300.0), strict=True):
    P = LogisticRegression(C=C).fit(X, y).predict_proba(plane)[:, 1].reshape(150, 150)
    panel.contourf(span, span, P, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.6)
    lines = panel.contour(span, span, P, levels=[0.1, 0.5, 0.9], colors="black", linewidths=1)
    panel.clabel(lines, fmt="%.1f", fontsize=8)
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=12, edgecolor="white", linewidth=0.4)
    panel.set_title(f"C = {C:g}", fontsize=10)
    panel.set_xlabel("first feature")
axes[0].set_ylabel("second feature")
plt.show()

# %%
# Thirty correlated features and 100 samples to learn from: the weights by C, and the log loss. The training loss only falls;
# the loss of the other samples has a minimum, and beyond it the probabilities are too sure.

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(scale(X), y, train_size=100, random_state=0)
Cs = np.logspace(-4, 4, 17)
fits = [LogisticRegression(C=C, max_iter=1000).fit(X, y) for C in Cs]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.semilogx(Cs, np.vstack([fit.coef_[0] for fit in fits]), linewidth=1)
left.set(xlabel="C", ylabel="weight of each feature")
right.loglog(Cs, [log_loss(y, fit.predict_proba(X)) for fit in fits], label="training")
right.loglog(Cs, [log_loss(y_test, fit.predict_proba(X_test)) for fit in fits], label="test")
right.set(xlabel="C", ylabel="log loss")
right.legend()
plt.show()
