"""
4. Probabilistic classifiers
============================

Model the classes, or model their probabilities: discriminants, naive Bayes and logistic regression, and decisions from what they
return.

In front of a class: start ``separatrix workbench`` and open the prepared scene
`story=bayes <http://127.0.0.1:8642/#story=bayes>`_ to see what naive Bayes makes of correlated
features, or `story=costs <http://127.0.0.1:8642/#story=costs>`_ to watch costs move the boundary.

Bayes' rule
-----------

.. math:: P(c \\mid x) = \\frac{\\pi_c\\, p(x \\mid c)}{\\sum_j \\pi_j\\, p(x \\mid j)}.

A generative method estimates :math:`\\pi_c` and :math:`p(x \\mid c)`; a discriminative one estimates the left side.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from separatrix import (
    BayesDecision,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    QuadraticDiscriminantAnalysis,
)

rng = np.random.default_rng(0)
X = np.r_[rng.normal(-1, 1.0, 100), rng.normal(1.5, 0.7, 50)][:, None]
y = np.repeat([0, 1], [100, 50])
x = np.linspace(-5, 5, 300)[:, None]

# %%
# Gaussian classes with one variance give a logistic curve; with a variance each, a quadratic in the exponent. Far to
# the left the narrow class loses again.

figure, panel = plt.subplots(figsize=(6, 3.6))
for model in (
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    LogisticRegression(C=np.inf),
):
    panel.plot(x, model.fit(X, y).predict_proba(x)[:, 1], label=type(model).__name__)
panel.plot(X, 0.03 * rng.random(len(y)) + y * 0.97, "|", color="black", alpha=0.5)
panel.set(xlabel="x", ylabel="probability of class 1")
panel.legend(fontsize=8)
plt.show()

# %%
# Logistic regression
# -------------------
#
# .. math:: P(1 \mid x) = \sigma(w^\top x + b),\qquad \min_w\; \tfrac12\|w\|^2 + C\sum_i \log(1 + e^{-y_i (w^\top x_i + b)}).
#
# The objective is convex. At the optimum the gradient is 0, and its norm is the
# certificate.

cells = load_breast_cancer()
A, A_test, b, b_test = train_test_split(scale(cells.data), cells.target, random_state=0)
model = LogisticRegression().fit(A, b)
print(
    f"{model.n_iter_[0]} steps, gradient {model.gradient_:.1e}, test accuracy {model.score(A_test, b_test):.3f}"
)

# %%
# How sure are the weights? Around the optimum the objective is nearly quadratic: a Gaussian with the inverse Hessian as
# covariance (Laplace).

model = LogisticRegression(posterior="laplace").fit(A, b)
for row in np.argsort(-np.abs(model.coef_[0]))[:4]:
    print(
        f"{cells.feature_names[row]:22} {model.coef_[0, row]:6.2f} ± {model.coef_std_[0, row]:.2f}"
    )

# %%
# From probabilities to decisions
# -------------------------------
#
# With losses :math:`L_{cd}` for deciding d when c is true, decide for the lowest :math:`\sum_c P(c\mid x) L_{cd}`.

losses = np.array([[0.0, 20.0], [1.0, 0.0]])
for name, rule in (
    ("most probable", BayesDecision(model)),
    ("least loss", BayesDecision(model, losses)),
):
    decided = rule.fit(A, b).predict(A_test)
    print(
        f"{name:14} mean loss {losses[b_test, decided].mean():.3f}, missed tumours {((b_test == 0) & (decided == 1)).sum()}"
    )

# %%
# Exercises
# ---------
#
# 1. Duplicate every feature. What happens to the probabilities of naive Bayes, and to those of logistic regression?
# 2. Two separable classes: what does logistic regression do without a penalty?
# 3. From which probability of a tumour on does the rule above decide "malignant"? Compute it from the losses.

# %%
# Solution 1
# ----------
# Naive Bayes counts the same evidence twice and becomes more extreme. Logistic regression shares the weights among copies.

twice = np.hstack([A, A])
for method in (GaussianNB(), LogisticRegression(C=1.0)):
    one = method.fit(A, b).predict_proba(A_test)[:, 1]
    two = method.fit(twice, b).predict_proba(np.hstack([A_test, A_test]))[:, 1]
    name = type(method).__name__
    print(
        f"{name:20} mean distance from 0.5: {np.abs(one - 0.5).mean():.3f}, with copies {np.abs(two - 0.5).mean():.3f}"
    )

# %%
# Solution 2
# ----------
# The likelihood has no maximum: longer weights are always better. The library says so.

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    LogisticRegression(C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
print(caught[0].message)

# %%
# Solution 3
# ----------
# Decide malignant if :math:`20\,P > 1\cdot(1 - P)`, that is :math:`P > 1/21`.

print(
    f"1/21 = {1 / 21:.4f}; the rule's threshold for benign: {BayesDecision(model, losses).fit(A, b).threshold_:.4f}"
)
