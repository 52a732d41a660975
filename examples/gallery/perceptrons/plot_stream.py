"""
A stream with a budget of support vectors
=========================================

A kernel perceptron on a stream grows with its mistakes. With a ``budget`` it forgets the oldest ones. Each batch is predicted
first and learned afterwards, so the accuracy is that of samples never seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from separatrix import KernelPerceptron
from separatrix.kernels import Gaussian

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
for budget in (None, 80, 30):
    model = KernelPerceptron(Gaussian(0.001), budget=budget, predictor="average")
    seen, scores, sizes = [], [], []
    for start in range(0, len(order), 120):
        batch = order[start : start + 120]
        if start:
            seen.append(start)
            scores.append(model.score(X[batch], y[batch]))
            sizes.append(len(model.support_))
        model.partial_fit(X[batch], y[batch], classes=np.arange(10))
    left.plot(seen, scores, marker="o", markersize=3, label=f"budget {budget}")
    right.plot(seen, sizes, marker="o", markersize=3, label=f"budget {budget}")
left.set(xlabel="samples seen", ylabel="accuracy on the next batch")
right.set(xlabel="samples seen", ylabel="support vectors")
left.legend()
plt.show()
