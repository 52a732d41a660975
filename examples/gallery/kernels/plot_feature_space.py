"""
Circles become separable in a feature space
===========================================

The polynomial kernel of degree 2 is an inner product of monomials. In their space, two circles lie on two parallel
planes; `eigen_embedding` shows the same from the Gram matrix alone, for any kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from separatrix import Perceptron
from separatrix.kernels import Gaussian, Polynomial, eigen_embedding, quadratic_map

X, y = make_circles(120, noise=0.06, factor=0.5, random_state=0)
Z = quadratic_map(X)
print("the same inner products:", np.allclose(Z @ Z.T, Polynomial(2).block(X, X)))

# %%
# A linear perceptron on the monomials separates what no line in the plane can.

in_the_plane = Perceptron(predictor="average", tol=None, max_iter=50).fit(X, y)
in_feature_space = Perceptron(tol=None).fit(Z, y)
print(
    f"in the plane {in_the_plane.score(X, y):.2f}, on monomials {in_feature_space.score(Z, y):.2f}"
)

figure = plt.figure(figsize=(12, 4))
plane, cube, embedded = (
    figure.add_subplot(1, 3, 1),
    figure.add_subplot(1, 3, 2, projection="3d"),
    figure.add_subplot(1, 3, 3),
)
plane.scatter(*X.T, c=y, cmap="coolwarm", s=14)
plane.set(title="samples", aspect="equal")
cube.scatter(*Z.T[:3], c=y, cmap="coolwarm", s=14)
cube.set_title("monomials of degree 2")
E2 = eigen_embedding(Gaussian(1.0).block(X, X), n_components=2)
axes_of = np.asarray(E2[0] if isinstance(E2, tuple) else E2)
embedded.scatter(*axes_of.T[:2], c=y, cmap="coolwarm", s=14)
embedded.set_title("two leading axes of a Gaussian kernel")
plt.show()
