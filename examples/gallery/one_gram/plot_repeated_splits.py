"""
A study: ten splits, five degrees, five folds inside
====================================================

`evaluate` repeats random splits. In each training part, folds choose the degree; then the chosen kernel is trained and tested. The
error that is reported is of samples that had no part in the choice.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from separatrix import KernelPerceptron, evaluate
from separatrix.kernels import Polynomial
from separatrix.plots import plot_confusion

X, y = load_digits(return_X_y=True)
X, y = X[:900] / 16, y[:900]
degrees = [Polynomial(degree) for degree in range(1, 6)]
nested = evaluate(
    KernelPerceptron(max_iter=10), X, y, kernels=degrees, repeats=10, folds=5, progress=False
)
print(nested)

# %%
# Without folds every kernel is trained and tested on every split: test errors by degree.

every = evaluate(KernelPerceptron(max_iter=10), X, y, kernels=degrees, repeats=10, progress=False)
figure, panel = plt.subplots(figsize=(6, 3.6))
panel.boxplot((100 * every.test_error).T, tick_labels=[kernel.degree for kernel in degrees])
panel.set(xlabel="degree", ylabel="test error %, ten splits")
plt.show()

# %%
# The confusions, as means over the splits.

confusions = plot_confusion(nested)
