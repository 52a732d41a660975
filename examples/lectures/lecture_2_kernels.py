"""
2. Kernels
==========

An algorithm that uses samples only in inner products works in any space that has inner products. A kernel is such an inner product,
computed without going there.

In front of a class: start ``separatrix workbench`` and open the prepared scene
`story=xor <http://127.0.0.1:8642/#story=xor>`_ to see the plane lifted by the quadratic map, or
`story=gamma <http://127.0.0.1:8642/#story=gamma>`_ to watch gamma overfit.

From monomials to a kernel
--------------------------

Map a sample of the plane to its monomials of degree two, :math:`\\phi(x) = (x_1^2, x_2^2, \\sqrt2 x_1 x_2)`. Then

.. math:: \\langle\\phi(x), \\phi(z)\\rangle = \\langle x, z\\rangle^2.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import SVCCV, KernelPerceptron
from separatrix.kernels import Gaussian, Linear, Polynomial, is_positive_semidefinite, quadratic_map
from separatrix.kernels.gram import SharedProducts

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
print(np.allclose(quadratic_map(X) @ quadratic_map(Z).T, Polynomial(2).block(X, Z)))

# %%
# The number of monomials of degree d in n features is :math:`\binom{n+d-1}{d}`; a 16 x 16 image has about
# :math:`9.5\cdot 10^{9}` of degree 5. The kernel costs one inner product.
#
# Which functions are kernels?
# ----------------------------
#
# **Mercer.** :math:`k` is an inner product in some space if and only if every Gram matrix :math:`K_{ij} = k(x_i, x_j)` is positive
# semi-definite: :math:`c^\top K c \ge 0` for all :math:`c`.

points = rng.normal(size=(30, 2))
distance = np.linalg.norm(points[:, None] - points[None], axis=2)
candidates = {
    "Gaussian": Gaussian(1.0).block(points, points),
    "polynomial, coef0 = 1": Polynomial(3, coef0=1.0).block(points, points),
    "minus the distance": -distance,
    "triangle, 1 - min(d, 1)": 1 - np.minimum(distance, 1),
}
for name, K in candidates.items():
    print(
        f"{name:26} lowest eigenvalue {np.linalg.eigvalsh(K)[0]:9.4f}  {is_positive_semidefinite(K)}"
    )

# %%
# Sums, products and positive multiples of kernels are kernels; the elements of :math:`K` are all that a kernel machine sees.

K = (Linear() + 2.0 * Gaussian(0.5)) * Polynomial(2)
print(K, is_positive_semidefinite(K.block(points, points)))

# %%
# The kernel trick
# ----------------
#
# The weights of a perceptron are a sum of the samples it got wrong, :math:`w = \sum_i \alpha_i y_i x_i`, so scores are
# :math:`\sum_i \alpha_i y_i \langle x_i, x\rangle`. Replace the inner product:

digits = load_digits()
A, labels = digits.data / 16, digits.target
for kernel in (Polynomial(2), Polynomial(4), Gaussian(0.05)):
    model = KernelPerceptron(kernel).fit(A[:1000], labels[:1000])
    accuracy = model.score(A[1000:], labels[1000:])
    print(f"{kernel!r:48} {len(model.support_):4} support vectors, test accuracy {accuracy:.3f}")

# %%
# One Gram matrix for many kernels
# --------------------------------
#
# Polynomial and Gaussian kernels are functions of the same inner products, :math:`\|x-z\|^2 = \|x\|^2 + \|z\|^2 - 2\langle x,
# z\rangle`. They are computed once.

kernels = [Polynomial(2), Polynomial(3), Gaussian(0.02), Gaussian(0.1)]
figure, axes = plt.subplots(1, 4, figsize=(11, 3))
order = np.argsort(labels[:300], kind="stable")
for panel, kernel, gram in zip(
    axes, kernels, SharedProducts(A[:300][order]).grams(kernels), strict=True
):
    panel.imshow(gram.matrix, cmap="viridis")
    panel.set_title(repr(kernel).split(", gamma=1.0")[0], fontsize=9)
    panel.set_axis_off()
plt.show()

# %%
# Exercises
# ---------
#
# 1. Show that :math:`k(x, z) = \cos(x - z)` is a kernel on the line, by finding :math:`\phi`. Check it with a Gram matrix.
# 2. Show that a Gaussian kernel with a large gamma makes every training set separable. Why is that bad?
# 3. Choose the width of a Gaussian for 500 digits by cross-validation.

# %%
# Solution 1
# ----------
# :math:`\cos(x - z) = \cos x\cos z + \sin x\sin z`, so :math:`\phi(x) = (\cos x, \sin x)`.

line = rng.normal(size=20)
K = np.cos(line[:, None] - line[None])
print(is_positive_semidefinite(K), "rank", np.linalg.matrix_rank(K))

# %%
# Solution 2
# ----------
# K approaches the identity: the samples are orthogonal in feature space, and any labels can be learned, also random ones.

noise = rng.integers(0, 2, 200)
model = KernelPerceptron(Gaussian(50.0)).fit(A[:200], noise)
print("training accuracy on random labels:", model.score(A[:200], noise))

# %%
# Solution 3
# ----------

search = SVCCV(Cs=[1, 10], gammas=[0.005, 0.02, 0.05, 0.2], cv=5).fit(A[:500], labels[:500])
print(search.best_params_, round(search.best_score_, 3))
