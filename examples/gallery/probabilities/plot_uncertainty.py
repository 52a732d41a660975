"""
Logistic regression with uncertainty
====================================

The Laplace approximation gives each weight a standard error, and predictions that are less sure far from the samples: the
probability of a point estimate depends on the distance from the boundary only.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import scale

from separatrix import LogisticRegression

X, y = make_blobs(30, centers=[[-1.5, 0], [1.5, 0.5]], cluster_std=0.9, random_state=2)
span = np.linspace(-9, 9, 160)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True)
models = {
    "point estimate": LogisticRegression(),
    "Laplace approximation": LogisticRegression(posterior="laplace"),
}
for panel, (name, model) in zip(axes, models.items(), strict=True):
    P = model.fit(X, y).predict_proba(plane)[:, 1].reshape(160, 160)
    panel.contourf(span, span, P, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.6)
    panel.contour(span, span, P, levels=[0.1, 0.5, 0.9], colors="black", linewidths=1)
    panel.scatter(*X.T, c=y, cmap="coolwarm", s=14, edgecolor="white", linewidth=0.4)
    panel.set_title(f"{name}: lines at 10, 50 and 90 %", fontsize=10)
plt.show()

# %%
# Weights with standard errors, on scaled features. The evidence of the data chooses the strength of the prior.

cells = load_breast_cancer()
model = LogisticRegression(C="evidence", posterior="laplace").fit(scale(cells.data), cells.target)
order = np.argsort(np.abs(model.coef_[0]))[-12:]
figure, panel = plt.subplots(figsize=(7, 4))
panel.errorbar(
    model.coef_[0, order],
    range(12),
    xerr=2 * model.coef_std_[0, order],
    fmt="o",
    capsize=3,
    color="#3b6ea5",
)
panel.axvline(0, color="black", linewidth=0.8)
panel.set_yticks(range(12), cells.feature_names[order], fontsize=8)
panel.set_xlabel("weight ± 2 standard errors")
plt.show()
