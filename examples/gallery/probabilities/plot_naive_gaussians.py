"""
What naive Bayes assumes
========================

Within a class, features are taken to be independent: the ellipses of a naive Gaussian have axes parallel to those of the
features. Correlated features break the assumption. The boundary is then not the best one, and evidence is counted twice.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from separatrix import GaussianNB, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(0)
covariance = [[1.0, 0.85], [0.85, 1.0]]
y = np.arange(4300) % 2
X = rng.multivariate_normal([0, 0], covariance, size=4300) + np.array([[-0.6, 0.6], [0.6, -0.6]])[y]
train, test = slice(0, 300), slice(300, None)
span = np.linspace(-4, 4, 150)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
models = {"naive Bayes": GaussianNB(), "quadratic discriminant": QuadraticDiscriminantAnalysis()}
for panel, (name, model) in zip(axes, models.items(), strict=True):
    P = model.fit(X[train], y[train]).predict_proba(plane)[:, 1].reshape(150, 150)
    panel.scatter(*X[train].T, c=y[train], cmap="coolwarm", s=8)
    for label, color in enumerate(("#1f4e8c", "#a33b1f")):
        members = X[train][y[train] == label]
        C = np.cov(members.T)
        C = np.diag(np.diag(C)) if name == "naive Bayes" else C
        away = plane - members.mean(axis=0)
        squared = (away @ np.linalg.inv(C) * away).sum(axis=1).reshape(150, 150)
        panel.contour(span, span, squared, levels=[1, 4], colors=color)  # 1 and 2 deviations
    panel.contour(span, span, P, levels=[0.5], colors="black", linewidths=2)
    panel.set(title=f"{name}: test accuracy {model.score(X[test], y[test]):.2f}")
    panel.set(xlabel="first feature", ylabel="second feature")
plt.show()

# %%
# Two features that are independent, as assumed, and each of them repeated: nothing new is known, and naive Bayes becomes surer
# with every copy. The accuracy stays, the log loss grows. (The constant guess 1/2 has a log loss of 0.69.)

X = rng.normal(size=(4300, 2)) + np.array([[-0.6, 0.6], [0.6, -0.6]])[y]
copies, losses, accuracies = [1, 2, 4, 8, 16], [], []
for count in copies:
    Z = np.tile(X, count)
    model = GaussianNB().fit(Z[train], y[train])
    losses.append(log_loss(y[test], model.predict_proba(Z[test])))
    accuracies.append(model.score(Z[test], y[test]))
figure, panel = plt.subplots(figsize=(6, 3.6))
panel.plot(copies, losses, marker="o", label="log loss")
panel.plot(copies, accuracies, marker="s", label="accuracy")
panel.axhline(np.log(2), color="black", linestyle=":", linewidth=1, label="log loss of guessing")
panel.set(xlabel="copies of each feature", ylabel="on 4000 test samples", xticks=copies)
panel.legend()
plt.show()
