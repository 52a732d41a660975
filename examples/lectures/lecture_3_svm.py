"""
3. Support vector machines
==========================

The boundary with the widest margin: the problem, its dual, the conditions of the optimum, and what C does.

In front of a class: start ``separatrix workbench`` and open the prepared scene
`story=c <http://127.0.0.1:8642/#story=c>`_ to watch C trade the margin against mistakes, or
`story=outlier <http://127.0.0.1:8642/#story=outlier>`_ to compare with least squares.

The problem
-----------

.. math:: \\min_{w, b, \\xi}\\; \\tfrac12\\|w\\|^2 + C\\sum_i \\xi_i \\quad\\text{with}\\quad
   y_i (w^\\top x_i + b) \\ge 1 - \\xi_i,\\; \\xi_i \\ge 0.

The margin is :math:`2/\\|w\\|` wide; :math:`\\xi_i` is how far sample i is on the wrong side of its margin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from separatrix import SVC, kkt_report

X, y = make_blobs(60, centers=[[-1.3, 0], [1.3, 0.6]], cluster_std=0.9, random_state=1)
t = np.where(y == 1, 1.0, -1.0)
C = 1.0
model = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
w, b = model.coef_[0], model.intercept_[0]
slack = np.maximum(0, 1 - t * (X @ w + b))
primal = 0.5 * w @ w + C * slack.sum()
print(f"primal objective {primal:.6f}")

# %%
# The dual
# --------
#
# .. math:: \max_\alpha \sum_i \alpha_i - \tfrac12\sum_{ij} \alpha_i\alpha_j y_i y_j k(x_i, x_j)\quad\text{with}\quad
#    0\le\alpha_i\le C,\; \sum_i\alpha_i y_i = 0.
#
# Any dual value is a lower bound of any primal value. The gap between the two bounds the distance of both from the optimum:
# a certificate.

alpha = np.zeros(len(y))
alpha[model.support_] = np.abs(model.dual_coef_[0])
K = X @ X.T
dual = alpha.sum() - 0.5 * (alpha * t) @ K @ (alpha * t)
print(
    f"dual objective {dual:.6f}, gap {primal - dual:.1e}, reported relative gap {model.dual_gap_[0]:.1e}"
)

# %%
# The conditions of the optimum
# -----------------------------
#
# ====================  =========================
# coefficient           margin
# ====================  =========================
# :math:`\alpha = 0`    :math:`y f(x) \ge 1`
# between 0 and C       :math:`y f(x) = 1`
# :math:`\alpha = C`    :math:`y f(x) \le 1`
# ====================  =========================

margins = t * (X @ w + b)
free = (alpha > 1e-6) & (alpha < C - 1e-6)
print("margins of the free support vectors:", margins[free].round(5).tolist())
print(kkt_report(model))

figure, panel = plt.subplots(figsize=(5.5, 4.5))
xs = np.linspace(-4, 4, 2)
for level, style in ((-1, "--"), (0, "-"), (1, "--")):
    panel.plot(xs, (level - b - w[0] * xs) / w[1], color="black", linestyle=style, linewidth=1)
panel.scatter(*X.T, c=y, cmap="coolwarm", s=18)
panel.scatter(*X[free].T, s=90, facecolor="none", edgecolor="black", label="free")
bound = alpha >= C - 1e-6
panel.scatter(*X[bound].T, s=90, marker="s", facecolor="none", edgecolor="gray", label="at C")
panel.set(ylim=(-3, 4))
panel.legend()
plt.show()

# %%
# Exercises
# ---------
#
# 1. Remove a sample with coefficient 0 and fit again. What changes? Then remove a support vector.
# 2. Plot the width of the margin and the number of support vectors against C.
# 3. How large must C be for the solution to be that of a hard margin, on separable classes?

# %%
# Solution 1
# ----------

for name, row in (
    ("a sample with coefficient 0", np.flatnonzero(alpha == 0)[0]),
    ("a support vector", model.support_[0]),
):
    rest = np.delete(np.arange(len(y)), row)
    again = SVC(C=C, kernel="linear", tol=1e-8).fit(X[rest], y[rest])
    print(f"without {name}: the weights move by {np.linalg.norm(again.coef_[0] - w):.1e}")

# %%
# Solution 2
# ----------

Cs = np.logspace(-3, 3, 13)
fits = [SVC(C=c, kernel="linear").fit(X, y) for c in Cs]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
left.loglog(Cs, [fit.margin_width_[0] for fit in fits], marker="o")
left.set(xlabel="C", ylabel="width of the margin")
right.semilogx(Cs, [len(fit.support_) for fit in fits], marker="o")
right.set(xlabel="C", ylabel="support vectors")
plt.show()

# %%
# Solution 3
# ----------
# As large as the largest coefficient of the hard-margin solution: from there on no coefficient is at its bound.

apart = X + 2.0 * t[:, None] * np.array([1.0, 0.3])
hard = SVC(C=np.inf, kernel="linear").fit(apart, y)
least = np.abs(hard.dual_coef_).max()
soft = SVC(C=1.01 * least, kernel="linear", tol=1e-8).fit(apart, y)
print(f"C = {least:.3f}: weights differ by {np.abs(soft.coef_ - hard.coef_).max():.0e}")
