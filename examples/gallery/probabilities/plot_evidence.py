"""
Choosing the prior by the evidence
==================================

The strength of regularisation can be chosen without a validation set: the evidence, the probability of the labels with the weights
integrated out, has its own maximum. Here it is compared with cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import scale

from separatrix import LogisticRegression

X, y = load_breast_cancer(return_X_y=True)
X = scale(X)
Cs = np.logspace(-3, 3, 13)
losses = [
    -cross_val_score(LogisticRegression(C=C), X, y, cv=5, scoring="neg_log_loss").mean() for C in Cs
]
model = LogisticRegression(C="evidence", posterior="laplace").fit(X, y)
chosen = float(np.ravel(model.C_)[0])
print(f"the evidence chooses C = {chosen:.3g}; the folds {Cs[int(np.argmin(losses))]:.3g}")

figure, panel = plt.subplots(figsize=(6, 3.6))
panel.semilogx(Cs, losses, marker="o", label="log loss, 5 folds")
panel.axvline(chosen, color="red", linewidth=1, label="chosen by the evidence")
panel.set(xlabel="C", ylabel="log loss")
panel.legend()
plt.show()
