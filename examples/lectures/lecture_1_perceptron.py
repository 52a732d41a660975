"""
1. The perceptron
=================

A linear classifier that learns from its mistakes: the update, why it stops, and what to do when it does not.

In front of a class: start ``separatrix workbench`` and open the prepared scene
`story=perceptron <http://127.0.0.1:8642/#story=perceptron>`_ to watch the mistakes stay below the
bound, or `story=xor <http://127.0.0.1:8642/#story=xor>`_ to see what no line can do.

The rule
--------

Labels are :math:`y \\in \\{-1, +1\\}`, a constant 1 is appended to every sample, and the prediction is the sign of
:math:`w^\\top x`. The samples are visited in turn. A sample with :math:`y\\, w^\\top x \\le 0` is a mistake, and

.. math:: w \\leftarrow w + y x.

After the update the score of this sample is larger by :math:`\\|x\\|^2` in the right direction.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import SVC, KernelPerceptron, Perceptron
from separatrix.kernels import Polynomial

rng = np.random.default_rng(0)


def two_classes(count, gap):
    """Points of the plane on two sides of a strip of width `gap`, labels -1 and +1."""
    X = rng.normal(size=(count, 2))
    y = np.where(X @ [1.0, 2.0] > 0, 1, -1)
    return X + 0.5 * gap * y[:, None] * np.array([1.0, 2.0]) / np.sqrt(5), y


def learn(X, y, passes):
    """The rule, in six lines: weights and the number of mistakes in every pass."""
    A, w, mistakes = np.c_[X, np.ones(len(X))], np.zeros(X.shape[1] + 1), []
    for _ in range(passes):
        mistakes.append(0)
        for a, label in zip(A, y, strict=True):
            if label * (a @ w) <= 0:
                w, mistakes[-1] = w + label * a, mistakes[-1] + 1
        if mistakes[-1] == 0:
            break
    return w, mistakes


X, y = two_classes(100, gap=0.6)
w, mistakes = learn(X, y, passes=100)
print("mistakes in each pass:", mistakes)

# %%
# The library's `Perceptron` makes the same updates when it visits the rows in their order.

model = Perceptron(shuffle=False, tol=None).fit(X, y)
print(
    "the same weights:", np.allclose(model.coef_[0], w[:2]), np.allclose(model.intercept_[0], w[2])
)

# %%
# Why it stops
# ------------
#
# **Theorem (Novikoff 1962).** If some unit vector :math:`u` separates the samples with margin :math:`\rho`, that is
# :math:`y\,u^\top x \ge \rho`, and :math:`\|x\| \le R`, then the perceptron makes at most :math:`(R/\rho)^2` mistakes.
#
# *Proof.* Each mistake raises :math:`u^\top w` by at least :math:`\rho`, and :math:`\|w\|^2` by at most :math:`R^2`, since the
# cross term is not positive. After :math:`m` mistakes :math:`m\rho \le u^\top w \le \|w\| \le \sqrt{m}\,R`.

gaps = [0.1, 0.2, 0.4, 0.8, 1.6]
made = []
for gap in gaps:
    A, b = two_classes(200, gap)
    made.append(sum(learn(A, b, passes=2000)[1]))
figure, panel = plt.subplots(figsize=(5.5, 3.4))
panel.loglog(gaps, np.maximum(made, 0.5), marker="o")
panel.set(xlabel="width of the strip between the classes", ylabel="mistakes")
plt.show()

# %%
# When classes overlap
# --------------------
#
# There is no separating line, the rule never stops, and the last weights depend on the last mistakes. Averaging all weights
# helps.

A = np.vstack([rng.normal(size=(150, 2)) - 0.8, rng.normal(size=(150, 2)) + 0.8])
b = np.repeat([-1, 1], 150)
fresh = np.vstack([rng.normal(size=(2000, 2)) - 0.8, rng.normal(size=(2000, 2)) + 0.8])
truth = np.repeat([-1, 1], 2000)
for predictor in ("last", "average"):
    scores = [
        Perceptron(predictor=predictor, max_iter=10, tol=None, random_state=seed)
        .fit(A, b)
        .score(fresh, truth)
        for seed in range(8)
    ]
    print(f"{predictor:8} test accuracy {np.mean(scores):.3f} ± {np.std(scores):.3f} over 8 orders")

# %%
# Exercises
# ---------
#
# 1. Multiply all samples by 10. Does the number of mistakes change? Predict, then try.
# 2. Compute the bound :math:`(R/\rho)^2` for ``X, y`` with the largest margin, which `SVC` with a large C finds. How far from
#    the count is it?
# 3. XOR: four points, no line separates them. Which kernel lets a `KernelPerceptron` separate them?

# %%
# Solution 1
# ----------
# Without the constant the decisions are the same: all weights are ten times as large. With it, the bias learns relatively
# slower, so the count changes.

print(sum(learn(10 * X, y, passes=1000)[1]), "instead of", sum(mistakes))

# %%
# Solution 2
# ----------

largest = SVC(C=1e8, kernel="linear").fit(X, y)
u = np.append(largest.coef_[0], largest.intercept_[0])
A = np.c_[X, np.ones(len(X))]
rho = (y * (A @ u)).min() / np.linalg.norm(u)
R = np.linalg.norm(A, axis=1).max()
print(f"bound {(R / rho) ** 2:.0f}, mistakes {sum(mistakes)}")

# %%
# Solution 3
# ----------

corners, parity = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]]), [1, -1, -1, 1]
machine = KernelPerceptron(Polynomial(2)).fit(corners, parity)
print(machine.stop_, machine.predict(corners).tolist())
