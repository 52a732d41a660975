"""
Shrinkage of the covariance
===========================

With few samples for many features, the estimated covariance is far from the true one: some directions seem to have hardly any
spread, and they get the largest weights. Shrinkage moves it towards a multiple of the identity.
"""

import matplotlib.pyplot as plt
import numpy as np

from separatrix import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

rng = np.random.default_rng(0)
d = 30
mix = rng.normal(size=(d, d)) * np.linspace(0.3, 1.2, d)  # correlated features
shift = 0.5 * rng.normal(size=d)


def draw(count):
    labels = np.arange(count) % 2
    return rng.normal(size=(count, d)) @ mix.T + np.outer(2 * labels - 1, shift), labels


fresh, truth = draw(4000)
amounts = np.linspace(0, 1, 21)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
for count, color in ((40, "#d62728"), (100, "#1f77b4"), (400, "#2ca02c")):
    parts = [draw(count) for _ in range(8)]
    linear = [[LinearDiscriminantAnalysis("lsqr", shrinkage=a) for a in amounts[1:]] for _ in parts]
    scores = [
        [model.fit(*part).score(fresh, truth) for model in models]
        for part, models in zip(parts, linear, strict=True)
    ]
    axes[0].plot(amounts[1:], np.mean(scores, axis=0), color=color, label=f"{count} samples")
    auto = [LinearDiscriminantAnalysis("lsqr", shrinkage="auto").fit(*part) for part in parts]
    level = np.mean([model.score(fresh, truth) for model in auto])
    axes[0].axhline(level, color=color, linestyle=":", linewidth=1)
    scores = [
        [
            QuadraticDiscriminantAnalysis(reg_param=a).fit(*part).score(fresh, truth)
            for a in amounts[1:]
        ]
        for part in parts
    ]
    axes[1].plot(amounts[1:], np.mean(scores, axis=0), color=color, label=f"{count} samples")
axes[0].set(xlabel="shrinkage (dotted: 'auto')", ylabel="test accuracy, mean of 8 draws")
axes[0].set_title("linear discriminant, one covariance", fontsize=10)
axes[1].set(xlabel="reg_param", title="quadratic discriminant, two covariances")
axes[1].title.set_fontsize(10)
axes[1].legend()
plt.show()
