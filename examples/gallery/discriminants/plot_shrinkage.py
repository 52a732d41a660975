"""
Shrinkage of the covariance
===========================

With few samples for many features the estimated covariance is far from the true one: some directions seem to have hardly any
spread, and they get the largest weights. Shrinkage moves it towards a multiple of the identity. That helps where features are
weakly correlated, and costs accuracy where correlations are strong and tell the classes apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(0)
d = 30
shift = 0.25 * rng.normal(size=d)
noise = rng.normal(size=(d, d)) / np.sqrt(d)
mixes = {"weak correlations": np.eye(d) + 0.3 * noise, "strong correlations": np.eye(d) + 3 * noise}
amounts = [0.001, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0]


def draw(count, mix):
    labels = np.arange(count) % 2
    return rng.normal(size=(count, d)) @ mix.T + np.outer(2 * labels - 1, shift), labels


def mean_score(model, parts, test):
    return np.mean([model.fit(*part).score(*test) for part in parts])


figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), sharey=True)
for count, color in ((40, "#d62728"), (100, "#1f77b4"), (400, "#2ca02c")):
    for panel, (name, mix) in zip(axes, mixes.items(), strict=False):
        parts, test = [draw(count, mix) for _ in range(6)], draw(2000, mix)
        scores = [
            mean_score(LinearDiscriminantAnalysis("lsqr", shrinkage=a), parts, test)
            for a in amounts
        ]
        panel.plot(amounts, scores, color=color, label=f"{count} samples")
        auto = LinearDiscriminantAnalysis("lsqr", shrinkage="auto")
        panel.axhline(mean_score(auto, parts, test), color=color, linestyle=":", linewidth=1)
        panel.set(xlabel="shrinkage (dotted: 'auto')", title=f"linear, {name}")
    mix = mixes["weak correlations"]
    parts, test = [draw(count, mix) for _ in range(6)], draw(2000, mix)
    scores = [mean_score(QuadraticDiscriminantAnalysis(reg_param=a), parts, test) for a in amounts]
    axes[2].plot(amounts, scores, color=color, label=f"{count} samples")
axes[0].set_ylabel("test accuracy, mean of 6 draws")
axes[2].set(xlabel="reg_param", title="quadratic, weak correlations")
axes[2].legend()
plt.show()
