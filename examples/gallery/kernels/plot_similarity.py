"""
What a kernel calls similar
===========================

A kernel is a similarity of two samples. Each panel shows the similarity of every point of the plane to one point, the
white cross: how it falls, or grows, is what a kernel machine generalises by.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix.kernels import Gaussian, Laplacian, Linear, Normalized, Polynomial, Sigmoid

centre = np.array([[1.0, 0.5]])
span = np.linspace(-3, 3, 200)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
kernels = [
    Linear(),
    Polynomial(2, coef0=1.0),
    Polynomial(3),
    Normalized(Polynomial(3, coef0=1.0)),
    Gaussian(0.5),
    Gaussian(3.0),
    Laplacian(1.0),
    Sigmoid(gamma=0.5),
]
figure, axes = plt.subplots(2, 4, figsize=(12, 6), sharex=True, sharey=True)
for panel, kernel in zip(axes.flat, kernels, strict=True):
    values = kernel.block(plane, centre).reshape(200, 200)
    bound = np.abs(values).max()
    panel.contourf(span, span, values, levels=20, cmap="RdBu_r", vmin=-bound, vmax=bound)
    panel.plot(*centre[0], marker="x", color="white", markersize=9, markeredgewidth=2)
    panel.set_title(repr(kernel).replace(", gamma=1.0", ""), fontsize=8)
plt.show()

# %%
# Kernels are objects: they can be added, multiplied and normalised.

both = 0.5 * Gaussian(0.5) + Normalized(Polynomial(2))
print(both)
print(both.block(centre, np.array([[1.0, 0.5], [-1.0, 2.0]])).round(3))
