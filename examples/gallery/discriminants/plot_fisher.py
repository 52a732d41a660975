"""
Fisher's projection
===================

The directions that spread the class means most, relative to the scatter within classes. 64 pixels of a digit become two numbers,
and most classes are already apart.
"""

from sklearn.datasets import load_digits, load_iris

from separatrix import FisherDiscriminant
from separatrix.plots import plot_embedding

digits = load_digits()
fisher = FisherDiscriminant(n_components=2, ridge=1.0).fit(digits.data[:1200], digits.target[:1200])
training = plot_embedding(fisher, digits.data[:1200], digits.target[:1200])

# %%
# The same axes with digits that were not used to find them: the true picture.

fresh = plot_embedding(fisher, digits.data[1200:], digits.target[1200:])

# %%
# With two classes there is one direction. Iris, versicolor against virginica:

X, y = load_iris(return_X_y=True)
two = FisherDiscriminant(threshold="midpoint").fit(X[50:], y[50:])
line = plot_embedding(two, X[50:], y[50:])
print(f"training accuracy {two.score(X[50:], y[50:]):.2f}")
