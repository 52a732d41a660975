"""
What is computed once
=====================

The pieces of an experiment, from the inner products to the boundaries. An arrow means "is made from". Everything in one row shares
what is above it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix.kernels import Gaussian, Polynomial
from separatrix.kernels.gram import SharedProducts

rows = [
    ("inner products X Xᵀ", 1, "half of a symmetric matrix, by BLAS"),
    ("kernel matrices", 6, "element by element: degrees, widths"),
    ("folds and splits", 12, "rows and columns of a matrix"),
    ("pairs of classes", 18, "two slices: rows are sorted by class"),
    ("values of C", 24, "start from each other's coefficients"),
]
figure, panel = plt.subplots(figsize=(10, 4.6))
before = np.array([5.0])
for level, (name, count, words) in enumerate(rows):
    centres = np.linspace(2, 8, count) if count > 1 else np.array([5.0])
    width = min(2.4, 5.2 / count)
    for centre in centres:
        panel.add_patch(
            plt.Rectangle(
                (centre - width / 2, -level - 0.22), width, 0.44, color="#3b6ea5", alpha=0.85
            )
        )
    if level:
        for centre in centres:
            above = before[np.abs(before - centre).argmin()]
            panel.plot(
                [above, centre], [-level + 0.78, -level + 0.22], color="#888888", linewidth=0.7
            )
    before = centres
    panel.text(0.9, -level, name, ha="right", va="center", fontsize=11)
    panel.text(8.6, -level, words, ha="left", va="center", fontsize=9, color="#444444")
panel.set(xlim=(-1.2, 12.5), ylim=(-4.6, 0.6))
panel.set_axis_off()
plt.show()

# %%
# In code: two kernels over the same products.

X = load_digits().data[:500]
kernels = [Polynomial(3), Gaussian(0.001)]
for kernel, gram in zip(kernels, SharedProducts(X).grams(kernels), strict=True):
    exact = kernel.block(X[:3], X)
    error = np.abs(gram.tile(np.arange(3), slice(0, 500)) / exact - 1).max()
    print(f"{gram}: largest relative error of {kernel} {error:.0e}")
