"""
The boundaries of all families
==============================

Three sets of points and ten classifiers. A linear method draws a line whatever the points look like; kernel methods
and nearest neighbours bend. None of them wins on all three.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_classification, make_moons
from sklearn.preprocessing import StandardScaler

from separatrix import (
    SVC,
    GaussianNB,
    KernelLogisticRegression,
    KernelPerceptron,
    KNeighborsClassifier,
    LeastSquaresClassifier,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    Perceptron,
    QuadraticDiscriminantAnalysis,
)
from separatrix.kernels import Gaussian

MODELS = {
    "perceptron, averaged": Perceptron(predictor="average", tol=None, max_iter=20),
    "least squares": LeastSquaresClassifier(),
    "logistic regression": LogisticRegression(),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "quadratic discriminant": QuadraticDiscriminantAnalysis(),
    "naive Bayes": GaussianNB(),
    "nearest neighbours": KNeighborsClassifier(n_neighbors=5),
    "kernel perceptron": KernelPerceptron(
        Gaussian(1.0), predictor="average", max_iter=10, min_gain=0.01
    ),
    "kernel logistic": KernelLogisticRegression(kernel=Gaussian(1.0)),
    "SVM, Gaussian": SVC(kernel=Gaussian(1.0)),
}
moons = make_moons(150, noise=0.25, random_state=0)
circles = make_circles(150, noise=0.15, factor=0.5, random_state=1)
gaussians = make_classification(
    150, n_features=2, n_redundant=0, n_clusters_per_class=1, class_sep=0.9, random_state=4
)

# %%
# Two thirds of the points train, one third tests; the number in a panel is the accuracy on the test points. On the two moons and the
# circles the linear methods, in the first rows, cannot follow.


def draw(X, y):
    """One panel for each model."""
    X = StandardScaler().fit_transform(X)
    span = np.linspace(-2.6, 2.6, 80)
    plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
    _, axes = plt.subplots(2, 5, figsize=(11, 4.7), sharex=True, sharey=True)
    for panel, (title, model) in zip(axes.ravel(), MODELS.items(), strict=True):
        model.fit(X[:100], y[:100])
        classes = model.predict(plane).reshape(80, 80)
        panel.contourf(span, span, classes, levels=[-1, 0.5, 2], colors=["#cfe0f2", "#f8d9c4"])
        panel.scatter(
            *X[:100].T, c=y[:100], cmap="coolwarm", s=10, edgecolor="white", linewidth=0.3
        )
        panel.set(xticks=[], yticks=[], xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))
        panel.text(2.5, -2.5, f"{model.score(X[100:], y[100:]):.2f}", ha="right", fontsize=9)
        panel.set_title(title, fontsize=9)
    plt.show()


draw(*moons)

# %%
# A circle inside a ring: a quadratic boundary is enough.

draw(*circles)

# %%
# Two Gaussians of different shape, where all methods do well.

draw(*gaussians)
