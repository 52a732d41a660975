"""
Linear and quadratic discriminants
==================================

Both model each class by a Gaussian. With one covariance for all classes boundaries are lines; with one for each they are
quadrics, at the price of more numbers to estimate.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [3, 1], [0.5, 3.5]])
shapes = [np.eye(2), [[2.0, 0.9], [0.3, 0.6]], [[0.4, -0.3], [0.5, 1.4]]]
X = np.vstack(
    [rng.normal(size=(80, 2)) @ np.array(A).T + c for A, c in zip(shapes, centres, strict=True)]
)
y = np.repeat([0, 1, 2], 80)
span = np.linspace(-5, 8, 200)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharex=True, sharey=True)
models = (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis())
for panel, model in zip(axes, models, strict=True):
    classes = model.fit(X, y).predict(plane).reshape(200, 200)
    panel.contourf(
        span, span, classes, levels=[-0.5, 0.5, 1.5, 2.5], colors=["#cfe0f2", "#f8d9c4", "#d4ecd0"]
    )
    panel.scatter(*X.T, c=np.array(["#1f77b4", "#d62728", "#2ca02c"])[y], s=10)
    panel.set(xlim=(-5, 8), ylim=(-5, 8))
    panel.set_title(
        f"{type(model).__name__}\ntraining accuracy {model.score(X, y):.2f}", fontsize=10
    )
plt.show()

# %%
# With few samples and many features the quadratic method has too much to estimate; a little regularisation, ``reg_param``,
# helps, and so does the linear method with shrinkage.

directions, counts = rng.normal(size=(2, 25)), [40, 80, 160, 400, 1000]
results = {"LDA": [], "LDA, shrinkage": [], "QDA": [], "QDA, reg_param=0.3": []}
fresh_y = rng.integers(0, 2, 3000)
fresh = rng.normal(size=(3000, 25)) + 0.35 * directions[fresh_y]
for count in counts:
    labels = np.arange(count) % 2
    samples = rng.normal(size=(count, 25)) + 0.35 * directions[labels]
    for name, model in (
        ("LDA", LinearDiscriminantAnalysis()),
        ("LDA, shrinkage", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ("QDA", QuadraticDiscriminantAnalysis(reg_param=1e-6)),
        ("QDA, reg_param=0.3", QuadraticDiscriminantAnalysis(reg_param=0.3)),
    ):
        results[name].append(model.fit(samples, labels).score(fresh, fresh_y))
figure, panel = plt.subplots(figsize=(6, 4))
for name, scores in results.items():
    panel.semilogx(counts, scores, marker="o", label=name)
panel.set(xlabel="training samples, 25 features", ylabel="test accuracy")
panel.legend()
plt.show()
