"""
Learning curves: would more samples help?
=========================================

Test accuracy against the number of training samples. A method with strong assumptions is good early and stops rising; a flexible
one starts lower and goes on.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import SVC, GaussianNB, KNeighborsClassifier, LinearDiscriminantAnalysis

X, y = load_digits(return_X_y=True)
X = X / 16
counts = [50, 100, 200, 400, 800, 1200]
models = {
    "SVM, Gaussian": SVC(C=10, gamma=0.05),
    "nearest neighbours": KNeighborsClassifier(3),
    "linear discriminant": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "naive Bayes": GaussianNB(var_smoothing=0.01),
}
orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(4)]
figure, panel = plt.subplots(figsize=(6.5, 4.2))
for name, model in models.items():
    scores = np.array(
        [
            [
                model.fit(X[o[:count]], y[o[:count]]).score(X[o[1200:]], y[o[1200:]])
                for count in counts
            ]
            for o in orders
        ]
    )
    mean, sd = scores.mean(axis=0), scores.std(axis=0)
    panel.fill_between(counts, mean - sd, mean + sd, alpha=0.2)
    panel.plot(counts, mean, marker="o", label=name)
panel.set_xscale("log")
panel.set(xlabel="training samples", ylabel="accuracy on 597 test digits, mean ± sd of 4 orders")
panel.legend()
plt.show()
