"""
nu instead of C
===============

`NuSVC` replaces the price C by a share: nu bounds the share of margin errors from above and the share of support vectors from
below. The picture shows both bounds at work.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from separatrix import NuSVC
from separatrix.kernels import Gaussian

X, y = make_moons(200, noise=0.3, random_state=0)
nus = np.linspace(0.15, 0.9, 11)
support, errors = [], []
for nu in nus:
    model = NuSVC(nu=nu, kernel=Gaussian(1.0)).fit(X, y)
    scores = model.decision_function(X) * np.where(y == 1, 1, -1)
    support.append(len(model.support_) / len(y))
    at_bound = np.isclose(np.abs(model.dual_coef_[0]), np.abs(model.dual_coef_[0]).max(), rtol=1e-6)
    errors.append(at_bound.sum() / len(y))
    print(f"nu {nu:.2f}: {(scores < 0).mean():.2f} of the training samples are misclassified")

figure, panel = plt.subplots(figsize=(5.5, 4))
panel.plot(nus, support, marker="o", label="share of support vectors")
panel.plot(nus, errors, marker="s", label="share of margin errors")
panel.plot(nus, nus, color="black", linestyle="--", label="nu")
panel.set(xlabel="nu", ylabel="share of the samples")
panel.legend()
plt.show()
