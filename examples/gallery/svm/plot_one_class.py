"""
Novelty: a support vector machine of one class
==============================================

`OneClassSVM` learns where samples are. It was trained on the digit 8 alone; what it then finds most unusual are other digits,
and eights that are hard to read.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import OneClassSVM

digits = load_digits()
eights = digits.data[digits.target == 8]
model = OneClassSVM(nu=0.05, gamma=0.002).fit(eights[:120])
scores = model.decision_function(digits.data)
is_eight = digits.target == 8

figure, panel = plt.subplots(figsize=(6, 3.2))
bins = np.linspace(scores.min(), scores.max(), 50)
panel.hist(scores[is_eight], bins, density=True, alpha=0.6, label="eights")
panel.hist(scores[~is_eight], bins, density=True, alpha=0.6, label="other digits")
panel.axvline(0, color="black", linewidth=1)
panel.set(xlabel="score; below 0 is novel", ylabel="density")
panel.legend()
plt.show()

# %%
# The eights with the lowest scores.

rows = np.flatnonzero(is_eight)
worst = rows[np.argsort(scores[rows])[:6]]
figure, axes = plt.subplots(1, 6, figsize=(9, 1.9))
for panel, row in zip(axes, worst, strict=True):
    panel.imshow(digits.images[row], cmap="gray_r")
    panel.set_title(f"{scores[row]:.2f}", fontsize=9)
    panel.set_axis_off()
plt.show()
