"""
C against gamma
===============

The two parameters of a Gaussian support vector machine work together: a narrow kernel needs a small C, a wide one a large
C. The best cells lie on a diagonal, and a search must look at both.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import scale

from separatrix import SVC, SVCCV
from separatrix.kernels import Gaussian
from separatrix.plots import plot_grid

X, y = make_moons(120, noise=0.25, random_state=0)
span = np.linspace(-2, 3, 120)
plane = np.stack(np.meshgrid(span, span), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(3, 3, figsize=(8, 8), sharex=True, sharey=True)
for row, C in enumerate((0.1, 1, 100)):
    for column, gamma in enumerate((0.1, 1, 20)):
        model = SVC(C=C, kernel=Gaussian(gamma)).fit(X, y)
        scores = model.decision_function(plane).reshape(120, 120)
        panel = axes[row, column]
        panel.contourf(span, span, scores > 0, levels=[-1, 0.5, 2], colors=["#cfe0f2", "#f8d9c4"])
        panel.scatter(*X.T, c=y, cmap="coolwarm", s=8)
        panel.set_title(f"C={C:g}, gamma={gamma:g}", fontsize=9)
        panel.set(xlim=(-1.8, 2.8), ylim=(-1.4, 1.9))
plt.show()

# %%
# `SVCCV` evaluates the whole grid on one matrix of inner products, neighbouring values of C start from each other, and the
# result is a table.

cells = load_breast_cancer()
search = SVCCV(Cs=[0.1, 1, 10, 100], gammas=[0.0005, 0.002, 0.01, 0.05, 0.2], cv=5)
search.fit(scale(cells.data), cells.target)
print(search.best_params_, round(search.best_score_, 4))
grid = plot_grid(search)
