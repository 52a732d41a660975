"""
One of many lines: perceptron and largest margin
================================================

Infinitely many lines separate two separable classes. The perceptron stops at the first one; the support vector
machine takes the one with the widest band without samples.
"""

from sklearn.datasets import load_iris

from separatrix import SVC, FisherDiscriminant, Perceptron
from separatrix.plots import plot_separators

X, y = load_iris(return_X_y=True)
X, y = X[:100, 2:], y[:100]
models = {
    "perceptron": Perceptron(tol=None),
    "perceptron, another order": Perceptron(tol=None, random_state=3),
    "largest margin": SVC(C=1e6, kernel="linear"),
}
figure = plot_separators({name: model.fit(X, y) for name, model in models.items()}, X, y)

# %%
# The margin is the distance from the line to the nearest sample. The support vector machine computes it as
# ``margin_width_ / 2``, and certifies that no other line has a larger one, up to the duality gap.

svm = models["largest margin"]
print(f"margin {svm.margin_width_[0] / 2:.3f}, relative duality gap {svm.dual_gap_[0]:.1e}")
print(f"support vectors: {svm.support_vectors_.tolist()}")

# %%
# Fisher's direction looks at means and scatter instead, and does not care about the nearest samples.

fisher = FisherDiscriminant(threshold="midpoint").fit(X, y)
print(f"training accuracy of Fisher's discriminant: {fisher.score(X, y):.2f}")
