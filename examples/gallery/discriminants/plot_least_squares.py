"""
The weakness of least squares
=============================

Squared errors punish samples that are far on the right side. A few of them, added to one class, turn the line of least squares;
logistic regression and the support vector machine do not move.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC, LeastSquaresClassifier, LogisticRegression

rng = np.random.default_rng(1)
X = np.vstack([rng.normal(size=(60, 2)) + [-1.5, 1], rng.normal(size=(60, 2)) + [1.5, -1]])
y = np.repeat([0, 1], 60)
far = rng.normal(scale=0.5, size=(15, 2)) + [9, -9.5]
models = {
    "least squares": LeastSquaresClassifier(),
    "logistic regression": LogisticRegression(),
    "linear SVM": SVC(kernel="linear"),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True)
cases = {
    "": (X, y),
    "with 15 easy samples far away": (np.vstack([X, far]), np.append(y, np.ones(15, int))),
}
for panel, (title, (A, b)) in zip(axes, cases.items(), strict=True):
    panel.scatter(*A.T, c=b, cmap="coolwarm", s=10)
    for (name, model), color in zip(models.items(), ("#111111", "#2ca02c", "#9467bd"), strict=True):
        model.fit(A, b)
        weights, bias = model.coef_.ravel()[-2:], np.ravel(model.intercept_)[-1]
        xs = np.array([-5.0, 10.0])
        panel.plot(
            xs,
            -(bias + weights[0] * xs) / weights[1],
            color=color,
            label=f"{name}: {model.score(X, y):.2f}",
        )
    panel.set(xlim=(-5, 11), ylim=(-12, 5), title=title)
    panel.legend(title="accuracy on the first 120", fontsize=8)
plt.show()
